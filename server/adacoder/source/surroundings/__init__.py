"""The parts of `source/context.py`.

`module` lists the imports and definitions of a module, `outline` shows definitions without their bodies, and `masking`
hides text that no model may see. `near_files` reads the project's other files, within a budget.
"""
