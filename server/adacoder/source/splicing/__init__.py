"""The parts of `source/splice.py`.

`rename` gives a candidate the target's names. `dependencies` chooses the imports and definitions to add, and
`module_names` finds clashes with names of the module. `layout` places them. `import_block` and `import_names` merge
imports with the file's own, in the project's `import_style`.
"""
