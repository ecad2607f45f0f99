"""Rank and reject candidates by tests that a model has written.

A model can write wrong tests, so they never verify a candidate. Tests that contradict the docstring's examples are
dropped. A candidate that passed the examples is rejected only by a test that the model wrote twice.
"""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from adacoder.agents.code_evaluator import Feedback
from adacoder.agents.request import Request
from adacoder.domain import Attempt, Example, Failure
from adacoder.models.base import Sampling
from adacoder.pytext import parsed

_AGREEING = 2
"""Number of times that a model must write a test before the test can rank candidates."""
_ANOTHER = Sampling(temperature=0.8)
"""Sampling for the second set of tests. It makes the second set differ from the first."""

Design = Callable[[Attempt, Sampling | None], Awaitable[Sequence[Example]]]
"""Function that asks a model for tests."""


class Probes:
    """Tests that a model has written for one request."""

    def __init__(self, request: Request, design: Design, first: Sequence[Example] | None = None) -> None:
        """`design` asks a model for a set of tests. `first` is the first set, if it already exists."""
        self._request = request
        self._design = design
        self._first = first
        self._shown = {_call(each.source): _result(each.want) for each in request.target.examples if each.has_want}
        self._votes: dict[str, dict[Example, int]] = {}
        """Expected results of each call, with the number of test sets that contain each result."""
        self._seen: list[Attempt] = []

    async def failure(self, attempt: Attempt) -> Failure | None:
        """Run the model's tests on an attempt, and return the failure that the model should fix, or None.

        If a test fails, the model writes a second set of tests. If an example proves the attempt, no test runs.

        Raises:
            BudgetSpent, ModelError, SandboxError: as `Request.ask` and `Request.evaluate`.
        """
        if attempt.verdict.passed and attempt.verdict.is_proved:
            return None
        tests, self._first = self._first, ()
        if tests is None:
            tests = await self._design(attempt, None) if self._request.goes_on_until_proved else ()
        feedback = await self._run(attempt, tests)
        if any(not each.matched for each in feedback.results) and self._request.goes_on_until_proved:
            feedback = await self._run(attempt, await self._design(attempt, _ANOTHER))
        failure = feedback.failure
        if failure is None or failure.example is None or not attempt.verdict.passed:
            return failure
        return failure if self._believed().get(failure.example, 0) >= _AGREEING else None

    async def _run(self, attempt: Attempt, tests: Sequence[Example]) -> Feedback:
        """Add a set of tests, and run the trusted tests of all sets on `attempt`.

        Earlier attempts also run new tests, so that all attempts can be ranked.
        """
        self._count(tests)
        earlier = [each for each in self._seen if each != attempt]
        self._seen = [*earlier, attempt]
        if tests:
            for each in earlier:
                await self._ranked(each)
        return await self._ranked(attempt)

    async def _ranked(self, attempt: Attempt) -> Feedback:
        """Run the trusted tests on an attempt.

        The attempt's rank is the number of passed tests that at least `_AGREEING` test sets contain.
        """
        believed = self._believed()
        if not believed:
            return Feedback((), None)
        feedback = await self._request.probe(attempt.candidate, tuple(believed))
        agreed = [each for each in feedback.results if believed[each.example] >= _AGREEING]
        self._request.prefer(attempt, Feedback(tuple(agreed), None).passed)
        return feedback

    def _believed(self) -> dict[Example, int]:
        """Return the trusted tests, each with the number of test sets that contain it, highest number first.

        If test sets contradict each other about a call, the most frequent result is trusted. In a tie, no result is
        trusted.
        """
        found = {}
        for votes in self._votes.values():
            most = max(votes.values())
            first, *others = [test for test, count in votes.items() if count == most]
            if not others:
                found[first] = most
        return dict(sorted(found.items(), key=lambda each: -each[1]))

    def _count(self, tests: Sequence[Example]) -> None:
        found: dict[tuple[str, Example], None] = {}
        for test in tests:
            call, want = _call(test.source), _result(test.want)
            if self._shown.get(call, want) != want:
                told = "The docstring's examples contradict a designed test, so it is set aside"
                self._request.note("test_designer", "set aside", f"{told}: {test.source.strip()}")
                continue
            votes = self._votes.setdefault(call, {})
            known = next((each for each in votes if _result(each.want) == want), test)
            votes.setdefault(known, 0)  # the same test twice in one set counts once
            found[call, known] = None
        for call, test in found:
            self._votes[call][test] += 1


def _call(source: str) -> str:
    """Return a key for a call. Differently formatted calls have the same key."""
    tree = parsed(source)
    with suppress(RecursionError):
        return source if tree is None else ast.dump(tree)
    return source


def _result(want: str) -> object:
    """Return a key for a result. Differently formatted results have the same key."""
    match parsed(want.strip()):
        case ast.Module(body=[ast.Expr(value)]):
            with suppress(ValueError, TypeError, MemoryError, RecursionError):
                return ast.literal_eval(value)
    return " ".join(want.split())
