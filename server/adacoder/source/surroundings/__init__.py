"""Helpers of `source/context.py`.

`module` lists the imports and definitions of a module, `outline` shows definitions without their bodies, and `masking`
hides secrets. `near_files` reads a limited amount of the project's other files.
"""
