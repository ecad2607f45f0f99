"""Helpers of `source/splice.py`.

`rename` gives a candidate the target's names. `dependencies` chooses the imports and definitions to add, and
`module_names` finds conflicts with names of the module. `layout` finds the place of additions. `import_block` and
`import_names` merge new imports with existing ones, in the project's `import_style`.
"""
