"""Names that a function uses but nothing defines."""

from __future__ import annotations

import pytest

from adacoder.domain import Span
from adacoder.source.imports import undefined_names

FUNCTION = 'def f(x):\n    """Doc."""\n    return '


def undefined(before: str, body: str, after: str = "") -> tuple[str, ...]:
    text = before + FUNCTION + body + after
    return undefined_names(text, Span(len(before), len(before + FUNCTION + body)))


@pytest.mark.parametrize(
    ("before", "body", "expected"),
    [
        ("", "sqrt(x) + log(x) + sqrt(1)", ("sqrt", "log")),
        ("", "[y for y in x if z]", ("z",)),
        ("from math import sqrt\n", "sqrt(x)", ()),
        ("", "len(x), __file__, __path__, __spec__", ()),
        ("", "ExceptionGroup, aiter, EncodingWarning, PythonFinalizationError, WindowsError", ()),
        ("", "unicode, xrange, long", ("unicode", "xrange", "long")),
        ("def g():\n    global y\n    y = 1\n", "y", ()),
        ("y: int\n", "y", ("y",)),
        ("y: int\ndef g():\n    global y\n    y = 1\n", "y", ()),
        ("def g():\n    return y\n", "y, z", ("z",)),
        ("try:\n    import json\nexcept ImportError:\n    json = None\n", "json, ujson", ("ujson",)),
        ("y = 1\ndel y\n", "y", ("y",)),
        ("for i in range(3):\n    pass\n", "i, j", ("j",)),
        ("if (y := 1):\n    pass\n", "y, z", ("z",)),
        ("class A:\n    y = 1\n", "y", ("y",)),
        ("__all__ = ['y']\n", "y", ("y",)),
        ("__all__ = ['y']\ny = 1\n", "y", ()),
        (
            "from __future__ import annotations\n",
            "1\n\ndef g(a: Late, b: Never) -> Late: ...\nclass Late: ...\n",
            ("Never",),
        ),
        ("def g(x): # type: (Foo) -> Bar\n    return x\n", "y", ("y",)),
        ("", "x +", ()),
        ("X = '\\d'\n", "y", ("y",)),
        ("\ufeff# Größe\n", "y", ("y",)),
    ],
)
def test_undefined_names(before: str, body: str, expected: tuple[str, ...]) -> None:
    assert undefined(before, body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("0\n    while x:\n        print(y)\n        y = 1", ()),
        ("0\n    y: int\n    while x:\n        print(y, z)\n        y = 1", ("z",)),
        ("0\n    y = 1\n    del y\n    return y, z", ("z",)),
        ("0\n    try:\n        pass\n    except ValueError as y:\n        pass\n    return y, z", ("z",)),
        ("0\n    def g():\n        return y, z\n    y = 1\n    return g", ("z",)),
        ("0\n    match x:\n        case [y, *rest]:\n            return y, rest, z", ("z",)),
        ("0\n    @cache\n    def g(a=y): ...", ("cache", "y")),
        ("f'''\n{y!r:>{z}}\n'''", ("y", "z")),
        ("lambda y: (y, z)", ("z",)),
    ],
)
def test_what_is_local_to_a_function_is_not_undefined(body: str, expected: tuple[str, ...]) -> None:
    """A local name without a value is not undefined, because an import would not help."""
    assert undefined("", body) == expected


@pytest.mark.parametrize(
    ("star", "expected"),
    [
        ("from typing import *", ("sqrt", "unknown")),
        ("from math import *\nfrom typing import *", ("unknown",)),
        ("from math import *\nfrom helpers import *", ()),
        ("import math", ("List", "sqrt", "unknown")),
    ],
)
def test_what_an_import_of_all_may_bring(star: str, expected: tuple[str, ...]) -> None:
    assert undefined(f"{star}\n", "List, sqrt, unknown") == expected


def test_a_dynamic_name_is_left_to_the_sandbox() -> None:
    assert undefined("globals().update(CODES)\n", "y") == ("y",)


def test_what_only_type_checkers_import_is_undefined_at_run_time() -> None:
    before = (
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING, cast\n"
        "if TYPE_CHECKING:\n    from a import One, Two, Three, Four\nelse:\n    def Four(x: One): ...\n"
    )
    body = "cast('One', x), Two()\n\ndef g(x: Three) -> Three:\n    y: Three = Four\n    return y"
    assert undefined(before, body) == ("Two",)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def g(:\n    return sqrt(1)\n", ""),
        ("type g = int\nsqrt = 1\n", ""),
        ("def g[T](x: T) -> T:\n    return sqrt\n", ""),
        ("", "def g():\n    try: sqrt\n    except A, B: pass\n"),
        ("", "def g():\n  if x:\n      y\n    sqrt\n"),
        ("class g[T]:\n    pass\n", "X = t'{y}' +* sqrt\n"),
    ],
)
def test_what_our_python_cannot_read_elsewhere(before: str, after: str) -> None:
    """The statement that cannot be read may define names. Others are reported as undefined."""
    assert undefined(before, "log(x), g, sqrt(x)", "\n\n" + after) == ("log",)


def test_what_is_only_spoken_of_elsewhere_comes_from_nowhere() -> None:
    before = "def g(:\n    '''Not log(x).'''\n    return 'log' # log\n"
    assert undefined(before, "log(x)") == ("log",)
    assert undefined(before.replace("'log'", "log"), "log(x)") == ()


def test_what_our_python_cannot_read_around_the_function() -> None:
    text = (
        "class A[T](Base):\n"
        "    type Alias = T\n"
        "\n"
        "    def broken(self: return sqrt(\n"
        "\n"
        "    def f(self, x):\n"
        "        return log(x), T, Alias, Base, A\n"
        "\n"
        "    def g[U](self, x: U):\n"
        "        return exp(x)\n"
    )
    assert undefined_names(text, Span(text.index("    def f"), text.index("\n\n    def g"))) == ("log", "Alias")


def test_what_our_python_cannot_read_in_the_function() -> None:
    text = "def f[T](x: T):\n    return log(x), T\n"
    assert undefined_names(text, Span(0, len(text))) == ("log",)
    broken = "def f(x):\n    return log(x), T[\n"
    assert undefined_names(broken, Span(0, len(broken))) == ()


def test_only_what_is_within_counts() -> None:
    text = FUNCTION + "a\n\n\ndef g():\n    return b\n"
    first, second = Span(0, len(FUNCTION) + 1), Span(text.index("def g"), len(text))
    assert undefined_names(text, first) == ("a",)
    assert undefined_names(text, second) == ("b",)
    assert undefined_names(text, [first, second]) == ("a", "b")
    # a span that ends with a line does not include the next line
    line = text.index("    return b")
    assert undefined_names(text, Span(text.index("def g"), line)) == ()
    assert undefined_names(text, Span(text.index("def g"), line + 1)) == ("b",)
