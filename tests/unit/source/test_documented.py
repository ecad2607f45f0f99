"""All docstrings that doctest would read: of the module, its classes and its functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from adacoder.source.locate import Documented, documented, functions

PATH = Path("/w/pkg/mod.py")
TEXT = '''\
#!/usr/bin/env python
"""The module.

>>> f(1)
2
"""


class Outer:
    """Outer.

    >>> Outer()
    """

    class Inner:
        """Inner."""

        def method(self):
            """Method.

            >>> Outer.Inner().method()
            1
            """

    def bare(self):
        pass


def f(x):
    """F.

    >>>f(1)
    2
    """

    def hidden():
        """
        >>> hidden()
        1
        """


def g(x):
    """G.

    >>> g(1)
    1
    """


def unfinished(x)
    """
    >>> unfinished(1)
    """
'''


def found(text: str) -> list[Documented]:
    return list(documented(text, PATH, PATH.parents[1]))


def test_the_module_its_classes_and_its_functions_in_order() -> None:
    assert [(one.target.qualname, one.target.is_function, len(one.target.examples)) for one in found(TEXT)] == [
        ("__doc__", False, 1),
        ("Outer", False, 1),
        ("Outer.Inner", False, 0),
        ("Outer.Inner.method", True, 1),
        ("f", True, 0),
        ("g", True, 1),
    ]


def test_what_cannot_be_read_is_known_and_stops_nothing() -> None:
    (trouble,) = [one for one in found(TEXT) if one.unreadable]
    assert trouble.target.qualname == "f"
    assert trouble.unreadable is not None
    assert TEXT.split("\n")[trouble.unreadable.line] == "    >>>f(1)"
    assert "line 32 cannot be read" in str(trouble.unreadable)
    assert [one.target for one in functions(TEXT, PATH, PATH.parents[1]) if one.unreadable] == [trouble.target]


def test_functions_are_the_same_as_those_that_can_be_written() -> None:
    text = TEXT.replace(">>>f(1)", ">>> f(1)")
    assert tuple(one for one in found(text) if one.target.is_function) == functions(text, PATH, PATH.parents[1])


def test_an_example_of_the_module_knows_its_line() -> None:
    (example,) = found(TEXT)[0].target.examples
    assert (example.source, example.line) == ("f(1)\n", 3)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"""One."""', "One."),
        ("'One.'; x = 1", "One."),
        ("\n# Comment.\n\nr'''A\\d.'''  # and more\nx = 1\n", "A\\d."),
        ('"A \\"word\\"."\r\nx = 1\r\n', 'A "word".'),
        ('"""A ""quoted"" word."""', 'A ""quoted"" word.'),
        ("from __future__ import annotations\n'Not this.'", None),
        ("f'No {1}.'", None),
        ("b'No.'", None),
        ("'''No''' + '''no'''", None),
        ("'''Never closed.\n", None),
        ("x = 'No.'", None),
        ("'No'.join([])", None),
        ("", None),
    ],
)
def test_the_docstring_of_a_module(text: str, value: str | None) -> None:
    assert [one.target.docstring for one in found(text)] == ([] if value is None else [value])


def test_the_text_of_each_is_its_own() -> None:
    module, outer, *_ = found(TEXT)
    assert module.target.source.startswith('"""The module.')
    assert outer.target.signature == "class Outer:"
