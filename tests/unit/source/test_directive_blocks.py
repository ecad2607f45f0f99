"""The directives of Sphinx, MyST and doctestplus around examples in docstrings and pages."""

from __future__ import annotations

import doctest
from pathlib import Path
from textwrap import indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import Example
from adacoder.source.examples import examples, examples_of_page
from adacoder.source.pages import page

SPHINX = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.DONT_ACCEPT_TRUE_FOR_1
UNKNOWN = "has the option ':hidden:', which AdaCoder does not know: remove it"
UNREADABLE = "has a ':pyversion:' that cannot be read: write a condition such as '>= 3.9'"
UNREADABLE_OPTION = "has an option that cannot be read: write each option on one line, as 'name: value'"
PAGE = """\
Title
=====

.. testcleanup::

   close(x)

>>> x
1

.. testcode::

   x = 2

   print(x)

.. testoutput:: default
   :options: +NORMALIZE_WHITESPACE, -ELLIPSIS

   2

   <BLANKLINE>

.. testsetup:: *

   x = 1
"""
PARTS = {
    "prompt": ">>> 1\n1\n",
    "prose": "Text.\n\n- item\n",
    "doctest": ".. doctest:: a\n   :hide:\n\n   >>> 2\n   2\n",
    "code": ".. testcode::\n\n   def f():\n       return 1\n\n   print(3)\n",
    "setup": ".. testsetup:: *\n\n     four = 4\n",
    "skip": ".. doctest-skip::\n\n   >>> 5\n   6\n",
    "literal": "Write::\n\n   .. testcode::\n\n      print(7)\n",
    "shown": ".. code-block:: rst\n\n   .. testsetup::\n\n      print(8)\n",
    "comment": ".. A comment\n\n   .. testcode::\n\n      print(9)\n",
}
STARTS = {">>> 1", "   >>> 2", "   def f():", "     four = 4", "   >>> 5"}
"""The first lines of all examples in `PARTS`."""


def of_page(text: str) -> tuple[Example, ...]:
    return examples_of_page(text, is_markdown=False)


def test_the_setup_runs_first_and_the_cleanup_last() -> None:
    found = of_page(PAGE)
    assert [each.source for each in found] == ["x = 1\n", "x\n", "x = 2\n\nprint(x)\n", "close(x)\n"]
    assert [each.is_block for each in found] == [True, False, True, True]
    assert [each.line + 1 for each in found] == [26, 8, 13, 6]


def test_an_output_belongs_to_the_code_above_it() -> None:
    code = of_page(PAGE)[2]
    assert code.want == "2\n\n<BLANKLINE>\n"
    assert code.flags == SPHINX & ~doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.DONT_ACCEPT_BLANKLINE
    assert code.off == doctest.ELLIPSIS


def test_an_output_can_show_an_exception() -> None:
    shown = "Traceback (most recent call last):\n   ...\n   ValueError: no\n"
    assert of_page(f".. testcode::\n\n   f()\n\n.. testoutput::\n\n   {shown}")[0].exception == "ValueError: no\n"


def test_an_output_without_code_is_a_problem() -> None:
    *_, found, _ = of_page(PAGE.replace("testcode::", "testsetup::").replace(">>> x", ".. testcode::"))
    assert found.problem == "is an output without a `testcode` above it: add one"
    assert not any(each.problem for each in of_page(PAGE))


@pytest.mark.parametrize(
    ("kinds", "wants"),
    [
        ("code a, code b, output a, output b", ["2", "3"]),
        ("code a, code b, output b, output a", ["3", "2"]),
        ("code, code skipped, output", ["2", ""]),
        ("code skipped, output", ["1"]),
        ("code, output, code skipped, output", ["1", "3"]),
        ("code, output skipped, output", ["2", "1"]),
        ("code, setup, output", ["2", ""]),
        ("code, cleanup, output", ["2", ""]),
        ("code, prompt skipped, output", ["2", "1"]),
        ("code, prompt b, output", ["2", "1"]),
        ("code, prompt, output", ["", "1", "problem"]),
        ("code, plain, output", ["", "1", "problem"]),
        ("code b, plain, output b", ["2", "1"]),
        ("code, output, output", ["1", "problem"]),
        ("code a, output b", ["", "problem"]),
        ("code a, code a, output a", ["", "2"]),
        ("code skipped, output, output", ["1", "problem"]),
    ],
)
def test_an_output_belongs_to_the_last_code_of_its_group(kinds: str, wants: list[str]) -> None:
    """The output with a number belongs to the block with the same number."""
    told = {
        "code": ".. testcode:: {}\n{}\n   print(1)\n",
        "output": ".. testoutput:: {}\n{}\n   {}\n",
        "setup": ".. testsetup:: {}\n{}\n   x = 1\n",
        "cleanup": ".. testcleanup:: {}\n{}\n   x = 1\n",
        "prompt": ".. doctest:: {}\n{}\n   >>> 1\n   1\n",
        "plain": ">>> 1\n1\n",
    }
    text = ""
    for number, kind in enumerate(kinds.split(", ")):
        name, _, rest = kind.partition(" ")
        group, option = ("", "   :skipif: True\n") if rest == "skipped" else (rest, "")
        text += told[name].format(group, option, number) + "\n"
    found = sorted(of_page(text), key=lambda each: each.line)
    assert ["problem" if each.problem else each.want.strip() for each in found] == wants


def test_code_of_two_groups_has_an_output_in_each() -> None:
    text = ".. testcode:: a, b\n\n   print(1)\n\n.. testoutput:: {}\n\n   1\n\n.. testoutput:: {}\n\n   2\n"
    in_a, in_b = of_page(text.format("a", "b"))
    assert [(each.group, each.want) for each in (in_a, in_b)] == [("a", "1\n"), ("b", "2\n")]
    in_a, rest, in_b = of_page(text.format("a, b", "a"))
    assert (in_a.want, in_b.want, bool(rest.problem)) == ("1\n", "1\n", True)


@pytest.mark.parametrize(
    ("names", "runs"),
    [
        ("setup *, prompt a, prompt b", "0a 1a 0b 2b"),
        ("setup a, prompt a, prompt b", "0a 1a 2b"),
        ("prompt b, prompt a, prompt b", "0b 2b 1a"),
        ("plain, prompt a, cleanup *", "0default 2default 1a 2a"),
        ("prompt a, setup, prompt b", "0a 2b"),
        ("prompt *, prompt a, plain", "0a 1a 0default 2default"),
        ("prompt *, code *", "0default 1default"),
        ("prompt a, prompt a", "0a 1a"),
        ("setup *, setup a", ""),
    ],
)
def test_the_examples_of_a_group_run_together(names: str, runs: str) -> None:
    """Each example is written as the number of its block and its group."""
    told = {
        "code": ".. testcode:: {}\n\n   {}\n",
        "setup": ".. testsetup:: {}\n\n   {}\n",
        "cleanup": ".. testcleanup:: {}\n\n   {}\n",
        "prompt": ".. doctest:: {}\n\n   >>> {}\n",
        "plain": "{}>>> {}\n",
    }
    text = ""
    for number, name in enumerate(names.split(", ")):
        kind, _, group = name.partition(" ")
        text += told[kind].format(group, number) + "\n"
    assert " ".join(f"{each.source.strip()}{each.group}" for each in of_page(text)) == runs


def test_the_text_of_an_output_is_no_code() -> None:
    for text in ("exit(3)", ">>> exit(3)"):
        (found,) = of_page(f".. testoutput::\n\n   {text}\n")
        assert (found.source, found.want) == ("# testcode\n", f"{text}\n")


@pytest.mark.parametrize(
    ("option", "flags", "needs", "problem"),
    [
        ("", SPHINX, set(), ""),
        (":hide:", SPHINX, set(), ""),
        (":no-trim-doctest-flags:", SPHINX, set(), ""),
        (":options: +SKIP", SPHINX | doctest.SKIP, set(), ""),
        (":options: -ELLIPSIS", SPHINX & ~doctest.ELLIPSIS, set(), ""),
        (":skipif: print('never runs')", SPHINX | doctest.SKIP, set(), ""),
        (":pyversion: >= 3.4", SPHINX, {"python>= 3.4"}, ""),
        (":pyversion: >3.4, <4", SPHINX, {"python>3.4, <4"}, ""),
        (":pyversion: ~=3.4,!=3.5.*", SPHINX, {"python~=3.4,!=3.5.*"}, ""),
        (":pyversion: 3.4", SPHINX, set(), UNREADABLE),
        (":pyversion: =>3", SPHINX, set(), UNREADABLE),
        (":pyversion: ~=3", SPHINX, set(), UNREADABLE),
        (":pyversion: >= 3; x", SPHINX, set(), UNREADABLE),
        (":pyversion:", SPHINX, set(), UNREADABLE),
        (":options: +ELLIPSES", SPHINX, set(), "has the unknown option '+ELLIPSES': write '+ELLIPSIS'"),
        (":hidden:", SPHINX, set(), UNKNOWN),
    ],
)
def test_an_option_of_a_directive_is_for_all_its_examples(
    option: str, flags: int, needs: set[str], problem: str
) -> None:
    inside, outside = of_page(f".. doctest::\n   {option}\n\n   >>> 1\n   1\n\n>>> 2\n2\n")
    assert (inside.flags, inside.needs, inside.problem) == (flags, needs, problem)
    assert (outside.flags, outside.needs, outside.problem) == (0, set(), "")


@pytest.mark.parametrize(
    ("directive", "first", "second"),
    [
        (".. doctest-skip::", "skip", ""),
        (".. doctest-skip::\n\n.. code-block:: python", "", ""),  # doctestplus counts the blank line
        (".. doctest-skip::\n.. code-block:: python", "skip", ""),
        (".. doctest-skip:: win32", "", ""),
        (".. doctest-skip-all", "skip", "skip"),
        (".. doctest-remote-data::", "skip", ""),
        (".. doctest-remote-data-all::", "skip", "skip"),
        (".. doctest-requires:: numpy>=2.0, b  c", "b c numpy>=2.0", ""),
        ("..  doctest-requires:: b", "b", ""),
        (".. doctest-requires-all:: b", "b", "b"),
        (".. doctest-skip\n\nText.", "", ""),
        ("doctest-skip::", "", ""),
    ],
)
@pytest.mark.parametrize("where", ["page", "docstring"])
def test_doctestplus_skips_the_examples_below(directive: str, first: str, second: str, where: str) -> None:
    text = f"Text.\n\n{directive}\n\n>>> 1\n1\n>>> 2\n2\n\n>>> 3\n3\n"
    literal = f'"""{indent(text, "    ").lstrip()}    """'
    found = examples(literal, 0) if where == "docstring" else of_page(text)
    told = ["skip" if each.skipped else " ".join(sorted(each.needs)) for each in found]
    assert told == [first, first, second]


@pytest.mark.parametrize(
    ("fence", "sources"),
    [
        ("```{testsetup}\nx = 1\n```\n", ["x = 1\n"]),
        ("```{testsetup} *\n\nx = 1\nx\n\n```\n", ["x = 1\nx\n"]),
        ("```{eval-rst}\n.. testsetup::\n\n   x = 1\n```\n", ["x = 1\n"]),
        ("````{testcode}\nx = '''\n```\n'''\n````\n", ["x = '''\n```\n'''\n"]),
        ("```python\n.. testsetup::\n\n   x = 1\n```\n", []),
        ("```\n```{testsetup}\nx = 1\n```\n", []),
        (".. testsetup::\n\n   x = 1\n", []),
    ],
)
def test_fences_of_myst_are_directives(fence: str, sources: list[str]) -> None:
    found = examples_of_page(
        f"# Title\n\n{fence}\n\n```{{doctest}}\n:options: +SKIP\n>>> y\n1\n```\n", is_markdown=True
    )
    assert [each.source for each in found if each.is_block] == sources
    assert [(each.source, each.want, each.skipped) for each in found if not each.is_block] == [("y\n", "1\n", True)]


@pytest.mark.parametrize(
    ("options", "flags", "needs", "problem"),
    [
        ("---\noptions: +SKIP\nhide: true\n---\n", SPHINX | doctest.SKIP, set(), ""),
        ("---\n# why\npyversion: '>= 3'\n\n---\n\n", SPHINX, {"python>= 3"}, ""),
        (':pyversion: ">= 3"\n', SPHINX, {"python>= 3"}, ""),
        ("---\nhide:\n---\n", SPHINX, set(), ""),
        ("---\nhidden:\n---\n", SPHINX, set(), UNKNOWN),
        ("---\nhide\n---\n", SPHINX, set(), UNREADABLE_OPTION),
    ],
)
def test_options_of_myst_can_be_yaml(options: str, flags: int, needs: set[str], problem: str) -> None:
    found = examples_of_page(f"```{{doctest}}\n{options}>>> y\n1\n```\n", is_markdown=True)
    assert [(each.source, each.flags, each.needs, each.problem) for each in found] == [("y\n", flags, needs, problem)]
    code = f"```{{testcode}}\n{options}print(1)\n```\n\n```{{testoutput}}\n1\n---\n```\n"
    (block,) = examples_of_page(code, is_markdown=True)
    assert (block.source, block.want) == ("print(1)\n", "1\n---\n")


def test_code_with_prompts_in_it_is_one_example() -> None:
    (found,) = of_page('.. testcode::\n\n   def f():\n       """\n       >>> f()\n       1\n       """\n')
    assert found.source == 'def f():\n    """\n    >>> f()\n    1\n    """\n'


def test_a_line_of_an_example_is_no_directive() -> None:
    directive, fence = ".. testcode::\n\n   g()\n", "```{testcode}\ng()\n```\n"
    for shown, is_markdown in ((directive, False), (fence, True)):
        for blank, number in (("", 1), ("\n", 2)):
            found = examples_of_page(f">>> f()\n{blank}{shown}", is_markdown=is_markdown)
            assert len(found) == number


@pytest.mark.parametrize(
    ("comment", "is_block"), [("..\n\n", True), (".. \n\n", True), ("..\n", False), (".. Text.\n\n", False)]
)
def test_an_empty_comment_ends_at_the_blank_line_below_it(comment: str, is_block: bool) -> None:
    found = of_page(f"{comment}   .. testcode::\n\n      print(1)\n")
    assert len(found) == is_block


def test_a_setup_with_prompts_runs_where_it_is() -> None:
    first, second = of_page(">>> 1\n1\n\n.. testsetup::\n    >>> x = 1\n")
    assert (first.source, second.source, second.is_block) == ("1\n", "x = 1\n", False)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Text.\n\n>>> 1\n1\n\nText.\n", ">>> 1\n1\n"),
        (f"Text.\n\n>>> 1\n1\n\n{PARTS['code']}\n.. testoutput::\n\n   3\n", None),
        (f"Text.\n\n{PARTS['code']}\n.. testoutput::\n\n   3\n{PARTS['setup']}", None),
    ],
)
def test_a_page_extends_over_its_examples_and_outputs(text: str, source: str | None) -> None:
    """If the page ended before the output, evidence would stay valid after a change of the output."""
    found = page(text, Path("/w/page.rst"), Path("/w"))
    assert found is not None
    expected = text[text.index(found.target.source[:9]) :] if source is None else source
    assert found.target.source.rstrip("\n") == expected.rstrip("\n")


def test_a_setup_alone_is_nothing_to_check() -> None:
    setup = ".. testsetup::\n\n   x = 1\n"
    assert of_page(setup) == examples(f'"""\n{setup}"""', 0) == ()
    assert len(of_page(f"{setup}\n>>> x\n1\n")) == 2


def test_the_first_line_of_a_docstring_is_aligned() -> None:
    """An unaligned line would make the parser read the whole docstring as literal text."""
    (found,) = examples('"""Call it::\n\n        f(1)\n\n    .. testcode::\n\n        print(1)\n    """', 0)
    assert (found.source, found.line) == ("print(1)\n", 6)


@given(st.lists(st.sampled_from(sorted(PARTS)), max_size=8), st.sampled_from(["", "    "]))
def test_each_example_has_the_line_on_which_it_begins(names: list[str], margin: str) -> None:
    text = indent("\n".join(f"{PARTS[name]}\nText.\n" for name in ["prompt", *names]), margin)
    lines = text.split("\n")
    starts = {number for number, line in enumerate(lines) if line.removeprefix(margin) in STARTS}
    assert {each.line for each in of_page(text)} == starts
    literal = f'"""Text.\n\n{text}"""'
    assert {each.line for each in examples(literal, 5)} == {number + 7 for number in starts}
    for each in of_page(text):
        shown = "\n".join(lines[each.line :]).replace(">>> ", "")
        assert all(line.strip() in shown for line in each.source.split("\n"))
