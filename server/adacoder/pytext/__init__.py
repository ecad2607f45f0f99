r"""Find the line structure of Python text without parsing it.

Code is often broken while the user types, and the user's Python may differ from AdaCoder's. So this package finds
statements, functions and bodies from lines, strings, comments, brackets and indentation.

An error in one place does not spread: an unclosed bracket ends at the next line with a statement keyword, and an
unclosed string ends with its line.

Only `\r\n`, `\r` and `\n` end a line, as in the Language Server Protocol and in Python's tokenizer. Offsets are code
points.
"""

from adacoder.pytext.definitions import Definition, definitions, definitions_in, docstring_at
from adacoder.pytext.enclosing import functions_around, starts_logical_line
from adacoder.pytext.lines import (
    TAB_SIZE,
    Lines,
    fence_around,
    indent_of,
    indent_width,
    line_ending,
    line_number,
    line_start,
    normalize,
)
from adacoder.pytext.logical import LogicalLine, dedent, indented, logical_lines, statements, string_interiors
from adacoder.pytext.strings import leaves_string_open, long_strings, skip_string, string_literals
from adacoder.pytext.trees import UNREADABLE, error_line, parsed, symbols, unmarked

__all__ = [
    "TAB_SIZE",
    "UNREADABLE",
    "Definition",
    "Lines",
    "LogicalLine",
    "dedent",
    "definitions",
    "definitions_in",
    "docstring_at",
    "error_line",
    "fence_around",
    "functions_around",
    "indent_of",
    "indent_width",
    "indented",
    "leaves_string_open",
    "line_ending",
    "line_number",
    "line_start",
    "logical_lines",
    "long_strings",
    "normalize",
    "parsed",
    "skip_string",
    "starts_logical_line",
    "statements",
    "string_interiors",
    "string_literals",
    "symbols",
    "unmarked",
]
