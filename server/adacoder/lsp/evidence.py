"""What was last proven of each function, and in which text: the one room that all read who show evidence.

A piece of evidence belongs to a function's own text. At each change of a document only lines are counted and compared,
so that it is known without reading anything where the function now stands, and whether that text is still there. A text
that comes back, as by undo, has its evidence again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lsprotocol import types

from adacoder import report
from adacoder.domain import JSON, Coverage, Example, ExampleResult, Failure, Outcome, Status, Verdict
from adacoder.pytext import Lines, indent_width
from adacoder.source.text import apply_edits
from adacoder.task import current

if TYPE_CHECKING:
    from adacoder.domain import Target

_MOST = 5_000
"""Functions of which evidence is kept; those that were proven longest ago are forgotten first."""
_FAILED = frozenset({Status.PARTIAL, Status.FAILED, Status.DENIED, Status.ERROR})
_FOUND = frozenset({Status.VERIFIED, Status.UNVERIFIED}) | _FAILED
"""Outcomes that say something of a function if they have a Verdict."""
_LINE_END = "\r\n"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found of a function."""

    uri: str
    """The document, without escapes."""
    qualname: str
    status: Status
    summary: str
    """How it ended, in a line."""
    passed: int
    total: int
    verdict: Verdict
    answer: Mapping[str, JSON]
    """As `--json` has it."""
    states: tuple[str, ...]
    """The states of the function's examples, in order."""
    lines: tuple[str, ...]
    """The function's own text in the document, without terminators."""
    text: int
    """Fingerprint of the whole text it was found in."""
    is_of_text: bool
    """True if the examples ran on this very text; False: on a candidate that is not in the document."""
    job_id: str | None
    """The job whose result it is about."""
    first: int
    """The first line of the function when this was found."""
    examples_from: int
    """The first line of the function in the text that the lines of its examples are counted in."""
    header: int
    """Lines from its first to that of its `def`."""
    at: float
    """Time, as of `time.time()`."""

    @property
    def failed(self) -> bool:
        """True if an example failed, or none could run."""
        return self.status in _FAILED

    @property
    def failure(self) -> Failure | None:
        """The first failure."""
        return self.verdict.failure if self.failed else None

    @property
    def failing(self) -> tuple[ExampleResult, ...]:
        """The results of the examples that failed, the first failure among them if it is one of an example."""
        if (failure := self.failure) is None:
            return ()
        found = [
            result
            for result in self.verdict.results
            if not result.matched
            and (result.example == failure.example or (result.counts and (result.example.want or result.error)))
        ]
        example = failure.example
        if example is not None and all(result.example != example for result in found):
            found.append(ExampleResult(example, matched=False, got=failure.got or "", error=failure.error))
        return tuple(found)

    @property
    def age(self) -> float:
        """Seconds since it was found."""
        return max(time.time() - self.at, 0.0)

    def is_about(self, source: str) -> bool:
        """True if `source` is the function's own text that this was found in."""
        return self.is_of_text and self.lines == _cut(source)

    @property
    def coverage(self) -> Coverage | None:
        """What no example reached of this very text."""
        return self.verdict.coverage if self.is_of_text else None


@dataclass(frozen=True, slots=True)
class Placed:
    """Evidence, and where its function stands in the text as it is now."""

    evidence: Evidence
    first: int
    """First line of the function, decorators included, 0-based."""
    holds: bool
    """True if the function's own text is the one that this was found in."""

    @property
    def last(self) -> int:
        """Last line of the function."""
        return self.first + len(self.evidence.lines) - 1

    @property
    def header(self) -> int:
        """The line of its `def`, below its decorators."""
        return self.first + self.evidence.header

    def line_of_example(self, line: int) -> int:
        """The line at which an example now stands, from the `line` of its Example."""
        return self.first + line - self.evidence.examples_from

    def line_of_code(self, number: int) -> int:
        """The line at which code now stands, 0-based, from its number in the coverage."""
        return self.first + number - 1 - self.evidence.first


def states(outcome: Outcome) -> tuple[str, ...]:
    """The state of each of the target's examples: `passed`, `failed`, `skipped`, or `unknown` where it did not run."""
    ran = {} if outcome.verdict is None else {result.example: result.matched for result in outcome.verdict.results}
    return tuple(_state(example, ran.get(example)) for example in outcome.target.examples)


def _state(example: Example, matched: bool | None) -> str:
    if matched is None:
        return "skipped" if example.skipped else "unknown"
    return "passed" if matched else "failed"


def evidence_of(
    uri: str, outcome: Outcome, answer: Mapping[str, JSON], *, is_inserted: bool, job_id: str | None = None
) -> Evidence | None:
    """The evidence in an Outcome; None if it has none.

    Args:
        uri: the document.
        outcome: the end of a request. Its target has the text that it holds for.
        answer: the Outcome as `--json` has it.
        is_inserted: True if its edits were made.
        job_id: the job whose result it is.
    """
    if outcome.status not in _FOUND or outcome.verdict is None:
        return None
    if outcome.status is Status.FAILED and outcome.verdict.failure is None:
        return None  # it passes, and failed in being another candidate
    target = outcome.target
    lines = Lines(target.text)
    before = lines.line_at(target.definition.start)
    text, start, end = _as_left(target, outcome if is_inserted else None)
    is_as_it_stands = outcome.candidate == current(target)
    return Evidence(
        uri=unquote(uri),
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
        first=Lines(text).line_at(start),
        examples_from=before,
        header=lines.line_at(target.header.start) - before,
        at=time.time(),
    )


def _as_left(target: Target, inserted: Outcome | None) -> tuple[str, int, int]:
    """The text with the edits made, and where the function begins and ends in it."""
    start, end = target.definition.start, target.definition.end
    edits = inserted.edits if inserted else ()
    longer = [(edit, len(edit.text) - edit.end + edit.start) for edit in edits]
    above = sum(more for edit, more in longer if edit.end <= start)
    inside = sum(more for edit, more in longer if start < edit.end and edit.start <= end)
    return apply_edits(target.text, edits), start + above, end + above + inside


class EvidenceRoom:
    """The evidence of all documents, the latest of each function."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Placed] = {}
        """By document and function, that which was found last being the last."""
        self._by_uri: dict[str, dict[str, Placed]] = {}
        self._listeners: list[Callable[[str], None]] = []

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the URI of a document, without escapes, when what holds of it has changed."""
        self._listeners.append(listener)

    def of(self, uri: str) -> list[Placed]:
        """All evidence of a document, in the order of its functions; that of older texts, too."""
        return sorted(self._by_uri.get(unquote(uri), {}).values(), key=lambda placed: placed.first)

    def at(self, uri: str, qualname: str) -> Placed | None:
        """The evidence of a function."""
        return self._by_uri.get(unquote(uri), {}).get(qualname)

    def failing(self, uri: str) -> frozenset[str]:
        """The functions of a document whose examples fail on its text as it is."""
        return frozenset(
            each.evidence.qualname
            for each in self._by_uri.get(unquote(uri), {}).values()
            if each.holds and each.evidence.is_of_text and each.evidence.failed
        )

    def record(self, evidence: Evidence, lines: Sequence[str] | None) -> None:
        """Take in what was found; `lines` are those of its document as it is now, None if it is not open.

        Evidence for the current text is not overwritten by evidence for a candidate that was not inserted. Evidence for
        such a candidate is kept only while the text is open as it was when the candidate was found.
        """
        known = self.at(evidence.uri, evidence.qualname)
        if not evidence.is_of_text and known is not None and known.holds and known.evidence.is_of_text:
            return
        placed = Placed(evidence, evidence.first, holds=False)
        placed = placed if lines is None else _found_again(placed, lines, _index(lines))
        if not (evidence.is_of_text or placed.holds):
            return
        self._put(placed)
        while len(self._kept) > _MOST:
            self._drop(next(iter(self._kept)))
        self._tell(evidence.uri)

    def forget(self, uri: str, qualname: str | None = None) -> int:
        """Forget what was found of a function, or of all of a document; returns of how many."""
        uri = unquote(uri)
        keys = [(uri, name) for name in self._by_uri.get(uri, {}) if qualname in (None, name)]
        for key in keys:
            self._drop(key)
        if keys:
            self._tell(uri)
        return len(keys)

    def dropped(self, job_id: str) -> None:
        """Forget what was found of a job's candidate that is not in the document."""
        for key, placed in list(self._kept.items()):
            if placed.evidence.job_id == job_id and not placed.evidence.is_of_text:
                self._drop(key)
                self._tell(key[0])

    def opened(self, uri: str, lines: Sequence[str]) -> None:
        """Look for the functions of a document that was opened. Evidence for a text that it does not have is forgotten:
        what was not saved does not come back."""
        uri = unquote(uri)
        self._replaced(uri, lines)
        for name in [name for name, placed in self._by_uri.get(uri, {}).items() if not placed.holds]:
            self._drop((uri, name))

    def closed(self, uri: str) -> None:
        """Show nothing any more of a document that was closed."""
        uri = unquote(uri)
        self._update(uri, (replace(placed, holds=False) for placed in self.of(uri)))

    def changed(self, uri: str, changes: Iterable[types.TextDocumentContentChangeEvent], lines: Sequence[str]) -> None:
        """Follow the changes of a document, whose lines they have become."""
        uri = unquote(uri)
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

    def _replaced(self, uri: str, lines: Sequence[str]) -> None:
        """Look for the functions of a document in a text that is new as a whole."""
        if uri in self._by_uri:
            index = _index(lines)
            self._update(uri, [_found_again(placed, lines, index) for placed in self.of(uri)])

    def _update(self, uri: str, fresh: Iterable[Placed]) -> None:
        held = {name for name, placed in self._by_uri.get(uri, {}).items() if placed.holds}
        for placed in fresh:
            key = uri, placed.evidence.qualname
            if placed.holds or placed.evidence.is_of_text:
                self._kept[key] = self._by_uri[uri][key[1]] = placed
            else:  # a candidate for a text that is gone
                self._drop(key)
        if held != {name for name, placed in self._by_uri.get(uri, {}).items() if placed.holds}:
            self._tell(uri)

    def _put(self, placed: Placed) -> None:
        key = placed.evidence.uri, placed.evidence.qualname
        self._kept.pop(key, None)
        self._kept[key] = self._by_uri.setdefault(key[0], {})[key[1]] = placed

    def _drop(self, key: tuple[str, str]) -> None:
        del self._kept[key], self._by_uri[key[0]][key[1]]
        if not self._by_uri[key[0]]:
            del self._by_uri[key[0]]

    def _tell(self, uri: str) -> None:
        for listener in self._listeners:
            listener(uri)


def _touched(placed: Sequence[Placed], start: int, end: int) -> list[Placed]:
    """What a change of the lines `start` to `end` may have made another function of.

    That is also what stands right below them, which may be decorated now, and what is nearest above, which may go on.
    """
    nearest = max((each.first for each in placed if each.first < start), default=0)
    return [each for each in placed if each.first <= end + 1 and (each.last >= start or each.first >= nearest)]


def _moved(placed: Placed, start: types.Position, end: types.Position, added: int) -> Placed:
    """Move with the lines below a change; what it begins in begins with it."""
    if end.line < placed.first or (end.line == placed.first and not end.character):
        more = added - (end.line - start.line)
        return replace(placed, first=placed.first + more) if more else placed
    return replace(placed, first=start.line) if start.line < placed.first else placed


def _compared(placed: Placed, lines: Sequence[str], fresh: Iterable[range]) -> Placed:
    """Compare the text with the evidence's.

    It may stand in `fresh` lines, by a change that replaced more than it made different; or where it was to come by an
    edit of ours, which is told of only now.
    """
    evidence = placed.evidence
    places = chain((placed.first, evidence.first), *fresh)
    first = next((line for line in places if _stands_at(evidence, line, lines)), None)
    if first is None:
        return replace(placed, holds=False) if placed.holds else placed
    return placed if placed.holds and first == placed.first else replace(placed, first=first, holds=True)


def _found_again(placed: Placed, lines: Sequence[str], index: dict[str, list[int]]) -> Placed:
    """Where the function's text stands in `lines`; of several the nearest."""
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
    """True if the function, and no more than it, stands at line `first`."""
    own, end = evidence.lines, first + len(evidence.lines)
    if first < 0 or end > len(lines):
        return False
    if any(line.rstrip(_LINE_END) != mine for line, mine in zip(_between(lines, first, end), own, strict=True)):
        return False
    if first and lines[first - 1].lstrip().startswith("@"):
        return False  # it is decorated now
    depth = _depth(own[0])
    after = next((line for line in _between(lines, end, len(lines)) if line.strip()), "")
    return not after or _depth(after) <= depth  # else its body goes on


def _between(lines: Sequence[str], start: int, end: int) -> Iterator[str]:
    return (lines[number] for number in range(start, end))


def _depth(line: str) -> int:
    return indent_width(line[: len(line) - len(line.lstrip(" \t\f"))])


def _cut(text: str) -> tuple[str, ...]:
    lines = Lines(text)
    return tuple(lines[number].rstrip(_LINE_END) for number in range(len(lines)))
