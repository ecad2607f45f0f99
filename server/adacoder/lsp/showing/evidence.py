"""Store the latest evidence for each function: the results of its examples, and the text on which they ran.

When a document changes, this module compares lines to find each function and to see if its text is unchanged. If an
earlier text returns, for example by an undo, its evidence is valid again.

`Results` stores jobs and their results. Evidence is separate, because a check on save is not a job.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from adacoder import report
from adacoder.domain import (
    JSON,
    PAGE,
    BehaviourDiff,
    Coverage,
    CrossCheck,
    Difference,
    Example,
    ExampleResult,
    Failure,
    Outcome,
    Status,
    Verdict,
)
from adacoder.pytext import Lines, indent_of, indent_width
from adacoder.source.text import apply_edits
from adacoder.task import current

if TYPE_CHECKING:
    from adacoder.domain import Target
    from adacoder.lsp.snapshot import Uri

_MOST = 5_000
"""Maximum number of functions with evidence. If there are more, the oldest evidence is deleted."""
_FAILED = frozenset({Status.PARTIAL, Status.FAILED, Status.DENIED, Status.ERROR})
_FOUND = frozenset({Status.VERIFIED, Status.UNVERIFIED}) | _FAILED
"""Statuses of an Outcome that contains evidence."""
_LINE_END = "\r\n"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Result of running the examples of one function."""

    uri: Uri
    """URI of the document."""
    qualname: str
    status: Status
    summary: str
    """One line that describes the Outcome."""
    passed: int
    total: int
    verdict: Verdict
    answer: Mapping[str, JSON]
    """The Outcome as JSON, as `--json` prints it."""
    examples: tuple[Mapping[str, JSON], ...]
    """Results of the examples, as from `example_results`."""
    lines: tuple[str, ...]
    """The function's lines in the document, without line ends."""
    text: int
    """Hash of the document's text at the time of the run."""
    is_of_text: bool
    """True if the examples ran on the text in the document.

    False if they ran on a candidate that is not in the document.
    """
    job_id: str | None
    """Id of the job whose result the evidence describes."""
    first: int
    """0-based first line of the function in the document, at the time of the run."""
    examples_from: int
    """First line of the function in the module, counted as in the examples' line numbers."""
    header: int
    """Number of lines above the `def` that belong to the function, such as decorators."""
    at: float
    """Time of the run, in seconds since the epoch."""
    behaviour: BehaviourDiff | None = None
    """Comparison with the previous version of the function, or None."""
    cross_check: CrossCheck | None = None
    """Comparison with a second program that a model has written, or None."""
    question: Difference | None = None
    """Open question to the user, about an output that differs between the two programs."""

    @property
    def tests(self) -> tuple[int, int]:
        """The numbers of the project's tests that passed, and that count."""
        return self.verdict.tests_score

    @property
    def failed(self) -> bool:
        """True if an example failed, or if the examples could not run."""
        return self.status in _FAILED

    @property
    def failure(self) -> Failure | None:
        """The first failure, or None."""
        return self.verdict.failure if self.failed else None

    @property
    def failing(self) -> tuple[ExampleResult, ...]:
        """Results of the failed examples. The example of the first failure is always included."""
        if (failure := self.failure) is None:
            return ()
        found = [
            result
            for result in self.verdict.results
            if not (result.matched or result.skipped)
            and (result.example == failure.example or (result.counts and (result.example.want or result.error)))
        ]
        example = failure.example
        if example is not None and all(result.example != example for result in found):
            found.append(ExampleResult(example, matched=False, got=failure.got or "", error=failure.error))
        return tuple(found)

    @property
    def age(self) -> float:
        """Seconds since the run."""
        return max(time.time() - self.at, 0.0)

    def is_about(self, source: str) -> bool:
        """Return whether the examples ran on the function text `source`."""
        return self.is_of_text and self.lines == _cut(source)

    @property
    def coverage(self) -> Coverage | None:
        """Coverage of the function's lines. None if the examples ran on a candidate."""
        return self.verdict.coverage if self.is_of_text else None


@dataclass(frozen=True, slots=True)
class Placed:
    """Evidence, and the position of its function in the current text."""

    evidence: Evidence
    first: int
    """0-based first line of the function, including decorators."""
    holds: bool
    """True if the text of the function is unchanged since the run."""

    @property
    def last(self) -> int:
        """Last line of the function."""
        return self.first + len(self.evidence.lines) - 1

    @property
    def header(self) -> int:
        """Line of the function's `def`."""
        return self.first + self.evidence.header

    def line_of_example(self, line: int) -> int:
        """Return the current line of an example. `line` is the attribute of the same name of the Example."""
        return self.first + line - self.evidence.examples_from

    def line_of_code(self, number: int) -> int:
        """Return the current 0-based line of code. `number` is a line number in the coverage."""
        return self.first + number - 1 - self.evidence.first


def example_results(outcome: Outcome) -> tuple[dict[str, JSON], ...]:
    """Return the `state`, `got`, `error` and `hint` of each example.

    The state is `passed`, `failed`, `skipped`, or `unknown` if the example did not run. An example that was stopped
    counts as `failed`.
    """
    verdict = outcome.verdict or Verdict(None)
    ran = {result.example: result for result in verdict.results}
    found: list[dict[str, JSON]] = []
    for example in outcome.target.examples:
        result, failure = ran.get(example), verdict.failure
        if result is not None:
            got, error, hint = result.got, result.error, result.hint or None
            found.append({"state": _state(example, result), "got": got, "error": error, "hint": hint})
        elif failure is not None and failure.example == example:
            found.append({"state": "failed", "got": None, "error": None, "hint": failure.message})
        else:
            found.append({"state": _state(example, None), "got": None, "error": None, "hint": None})
    return tuple(found)


def _state(example: Example, result: ExampleResult | None) -> str:
    if result is None or result.skipped:
        return "skipped" if result or example.skipped else "unknown"
    return "passed" if result.matched else "failed"


def evidence_of(
    uri: Uri, outcome: Outcome, answer: Mapping[str, JSON], *, is_inserted: bool, job_id: str | None = None
) -> Evidence | None:
    """Return the evidence in an Outcome, or None if the Outcome has no evidence.

    Args:
        uri: URI of the document.
        outcome: the Outcome of a request. Its target contains the text before the edits.
        answer: the Outcome as JSON, as `--json` prints it.
        is_inserted: True if the edits of the Outcome were made.
        job_id: id of the job, if the Outcome comes from a job.
    """
    if outcome.status not in _FOUND or outcome.verdict is None:
        return None
    if outcome.status is Status.FAILED and outcome.verdict.failure is None:
        return None  # the code passes; only the search for another candidate failed
    target = outcome.target
    lines = Lines(target.text)
    before = lines.line_at(target.definition.start)
    text, start, end = _as_left(target, outcome if is_inserted else None)
    is_as_it_stands = outcome.candidate == current(target)
    return Evidence(
        uri=uri,
        qualname=target.qualname,
        status=outcome.status,
        summary=report.summary(outcome),
        passed=outcome.passed,
        total=outcome.total,
        verdict=outcome.verdict,
        answer=answer,
        examples=example_results(outcome),
        lines=_cut(text[start:end]),
        text=hash(text),
        is_of_text=is_inserted or is_as_it_stands,
        job_id=job_id,
        first=Lines(text).line_at(start) - target.module.first_line,
        examples_from=before,
        header=lines.line_at(target.header.start) - before,
        at=time.time(),
    )


def _as_left(target: Target, inserted: Outcome | None) -> tuple[str, int, int]:
    """Return the text after the edits of `inserted`. Also return the start and end of the function in this text."""
    start, end = target.definition.start, target.definition.end
    edits = inserted.edits if inserted else ()
    longer = [(edit, len(edit.text) - edit.end + edit.start) for edit in edits]
    above = sum(more for edit, more in longer if edit.end <= start)
    inside = sum(more for edit, more in longer if start < edit.end and edit.start <= end)
    return apply_edits(target.text, edits), start + above, end + above + inside


class EvidenceRoom:
    """Stores the latest evidence for each function in all documents."""

    def __init__(self, changed: Callable[[Uri], None] = lambda uri: None) -> None:
        """Create an empty store.

        `changed` is called with the URI of a document after its valid evidence has changed.
        """
        self._changed = changed
        self._kept: dict[tuple[Uri, str], Placed] = {}
        """Evidence by document and qualified name of the function, the oldest first."""
        self._by_uri: dict[Uri, dict[str, Placed]] = {}

    def of(self, uri: Uri) -> list[Placed]:
        """Return the evidence for a document in the order of the functions, including evidence for earlier texts."""
        return sorted(self._by_uri.get(uri, {}).values(), key=lambda placed: placed.first)

    def at(self, uri: Uri, qualname: str) -> Placed | None:
        """Return the evidence for a function, or None."""
        return self._by_uri.get(uri, {}).get(qualname)

    def failing(self, uri: Uri) -> frozenset[str]:
        """Return the qualified names of the functions that fail their examples in the current text."""
        return frozenset(
            each.evidence.qualname
            for each in self._by_uri.get(uri, {}).values()
            if each.holds and each.evidence.is_of_text and each.evidence.failed
        )

    def record(self, evidence: Evidence, lines: Sequence[str] | None) -> None:
        """Store evidence. `lines` are the current lines of the document, or None if the document is not open.

        If the text is unchanged, verified evidence inherits the comparisons of the previous evidence.

        Evidence for a candidate that is not in the file never replaces evidence for the current text. Such evidence is
        deleted when the function changes.
        """
        known = self.at(evidence.uri, evidence.qualname)
        if not evidence.is_of_text and known is not None and known.holds and known.evidence.is_of_text:
            return
        is_same = known is not None and evidence.is_of_text and evidence.lines == known.evidence.lines
        if known is not None and is_same and evidence.status is Status.VERIFIED:
            asked = known.evidence
            kept = {"behaviour": asked.behaviour, "cross_check": asked.cross_check, "question": asked.question}
            evidence = replace(evidence, **kept)  # type: ignore[arg-type]
        placed = Placed(evidence, evidence.first, holds=False)
        if lines is not None:
            is_there = _stands_at(evidence, placed.first, lines)  # usually true, and faster than the search
            placed = replace(placed, holds=True) if is_there else _found_again(placed, lines, _index(lines))
        if not (evidence.is_of_text or placed.holds):
            return
        self._put(placed)
        while len(self._kept) > _MOST:
            self._drop(next(iter(self._kept)))
        self._changed(evidence.uri)

    def revise(self, evidence: Evidence, **changes: Any) -> Evidence | None:
        """Change fields of the stored evidence, and return the new evidence.

        If `evidence` is not about the latest evaluated text, change nothing and return None.
        """
        placed = self.same(evidence)
        if placed is None:
            return None
        revised = replace(placed.evidence, **changes)
        self._put(replace(placed, evidence=revised))
        self._changed(evidence.uri)
        return revised

    def same(self, evidence: Evidence) -> Placed | None:
        """Return the stored evidence for the same function and text as `evidence`, or None."""
        placed = self.at(evidence.uri, evidence.qualname)
        is_same = placed is not None and placed.evidence.is_of_text and placed.evidence.lines == evidence.lines
        return placed if is_same else None

    def asking(self, uri: Uri) -> dict[str, Evidence]:
        """Return the evidence with open questions. The keys are qualified names of functions."""
        found = (
            each for each in self._by_uri.get(uri, {}).values() if each.holds and each.evidence.question is not None
        )
        return {each.evidence.qualname: each.evidence for each in found}

    def forget(self, uri: Uri, qualname: str | None = None) -> int:
        """Delete the evidence for a function, or for a whole document. Return the number of deleted entries."""
        keys = [(uri, name) for name in self._by_uri.get(uri, {}) if qualname in (None, name)]
        for key in keys:
            self._drop(key)
        if keys:
            self._changed(uri)
        return len(keys)

    def dropped(self, job_id: str) -> None:
        """Delete the evidence for a candidate of this job that is not in the file."""
        for key, placed in list(self._kept.items()):
            if placed.evidence.job_id == job_id and not placed.evidence.is_of_text:
                self._drop(key)
                self._changed(key[0])

    def opened(self, uri: Uri, lines: Sequence[str]) -> None:
        """Find the functions that have evidence in a document that was opened.

        Evidence for any other text is deleted, because a text that was not saved does not return.
        """
        self._replaced(uri, lines)
        for name in [name for name, placed in self._by_uri.get(uri, {}).items() if not placed.holds]:
            self._drop((uri, name))

    def closed(self, uri: Uri) -> None:
        """Stop showing the evidence for a document that was closed."""
        self._update(uri, (replace(placed, holds=False) for placed in self.of(uri)))

    def changed(self, uri: Uri, changes: Iterable[types.TextDocumentContentChangeEvent], lines: Sequence[str]) -> None:
        """Update evidence after changes of a document: its position, and if it is still valid.

        `lines` are the new lines of the document.
        """
        if uri not in self._by_uri:
            return
        placed, touched, fresh = self.of(uri), set[str](), list[range]()
        for change in changes:
            if not isinstance(change, types.TextDocumentContentChangePartial):
                self._replaced(uri, lines)
                return
            start, end = sorted((change.range.start, change.range.end), key=lambda at: (at.line, at.character))
            added = len(Lines(change.text)) - 1
            fresh.append(range(start.line, start.line + added + 1))
            touched.update(each.evidence.qualname for each in _touched(placed, start.line, end.line))
            placed = [_moved(each, start, end, added) for each in placed]
        self._update(
            uri, (_compared(each, lines, fresh) if each.evidence.qualname in touched else each for each in placed)
        )

    def _replaced(self, uri: Uri, lines: Sequence[str]) -> None:
        """Find the functions again after the whole text of a document was replaced."""
        if uri in self._by_uri:
            index = _index(lines)
            self._update(uri, [_found_again(placed, lines, index) for placed in self.of(uri)])

    def _update(self, uri: Uri, fresh: Iterable[Placed]) -> None:
        held = {name for name, placed in self._by_uri.get(uri, {}).items() if placed.holds}
        for placed in fresh:
            key = uri, placed.evidence.qualname
            if placed.holds or placed.evidence.is_of_text:
                self._kept[key] = self._by_uri[uri][key[1]] = placed
            else:  # evidence for a candidate is useless after a change of the function
                self._drop(key)
        if held != {name for name, placed in self._by_uri.get(uri, {}).items() if placed.holds}:
            self._changed(uri)

    def _put(self, placed: Placed) -> None:
        key = placed.evidence.uri, placed.evidence.qualname
        self._kept.pop(key, None)
        self._kept[key] = self._by_uri.setdefault(key[0], {})[key[1]] = placed

    def _drop(self, key: tuple[Uri, str]) -> None:
        del self._kept[key], self._by_uri[key[0]][key[1]]
        if not self._by_uri[key[0]]:
            del self._by_uri[key[0]]


def _touched(placed: Sequence[Placed], start: int, end: int) -> list[Placed]:
    """Return the evidence of functions that may differ after a change of the lines `start` to `end`.

    This includes the function right below, which may have a new decorator, and the function above, which may have a
    longer body.
    """
    nearest = max((each.first for each in placed if each.first < start), default=0)
    return [
        each
        for each in placed
        if each.first <= end + 1 and (each.last >= start or (each.first >= nearest and each.evidence.qualname != PAGE))
    ]


def _moved(placed: Placed, start: types.Position, end: types.Position, added: int) -> Placed:
    """Update the first line of a function after a change that begins above the function."""
    if end.line < placed.first or (end.line == placed.first and not end.character):
        more = added - (end.line - start.line)
        return replace(placed, first=placed.first + more) if more else placed
    return replace(placed, first=start.line) if start.line < placed.first else placed


def _compared(placed: Placed, lines: Sequence[str], fresh: Sequence[range]) -> Placed:
    """Check if the text of the function is unchanged, and find its position.

    Some editors replace more text than they change, so the function may begin in one of the `fresh` lines. Other
    editors report an inserted function late, so the function may also begin where the evidence says.
    """
    evidence = placed.evidence
    places = dict.fromkeys(chain((placed.first, evidence.first), *fresh))
    same = (line for line in places if not _differs(evidence, line, lines, fresh))
    first = next((line for line in same if _stands_at(evidence, line, lines)), None)
    if first is None:
        return replace(placed, holds=False) if placed.holds else placed
    return placed if placed.holds and first == placed.first else replace(placed, first=first, holds=True)


def _differs(evidence: Evidence, first: int, lines: Sequence[str], fresh: Sequence[range]) -> bool:
    """Return whether the function cannot begin at `first`, because a changed line is different.

    This fast check makes a full comparison unnecessary at most keystrokes.
    """
    own = evidence.lines
    inside = (number for each in fresh for number in each if first <= number < min(first + len(own), len(lines)))
    return any(lines[number].rstrip(_LINE_END) != own[number - first] for number in inside)


def _found_again(placed: Placed, lines: Sequence[str], index: dict[str, list[int]]) -> Placed:
    """Find the function in `lines`. If its text occurs several times, choose the nearest occurrence."""
    evidence = placed.evidence
    places = index.get(evidence.lines[0], ())
    same = [line for line in places if _stands_at(evidence, line, lines)]
    if not same:
        return replace(placed, holds=False)
    return replace(placed, first=min(same, key=lambda line: abs(line - placed.first)), holds=True)


def _index(lines: Sequence[str]) -> dict[str, list[int]]:
    index: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        index.setdefault(line.rstrip(_LINE_END), []).append(number)
    return index


def _stands_at(evidence: Evidence, first: int, lines: Sequence[str]) -> bool:
    """Return whether the unchanged function begins at line `first`."""
    own, end = evidence.lines, first + len(evidence.lines)
    if first < 0 or end > len(lines):
        return False
    if any(line.rstrip(_LINE_END) != mine for line, mine in zip(_between(lines, first, end), own, strict=True)):
        return False
    if evidence.qualname == PAGE:
        return True  # pages and module docstrings have neither decorators nor a body
    if first and lines[first - 1].lstrip().startswith("@"):
        return False  # a decorator was added
    depth = indent_width(indent_of(own[0]))
    after = next((line for line in _between(lines, end, len(lines)) if line.strip()), "")
    return not after or indent_width(indent_of(after)) <= depth  # an indented line below belongs to the function's body


def _between(lines: Sequence[str], start: int, end: int) -> Iterator[str]:
    return (lines[number] for number in range(start, end))


def _cut(text: str) -> tuple[str, ...]:
    lines = Lines(text)
    return tuple(lines[number].rstrip(_LINE_END) for number in range(len(lines)))
