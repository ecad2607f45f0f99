"""A quick scan of a text finds the same as a complete reading."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import adacoder
from adacoder.pytext import definitions, line_number
from adacoder.source.skim import skim

FILES = sorted(Path(adacoder.__file__).parent.rglob("*.py"))


def as_a_whole(text: str) -> list[tuple[str, int]]:
    found = [each for each in definitions(text) if not each.is_class and not each.in_function]
    return [
        (each.qualname, line_number(text, each.span.start))
        for each in found
        if each.docstring is not None and each.header_line.colon
    ]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_it_finds_what_reading_everything_finds(ends: str, one_in: Callable[[int], int]) -> None:
    found = 0
    for path in FILES[len(ends) % one_in(2) :: one_in(2)]:
        text = path.read_text(encoding="utf-8").replace("\n", ends)
        assert [(each.qualname, each.line) for each in skim(text)] == as_a_whole(text), path
        found += len(skim(text))
    assert found > 1000 // one_in(2)


@pytest.mark.parametrize(
    "text",
    [
        'X = """\ndef no():\n    pass\n"""\n\n\ndef f():\n    """Doc."""\n',
        '@a(\n    1,\n)\n@b\nasync def f():\n    """Doc."""\n\n\nclass D:\n    def g(self):\n        """Doc."""\n',
        'if True:\n    def f():\n        """Doc."""\nelse:\n    def f():\n        """Doc."""\n',
        'x = (1,\ndef f():\n    """Doc."""\n',
        '\ufeffdef f():\n    """Doc."""\n\x0c\ndef g():\n    """Doc."""\n',
        'def f():\n    """Never closed.\n\ndef g():\n    """Doc."""\n',
    ],
)
def test_where_pieces_are_hard_to_tell(text: str) -> None:
    assert [(each.qualname, each.line) for each in skim(text)] == as_a_whole(text)


def test_what_is_abstract_is_no_stub() -> None:
    text = "".join(
        f'{head}def f{n}():\n    """Doc."""\n' for n, head in enumerate(["", "@abstractmethod\n", "@t.overload\n"])
    )
    assert [each.is_stub for each in skim(text)] == [True, False, False]
