"""The interface between a strategy and the rest of AdaCoder.

A strategy asks roles, and evaluates, repairs and compares candidates. It returns nothing: the service derives the
outcome from the recorded results of the docstring's examples.

`tests/integration/strategies/test_door.py` shows one strategy of each kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TypeVar

from adacoder.agents.budget import NO_CEILING, Budget, BudgetSpent, Ceiling
from adacoder.agents.code_evaluator import CodeEvaluator, Feedback
from adacoder.agents.conversation import Conversation
from adacoder.agents.debug_specialist import DebugSpecialist
from adacoder.agents.prompt import NO_FIELDS
from adacoder.agents.role import Field, Role
from adacoder.domain import AdaCoderError, Attempt, BehaviourDiff, Candidate, Example, Target, further
from adacoder.journal import Journal, Noted
from adacoder.models.base import Sampling
from adacoder.sandbox.unavailable import SandboxError
from adacoder.traces import Trace

T = TypeVar("T")


class Request:
    """A request for one function, to one strategy."""

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
        ceiling: Ceiling = NO_CEILING,
    ) -> None:
        self.target = target
        self.start = start
        """The candidate to start from; None if a model writes the first candidate."""
        self.budget = budget
        self._conversation = conversation
        self._evaluator = evaluator
        self._specialist = specialist
        self._journal = journal
        self._ceiling = ceiling
        self._rounds = self._calls = 0
        self._attempts: dict[Candidate, Attempt] = {}
        """Attempts by candidate, in the order of their first evaluation."""
        self._versions: dict[Candidate, list[Attempt]] = {}
        """All attempts from one reply, by the candidate that was selected from this reply."""
        self._replaced: set[Candidate] = set()
        """Passing candidates that were replaced by a later version from the same reply."""
        self._extra = 0
        """Number of attempts with additional versions from a reply. The budget does not count these attempts."""
        self._values: dict[Candidate, float] = {}

    @property
    def best(self) -> Attempt | None:
        """The attempt with the greatest `Verdict.reach`.

        In a tie, a proved attempt wins, and otherwise the attempt with the greatest value from `prefer`.
        """
        best: Attempt | None = None
        for attempt in self._attempts.values():
            if attempt.candidate in self._replaced:
                continue
            best = attempt if best is None else self._better(best, attempt)
        return best

    def _better(self, one: Attempt, other: Attempt) -> Attempt:
        if one.verdict.reach != other.verdict.reach or (one.verdict.passed and one.verdict.is_proved):
            return further(one, other)
        values = [self._values.get(attempt.candidate, 0.0) for attempt in (one, other)]
        return other if values[1] > values[0] else one

    @property
    def has_rounds(self) -> bool:
        """True if the budget allows another round."""
        return self._rounds < self.budget.rounds

    @property
    def goes_on(self) -> bool:
        """True if the budget allows another round, and no attempt has a final verdict."""
        return self.has_rounds and not any(each.verdict.final for each in self._attempts.values())

    def rounds(self, *, until_proved: bool = False) -> Iterator[int]:
        """Count rounds from 1 while `goes_on` is true. With `until_proved`, `goes_on_until_proved` is used instead."""
        while self.goes_on_until_proved if until_proved else self.goes_on:
            self._rounds += 1
            self._journal.begin_round()
            yield self._rounds

    @property
    def goes_on_until_proved(self) -> bool:
        """True if the budget allows another round, and no attempt ends the rounds.

        A passing attempt ends the rounds only if an example proves the attempt.
        """
        verdicts = [each.verdict for each in self._attempts.values() if each.verdict.final]
        return self.has_rounds and not any(verdict.is_proved or not verdict.passed for verdict in verdicts)

    def branch(self, *names: str) -> AbstractContextManager[None]:
        """Record the steps in the `with` block as a branch of a search. Several names are nested branches."""
        return self._journal.branch(*names)

    def note(self, agent: str, action: str, message: str) -> None:
        """Record a decision in the journal."""
        with self._journal.step(agent, action, message) as step:
            step.details = Noted(message)

    def share(self, attempt: Attempt) -> float:
        """Return the share of the examples that an attempt passed, from 0 to 1. Hard-coded answers do not count."""
        total = attempt.verdict.total(self.target)
        return attempt.verdict.examples_proved / total if total else float(attempt.verdict.passed)

    async def try_start(self) -> Attempt | None:
        """Evaluate the starting candidate, and repair it by rules. Return None if no starting candidate exists.

        Raises:
            BudgetSpent, SandboxError: as `evaluate`.
        """
        return None if self.start is None else await self.repaired(await self.evaluate(self.start))

    async def ask(
        self,
        role: Role[T],
        about: Mapping[str, Field] = NO_FIELDS,
        *,
        sampling: Sampling | None = None,
        **fields: Field,
    ) -> T:
        """Ask a model as `role`. Fields from `about` and `fields` are inserted into the prompt.

        Raises:
            BudgetSpent: no calls are left, or no new candidate may be evaluated.
            ModelError: the model cannot reply.
        """
        if self._calls >= self.budget.calls:
            raise BudgetSpent
        if limit := self._ceiling.reached(self._journal, by_program=True):
            raise BudgetSpent(limit)
        self._calls += 1
        return await self._conversation.ask(role, {**about, **fields}, sampling)

    async def first(self, role: Role[Candidate], *, sampling: Sampling | None = None) -> Candidate:
        """Return the starting candidate. If there is none, ask `role` for a candidate.

        Raises:
            BudgetSpent, ModelError: as `ask`.
        """
        return await self.ask(role, sampling=sampling) if self.start is None else self.start

    async def evaluate(self, candidate: Candidate) -> Attempt:
        """Run the docstring's examples on a candidate.

        A reply can contain several versions of the function. The last version is tried first. Return the first version
        that passes, or else the version with the greatest `Verdict.reach`.

        Raises:
            BudgetSpent: no more candidates may be evaluated.
            SandboxError: nothing can run.
        """
        taken = await self._evaluated(candidate)
        tried = [taken]
        for version in candidate.others:
            if taken.verdict.final:
                break
            known = len(self._attempts)
            tried.append(await self._evaluated(version, is_extra=True))
            self._extra += len(self._attempts) - known
            taken = tried[-1] if tried[-1].verdict.final else further(taken, tried[-1])
        self._versions[taken.candidate] = tried
        return taken

    async def _evaluated(self, candidate: Candidate, *, is_extra: bool = False) -> Attempt:
        if candidate not in self._attempts:
            if not is_extra and len(self._attempts) - self._extra == self.budget.programs:
                raise BudgetSpent
            if limit := self._ceiling.reached(self._journal, by_program=True):
                raise BudgetSpent(limit)
        attempt = Attempt(candidate, await self._evaluator.evaluate(self.target, candidate))
        return self._attempts.setdefault(candidate, attempt)

    async def repaired(self, attempt: Attempt, *, as_printed: bool = False) -> Attempt:
        """Repair a failed attempt by rules and evaluate the result. Return the better attempt.

        Other versions of the function from the same reply are also repaired, until a version passes. With `as_printed`,
        the paper's rules are used.

        Raises:
            BudgetSpent, SandboxError: as `evaluate`.
        """
        best = attempt
        for each in self._versions.get(attempt.candidate, [attempt]):
            if each.verdict.final:
                break
            candidate = await self._specialist.repair(self.target, each.candidate, each.verdict, as_printed=as_printed)
            if candidate == each.candidate:
                continue
            fixed = await self.evaluate(replace(candidate, others=()))
            if fixed.verdict.passed:
                self._replaced |= {best.candidate} - {fixed.candidate}
                return fixed
            best = further(best, fixed)
        return best

    async def probe(self, candidate: Candidate, tests: Sequence[Example]) -> Feedback:
        """Run a model's tests on a candidate. Such tests can rank or reject a candidate, but never verify a candidate.

        Raises:
            SandboxError: as `evaluate`.
        """
        return await self._evaluator.probe(self.target, candidate, tests)

    async def trace(self, candidate: Candidate, example: Example) -> Trace:
        """Trace an example on a candidate, with the values of local variables.

        Raises:
            SandboxError: as `evaluate`.
        """
        return await self._evaluator.trace(self.target, candidate, example)

    async def cross_check(self, one: Candidate, other: Candidate) -> BehaviourDiff | None:
        """Compare two candidates on the examples and on generated inputs. Return None if they cannot be compared.

        The result can rank candidates, but never verify one.

        Raises:
            SandboxError: as `evaluate`.
        """
        from adacoder.agents.behaviour import compare  # slow import that few requests need

        with self._journal.step("code_evaluator", "cross-check", "comparing two programs") as step:
            try:
                here, there = (partial(self._evaluator.observe, self.target, candidate=each) for each in (one, other))
                found = await compare(self.target, here, there)
            except SandboxError:
                raise
            except AdaCoderError as error:
                step.details = Noted(str(error))
                return None
            step.details = Noted(f"The two programs agree on {found.agreed} of {found.inputs} inputs.")
            return found

    def prefer(self, attempt: Attempt, value: float) -> None:
        """Set the rank of an attempt among attempts with an equal `Verdict.reach`. Greater is better.

        The rank is only a model's opinion, so an attempt that an example proves always wins.
        """
        self._values[attempt.candidate] = value
