"""Docstrings are hidden from the code that runs, unless the module itself reads them."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest

from adacoder.domain import Target
from adacoder.source.locate import functions, locate
from adacoder.source.withheld import shows_wants, withheld

LIBRARY = Path(sysconfig.get_path("stdlib"))
FUNCTION = '''def f(x):
    """One more.

    >>> f(1)
    2
    """
'''


def target(text: str, name: str = "f") -> Target:
    return locate(text, Path("/w/mod.py"), Path("/w"), qualname=name)


def without_docstrings(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            for each in getattr(node, field, None) or [] if not isinstance(node, ast.Lambda | ast.IfExp) else []:
                if (
                    isinstance(each, ast.Expr)
                    and isinstance(each.value, ast.Constant)
                    and type(each.value.value) is str
                ):
                    each.value.value = ""
    return ast.dump(tree)


@pytest.mark.parametrize(
    "module", ["difflib.py", "statistics.py", "textwrap.py", "calendar.py", "json/decoder.py", "_pydecimal.py"]
)
def test_lines_columns_and_code_stay(module: str) -> None:
    text = (LIBRARY / module).read_text(encoding="utf-8")
    chosen = next(each.target for each in functions(text, LIBRARY / module, LIBRARY) if not each.unreadable)
    blank = withheld(chosen)
    if blank is None:
        assert "__doc__" in text
        return
    assert len(blank) == len(text)
    assert [at for at, c in enumerate(blank) if c == "\n"] == [at for at, c in enumerate(text) if c == "\n"]
    assert ">>>" not in blank.replace("'>>>", "")
    assert without_docstrings(blank) == without_docstrings(text)


@pytest.mark.parametrize(
    ("docstring", "blank"),
    [
        ('"""a\n    b"""', '""" \n     """'),
        ("'''a \\\n    b'''", "'''  \\\n     '''"),
        ('r"a\\d"', 'r"   "'),
        ('"a\\"b"', '"    "'),
        ('("a" # c\n     "b")', '(" "    \n     " ")'),
        ('"""ä🙂"""', '"""  """'),
    ],
)
def test_each_form_of_a_docstring_keeps_its_place(docstring: str, blank: str) -> None:
    text = f'def f(x):\n    {docstring}\n    return "text"\n'
    assert withheld(target(text)) == text.replace(docstring, blank)


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_the_ends_of_lines_stay(end: str) -> None:
    text = FUNCTION.replace("\n", end)
    blank = withheld(target(text))
    assert blank is not None
    assert (blank.count(end), len(blank)) == (text.count(end), len(text))
    assert "2" not in blank


def test_the_docstrings_of_all_that_surrounds_it_are_blank_too() -> None:
    text = f'"""Seven: 7."""\n\nSEVEN = 7\n"""Seven: 7."""\n\n\nclass C: "Seven: 7."\n\n\n{FUNCTION}'
    blank = withheld(target(text))
    assert blank is not None
    assert blank.count("7") == 1


@pytest.mark.parametrize(
    "code",
    [
        "NOTE = __doc__",
        "def g(h):\n    return h.__doc__",
        "import inspect\nSOURCE = inspect.getsource(inspect)",
        "from inspect import getdoc",
        "import click",
        "from docopt import docopt",
    ],
)
def test_a_module_that_reads_docstrings_keeps_them(code: str) -> None:
    assert withheld(target(f"{code}\n\n\n{FUNCTION}")) is None


@pytest.mark.parametrize(
    "code",
    [
        'if __name__ == "__main__":\n    print(__doc__)',
        'if __name__ == "__main__":\n    import doctest\n\n    doctest.testmod()',
        "# f.__doc__ is short",
        'TEXT = "help(me)"',
        "import math",
    ],
)
def test_a_module_that_only_looks_so_does_not(code: str) -> None:
    assert withheld(target(f"{FUNCTION}\n\n{code}\n")) is not None


def test_what_the_body_reads_is_the_candidates_doing() -> None:
    assert withheld(target(f"{FUNCTION}    return f.__doc__\n")) is not None


def test_an_example_may_read_docstrings() -> None:
    assert withheld(target(FUNCTION.replace(">>> f(1)", ">>> f.__doc__[0]"))) is None


@pytest.mark.parametrize(
    ("code", "is_blank"),
    [
        ("__test__ = {'f': '>>> f(1) # 2'}", True),
        ('__test__ = {}\n__test__[\'f\'] = """\n>>> f(1)\n2\n"""', True),
        ("class C:\n    __test__ = False\n    x = 'f(1) 2'", False),
        ("__test__ = {'f': '>>> f(1) # 2'}\nNAMES = [*__test__]", False),
        ("X = '>>> f(1) # 2'\n__test__ = {'f': X}", False),
        ("def test():\n    assert f(1) == 2", False),
    ],
)
def test_strings_of_further_examples_are_blank_or_seen(code: str, is_blank: bool) -> None:
    chosen = target(f"{code}\n\n\n{FUNCTION}")
    blank = withheld(chosen)
    assert blank is not None
    assert ("f(1)" in blank.replace("def", "")) is not is_blank
    assert shows_wants(chosen) is not is_blank


def test_a_call_alone_and_an_output_alone_show_nothing() -> None:
    for code in ("x = lambda: f(1)", "TWO = 2", "x = lambda: f(12) + 2", "x = lambda: f(1) + 22", "# f(1) == 2"):
        assert not shows_wants(target(f"{FUNCTION}    return 2  # f(1)\n\n\n{code}\n"))
