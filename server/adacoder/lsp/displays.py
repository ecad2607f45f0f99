"""Handlers for displayed evidence: diagnostics, lenses, hovers, hints, and the journal as a document."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from adacoder.domain import Target, TargetError
from adacoder.lsp.connection.mirror import encoding_of
from adacoder.lsp.from_proto import ClearParams, FunctionPlace, JournalParams
from adacoder.lsp.requests import on_document, reads
from adacoder.lsp.showing.views import code_lenses, hover, inlay_hints
from adacoder.lsp.snapshot import Snapshot, find
from adacoder.lsp.uri import Uri
from adacoder.pytext import Lines

if TYPE_CHECKING:
    from adacoder.lsp.jobs.results import KeptResult
    from adacoder.lsp.language_server import AdaCoderServer
    from adacoder.source.skim import Skimmed


def on_open(ls: AdaCoderServer, params: types.DidOpenTextDocumentParams) -> None:
    """`textDocument/didOpen`: show known evidence of the document again if it holds."""
    uri = Uri(params.text_document.uri)
    ls.state.restore()
    if (document := ls.state.shown.document(uri)) is not None:
        ls.state.shown.evidence.opened(uri, document.lines)


def on_change(ls: AdaCoderServer, params: types.DidChangeTextDocumentParams) -> None:
    """`textDocument/didChange`: move evidence with its functions, or note that it no longer holds."""
    uri = Uri(params.text_document.uri)
    if (document := ls.state.shown.document(uri)) is not None:
        ls.state.shown.evidence.changed(uri, params.content_changes, document.lines)


def on_close(ls: AdaCoderServer, params: types.DidCloseTextDocumentParams) -> None:
    """`textDocument/didClose`: stop showing evidence."""
    ls.state.shown.closed(Uri(params.text_document.uri))


def on_save(ls: AdaCoderServer, params: types.DidSaveTextDocumentParams) -> None:
    """`textDocument/didSave`: check the file if the settings ask for it."""
    ls.state.saving.saved(Uri(params.text_document.uri))


async def _has_lenses(ls: AdaCoderServer, uri: Uri) -> bool:
    settings = await ls.state.shown.settings(uri)
    return settings.code_lens and uri.endswith(".py") and ls.state.shown.document(uri) is not None


@on_document(restored=True, wanted=_has_lenses)
async def on_code_lens(
    ls: AdaCoderServer, params: types.CodeLensParams, snapshot: Snapshot
) -> list[types.CodeLens] | None:
    """`textDocument/codeLens`. The text is read only if it is new."""
    document, uri = ls.state.shown.document(snapshot.uri), snapshot.uri
    if document is None:  # it was closed meanwhile
        return None
    functions = await ls.state.read(_skimmed, snapshot.text)
    kept = await ls.state.read(_fitting, snapshot, ls.state.results.of_file(snapshot.path))
    evidence, jobs = ls.state.shown.evidence.of(uri), ls.state.jobs.of(uri)
    return list(code_lenses(functions, evidence, jobs, kept, uri, document.lines, encoding_of(ls.workspace)))


def _fitting(snapshot: Snapshot, kept: Sequence[KeptResult]) -> list[KeptResult]:
    """The results that still fit their functions."""
    found = []
    for result in kept:
        try:
            target = find(snapshot, FunctionPlace(uri=snapshot.uri, qualname=result.qualname))
        except TargetError:
            continue
        if result.fits(target):
            found.append(result)
    return found


def _skimmed(text: str) -> tuple[Skimmed, ...]:
    from adacoder.source.skim import skim

    return skim(text)


async def _has_evidence(ls: AdaCoderServer, uri: Uri) -> bool:
    return bool(ls.state.shown.evidence.of(uri))


@on_document(wanted=_has_evidence)
async def on_hover(ls: AdaCoderServer, params: types.HoverParams, snapshot: Snapshot) -> types.Hover | None:
    """`textDocument/hover` on a function's header or docstring."""
    target = await ls.state.read(_described_at, snapshot, params.position.line)
    placed = None if target is None else ls.state.shown.evidence.at(snapshot.uri, target.qualname)
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
    """`textDocument/inlayHint`. It needs no snapshot: the evidence has its places."""
    uri = Uri(params.text_document.uri)
    settings = await ls.state.shown.settings(uri)
    document = ls.state.shown.document(uri)
    if document is None or not settings.inlay_hints:
        return None
    evidence = ls.state.shown.evidence.of(uri)
    return list(inlay_hints(evidence, params.range, document.lines, encoding_of(ls.workspace)))


@reads(ClearParams)
async def on_clear(ls: AdaCoderServer, params: ClearParams) -> dict[str, Any]:
    """`.clear` `{uri, qualifiedName?}`: forget the evidence of a function, or of a whole document."""
    return {"cleared": ls.state.shown.forget(params.uri, params.qualname) if params.uri else 0}


@reads(JournalParams)
async def on_journal(ls: AdaCoderServer, params: JournalParams) -> dict[str, Any] | None:
    """`.journal` `{jobId? | uri?, qualifiedName?, format?, show?}`: the journal of the latest job that fits.

    By default it is an answer as from `adacoder/run`. With the format `markdown` it is `{jobId, markdown}`, and `show`
    opens it in the editor.
    """
    ended = ls.state.results.ended(params.job_id or ls.state.results.last(params.uri, params.qualname))
    if ended is None:
        return None
    if params.format != "markdown":
        return {**ended.answer}
    markdown = await asyncio.to_thread(ended.markdown)
    if params.show:
        await ls.state.documents.show("The journal", f"journal-{ended.id[:8]}.md", markdown)
    return {"jobId": ended.id, "markdown": markdown}
