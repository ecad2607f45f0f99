"""Follows inputs through the text of a function, without running it, to see where its answers come from.

`folding` tells what pure operations give; `provenance` what values come from, and which comparisons chose them;
`operations` brings the two together; `expressions` and `statements` go through the `text`; `recalling` does so with
the Examples of a docstring.

All is bounded: the `steps`, the depth, and the size of values. What is large takes several steps.
"""
