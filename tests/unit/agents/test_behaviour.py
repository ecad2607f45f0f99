"""Compare two versions of a function by their results for the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import pytest

from adacoder.agents.behaviour import CUT, ELSEWHERE, NOT_RUN, REFUSED, UNSTEADY, compare
from adacoder.agents.code_evaluator import Seen
from adacoder.domain import ENDLESS, AdaCoderError, BehaviourDiff, Difference
from adacoder.source.inputs import Input
from adacoder.source.locate import locate

TEXT = 'def f(n):\n    """F.\n\n    >>> f(3)\n    3\n    """\n    return n\n'
TARGET = locate(TEXT, Path("/w/m.py"), Path("/w"), qualname="f")
INPUTS = {3, 4, 2, 5, 0, 1, 6, 7}
"""Arguments that are tried. -3 is not tried, because no example is negative."""


def version(outputs: Callable[[int], str | Seen | None]) -> Callable[[Sequence[Input]], object]:
    """Return a version of `f`. `outputs` gives the output for an argument."""

    async def observe(inputs: Sequence[Input], *, by_line: bool = False) -> Sequence[Seen | None]:
        found = [outputs(int(one.text[2:-1])) for one in inputs]
        return [Seen((each,)) if isinstance(each, str) else each for each in found]

    return observe


async def compared(
    here: Callable[[int], str | Seen | None], there: Callable[[int], str | Seen | None] = str
) -> BehaviourDiff:
    return await compare(TARGET, version(here), version(there))  # type: ignore[arg-type]


async def test_equal_versions_agree_on_all_inputs() -> None:
    assert await compared(str) == BehaviourDiff(len(INPUTS), ())


async def test_each_difference_is_told() -> None:
    found = await compared(lambda n: str(n) if n < 6 else "many")
    assert (found.inputs, found.agreed) == (8, 6)
    assert {*found.differs} == {Difference("f(6)", "many", "6"), Difference("f(7)", "many", "7")}


async def test_a_difference_in_lines_that_no_example_reaches_is_told_first() -> None:
    def here(n: int) -> Seen:
        return Seen(("many" if n >= 6 else str(n),), lines=frozenset({1, 2} if n == 7 else {1}))

    found = await compared(here)
    assert [each.call for each in found.differs] == ["f(7)", "f(6)"]


async def test_of_many_inputs_those_that_reach_further_lines_are_compared() -> None:
    shown = "".join(f"    >>> f([{n}, {n + 1}], {n})\n    {n}\n" for n in range(100, 110))
    target = locate(TEXT.replace("    >>> f(3)\n    3\n", shown), Path("/w/m.py"), Path("/w"), qualname="f")
    runs: list[list[Input]] = []

    async def observe(inputs: Sequence[Input], *, by_line: bool = False) -> Sequence[Seen | None]:
        runs.append([*inputs])
        return [Seen(("0",), lines=frozenset({int(one == runs[0][-1])})) for one in inputs]

    found = await compare(target, observe, observe)
    made, again, theirs, *_ = runs
    assert len(made) > found.inputs == len(again) == 60
    assert again == theirs
    assert made[-1] in again
    assert made[:10] == again[:10]


@pytest.mark.parametrize(
    ("one", "other"),
    [("0.1\n", "0.10000000000000001\n"), ("{1, 2}\n", "{2, 1}\n"), ("<F at 0x7f01>\n", "<F at 0x7f02>\n")],
)
async def test_some_differences_mean_nothing(one: str, other: str) -> None:
    assert (await compared(lambda n: one, lambda n: other)).differs == ()


@pytest.mark.parametrize(("one", "other"), [("0.1", "0.2"), ("1", "True"), ("[1, 2]", "[2, 1]"), ("raises E", "1")])
async def test_others_do(one: str, other: str) -> None:
    assert len((await compared(lambda n: one, lambda n: other)).differs) == len(INPUTS)


@pytest.mark.parametrize(
    ("here", "there", "why"),
    [
        (lambda n: str(n) if n == 3 else "raises E", lambda n: str(n) if n == 3 else "raises F", REFUSED),
        (lambda n: str(n) if n == 3 else Seen((ENDLESS,)), lambda n: str(n) if n == 3 else Seen((ENDLESS,)), CUT),
        (lambda n: str(n) if n == 3 else None, str, NOT_RUN),
        (
            lambda n: Seen((str(n),), entered=n == 3),
            lambda n: Seen((str(-n if n != 3 else n),), entered=n == 3),
            ELSEWHERE,
        ),
    ],
)
async def test_what_cannot_be_compared_is_counted(
    here: Callable[[int], str | Seen | None], there: Callable[[int], str | Seen | None], why: str
) -> None:
    assert await compared(here, there) == BehaviourDiff(1, (), {why: len(INPUTS) - 1})


@pytest.mark.parametrize(
    ("here", "there", "is_same"),
    [
        ("frozenset({8, 0})", "frozenset({0, 8})", True),
        ("frozenset({8, 0})", "{0, 8}", False),
        ("{8, 0}\n2\n", "{0, 8}\n2\n", True),
        ("{8, 0}\n2\n", "{0, 8}\n3\n", False),
        ("{0.3}", "{0.30000000000000004}", True),
        ("{0.3: 1}", "{0.30000000000000004: 1}", True),
        ("{0.3: 1}", "{0.30000000000000004: 2}", False),
        ("{0.3}", "{0.31}", False),
        ("[inf, 0.3, nan]", "[inf, 0.30000000000000004, nan]", True),
        ("[inf]", "[-inf]", False),
        ("0.0", "1e-17", True),
        ("{1}", "{True}", False),
        ("[1]", "(1,)", False),
        ("<A object at 0x7f1>", "<A object at 0x7f2>", True),
        ("<bound method f of <A object at 0x7f1>>", "<bound method f of <A object at 0x7f2>>", True),
        ("found at 0x7f1", "found at 0x7f2", False),
    ],
)
async def test_which_outputs_are_the_same(here: str, there: str, is_same: bool) -> None:
    found = await compared(lambda n: here if n == 7 else "0", lambda n: there if n == 7 else "0")
    assert (not found.differs) == is_same


async def test_a_smaller_input_also_runs_the_function() -> None:
    """f(2) is smaller than f(20) and gives another result, but does not call the function."""
    target = locate(TEXT.replace("f(3)", "f(20)"), Path("/w/m.py"), Path("/w"), qualname="f")
    one = version(lambda n: Seen((str(n),), entered=n >= 20))
    other = version(lambda n: Seen((str(n + 1),), entered=n >= 20))
    found = await compare(target, one, other)  # type: ignore[arg-type]
    assert found.differs[0].call == "f(20)"


async def test_an_example_that_raises_in_both_counts() -> None:
    assert (await compared(lambda n: "raises E", lambda n: "raises E")).inputs == 1


async def test_what_one_version_does_not_end_is_a_difference() -> None:
    found = await compared(lambda n: Seen((ENDLESS,)) if n == 7 else str(n))
    assert found.differs == (Difference("f(7)", ENDLESS, "7"),)


async def test_what_changes_from_run_to_run_is_left_out() -> None:
    ticks = count()
    with pytest.raises(AdaCoderError, match=UNSTEADY):
        await compared(lambda n: str(next(ticks)))


async def test_without_examples_there_are_no_inputs() -> None:
    text = TEXT.replace(">>> f(3)\n    3", "No examples.")
    bare = locate(text, Path("/w/m.py"), Path("/w"), qualname="f")
    with pytest.raises(AdaCoderError, match="'f' has no examples to make inputs from"):
        await compare(bare, version(str), version(str))  # type: ignore[arg-type]
