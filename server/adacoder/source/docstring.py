"""Add examples to a docstring, and leave the rest of the file unchanged."""

from __future__ import annotations

from collections.abc import Sequence

from adacoder.domain import Edit, Example, Target, TargetError
from adacoder.pytext import line_ending
from adacoder.source.examples import UnreadableExample, examples
from adacoder.source.literal import literal_parts
from adacoder.source.text import apply_edits


def add_examples(target: Target, added: Sequence[Example]) -> Edit:
    """Append examples to the target's docstring, with the docstring's indentation and the file's line endings.

    Raises:
        TargetError: an example cannot be written into this docstring. For example, a raw docstring cannot escape
            quotes.
    """
    edit = _appended(target, added)
    span = target.docstring_span
    literal = apply_edits(target.text, [edit])[span.start : span.end + len(edit.text) - (edit.end - edit.start)]
    try:
        found = [(each.source, each.want) for each in examples(literal, 0)]
    except (ValueError, UnreadableExample):
        found = []
    if found[-len(added) :] != [(each.source, each.want) for each in added]:
        shown = "; ".join(each.source.strip() for each in added)
        raise TargetError(
            f"The docstring of '{target.name}' cannot hold this example: {shown}. Write it in another way."
        )
    return edit


def _appended(target: Target, added: Sequence[Example]) -> Edit:
    literal, start = last_literal(target)
    prefix = literal[: len(literal) - len(literal.lstrip("rRuU"))]
    quote = literal[-1]
    triple = literal.endswith(quote * 3) and literal.startswith(prefix + quote * 3)
    content = literal[len(prefix) + (3 if triple else 1) : -3 if triple else -1]
    ending = line_ending(target.text)
    indent = docstring_indent(target)
    shown = "".join(f"{example.prompted}\n{example.want}" for example in added).removesuffix("\n")
    shown = escaped(shown, literal)
    lines = ending * 2 + ending.join(indent + line if line else "" for line in shown.split("\n")) + ending + indent
    end = start + len(literal)
    if triple:
        return Edit(start + literal.index(quote) + 3 + len(content.rstrip()), end - 3, lines)
    opened = prefix + quote * 3
    return Edit(start, end, opened + content.rstrip() + lines + quote * 3)


def escaped(text: str, literal: str) -> str:
    """Escape `text` for use inside the string literal `literal`. Return it unchanged for a raw literal."""
    quote = literal[-1]
    if "r" in literal[: literal.index(quote)].lower():
        return text
    return text.replace("\\", "\\\\").replace(quote * 3, f"\\{quote}" * 3)


def last_literal(target: Target) -> tuple[str, int]:
    """Return the last of the docstring's adjacent string literals, and its offset in the file."""
    docstring = target.docstring_span.of(target.text)
    last = literal_parts(docstring)[-1]
    return last.of(docstring), target.docstring_span.start + last.start


def docstring_indent(target: Target) -> str:
    """Return the docstring's indentation.

    For a docstring on the `def` line, return the indentation of a new line below `def`.
    """
    start = target.docstring_span.start
    line_start = max(target.text.rfind("\n", 0, start), target.text.rfind("\r", 0, start)) + 1
    before = target.text[line_start:start]
    return before if not before.strip() else target.indent + "    "
