"""`adacoder check` runs the examples of pages: Markdown and reStructuredText files."""

from __future__ import annotations

import doctest

import pytest

from support.commandline import Desk

pytestmark = pytest.mark.isolation

MODULE = "def plus(x):\n    return x + 1\n"
MARKDOWN = """# Plus

```python
>>> from shop import plus
>>> plus(1)
{}
```

The names stay:

```pycon
>>> plus(2)
3
```
"""
REST = """
Plus
====

.. code-block:: python

   >>> import shop
   >>> shop.plus(1)
   {}
"""


@pytest.mark.parametrize(("name", "text"), [("README.md", MARKDOWN), ("docs/plus.rst", REST)])
@pytest.mark.parametrize("where", ["shop.py", "src/shop.py"])
def test_a_page_that_is_named_is_checked(name: str, text: str, where: str, desk: Desk) -> None:
    desk.write(MODULE, where)
    desk.write(text.format(2), name)
    assert desk.run("check", name).code == 0
    desk.write(text.format(3), name)
    ran = desk.run("check", name)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "plus(1)" in line)
    assert (ran.code, f'File "{name}", line {line}, in ' in ran.out) == (1, True)


def test_the_pages_of_a_folder_are_checked_if_asked(desk: Desk) -> None:
    desk.write(MODULE, "shop.py")
    desk.write(MARKDOWN.format(3), "README.md")
    desk.write(REST.format(3), "docs/plus.rst")
    desk.write("Nothing.\n", "docs/empty.md")
    ran = desk.run("check", "docs")
    told = "There is no Python file in docs: add `--pages` to check its Markdown and reStructuredText files."
    assert (ran.code, ran.err.replace(f"{desk.folder}/", "").strip()) == (2, told)
    desk.write('def f():\n    """\n    >>> f()\n    1\n    """\n    return 1\n', "a.py")
    assert desk.run("check").code == 0
    ran = desk.run("check", "--pages")
    assert (ran.code, ran.out.count("Failed example:")) == (1, 2)
    assert ran.out.splitlines()[-1].startswith("Failed: 2 of 3 docstrings in 3 files")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# Nothing\n", "README.md has no example: write one, such as `>>> f(2)` above its output."),
        (">>>f(1)\n", "The example on line 1 cannot be read, as it lacks blank after >>>"),
    ],
)
def test_a_page_without_readable_examples_is_told(text: str, told: str, desk: Desk) -> None:
    desk.write(text, "README.md")
    ran = desk.run("check", "README.md")
    assert ran.code != 0
    assert told in ran.out + ran.err


@pytest.mark.parametrize("where", ["shop.py", "src/shop.py"])
def test_an_example_of_a_page_can_need_a_package(where: str, desk: Desk) -> None:
    desk.write(MODULE, where)
    text = ">>> 1  # doctest: +REQUIRES(module:{})\n2\n>>> 3\n3\n"
    desk.write(text.format("surely_not"), "docs/a.md")
    assert desk.run("check", "docs/a.md").code == 0
    desk.write(text.format("shop"), "docs/a.md")
    assert desk.run("check", "docs/a.md").code == 1


@pytest.mark.parametrize("place", ["README.md::f", "README.md:3"])
def test_a_part_of_a_page_cannot_be_named(place: str, desk: Desk) -> None:
    desk.write(">>> 1\n1\n", "README.md")
    ran = desk.run("check", place)
    assert (ran.code, "README.md is checked as a whole: name it without a line or a function." in ran.err) == (2, True)


def test_a_page_cannot_write_into_the_project(desk: Desk) -> None:
    desk.write(">>> _ = open(__file__ and 'shop.py', 'w').write('x')\n>>> import shop; shop.plus(1)\n2\n", "README.md")
    path = desk.write(MODULE, "shop.py")
    assert desk.run("check", "README.md").code == 0
    assert path.read_text("utf-8") == MODULE


def test_a_page_has_the_verdict_of_doctest(desk: Desk) -> None:
    """One of the page's examples fails in doctest as well."""
    text = "Text.\n\n>>> x = 1\n>>> x\n1\n\n>>> print(x,\n...       2)\n1 2\n\n>>> x + 1\n3\n\n"
    text += ">>> import sys\n>>> sys.displayhook = lambda value: print(f'<{value}>')\n>>> x + 2\n<3>\n"
    path = desk.write(text, "page.rst")
    (found,) = desk.run("check", "--json", "page.rst").objects
    results = doctest.testfile(str(path), module_relative=False, report=False)
    assert (found["examples"]["total"] - found["examples"]["passed"], results.failed) == (1, 1)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (">>> class C: pass\n>>> C\n<class '{}C'>\n", "__main__."),
        (".. doctest::\n\n   >>> class C: pass\n   >>> C\n   <class '{}C'>\n", ""),
    ],
)
def test_a_class_of_a_page_has_the_name_that_doctest_or_sphinx_gives_it(text: str, name: str, desk: Desk) -> None:
    for given in ("__main__.", "", "page_rst."):
        path = desk.write(text.format(given), "page.rst")
        assert desk.run("check", "page.rst").code == (0 if given == name else 1)
        if not text.startswith("."):
            results = doctest.testfile(str(path), module_relative=False, report=False)
            assert results.failed == (0 if given == name else 1)
