"""Create diagnostics for failed examples, for open questions, and for lines that no example reached.

Diagnostics are only sent if the evidence changes, because clients move diagnostics together with their lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from adacoder import report
from adacoder.domain import Example, ExampleResult, FailureKind
from adacoder.lsp.to_proto import range_of_lines
from adacoder.report.differences import asking

if TYPE_CHECKING:
    from adacoder.lsp.showing.evidence import Evidence, Placed
    from adacoder.source.text import PositionEncoding

SOURCE = "adacoder"
UNREACHED = "unreached"
"""Code of a diagnostic for a line that no example reached."""
DIFFERS = "differs"
"""Code of a diagnostic that asks which of two outputs is right. All other codes are values of FailureKind."""


def diagnostics(
    evidence: Iterable[Placed], lines: Sequence[str], encoding: PositionEncoding, *, unreached: bool
) -> Iterator[types.Diagnostic]:
    """Yield the diagnostics for evidence about the current text.

    A failure of the whole module is reported only once, and so is an example that fails in the same way in two groups.
    """
    told: set[tuple[int, str]] = set()
    for placed in evidence:
        for finding in _line_diagnostics(placed, lines, unreached=unreached):
            key = finding.first if finding.example or finding.code == UNREACHED else -1, finding.message
            if key in told:
                continue
            told.add(key)
            yield types.Diagnostic(
                range=range_of_lines(lines, finding.first, finding.last, encoding),
                message=finding.message,
                severity=finding.severity,
                code=finding.code,
                source=SOURCE,
                data=finding.data(placed.evidence),
            )


@dataclass(frozen=True, slots=True)
class _Unconverted:
    """A diagnostic whose position is not yet converted to the client's encoding."""

    first: int
    last: int
    message: str
    code: str
    severity: types.DiagnosticSeverity
    example: ExampleResult | None = None

    def data(self, evidence: Evidence) -> dict[str, Any]:
        """Return the details of the diagnostic for clients, as JSON."""
        data: dict[str, Any] = {"qualifiedName": evidence.qualname, "ofCandidate": not evidence.is_of_text}
        if self.code == DIFFERS and evidence.question is not None:
            asked = evidence.question
            return {**data, "call": asked.call, "here": asked.here, "there": asked.there}
        if self.code == FailureKind.TEST_FAILED and evidence.failure is not None and evidence.failure.test is not None:
            test = evidence.failure.test
            return {**data, "test": test.name, "explanation": test.explanation}
        if (found := self.example) is None:
            return data
        return {**data, "example": found.example.source, "want": found.example.want, "got": found.got} | (
            {"error": found.error} if found.error else {}
        )


def _line_diagnostics(placed: Placed, lines: Sequence[str], *, unreached: bool) -> Iterator[_Unconverted]:
    evidence, failure = placed.evidence, placed.evidence.failure
    severities = types.DiagnosticSeverity
    severity = severities.Error if evidence.is_of_text else severities.Information  # a candidate is not in the file
    whose = "" if evidence.is_of_text else "AdaCoder's best attempt, which is not inserted: "
    for result in evidence.failing:
        is_first = failure is not None and failure.example == result.example
        kind = FailureKind.EXCEPTION if result.error else FailureKind.WRONG_OUTPUT
        if is_first and failure is not None:
            kind = failure.kind
        first, last = place_of(result.example, placed, lines)
        message = whose + report.want_and_got(result, failure if is_first else None)
        yield _Unconverted(first, last, message, kind.value, severity, result)
    if failure is not None and failure.example is None:
        line = placed.header
        yield _Unconverted(line, line, whose + failure.message, failure.kind.value, severity)
    if evidence.question is not None:
        yield _Unconverted(placed.header, placed.header, asking(evidence.question), DIFFERS, severities.Information)
    if unreached and evidence.coverage is not None:
        for missed in evidence.coverage.unreached:
            line = placed.line_of_code(missed.number)
            what = "No example and no test" if evidence.coverage.by_tests else "No example"
            message = f"{what} of '{evidence.qualname}' reaches this line."
            yield _Unconverted(line, line, message, UNREACHED, severities.Hint)


def place_of(example: Example, placed: Placed, lines: Sequence[str]) -> tuple[int, int]:
    """Return the first and the last line of an example. If the example was removed, return the line of the `def`."""
    statement = example.source.rstrip("\n").split("\n")
    first = placed.line_of_example(example.line)
    last = first + len(statement) - 1
    if first >= 0 and last < len(lines) and statement[0].strip() in lines[first]:
        return first, last
    return placed.header, placed.header
