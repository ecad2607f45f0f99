"""The parts of `source/imports.py`.

`standard_names` and `standard_library` know the names that people write bare, `exports` those of modules, `installed`
what there is to import, `project_imports` (with `project_files`) how the project does it. `readable` sees to it that
what is broken elsewhere hides no undefined name.
"""
