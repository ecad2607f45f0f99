"""Designed tests over a request: run on candidates, and set aside where the docstring's Examples speak against them.

A designed test is a model's opinion. It sends a candidate back, or ranks equals; it never verifies.
"""

from __future__ import annotations

from collections.abc import Sequence

from adacoder.agents.code_evaluator import Feedback
from adacoder.agents.request import Request
from adacoder.domain import Attempt, Example

_DISAGREEING = 2
"""Different candidates that pass the docstring's Examples and fail a test, with none that passes both, before it is
set aside: the first is sent back."""


class Probes:
    """The designed tests of one request that are believed so far."""

    def __init__(self, request: Request, tests: Sequence[Example]) -> None:
        self._request = request
        shown = {_call(example): example.want for example in request.target.examples if example.has_want}
        self.tests = tuple(test for test in tests if shown.get(_call(test), test.want) == test.want)
        self._against: dict[Example, set[str]] = {}
        self._agreed: set[Example] = set()
        self._note(
            [test for test in tests if test not in self.tests], "The docstring's examples contradict a designed test"
        )

    async def run(self, attempt: Attempt) -> Feedback:
        """Run the tests that are believed on the candidate of `attempt`, and prefer it by how many it passes.

        Raises:
            SandboxError: nothing could be run.
        """
        if not self.tests:
            return Feedback((), None)
        feedback = await self._request.probe(attempt.candidate, self.tests)
        self._request.prefer(attempt, feedback.passed)
        if attempt.verdict.passed and self._doubted(attempt, feedback):
            feedback = await self._request.probe(attempt.candidate, self.tests) if self.tests else Feedback((), None)
        return feedback

    def _doubted(self, attempt: Attempt, feedback: Feedback) -> bool:
        """Set aside the tests that no candidate agrees with which passes the docstring's Examples; any at all?"""
        doubtful: list[Example] = []
        for result in feedback.results:
            if result.matched:
                self._agreed.add(result.example)
            else:
                against = self._against.setdefault(result.example, set())
                against.add(attempt.candidate.text)
                if len(against) >= _DISAGREEING and result.example not in self._agreed:
                    doubtful.append(result.example)
        self.tests = tuple(test for test in self.tests if test not in doubtful)
        self._note(doubtful, "No candidate that passes the docstring's examples agrees with a designed test")
        return bool(doubtful)

    def _note(self, tests: Sequence[Example], why: str) -> None:
        for test in tests:
            self._request.note("test_designer", "set aside", f"{why}, so it is set aside: {test.source.strip()}")


def _call(example: Example) -> str:
    return "".join(example.source.split())
