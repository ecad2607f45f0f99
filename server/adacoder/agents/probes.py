"""Run designed tests on candidates during a request.

A designed test is a model's opinion, so it never verifies a candidate. Tests that contradict the docstring's Examples
are not used. Only a test that two designs contain ranks candidates that no Example proves, and sends back a candidate
that passed the Examples. A test can be right even if several candidates fail it, because the candidates of a request
are revisions of one another.
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
"""Minimum number of designs that must agree on a test before it ranks candidates."""
_ANOTHER = Sampling(temperature=0.8)
"""Sampling of another design, which should differ from the first."""

Design = Callable[[Attempt, Sampling | None], Awaitable[Sequence[Example]]]
"""Asks a model to design tests for an attempt."""


class Probes:
    """The designed tests of one request."""

    def __init__(self, request: Request, design: Design, first: Sequence[Example] | None = None) -> None:
        """`design` is called for each design, except for the first one if it is given as `first`."""
        self._request = request
        self._design = design
        self._first = first
        self._shown = {_call(each.source): _result(each.want) for each in request.target.examples if each.has_want}
        self._votes: dict[str, dict[Example, int]] = {}
        """For each call, the tests that no Example contradicts. Each test has the number of designs that contain it."""
        self._seen: list[Attempt] = []

    async def failure(self, attempt: Attempt) -> Failure | None:
        """Run the designed tests on an attempt. Return the failure for which it is sent back, if any.

        If a test fails, another design is made, because it is a second opinion. No test runs on an attempt that an
        Example proves, because nothing outranks it.

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
        """Add `tests` as a new design, and run the tests that `_believed` selects from all designs on `attempt`.

        After a new design, the selected tests also run on earlier attempts.
        """
        self._count(tests)
        earlier = [each for each in self._seen if each != attempt]
        self._seen = [*earlier, attempt]
        if tests:
            for each in earlier:
                await self._ranked(each)
        return await self._ranked(attempt)

    async def _ranked(self, attempt: Attempt) -> Feedback:
        """Run the believed tests on an attempt. Rank it by the number of tests that it passes and designs agree on."""
        believed = self._believed()
        if not believed:
            return Feedback((), None)
        feedback = await self._request.probe(attempt.candidate, tuple(believed))
        agreed = [each for each in feedback.results if believed[each.example] >= _AGREEING]
        self._request.prefer(attempt, Feedback(tuple(agreed), None).passed)
        return feedback

    def _believed(self) -> dict[Example, int]:
        """Return the tests to run, each with the number of designs that contain it, those of most designs first.

        Designs may expect different results of the same call. Then only the result with the most designs is tested. In
        a tie, the call is not tested.
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
            votes.setdefault(known, 0)  # another spelling of a test in the same design does not count again
            found[call, known] = None
        for call, test in found:
            self._votes[call][test] += 1


def _call(source: str) -> str:
    """Return a key for a call. All spellings of a call have the same key."""
    tree = parsed(source)
    with suppress(RecursionError):
        return source if tree is None else ast.dump(tree)
    return source


def _result(want: str) -> object:
    """Return a key for a result. All spellings of a result have the same key."""
    match parsed(want.strip()):
        case ast.Module(body=[ast.Expr(value)]):
            with suppress(ValueError, TypeError, MemoryError, RecursionError):
                return ast.literal_eval(value)
    return " ".join(want.split())
