"""Run designed tests on candidates during a request.

A designed test is a model's opinion, so it never verifies a candidate. Tests that contradict the docstring's Examples
are not used. A candidate that fails any other test is sent back. If two designs contain the same test, the test also
ranks candidates that no Example proves. A test can be right even if several candidates fail it, because the candidates
of a request are revisions of one another.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress

from adacoder.agents.code_evaluator import Feedback
from adacoder.agents.request import Request
from adacoder.domain import Attempt, Example
from adacoder.pytext import parsed

_AGREEING = 2
"""Minimum number of designs that must agree on a test before it ranks candidates."""


class Probes:
    """The designed tests of one request."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._shown = {_call(each.source): _result(each.want) for each in request.target.examples if each.has_want}
        self._votes: dict[str, dict[Example, int]] = {}
        """For each call, the tests that no Example contradicts. Each test has the number of designs that contain it."""
        self._seen: list[Attempt] = []

    async def run(self, attempt: Attempt, tests: Sequence[Example] = ()) -> Feedback:
        """Add `tests` as a new design, and run the tests that `_believed` selects from all designs on `attempt`.

        After a new design, the selected tests also run on earlier attempts.

        Raises:
            SandboxError: nothing can run.
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
        """Return the tests to run, each with the number of designs that contain it.

        Designs may expect different results of the same call. Then only the result with the most designs is tested. In
        a tie, the call is not tested.
        """
        found = {}
        for votes in self._votes.values():
            most = max(votes.values())
            first, *others = [test for test, count in votes.items() if count == most]
            if not others:
                found[first] = most
        return found

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
