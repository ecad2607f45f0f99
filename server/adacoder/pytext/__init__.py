"""Find the line structure of Python text without parsing it.

Code is often broken while the user types. Only the user's own interpreter can report a syntax error, because this
interpreter may be older or newer than the Python that runs AdaCoder. So this package finds statements, functions and
bodies from lines, by strings, comments, brackets and indentation. A text that is broken in one place stays readable in
other places. An open bracket ends where a statement keyword starts a line, and an unclosed string ends with its line.

Only `\\r\\n`, `\\r` and `\\n` end a line, as in the Language Server Protocol and in Python's tokenizer. A form feed
does not end a line. Offsets are code points.

`parsed` returns the syntax tree if AdaCoder's Python can parse the text. If `parsed` returns None, the text may still
be valid for another Python.
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
