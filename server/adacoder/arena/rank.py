"""Rank models and workflows by the functions that they write correctly within a time limit (`adacoder models --rank`).

An arm is one model with one workflow. The method is successive halving (Karnin et al., 2013; Jamieson and Talwalkar,
2016): after each round, the better half of the arms continues with twice as many functions.
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
"""Minimum number of functions in the first round."""
_SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Arm:
    """One model with one workflow."""

    model: str
    strategy: str

    def __str__(self) -> str:
        return f"{self.model} with {self.strategy}"


@dataclass(frozen=True, slots=True)
class Result:
    """Result of an arm for one function."""

    right: bool
    verified: bool
    seconds: float
    tokens: int


Evaluate: TypeAlias = Callable[[Arm, str], Awaitable[Result | None]]
"""Function that lets an arm write the named function, and returns the judged result.

The result is None if the arm cannot be judged, for example after a server failure."""


@dataclass
class ArmResults:
    """Results of one arm."""

    arm: Arm
    results: dict[str, Result | None] = field(default_factory=dict)
    """Results by function, in the order of the attempts."""
    dropped: str = ""
    """Reason why the arm was dropped; empty for an arm that was not dropped."""

    @property
    def counted(self) -> list[Result]:
        """Results that were judged."""
        return [each for each in self.results.values() if each is not None]

    @property
    def right(self) -> int:
        """Number of functions that are right."""
        return sum(each.right for each in self.counted)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's confidence interval for the share of right functions; None without results."""
        return wilson(self.right, len(self.counted)) if self.counted else None

    @property
    def wrongly_verified(self) -> int:
        """Number of functions that were verified but are wrong."""
        return sum(each.verified and not each.right for each in self.counted)

    @property
    def seconds(self) -> float:
        """Mean time per function, in seconds."""
        return fmean(each.seconds for each in self.counted) if self.counted else 0.0

    @property
    def tokens(self) -> float:
        """Mean number of tokens per function."""
        return fmean(each.tokens for each in self.counted) if self.counted else 0.0


@dataclass(frozen=True)
class Ranking:
    """The ranked arms, best first."""

    standings: tuple[ArmResults, ...]
    functions: int
    """Number of available functions."""
    is_complete: bool
    """True if the last arms tried all functions. More time would then change nothing."""

    @property
    def best(self) -> ArmResults | None:
        """The best arm; None if no arm wrote a right function."""
        first = self.standings[0] if self.standings else None
        return first if first is not None and first.right else None

    @property
    def sentence(self) -> str:
        """The result in words."""
        best = self.best
        if best is None or best.interval is None:
            return "No model wrote a right function in this time; give it more, or another model."
        low, high = best.interval
        share = f"{best.right} of {counted(len(best.counted), 'function')} right ({low:.0%} to {high:.0%})"
        told = f"{best.arm}: {share}, {best.seconds:.1f} s and {best.tokens:,.0f} tokens each."
        others = [each for each in self.standings[1:] if each.counted]
        return f"{told} {_against(best, others[0], is_complete=self.is_complete)}" if others else told


def _against(best: ArmResults, other: ArmResults, *, is_complete: bool) -> str:
    """Return a sentence that compares the best arm with the second, on the functions that both tried."""
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
        arms: the arms to rank. Arms of one model should be neighbours, so that a round loads each model once.
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
            # An arm's unused time goes to later arms and rounds.
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
    """Return the number of rounds. Two arms are left in the last round."""
    return max(1, math.ceil(math.log2(max(arms, 2))))


def _most(number: int, rounds: int, functions: int) -> int:
    """Return the number of functions for a round. The number doubles from round to round, up to all functions."""
    return min(functions, max(_LEAST, functions >> (rounds - number - 1)))


async def _try(
    each: ArmResults, functions: Sequence[str], evaluate: Evaluate, seconds: float, clock: Callable[[], float]
) -> None:
    """Run an arm on new functions until `seconds` have passed. An unfinished function is cancelled."""
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
    """Return the dropped arms. Each gets the reason why it was dropped."""
    tried = _tried(ordered, functions)
    for each in ordered[keep:]:
        slow = sum(name in each.results for name in functions) < tried
        each.dropped = "too slow" if slow else f"{each.right} right of {len(each.counted)}"
    return ordered[keep:]


def _tried(arms: Sequence[ArmResults], functions: Sequence[str]) -> int:
    """Return the number of functions, from the first on, that more than half of the arms have tried.

    Arms are compared only on these functions. Otherwise, a fast arm could win by functions that slower arms never
    tried.
    """
    counts = sorted((sum(name in each.results for name in functions) for each in arms), reverse=True)
    return min(filter(None, counts[: len(counts) // 2 + 1]), default=0)


def _ordered(arms: Sequence[ArmResults], functions: Sequence[str]) -> list[ArmResults]:
    """Sort arms by the number of right functions, then by speed.

    Only functions that most arms have tried count. An untried function counts as wrong.
    """
    common = functions[: _tried(arms, functions)]

    def merit(each: ArmResults) -> tuple[int, int, float]:
        tried = [result for name in common if (result := each.results.get(name)) is not None]
        return (-sum(result.right for result in tried), -len(tried), each.seconds)

    return sorted(arms, key=merit)
