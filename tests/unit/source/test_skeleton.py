"""Docstrings that AdaCoder proposes for functions without one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from adacoder.source.locate import locate, undocumented
from adacoder.source.skeleton import skeleton
from adacoder.source.text import apply_edits

PATH = Path("/w/m.py")


def written(text: str, qualname: str = "f", path: Path = PATH) -> str | None:
    found = undocumented(text, path, qualname=qualname)
    return None if found is None else apply_edits(text, [skeleton(found)])


def call(text: str, qualname: str) -> str:
    """Return the call in the proposed docstring."""
    result = written(text, qualname)
    assert result is not None
    target = locate(result, PATH, PATH.parent, qualname=qualname)
    (example,) = target.examples
    assert example.want == "", "no output is made up"
    ast.parse(result)
    return example.source.rstrip("\n")


def test_a_summary_and_a_call() -> None:
    text = "import re\n\n\ndef parse_number(text: str, *, base: int):  # why\n    return int(text)\n"
    assert written(text, "parse_number") == text.replace(
        "  # why\n",
        '  # why\n    """Parse number.\n\n    >>> parse_number("text", base=1)\n    """\n',
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(): return 1\n", 'def f():\n    """F.\n\n    >>> f()\n    """\n    return 1\n'),
        ("def f(): ...  # yet\n", 'def f():\n    """F.\n\n    >>> f()\n    """\n    ...  # yet\n'),
        ("def f(x):", 'def f(x):\n    """F.\n\n    >>> f(...)\n    """'),
        ("def f(x):\n\t# first\n\tpass\n", 'def f(x):\n\t"""F.\n\n\t>>> f(...)\n\t"""\n\t# first\n\tpass\n'),
        ("def f(x):\r\n  pass\r\n", 'def f(x):\r\n  """F.\r\n\r\n  >>> f(...)\r\n  """\r\n  pass\r\n'),
    ],
)
def test_everything_else_stays(text: str, expected: str) -> None:
    assert written(text) == expected


OWNER = """class Cart:
    def __init__(self, items: list[str], limit=3): pass
    def add(self, item, count: int = 1): pass
    @property
    def due(self): pass
    @due.setter
    def due(self, value): pass
    @classmethod
    def of(cls, text: str): pass
    @staticmethod
    def parsed(text: str, /, *rest, strict): pass
    async def sent(self): pass
    class Line:
        def text(self): pass
"""


@pytest.mark.parametrize(
    ("qualname", "expected"),
    [
        ("Cart.__init__", "Cart([])"),
        ("Cart.add", "Cart().add(...)"),
        ("Cart.due", "Cart().due = ..."),
        ("Cart.of", 'Cart.of("text")'),
        ("Cart.parsed", 'Cart.parsed("text", strict=...)'),
        ("Cart.sent", "asyncio.run(Cart().sent())"),
        ("Cart.Line.text", "Cart.Line().text()"),
    ],
)
def test_calls_of_methods(qualname: str, expected: str) -> None:
    result = written(OWNER, qualname)
    assert result is not None
    assert f">>> {expected}\n" in result
    ast.parse(result)


def test_what_cannot_be_read_is_called_with_dots() -> None:
    result = written("def f(x: int = = 3):\n    pass\n")
    assert result is not None
    assert ">>> f(...)" in result


def test_the_call_is_an_example() -> None:
    assert call("def f(x: float, y):\n    pass\n", "f") == "f(1.5, ...)"


def test_what_has_a_docstring_or_cannot_be_a_target_gets_none() -> None:
    assert written('def f():\n    """Doc."""\n') is None
    assert written("def f():\n    def g(): pass\n", "f.g") is None
    assert written("@overload\ndef f(x): ...\n") is None
    assert written("def f(x)\n    pass\n") is None
    assert written("def f(x): ...\n", path=Path("/w/m.pyi")) is None
    assert written("def f(x): ...\n") is not None
