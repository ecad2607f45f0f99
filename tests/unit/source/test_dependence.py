"""The order in which a file's unwritten functions are generated."""

from __future__ import annotations

from pathlib import Path

import pytest

from adacoder.source.dependence import by_dependence
from adacoder.source.locate import functions

PATH = Path("/w/m.py")


def ordered(text: str) -> list[str]:
    found = functions(text, PATH, PATH.parent)
    return [target.qualname for target in by_dependence([one.target for one in found])]


def stub(name: str, docstring: str = "Doc.", comment: str = "", head: str = "") -> str:
    return f'{head}def {name}(x):\n    """{docstring}"""\n{comment}    pass\n\n\n'


@pytest.mark.parametrize(
    "first",
    [
        stub("total", "Sum.\n\n    >>> total(parsed(1))\n    1\n    "),
        stub("total", "Sum of what `parsed` gives."),
        stub("total", "Sum of what `m.parsed(x)` gives."),
        stub("total", "Sum of parsed(x)."),
        stub("total", comment="    # use parsed()\n"),
        stub("total", head="@parsed\n"),
    ],
)
def test_what_a_stub_names_comes_before_it(first: str) -> None:
    assert ordered(first + stub("parsed")) == ["parsed", "total"]


def test_words_of_prose_are_no_names_and_else_the_order_is_the_files() -> None:
    assert ordered(stub("total", "Sum of parsed numbers.") + stub("parsed") + stub("add")) == ["total", "parsed", "add"]


def test_a_chain_is_followed_to_its_end() -> None:
    assert ordered(stub("a", "`b`") + stub("b", "`c`") + stub("c", "`d`") + stub("d")) == ["d", "c", "b", "a"]


def test_where_some_name_each_other_the_first_comes_first() -> None:
    assert ordered(stub("a", "`b`") + stub("b", "`a`") + stub("c", "`b`")) == ["a", "b", "c"]
    assert ordered(stub("a", "`a`")) == ["a"]


def test_who_makes_an_object_needs_what_makes_it() -> None:
    text = (
        'class Cart:\n    """Doc."""\n'
        '    def due(self):\n        """Due.\n\n        >>> c = Cart(); c.add(3); c.due()\n        3\n        """\n'
        '    def add(self, price):\n        """Add."""\n'
        '    def __init__(self):\n        """New."""\n'
    )
    assert ordered(text) == ["Cart.add", "Cart.__init__", "Cart.due"]


def test_many_stubs_in_a_chain() -> None:
    names = [f"f{number}" for number in range(400)]
    text = "".join(stub(name, f"`{after}`") for name, after in zip(names, [*names[1:], "none"], strict=True))
    assert ordered(text) == names[::-1]
