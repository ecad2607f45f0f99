"""Describe results in a few words, for editors that show them next to a function."""

from __future__ import annotations

from adacoder.domain import Coverage, ExampleResult, Failure, FailureKind
from adacoder.messages import counted

_SPANS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_SAYS_MORE = frozenset({FailureKind.DENIED, FailureKind.BROKEN_EXAMPLE, FailureKind.UNDEFINED_NAME})
"""Kinds of failure whose message says more than a comparison of expected and actual output."""


def brief_unreached(coverage: Coverage | None, more: int = 0) -> str:
    """Describe the lines that no example reached, as in "line 14 not reached"; empty if all were reached.

    `more` is the number of lines that were inserted above the function after the run.
    """
    if coverage is None or not coverage.unreached:
        return ""
    number, others = coverage.unreached[0].number + more, len(coverage.unreached) - 1
    return f"{counted(others + 1, 'line')} not reached" if others else f"line {number} not reached"


def age(seconds: float) -> str:
    """Describe a time that is `seconds` ago, as in "4 minutes ago"."""
    for length, noun in _SPANS:
        if seconds >= length:
            return f"{counted(int(seconds // length), noun)} ago"
    return "just now"


def want_and_got(result: ExampleResult, failure: Failure | None = None) -> str:
    """Describe a failed example in a sentence.

    Use the message of `failure` if it says more than the expected and actual output.
    """
    example = result.example
    if failure is not None and (failure.kind in _SAYS_MORE or (failure.got is None and failure.error is None)):
        return failure.message
    wanted = _one_line(example.exception or example.want) or "nothing"
    came = f"it raised {_one_line(result.error)}" if result.error else f"it gave {_one_line(result.got) or 'nothing'}"
    hint = f" {result.hint}" if result.hint else ""
    return f"Example failed: wanted {wanted}, but {came}.{hint}"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
