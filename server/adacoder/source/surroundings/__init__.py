"""The parts of `source/context.py`.

`module` says what one module imports and defines, `outline` how a definition is shown without its body, `masking`
hides what no model may see; `near_files` reads the project's other files, within a budget.
"""
