"""Helpers of `source/imports.py`.

`standard_names` and `standard_library` find imports from the standard library, `installed` from installed packages, and
`project_imports` and `project_files` from the project's files. `exports` lists the names that `import *` binds.
`readable` replaces broken code, so that the rest of a file can be checked.
"""
