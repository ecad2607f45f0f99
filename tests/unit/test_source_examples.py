"""The examples of a docstring, as doctest reads them, and which of them run the target."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
import toolz

from adacoder.domain import Example, TargetError
from adacoder.source.examples import examples, suggested
from adacoder.source.locate import functions, locate


def found(docstring: str, name: str = "f", owner: str | None = None) -> tuple[Example, ...]:
    return examples(f'"""{docstring}"""', 10, name, owner)


def test_source_want_line_flags_and_exception() -> None:
    first, second, third, fourth = found(
        """Doc.

    >>> f(1)
    2
    >>> for x in f(2):  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
    ...     x
    1...
    <BLANKLINE>
    >>> f(-1)
    Traceback (most recent call last):
      File "x.py", line 1, in f
    ValueError: no
    >>> f(3)  # doctest: +SKIP
    9
    """
    )
    assert (first.source, first.want, first.line, first.flags) == ("f(1)\n", "2\n", 12, 0)
    assert second.source == "for x in f(2):  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE\n    x\n"
    assert (second.line, second.flags) == (14, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert third.exception == "ValueError: no\n"
    assert [example.decides for example in (first, second, third, fourth)] == [True, True, True, False]


@pytest.mark.parametrize("literal", ['"""\r\n>>> f(1)\r\n2\r\n"""', '"""\r>>> f(1)\r2\r"""', "'''\n>>> f(1)\n2\n'''"])
def test_line_endings_do_not_matter(literal: str) -> None:
    (example,) = examples(literal, 0, "f")
    assert (example.source, example.want, example.line) == ("f(1)\n", "2\n", 1)


@pytest.mark.parametrize(
    ("literal", "line"),
    [
        ('"""\\\n>>> f(1)\n2\n"""', 1),
        ('"""Doc, which goes \\\non.\n\n>>> f(1)\n2\n"""', 3),
        ('"""Doc.\\n\n>>> f(1)\n2\n"""', 1),
        ('r"""Doc.\\\n\n>>> f(1)\n2\n"""', 2),
        ('"Doc.\\n\\n>>> f(1)\\n2"', 0),
    ],
)
def test_an_example_knows_its_line_in_the_file(literal: str, line: int) -> None:
    (example,) = examples(literal, 40, "f")
    assert (example.source, example.want, example.line) == ("f(1)\n", "2\n", 40 + line)


def test_escapes_are_python_s() -> None:
    (raw,) = examples('r"""\n>>> f("a\\n")\n\'a\'\n"""', 0, "f")
    (plain,) = examples('"""\n>>> f("a\\\\n")\n\'a\'\n"""', 0, "f")
    assert raw.source == plain.source == 'f("a\\n")\n'


@pytest.mark.parametrize(
    ("docstring", "decide"),
    [
        (">>> f(1)\n1", [True]),
        (">>> g(1)\n1", [False]),
        (">>> x = f(1)\n>>> x\n1", [False, True]),
        (">>> x = g(1)\n>>> x\n1", [False, False]),
        (">>> x = f(1)\n>>> x = 2\n>>> x\n2", [False, False, False]),
        (">>> s.f(3)\n>>> s.items\n[3]", [False, True]),
        (">>> f(items)\n>>> items\n[3]", [False, True]),
        (">>> for i in f(): print(i)\n1", [True]),
        (">>> @f\n... def g(): pass\n>>> g()\n1", [False, True]),
        (">>> [y for x in f() if (y := x)]\n[1]\n>>> y\n1", [True, True]),
        (">>> f(1)  # doctest: +SKIP\n1\n>>> f(2)\n2", [False, True]),
        (">>> f(1)", [False]),
        (">>> import f\n>>> 1\n1", [False, False]),
        (">>> f = 3\n>>> x = g(1)\n>>> x\n1", [False, False, False]),
        (">>> x = f(1)\n>>> x += 1\n>>> x\n2", [False, False, True]),
        (">>> x = f(1)\n>>> import x\n>>> x.y\n2", [False, False, False]),
        (">>> x = f(1)\n>>> if g(): x = 2\n>>> x\n2", [False, False, True]),
        (">>> d = {}\n>>> d['k'] = f(1)\n>>> d\n{'k': 1}", [False, False, True]),
        (">>> d.update(f(1))\n>>> d\n{'k': 1}", [False, True]),
        (">>> x = f(1)\n>>> x.merge(y)\n>>> y\n2", [False, False, True]),
        (">>> s.f = 3\n>>> s.size\n3", [False, True]),
        (">>> print(g(y), f(1))\n1 2\n>>> y\n1", [True, False]),
        (">>> f(len, [1])\n1\n>>> len([1])\n1", [True, False]),
        (">>> def h(a):\n...     b = f(a)\n...     return b\n>>> h(1)\n1\n>>> b\n2", [False, True, False]),
        (">>> [b for b in f()]\n[1]\n>>> b\n2", [True, False]),
        (">>> x = f(1)\n>>> list(map(lambda x: x, [1]))\n[1]", [False, False]),
        (">>> with f() as (a, b): pass\n>>> b\n2", [False, True]),
        (">>> class A(f): pass\n>>> A.x\n1", [False, True]),
        (">>> x = f(1)  # doctest: +SKIP\n>>> x\n1", [False, False]),
        (">>> asyncio.run(f(1))\n1", [True]),
    ],
)
def test_an_example_decides_if_it_shows_what_the_target_did(docstring: str, decide: list[bool]) -> None:
    assert [example.decides for example in found(docstring)] == decide


def test_a_special_method_is_run_by_its_class() -> None:
    docstring = ">>> Point(1) + Point(2)\nPoint(3)"
    assert found(docstring, "__add__", "Point")[0].decides
    assert not found(docstring, "add", "Point")[0].decides


def test_calling_a_method_on_its_class_does_not_make_the_class_its_work() -> None:
    made, other = found(">>> Cart.of('tea').size\n1\n>>> Cart().size\n0", "of", "Cart")
    assert made.decides
    assert not other.decides


def test_identifiers_that_python_takes_for_the_same_are_the_same() -> None:
    assert found(">>> \u00b5(1)\n1", "\u03bc")[0].decides
    assert found(">>> print \u00b5(1)\n1", "\u03bc")[0].decides


def test_what_only_another_python_parses_is_searched_for_the_name() -> None:
    assert found(">>> print f(1)\n1")[0].decides
    assert not found(">>> print g(1)\n1")[0].decides


@pytest.mark.parametrize(
    ("docstring", "says"),
    [
        ("Doc.\n\n>>>f(1)\n1", r"line 13 cannot be read, as it lacks blank after >>>.*: write it as doctest asks\."),
        ("\\\n\\\n>>>f(1)\n1", r"line 13 cannot be read, as it lacks blank"),
        ("Doc.\n  >>> f(1)\n 1", r"line 13 cannot be read, as it has inconsistent leading whitespace"),
        (">>> f(1)  # doctest: +NONSENSE\n1", r"line 11 cannot be read, as it has an invalid option: '\+NONSENSE'"),
    ],
)
def test_an_example_that_doctest_cannot_read_names_its_line(docstring: str, says: str) -> None:
    with pytest.raises(TargetError, match=says):
        found(docstring)


def test_of_real_code_those_examples_decide_that_use_their_function() -> None:
    package = Path(toolz.__file__).parent
    files = [path for path in sorted(package.rglob("*.py")) if "tests" not in path.relative_to(package).parts]
    targets = [each.target for path in files for each in functions(path.read_text("utf-8"), path, package.parent)]
    with_examples = [each for each in targets if each.examples]
    undecided = {f"{each.module.name}.{each.name}" for each in with_examples if not each.deciding}
    assert len(with_examples) == 65
    assert undecided == {
        *(f"toolz.dicttoolz.{name}" for name in ("valmap", "keymap", "itemmap", "assoc_in")),  # all skipped
        "toolz.functoolz.memoize",  # nothing shown
        *(f"toolz.itertoolz.{name}" for name in ("groupby", "frequencies", "reduceby")),  # all skipped
    }


def test_suggestions_are_read_out_of_prose_and_fences() -> None:
    reply = "Here you are:\n\n```python\n>>> f(1)\n2\n>>> f(0)\n0\n```\n\nThese show it.\n\n>>>broken\n"
    assert [(example.source, example.want) for example in suggested(reply, "f")] == [
        ("f(1)\n", "2\n"),
        ("f(0)\n", "0\n"),
    ]


SECTIONS = {
    "Google": """Adds.

    Examples:
        The first one.

        >>> f(1)
        2

        And more, in a line between:
        >>> f([
        ...     1,
        ... ])
        [2]

    Returns:
        f(3) == 4
    """,
    "NumPy": """Adds.

    Examples
    --------
    The first one.

    >>> f(1)
    2

    And more, in a line between:

    >>> f([
    ...     1,
    ... ])
    [2]

    See Also
    --------
    g : f(3) == 4
    """,
    "Sphinx": """Adds.

    .. doctest::

        >>> f(1)
        2
        >>> f([
        ...     1,
        ... ])
        [2]

    :returns: f(3) == 4
    """,
    "Markdown": """Adds.

    ```python
    >>> f(1)
    2
    >>> f([
    ...     1,
    ... ])
    [2]

    ```

    f(3) == 4
    """,
}


@pytest.mark.parametrize("docstring", SECTIONS.values(), ids=SECTIONS)
def test_sections_of_every_style(docstring: str) -> None:
    text = f'def f(x):\n    """{docstring}"""\n'
    examples = locate(text, Path("/w/mod.py"), Path("/w"), qualname="f").examples
    assert [(example.source, example.want) for example in examples] == [
        ("f(1)\n", "2\n"),
        ("f([\n    1,\n])\n", "[2]\n"),
    ]
    lines = text.split("\n")
    assert all(lines[example.line].strip() == f">>> {example.source.split()[0]}" for example in examples)


def test_a_fence_right_below_an_output_is_output_as_doctest_has_it() -> None:
    (example,) = found("```\n>>> f(1)\n2\n```\n")
    assert example.want == "2\n```\n"
