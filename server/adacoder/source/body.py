"""Find the body of a function from its lines, even if the text does not parse."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from adacoder.pytext import Lines, definitions, logical_lines
from adacoder.source.indentation import DEFAULT_UNIT, WHITE, reindent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adacoder.pytext import Definition


@lru_cache(maxsize=64)  # Callers look up several functions in the same text.
def find_function(text: str, name: str) -> Definition | None:
    """Find the last function called `name` in `text`.

    If no function has this name, return the first function. Functions inside functions are ignored.
    """
    found = [each for each in definitions(text) if not each.is_class and not each.in_function]
    named = [each for each in found if each.name == name]
    return named[-1] if named else next(iter(found), None)


def body_of(function: Definition) -> str:
    """Return the lines of the function's body, without the docstring and trailing blank lines.

    The lines keep their indentation.
    """
    start, indent = _body_start(function)
    return indent + function.text[start : function.span.end].rstrip(WHITE + "\n")


def _body_start(function: Definition) -> tuple[int, str]:
    """Return the offset of the body's first statement after the docstring.

    Also return the indentation to add if the text at this offset has none.
    """
    text, docstring, line = function.text, function.docstring, function.header_line
    begin = function.header.end
    if docstring is not None:
        begin = docstring.end
        line = line if docstring.end <= line.end else function.body_lines[0]
    beside = text[begin : line.code_end].lstrip(WHITE + ";")
    if not beside:
        return min(line.end + 1, function.span.end), ""
    return line.code_end - len(beside), "" if line is function.header_line else line.indent


def prepended(body: str, statements: Sequence[str]) -> str:
    """Put `statements` before the first line of `body`, at the body's indentation.

    A blank line follows each multi-line statement.
    """
    first = next(logical_lines(body), None)
    if first is None or not statements:
        return body
    lines = Lines(body)
    at = next(start for index, start in enumerate(lines.starts) if lines[index].strip(WHITE + "\n"))
    placed = (reindent(each, parent="", first=first.indent, unit=DEFAULT_UNIT) for each in statements)
    return body[:at] + "".join(f"{each}\n\n" if "\n" in each else f"{each}\n" for each in placed) + body[at:]


def prepended_in_functions(text: str, statements: Sequence[str]) -> str:
    """Put `statements` at the start of the body of each function or method in `text`.

    A function whose body is on the same line as its header stays unchanged.
    """
    functions = [each for each in definitions(text) if not each.is_class and not each.in_function]
    for function in reversed(functions if statements else []):
        start, end = _body_start(function)[0], function.span.end
        if text[:start].endswith("\n"):
            text = text[:start] + prepended(text[start:end], statements) + text[end:]
    return text
