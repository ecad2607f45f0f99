"""The parts of `source/imports.py`.

`standard_names` and `standard_library` find imports for names of the standard library. `exports` lists the names that
`import *` binds, and `installed` finds installed modules. `project_imports` finds the project's own imports, with
`project_files`. `readable` replaces broken code, which would otherwise hide undefined names in the rest of the file.
"""
