"""Handlers of requests for clients such as test explorers.

The requests list a document's examples, run the examples, and return the latest evidence. The results of a run are
reported as they arrive. A client gets the ids of docstrings and examples from `adacoder/examples`, and need not
understand the ids.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from adacoder import report
from adacoder.aside import aside
from adacoder.domain import JSON, AdaCoderError, Example, Outcome, Target, TargetError
from adacoder.lsp.from_proto import CheckParams, DebugParams, DocumentParams, reads
from adacoder.lsp.showing.evidence import states
from adacoder.lsp.snapshot import Snapshot, Uri, encoding_of, take
from adacoder.lsp.to_proto import range_of_lines, range_of_span
from adacoder.project import is_page
from adacoder.pytext import Lines, error_line
from adacoder.source.locate import Documented, out_of_reach
from adacoder.source.notebook import alone
from adacoder.task import Task

if TYPE_CHECKING:
    from adacoder.lsp.language_server import AdaCoderServer
    from adacoder.lsp.showing.evidence import Evidence
    from adacoder.source.text import PositionEncoding

_AT_A_TIME = 16
"""Maximum number of docstrings in progress for one request. The evaluator may run fewer of them at a time."""

_GONE = "There is no such example any more: ask for the document's examples again."


@dataclass(frozen=True, slots=True)
class Listed:
    """A docstring of a document, with the id that clients use."""

    id: str
    one: Documented


@reads(DocumentParams)
async def on_examples(ls: AdaCoderServer, params: DocumentParams) -> dict[str, Any]:
    """`adacoder/examples` `{textDocument: {uri}}`: return the docstrings of a document and their examples.

    Each example comes with its place and last known state.
    """
    answer = await _about(ls, params.uri, lambda snapshot: _items(snapshot, ls))
    if answer["reason"] is None:
        snapshot = take(ls.workspace, params.uri)
        if is_page(snapshot.path):
            answer["reason"] = next((item["reason"] for item in answer["items"]), None)
            return answer
        # Clients send this request at each keystroke, so start the user's interpreter only if our own parser fails.
        if await aside(error_line, snapshot.code) is not None:
            answer["reason"] = await _unparsed(ls, snapshot)
    return answer


@reads(DocumentParams)
async def on_evidence(ls: AdaCoderServer, params: DocumentParams) -> dict[str, Any]:
    """`adacoder/evidence` `{textDocument: {uri}}`: return the latest evidence of a document's functions."""
    return await _about(ls, params.uri, lambda snapshot: _evidence(snapshot, ls))


@reads(CheckParams)
async def on_check(ls: AdaCoderServer, params: CheckParams) -> dict[str, Any]:
    """`adacoder/check` `{textDocument: {uri} | ids, coverage?, partialResultToken?}`: run examples on the current text.

    With `partialResultToken`, each result is sent as it arrives, and the answer contains no results. If the client
    cancels the request, the run ends.
    """
    results: list[JSON] = []
    reasons: list[str] = []

    def keep(result: dict[str, JSON]) -> None:
        if params.partial_result_token is None:
            results.append(result)
        else:
            value = {"version": report.VERSION, "results": [result]}
            ls.progress(types.ProgressParams(params.partial_result_token, value))

    for uri in _uris(params):
        try:
            await _check_document(ls, uri, params, keep)
        except TargetError as error:
            reasons.append(str(error))
    return {"results": results, "reason": " ".join(reasons) or None}


@reads(DebugParams)
async def on_debug(ls: AdaCoderServer, params: DebugParams) -> dict[str, Any]:
    """`adacoder/debug` `{id}`: return the data with which a debugger runs a docstring. Nothing runs."""
    try:
        snapshot = take(ls.workspace, _uri_of(params.id))
        if not snapshot.is_file:
            raise TargetError("A debugger runs files, and this text is not a file: save it as a .py file first.")
        target = await asyncio.to_thread(_target_of, params.id, snapshot)
        service, settings = await ls.service_for(snapshot)
        interpreter = await service.interpreter(Task(target, settings, snapshot.project))
    except AdaCoderError as error:
        return {"reason": str(error)}
    module = target.module
    return {
        "interpreter": str(interpreter.path),
        "folder": str(snapshot.folder),
        "root": str(module.root),
        "path": str(module.path),
        "module": None if is_page(module.path) else module.name,
        "qualifiedName": target.qualname,
        "setup": settings.doctest_setup,
        "env": list(settings.env),
        "options": list(settings.doctest_options),
        "reason": None,
    }


def _target_of(name: str, snapshot: Snapshot) -> Target:
    """Return the docstring with an id.

    Raises:
        TargetError: the docstring does not exist, or doctest cannot read its examples.
    """
    one = next((each.one for each in _listed(snapshot) if each.id == name), None)
    if one is None:
        raise TargetError(_GONE)
    if one.unreadable is not None:
        raise one.unreadable
    return one.target


async def _check_document(
    ls: AdaCoderServer, uri: Uri, params: CheckParams, keep: Callable[[dict[str, JSON]], None]
) -> None:
    """Check the requested docstrings of one document, several at a time."""
    snapshot = take(ls.workspace, uri)
    listed = await asyncio.to_thread(_listed, snapshot)
    asked = frozenset(params.ids or ())
    wanted = [each for each in listed if params.ids is None or not asked.isdisjoint(_ids(each))]
    missing = asked - {name for each in listed for name in _ids(each)}
    gone = [name for name in sorted(missing) if _uri_of(name) == uri]
    unparsed = None if wanted else await _unparsed(ls, snapshot)
    for name in gone:
        keep(_unknown(name, unparsed))
    if unparsed is not None:
        raise TargetError(unparsed)
    if not wanted:
        return
    service, settings = await ls.service_for(snapshot)
    places = asyncio.Semaphore(_AT_A_TIME)

    async def run(each: Listed) -> None:
        async with places:
            outcome = await service.check(
                Task(each.one.target, settings, snapshot.project), each.one.unreadable, covers=params.coverage
            )
        answer = report.to_json(outcome, snapshot.folder, encoding_of(ls.workspace))
        if not await asyncio.to_thread(_is_still, snapshot, ls):
            answer["coverage"] = None  # the line numbers refer to an earlier text
        ls.state.shown.found(snapshot, outcome, is_inserted=False)
        keep({"id": each.id, **answer, "results": _results(each, outcome)})

    async with asyncio.TaskGroup() as group:
        for each in wanted:
            group.create_task(run(each))


async def _unparsed(ls: AdaCoderServer, snapshot: Snapshot) -> str | None:
    """Return the reason why the user's interpreter cannot parse a document.

    The result is None if it can, if it may not run, or if the document is a page.
    """
    if is_page(snapshot.path):
        return None
    service, settings = await ls.service_for(snapshot)
    try:
        found = await service.unparsed({snapshot.path: snapshot.code}, settings, snapshot.project)
    except AdaCoderError:
        return None
    return found.get(snapshot.path)


def _is_still(snapshot: Snapshot, ls: AdaCoderServer) -> bool:
    """Return whether the document still has the text of `snapshot`."""
    try:
        return take(ls.workspace, snapshot.uri).text == snapshot.text
    except AdaCoderError:
        return False


def _results(each: Listed, outcome: Outcome) -> list[JSON]:
    """Return the result of each example in the docstring, in order."""
    ran = {} if outcome.verdict is None else {result.example: result for result in outcome.verdict.results}
    found: list[JSON] = []
    for name, example, state in zip(_example_ids(each), outcome.target.examples, states(outcome), strict=True):
        result = ran.get(example)
        got, error, hint = (None, None, "") if result is None else (result.got, result.error, result.hint)
        found.append({"id": name, "state": state, "got": got, "error": error, "hint": hint or None})
    return found


def _unknown(name: str, unparsed: str | None) -> dict[str, JSON]:
    reason = unparsed or _GONE
    return {
        "id": name,
        "version": report.VERSION,
        "status": "error",
        "reason": reason,
        "summary": reason,
        "coverage": None,
        "results": [],
    }


async def _about(
    ls: AdaCoderServer, uri: Uri, items: Callable[[Snapshot], Sequence[dict[str, JSON]]]
) -> dict[str, Any]:
    """Answer a request about one document. The document is read in a thread."""
    try:
        snapshot = take(ls.workspace, uri)
        found = await asyncio.to_thread(items, snapshot)
    except AdaCoderError as error:
        return {"textDocument": {"uri": uri, "version": None}, "items": [], "reason": str(error)}
    return {
        "textDocument": {"uri": uri, "version": snapshot.version},
        "positionEncoding": encoding_of(ls.workspace),
        "items": found,
        "reason": None,
    }


def _items(snapshot: Snapshot, ls: AdaCoderServer) -> list[dict[str, JSON]]:
    """Return an item for each docstring, in order. If the examples cannot run, the item has the reason."""
    encoding, lines = encoding_of(ls.workspace), Lines(snapshot.text)
    found: list[tuple[int, dict[str, JSON]]] = []
    for each in _listed(snapshot):
        target = alone(each.one.target)
        placed = ls.state.shown.evidence.at(snapshot.uri, target.qualname)
        known = placed.evidence.states if placed is not None and placed.evidence.is_about(target.source) else ()
        item: dict[str, JSON] = {
            "id": each.id,
            "qualifiedName": target.qualname,
            "kind": _kind(target),
            "range": range_of_span(target.definition, snapshot.text, encoding),
            "isStub": target.is_stub,
            "examples": [
                {
                    "id": name,
                    "range": _range(example, lines, encoding),
                    "source": example.source,
                    "want": example.want,
                    "state": known[index] if index < len(known) else "unknown",
                }
                for index, (name, example) in enumerate(zip(_example_ids(each), target.examples, strict=True))
            ],
            "reason": None if each.one.unreadable is None else str(each.one.unreadable),
        }
        found.append((target.definition.start, item))
    for name, kind, place, reason in () if is_page(snapshot.path) else out_of_reach(snapshot.code):
        item = {
            "id": None,
            "qualifiedName": name,
            "kind": kind,
            "range": range_of_span(place, snapshot.text, encoding),
            "isStub": False,
            "examples": [],
            "reason": reason,
        }
        found.append((place.start, item))
    return [item for _, item in sorted(found, key=lambda pair: pair[0])]


def _kind(target: Target) -> str:
    if is_page(target.module.path):
        return "page"
    return "function" if target.is_function else "class" if target.signature else "module"


def _evidence(snapshot: Snapshot, ls: AdaCoderServer) -> list[dict[str, JSON]]:
    """Return the evidence for the document's docstrings. `isCurrent` is false if the text has changed since the run."""
    found: list[dict[str, JSON]] = []
    for each in _listed(snapshot):
        target = each.one.target
        placed = ls.state.shown.evidence.at(snapshot.uri, target.qualname)
        if placed is not None and placed.evidence.is_of_text:
            found.append(_evidence_item(each, placed.evidence))
    return found


def _evidence_item(each: Listed, last: Evidence) -> dict[str, JSON]:
    return {
        "id": each.id,
        "qualifiedName": each.one.target.qualname,
        "isCurrent": last.is_about(each.one.target.source),
        "age": round(last.age, 1),
        "evidence": dict(last.answer),
    }


def _listed(snapshot: Snapshot) -> list[Listed]:
    """Return the docstrings of a document. If a name repeats, the later ids end in a number, such as `~2`."""
    count: Counter[str] = Counter()
    found: list[Listed] = []
    for one in snapshot.documented():
        name = one.target.qualname.replace("#", "%23")
        count[name] += 1
        number = f"~{count[name]}" if count[name] > 1 else ""
        found.append(Listed(f"{snapshot.uri}#{name}{number}", one))
    return found


def _example_ids(each: Listed) -> list[str]:
    return [f"{each.id}/{number}" for number, _ in enumerate(each.one.target.examples, 1)]


def _ids(each: Listed) -> list[str]:
    """Return the ids that select this docstring: its own id, and the ids of its examples.

    An example builds on the earlier examples, so the id of an example selects them all.
    """
    return [each.id, *_example_ids(each)]


def _uris(params: CheckParams) -> list[Uri]:
    """Return the URIs of the documents to check."""
    if params.ids is not None:
        return [*dict.fromkeys(map(_uri_of, params.ids))]
    return [] if params.uri is None else [params.uri]


def _uri_of(name: str) -> Uri:
    return Uri(name.rpartition("#")[0])


def _range(example: Example, lines: Lines, encoding: PositionEncoding) -> JSON:
    """Return the range of an example's statement, without leading white space, as JSON."""
    count = 1 if example.informal else example.source.count("\n")
    found = range_of_lines(lines, example.line, min(example.line + count, len(lines)) - 1, encoding)
    return {
        "start": {"line": found.start.line, "character": found.start.character},
        "end": {"line": found.end.line, "character": found.end.character},
    }
