"""Handlers for displayed evidence: diagnostics, lenses, hovers, hints, and the journal as a document."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from adacoder.domain import Target, TargetError
from adacoder.lsp.hover import hover
from adacoder.lsp.inlay_hints import inlay_hints
from adacoder.lsp.lenses import code_lenses
from adacoder.lsp.mirror import encoding_of
from adacoder.lsp.snapshot import FunctionPlace, Snapshot, find, take
from adacoder.lsp.work import MOMENT
from adacoder.pytext import Lines

if TYPE_CHECKING:
    from adacoder.lsp.kept import KeptResult
    from adacoder.lsp.server import AdaCoderServer
    from adacoder.source.skim import Skimmed


def on_open(ls: AdaCoderServer, params: types.DidOpenTextDocumentParams) -> None:
    """`textDocument/didOpen`: show known evidence of the document again if it holds."""
    uri = params.text_document.uri
    ls.work.restore()
    if (document := ls.work.shown.document(uri)) is not None:
        ls.work.shown.evidence.opened(uri, document.lines)


def on_change(ls: AdaCoderServer, params: types.DidChangeTextDocumentParams) -> None:
    """`textDocument/didChange`: move evidence with its functions, or note that it no longer holds."""
    uri = params.text_document.uri
    if (document := ls.work.shown.document(uri)) is not None:
        ls.work.shown.evidence.changed(uri, params.content_changes, document.lines)


def on_close(ls: AdaCoderServer, params: types.DidCloseTextDocumentParams) -> None:
    """`textDocument/didClose`: stop showing evidence."""
    ls.work.shown.closed(params.text_document.uri)


def on_save(ls: AdaCoderServer, params: types.DidSaveTextDocumentParams) -> None:
    """`textDocument/didSave`: check the file if the settings ask for it."""
    ls.work.saving.saved(params.text_document.uri)


async def on_code_lens(ls: AdaCoderServer, params: types.CodeLensParams) -> list[types.CodeLens] | None:
    """`textDocument/codeLens`. The text is read in a thread, and only if it is new."""
    uri = params.text_document.uri
    settings = await ls.work.shown.settings(uri)
    await ls.work.restored(MOMENT)
    document = ls.work.shown.document(uri)
    if document is None or not settings.code_lens or not uri.endswith(".py"):
        return None
    snapshot = take(ls.workspace, uri)
    async with ls.work.reading:
        functions = await asyncio.to_thread(_skimmed, document.source)
        kept = await asyncio.to_thread(_fitting, snapshot, ls.work.results.of_file(snapshot.path))
    evidence, jobs = ls.work.shown.evidence.of(uri), ls.work.jobs.of(uri)
    return list(code_lenses(functions, evidence, jobs, kept, uri, document.lines, encoding_of(ls.workspace)))


def _fitting(snapshot: Snapshot, kept: Sequence[KeptResult]) -> list[KeptResult]:
    """The results that still fit their functions."""
    found = []
    for result in kept:
        try:
            target = find(snapshot, FunctionPlace(snapshot.uri, qualname=result.qualname))
        except TargetError:
            continue
        if result.fits(target):
            found.append(result)
    return found


def _skimmed(text: str) -> tuple[Skimmed, ...]:
    from adacoder.source.skim import skim

    return skim(text)


async def on_hover(ls: AdaCoderServer, params: types.HoverParams) -> types.Hover | None:
    """`textDocument/hover` on a function's header or docstring."""
    uri = params.text_document.uri
    if not ls.work.shown.evidence.of(uri):
        return None
    try:
        snapshot = take(ls.workspace, uri)
    except TargetError:
        return None
    target = await asyncio.to_thread(_described_at, snapshot, params.position.line)
    placed = None if target is None else ls.work.shown.evidence.at(uri, target.qualname)
    return None if placed is None else hover(placed, snapshot.text, ls.client_capabilities)


def _described_at(snapshot: Snapshot, line: int) -> Target | None:
    """The function whose header or docstring includes `line`."""
    from adacoder.source.locate import locate

    try:
        target = locate(snapshot.text, snapshot.path, snapshot.folder, line=line)
    except TargetError:
        return None
    lines = Lines(target.text)
    return target if line <= lines.line_at(target.docstring_span.end) else None


async def on_inlay_hint(ls: AdaCoderServer, params: types.InlayHintParams) -> list[types.InlayHint] | None:
    """`textDocument/inlayHint`."""
    uri = params.text_document.uri
    settings = await ls.work.shown.settings(uri)
    document = ls.work.shown.document(uri)
    if document is None or not settings.inlay_hints:
        return None
    evidence = ls.work.shown.evidence.of(uri)
    return list(inlay_hints(evidence, params.range, document.lines, encoding_of(ls.workspace)))


async def on_clear(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
    """`.clear` `{uri, qualifiedName?}`: forget the evidence of a function, or of a whole document."""
    members = argument if isinstance(argument, Mapping) else {}
    uri, name = members.get("uri"), members.get("qualifiedName")
    cleared = ls.work.shown.forget(uri, name if isinstance(name, str) else None) if isinstance(uri, str) else 0
    return {"cleared": cleared}


async def on_journal(ls: AdaCoderServer, argument: Any) -> dict[str, Any] | None:
    """`.journal` `{jobId? | uri?, qualifiedName?, format?, show?}`: the journal of the latest job that fits.

    By default it is an answer as from `adacoder/run`. With the format `markdown` it is `{jobId, markdown}`, and `show`
    opens it in the editor.
    """
    members = argument if isinstance(argument, Mapping) else {}
    job_id, uri, name = (_text(members.get(key)) for key in ("jobId", "uri", "qualifiedName"))
    ended = ls.work.results.ended(job_id or ls.work.results.last(uri, name))
    if ended is None:
        return None
    if members.get("format") != "markdown":
        return {**ended.answer}
    markdown = await asyncio.to_thread(ended.markdown)
    if members.get("show") is True:
        await ls.work.documents.show("The journal", f"journal-{ended.id[:8]}.md", markdown)
    return {"jobId": ended.id, "markdown": markdown}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
