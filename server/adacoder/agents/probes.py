"""Designed tests during a request: run on candidates, and set aside if the docstring's Examples speak against them.

A designed test is a model's opinion. It sends a candidate back, and ranks candidates that no Example proves. It never
verifies.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress

from adacoder.agents.code_evaluator import Feedback
from adacoder.agents.request import Request
from adacoder.domain import Attempt, Example
from adacoder.pytext import parsed

_DISAGREEING = 2
"""Set a test aside once this many different candidates pass the docstring's Examples and fail it, unless a candidate
passed both. The first such candidate is sent back."""


class Probes:
    """The designed tests of one request that are still believed."""

    def __init__(self, request: Request, tests: Sequence[Example] = ()) -> None:
        self._request = request
        self._shown = {_call(each.source): _result(each.want) for each in request.target.examples if each.has_want}
        self.tests: tuple[Example, ...] = ()
        self._against: dict[Example, set[str]] = {}
        self._agreed: set[Example] = set()
        self._set_aside: set[Example] = set()
        self._seen: list[Attempt] = []
        self._believe(tests)

    async def add(self, tests: Sequence[Example]) -> None:
        """Believe more `tests`, and also rank earlier attempts by them.

        Raises:
            SandboxError: as `run`.
        """
        if self._believe(tests):
            for attempt in self._seen:
                await self.run(attempt)

    def _believe(self, tests: Sequence[Example]) -> bool:
        """Add new tests that no Example of the docstring contradicts. True if there were any."""
        new = [test for test in tests if test not in self.tests and test not in self._set_aside]
        wrong = [test for test in new if self._contradicts(test)]
        self.tests += tuple(test for test in new if test not in wrong)
        self._doubt(wrong, "The docstring's examples contradict a designed test")
        return len(new) > len(wrong)

    def _contradicts(self, test: Example) -> bool:
        want = _result(test.want)
        return self._shown.get(_call(test.source), want) != want

    async def run(self, attempt: Attempt) -> Feedback:
        """Run the believed tests on the candidate of `attempt`, and rank it by the number that it passes.

        Raises:
            SandboxError: nothing could be run.
        """
        if attempt not in self._seen:
            self._seen.append(attempt)
        if not self.tests:
            return Feedback((), None)
        feedback = await self._request.probe(attempt.candidate, self.tests)
        self._request.prefer(attempt, feedback.passed)
        if attempt.verdict.passed and self._doubted(attempt, feedback):
            feedback = await self._request.probe(attempt.candidate, self.tests) if self.tests else Feedback((), None)
        return feedback

    def _doubted(self, attempt: Attempt, feedback: Feedback) -> bool:
        """Set aside tests that failed on enough passing candidates, and agreed with none. True if there were any."""
        doubtful: list[Example] = []
        for result in feedback.results:
            if result.matched:
                self._agreed.add(result.example)
            else:
                against = self._against.setdefault(result.example, set())
                against.add(attempt.candidate.text)
                if len(against) >= _DISAGREEING and result.example not in self._agreed:
                    doubtful.append(result.example)
        self._doubt(doubtful, "No candidate that passes the docstring's examples agrees with a designed test")
        return bool(doubtful)

    def _doubt(self, tests: Sequence[Example], why: str) -> None:
        self.tests = tuple(test for test in self.tests if test not in tests)
        self._set_aside.update(tests)
        for test in tests:
            self._request.note("test_designer", "set aside", f"{why}, so it is set aside: {test.source.strip()}")


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
