"""Handlers of the server: they receive parameters and snapshots, and delegate.

A command on a function answers at once with `{accepted, jobId, reason}`, since editors block on commands. The request
`adacoder/run` waits for its job and answers with the object that `--json` prints, plus `applied` and `failureReason`.
Every answer contains its `version`. A problem that the user can fix is an answer with a `reason`, never an error,
because editors show errors twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from adacoder.domain import AdaCoderError
from adacoder.lsp.from_proto import (
    DifferenceParams,
    DoctorParams,
    DocumentParams,
    FunctionPlace,
    InsertParams,
    JobParams,
    RunParams,
    ScopeParams,
)
from adacoder.lsp.jobs.edits import docstring_for, insert_docstring
from adacoder.lsp.jobs.jobs import Job
from adacoder.lsp.requests import on_document, reads
from adacoder.lsp.showing.actions import FileState, code_actions
from adacoder.lsp.snapshot import Snapshot, find, take
from adacoder.task import Mode

if TYPE_CHECKING:
    from adacoder.lsp.jobs.batch import Batch
    from adacoder.lsp.language_server import AdaCoderServer, Answer


def on_configuration(ls: AdaCoderServer, params: types.DidChangeConfigurationParams) -> None:
    """`workspace/didChangeConfiguration`: keep the new settings."""
    ls.configuration.pushed(params.settings)
    ls.state.shown.configured()


@on_document(restored=True)
async def on_code_action(
    ls: AdaCoderServer, params: types.CodeActionParams, snapshot: Snapshot
) -> list[types.CodeAction | types.Command] | None:
    """`textDocument/codeAction`: the actions for the function at the beginning of the range."""
    line, results = min(params.range.start.line, params.range.end.line), ls.state.results
    state = FileState(
        running={job.target.qualname: job.id for job in ls.state.jobs.of(snapshot.uri)},
        kept=results.of_file(snapshot.path),
        last_job=partial(results.last, snapshot.uri),
        failing=ls.state.shown.evidence.failing(snapshot.uri),
        earlier=results.candidates,
    )
    return await ls.state.read(code_actions, snapshot, line, params.context, ls.client_capabilities, state) or None


@reads(RunParams)
async def on_run(ls: AdaCoderServer, params: RunParams) -> dict[str, Any]:
    """`adacoder/run` `{textDocument: {uri}, position | qualifiedName, mode, apply, candidate?, workDoneToken?}`.

    Cancelling the request cancels the job. The answer then comes after the job's clean-up.
    """

    def job(snapshot: Snapshot) -> Job:
        target = find(snapshot, params)
        token, reply = params.work_done_token, params.candidate
        return Job(params.mode, snapshot, target, params.apply, announced=False, token=token, reply=reply)

    try:
        started = await _started(ls, params, job)
    except AdaCoderError as error:
        return _not_started(str(error))
    started.may_begin.set()
    return await ls.state.jobs.result(started)


@reads(ScopeParams)
async def on_kept(ls: AdaCoderServer, params: ScopeParams) -> dict[str, Any]:
    """`adacoder/kept` `{textDocument?: {uri}}`: the kept results of a document, or all kept results."""
    await ls.state.restored()
    return {"items": ls.state.offering.listed(params.uri)}


def _not_started(reason: str) -> dict[str, Any]:
    """The answer if no job was started, so there is no Outcome."""
    nothing: dict[str, Any] = {
        "edits": [],
        "remedies": [],
        "applied": False,
        "failureReason": None,
        "jobId": None,
        "kept": False,
    }
    return {"status": "error", "reason": reason, "summary": reason, **nothing}


def _rejected(ls: AdaCoderServer, reason: str) -> dict[str, Any]:
    """The answer to a command that starts nothing."""
    ls.show(reason, warning=True)
    return {"accepted": False, "jobId": None, "reason": reason}


def _accepted(ls: AdaCoderServer, job: Job | Batch) -> dict[str, Any]:
    """The answer to a command that starts a job. The job begins after it. Cancelling the command cancels the job.

    Some clients leave a request unread if it arrives together with an answer.
    """

    def begin(is_cancelled: bool) -> None:
        if is_cancelled:
            job.cancel()
        job.may_begin.set()

    ls.protocol.after_answer(begin)
    return {"accepted": True, "jobId": job.id, "reason": None}


def _starter(mode: Mode) -> Answer:
    """The command that starts a job in `mode`."""

    @reads(FunctionPlace, _rejected)
    async def start(ls: AdaCoderServer, place: FunctionPlace) -> dict[str, Any]:
        def job(snapshot: Snapshot) -> Job:
            return Job(mode, snapshot, find(snapshot, place), apply=mode is not Mode.CHECK, announced=True)

        return _accepted(ls, await _started(ls, place, job))

    return start


on_generate, on_fix = _starter(Mode.GENERATE), _starter(Mode.FIX)
on_check, on_repair = _starter(Mode.CHECK), _starter(Mode.REPAIR)
on_another, on_suggest_examples = _starter(Mode.ANOTHER), _starter(Mode.SUGGEST_EXAMPLES)


async def _started(ls: AdaCoderServer, place: FunctionPlace, of: Callable[[Snapshot], Job]) -> Job:
    """Start a job on a function of the current text, which is read off the event loop."""
    snapshot = take(ls.workspace, place.uri)
    ls.state.restore()
    async with ls.state.looking_up:
        job = await asyncio.to_thread(of, snapshot)
        ls.state.jobs.start(job)
        return job


@reads(InsertParams, _rejected)
async def on_insert(ls: AdaCoderServer, params: InsertParams) -> dict[str, Any]:
    """`.insert` `{jobId, candidate?}`: insert the kept result of a job, or the n-th candidate that it evaluated."""
    await ls.state.restored()
    offering = ls.state.offering
    result = offering.result(params.job_id)
    async with ls.state.looking_up:
        chosen = result if params.candidate is None else await offering.chosen(result, params.candidate)
        return _accepted(ls, await offering.insertion(chosen))


@reads(DifferenceParams)
async def on_difference(ls: AdaCoderServer, params: DifferenceParams) -> dict[str, Any]:
    """`.difference` `{jobId, show?}`: the change that a job's kept result would make. Shown unless `show` is false."""
    await ls.state.restored()
    try:
        found = await ls.state.offering.difference(ls.state.offering.result(params.job_id), shows=params.show)
        return {**found, "reason": None}
    except AdaCoderError as error:
        if params.show:
            ls.show(str(error), warning=True)
        return {"difference": None, "reason": str(error)}


@reads(JobParams)
async def on_discard(ls: AdaCoderServer, params: JobParams) -> dict[str, Any]:
    """`.discard` `{jobId}`: discard the kept result of a job."""
    await ls.state.restored()
    result = ls.state.results.kept(params.job_id)
    if result is not None:
        ls.state.results.drop(result.job_id)
    return {"discarded": result is not None}


@reads(DocumentParams, _rejected)
async def on_generate_all(ls: AdaCoderServer, params: DocumentParams) -> dict[str, Any]:
    """`.generateAll` `{uri}`: write all stubs of a file in sequence."""
    async with ls.state.looking_up:
        return _accepted(ls, await ls.state.batches.start(take(ls.workspace, params.uri)))


@reads(FunctionPlace, _rejected)
async def on_write_docstring(ls: AdaCoderServer, place: FunctionPlace) -> dict[str, Any]:
    """`.writeDocstring`: insert a docstring skeleton into a function that has no docstring. Uses no model."""
    snapshot = take(ls.workspace, place.uri)
    name, edit = await asyncio.to_thread(docstring_for, snapshot, place)

    def begin(is_cancelled: bool) -> None:
        if not is_cancelled:
            ls.begin(insert_docstring(ls, snapshot, name, edit))

    ls.protocol.after_answer(begin)
    return {"accepted": True, "jobId": None, "reason": None}


@reads(JobParams)
async def on_cancel(ls: AdaCoderServer, params: JobParams) -> dict[str, Any]:
    """`.cancel` `{jobId?}`: cancel that job. Without an id, cancel all earlier requests and checks on save."""
    if params.job_id is None:
        ls.state.saving.cancel()
    async with ls.state.looking_up:
        return {"cancelled": [*ls.state.batches.cancel(params.job_id), *ls.state.jobs.cancel(params.job_id)]}


@reads(ScopeParams)
async def on_status(ls: AdaCoderServer, params: ScopeParams) -> dict[str, Any]:
    """`.status` `{uri?}`: the running jobs with their latest progress and, with `uri`, the document's Python."""
    if params.uri is None:
        return {"jobs": [*ls.state.batches.status(), *ls.state.jobs.status()]}
    from adacoder.lsp.health import interpreter_for

    interpreter = await interpreter_for(ls, params.uri)
    return {"jobs": [*ls.state.batches.status(), *ls.state.jobs.status()], "interpreter": interpreter}


@reads(DoctorParams, lambda ls, reason: {"ok": False, "findings": [], "reason": reason})
async def on_doctor(ls: AdaCoderServer, params: DoctorParams) -> dict[str, Any]:
    """`.doctor` `{probe?, uri?}`: examine whether AdaCoder works in a document's folder, or in the first folder.

    By default each model writes some tokens to measure its speed, unless a job is running, which would have to wait.
    """
    from adacoder.lsp.health import examine

    findings = await examine(ls, params.uri, probes_speed=params.probe and not ls.state.jobs.status())
    return {
        "ok": all(finding.ok is not False for finding in findings),
        "findings": [finding.json() for finding in findings],
        "reason": None,
    }
