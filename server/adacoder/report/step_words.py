"""Describe the steps of a request in words."""

from __future__ import annotations

from collections.abc import Sequence

from adacoder.domain import Step
from adacoder.journal import Evaluated, OpenStep, Repaired, Waiting
from adacoder.messages import counted


def progress(event: OpenStep | Step | Waiting, most_rounds: int) -> str:
    """Return a line with the round and the current work or its result. During a wait, return the reason."""
    if isinstance(event, Waiting):
        return event.message
    return " · ".join([f"round {event.round}/{most_rounds}", *event.branch, doing(event)])


def doing(event: OpenStep | Step | Waiting) -> str:
    """Return the current work of a step, or its result. During a wait, return the reason."""
    match event:
        case Waiting():
            return event.message
        case OpenStep():
            return f"{event.doing}{_written(event.written)}"
        case Step(details=Evaluated(has_run=False)):
            return "nothing to run"
        case Step(details=Evaluated() as found) if found.total or found.tests[1]:
            return score(found.passed, found.total, found.tests)
        case Step(details=Repaired(rules=rules)):
            return fixed(rules)
    return f"{event.doing}{_written(event.tokens.completion)}"


def _written(tokens: int) -> str:
    return f" · {counted(tokens, 'token')}" if tokens else ""


def score(passed: int, total: int, tests: tuple[int, int] = (0, 0)) -> str:
    """Return the score in the form "3/3 examples passed" or "3/3 examples and 5/5 tests passed".

    `tests` has the numbers of passed tests and of all tests.
    """
    examples = [f"{passed}/{total} examples"] if total or not tests[1] else []
    return f"{' and '.join([*examples, *_of_tests(tests)])} passed"


def brief_score(passed: int, total: int, tests: tuple[int, int] = (0, 0)) -> str:
    """Return the score in the form "3/3 examples" or "3/3 examples · 5/5 tests"."""
    examples = [f"{passed}/{counted(total, 'example')}"] if total or not tests[1] else []
    return " · ".join([*examples, *_of_tests(tests)])


def _of_tests(tests: tuple[int, int]) -> list[str]:
    passed, total = tests
    return [f"{passed}/{counted(total, 'test')}"] if total else []


def fixed(rules: Sequence[str]) -> str:
    """Describe a repair by the names of its `rules`, which changed the code."""
    return f"fixed by rule: {', '.join(rules).replace('_', ' ')}" if rules else "no rule helps"
