"""The parts of `source/imports.py`.

`standard_names` and `standard_library` import names of the standard library that programs use without a module.
`exports` lists the names that `import *` binds, and `installed` finds installed modules. `project_imports` finds the
project's own imports, with `project_files`. `readable` replaces broken code, which would hide undefined names in the
rest of the file.
"""
