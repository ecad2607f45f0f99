"""What `source/context.py` is made of.

`module` says what one module imports and defines, `outline` how a definition is shown without its body, `masking`
what of it is not shown; `project` reads the project's other files, within a budget.
"""
