"""SEMAG: Self-Evolutionary Multi-Agent Code Generation (Algorithm 1 and equations 9 to 11).

The authors never released their code. This module leaves out the web search and the choice of models, because nothing
may leave the machine. It also leaves out the Agent that adds prints, because the sandbox records traces.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeVar

from adacoder.agents.advisor import advisor, coder, said, told
from adacoder.agents.attempt_traces import complexity, failing, likeness, observed, shown
from adacoder.agents.budget import Budget
from adacoder.agents.programming_assistant import WRITER
from adacoder.agents.request import Request
from adacoder.agents.role import Field, Limits, Role
from adacoder.domain import Attempt, Reply, Target
from adacoder.replies.marks import marks
from adacoder.replies.steps import concluding_steps
from adacoder.strategies.direct import BY_PLAN, FIRST_PLANNER, Direct
from adacoder.strategies.strategy import Strategy
from adacoder.traces import Trace

T = TypeVar("T")
_CERTAIN = 100


async def _ask(request: Request, role: Role[T], attempt: Attempt | None = None, **fields: Field) -> T:
    """Ask the model as `role`. Its prompt has the code and the error of `attempt`."""
    return await request.ask(role, {**(told(attempt) if attempt else {}), **fields})


def _verified(reply: Reply, target: Target) -> tuple[str, str] | None:
    log = said(reply, target)
    return (concluding_steps(log), log) if log else None


def _marks(reply: Reply, target: Target) -> Mapping[int, float]:
    return marks(reply.text, _CERTAIN)


PLANNER = replace(FIRST_PLANNER, otherwise="1. Do as the docstring says.")
PLAN_VERIFIER: Role[tuple[str, str]] = Role(
    "plan_verifier",
    "verify",
    "verifying the plan",
    "semag_verify",
    _verified,
    Limits(one_in=8, most=768),
    otherwise=("", "It could not be verified."),
)
"""The Role that works through the examples by the `plan`. It replies with a corrected plan and a log of this work."""
EXPLAINER = advisor("explainer", "explain", "explaining the trace", "semag_explain")
"""The Role that explains a `trace` of `code` and its `error`."""
SUGGESTER = advisor("suggester", "suggest", "suggesting a change", "semag_suggest")
"""The Role that suggests a change from the `trace`, the plan's `verification` and the `explanation` (eq. 6)."""
DEBUGGER = coder("debugger", "debugging the function", "revise")
DEBATER = advisor("debater", "propose", "discussing the failure", "semag_debate")
"""The Role that proposes another approach. It sees the `proposals` of earlier debaters."""
DISCRIMINATOR: Role[Mapping[int, float]] = Role(
    "discriminator",
    "weigh",
    "weighing the proposals",
    "semag_weigh",
    _marks,
    Limits(one_in=8, most=256),
    otherwise={},
)
"""The Role that marks each of the `proposals` from 0 to 100. The paper calls the mark φ."""
REFINER = coder("refiner", "refining the function by the decision", "revise")


@dataclass(slots=True)
class Discussion:
    """A discussion: debaters propose changes, and a weighted vote selects one (eq. 7 and 8)."""

    debaters: int
    temper: float
    _gained: dict[int, float] = field(default_factory=dict)
    """η: the past performance of each debater.

    The paper does not define it. Here, it is the share of examples that newly passed through the debater's proposals.
    """

    async def refined(self, request: Request, attempt: Attempt, trace: Field) -> Attempt:
        """Let the debaters propose in turn. Refine the code by the proposal with the greatest weight."""
        proposals: list[str] = []
        for _ in range(self.debaters):
            others = _numbered(proposals) or "None yet."
            proposals.append(await _ask(request, DEBATER, attempt, trace=trace, proposals=others))
        marks = await _ask(request, DISCRIMINATOR, attempt, proposals=_numbered(proposals))
        history = [self._gained.get(number, 0.0) for number in range(1, self.debaters + 1)]
        best = weightiest(marks, history, self.temper)
        candidate = await _ask(request, REFINER, attempt, advice=proposals[best - 1])
        refined = await request.evaluate(candidate)
        gain = request.share(refined) - request.share(attempt)
        self._gained[best] = self._gained.get(best, 0.0) + gain
        return refined


def weightiest(marks: Mapping[int, float], history: Sequence[float], temper: float) -> int:
    """Return the number of the winning proposal (eq. 8).

    A proposal's weight is its mark φ times the debater's softmax(η/τ_w). In a tie, the later proposal wins, because its
    debater saw the earlier ones.
    """
    weighed = {
        number: math.exp(performance / temper) * marks.get(number, 0.0) for number, performance in enumerate(history, 1)
    }
    return max(weighed, key=lambda number: (weighed[number], number))


def _numbered(proposals: Sequence[str]) -> str:
    return "\n\n".join(f"{number}. {each}" for number, each in enumerate(proposals, 1))


@dataclass(frozen=True, slots=True)
class Semag:
    """Which of SEMAG's four levels are on, and their limits.

    Level 1, direct writing, is always on. The ablations turn other levels off (Table 4).
    """

    verifies: bool = True
    """Level 2: verify a plan."""
    suggests: bool = True
    """Level 3: debug by a trace and a suggestion."""
    discusses: bool = True
    """Level 4: discuss."""
    passes: int = 5
    """M_try: maximum number of passes over levels 3 and 4 (section 4.3)."""
    debugs: int = 4
    """M_debug: number of debugging steps in a pass (section 4.3)."""
    verifications: int = 1
    """M_plan: number of verifications. The paper gives no number. Small models seldom improve a plan twice."""
    debaters: int = 3
    """N_debater: number of debaters. The paper gives no number. Three is the smallest number with a majority."""
    temper: float = 1.0
    """τ_w: temperature of the debaters' weights. The paper gives no value. With 1, weights differ by at most a factor
    of e.
    """
    delta: float = 0.85
    """δ0: initial threshold (eq. 11)."""
    decay: float = 0.5
    """λ: decay of the threshold (eq. 11)."""

    def budget(self) -> Budget:
        """Return the limits for levels 1 and 2 and all passes over levels 3 and 4."""
        planning = (2 + self.verifications) * self.verifies
        debugging = 3 * self.debugs * self.suggests
        discussing = (self.debaters + 2) * self.discusses
        rounds = 1 + self.verifies + self.passes * self.rounds_of_a_pass
        return Budget(rounds, calls=1 + planning + self.passes * (debugging + discussing))

    @property
    def rounds_of_a_pass(self) -> int:
        """Maximum number of rounds in one pass over levels 3 and 4."""
        return self.debugs * self.suggests + self.discusses

    def threshold(self, step: int, complexity: float) -> float:
        """Return δ(t), the threshold of eq. 11."""
        return self.delta * math.exp(-self.decay * (step / self.debugs) * complexity)

    async def run(self, request: Request) -> None:
        """Run the levels in order, while examples fail."""
        await _Climb(self, request, request.rounds(), Discussion(self.debaters, self.temper)).run()


@dataclass(slots=True)
class _Climb:
    """One run of the levels, with the log of the plan verifier."""

    which: Semag
    request: Request
    rounds: Iterator[int]
    discussion: Discussion
    log: str = "It was not verified."
    """L (eq. 4): the log of the plan verifier's work through the examples."""

    async def run(self) -> None:
        """Try direct writing, a plan, debugging by a trace, and a discussion.

        Each is tried only if the previous one failed.
        """
        request, which = self.request, self.which
        if not (which.verifies or which.rounds_of_a_pass):
            await Direct().run(request)
            return
        next(self.rounds, None)
        with request.branch("level 1"):
            attempt = await request.evaluate(await request.first(WRITER))
        if which.verifies and next(self.rounds, None) is not None:
            with request.branch("level 2"):
                attempt = await request.evaluate(await _ask(request, BY_PLAN, plan=await self._plan()))
        passes = (request.budget.rounds - 1 - which.verifies) // max(which.rounds_of_a_pass, 1)
        for number in range(1, passes + 1):
            if request.goes_on:
                with request.branch(f"pass {number}"):
                    attempt = await self._pass(attempt)

    async def _plan(self) -> str:
        """Make the plan of level 2. The verifier corrects it while working through the examples (eq. 3 and 4)."""
        plan = await _ask(self.request, PLANNER)
        for _ in range(self.which.verifications):
            mended, self.log = await _ask(self.request, PLAN_VERIFIER, plan=plan)
            if mended in ("", plan):
                break
            plan = mended
        return plan

    async def _pass(self, attempt: Attempt) -> Attempt:
        """Run one pass of Algorithm 1's outer loop.

        Repeat level 3 until the traces hardly change, then run level 4.
        """
        request, which = self.request, self.which
        seen = await observed(request, attempt)
        for step, _ in zip(range(1, which.debugs * which.suggests + 1), self.rounds, strict=False):
            with request.branch("level 3"):
                example, before = failing(attempt), seen
                attempt = await self._debugged(attempt, seen)
                if not request.goes_on:
                    return attempt
                seen = again = await observed(request, attempt, example)
                if example not in (None, failing(attempt)):
                    seen = await observed(request, attempt)
            if await likeness(before, again) > which.threshold(step, await complexity(attempt)):
                break
        if which.discusses and next(self.rounds, None) is not None:
            with request.branch("level 4"):
                return await self.discussion.refined(request, attempt, shown(seen))
        return attempt

    async def _debugged(self, attempt: Attempt, trace: Trace) -> Attempt:
        """Run level 3: explain, suggest and debug (eq. 6)."""
        request, seen = self.request, shown(trace)
        advice = await _ask(request, EXPLAINER, attempt, trace=seen)
        advice = await _ask(request, SUGGESTER, attempt, trace=seen, verification=self.log, explanation=advice)
        return await request.evaluate(await _ask(request, DEBUGGER, attempt, advice=advice))


_FEEDBACK = {
    (True, True): "the error, a trace, and a discussion",
    (True, False): "the error, and a trace",
    (False, True): "the error, a trace, and a discussion",
    (False, False): "none",
}
"""Descriptions of the feedback. The two flags of a key say if level 3 and level 4 are on."""


def _semag(verifies: bool, suggests: bool, discusses: bool) -> Strategy:
    which = Semag(verifies, suggests, discusses)
    roles: list[Role[Any]] = [WRITER]
    roles += [PLANNER, BY_PLAN, PLAN_VERIFIER] * verifies
    roles += [EXPLAINER, SUGGESTER, DEBUGGER] * suggests
    roles += [DEBATER, DISCRIMINATOR, REFINER] * discusses
    switches = {"verification": verifies, "suggestion": suggests, "discussion": discusses}
    off = [name for name, is_on in switches.items() if not is_on]
    return Strategy(
        name=f"semag:{'-'.join(f'no-{name}' for name in off)}".rstrip(":"),
        summary=f"semag without {' and '.join(off)}" if off else "climbs from writing to plans, traces and discussion",
        paper="SEMAG: Self-Evolutionary Multi-Agent Code Generation" + (", its ablation" if off else ""),
        roles=tuple(roles),
        iterations=which.passes if which.rounds_of_a_pass else None,
        budget=lambda t: replace(which, passes=t).budget(),
        run=which.run,
        feedback=_FEEDBACK[suggests, discusses],
    )


SEMAGS = tuple(_semag(*switches) for switches in product((True, False), repeat=3))
"""The full strategy and its ablations, which are all combinations of the three switches (section 4.4)."""
