"""A module with prices, for tests of changes since a commit."""

from __future__ import annotations

from support.commandline import Desk

SHOP = '''"""Prices.

>>> total([1])
1
"""

RATE = 2


def total(values):
    """The sum.

    >>> total([1, 2])
    3
    >>> total([4])
    4
    """
    return sum(values)


def doubled(values):
    """Twice the sum.

    >>> doubled([1])
    2
    """
    return RATE * total(values)


def named(value):
    """The name.

    >>> named(1)
    'one'
    """
    return {1: "one"}.get(value)


class Basket:
    """Things.

    >>> Basket([1, 2]).size()
    2
    """

    def __init__(self, things):
        self.things = things

    def size(self):
        """The number.

        >>> Basket([7]).size()
        1
        """
        return len(self.things)


__test__ = {"more": """
>>> total([5])
5
"""}
'''
GOOD = "    >>> total([1, 2])\n    3\n    >>> total([4])\n    4\n"
OTHERS = ('>>> total([1])\n1\n"""', '"""'), ("    >>> doubled([1])\n    2\n", ""), ('>>> total([5])\n5\n"""', '"""')
"""Replacements that remove the examples of other docstrings that fail if `total` is broken."""
BROKEN = ("return sum(values)", "return sum(values) + 1")


def edited(desk: Desk, *pairs: tuple[str, str], name: str = "shop.py") -> None:
    """Replace texts in a file. Fail if one is missing."""
    path = desk.folder / name
    text = path.read_text("utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


def replaced(new: str) -> tuple[tuple[str, str], ...]:
    """Return replacements for `edited`. They give `total` the examples `new`, and apply `OTHERS`."""
    return ((GOOD, new), *OTHERS)


def checked(desk: Desk, *options: str) -> dict[str, str]:
    """Run `check --changed`. Return the checked docstrings, each with the reason for its check."""
    objects = desk.run("check", "--changed", "--json", *options).objects
    return {each["target"].partition("::")[2]: each["change"]["why"] for each in objects if "change" in each}
