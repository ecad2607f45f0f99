"""Read the examples of a page: a text file with prose, such as `README.md`.

All examples of a page share their variables, as in `python -m doctest README.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from adacoder.domain import PAGE, Example, Module, Span, Target
from adacoder.project import importable, is_page, project_around
from adacoder.pytext import Lines, normalize
from adacoder.source.directive_blocks import may_have_blocks
from adacoder.source.examples import UnreadableExample, examples_of_page
from adacoder.source.locate import Documented, documented

_SETUP_OF_DOCTEST = "__name__ = '__main__'"
"""In doctest and pytest, a class `C` of a page is `__main__.C`."""
_SETUP_OF_SPHINX = "del __name__"
"""In Sphinx, the examples of a page have no module name, so a class `C` is just `C`."""


def may_have_examples(text: str) -> bool:
    """Return whether a page may have examples. This check is quick."""
    return ">>>" in text or "testcode" in text


def page(text: str, path: Path, workspace: Path) -> Documented | None:
    """Return a page as a docstring to check; None if the page has no examples.

    The target ends with the last example, so a change of the prose below keeps the evidence. Examples can import
    modules from the project, or from its folder `src` if it exists.
    """
    if not may_have_examples(text):
        return None
    project = project_around(path.parent)
    project = workspace if project is None or not project.is_relative_to(workspace) else project
    root = project / "src"
    root = root if root.is_dir() else project
    name = importable(f"{path.stem}_{path.suffix.removeprefix('.')}", root)
    whole = Span(0, len(text))
    target = Target(
        module=Module(path, name, root, workspace),
        text=text,
        qualname=PAGE,
        definition=whole,
        header=whole,
        docstring_span=whole,
        docstring=text,
        body=Span(whole.end, whole.end),
        indent="",
        examples=(),
        is_stub=False,
        is_function=False,
        setup=(_SETUP_OF_SPHINX if may_have_blocks(text) else _SETUP_OF_DOCTEST,),
    )
    try:
        found = examples_of_page(normalize(text), is_markdown=path.suffix == ".md")
    except UnreadableExample as unreadable:
        return Documented(_between(target, unreadable.line, unreadable.line), unreadable)
    if not found:
        return None
    between = _between(target, min(each.line for each in found), _last_line(target, found))
    return Documented(replace(between, examples=found))


def _last_line(target: Target, found: Sequence[Example]) -> int:
    """Return the last line that belongs to an example.

    The output of a directive's code may be anywhere below, so the last line is then the end of the page.
    """
    if any(example.is_block for example in found):
        return len(Lines(target.text)) - 1
    return max(each.line + each.source.count("\n") + each.want.count("\n") - 1 for each in found)


def _between(target: Target, first: int, last: int) -> Target:
    """Return a page's target with the span from the line `first` to the line `last`."""
    lines = Lines(target.text)
    span = Span(lines.starts[first], lines.end(last))
    return replace(target, definition=span, header=Span(span.start, span.start))


def docstrings(text: str, path: Path, workspace: Path) -> Iterator[Documented]:
    """Yield the docstrings in a file that doctest would read. A page counts as one docstring.

    Raises:
        TargetError: the code in the file never runs.
    """
    if not is_page(path):
        yield from documented(text, path, workspace)
    elif (found := page(text, path, workspace)) is not None:
        yield found
