"""The parts of `source/splice.py`.

`rename` gives a candidate the target's names. `dependencies` chooses the imports and definitions to add, and
`module_names` finds clashes with names of the module. `layout` places the additions. `import_block` and `import_names`
merge new imports with the file's imports, in the project's `import_style`.
"""
