"""Designed tests during a request: run on candidates, and set aside if the docstring's Examples speak against them.

A designed test is a model's opinion. It sends a candidate back. If two designs agree on it, it also ranks candidates
that no Example proves. It never verifies. The programs of a request are revisions of one another, so that several of
them fail a test does not speak against the test.
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
"""Number of designs that must have the same test before it ranks candidates. One design is one opinion."""


class Probes:
    """The designed tests of one request that are believed."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._shown = {_call(each.source): _result(each.want) for each in request.target.examples if each.has_want}
        self._votes: dict[str, dict[Example, int]] = {}
        """By call: tests that no Example contradicts, each with the number of designs that have it."""
        self._seen: list[Attempt] = []

    async def run(self, attempt: Attempt, tests: Sequence[Example] = ()) -> Feedback:
        """Add a design of `tests`, and run the believed tests on `attempt` and, after a new design, on earlier ones.

        Raises:
            SandboxError: nothing could be run.
        """
        self._count(tests)
        earlier = [each for each in self._seen if each != attempt]
        self._seen = [*earlier, attempt]
        if tests:
            for each in earlier:
                await self._ranked(each)
        return await self._ranked(attempt)

    async def _ranked(self, attempt: Attempt) -> Feedback:
        """Run the believed tests, and rank the attempt by the number that it passes of those designed twice."""
        believed = self._believed()
        if not believed:
            return Feedback((), None)
        feedback = await self._request.probe(attempt.candidate, tuple(believed))
        agreed = [each for each in feedback.results if believed[each.example] >= _AGREEING]
        self._request.prefer(attempt, Feedback(tuple(agreed), None).passed)
        return feedback

    def _believed(self) -> dict[Example, int]:
        """The tests that more designs have than any other result of their call, each with the number of designs."""
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
            votes.setdefault(known, 0)  # so that another spelling in the same design is no other test
            found[call, known] = None
        for call, test in found:
            self._votes[call][test] += 1


def _call(source: str) -> str:
    """A key for a call, the same for all its spellings."""
    tree = parsed(source)
    with suppress(RecursionError):
        return source if tree is None else ast.dump(tree)
    return source


def _result(want: str) -> object:
    """The value of a result, the same for all its spellings; the words of a result that is not a literal."""
    match parsed(want.strip()):
        case ast.Module(body=[ast.Expr(value)]):
            with suppress(ValueError, TypeError, MemoryError, RecursionError):
                return ast.literal_eval(value)
    return " ".join(want.split())
