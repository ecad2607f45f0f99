"""The examples of a docstring, as doctest reads them."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from adacoder.directives import FLOAT_CMP, IGNORE_OUTPUT
from adacoder.domain import Example, TargetError
from adacoder.source.examples import examples, suggested
from adacoder.source.locate import locate


def found(docstring: str) -> tuple[Example, ...]:
    return examples(f'"""{docstring}"""', 10)


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
    assert [example.has_want for example in (first, second, third, fourth)] == [True, True, True, False]


@pytest.mark.parametrize("literal", ['"""\r\n>>> f(1)\r\n2\r\n"""', '"""\r>>> f(1)\r2\r"""', "'''\n>>> f(1)\n2\n'''"])
def test_line_endings_do_not_matter(literal: str) -> None:
    (example,) = examples(literal, 0)
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
    (example,) = examples(literal, 40)
    assert (example.source, example.want, example.line) == ("f(1)\n", "2\n", 40 + line)


def test_escapes_are_python_s() -> None:
    (raw,) = examples('r"""\n>>> f("a\\n")\n\'a\'\n"""', 0)
    (plain,) = examples('"""\n>>> f("a\\\\n")\n\'a\'\n"""', 0)
    assert raw.source == plain.source == 'f("a\\n")\n'


@pytest.mark.parametrize(
    ("docstring", "says"),
    [
        ("Doc.\n\n>>>f(1)\n1", r"line 13 cannot be read, as it lacks blank after >>>.*: write it as doctest asks\."),
        ("\\\n\\\n>>>f(1)\n1", r"line 13 cannot be read, as it lacks blank"),
        ("Doc.\n  >>> f(1)\n 1", r"line 13 cannot be read, as it has inconsistent leading whitespace"),
        (
            ">>> # doctest: +SKIP\n>>> f(1)\n1",
            r"line 11 cannot be read, as it has an option directive on a line with no",
        ),
    ],
)
def test_an_example_that_doctest_cannot_read_names_its_line(docstring: str, says: str) -> None:
    with pytest.raises(TargetError, match=says):
        found(docstring)


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("# doctest: +NUMBERS", "has the unknown option '+NUMBERS': write '+NUMBER'"),
        ("# doctest: +IGNORE_RESULT", "has the unknown option '+IGNORE_RESULT': write '+IGNORE_OUTPUT'"),
        ("# doctest: +ZZZ", "has the unknown option '+ZZZ': remove it"),
        ("# doctest: +skip", "has the unknown option '+skip': write '+SKIP'"),
        ("# doctest: ELLIPSIS", "has the option 'ELLIPSIS' without a sign: write '+ELLIPSIS'"),
        ("# xdoctest: +BLAH", "has xdoctest's option '+BLAH', which AdaCoder does not know: remove it"),
        ("# doctest: +NUMBER", ""),
        ("# xdoctest: +IGNORE_WANT", ""),
    ],
)
def test_an_unknown_option_concerns_only_its_example(comment: str, problem: str) -> None:
    first, second = found(f">>> f(1)\n1\n>>> f(2)  {comment}\n2")
    assert (first.problem, second.problem) == ("", problem)


@pytest.mark.parametrize(
    ("comment", "on", "off"),
    [
        ("# doctest: +FLOAT_CMP, +ELLIPSIS", FLOAT_CMP | doctest.ELLIPSIS, 0),
        ("#doctest:+SKIP", doctest.SKIP, 0),
        ("# doctest: -ELLIPSIS", 0, doctest.ELLIPSIS),
        ("# doctest: +REMOTE_DATA +IGNORE_WARNINGS", doctest.SKIP, 0),
        ("# doctest: +IGNORE_OUTPUT", IGNORE_OUTPUT, 0),
        ("# xdoctest: +SKIP('why not')", doctest.SKIP, 0),
        ("# xdoctest: +REQUIRES(module:a, env:B==1)", doctest.SKIP, 0),
        ("# xdoctest: -NORMALIZE_WHITESPACE, +ellipsis", doctest.ELLIPSIS, doctest.NORMALIZE_WHITESPACE),
        ("# doctest works like this", 0, 0),
        ("'# doctest: +SKIP'", 0, 0),
        ("'# xdoctest: +SKIP'[0]", 0, 0),
    ],
)
def test_the_options_of_other_runners(comment: str, on: int, off: int) -> None:
    (example,) = found(f">>> f(1)  {comment}\n1")
    assert (example.flags, example.off, example.problem) == (on, off, "")


@pytest.mark.parametrize("comment", ["# doctest: +REQUIRES(module:x)", "# xdoctest: requires(module:x)"])
def test_an_example_can_need_a_package(comment: str) -> None:
    (example,) = found(f">>> f(1)  {comment}\n1")
    assert (example.needs, example.skipped) == ({"x"}, False)


def test_xdoctest_ignores_directives_in_strings() -> None:
    inside, below = found(">>> f('''\n...   # xdoctest: +SKIP\n... ''')\n1\n>>> f('''\n... ''')  # xdoctest: +SKIP\n1")
    assert (inside.flags, below.flags) == (0, doctest.SKIP)


def test_xdoctest_s_options_on_a_line_of_their_own_hold_until_they_are_switched_off() -> None:
    text = ">>> f(1)\n1\n>>> # xdoctest: +SKIP\n>>> f(2)\n2\n>>> f(3)\n3\n>>> # xdoctest: -SKIP\n>>> f(4)\n4"
    assert [example.skipped for example in found(text)] == [False, True, True, False]


def test_lines_of_a_statement_that_all_begin_with_a_prompt_are_joined() -> None:
    text = ">>> for i in f(2):\n>>>     if i:\n>>>         i\n>>> else:\n>>>     0\n1\n0\n"
    loop, call, last = found(text + ">>> f(\n>>>     3)\n3\n>>> f(4)\n4")
    assert loop.source == "for i in f(2):\n    if i:\n        i\nelse:\n    0\n"
    assert (loop.want, loop.line) == ("1\n0\n", 10)
    assert (call.source, call.want, call.line) == ("f(\n    3)\n", "3\n", 17)
    assert (last.source, last.line) == ("f(4)\n", 20)


def test_directives_of_all_lines_of_a_statement_hold() -> None:
    (loop,) = found(">>> for i in f(2):\n>>>     i  # doctest: +SKIP\n1")
    assert loop.skipped
    (call,) = found(">>> f(\n>>>     1,\n>>> )\n1")
    assert call.source == "f(\n    1,\n)\n"
    (decorated,) = found(">>> @g\n>>> def h(): pass")
    assert decorated.source == "@g\ndef h(): pass\n"


def test_a_need_can_end() -> None:
    text = ">>> # xdoctest: +REQUIRES(module:x)\n>>> f(1)\n1\n>>> # xdoctest: -REQUIRES(module:x)\n>>> f(2)\n2"
    assert [example.needs for example in found(text)] == [{"x"}, set()]


def test_suggestions_are_read_out_of_prose_and_fences() -> None:
    reply = "Here you are:\n\n```python\n>>> f(1)\n2\n>>> f(0)\n0\n```\n\nThese show it.\n\n>>>broken\n"
    assert [(example.source, example.want) for example in suggested(reply)] == [
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


@pytest.mark.parametrize(
    "docstring",
    [
        "```\n>>> f(1)\n2\n```\n",
        "```python\n>>> f(1)\n2\n```",
        "Doc.\n\n~~~pycon\n>>> f(1)\n2\n~~~~\nAnd text.\n",
        "  ```{doctest}\n  >>> f(1)\n  2\n  ```\n\nText.\n",
        "```\na\n```\n\n```py title='x'\n>>> f(1)\n2\n```\n",
        "````\n>>> f(1)\n2\n````\n",
    ],
)
def test_what_closes_a_fence_ends_the_output(docstring: str) -> None:
    (example,) = found(docstring)
    assert example.want == "2\n"


@pytest.mark.parametrize(
    ("docstring", "want"),
    [
        (">>> f(1)\n2\n```\n", "2\n```\n"),
        (">>> f(1)\n```\n2\n```\n", "```\n2\n```\n"),
        ("````\n>>> f(1)\n```\n2\n```\n````\n", "```\n2\n```\n"),
        ("```\n>>> f(1)\n~~~\n```\n", "~~~\n"),
        ("Write ```f``` so:\n>>> f(1)\n2\n```\n", "2\n```\n"),
    ],
)
def test_a_fence_that_was_not_opened_before_is_output(docstring: str, want: str) -> None:
    (example,) = found(docstring)
    assert example.want == want
