"""Add new examples to a docstring in one Edit that leaves the rest unchanged."""

from __future__ import annotations

from collections.abc import Sequence

from adacoder.domain import Edit, Example, Target
from adacoder.pytext import line_ending
from adacoder.source.literal import literal_parts


def add_examples(target: Target, examples: Sequence[Example]) -> Edit:
    """Append `examples` to the target's docstring, with its indentation and the file's line endings."""
    literal, start = _last_literal(target)
    prefix = literal[: len(literal) - len(literal.lstrip("rRuU"))]
    quote = literal[-1]
    triple = literal.endswith(quote * 3) and literal.startswith(prefix + quote * 3)
    content = literal[len(prefix) + (3 if triple else 1) : -3 if triple else -1]
    ending = line_ending(target.text)
    indent = docstring_indent(target)
    shown = "".join(f"{example.prompted}\n{example.want}" for example in examples).removesuffix("\n")
    if "r" not in prefix.lower():
        shown = shown.replace("\\", "\\\\").replace(quote * 3, f"\\{quote}" * 3)
    added = ending * 2 + ending.join(indent + line if line else "" for line in shown.split("\n")) + ending + indent
    end = start + len(literal)
    if triple:
        return Edit(start + literal.index(quote) + 3 + len(content.rstrip()), end - 3, added)
    opened = prefix + quote * 3
    return Edit(start, end, opened + content.rstrip() + added + quote * 3)


def _last_literal(target: Target) -> tuple[str, int]:
    """Return the last string literal of the docstring, and its offset."""
    docstring = target.docstring_span.of(target.text)
    last = literal_parts(docstring)[-1]
    return last.of(docstring), target.docstring_span.start + last.start


def docstring_indent(target: Target) -> str:
    """Return the indentation of the docstring. If it is on the `def` line, return four spaces more than `def` has."""
    start = target.docstring_span.start
    line_start = max(target.text.rfind("\n", 0, start), target.text.rfind("\r", 0, start)) + 1
    before = target.text[line_start:start]
    return before if not before.strip() else target.indent + "    "
