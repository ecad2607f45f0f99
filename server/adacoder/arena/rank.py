"""Which model and workflow is right most often on some functions, found within a time (`adacoder models --rank`).

Successive halving (Karnin et al., 2013; Jamieson and Talwalkar, 2016), over functions: all arms begin on the same few,
the better half goes on to twice as many, and so on, so that most of the time goes to those that may win. The last two
stay to the end. What is right is the hidden judge's word. Nothing here runs anything: `evaluate` does.
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
"""Functions of the first round, if there are as many."""
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
    """What an arm made of a function."""

    right: bool
    verified: bool
    seconds: float
    tokens: int


Evaluate: TypeAlias = Callable[[Arm, str], Awaitable[Result | None]]
"""Has an arm write a function, and judges it; None: that tells nothing of the arm, as when a server failed."""


@dataclass
class Standing:
    """How an arm did."""

    arm: Arm
    results: dict[str, Result | None] = field(default_factory=dict)
    """By function, in the order they were tried."""
    dropped: str = ""
    """Why it did not go on; empty: it stayed to the end."""

    @property
    def counted(self) -> list[Result]:
        """Results that tell something."""
        return [each for each in self.results.values() if each is not None]

    @property
    def right(self) -> int:
        """Number of functions that it got right."""
        return sum(each.right for each in self.counted)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's interval of the share that is right; None without results."""
        return wilson(self.right, len(self.counted)) if self.counted else None

    @property
    def wrongly_verified(self) -> int:
        """Number of functions that were verified, and wrong."""
        return sum(each.verified and not each.right for each in self.counted)

    @property
    def seconds(self) -> float:
        """Mean of a function."""
        return fmean(each.seconds for each in self.counted) if self.counted else 0.0

    @property
    def tokens(self) -> float:
        """Mean of a function."""
        return fmean(each.tokens for each in self.counted) if self.counted else 0.0


@dataclass(frozen=True)
class Ranking:
    """The arms, the best first."""

    standings: tuple[Standing, ...]
    functions: int
    """Number there were."""
    is_complete: bool
    """True if the last arms tried all functions: more time would not tell more."""

    @property
    def best(self) -> Standing | None:
        """The arm that got most right; None if none got any."""
        first = self.standings[0] if self.standings else None
        return first if first is not None and first.right else None

    @property
    def sentence(self) -> str:
        """What came of it, for a person."""
        best = self.best
        if best is None or best.interval is None:
            return "No model wrote a right function in this time; give it more, or another model."
        low, high = best.interval
        share = f"{best.right} of {counted(len(best.counted), 'function')} right ({low:.0%} to {high:.0%})"
        told = f"{best.arm}: {share}, {best.seconds:.1f} s and {best.tokens:,.0f} tokens each."
        others = [each for each in self.standings[1:] if each.counted]
        return f"{told} {_against(best, others[0], is_complete=self.is_complete)}" if others else told


def _against(best: Standing, other: Standing, *, is_complete: bool) -> str:
    """The next best, on the functions that both tried."""
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


def _pairs(one: Standing, other: Standing) -> list[tuple[bool, bool]]:
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
    """Rank arms within some seconds.

    Args:
        arms: those of one model should stand together, so that it is loaded once a round.
        functions: in an order that is no order of difficulty.
        evaluate: raises nothing but cancellation.
        seconds: for all of it.
        clock: seconds that only grow, such as `time.monotonic`.
        tell: hears a line after each round.
    """
    end = clock() + seconds
    going = [Standing(arm) for arm in arms]
    gone: list[Standing] = []
    for number in range(rounds := _rounds(len(arms))):
        most = _most(number, rounds, len(functions))
        for position, each in enumerate(going):
            # What an arm leaves of its part of the time is for those after it, and for later rounds.
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
    """Rounds until two arms are left, the last one theirs."""
    return max(1, math.ceil(math.log2(max(arms, 2))))


def _most(number: int, rounds: int, functions: int) -> int:
    """Functions that have been tried by the end of a round: twice as many each time, in the end all."""
    return min(functions, max(_LEAST, functions >> (rounds - number - 1)))


async def _try(
    each: Standing, functions: Sequence[str], evaluate: Evaluate, seconds: float, clock: Callable[[], float]
) -> None:
    """Have an arm try functions that it has not tried, for some seconds. What is under way then is given up."""
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


def _dropped(ordered: Sequence[Standing], keep: int, functions: Sequence[str]) -> Sequence[Standing]:
    """Those that do not go on, with the reason."""
    tried = _tried(ordered, functions)
    for each in ordered[keep:]:
        slow = sum(name in each.results for name in functions) < tried
        each.dropped = "too slow" if slow else f"{each.right} right of {len(each.counted)}"
    return ordered[keep:]


def _tried(arms: Sequence[Standing], functions: Sequence[str]) -> int:
    """How many functions, from the first, more than half of the arms have tried: on these they are compared.

    Where the time did not do for all, a fast arm would else win by what others could not even begin.
    """
    counts = sorted((sum(name in each.results for name in functions) for each in arms), reverse=True)
    return min(filter(None, counts[: len(counts) // 2 + 1]), default=0)


def _ordered(arms: Sequence[Standing], functions: Sequence[str]) -> list[Standing]:
    """The best first: most right of the functions that most of them have tried, then the fastest.

    An arm that has not tried so many is behind by what it did not do.
    """
    common = functions[: _tried(arms, functions)]

    def merit(each: Standing) -> tuple[int, int, float]:
        tried = [result for name in common if (result := each.results.get(name)) is not None]
        return (-sum(result.right for result in tried), -len(tried), each.seconds)

    return sorted(arms, key=merit)
