"""Questions about outputs, and the examples that are made from the answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.agents.questions import Ruling, example_of, question
from adacoder.domain import Difference
from adacoder.source.docstring import add_examples
from adacoder.source.locate import locate
from adacoder.source.text import apply_edits

STUB = 'def f(x):\n    """Do it.\n\n    >>> f(0)\n    0\n    """\n'
LITERALS = st.recursive(
    st.integers() | st.text(max_size=8) | st.booleans() | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("difference", "is_asked"),
    [
        (Difference("f(1)", "1", "2"), True),
        (Difference("f('a\\n')", "'x'", "['y']"), True),
        (Difference("f(1)", "<object>", "2"), False),
        (Difference("f(1)", "1", "raises ValueError"), False),
        (Difference("f(1)", "no output", "2"), False),
        (Difference("f(1)", "1\n2", "2"), False),
        (Difference("f(1)", "...", "2"), False),
        (Difference("f(1)", "[1,\r2]", "2"), False),
        (Difference("s = S(); s.f(1)", "1", "2"), False),
        (Difference("f(1)", f"'{'a' * 200}'", "2"), False),
        (Difference(f"f('{'a' * 200}')", "1", "2"), False),
    ],
)
def test_only_a_short_call_with_two_literals_is_asked_about(difference: Difference, is_asked: bool) -> None:
    assert (question([difference]) is difference) == is_asked


def test_no_call_is_asked_about_twice() -> None:
    one, other = Difference("f(1)", "1", "2"), Difference("f(2)", "1", "2")
    assert question([one, other], ["f(1)"]) is other
    assert question([one], ["f(1)"]) is None


@given(argument=LITERALS, here=LITERALS, there=LITERALS, ruling=st.sampled_from([Ruling.HERE, Ruling.THERE]))
def test_an_answer_reads_back_as_the_example_that_was_asked_about(
    argument: object, here: object, there: object, ruling: Ruling
) -> None:
    difference = Difference(f"f({argument!r})", repr(here), repr(there))
    if question([difference]) is None:
        return
    example = example_of(difference, ruling)
    target = locate(STUB, Path("m.py"), Path(), qualname="f")
    text = apply_edits(STUB, [add_examples(target, [example])])
    *_, added = locate(text, Path("m.py"), Path(), qualname="f").examples
    assert (added.source, added.want) == (example.source, example.want)


def test_an_exception_of_any_message_is_an_answer() -> None:
    example = example_of(Difference("f(1)", "1", "2"), Ruling.RAISES)
    text = apply_edits(STUB, [add_examples(locate(STUB, Path("m.py"), Path(), qualname="f"), [example])])
    *_, added = locate(text, Path("m.py"), Path(), qualname="f").examples
    assert added.exception == "ValueError\n"
