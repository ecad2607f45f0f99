"""Modules that help `source/splice.py` to insert a candidate.

`rename` gives the candidate the target's names. `dependencies` chooses the imports and definitions to add, and `layout`
finds their places. New imports are merged with existing ones by `import_block`, in the project's `import_style`.
"""
