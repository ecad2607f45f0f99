"""Handle requests for everything that is shown next to the text: code actions, lenses, hovers, hints and journals.

A lens is a line above a function. It shows, for example, the result of a check or the progress of a job.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeAlias

from lsprotocol import types
from pygls.capabilities import get_capability

from adacoder import report
from adacoder.domain import JSON, PAGE, Target, TargetError
from adacoder.lsp.features import COMMAND
from adacoder.lsp.from_proto import ClearParams, Handler, JournalParams, reads
from adacoder.lsp.language_server import MOMENT
from adacoder.lsp.showing.actions import FileState, code_actions, explained
from adacoder.lsp.showing.completions import completions
from adacoder.lsp.showing.diagnostics import place_of
from adacoder.lsp.snapshot import Snapshot, Uri, encoding_of, is_file, take
from adacoder.lsp.to_proto import end_of, range_of_lines
from adacoder.messages import counted
from adacoder.project import PAGES, is_page
from adacoder.pytext import Lines, line_number
from adacoder.report.differences import brief, compared, outputs

if TYPE_CHECKING:
    from adacoder.lsp.jobs.job import Job
    from adacoder.lsp.jobs.results import KeptResult
    from adacoder.lsp.language_server import AdaCoderServer
    from adacoder.lsp.showing.evidence import Placed
    from adacoder.source.skim import Skimmed
    from adacoder.source.text import PositionEncoding

_SHOWN = 3
"""Maximum number of failed examples in a hover."""
_SHORT, _CALL = 20, 32
"""Maximum lengths of an output and of a call in a lens.

With these limits, the lenses of a function fit into a window of 98 characters.
"""
_LONGEST = 80
"""Maximum length of an output in a hint. A tooltip shows the whole output."""

Wanted: TypeAlias = "Callable[[AdaCoderServer, Uri], Awaitable[bool]]"
OnDocument: TypeAlias = "Callable[[AdaCoderServer, Any, Snapshot], Awaitable[Any]]"


def on_document(
    *,
    restored: bool = False,
    wanted: Wanted | None = None,
    refused: Callable[[AdaCoderServer, Any, str], Any] = lambda ls, params, reason: None,
) -> Callable[[OnDocument], Handler[AdaCoderServer, Any]]:
    """Decorate the handler of a request about one document.

    If `wanted` rejects the document, the answer is null. If the document cannot be read, the answer is `refused(server,
    parameters, reason)`. With `restored`, the handler waits until kept results are loaded.
    """

    def decorate(handler: OnDocument) -> Handler[AdaCoderServer, Any]:
        @wraps(handler)
        async def answer(ls: AdaCoderServer, params: Any) -> Any:
            uri = Uri(params.text_document.uri)
            if wanted is not None and not await wanted(ls, uri):
                return None
            if restored:
                await ls.state.restored(MOMENT)
            try:
                snapshot = take(ls.workspace, uri)
            except TargetError as error:
                return refused(ls, params, str(error))
            return await handler(ls, params, snapshot)

        return answer

    return decorate


def on_open(ls: AdaCoderServer, params: types.DidOpenTextDocumentParams) -> None:
    """Handle `textDocument/didOpen`: show stored evidence for the document."""
    _opened(ls, params.text_document.uri)


def _opened(ls: AdaCoderServer, document_uri: str) -> None:
    uri = Uri(document_uri)
    ls.state.restore()
    if (document := ls.state.shown.document(uri)) is not None:
        ls.state.shown.evidence.opened(uri, document.lines)
        ls.state.opened(uri, document.source)


def on_change(ls: AdaCoderServer, params: types.DidChangeTextDocumentParams) -> None:
    """Handle `textDocument/didChange`: update the positions and validity of evidence."""
    _changed(ls, params.text_document.uri, params.content_changes)


def _changed(ls: AdaCoderServer, document_uri: str, changes: Sequence[types.TextDocumentContentChangeEvent]) -> None:
    uri = Uri(document_uri)
    ls.state.tests_ahead.changed()
    if (document := ls.state.shown.document(uri)) is not None:
        ls.state.shown.evidence.changed(uri, changes, document.lines)


def on_close(ls: AdaCoderServer, params: types.DidCloseTextDocumentParams) -> None:
    """Handle `textDocument/didClose`: stop showing evidence."""
    ls.state.shown.closed(Uri(params.text_document.uri))


def on_save(ls: AdaCoderServer, params: types.DidSaveTextDocumentParams) -> None:
    """Handle `textDocument/didSave`: check the file if `checkOnSave` is on, and run tests ahead of a job."""
    uri = Uri(params.text_document.uri)
    ls.state.saving.saved(uri)
    ls.state.tests_ahead.saved(uri)


def _explained(ls: AdaCoderServer, params: types.CodeActionParams, reason: str) -> Any:
    return explained(params, reason, ls.client_capabilities) or None


# Notebooks


def on_open_notebook(ls: AdaCoderServer, params: types.DidOpenNotebookDocumentParams) -> None:
    """Handle `notebookDocument/didOpen`: show stored evidence for the cells."""
    for each in params.cell_text_documents:
        _opened(ls, each.uri)


def on_change_notebook(ls: AdaCoderServer, params: types.DidChangeNotebookDocumentParams) -> None:
    """Handle `notebookDocument/didChange`: update the evidence for the cells.

    Kept results follow their functions into other cells.
    """
    cells = params.change.cells
    if cells is None:
        return
    if cells.structure is not None:
        for closed in cells.structure.did_close or ():
            ls.state.shown.closed(Uri(closed.uri))
        for opened in cells.structure.did_open or ():
            _opened(ls, opened.uri)
    for each in cells.text_content or ():
        _changed(ls, each.document.uri, each.changes)
    notebook = ls.workspace.get_notebook_document(notebook_uri=params.notebook_document.uri)
    for cell in notebook.cells if notebook is not None and cells.structure is not None else ():
        if (document := ls.state.shown.document(Uri(cell.document))) is not None:
            ls.state.opened(Uri(cell.document), document.source)


def on_close_notebook(ls: AdaCoderServer, params: types.DidCloseNotebookDocumentParams) -> None:
    """Handle `notebookDocument/didClose`: stop showing evidence."""
    for each in params.cell_text_documents:
        ls.state.shown.closed(Uri(each.uri))


def on_save_notebook(ls: AdaCoderServer, params: types.DidSaveNotebookDocumentParams) -> None:
    """Handle `notebookDocument/didSave`: check the cells if the setting `checkOnSave` is on."""
    uri = Uri(params.notebook_document.uri)
    if (notebook := ls.workspace.get_notebook_document(notebook_uri=uri)) is not None:
        cells = [cell for cell in notebook.cells if cell.kind is types.NotebookCellKind.Code]
        ls.state.saving.saved(uri, [Uri(cell.document) for cell in cells])


@on_document(restored=True, refused=_explained)
async def on_code_action(
    ls: AdaCoderServer, params: types.CodeActionParams, snapshot: Snapshot
) -> list[types.CodeAction | types.Command] | None:
    """Handle `textDocument/codeAction`: return the actions for the function at the start of the selection."""
    line, results = min(params.range.start.line, params.range.end.line), ls.state.results
    state = FileState(
        running={job.target.qualname: job.id for job in ls.state.jobs.of(snapshot.uri)},
        kept=results.of(snapshot.uri),
        last_job=partial(results.last, snapshot.uri),
        failing=ls.state.shown.evidence.failing(snapshot.uri),
        asking=ls.state.shown.evidence.asking(snapshot.uri),
        earlier=results.candidates,
    )
    return await ls.state.read(code_actions, snapshot, line, params.context, ls.client_capabilities, state) or None


async def _has_lenses(ls: AdaCoderServer, uri: Uri) -> bool:
    settings = await ls.state.shown.settings(uri)
    if not settings.code_lens or ls.state.shown.document(uri) is None:
        return False
    if uri.endswith(tuple(PAGES)):
        return bool(ls.state.shown.evidence.of(uri) or ls.state.jobs.of(uri))
    return uri.endswith(".py") or not is_file(uri)


@on_document(restored=True, wanted=_has_lenses)
async def on_code_lens(
    ls: AdaCoderServer, params: types.CodeLensParams, snapshot: Snapshot
) -> list[types.CodeLens] | None:
    """Handle `textDocument/codeLens`: return the lenses of a document.

    Only changed parts of the text are parsed again.
    """
    document, uri = ls.state.shown.document(snapshot.uri), snapshot.uri
    if document is None:  # the document was closed meanwhile
        return None
    functions = () if is_page(snapshot.path) else await ls.state.read(_skimmed, snapshot)
    kept = await ls.state.read(_fitting, snapshot, ls.state.results.of(snapshot.uri))
    evidence, jobs = ls.state.shown.evidence.of(uri), ls.state.jobs.of(uri)
    if is_page(snapshot.path):
        functions = _of_page(evidence)
    place: dict[str, JSON] = {"uri": uri, "version": snapshot.version}
    return list(code_lenses(functions, evidence, jobs, kept, place, document.lines, encoding_of(ls.workspace)))


def _of_page(evidence: Sequence[Placed]) -> tuple[Skimmed, ...]:
    """Return the position of a page's lenses: the first checked example, or the first line."""
    from adacoder.source.skim import Skimmed

    return (Skimmed(PAGE, evidence[0].first if evidence else 0, is_stub=False),)


def _fitting(snapshot: Snapshot, kept: Sequence[KeptResult]) -> list[tuple[int, KeptResult]]:
    """Return the kept results that can be inserted into the current text, each after its function's first line."""
    found = []
    for result in kept:
        with suppress(TargetError):
            target = result.function_in(snapshot)
            line = line_number(target.text, target.definition.start) - target.module.first_line
            found.append((line, result))
    return found


def _skimmed(snapshot: Snapshot) -> tuple[Skimmed, ...]:
    from adacoder.source.skim import skim

    return skim(snapshot.code)


async def _has_kept(ls: AdaCoderServer, uri: Uri) -> bool:
    return bool(ls.state.results.of(uri))


@on_document(wanted=_has_kept)
async def on_inline_completion(
    ls: AdaCoderServer, params: types.InlineCompletionParams, snapshot: Snapshot
) -> list[types.InlineCompletionItem] | None:
    """Handle `textDocument/inlineCompletion`: return the verified results for the function at the cursor."""
    kept, encoding = ls.state.results.of(snapshot.uri), encoding_of(ls.workspace)
    found = await ls.state.read(completions, snapshot, params.position, kept, encoding)
    with suppress(TargetError):  # the document may be closed now
        if found and take(ls.workspace, snapshot.uri).same_as(snapshot):
            return found
    return None


async def _has_evidence(ls: AdaCoderServer, uri: Uri) -> bool:
    return bool(ls.state.shown.evidence.of(uri))


@on_document(wanted=_has_evidence)
async def on_hover(ls: AdaCoderServer, params: types.HoverParams, snapshot: Snapshot) -> types.Hover | None:
    """Handle `textDocument/hover`: return the evidence for the function or the example at the cursor."""
    line, known = params.position.line, ls.state.shown.evidence
    if is_page(snapshot.path):
        placed = known.at(snapshot.uri, PAGE)
        placed = placed if placed is not None and await ls.state.read(_has_example_at, placed, line) else None
    else:
        target = await ls.state.read(_described_at, snapshot, line)
        placed = None if target is None else known.at(snapshot.uri, target.qualname)
    return None if placed is None else hover(placed, snapshot.module_text, ls.client_capabilities)


def _described_at(snapshot: Snapshot, line: int) -> Target | None:
    """Return the evidence for the function whose header or docstring contains `line`, or None."""
    try:
        target = snapshot.find(line=line)
    except TargetError:
        return None
    last = Lines(target.text).line_at(target.docstring_span.end) - target.module.first_line
    return target if line <= last else None


def _has_example_at(placed: Placed, line: int) -> bool:
    examples = (result.example for result in placed.evidence.verdict.results)
    return placed.holds and any(
        0 <= line - placed.line_of_example(each.line) < each.source.count("\n") + each.want.count("\n")
        for each in examples
    )


async def on_inlay_hint(ls: AdaCoderServer, params: types.InlayHintParams) -> list[types.InlayHint] | None:
    """Handle `textDocument/inlayHint`: return the actual outputs of failed examples."""
    uri = Uri(params.text_document.uri)
    settings = await ls.state.shown.settings(uri)
    document = ls.state.shown.document(uri)
    if document is None or not settings.inlay_hints:
        return None
    evidence = ls.state.shown.evidence.of(uri)
    return list(inlay_hints(evidence, params.range, document.lines, encoding_of(ls.workspace)))


@reads(ClearParams)
async def on_clear(ls: AdaCoderServer, params: ClearParams) -> dict[str, Any]:
    """Handle `.clear` `{uri?, qualifiedName?}`: delete the evidence for a function or document.

    Without parameters, delete the evidence for all open documents.
    """
    uris = [Uri(each) for each in ls.workspace.text_documents] if params.uri is None else [params.uri]
    return {"cleared": sum(ls.state.shown.evidence.forget(uri, params.qualname) for uri in uris)}


@reads(JournalParams)
async def on_journal(ls: AdaCoderServer, params: JournalParams) -> dict[str, Any] | None:
    """Handle `.journal` `{jobId? | uri?, qualifiedName?, format?, show?}`: return the journal of a job.

    Without `jobId`, it is the last job on the document or function. By default, the answer is the answer to
    `adacoder/run`. With the format `markdown`, the answer is `{jobId, markdown}`. With `show`, the editor also opens
    the Markdown text.
    """
    ended = ls.state.results.ended(params.job_id or ls.state.results.last(params.uri, params.qualname))
    if ended is None:
        return None
    if params.format != "markdown":
        return {**ended.answer}
    markdown = await asyncio.to_thread(ended.markdown)
    if params.show:
        await ls.documents.show("The journal", f"journal-{ended.id[:8]}.md", markdown)
    return {"jobId": ended.id, "markdown": markdown}


def code_lenses(
    functions: Iterable[Skimmed],
    evidence: Iterable[Placed],
    running: Iterable[Job],
    kept: Sequence[tuple[int, KeptResult]],
    place: Mapping[str, JSON],
    lines: Sequence[str],
    encoding: PositionEncoding,
) -> Iterator[types.CodeLens]:
    """Yield the lenses for the functions of a document.

    `place` has the document's `uri` and `version`. The line of a function tells functions of one name apart.
    """
    jobs = {job.target.qualname: job for job in running}
    known = {placed.first: placed for placed in evidence if placed.holds}
    for function in functions:
        name, placed = function.qualname, known.get(function.line)
        if name not in jobs:
            yield from _of_kept(function, [each for line, each in kept if line == function.line], lines, encoding)
            yield from _of_question(function, placed, lines, encoding)
        for title, command in _own(function, jobs.get(name), placed) if function.line < len(lines) else ():
            position: JSON = {"line": function.line, "character": 0}
            arguments: dict[str, JSON] = {**place, "position": position, "qualifiedName": name}
            if name in jobs:
                arguments = {"jobId": jobs[name].id}
            if command == "journal":
                arguments |= {"format": "markdown", "show": True}
            yield _at(function, title, command, arguments, lines, encoding)


def _of_kept(
    function: Skimmed, kept: Iterable[KeptResult], lines: Sequence[str], encoding: PositionEncoding
) -> Iterator[types.CodeLens]:
    """Yield the lenses for kept results.

    The first lens shows the difference, so that the user can read a result before inserting it.
    """
    for result in kept if function.line < len(lines) else ():
        titles = {"difference": f"Show AdaCoder's {result.kind} ({result.score})"}
        titles |= {"insert": "Insert", "discard": "Discard"}
        for command, title in titles.items():
            yield _at(function, title, command, {"jobId": result.job_id}, lines, encoding)


def _of_question(
    function: Skimmed, placed: Placed | None, lines: Sequence[str], encoding: PositionEncoding
) -> Iterator[types.CodeLens]:
    """Yield the lens for the open question about the function, if there is a question."""
    if placed is not None and (found := placed.evidence.question) is not None and function.line < len(lines):
        here, there = outputs(found, _SHORT)
        title = f"{brief(found.call, longest=_CALL)}: {here} or {there}?"
        place: dict[str, JSON] = {"uri": placed.evidence.uri, "qualifiedName": function.qualname, "call": found.call}
        yield _at(function, title, "answer", place, lines, encoding)


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


def _own(function: Skimmed, job: Job | None, placed: Placed | None) -> Iterator[tuple[str, str]]:
    """Yield the titles and commands of the lenses for the function's state: its job, its evidence, or the next step."""
    if job is not None:
        yield f"round {job.round}/{job.most_rounds}" if job.round else "starting", "status"
        yield "Cancel", "cancel"
    elif function.is_stub:
        if placed is not None and placed.evidence.failed:
            yield f"✗ {_score(placed)}", "journal"
        yield "Generate", "generate"
    elif placed is None or not placed.evidence.is_of_text:
        if function.has_examples:
            yield "Check", "check"
    elif (evidence := placed.evidence).failed:
        yield f"✗ {_score(placed)}", "journal"
        can_be_fixed = function.qualname != PAGE and (evidence.total or evidence.tests[1])
        yield ("Fix", "fix") if can_be_fixed else ("Check", "check")
    elif evidence.passed or evidence.tests[0]:
        unreached = report.brief_unreached(evidence.coverage, placed.first - evidence.first)
        done = report.brief_score(evidence.passed, evidence.total, evidence.tests)
        yield " · ".join(filter(None, [f"✓ {done}", unreached])), "journal"


def _score(placed: Placed) -> str:
    evidence = placed.evidence
    tests, total = evidence.tests
    if total and (tests < total or not evidence.total):
        return f"{tests}/{counted(total, 'test')}"
    return f"{evidence.passed}/{counted(evidence.total, 'example')}"


def hover(placed: Placed, text: str, client: types.ClientCapabilities) -> types.Hover:
    """Return the hover that shows a function's evidence. `text` is the current text of the document."""
    formats = get_capability(client, "text_document.hover.content_format", None) or ()
    kind = types.MarkupKind.Markdown if types.MarkupKind.Markdown in formats else types.MarkupKind.PlainText
    is_markdown = kind is types.MarkupKind.Markdown
    line, block = (report.inline, partial(report.fenced, language="text")) if is_markdown else (report.plain, str)
    paragraphs = _paragraphs(placed, line, block, is_same_file=hash(text) == placed.evidence.text)
    return types.Hover(types.MarkupContent(kind, "\n\n".join(paragraphs)))


def _paragraphs(
    placed: Placed, line: Callable[[str], str], block: Callable[[str], str], *, is_same_file: bool
) -> Iterator[str]:
    """Yield the paragraphs of a hover.

    `line` and `block` escape text for the hover's format: within a line, and as a block.
    """
    evidence = placed.evidence
    has_passed = evidence.passed or evidence.tests[0]
    mark = "✗" if evidence.failed else "✓" if has_passed and evidence.is_of_text else "–"
    yield f"{mark} {line(evidence.summary)}"
    yield f"{report.age(evidence.age).capitalize()}, {_which_text(placed, is_same_file)}."
    yield from map(line, compared(evidence.behaviour, evidence.cross_check))
    if placed.holds:
        for result in evidence.failing[:_SHOWN]:
            yield block(report.as_doctest(result.example, result.got, result.error))
        if evidence.failure is not None and evidence.failure.test is not None:
            yield block(evidence.failure.test.explanation)


def _which_text(placed: Placed, is_same_file: bool) -> str:
    if not placed.holds:
        return "for another text of this function: check it again"
    if not placed.evidence.is_of_text:
        return "of a candidate that is not in the file"
    return "for the current text" if is_same_file else "for the current function; the file has since changed elsewhere"


def inlay_hints(
    evidence: Iterable[Placed], within: types.Range, lines: Sequence[str], encoding: PositionEncoding
) -> Iterator[types.InlayHint]:
    """Yield a hint for each failed example in the range `within`. The hint shows the actual output."""
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
