"""Time cases in turn, and format the results."""

from __future__ import annotations

import asyncio
import random
import statistics
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from adacoder.domain import JSON

Case: TypeAlias = Callable[[], Awaitable[float]]
"""A function that does the measured work once, and returns the seconds that this took."""
Samples: TypeAlias = Mapping[str, list[float]]
"""The seconds of each round, by case."""

WARM_ROUNDS = 3
"""Number of rounds before the measured rounds, to warm up."""
SETTLE_SECONDS = 0.03
"""Pause before each case. It lets background work of the previous case end, and a child get ready."""


_chance = random.Random(0)


class Unavailable(Exception):
    """A figure cannot be measured here. The message gives the reason."""


async def interleave(cases: Mapping[str, Case], rounds: int, *, warm: int = WARM_ROUNDS) -> Samples:
    """Run every case once in each round, in random order."""
    order = list(cases)
    samples: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(-warm, rounds):
        _chance.shuffle(order)
        for name in order:
            await asyncio.sleep(SETTLE_SECONDS)
            seconds = await cases[name]()
            if number >= 0:
                samples[name].append(seconds)
    return samples


def ratio(samples: Samples, over: str, under: str) -> float:
    """Return the median of one case, divided by the median of another."""
    return statistics.median(samples[over]) / statistics.median(samples[under])


def milliseconds(samples: Samples) -> dict[str, float]:
    """Return the median of each case in milliseconds."""
    return {f"{name}_ms": round(statistics.median(seconds) * 1000, 3) for name, seconds in samples.items()}


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and its target."""

    value: float | None
    """The number; None if it could not be measured."""
    at_most: float | None = None
    at_least: float | None = None
    skipped: str = ""
    """The reason why `value` is None."""

    def json(self) -> dict[str, JSON]:
        """Return the figure as a part of the benchmark's output line."""
        target = f"<= {self.at_most:.4g}" if self.at_most is not None else f">= {self.at_least:.4g}"
        if self.value is None:
            return {"value": None, "target": target, "skipped": self.skipped}
        return {"value": round(self.value, 4), "target": target, "met": self._is_met(self.value)}

    def _is_met(self, value: float) -> bool:
        return value <= self.at_most if self.at_most is not None else value >= (self.at_least or 0)


@dataclass(frozen=True, slots=True)
class Report:
    """The results of one group of figures."""

    n: int
    """Number of samples behind each median."""
    figures: Mapping[str, Figure]
    medians: Mapping[str, float]
    """The medians from which the figures are computed. Their names include the unit."""
    remarks: Mapping[str, JSON] = field(default_factory=dict)

    def json(self) -> dict[str, JSON]:
        """Return the group as a part of the benchmark's output line."""
        figures: dict[str, JSON] = {name: figure.json() for name, figure in self.figures.items()}
        return {"n": self.n, "figures": figures, **self.medians, **self.remarks}
