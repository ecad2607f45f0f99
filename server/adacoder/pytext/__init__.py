"""The line structure of Python text, found without parsing it.

What the user types is often broken, and only the user's own interpreter may call something a syntax error (it may be
older or newer than ours). So whatever must be found in a text (statements, functions, where a body begins) is found
from its lines: strings, comments, brackets and indentation. A text that is broken in one place stays readable in the
others: an open bracket ends where a statement keyword starts a line, and a string that is left open ends with its line.

Only `\\r\\n`, `\\r` and `\\n` end a line, as in the Language Server Protocol and in Python's tokenizer; a form feed
does not. Offsets are code points.

Where our own Python can read a text, its tree may tell more: `parsed`. None from it proves nothing.
"""

from adacoder.pytext.definitions import Definition, definitions, definitions_in, docstring_at
from adacoder.pytext.enclosing import functions_around, starts_logical_line
from adacoder.pytext.lines import (
    TAB_SIZE,
    CountedLines,
    Lines,
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
    "CountedLines",
    "Definition",
    "Lines",
    "LogicalLine",
    "dedent",
    "definitions",
    "definitions_in",
    "docstring_at",
    "error_line",
    "functions_around",
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
