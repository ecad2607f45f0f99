"""`adacoder check --update` writes actual outputs into docstrings and pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import ExampleResult
from adacoder.source.accepting import accepted, actual
from adacoder.source.locate import locate
from adacoder.source.text import apply_edits
from support.commandline import Desk
from support.paths import ROOT

WRONG = '''def f(x):
    """Return x.

    >>> f(1)
    1
    >>> print(f("a"), "", "b", sep="\\\\n")
    >>> f(2)
    7
    8
    >>> for i in range(2):
    ...     print(i, "\\\\\\\\")
    5
    >>> f.no
    Traceback (most recent call last):
    ValueError: no
    >>> x = f(3)
    3

    The end.
    """
    return x
'''
RIGHT = '''def f(x):
    """Return x.

    >>> f(1)
    1
    >>> print(f("a"), "", "b", sep="\\\\n")
    a
    <BLANKLINE>
    b
    >>> f(2)
    2
    >>> for i in range(2):
    ...     print(i, "\\\\\\\\")
    0 \\\\
    1 \\\\
    >>> f.no
    Traceback (most recent call last):
        ...
    AttributeError: 'function' object has no attribute 'no'
    >>> x = f(3)

    The end.
    """
    return x
'''


@pytest.mark.isolation
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_actual_outputs_are_written(ending: str, desk: Desk) -> None:
    path = desk.folder / "a.py"
    path.write_bytes(WRONG.replace("\n", ending).encode())
    shown = desk.run("check", "--update", "a.py")
    assert (shown.code, shown.error_lines) == (1, ["To update 5 outputs in a.py, add --write."])
    assert path.read_bytes() == WRONG.replace("\n", ending).encode()
    added = [line[1:] for line in shown.out.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert [line.strip() for line in added][:3] == ["a", "<BLANKLINE>", "b"]
    written = desk.run("check", "--update", "--write", "a.py")
    assert (written.code, written.error_lines) == (1, ["Updated 5 outputs in a.py."])
    assert path.read_bytes() == RIGHT.replace("\n", ending).encode()
    assert desk.run("check", "a.py").code == 0


@pytest.mark.isolation
@pytest.mark.parametrize(
    ("example", "told"),
    [
        (">>> id(f(1))\n    1", "a.py:3 keeps its output, because the actual output changes."),
        (">>> f(object())\n    1", "a.py:3 keeps its output, because the actual output changes."),
        (">>> f(set('abcdefgh'))\n    1", "a.py:3 keeps its output, because the actual output changes."),
        (">>> print('>>> 1')\n    1", "a.py:3 keeps its output: change it by hand."),
        (">>> f(1)\n    2   ", "To update 1 output in a.py, add --write."),
        (">>> f(1 / 0)\n    1", ""),
        (">>> f(1)  # doctest: +NUMBERS\n    2", ""),
        (">>> f(1)  # doctest: +SKIP\n    2", ""),
        (">>> open('/etc/x', 'w')\n    2", ""),
    ],
)
def test_an_output_that_proves_nothing_is_not_written(example: str, told: str, desk: Desk) -> None:
    text = f'def f(x):\n    """\n    {example}\n    """\n    return x\n'
    path = desk.write(text, "a.py")
    ran = desk.run("check", "--update", "a.py")
    assert ran.error_lines == ([told] if told else [])
    assert path.read_text("utf-8") == text


@pytest.mark.isolation
def test_a_file_that_is_named_twice_is_updated_once(desk: Desk) -> None:
    one = 'def {0}():\n    """\n    >>> {0}()\n    {1}\n    """\n    return 1\n'
    path = desk.write(one.format("f", 2) + one.format("g", 3), "a.py")
    desk.write(one.format("h", 4), "b.py")
    ran = desk.run("check", "--update", "--write", "a.py::f", "b.py", "a.py::g")
    assert ran.error_lines == ["Updated 2 outputs in a.py.", "Updated 1 output in b.py."]
    assert path.read_text("utf-8") == one.format("f", 1) + one.format("g", 1)


@pytest.mark.isolation
def test_a_page_is_updated(desk: Desk) -> None:
    text = "# Page\n\n```python\n>>> 1 + 1\n{}\n```\n\n>>> 'a'\n{}\n"
    path = desk.write(text.format(3, "'b'"), "README.md")
    assert desk.run("check", "--update", "--write", "README.md").code == 1
    assert path.read_text("utf-8") == text.format(2, "'a'")


@pytest.mark.isolation
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--write",), "--write needs --update."),
        (("--update", "--json"), "--update and --json cannot be combined."),
        (("--format", "github", "--json"), "--format and --json cannot be combined."),
    ],
)
def test_options_that_do_not_fit(options: tuple[str, ...], told: str, desk: Desk) -> None:
    ran = desk.run("check", *options)
    assert (ran.code, told in ran.err) == (2, True)


@given(st.text(max_size=60), st.sampled_from(['"""', "'''", 'r"""', "r'''"]))
def test_an_output_is_written_exactly_or_not_at_all(output: str, quote: str) -> None:
    """Other examples never change, whatever an example prints."""
    end = quote.lstrip("r")
    text = f"def f():\n    {quote}Text.\n\n    >>> f()\n    1\n    >>> g()\n    2\n\n    Text.\n    {end}\n"
    target = locate(text, ROOT / "a.py", ROOT, qualname="f")
    first, second = target.examples
    got = f"{output}\n" if output else ""
    new = actual(ExampleResult(first, matched=False, got=got))
    assert new is not None
    edits, refused = accepted(target, {first: new})
    assert (len(edits), refused) in ((1, []), (0, [first]))
    changed = locate(apply_edits(text, edits), ROOT / "a.py", ROOT, qualname="f").examples
    assert [(each.source, each.want) for each in changed] == [
        (first.source, new if edits else first.want),
        (second.source, second.want),
    ]
    assert apply_edits(text, edits).endswith(text.partition(">>> g()")[2])
