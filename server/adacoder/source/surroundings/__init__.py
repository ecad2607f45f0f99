"""Modules that help `source/context.py` to describe a module for a model.

`module` lists imports and definitions, `outline` shows definitions without their bodies, and `masking` hides secrets.
`near_files` reads other files of the project.
"""
