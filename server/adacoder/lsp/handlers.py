"""Handle requests and commands about functions.

A command starts a job, and is answered at once with `{accepted, jobId, reason}`, because editors block until the
answer. `adacoder/run` waits for its job, and answers with the object that `--json` prints.

For a problem that the user can solve, the answer has a `reason`. It is not an error, because editors show errors twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types

from adacoder.domain import JSON, AdaCoderError, Edit, Example, Outcome, Target, TargetError
from adacoder.lsp.connection.client import remedies_json
from adacoder.lsp.from_proto import (
    UNNAMED,
    AnswerParams,
    DifferenceParams,
    DocumentParams,
    ExamplePlace,
    FailingTestPlace,
    FunctionPlace,
    Handler,
    InsertParams,
    JobParams,
    RunParams,
    ScopeParams,
    reads,
)
from adacoder.lsp.jobs.job import Activity, Job, NotInsertedError, refusal
from adacoder.lsp.snapshot import Snapshot, take
from adacoder.project import is_page
from adacoder.source.notebook import moved
from adacoder.task import Mode, Task

if TYPE_CHECKING:
    from adacoder.checks import NewOutputs
    from adacoder.lsp.language_server import AdaCoderServer
    from adacoder.source.locate import Documented

P = TypeVar("P", bound=FunctionPlace)


def on_configuration(ls: AdaCoderServer, params: types.DidChangeConfigurationParams) -> None:
    """Handle `workspace/didChangeConfiguration`: store the new settings and update all displays."""
    ls.configuration.pushed(params.settings)
    ls.state.shown.configured()


def on_rename(ls: AdaCoderServer, params: types.RenameFilesParams) -> None:
    """Handle `workspace/didRenameFiles`: update the running jobs and kept results."""
    for each in params.files:
        ls.state.moved(each.old_uri, each.new_uri)


@reads(RunParams)
async def on_run(ls: AdaCoderServer, params: RunParams) -> dict[str, Any]:
    """Handle `adacoder/run`: run a job and return its result.

    The parameters are `{textDocument: {uri}, position | qualifiedName, mode, apply, candidate?, wish?,
    workDoneToken?}`. If the client cancels the request, the job is cancelled.
    """
    token, reply = params.work_done_token, params.candidate
    params = _seen(ls, params)
    try:
        job = await _started(ls, params, params.mode, apply=params.apply, announced=False, token=token, reply=reply)
    except AdaCoderError as error:
        return _not_started(str(error), params)
    job.begin()
    return await ls.state.jobs.result(job)


@reads(ScopeParams)
async def on_kept(ls: AdaCoderServer, params: ScopeParams) -> dict[str, Any]:
    """Handle `adacoder/kept` `{textDocument?: {uri}}`: return the kept results of a document, or of all documents."""
    await ls.state.restored()
    return {"items": [each.json() for each in ls.state.results.latest() if params.uri in (None, each.uri)]}


def _not_started(reason: str, place: FunctionPlace) -> dict[str, Any]:
    """Return the answer to an `adacoder/run` request that could not start a job."""
    nothing: dict[str, Any] = {
        "edits": [],
        "remedies": remedies_json(reason, place.json),
        "applied": False,
        "failureReason": None,
        "jobId": None,
        "kept": False,
    }
    return {"status": "error", "reason": reason, "summary": reason, **nothing}


def _rejected(ls: AdaCoderServer, reason: str, place: FunctionPlace | None = None) -> dict[str, Any]:
    """Show `reason` as a warning. Return the answer to a command that could not start.

    `place` is the function that the command was about.
    """
    if place is None:
        ls.show(reason, warning=True)
    else:
        document: JSON = {"uri": place.uri, "version": place.version}
        about = {"jobId": None, "kept": False, "textDocument": document, "qualifiedName": place.qualname}
        ls.tell_end(reason, warning=True, about=about, place=place.json)
    return {"accepted": False, "jobId": None, "reason": reason}


def _accepted(ls: AdaCoderServer, started: Activity) -> dict[str, Any]:
    """Return the answer to a command that starts a job. The job begins after the answer is sent.

    A job sends requests to the client. Some clients read a request late if it arrives right after an answer.
    """
    ls.protocol.after_answer(started.begin)
    return {"accepted": True, "jobId": started.id, "reason": None}


def _begun(ls: AdaCoderServer, work: Callable[[], Coroutine[object, object, None]]) -> dict[str, Any]:
    """Return the answer to a command that starts work other than a job. The work begins after the answer is sent."""

    def begin(is_cancelled: bool) -> None:
        if not is_cancelled:
            ls.begin(work())

    ls.protocol.after_answer(begin)
    return {"accepted": True, "jobId": None, "reason": None}


def _starter(mode: Mode) -> Handler[AdaCoderServer, Any]:
    @reads(FunctionPlace, _rejected)
    async def start(ls: AdaCoderServer, place: FunctionPlace) -> dict[str, Any]:
        place = _seen(ls, place)
        try:
            return _accepted(ls, await _started(ls, place, mode, apply=mode is not Mode.CHECK, announced=True))
        except AdaCoderError as error:
            return _rejected(ls, str(error), place)

    return start


on_generate, on_fix = _starter(Mode.GENERATE), _starter(Mode.FIX)
on_check, on_repair = _starter(Mode.CHECK), _starter(Mode.REPAIR)
on_another, on_suggest_examples = _starter(Mode.ANOTHER), _starter(Mode.SUGGEST_EXAMPLES)


def _seen(ls: AdaCoderServer, place: P) -> P:
    """Add the document's version to a place that has a line, but no name.

    If the document changes, another function may be at this line.
    """
    document = ls.workspace.text_documents.get(place.uri)
    if document is None or place.version is not None or place.qualname is not None:
        return place
    return replace(place, version=document.version)


async def _started(ls: AdaCoderServer, place: FunctionPlace, mode: Mode, **how: Any) -> Job:
    """Start a job on the function at `place`. A page of documentation is checked as a whole."""
    snapshot = take(ls.workspace, place.uri)
    ls.state.restore()
    async with ls.state.looking_up:
        is_whole = mode is Mode.CHECK and is_page(snapshot.path)
        target = await (
            asyncio.to_thread(snapshot.page) if is_whole else asyncio.to_thread(_function_at, place, snapshot)
        )
        return ls.state.jobs.start(Job(mode, snapshot, target, wish=place.wish, **how))


def _function_at(place: FunctionPlace, snapshot: Snapshot) -> Target:
    """Return the function at `place`.

    The line is used only if the document still has the version that the client saw. Otherwise the function is found by
    name.

    Raises:
        TargetError: the function does not exist or cannot be a target, or the text has changed and `place` has no name.
    """
    is_same_text = place.version in (None, snapshot.version)
    if place.line is not None and (place.qualname is None or place.version is not None) and is_same_text:
        return snapshot.find(line=place.line)
    if place.qualname is not None:
        return snapshot.find(qualname=place.qualname)
    raise TargetError("The text has changed since you asked: ask again.")


@reads(InsertParams, _rejected)
async def on_insert(ls: AdaCoderServer, params: InsertParams) -> dict[str, Any]:
    """Handle `.insert` `{jobId, candidate?}`: insert the kept result of a job, or the candidate with this number."""
    await ls.state.restored()
    result = ls.state.results.demanded(params.job_id)
    async with ls.state.looking_up:
        return _accepted(ls, await ls.state.jobs.insert(result, params.candidate))


@reads(DifferenceParams)
async def on_difference(ls: AdaCoderServer, params: DifferenceParams) -> dict[str, Any]:
    """Handle `.difference` `{jobId, show?}`: return the diff of a kept result.

    Unless `show` is false, open the diff in the editor.
    """
    await ls.state.restored()
    try:
        found = await ls.state.jobs.difference(ls.state.results.demanded(params.job_id), shows=params.show)
        return {**found, "reason": None}
    except AdaCoderError as error:
        if params.show:
            ls.show(str(error), warning=True)
        return {"difference": None, "reason": str(error)}


@reads(JobParams)
async def on_discard(ls: AdaCoderServer, params: JobParams) -> dict[str, Any]:
    """Handle `.discard` `{jobId}`: discard the kept result of a job."""
    await ls.state.restored()
    result = ls.state.results.kept(params.job_id)
    if result is not None:
        ls.state.jobs.discard(result)
    elif params.job_id is None:
        ls.show(UNNAMED, warning=True)
    return {"discarded": result is not None}


@reads(AnswerParams, _rejected)
async def on_answer(ls: AdaCoderServer, params: AnswerParams) -> dict[str, Any]:
    """Handle `.answer` `{uri, qualifiedName, call, answer?}`: carry out the user's answer to a question.

    Without `answer`, ask the user in a message.
    """
    asked = ls.state.cross_checks.asked(params.uri, params.qualname, params.call)
    return _begun(ls, partial(ls.state.cross_checks.answered, asked, params.answer))


@reads(DocumentParams, _rejected)
async def on_generate_all(ls: AdaCoderServer, params: DocumentParams) -> dict[str, Any]:
    """Handle `.generateAll` `{uri}`: write the bodies of all functions that have a docstring and no body."""
    async with ls.state.looking_up:
        return _accepted(ls, await ls.state.batches.start_stubs(take(ls.workspace, params.uri)))


@reads(FailingTestPlace, _rejected)
async def on_fix_test(ls: AdaCoderServer, place: FailingTestPlace) -> dict[str, Any]:
    """Handle `.fixTest` `{uri, version?, position | test}`: fix a function to make a failing test pass."""
    async with ls.state.looking_up:
        snapshot = take(ls.workspace, place.uri)
        if not snapshot.is_file:
            raise TargetError("Tests run as they are on disk: save this text as a file first.")
        test = await asyncio.to_thread(_test_at, place, snapshot) if place.test is None else place.test
        return _accepted(ls, await ls.state.batches.start_test(snapshot, test))


def _test_at(place: FailingTestPlace, snapshot: Snapshot) -> str:
    """Return the name of the test at `place`.

    Raises:
        TargetError: there is no test at the line, or the text has changed.
    """
    from adacoder.source.locate import must_run, test_at

    must_run(snapshot.path)
    if place.line is None or place.version not in (None, snapshot.version):
        raise TargetError("The text has changed since you asked: ask again.")
    test = test_at(snapshot.text, place.line)
    if test is None:
        raise TargetError(f"There is no test at line {place.line + 1} of {snapshot.path}: put the cursor on one.")
    return test


@reads(FunctionPlace, _rejected)
async def on_write_docstring(ls: AdaCoderServer, place: FunctionPlace) -> dict[str, Any]:
    """Handle `.writeDocstring`: insert a docstring skeleton into a function that has no docstring. No model is used."""
    snapshot = take(ls.workspace, place.uri)
    name, edit = await asyncio.to_thread(_docstring_for, snapshot, place)
    return _begun(ls, partial(_insert, ls, snapshot, name, f"a docstring for '{name}'", (edit,)))


def _docstring_for(snapshot: Snapshot, place: FunctionPlace) -> tuple[str, Edit]:
    """Return the name of the function at `place`, and the edit that inserts the docstring skeleton.

    Raises:
        TargetError: the function has a docstring, does not exist or cannot be a target, or the text has changed.
    """
    from adacoder.source.locate import undocumented
    from adacoder.source.skeleton import skeleton

    is_same_text = place.version in (None, snapshot.version)
    line = place.line if is_same_text else None
    if line is None and place.qualname is None:
        raise TargetError("The text has changed since you asked: ask again.")
    qualname = place.qualname if line is None else None
    definition = undocumented(snapshot.code, snapshot.path, line=line, qualname=qualname)
    if definition is None:
        target = _function_at(place, snapshot)  # raises TargetError if the function does not exist
        raise TargetError(f"'{target.name}' already has a docstring.")
    return definition.name, moved(skeleton(definition), snapshot.start)


@reads(ExamplePlace, _rejected)
async def on_accept_output(ls: AdaCoderServer, place: ExamplePlace) -> dict[str, Any]:
    """Handle `.acceptOutput` `{uri, version?, position}`: replace the expected output of an example."""
    snapshot = take(ls.workspace, place.uri)
    if place.version not in (None, snapshot.version):
        raise TargetError("The text has changed since you asked: ask again.")
    one, example = await asyncio.to_thread(_example_at, snapshot, place.line)
    return _begun(ls, partial(_accept_output, ls, snapshot, one, example))


def _example_at(snapshot: Snapshot, line: int) -> tuple[Documented, Example]:
    """Return the example at a 0-based line, and the docstring of this example.

    Raises:
        TargetError: there is no example at the line.
    """
    for one in snapshot.documented():
        for example in one.target.examples:
            first = example.number - 1
            if first <= line < first + example.source.count("\n") + example.want.count("\n"):
                return one, example
    raise TargetError(f"There is no example at line {line + 1} of {snapshot.path}: put the cursor on one.")


async def _accept_output(ls: AdaCoderServer, snapshot: Snapshot, one: Documented, example: Example) -> None:
    """Run an example in two processes. If both give the same output, replace the expected output."""
    from adacoder.checks import Checks

    _, settings = await ls.service_for(snapshot)
    task = Task(one.target, settings, snapshot.project)
    first, again = Checks(), Checks()
    try:
        outcome = await first.check(task, one.unreadable)
        new = await again.new_outputs(task, outcome, example)
    finally:
        await asyncio.gather(first.close(), again.close())
    place = f"the example on line {example.number}"
    if new.edits:
        await _insert(ls, snapshot, one.target.name, f"the output of {place}", new.edits)
    else:
        ls.show(f"Not inserted: {place} {_why_kept(outcome, new, example)}.", warning=True)


def _why_kept(outcome: Outcome, new: NewOutputs, example: Example) -> str:
    """Return the reason why an expected output was not replaced. The reason continues "The example on line 3 …"."""
    if new.changing:
        return "has an actual output that changes when it runs again"
    if new.refused:
        return "has an actual output that the text cannot hold: change it by hand"
    results = () if outcome.verdict is None else outcome.verdict.results
    result = next((each for each in results if each.example == example), None)
    if result is None:
        return f"did not run: {(outcome.reason or 'check the function').rstrip('.')}"
    return "passes, so its output stays" if result.matched else "raises an exception: fix the function first"


async def _insert(ls: AdaCoderServer, snapshot: Snapshot, name: str, what: str, edits: Sequence[Edit]) -> None:
    """Ask the editor to make edits in a document. If the text has changed or the editor refuses, show a warning.

    `name` is the name of the function, and `what` describes the inserted text.
    """
    await ls.protocol.rested()  # after this line, no other task may run until the edit is sent
    try:
        if not take(ls.workspace, snapshot.uri).same_as(snapshot):
            ls.show(f"The text of '{name}' has changed since you asked: ask again.", warning=True)
            return
        why_not = await refusal(ls, what, snapshot, edits)
    except (NotInsertedError, TargetError) as why:
        why_not = str(why).rstrip(".")
    if why_not is not None:
        ls.show(f"Not inserted: {what}: {why_not}.", warning=True)


@reads(JobParams)
async def on_cancel(ls: AdaCoderServer, params: JobParams) -> dict[str, Any]:
    """Handle `.cancel` `{jobId?}`: cancel a job.

    Without `jobId`, cancel all jobs and all checks on save.
    """
    if params.job_id is None:
        ls.state.saving.cancel()
        ls.state.tests_ahead.stop()
    async with ls.state.looking_up:
        activities = (ls.state.batches, ls.state.jobs, ls.state.cross_checks)
        return {"cancelled": [job_id for each in activities for job_id in each.cancel(params.job_id)]}
