"""Strings in `__test__` are read from the text, and parts that cannot be read are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from adacoder.source.dunder_test import dunder_test
from adacoder.source.locate import documented

BEFORE = 'MORE = "m"\nfrom os.path import join\ndef f(): pass\nclass C:\n    def g(self): pass\n'


def read(text: str) -> tuple[dict[str, str], list[str]]:
    """Return the strings by key, and the source of parts that cannot be read."""
    found = dunder_test(text)
    return {key: span.of(text) for key, span in found.strings}, [span.of(text) for span in found.unread]


@pytest.mark.parametrize(
    ("code", "strings", "unread"),
    [
        ('__test__ = {"a": "x", "b": r"""y"""}', {"a": '"x"', "b": 'r"""y"""'}, []),
        ("__test__: dict[str, str] = {'a': 'x'\r\n 'é'  # ☃\r\n 'y', 'b': MORE}", None, []),
        ("__test__ = {'ä☃': ('x'\n  'y'), 'b': 'z'}", {"ä☃": "'x'\n  'y'", "b": "'z'"}, []),
        ("__test__ = {'m': MORE}", {"m": '"m"'}, []),
        ("__test__ = dict(a='x', **join())", {"a": "'x'"}, ["join()"]),
        ("__test__ = {}\n__test__['a'] = 'x'\n__test__['b'] = join", {"a": "'x'"}, ["join"]),
        ("__test__ = {'a': 'x'}\n__test__ = {'b': 'y'}", {"b": "'y'"}, []),
        ("__test__ = {'a': f, 'b': C, 'c': C.g, 'd': f.__doc__}", {}, []),
        ("__test__ = {'a': join, 'b': f'{MORE}', 'c': b'x', 3: 'y'}", {}, ["join", "f'{MORE}'", "b'x'", "'y'"]),
        ("MORE += 'n'\n__test__ = {'m': MORE}", {}, ["MORE"]),
        ("import MORE\n__test__ = {'m': MORE}", {}, ["MORE"]),
        ("__test__ = make()", {}, ["make()"]),
        ("if join:\n    __test__ = {'a': 'x'}", {}, ["if join:\n    __test__ = {'a': 'x'}"]),
        ("__test__ = {}\n__test__.update(a='x')", {}, ["__test__.update(a='x')"]),
        ("__test__ = {'a': 'x'} if (", {}, ["__test__"]),
        ("__test__ = False", {}, []),
        ("if __name__ == '__main__':\n    __test__ = make()", {}, []),
        ("class Other:\n    __test__ = False", {}, []),
        ("# __test__", {}, []),
    ],
)
def test_values(code: str, strings: dict[str, str] | None, unread: list[str]) -> None:
    expected = {"a": "'x'\r\n 'é'  # ☃\r\n 'y'", "b": '"m"'} if strings is None else strings
    assert read(BEFORE + code + "\n") == (expected, unread)


def test_deep_values_are_only_unread() -> None:
    for value in ("+".join(["'x'"] * 900), "a" + ".b" * 900):
        assert read(f"__test__ = {{'a': {value}, 'b': 'y'}}") == ({"b": "'y'"}, [value])


def test_examples_know_their_lines() -> None:
    text = 'X = 1\n\n__test__ = {"a": """\n\n>>> X\n1\n""",\n  "b": ">>> X\\n"\n       "2\\n"\n       ">>> X\\n"}\n'
    found = {one.target.qualname: one.target for one in documented(text, Path("/w/a.py"), Path("/w"))}
    assert {name: [each.line for each in target.examples] for name, target in found.items()} == {
        "__test__.a": [4],
        "__test__.b": [7, 9],
    }
    assert not any(target.is_function for target in found.values())
