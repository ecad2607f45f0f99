"""Store the latest evidence of each function: the results of its examples, and the text on which they ran.

All displays of evidence read from here. Evidence belongs to a function's own text. When a document changes, this module
only counts and compares lines. Lines are enough to find out where the function is now, and whether its text has
changed. If an earlier text comes back, for example by an undo, its evidence holds again.

Evidence is not stored in `Results`, because it describes a text and not the end of a job. Checks on save and test
explorers find evidence without a job. Evidence can exist longer than the result of its job, and a change of the text
can end it.
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
"""Maximum number of functions with evidence. The oldest evidence is forgotten first."""
_FAILED = frozenset({Status.PARTIAL, Status.FAILED, Status.DENIED, Status.ERROR})
_FOUND = frozenset({Status.VERIFIED, Status.UNVERIFIED}) | _FAILED
"""An Outcome with such a status counts as evidence if it has a Verdict."""
_LINE_END = "\r\n"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The result of a run of a function's examples."""

    uri: Uri
    """URI of the document."""
    qualname: str
    status: Status
    summary: str
    """The Outcome in one line."""
    passed: int
    total: int
    verdict: Verdict
    answer: Mapping[str, JSON]
    """The Outcome as `--json` prints it."""
    states: tuple[str, ...]
    """The states of the function's examples, in order."""
    lines: tuple[str, ...]
    """The lines of the function in the document, without terminators."""
    text: int
    """Hash of the document's whole text at the time of the run."""
    is_of_text: bool
    """True if the examples ran on exactly this text. False if they ran on a candidate that is not in the document."""
    job_id: str | None
    """Id of the job whose result the evidence describes."""
    first: int
    """First line of the function at the time of the run."""
    examples_from: int
    """First line of the function in the module's text, to which the line numbers of its examples refer."""
    header: int
    """Number of lines before the function's `def`, such as lines of decorators."""
    at: float
    """Time of the run, from `time.time()`."""
    behaviour: BehaviourDiff | None = None
    """The comparison with the previous version of the function, if the function was compared."""
    cross_check: CrossCheck | None = None
    """The comparison with a second program, if the function was compared."""
    question: Difference | None = None
    """The difference in `cross_check` about which the user is asked."""

    @property
    def tests(self) -> tuple[int, int]:
        """The number of the project's tests that passed, and the number that count."""
        return self.verdict.tests_score

    @property
    def failed(self) -> bool:
        """True if an example failed, or if no example could run."""
        return self.status in _FAILED

    @property
    def failure(self) -> Failure | None:
        """The first failure."""
        return self.verdict.failure if self.failed else None

    @property
    def failing(self) -> tuple[ExampleResult, ...]:
        """The results of the failed examples. If an example caused the first failure, its result is always included."""
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
        """Return whether this evidence is for the function text `source`."""
        return self.is_of_text and self.lines == _cut(source)

    @property
    def coverage(self) -> Coverage | None:
        """Coverage of exactly this text; None if the examples ran on a candidate."""
        return self.verdict.coverage if self.is_of_text else None


@dataclass(frozen=True, slots=True)
class Placed:
    """Evidence and the place of its function in the current text."""

    evidence: Evidence
    first: int
    """0-based first line of the function, including its decorators."""
    holds: bool
    """True if the function still has the text to which the evidence belongs."""

    @property
    def last(self) -> int:
        """Last line of the function."""
        return self.first + len(self.evidence.lines) - 1

    @property
    def header(self) -> int:
        """The line of the function's `def`, below its decorators."""
        return self.first + self.evidence.header

    def line_of_example(self, line: int) -> int:
        """Return the current line of an example, given the `line` of its Example."""
        return self.first + line - self.evidence.examples_from

    def line_of_code(self, number: int) -> int:
        """Return the current 0-based line of code, given its number in the coverage."""
        return self.first + number - 1 - self.evidence.first


def states(outcome: Outcome) -> tuple[str, ...]:
    """Return the state of each example of the target: `passed`, `failed`, `skipped`, or `unknown` if it did not run."""
    ran = {} if outcome.verdict is None else {result.example: result for result in outcome.verdict.results}
    return tuple(_state(example, ran.get(example)) for example in outcome.target.examples)


def _state(example: Example, result: ExampleResult | None) -> str:
    if result is None or result.skipped:
        return "skipped" if result or example.skipped else "unknown"
    return "passed" if result.matched else "failed"


def evidence_of(
    uri: Uri, outcome: Outcome, answer: Mapping[str, JSON], *, is_inserted: bool, job_id: str | None = None
) -> Evidence | None:
    """Return the evidence in an Outcome; None if the Outcome has no evidence.

    Args:
        uri: the document.
        outcome: the Outcome of a request. Its target contains the text to which it applies.
        answer: the Outcome as `--json` prints it.
        is_inserted: True if the edits of the Outcome were made.
        job_id: the id of the job that had this Outcome.
    """
    if outcome.status not in _FOUND or outcome.verdict is None:
        return None
    if outcome.status is Status.FAILED and outcome.verdict.failure is None:
        return None  # the function's code passes, and only the search for another candidate failed
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
        states=states(outcome),
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
    """Return the text after the edits, and the start and the end of the function in this text."""
    start, end = target.definition.start, target.definition.end
    edits = inserted.edits if inserted else ()
    longer = [(edit, len(edit.text) - edit.end + edit.start) for edit in edits]
    above = sum(more for edit, more in longer if edit.end <= start)
    inside = sum(more for edit, more in longer if start < edit.end and edit.start <= end)
    return apply_edits(target.text, edits), start + above, end + above + inside


class EvidenceRoom:
    """The store of the latest evidence of each function, for all documents of the client."""

    def __init__(self, changed: Callable[[Uri], None] = lambda uri: None) -> None:
        """`changed` is called with the URI of a document after the evidence that holds for its text has changed."""
        self._changed = changed
        self._kept: dict[tuple[Uri, str], Placed] = {}
        """Evidence by document and qualified name, in the order in which it was recorded."""
        self._by_uri: dict[Uri, dict[str, Placed]] = {}

    def of(self, uri: Uri) -> list[Placed]:
        """Return all evidence of a document in the order of its functions. Evidence for older texts is included."""
        return sorted(self._by_uri.get(uri, {}).values(), key=lambda placed: placed.first)

    def at(self, uri: Uri, qualname: str) -> Placed | None:
        """Return the evidence of a function."""
        return self._by_uri.get(uri, {}).get(qualname)

    def failing(self, uri: Uri) -> frozenset[str]:
        """Return the qualified names of a document's functions whose examples fail on the current text."""
        return frozenset(
            each.evidence.qualname
            for each in self._by_uri.get(uri, {}).values()
            if each.holds and each.evidence.is_of_text and each.evidence.failed
        )

    def record(self, evidence: Evidence, lines: Sequence[str] | None) -> None:
        """Store evidence. `lines` are the current lines of its document; None if the document is not open.

        If new evidence for the same text is verified, it keeps the comparisons of the old evidence.

        Evidence for a candidate that was not inserted does not overwrite evidence for the current text. Evidence for
        such a candidate is kept only while the document is open and the text of the function is still the same.
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
        placed = placed if lines is None else _found_again(placed, lines, _index(lines))
        if not (evidence.is_of_text or placed.holds):
            return
        self._put(placed)
        while len(self._kept) > _MOST:
            self._drop(next(iter(self._kept)))
        self._changed(evidence.uri)

    def revise(self, evidence: Evidence, **changes: Any) -> Evidence | None:
        """Change fields of `evidence` and return the new evidence.

        Change nothing and return None if the function meanwhile has evidence for another text.
        """
        placed = self.same(evidence)
        if placed is None:
            return None
        revised = replace(placed.evidence, **changes)
        self._put(replace(placed, evidence=revised))
        self._changed(evidence.uri)
        return revised

    def same(self, evidence: Evidence) -> Placed | None:
        """Return the latest evidence of the function of `evidence`; None if the latest is for another text."""
        placed = self.at(evidence.uri, evidence.qualname)
        is_same = placed is not None and placed.evidence.is_of_text and placed.evidence.lines == evidence.lines
        return placed if is_same else None

    def asking(self, uri: Uri) -> dict[str, Evidence]:
        """Return the evidence that has an open question about the current text, by qualified name."""
        found = (
            each for each in self._by_uri.get(uri, {}).values() if each.holds and each.evidence.question is not None
        )
        return {each.evidence.qualname: each.evidence for each in found}

    def forget(self, uri: Uri, qualname: str | None = None) -> int:
        """Forget the evidence of a function, or of a whole document. Return the number of functions with evidence."""
        keys = [(uri, name) for name in self._by_uri.get(uri, {}) if qualname in (None, name)]
        for key in keys:
            self._drop(key)
        if keys:
            self._changed(uri)
        return len(keys)

    def dropped(self, job_id: str) -> None:
        """Forget the evidence for a job's candidate, unless the candidate is in the document."""
        for key, placed in list(self._kept.items()):
            if placed.evidence.job_id == job_id and not placed.evidence.is_of_text:
                self._drop(key)
                self._changed(key[0])

    def opened(self, uri: Uri, lines: Sequence[str]) -> None:
        """Find the functions with evidence in a document that was opened.

        Evidence is forgotten if its text is not in the document, because unsaved text does not come back.
        """
        self._replaced(uri, lines)
        for name in [name for name, placed in self._by_uri.get(uri, {}).items() if not placed.holds]:
            self._drop((uri, name))

    def closed(self, uri: Uri) -> None:
        """Stop showing evidence for a document that was closed."""
        self._update(uri, (replace(placed, holds=False) for placed in self.of(uri)))

    def changed(self, uri: Uri, changes: Iterable[types.TextDocumentContentChangeEvent], lines: Sequence[str]) -> None:
        """Update the evidence after changes of a document. `lines` are the lines of the document after the changes."""
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
        """Find the functions with evidence after the whole text of a document was replaced."""
        if uri in self._by_uri:
            index = _index(lines)
            self._update(uri, [_found_again(placed, lines, index) for placed in self.of(uri)])

    def _update(self, uri: Uri, fresh: Iterable[Placed]) -> None:
        held = {name for name, placed in self._by_uri.get(uri, {}).items() if placed.holds}
        for placed in fresh:
            key = uri, placed.evidence.qualname
            if placed.holds or placed.evidence.is_of_text:
                self._kept[key] = self._by_uri[uri][key[1]] = placed
            else:  # the evidence was for a candidate, and the text of the function has changed
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
    """Return the evidence of functions whose text may be different after a change of the lines `start` to `end`.

    A function right below may have a decorator now. The body of the nearest function above may have become longer. A
    page or a module's docstring has neither.
    """
    nearest = max((each.first for each in placed if each.first < start), default=0)
    return [
        each
        for each in placed
        if each.first <= end + 1 and (each.last >= start or (each.first >= nearest and each.evidence.qualname != PAGE))
    ]


def _moved(placed: Placed, start: types.Position, end: types.Position, added: int) -> Placed:
    """Update the first line of a function after a change above it, or after a change that includes its first line."""
    if end.line < placed.first or (end.line == placed.first and not end.character):
        more = added - (end.line - start.line)
        return replace(placed, first=placed.first + more) if more else placed
    return replace(placed, first=start.line) if start.line < placed.first else placed


def _compared(placed: Placed, lines: Sequence[str], fresh: Sequence[range]) -> Placed:
    """Find out whether the function still has the text of its evidence, and where the function is.

    A change may replace more text than it alters, so the function may begin in the `fresh` lines. If the editor reports
    an edit of AdaCoder only now, the function is at the place where the edit has put it.
    """
    evidence = placed.evidence
    places = dict.fromkeys(chain((placed.first, evidence.first), *fresh))
    same = (line for line in places if not _differs(evidence, line, lines, fresh))
    first = next((line for line in same if _stands_at(evidence, line, lines)), None)
    if first is None:
        return replace(placed, holds=False) if placed.holds else placed
    return placed if placed.holds and first == placed.first else replace(placed, first=first, holds=True)


def _differs(evidence: Evidence, first: int, lines: Sequence[str], fresh: Sequence[range]) -> bool:
    """Return whether the function cannot begin at line `first`, because a `fresh` line differs.

    After a keystroke, this saves comparing all lines of a long page.
    """
    own = evidence.lines
    inside = (number for each in fresh for number in each if first <= number < min(first + len(own), len(lines)))
    return any(lines[number].rstrip(_LINE_END) != own[number - first] for number in inside)


def _found_again(placed: Placed, lines: Sequence[str], index: dict[str, list[int]]) -> Placed:
    """Find the text of the function in `lines`. If the text occurs several times, take the nearest place."""
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
    """Return whether exactly this function begins at line `first`."""
    own, end = evidence.lines, first + len(evidence.lines)
    if first < 0 or end > len(lines):
        return False
    if any(line.rstrip(_LINE_END) != mine for line, mine in zip(_between(lines, first, end), own, strict=True)):
        return False
    if evidence.qualname == PAGE:
        return True  # a page or a module's docstring has neither decorators nor a body
    if first and lines[first - 1].lstrip().startswith("@"):
        return False  # the function has a decorator now
    depth = indent_width(indent_of(own[0]))
    after = next((line for line in _between(lines, end, len(lines)) if line.strip()), "")
    return not after or indent_width(indent_of(after)) <= depth  # otherwise the body of the function is longer now


def _between(lines: Sequence[str], start: int, end: int) -> Iterator[str]:
    return (lines[number] for number in range(start, end))


def _cut(text: str) -> tuple[str, ...]:
    lines = Lines(text)
    return tuple(lines[number].rstrip(_LINE_END) for number in range(len(lines)))
