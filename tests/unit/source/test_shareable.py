"""The parts of a module that may leave the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import Target
from adacoder.source.locate import locate
from adacoder.source.shareable import shareable
from adacoder.source.surroundings.masking import masked

FUNCTION = 'def f(x, key="hunter2"):\n    """Log in.\n\n    >>> f(1, password="letmein")\n    1\n    """\n'


def target(text: str) -> Target:
    return locate(text, Path("/ws/m.py"), Path("/ws"), qualname="f")


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ('PASSWORD = "hunter2"', 'PASSWORD = "…"'),
        ("CONFIG = {'size': 'abc', 'api_key': 'abc'}", "CONFIG = {'size': 'abc', 'api_key': '…'}"),
        ('DATABASE = "postgres://me:pw@db/x"', 'DATABASE = "…"'),
        ('KEY = "sk1a2b3c4d5e6f7g8h9i0jaa"', 'KEY = "…"'),
        (f'LONG = "{"very " * 20}long"', 'LONG = "…"'),
        (f'LONG = """{"very " * 20}\nlong"""', 'LONG = "…"'),
        (f'LONG = (\n"""{"very " * 20}\nlong"""\n)', 'LONG = (\n"…"\n)'),
        (f"LONG = [\n    r'''{'very ' * 20}''',\n]", "LONG = [\n    r'…',\n]"),
        (f'LONG = \\\n"""{"very " * 20}"""', 'LONG = \\\n"…"'),
    ],
)
def test_what_no_prompt_may_show_is_left_out(line: str, left: str) -> None:
    assert shareable(target(f"{line}\n\n\n{FUNCTION}{line}\n")) == f"{left}\n\n\n{FUNCTION}{left}\n"


@pytest.mark.parametrize(
    "line",
    [
        "NAME = 'shop'  # a comment",
        f'def g():\n    """{"A long docstring. " * 10}\n\n    With more.\n    """',
        f"class C:\n    r'''{'A long docstring. ' * 10}'''",
        "NAME = 'shop",
        "x = 1;\ty = (\n  2)",
    ],
)
def test_all_else_stays_as_it_was(line: str) -> None:
    for text in (f"{line}\n\n\n{FUNCTION}", f"{FUNCTION}\n\n{line}"):
        assert shareable(target(text)) == text
        windows = text.replace("\n", "\r\n")
        assert shareable(target(windows)) == windows


def test_a_string_that_is_not_closed_gives_nothing_away() -> None:
    left = shareable(target(f"{FUNCTION}\n\nPASSWORD = 'hunter3\nPASSWORD = 'hunter4'\n"))
    assert left == f"{FUNCTION}\n\nPASSWORD = '…'\nPASSWORD = '…'\n"


LINES = st.lists(
    st.sampled_from(
        ['PASSWORD = "hunter2"', "T = 'a'", '"""Text."""', "'''", '"', "# it's", "x = f'{a['token']}'", "\\", "(", ""]
    ),
    max_size=8,
).map("\n".join)


@given(LINES)
def test_a_prompt_of_what_is_left_is_the_same_and_nothing_more_is_left_out(after: str) -> None:
    one = target(f"{FUNCTION}\n\n{after}\n")
    left = shareable(one)
    assert masked(left) == masked(one.text)
    assert shareable(target(left)) == left
