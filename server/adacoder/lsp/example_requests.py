"""Handle requests of clients such as test explorers: list and run the examples of a document, and return the evidence.

Docstrings and examples have ids. A client gets the ids from `adacoder/examples` and sends them back in other requests.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from lsprotocol import types

from adacoder import report
from adacoder.aside import aside
from adacoder.domain import JSON, AdaCoderError, Example, Outcome, Target, TargetError
from adacoder.lsp.from_proto import CheckParams, DebugParams, DocumentParams, reads
from adacoder.lsp.showing.evidence import example_results
from adacoder.lsp.snapshot import Snapshot, Uri, encoding_of, take
from adacoder.lsp.to_proto import range_of_lines, range_of_span
from adacoder.project import Project, is_page
from adacoder.pytext import Lines, error_line
from adacoder.source.locate import Documented, out_of_reach
from adacoder.source.notebook import alone
from adacoder.task import Task

if TYPE_CHECKING:
    from adacoder.checks import Checks
    from adacoder.lsp.language_server import AdaCoderServer
    from adacoder.lsp.showing.evidence import Evidence
    from adacoder.source.text import PositionEncoding

_AT_A_TIME = 16
"""Maximum number of docstrings that one request checks at the same time."""
_AHEAD = 128
"""Maximum number of docstrings that one request checks at the same time, if `_MANY` or more docstrings are saved."""
_MANY = 24
"""From this number of docstrings on, it saves time to import a saved module only once."""

_GONE = "There is no such example any more: ask for the document's examples again."


@dataclass(frozen=True, slots=True)
class Listed:
    """A docstring of a document, with the id that clients use."""

    id: str
    one: Documented


@reads(DocumentParams)
async def on_examples(ls: AdaCoderServer, params: DocumentParams) -> dict[str, Any]:
    """Handle `adacoder/examples` `{textDocument: {uri}}`: return the docstrings and examples of a document.

    Each example has its position and its last known state.
    """
    answer = await _about(ls, params.uri, lambda snapshot: _items(snapshot, ls))
    if answer["reason"] is None:
        snapshot = take(ls.workspace, params.uri)
        if is_page(snapshot.path):
            answer["reason"] = next((item["reason"] for item in answer["items"]), None)
            return answer
        # Start the user's interpreter only if AdaCoder's own parser fails, because clients send this request at each
        # keystroke.
        if await aside(error_line, snapshot.code) is not None:
            answer["reason"] = await _unparsed(ls, snapshot)
    return answer


@reads(DocumentParams)
async def on_evidence(ls: AdaCoderServer, params: DocumentParams) -> dict[str, Any]:
    """Handle `adacoder/evidence` `{textDocument: {uri}}`: return the latest evidence for a document's functions."""
    return await _about(ls, params.uri, lambda snapshot: _evidence(snapshot, ls))


@reads(CheckParams)
async def on_check(ls: AdaCoderServer, params: CheckParams) -> dict[str, Any]:
    """Handle `adacoder/check`: run examples of the current text.

    The parameters are `{textDocument: {uri} | ids, coverage?, partialResultToken?}`. With `partialResultToken`, each
    result is sent as soon as it is known. Otherwise the answer contains all results.
    """
    results: list[JSON] = []
    reasons: list[str] = []

    def keep(result: dict[str, JSON]) -> None:
        if params.partial_result_token is None:
            results.append(result)
        else:
            value = {"version": report.VERSION, "results": [result]}
            ls.progress(types.ProgressParams(params.partial_result_token, value))

    async with _CheckRequest(ls, params, keep) as run:
        for uri, ids in _asked(params).items():
            try:
                await run.check(uri, ids)
            except TargetError as error:
                reasons.append(str(error))
    return {"results": results, "reason": " ".join(reasons) or None}


@reads(DebugParams)
async def on_debug(ls: AdaCoderServer, params: DebugParams) -> dict[str, Any]:
    """Handle `adacoder/debug` `{id}`: return the data with which a debugger can run a docstring."""
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
    """Return the docstring with the id `name`.

    Raises:
        TargetError: the docstring does not exist, or doctest cannot read the examples.
    """
    one = next((each.one for each in _listed(snapshot) if each.id == name), None)
    if one is None:
        raise TargetError(_GONE)
    if one.unreadable is not None:
        raise one.unreadable
    return one.target


class _CheckRequest:
    """One `adacoder/check` request. It checks several docstrings at the same time."""

    def __init__(self, ls: AdaCoderServer, params: CheckParams, keep: Callable[[dict[str, JSON]], None]) -> None:
        self._ls = ls
        self._params = params
        self._keep = keep
        self._places = asyncio.Semaphore(_AT_A_TIME)
        self._ahead = asyncio.Semaphore(_AHEAD)
        self._tasks = asyncio.TaskGroup()
        self._saved: Checks | None = None
        """Processes that import each saved module once, for this request only.

        A file may change after this request, so later requests do not share the processes.
        """

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        try:
            await self._tasks.__aexit__(kind, error, trace)
        finally:
            if self._saved is not None:
                await self._saved.close()

    async def check(self, uri: Uri, ids: set[str] | None) -> None:
        """Start to check the docstrings of a document.

        `ids` selects docstrings. None selects all.

        Raises:
            TargetError: the document cannot be read or parsed.
        """
        ls, covers = self._ls, self._params.coverage
        snapshot = take(ls.workspace, uri)
        listed = await asyncio.to_thread(_listed, snapshot)
        wanted = [each for each in listed if ids is None or not ids.isdisjoint(_ids(each))]
        gone = sorted((ids or set()) - {name for each in listed for name in _ids(each)})
        unparsed = None if wanted else await _unparsed(ls, snapshot)
        for name in gone:
            self._keep(_unknown(name, unparsed))
        if unparsed is not None:
            raise TargetError(unparsed)
        if not wanted:
            return
        checks: Checks
        checks, settings = await ls.service_for(snapshot)
        places, project, once = self._places, snapshot.project, False
        if len(wanted) >= _MANY and not is_page(snapshot.path) and await asyncio.to_thread(snapshot.is_saved):
            checks, places, project, once = self._of_saved(), self._ahead, Project(snapshot.folder), True
        for each in wanted:
            await places.acquire()
            task = Task(each.one.target, settings, project)
            check = partial(checks.check, task, each.one.unreadable, once=once, covers=covers)
            self._tasks.create_task(self._check(each, snapshot, check)).add_done_callback(lambda _: places.release())

    async def _check(self, each: Listed, snapshot: Snapshot, check: Callable[[], Awaitable[Outcome]]) -> None:
        ls = self._ls
        outcome = await check()
        answer = report.to_json(outcome, snapshot.folder, encoding_of(ls.workspace))
        if answer["coverage"] and not await asyncio.to_thread(_is_still, snapshot, ls):
            answer["coverage"] = None  # the text has changed, so the line numbers are wrong
        ls.state.shown.found(snapshot, outcome, is_inserted=False, is_asked=True)
        self._keep({"id": each.id, **answer, "results": _results(each, example_results(outcome))})

    def _of_saved(self) -> Checks:
        if self._saved is None:
            from adacoder.checks import Checks  # slow, but the Service has already imported this module

            self._saved = Checks()
        return self._saved


async def _unparsed(ls: AdaCoderServer, snapshot: Snapshot) -> str | None:
    """Return the reason why the user's interpreter cannot parse a document, or None.

    Also return None if the interpreter may not be run, or if the document is a page of documentation.
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
    try:
        return take(ls.workspace, snapshot.uri).text == snapshot.text
    except AdaCoderError:
        return False


def _results(each: Listed, found: Sequence[Mapping[str, JSON]]) -> list[JSON]:
    """Return the results of a docstring's examples in order. Each result has the id of its example."""
    return [{"id": name, **result} for name, result in zip(_example_ids(each), found, strict=True)]


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
    """Return the items of one document as an answer.

    `items` is called in a thread, because it parses the document.
    """
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
    """Describe each docstring, in order. If its examples cannot run, the description contains the reason."""
    encoding, lines = encoding_of(ls.workspace), Lines(snapshot.text)
    found: list[tuple[int, dict[str, JSON]]] = []
    for each in _listed(snapshot):
        target = alone(each.one.target)
        placed = ls.state.shown.evidence.at(snapshot.uri, target.qualname)
        known = placed.evidence.examples if placed is not None and placed.evidence.is_about(target.source) else ()
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
                    "state": known[index]["state"] if index < len(known) else "unknown",
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
    """Return the evidence for each docstring.

    `isCurrent` is false if the docstring's function has changed since the run.
    """
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
        "results": _results(each, last.examples) if last.is_about(each.one.target.source) else [],
    }


def _listed(snapshot: Snapshot) -> list[Listed]:
    """Return the docstrings of a document.

    If several docstrings have the same name, their ids differ by a suffix such as `~2`.
    """
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
    """Return the ids that select this docstring: the docstring's own id, and the ids of its examples.

    The id of an example selects the whole docstring, because the example depends on earlier examples.
    """
    return [each.id, *_example_ids(each)]


def _asked(params: CheckParams) -> dict[Uri, set[str] | None]:
    """Return the requested ids by document. None selects all docstrings of a document."""
    if params.ids is None:
        return {} if params.uri is None else {params.uri: None}
    found: defaultdict[Uri, set[str]] = defaultdict(set)
    for name in params.ids:
        found[_uri_of(name)].add(name)
    return {**found}


def _uri_of(name: str) -> Uri:
    return Uri(name.rpartition("#")[0])


def _range(example: Example, lines: Lines, encoding: PositionEncoding) -> JSON:
    """Return the range of the statement in an example, as JSON."""
    count = 1 if example.informal else example.source.count("\n")
    found = range_of_lines(lines, example.line, min(example.line + count, len(lines)) - 1, encoding)
    return {
        "start": {"line": found.start.line, "character": found.start.character},
        "end": {"line": found.end.line, "character": found.end.character},
    }
