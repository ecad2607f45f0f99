"""Views of a document's evidence: code lenses, hovers and inlay hints.

Lenses above functions also show available actions, running jobs and kept results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability

from adacoder import report
from adacoder.domain import JSON
from adacoder.lsp.identifiers import COMMAND
from adacoder.lsp.showing.diagnostics import place_of
from adacoder.lsp.to_proto import end_of, range_of_lines

if TYPE_CHECKING:
    from adacoder.lsp.jobs.jobs import Job
    from adacoder.lsp.jobs.results import KeptResult
    from adacoder.lsp.showing.evidence import Placed
    from adacoder.source.skim import Skimmed
    from adacoder.source.text import PositionEncoding


def code_lenses(
    functions: Iterable[Skimmed],
    evidence: Iterable[Placed],
    running: Iterable[Job],
    kept: Sequence[KeptResult],
    uri: str,
    lines: Sequence[str],
    encoding: PositionEncoding,
) -> Iterator[types.CodeLens]:
    """Yield the lenses of a document: for running jobs, stubs, evidence and kept results."""
    jobs = {job.target.qualname: job for job in running}
    known = {placed.evidence.qualname: placed for placed in evidence if placed.holds}
    for function in functions:
        name = function.qualname
        if name not in jobs:
            yield from _of_kept(function, [each for each in kept if each.qualname == name], lines, encoding)
        found = _lens(function, jobs.get(name), known.get(name))
        if found is not None and function.line < len(lines):
            title, command = found
            place = {"uri": uri, "qualifiedName": name}
            arguments: dict[str, JSON] = {"jobId": jobs[name].id} if command == "cancel" else {**place}
            if command == "journal":
                arguments |= {"format": "markdown", "show": True}
            yield _at(function, title, command, arguments, lines, encoding)


def _of_kept(
    function: Skimmed, kept: Iterable[KeptResult], lines: Sequence[str], encoding: PositionEncoding
) -> Iterator[types.CodeLens]:
    """The lenses of a function's kept results. Showing a result comes first, since it was kept to be read."""
    for result in kept if function.line < len(lines) else ():
        titles = {"difference": f"Show {result.title}", "insert": "Insert", "discard": "Discard"}
        for command, title in titles.items():
            yield _at(function, title, command, {"jobId": result.job_id}, lines, encoding)


def _at(
    function: Skimmed,
    title: str,
    command: str,
    arguments: dict[str, JSON],
    lines: Sequence[str],
    encoding: PositionEncoding,
) -> types.CodeLens:
    return types.CodeLens(
        range=range_of_lines(lines, function.line, function.line, encoding),
        command=types.Command(title=title, command=COMMAND + command, arguments=[arguments]),
    )


def _lens(function: Skimmed, job: Job | None, placed: Placed | None) -> tuple[str, str] | None:
    """The title and command of a function's lens."""
    if job is not None:
        return f"{f'round {job.round}/{job.most_rounds}' if job.round else 'starting'} · Cancel", "cancel"
    if function.is_stub:
        tried = placed is not None and placed.evidence.failed
        score = f"✗ {_score(placed)} · " if tried and placed is not None else ""
        return f"{score}Generate", "generate"
    if placed is None:
        return None
    evidence = placed.evidence
    if not evidence.is_of_text:
        return None
    if evidence.failed:
        return f"✗ {_score(placed)} · Fix", "fix"
    if not evidence.passed:
        return None
    unreached = report.brief_unreached(evidence.coverage, placed.first - evidence.first)
    done = report.brief_score(evidence.passed, evidence.total)
    return " · ".join(filter(None, [f"✓ {done}", unreached])), "journal"


def _score(placed: Placed) -> str:
    return f"{placed.evidence.passed}/{placed.evidence.total}"


_SHOWN = 3
"""Maximum failed examples in a hover."""


def hover(placed: Placed, text: str, client: types.ClientCapabilities) -> types.Hover:
    """The hover of a function in `text`."""
    told = "\n\n".join(_paragraphs(placed, is_same_file=hash(text) == placed.evidence.text))
    formats = get_capability(client, "text_document.hover.content_format", None) or ()
    kind = types.MarkupKind.Markdown if types.MarkupKind.Markdown in formats else types.MarkupKind.PlainText
    return types.Hover(types.MarkupContent(kind, told))


def _paragraphs(placed: Placed, *, is_same_file: bool) -> Iterator[str]:
    evidence = placed.evidence
    mark = "✗" if evidence.failed else "✓" if evidence.passed and evidence.is_of_text else "–"
    yield f"{mark} {report.inline(evidence.summary)}"
    yield f"{report.age(evidence.age).capitalize()}, {_which_text(placed, is_same_file)}."
    if placed.holds:
        for result in evidence.failing[:_SHOWN]:
            yield report.fenced(report.as_doctest(result.example, result.got, result.error), "text")


def _which_text(placed: Placed, is_same_file: bool) -> str:
    if not placed.holds:
        return "for another text of this function: check it again"
    if not placed.evidence.is_of_text:
        return "of a candidate that is not in the file"
    return "for the current text" if is_same_file else "for the current function; the file has since changed elsewhere"


_LONGEST = 80
"""Maximum characters of an output in the line. The tooltip shows all of it."""


def inlay_hints(
    evidence: Iterable[Placed], within: types.Range, lines: Sequence[str], encoding: PositionEncoding
) -> Iterator[types.InlayHint]:
    """Yield the hints for the lines in `within`."""
    for placed in evidence:
        if not (placed.holds and placed.evidence.is_of_text):
            continue
        for result in placed.evidence.failing:
            _, line = place_of(result.example, placed, lines)
            came = " ".join((result.error or result.got).split())
            if came and line != placed.header and within.start.line <= line <= within.end.line:
                shown = came if len(came) <= _LONGEST else f"{came[:_LONGEST]}…"
                yield types.InlayHint(
                    position=end_of(lines, line, encoding),
                    label=f"{'raised' if result.error else 'gave'} {shown}",
                    tooltip=report.as_doctest(result.example, result.got, result.error),
                    padding_left=True,
                )
