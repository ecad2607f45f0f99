"""The parts of `source/splice.py`.

`rename` gives a candidate the target's names. `dependencies` chooses the imports and definitions that come along,
`module_names` knows what the module calls by the same names. `layout` says where they go, `import_block` and
`import_names` how imports join the file's own, in the project's `import_style`.
"""
