"""Modules that help `source/imports.py` to find the import of a name.

The import may come from the standard library (`standard_library`), an installed package (`installed`) or the project
(`project_imports`). `exports` lists the names that `import *` binds. `readable` replaces broken code, so that the rest
of a file can be checked.
"""
