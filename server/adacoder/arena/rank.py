"""Find the model and workflow that is right most often on some functions, in limited time (`adacoder models --rank`).

The method is successive halving (Karnin et al., 2013; Jamieson and Talwalkar, 2016). An arm is a model with a workflow.
All arms begin with the same few functions. In each round, the better half of the arms continues with twice as many
functions. So most of the time goes to arms that may win. The last two arms stay to the end.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TypeAlias

from adacoder.arena.compare import mcnemar
from adacoder.arena.measures import wilson
from adacoder.messages import counted

_LEAST = 3
"""Minimum number of functions in the first round, unless there are fewer."""
_SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Arm:
    """A model with a workflow."""

    model: str
    strategy: str

    def __str__(self) -> str:
        return f"{self.model} with {self.strategy}"


@dataclass(frozen=True, slots=True)
class Result:
    """Result of an arm on a function."""

    right: bool
    verified: bool
    seconds: float
    tokens: int


Evaluate: TypeAlias = Callable[[Arm, str], Awaitable[Result | None]]
"""Lets an arm write the named function, and judges the result. None means that nothing can be judged and the arm is not
to blame, for example after a server failure."""


@dataclass
class ArmResults:
    """The results of an arm on all functions that it tried."""

    arm: Arm
    results: dict[str, Result | None] = field(default_factory=dict)
    """Results by function, in the order in which the arm tried them."""
    dropped: str = ""
    """Reason why the arm did not continue; empty if it stayed to the end."""

    @property
    def counted(self) -> list[Result]:
        """The results except for None."""
        return [each for each in self.results.values() if each is not None]

    @property
    def right(self) -> int:
        """Number of right functions."""
        return sum(each.right for each in self.counted)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's interval for the share of right functions; None without results."""
        return wilson(self.right, len(self.counted)) if self.counted else None

    @property
    def wrongly_verified(self) -> int:
        """Number of verified but wrong functions."""
        return sum(each.verified and not each.right for each in self.counted)

    @property
    def seconds(self) -> float:
        """Mean seconds for a function."""
        return fmean(each.seconds for each in self.counted) if self.counted else 0.0

    @property
    def tokens(self) -> float:
        """Mean tokens for a function."""
        return fmean(each.tokens for each in self.counted) if self.counted else 0.0


@dataclass(frozen=True)
class Ranking:
    """All arms, the best first."""

    standings: tuple[ArmResults, ...]
    functions: int
    """Number of available functions."""
    is_complete: bool
    """True if the last arms tried all functions. More time would then not help."""

    @property
    def best(self) -> ArmResults | None:
        """The arm with the most right functions; None if no arm has any."""
        first = self.standings[0] if self.standings else None
        return first if first is not None and first.right else None

    @property
    def sentence(self) -> str:
        """The result as a sentence for a person."""
        best = self.best
        if best is None or best.interval is None:
            return "No model wrote a right function in this time; give it more, or another model."
        low, high = best.interval
        share = f"{best.right} of {counted(len(best.counted), 'function')} right ({low:.0%} to {high:.0%})"
        told = f"{best.arm}: {share}, {best.seconds:.1f} s and {best.tokens:,.0f} tokens each."
        others = [each for each in self.standings[1:] if each.counted]
        return f"{told} {_against(best, others[0], is_complete=self.is_complete)}" if others else told


def _against(best: ArmResults, other: ArmResults, *, is_complete: bool) -> str:
    """Return a sentence that compares the best arm with the next best, on the functions that both tried."""
    pairs = _pairs(best, other)
    one, two = sum(first for first, _ in pairs), sum(second for _, second in pairs)
    p = mcnemar(
        sum(first and not second for first, second in pairs), sum(second and not first for first, second in pairs)
    )
    more = "only more functions can tell" if is_complete else "more time may tell"
    if one == two:
        return f"Next is {other.arm}: of the {len(pairs)} that both tried it got as many right; {more}."
    told = f"Next is {other.arm}: on the {len(pairs)} that both tried {two} right against {one}"
    if p < _SIGNIFICANT:
        return f"{told}; chance alone seldom does that (p = {p:.2g})."
    return f"{told}, which may be chance (p = {p:.2g}); {more}."


def _pairs(one: ArmResults, other: ArmResults) -> list[tuple[bool, bool]]:
    return [
        (first.right, second.right)
        for name, first in one.results.items()
        if first is not None and (second := other.results.get(name)) is not None
    ]


async def rank(
    arms: Sequence[Arm],
    functions: Sequence[str],
    evaluate: Evaluate,
    seconds: float,
    clock: Callable[[], float],
    tell: Callable[[str], None] = lambda _: None,
) -> Ranking:
    """Rank arms within a time limit.

    Args:
        arms: the arms to rank. Arms of the same model should be next to each other, so that each round loads a model
            once.
        functions: names of the functions, in an order unrelated to difficulty.
        evaluate: runs an arm on a function. It must not raise errors, except for cancellation.
        seconds: time limit for the whole ranking.
        clock: monotonic clock in seconds, such as `time.monotonic`.
        tell: receives a progress line after each round.
    """
    end = clock() + seconds
    going = [ArmResults(arm) for arm in arms]
    gone: list[ArmResults] = []
    for number in range(rounds := _rounds(len(arms))):
        most = _most(number, rounds, len(functions))
        for position, each in enumerate(going):
            # Time that an arm does not use goes to the next arms and to later rounds.
            left = (end - clock()) / (rounds - number) / (len(going) - position)
            await _try(each, functions[:most], evaluate, left, clock)
        ordered = _ordered(going, functions[:most])
        keep = len(ordered) if number == rounds - 1 else max(2, math.ceil(len(ordered) / 2))
        going, gone = ordered[:keep], [*_dropped(ordered, keep, functions[:most]), *gone]
        tell(f"Round {number + 1} of {rounds}: {', '.join(str(each.arm) for each in going)} in front.")
        if clock() >= end:
            break
    complete = all(len(each.results) == len(functions) for each in going)
    return Ranking((*_ordered(going, functions), *gone), len(functions), complete)


def _rounds(arms: int) -> int:
    """Return the number of rounds. The last round has only two arms."""
    return max(1, math.ceil(math.log2(max(arms, 2))))


def _most(number: int, rounds: int, functions: int) -> int:
    """Return the number of functions that an arm has tried after a round. It doubles, up to all functions."""
    return min(functions, max(_LEAST, functions >> (rounds - number - 1)))


async def _try(
    each: ArmResults, functions: Sequence[str], evaluate: Evaluate, seconds: float, clock: Callable[[], float]
) -> None:
    """Let an arm try new functions for some seconds. The function that is under way at the end is cancelled."""
    end = clock() + seconds
    for name in functions:
        if name in each.results:
            continue
        if (left := end - clock()) <= 0:
            return
        try:
            async with asyncio.timeout(left):
                each.results[name] = await evaluate(each.arm, name)
        except TimeoutError:
            return


def _dropped(ordered: Sequence[ArmResults], keep: int, functions: Sequence[str]) -> Sequence[ArmResults]:
    """Set the reason for the arms that do not continue, and return these arms."""
    tried = _tried(ordered, functions)
    for each in ordered[keep:]:
        slow = sum(name in each.results for name in functions) < tried
        each.dropped = "too slow" if slow else f"{each.right} right of {len(each.counted)}"
    return ordered[keep:]


def _tried(arms: Sequence[ArmResults], functions: Sequence[str]) -> int:
    """Return for how many functions, counted from the first, more than half of the arms have a result.

    Arms are compared only on these functions. Otherwise, when time runs out, a fast arm would win by functions that
    other arms did not even begin.
    """
    counts = sorted((sum(name in each.results for name in functions) for each in arms), reverse=True)
    return min(filter(None, counts[: len(counts) // 2 + 1]), default=0)


def _ordered(arms: Sequence[ArmResults], functions: Sequence[str]) -> list[ArmResults]:
    """Sort arms by their number of right functions. In a tie, the fastest arm is first.

    Only functions that most arms have tried are counted. A function that an arm has not tried counts as not right.
    """
    common = functions[: _tried(arms, functions)]

    def merit(each: ArmResults) -> tuple[int, int, float]:
        tried = [result for name in common if (result := each.results.get(name)) is not None]
        return (-sum(result.right for result in tried), -len(tried), each.seconds)

    return sorted(arms, key=merit)
