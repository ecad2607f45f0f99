"""Two versions of a file are compared by code, docstrings and examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from adacoder.domain import Example
from adacoder.source.changes import alterations, file_changes

TEXT = '''import os


def f(x):
    """F.

    >>> f(1)
    1
    """
    return x


class A:
    def __add__(self, other):
        return 1

    def g(self):
        """G.

        >>> A().g()
        1
        """
        return 1

    def h(self):
        """H.

        >>> 1 + 1
        2
        """
        return f(1)
'''


ALL = {"f": "reached", "A.g": "reached", "A.h": "reached"}


def found(now: str, before: str | None = TEXT) -> dict[str, str]:
    changes = file_changes(before, now, Path("/w/a.py"), Path("/w"), reaches=True, every_function=False)
    return {each.now.target.qualname: each.why.value for each in changes.changes}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("import os\n", "import os  # here\n\n", {}),
        ("return x", "return +x", {"f": "changed", "A.h": "reached"}),
        ("    def g(self", "    def new(self):\n        pass\n\n    def g(self", {}),
        ("return 1\n\n    def g", "return 2\n\n    def g", {"A.g": "reached", "A.h": "reached"}),
        ("class A:", "class A(dict):", {"A.g": "reached", "A.h": "reached"}),
        ("import os\n", "import os\n\nf = lambda x: 1\n", {"f": "reached", "A.h": "reached"}),
        ("import os\n", "import os\n\nos = f\n", {"f": "reached", "A.h": "reached"}),
        ("import os\n", "from os import *\n", {"f": "reached", "A.g": "reached", "A.h": "reached"}),
        ("import os\n", "if os:\n    f = 1\n", {"f": "reached", "A.h": "reached"}),
        ("import os\n", "import os\nexec('')\n", {"f": "reached", "A.g": "reached", "A.h": "reached"}),
        ("import os\n", "import os\n_ = globals().update(f=1)\n", ALL),
        ("import os\n", "import os\nT = frozenset([1])\n", {}),
        ("import os\n", "import os\nos.name = 1\n", ALL),
        ("import os\n", "import os\nraise OSError\n", ALL),
        ("import os\n", "import os\nimport patch\n", ALL),
        ("import os\n", "import os\nfrom . import patch\n", ALL),
        ("import os\n", "import os\nimport json\n", {}),
        ("import os\n", "import os\n\n\nclass B:\n    globals().update(f=1)\n", ALL),
        ("import os\n", "import os\n\n\nclass B:\n    b = 1\n", {}),
        ("import os\n", "import os\n\n\ndef b(x=print()):\n    pass\n", ALL),
        ("import os\n", "import os\n\n\ndef b(x=1):\n    return print()\n", {}),
        ("import os\n", "import os (\n", {"f": "changed", "A.g": "changed", "A.h": "changed"}),
    ],
)
def test_code_that_changed_reaches_its_users(old: str, new: str, expected: dict[str, str]) -> None:
    assert TEXT.count(old) == 1
    assert found(TEXT.replace(old, new)) == expected


USED = '''def build():
    return {1: "one"}


def _core(x):
    return x


@singledispatch
def area(x):
    """A.

    >>> area(1)
    1
    """


@area.register
def _(x: int):
    return x


@property
def other(x):
    """O.

    >>> 1 + 1
    2
    """


TABLE = build()
double = _core
NAMES = []
NAMES.append(_core)


def lookup(x):
    """L.

    >>> lookup(1)
    'one'
    """
    return TABLE[x]


def twice(x):
    """T.

    >>> twice(1)
    1
    """
    return double(x)


def names():
    """N.

    >>> names()
    []
    """
    return NAMES
'''


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('{1: "one"}', "{}", {"lookup": "reached"}),
        ("return x\n\n\n@singledispatch", "return +x\n\n\n@singledispatch", {"twice": "reached", "names": "reached"}),
        ("return x\n\n\n@property", "return +x\n\n\n@property", {"area": "reached"}),
        ("@property", "@property\ndef new(x): pass\n\n\n@property", {}),
    ],
)
def test_a_change_reaches_the_users_of_statements_and_decorators(old: str, new: str, expected: dict[str, str]) -> None:
    assert USED.count(old) == 1
    assert found(USED.replace(old, new), USED) == expected


def test_an_import_of_a_file_that_replaces_a_module_reaches_everything(tmp_path: Path) -> None:
    def reached() -> int:
        now = f"import json\n{TEXT}"
        return len(file_changes(TEXT, now, tmp_path / "a.py", tmp_path, reaches=True, every_function=False).changes)

    assert reached() == 0
    (tmp_path / "json.py").touch()
    assert reached() == 3


def test_without_an_earlier_text_everything_is_new() -> None:
    assert set(found(TEXT, before=None).values()) == {"new"}
    assert found("", before=TEXT) == {}


def test_examples_are_paired() -> None:
    one, two, three = (Example(f"f({number})\n", f"{number}\n", number) for number in range(3))
    other = Example("f(1)\n", "7\n", 1)
    assert not alterations([one, two], [one, two, three])
    assert alterations([one, two, three], [one, three]).removed == (two,)
    assert alterations([one, two, three], [one, other, three]).edited == (two,)
    assert alterations([one, two], [two, one]).edited
    assert alterations([one], [two, one]).preceded
    assert alterations([one, two], []).removed == (one, two)


def test_many_examples_are_compared_quickly() -> None:
    before = [Example("f()\n", "1\n", number) for number in range(50_000)]
    now = [Example("f()\n", "2\n", number) for number in range(50_000)]
    assert len(alterations(before, now).edited) == len(before)
