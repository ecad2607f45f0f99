"""SEMAG: Self-Evolutionary Multi-Agent Code Generation; its Algorithm 1 and equations 9 to 11. Never released.

Its web search and its choice of models are left out: nothing leaves the machine. Traces are observed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from adacoder.agents.advisor import told
from adacoder.agents.budget import Budget
from adacoder.agents.programming_assistant import WRITER
from adacoder.agents.request import Request
from adacoder.agents.role import Role
from adacoder.agents.tracing import complexity, likeness, observed, shown
from adacoder.domain import Attempt
from adacoder.models.base import Sampling
from adacoder.strategies import semag_roles as by
from adacoder.strategies.self_planning import BY_PLAN
from adacoder.strategies.strategy import Strategy
from adacoder.traces import Trace

SAMPLING = Sampling(temperature=0.1)
"""T = 0.1 (section 4.1)."""


@dataclass(frozen=True, slots=True)
class Semag:
    """The four levels; its ablation switches `verifies`, `suggests` and `discusses`."""

    verifies: bool = True
    suggests: bool = True
    discusses: bool = True
    passes: int = 5
    """M_try (section 4.1)."""
    debugs: int = 4
    """M_debug (section 4.1)."""
    verifications: int = 1
    """M_plan; not stated: one, since a small model seldom improves a plan twice."""
    debaters: int = 3
    """N_debater; not stated: the least number that has a majority."""
    temper: float = 1.0
    """τ_w, the temperature of the debaters' weights; not stated. The later a debater speaks, the more it has read: η
    is its place, so that with 1 a later proposal weighs e times the one before."""
    delta: float = 0.85
    """δ0 (eq. 11)."""
    decay: float = 0.5
    """λ (eq. 11)."""

    def budget(self) -> Budget:
        """Give the most calls and programs: level 1, level 2, and all passes of levels 3 and 4."""
        debugging = self.debugs * (2 + self.suggests)
        discussing = (self.debaters + 2) * self.discusses
        calls = 1 + 2 + self.verifications * self.verifies + self.passes * (debugging + discussing)
        return Budget(rounds=2 + self.passes * (self.debugs + self.discusses), calls=calls)

    def threshold(self, step: int, complexity: float) -> float:
        """Give δ(t) of eq. 11."""
        return self.delta * math.exp(-self.decay * (step / self.debugs) * complexity)

    async def run(self, request: Request) -> None:
        """Climb from direct writing to a plan, to debugging by traces, to a discussion, as the levels fail."""
        rounds = request.rounds()
        next(rounds, None)
        with request.branch("level 1"):
            await request.evaluate(await request.first(WRITER))
        if next(rounds, None) is None:
            return
        with request.branch("level 2"):
            plan = await self._plan(request)
            attempt = await request.evaluate(await request.ask(BY_PLAN, sampling=SAMPLING, plan=plan))
        for number in range(1, self.passes + 1):
            with request.branch(f"pass {number}"):
                attempt = await self._pass(request, rounds, attempt)

    async def _plan(self, request: Request) -> str:
        """Level 2: a plan, worked through on the examples."""
        plan = await request.ask(by.PLANNER, sampling=SAMPLING)
        for _ in range(self.verifications * self.verifies):
            plan = await request.ask(by.PLAN_VERIFIER, sampling=SAMPLING, plan=plan) or plan
        return plan

    async def _pass(self, request: Request, rounds: Iterator[int], attempt: Attempt) -> Attempt:
        """Level 3 until traces stay alike, and level 4; one pass of Algorithm 1's outer loop."""
        seen = await observed(request, attempt)
        for step, _ in zip(range(self.debugs), rounds, strict=False):
            with request.branch("level 3"):
                attempt = await self._debugged(request, attempt, seen)
                if not request.goes_on:
                    return attempt
                before, seen = seen, await observed(request, attempt)
            if likeness(before, seen) > self.threshold(step + 1, complexity(attempt)):
                break
        if self.discusses and next(rounds, None) is not None:
            with request.branch("level 4"):
                return await self._discussed(request, attempt, seen)
        return attempt

    async def _debugged(self, request: Request, attempt: Attempt, trace: Trace) -> Attempt:
        about = told(attempt)
        advice = await request.ask(by.EXPLAINER, about, sampling=SAMPLING, trace=shown(trace))
        if self.suggests:
            advice = await request.ask(by.SUGGESTER, about, sampling=SAMPLING, explanation=advice)
        return await request.evaluate(await request.ask(by.DEBUGGER, about, sampling=SAMPLING, advice=advice))

    async def _discussed(self, request: Request, attempt: Attempt, trace: Trace) -> Attempt:
        """Level 4: debaters speak one after the other; the weightiest proposal is followed."""
        about = told(attempt)
        proposals: list[str] = []
        for _ in range(self.debaters):
            others = _numbered(proposals) or "None yet."
            proposals.append(
                await request.ask(by.DEBATER, about, sampling=SAMPLING, trace=shown(trace), proposals=others)
            )
        found = await request.ask(by.DISCRIMINATOR, about, sampling=SAMPLING, proposals=_numbered(proposals))
        weighed = [math.exp(n / self.temper) * score for n, score in enumerate((*found, *[0.0] * self.debaters))]
        best = max(range(self.debaters), key=lambda n: (weighed[n], n))
        return await request.evaluate(await request.ask(by.REFINER, about, sampling=SAMPLING, advice=proposals[best]))


def _numbered(proposals: Sequence[str]) -> str:
    return "\n\n".join(f"{number}. {each}" for number, each in enumerate(proposals, 1))


def _semag(verifies: bool, suggests: bool, discusses: bool) -> Strategy:
    which = Semag(verifies, suggests, discusses)
    roles: list[Role[Any]] = [WRITER, by.PLANNER, BY_PLAN, by.EXPLAINER, by.DEBUGGER]
    roles += [by.PLAN_VERIFIER] * verifies + [by.SUGGESTER] * suggests
    roles += [by.DEBATER, by.DISCRIMINATOR, by.REFINER] * discusses
    switches = {"verification": verifies, "suggestion": suggests, "discussion": discusses}
    off = [name for name, is_on in switches.items() if not is_on]
    return Strategy(
        name="-".join(["semag", *(f"no-{name}" for name in off)]),
        summary=f"semag without {' and '.join(off)}" if off else "climbs from writing to plans, traces and discussion",
        paper="SEMAG: Self-Evolutionary Multi-Agent Code Generation" + (", its ablation" if off else ""),
        roles=tuple(roles),
        iterations=which.passes,
        budget=lambda t: replace(which, passes=t).budget(),
        run=which.run,
        feedback="the error, a trace, and a discussion" if discusses else "the error, and a trace",
    )


SEMAGS = tuple(_semag(*switches) for switches in product((True, False), repeat=3))
"""The whole, first, and its ablations (section 4.4): all eight combinations."""
