"""A request, as its strategy sees it: what it works on, and all that it may do.

A strategy asks Roles, has candidates evaluated, repaired, probed and traced, and returns nothing: whatever it does,
only what the docstring's Examples made of a candidate decides, and only the service concludes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TypeVar

from adacoder.agents.code_evaluator import CodeEvaluator, Feedback
from adacoder.agents.conversation import Conversation
from adacoder.agents.debug_specialist import DebugSpecialist
from adacoder.agents.role import Field, Role
from adacoder.domain import Attempt, Candidate, Example, Target, further
from adacoder.journal import Journal
from adacoder.models.base import Sampling
from adacoder.traces import Trace

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Budget:
    """What a strategy may spend on one request."""

    rounds: int
    calls: int
    """Of a model."""
    programs: int | None = None
    """Candidates that are evaluated on the docstring's Examples; None: as many as come of the calls."""

    def of_start(self, max_iterations: int) -> Budget:
        """What is left where a candidate to start from takes the place of the first writing; without iterations no
        model is asked for anything."""
        return replace(self, calls=max(0, self.calls - 1) if max_iterations else 0)


class BudgetSpent(Exception):
    """What a strategy wants to do is more than its Budget allows; the request ends with the best that it has."""


class Request:
    """One request. It belongs to one strategy, and one run of that."""

    def __init__(
        self,
        target: Target,
        start: Candidate | None,
        budget: Budget,
        *,
        conversation: Conversation,
        evaluator: CodeEvaluator,
        specialist: DebugSpecialist,
        journal: Journal,
    ) -> None:
        self.target = target
        self.start = start
        """Where to begin, instead of a first writing."""
        self.budget = budget
        self._conversation = conversation
        self._evaluator = evaluator
        self._specialist = specialist
        self._journal = journal
        self._rounds = self._calls = 0
        self._attempts: dict[Candidate, Attempt] = {}
        """By candidate, in the order of their first evaluation."""
        self._values: dict[Candidate, float] = {}

    @property
    def best(self) -> Attempt | None:
        """The attempt that got furthest by the docstring's Examples; of equals the preferred one, then the first."""
        best: Attempt | None = None
        for attempt in self._attempts.values():
            best = attempt if best is None else self._better(best, attempt)
        return best

    def _better(self, one: Attempt, other: Attempt) -> Attempt:
        if one.verdict.reach != other.verdict.reach:
            return further(one, other)
        values = [self._values.get(attempt.candidate, 0.0) for attempt in (one, other)]
        return other if values[1] > values[0] else one

    @property
    def goes_on(self) -> bool:
        """Whether there may be another round: the budget has one, and no verdict leaves nothing more to be done."""
        return self._rounds < self.budget.rounds and not any(each.verdict.final for each in self._attempts.values())

    def rounds(self) -> Iterator[int]:
        """The numbers of the rounds, from 1, as long as it `goes_on`."""
        while self.goes_on:
            self._rounds += 1
            self._journal.begin_round()
            yield self._rounds

    def branch(self, name: str) -> AbstractContextManager[None]:
        """Record what is done inside the `with` block as a branch of a search."""
        return self._journal.branch(name)

    async def ask(self, role: Role[T], *, sampling: Sampling | None = None, **fields: Field) -> T:
        """What `role` reads in a model's reply, with `fields` in the places of its prompt.

        Raises:
            BudgetSpent: there are no more calls.
            ModelError: the model could not reply.
        """
        if self._calls >= self.budget.calls:
            raise BudgetSpent
        self._calls += 1
        return await self._conversation.ask(role, fields, sampling)

    async def first(self, role: Role[Candidate]) -> Candidate:
        """The candidate to start from; without one, what `role` writes.

        Raises:
            BudgetSpent, ModelError: as `ask`.
        """
        return await self.ask(role) if self.start is None else self.start

    async def evaluate(self, candidate: Candidate) -> Attempt:
        """Run the docstring's Examples on a candidate: the only thing that decides.

        Raises:
            BudgetSpent: no more candidates may be evaluated.
            SandboxError: nothing could be run.
        """
        if candidate not in self._attempts and len(self._attempts) == self.budget.programs:
            raise BudgetSpent
        attempt = Attempt(candidate, await self._evaluator.evaluate(self.target, candidate))
        return self._attempts.setdefault(candidate, attempt)

    async def repaired(self, attempt: Attempt) -> Attempt:
        """Fix superficial errors by rule and evaluate what comes of it; whichever attempt got further.

        Raises:
            BudgetSpent, SandboxError: as `evaluate`.
        """
        if attempt.verdict.final:
            return attempt
        candidate = await self._specialist.repair(self.target, attempt.candidate, attempt.verdict)
        return attempt if candidate == attempt.candidate else further(attempt, await self.evaluate(candidate))

    async def probe(self, candidate: Candidate, tests: Sequence[Example]) -> Feedback:
        """Run designed tests on a candidate. What they tell can send it back or rank it, never verify it.

        Raises:
            SandboxError: as `evaluate`.
        """
        return await self._evaluator.probe(self.target, candidate, tests)

    async def trace(self, candidate: Candidate, example: Example) -> Trace:
        """What an Example executes of a candidate, with the values of its locals; text that decides nothing.

        Raises:
            SandboxError: as `evaluate`.
        """
        return await self._evaluator.trace(self.target, candidate, example)

    def prefer(self, attempt: Attempt, value: float) -> None:
        """Rank an attempt among those that got equally far: of these the one with the greatest value is the best."""
        self._values[attempt.candidate] = value
