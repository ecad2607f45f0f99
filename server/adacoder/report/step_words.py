"""Describe the steps of a request in words."""

from __future__ import annotations

from collections.abc import Sequence

from adacoder.domain import Step
from adacoder.journal import Evaluated, OpenStep, Repaired, Waiting
from adacoder.messages import counted


def progress(event: OpenStep | Step | Waiting, most_rounds: int) -> str:
    """Return one line about the progress: the round with the current work or the step's result, or a wait's reason."""
    if isinstance(event, Waiting):
        return event.message
    return " · ".join([f"round {event.round}/{most_rounds}", *event.branch, doing(event)])


def doing(event: OpenStep | Step | Waiting) -> str:
    """Return the current work or the step's result, or a wait's reason."""
    match event:
        case Waiting():
            return event.message
        case OpenStep():
            return f"{event.doing}{_written(event.written)}"
        case Step(details=Evaluated(has_run=False)):
            return "nothing to run"
        case Step(details=Evaluated(total=total) as found) if total:
            return score(found.passed, total)
        case Step(details=Repaired(rules=rules)):
            return fixed(rules)
    return f"{event.doing}{_written(event.tokens.completion)}"


def _written(tokens: int) -> str:
    return f" · {counted(tokens, 'token')}" if tokens else ""


def score(passed: int, total: int) -> str:
    """Return the number of passed examples in the form "3/3 examples passed"."""
    return f"{passed}/{total} examples passed"


def fixed(rules: Sequence[str]) -> str:
    """Describe the result of a repair. `rules` are the names of the rules that changed the code."""
    return f"fixed by rule: {', '.join(rules).replace('_', ' ')}" if rules else "no rule helps"
