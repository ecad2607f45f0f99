"""Handlers of the server: they read parameters, take a snapshot, and delegate.

A command on a function answers at once with `{accepted, jobId, reason}`, since editors block on commands. The request
`adacoder/run` waits for its job and answers with the object that `--json` prints, plus `applied` and `failureReason`.
Every answer contains its `version`. A problem that the user can fix is an answer with a `reason`, never an error,
because editors show errors twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from adacoder.domain import AdaCoderError, TargetError
from adacoder.lsp.actions import FileState, code_actions
from adacoder.lsp.docstrings import docstring_for, insert_docstring
from adacoder.lsp.jobs import Job
from adacoder.lsp.server import AdaCoderServer
from adacoder.lsp.snapshot import FunctionPlace, ParametersError, find, read_place, read_uri, take
from adacoder.lsp.work import MOMENT
from adacoder.task import Mode

if TYPE_CHECKING:
    from adacoder.lsp.batch import Batch
    from adacoder.lsp.server import AdaCoderServer, Answer


def on_configuration(ls: AdaCoderServer, params: types.DidChangeConfigurationParams) -> None:
    """`workspace/didChangeConfiguration`: keep the new settings."""
    ls.configuration.pushed(params.settings)
    ls.work.shown.configured()


async def on_code_action(
    ls: AdaCoderServer, params: types.CodeActionParams
) -> list[types.CodeAction | types.Command] | None:
    """`textDocument/codeAction`: the actions for the function at the beginning of the range.

    The search runs off the event loop, since the text may contain anything.
    """
    await ls.work.restored(MOMENT)
    try:
        snapshot = take(ls.workspace, params.text_document.uri)
    except TargetError:
        return None
    line, client = min(params.range.start.line, params.range.end.line), ls.client_capabilities
    state = FileState(
        running={job.target.qualname: job.id for job in ls.work.jobs.of(snapshot.uri)},
        kept=ls.work.results.of_file(snapshot.path),
        last_job=partial(ls.work.results.last, snapshot.uri),
        failing=ls.work.shown.evidence.failing(snapshot.uri),
        earlier=ls.work.results.candidates,
    )
    async with ls.work.reading:
        return await asyncio.to_thread(code_actions, snapshot, line, params.context, client, state) or None


async def on_run(ls: AdaCoderServer, params: object) -> dict[str, Any]:
    """`adacoder/run` `{textDocument: {uri}, position | qualifiedName, mode, apply, candidate?, workDoneToken?}`.

    Cancelling the request cancels the job. The answer then comes after the job's clean-up.
    """
    place, mode, apply, token = _read_run(params)
    candidate = _read_candidate(params, mode)
    try:
        job = await _started(ls, place, mode, apply=apply, announced=False, token=token, candidate=candidate)
    except AdaCoderError as error:
        return _not_started(str(error))
    job.may_begin.set()
    return await ls.work.jobs.result(job)


async def on_kept(ls: AdaCoderServer, params: object) -> dict[str, Any]:
    """`adacoder/kept` `{textDocument?: {uri}}`: the kept results of a document, or all kept results."""
    document = params.get("textDocument") if isinstance(params, Mapping) else None
    await ls.work.restored()
    return {"items": ls.work.offering.listed(None if document is None else read_uri(document))}


def _read_candidate(params: object, mode: Mode) -> str | None:
    """The candidate to begin with instead of the current function."""
    text = params.get("candidate") if isinstance(params, Mapping) else None
    if text is not None and (not isinstance(text, str) or mode not in (Mode.FIX, Mode.REPAIR)):
        raise ParametersError("'candidate' must be a text, and goes with the modes 'fix' and 'repair'.")
    return text


def _read_run(params: object) -> tuple[FunctionPlace, Mode, bool, types.ProgressToken | None]:
    """Read and check the parameters."""
    members = params if isinstance(params, Mapping) else {}
    document = members.get("textDocument")
    place = read_place({**members, **document} if isinstance(document, Mapping) else {})
    mode, apply, token = members.get("mode"), members.get("apply"), members.get("workDoneToken")
    if mode not in list(Mode):
        raise ParametersError(f"'mode' must be one of {', '.join(Mode)}.")
    if not isinstance(apply, bool):
        raise ParametersError("'apply' must be true or false.")
    if isinstance(token, bool) or not (token is None or isinstance(token, int | str)):
        raise ParametersError("'workDoneToken' must be a text or a whole number.")
    return place, Mode(mode), apply, token


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


def _starter(mode: Mode) -> Answer:
    """The command that starts a job in `mode`."""

    async def start(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
        async def job() -> Job:
            return await _started(ls, read_place(argument), mode, apply=mode is not Mode.CHECK, announced=True)

        return await _accepted(ls, job)

    return start


on_generate, on_fix = _starter(Mode.GENERATE), _starter(Mode.FIX)
on_check, on_repair = _starter(Mode.CHECK), _starter(Mode.REPAIR)
on_another, on_suggest_examples = _starter(Mode.ANOTHER), _starter(Mode.SUGGEST_EXAMPLES)


async def _accepted(ls: AdaCoderServer, start: Callable[[], Awaitable[Job | Batch]]) -> dict[str, Any]:
    """Answer a command that starts a job. The job begins after the answer."""
    try:
        job = await start()
    except AdaCoderError as error:
        ls.show(str(error), warning=True)
        return {"accepted": False, "jobId": None, "reason": str(error)}
    _begin_after_answer(ls, job)
    return {"accepted": True, "jobId": job.id, "reason": None}


def _begin_after_answer(ls: AdaCoderServer, job: Job | Batch) -> None:
    """Let `job` begin once its command has been answered. Cancelling the command cancels the job.

    Some clients leave a request unread if it arrives together with an answer.
    """

    def begin(is_cancelled: bool) -> None:
        if is_cancelled:
            job.cancel()
        job.may_begin.set()

    ls.protocol.after_answer(begin)


async def on_insert(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
    """`.insert` `{jobId, candidate?}`: insert the kept result of a job, or the n-th candidate that it evaluated."""

    async def job() -> Job:
        await ls.work.restored()
        result = ls.work.offering.result(_job_id(argument))
        number = argument.get("candidate")
        async with ls.work.looking_up:
            return await ls.work.offering.insertion(
                result if number is None else await ls.work.offering.chosen(result, number)
            )

    return await _accepted(ls, job)


async def on_difference(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
    """`.difference` `{jobId, show?}`: the change that a job's kept result would make. Shown unless `show` is false."""
    shows = not (isinstance(argument, Mapping) and argument.get("show") is False)
    await ls.work.restored()
    try:
        found = await ls.work.offering.difference(ls.work.offering.result(_job_id(argument)), shows=shows)
        return {**found, "reason": None}
    except AdaCoderError as error:
        if shows:
            ls.show(str(error), warning=True)
        return {"difference": None, "reason": str(error)}


async def on_discard(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
    """`.discard` `{jobId}`: discard the kept result of a job."""
    job_id = _job_id(argument) or ""
    await ls.work.restored()
    was_kept = ls.work.results.kept(job_id) is not None
    ls.work.results.drop(job_id)
    return {"discarded": was_kept}


async def _started(
    ls: AdaCoderServer,
    place: FunctionPlace,
    mode: Mode,
    *,
    apply: bool,
    announced: bool,
    token: types.ProgressToken | None = None,
    candidate: str | None = None,
) -> Job:
    """Start a job on a function of the current text, which is read off the event loop."""
    snapshot = take(ls.workspace, place.uri)
    ls.work.restore()
    async with ls.work.looking_up:
        target = await asyncio.to_thread(find, snapshot, place)
        job = Job(mode, snapshot, target, apply, announced, token, reply=candidate)
        ls.work.jobs.start(job)
        return job


async def on_generate_all(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
    """`.generateAll` `{uri}`: write all stubs of a file in sequence."""

    async def batch() -> Batch:
        async with ls.work.looking_up:
            return await ls.work.batches.start(take(ls.workspace, read_uri(argument)))

    return await _accepted(ls, batch)


async def on_write_docstring(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
    """`.writeDocstring`: insert a docstring skeleton into a function that has no docstring. Uses no model."""
    try:
        place = read_place(argument)
        snapshot = take(ls.workspace, place.uri)
        name, edit = await asyncio.to_thread(docstring_for, snapshot, place)
    except AdaCoderError as error:
        ls.show(str(error), warning=True)
        return {"accepted": False, "jobId": None, "reason": str(error)}

    def begin(is_cancelled: bool) -> None:
        if not is_cancelled:
            ls.begin(insert_docstring(ls, snapshot, name, edit))

    ls.protocol.after_answer(begin)
    return {"accepted": True, "jobId": None, "reason": None}


async def on_cancel(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
    """`.cancel` `{jobId?}`: cancel that job. Without an id, cancel all earlier requests and checks on save."""
    job_id = _job_id(argument)
    if job_id is None:
        ls.work.saving.cancel()
    async with ls.work.looking_up:
        return {"cancelled": [*ls.work.batches.cancel(job_id), *ls.work.jobs.cancel(job_id)]}


async def on_status(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
    """`.status` `{uri?}`: the running jobs with their latest progress and, with `uri`, the document's Python."""
    uri = _uri(argument)
    if uri is None:
        return {"jobs": [*ls.work.batches.status(), *ls.work.jobs.status()]}
    from adacoder.lsp.health import interpreter_for

    return {"jobs": [*ls.work.batches.status(), *ls.work.jobs.status()], "interpreter": await interpreter_for(ls, uri)}


async def on_doctor(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
    """`.doctor` `{probe?, uri?}`: examine whether AdaCoder works in a document's folder, or in the first folder.

    By default each model writes some tokens to measure its speed, unless a job is running, which would have to wait.
    """
    from adacoder.lsp.health import examine

    probe = argument.get("probe", True) if isinstance(argument, Mapping) else True
    if not isinstance(probe, bool):
        return {"ok": False, "findings": [], "reason": "'probe' must be true or false."}
    findings = await examine(ls, _uri(argument), probes_speed=probe and not ls.work.jobs.status())
    return {
        "ok": all(finding.ok is not False for finding in findings),
        "findings": [finding.json() for finding in findings],
        "reason": None,
    }


def _job_id(argument: Any) -> str | None:
    return _text(argument, "jobId")


def _uri(argument: Any) -> str | None:
    return _text(argument, "uri")


def _text(argument: Any, key: str) -> str | None:
    value = argument.get(key) if isinstance(argument, Mapping) else None
    return value if isinstance(value, str) else None
