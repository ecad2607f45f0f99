"""What `source/imports.py` knows names by.

`standard_names` and `standard_library` say what names people write bare, `exports` what modules have, `installed` what
there is to import, `habits` (with `project_files` and `definition_use`) how the project does it. `usage` is how the
code at hand uses a name. `readable` and `unseen` see to it that no name is called undefined that is not.
"""
