"""Replace the expected outputs of failed examples by their actual outputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from adacoder.domain import Edit, Example, ExampleResult, Target
from adacoder.project import is_page
from adacoder.pytext import Lines, line_ending, normalize
from adacoder.source.docstring import escaped, last_literal
from adacoder.source.examples import UnreadableExample, examples, examples_of_page
from adacoder.source.text import apply_edits

_PROMPT = re.compile(r"([ \t]*)>>>[ \t]")
_TRACEBACK = "Traceback (most recent call last):\n    ...\n"
_MOST_LINES = 200
"""Maximum lines of an output. Longer outputs are not written."""


def actual(result: ExampleResult) -> str | None:
    """Return the actual output of a failed example in the form for a docstring.

    Return None if the example passed, or if its output must not be accepted. An unexpected exception is not accepted,
    because it is probably a bug.
    """
    example = result.example
    if result.matched or result.skipped or not result.counts or example.informal or example.problem:
        return None
    if result.error is None:
        return "".join(f"{line or '<BLANKLINE>'}\n" for line in result.got.split("\n")[:-1])
    return None if example.exception is None else f"{_TRACEBACK}{result.error}\n"


def outputs(results: Iterable[ExampleResult]) -> dict[Example, str]:
    """Map each failed example to its actual output, unless `actual` returns None for the example."""
    found = ((each.example, actual(each)) for each in results)
    return {example: output for example, output in found if output is not None}


def accepted(target: Target, new: Mapping[Example, str]) -> tuple[list[Edit], list[Example]]:
    """Return edits that write the outputs in `new`. Also return the examples whose outputs could not be written.

    An example in several Sphinx groups must have the same new output in each.
    """
    edits: list[Edit] = []
    refused: list[Example] = []
    for example, output in new.items():
        edit = _edit(target, example, output)
        in_all_groups = {new.get(each) for each in target.examples if each.line == example.line}
        if edit is None or in_all_groups != {output} or not _gives(target, edit, example.line, output):
            refused.append(example)
        elif edit not in edits:
            edits.append(edit)
    return edits, refused


def _edit(target: Target, example: Example, output: str) -> Edit | None:
    lines = Lines(target.text)
    first = example.line + example.source.count("\n")
    last = first + example.want.count("\n")
    prompt = _PROMPT.match(lines[example.line])
    if prompt is None or last >= len(lines) or output.count("\n") > _MOST_LINES:
        return None
    written = output if is_page(target.module.path) else escaped(output, last_literal(target)[0])
    ending = line_ending(target.text)
    text = "".join(f"{prompt[1]}{line}{ending}" for line in written.split("\n")[:-1])
    return Edit(lines.starts[first], lines.starts[last], text)


def _gives(target: Target, edit: Edit, line: int, output: str) -> bool:
    """Return whether an edit only replaces the expected output of the example on a line."""
    text = apply_edits(target.text, [edit])
    span = target.docstring_span
    grown = len(text) - len(target.text)
    try:
        if is_page(target.module.path):
            found = examples_of_page(normalize(text), is_markdown=target.module.path.suffix == ".md")
        else:
            found = examples(text[span.start : span.end + grown], 0)
    except (ValueError, UnreadableExample):
        return False
    wanted = [
        (each.source, output if each.line == line else each.want) for each in target.examples if not each.informal
    ]
    return [(each.source, each.want) for each in found if not each.informal] == wanted
