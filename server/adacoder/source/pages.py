"""Read the examples of a page: a text file with prose, such as `README.md` or the pages of a documentation.

All examples of a page share their names, as in `python -m doctest README.md`. The page imports what it uses.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from adacoder.domain import Module, Span, Target
from adacoder.project import importable
from adacoder.pytext import normalize
from adacoder.source.examples import UnreadableExample, examples_of_page
from adacoder.source.locate import Documented


def page(text: str, path: Path, workspace: Path) -> Documented | None:
    """Return the page as something to check, or None if it has no examples. Its code can import the project's modules.

    A project with a folder `src` has its modules there.
    """
    root = workspace / "src"
    root = root if root.is_dir() else workspace
    name = importable(f"{path.stem}_{path.suffix.removeprefix('.')}", root)
    whole, start = Span(0, len(text)), Span(0, 0)
    target = Target(
        module=Module(path, name, root, workspace),
        text=text,
        qualname="__doc__",
        definition=whole,
        header=start,
        docstring_span=whole,
        docstring=text,
        body=Span(whole.end, whole.end),
        indent="",
        examples=(),
        is_stub=False,
        is_function=False,
    )
    try:
        found = examples_of_page(normalize(text))
    except UnreadableExample as unreadable:
        return Documented(target, unreadable)
    return None if not found else Documented(replace(target, examples=found))
