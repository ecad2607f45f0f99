"""Run jobs in the background, at most one per function.

A job can outlive the request that started it: a command is answered at once, and its job goes on. Only `adacoder/run`
waits for its job. When the server ends, it cancels all jobs and waits until they have ended, so that no process keeps
running.

The user can look at a result that was not inserted, and then insert or discard it. Code actions offer these choices. If
the client shows questions outside the text, a question offers them as well. If the user does not answer, the result
stays kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from adacoder import report
from adacoder.aside import aside
from adacoder.domain import JSON, AdaCoderError, Target, TargetError
from adacoder.lsp.jobs.ending import Ending
from adacoder.lsp.jobs.job import Job, JobWork
from adacoder.lsp.jobs.results import KeptResult, Results, edits_of, read_reply
from adacoder.lsp.snapshot import Snapshot, path_of, renamed, take
from adacoder.messages import joined
from adacoder.source.notebook import moved
from adacoder.source.text import apply_edits
from adacoder.task import Mode

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.showing.shown import Shown
    from adacoder.lsp.snapshot import Uri

_PATIENCE = 10.0
"""Seconds to wait for cancelled jobs when the server ends."""
_ASKING = 3600.0
"""Seconds to wait for the user's answer. Other work goes on meanwhile."""
_SHOW, _DISCARD, _INSERT = "Show difference", "Discard", "Insert"


class Jobs:
    """All jobs of a server."""

    def __init__(self, client: Client, results: Results, shown: Shown) -> None:
        self._client = client
        self._results = results
        self._shown = shown
        self._running: dict[str, Job] = {}
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self.on_start: list[Callable[[], None]] = []
        """Functions that are called when a job starts."""
        self.on_end: list[Callable[[Job], None]] = []
        """Functions that are called with each job that has ended, after its evidence was recorded."""
        self._closing = False

    def of(self, uri: Uri) -> list[Job]:
        """Return the running jobs on functions of a document."""
        return [job for job in self._running.values() if job.snapshot.uri == uri]

    def moved(self, old: str, new: str) -> None:
        """Let the jobs on functions in the file or folder `old` follow it to `new`."""
        for job in self._running.values():
            if (uri := renamed(job.snapshot.uri, old, new)) is not None:
                path = path_of(self._client.workspace, uri) or job.snapshot.path
                job.snapshot = replace(job.snapshot, uri=uri, path=path)

    def functions(self) -> list[tuple[Uri, Path, str]]:
        """Return the document, its path and the text of each function with a running job or a kept result."""
        running = [(job.snapshot.uri, job.snapshot.path, job.target.source) for job in self._running.values()]
        return [*running, *((each.uri, each.path, each.source) for each in self._results.latest())]

    def start(self, job: Job) -> Job:
        """Start a job in the background. The job waits until `job.begin` is called.

        Raises:
            TargetError: another job is working on that function, or the server is shutting down.
        """
        if self._closing:
            raise TargetError("The language server is shutting down: restart it.")
        if any(_same_function(job, other) for other in self._running.values()):
            raise TargetError(f"AdaCoder is already working on '{job.target.name}': wait for it, or cancel it.")
        self._running[job.id] = job
        self._is_idle.clear()
        for tell in self.on_start:
            tell()
        job.moved = self._refresh
        job.task = asyncio.create_task(JobWork(job, self._client, self._results).run(), name=f"adacoder {job.label}")
        job.task.add_done_callback(lambda _: self._ended(job))
        self._refresh()
        return job

    async def result(self, job: Job) -> dict[str, JSON]:
        """Wait for a job and return its answer. If the wait is cancelled, cancel the job and wait for its end."""
        task: asyncio.Task[dict[str, JSON]] = job.task
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            job.cancel()
            await asyncio.wait({task})
            if task.cancelled():
                raise
            return task.result()  # the job could not be cancelled any more

    def cancel(self, job_id: str | None) -> list[str]:
        """Cancel a job, or all jobs without an id. Return the ids of the jobs that could still be cancelled."""
        chosen = [job for job in self._running.values() if job_id in (None, job.id)]
        return [job.id for job in chosen if job.cancel()]

    def discard(self, result: KeptResult) -> None:
        """Drop a kept result, and cancel its insertion if the edit was not sent yet."""
        self._results.drop(result.job_id)
        for job in self._running.values():
            if not isinstance(job.work, Mode) and job.result_id == result.job_id:
                job.cancel()

    def status(self) -> list[JSON]:
        """Return the running jobs in the form that clients receive, the oldest first."""
        return [
            {
                "jobId": job.id,
                "uri": job.snapshot.uri,
                "qualifiedName": job.target.qualname,
                "target": job.label,
                "mode": job.work.value if isinstance(job.work, Mode) else "insert",
                "message": job.message,
            }
            for job in self._running.values()
        ]

    async def idle(self, seconds: float) -> None:
        """Wait until no job has run for `seconds`."""
        while True:
            await self._is_idle.wait()
            await asyncio.sleep(seconds)
            if self._is_idle.is_set():
                return

    def stop(self) -> None:
        """Refuse new jobs, and no longer report the ends of jobs."""
        self._closing = True

    async def close(self) -> None:
        """Refuse new jobs, cancel all running jobs, and wait until they have ended."""
        self.stop()
        jobs = list(self._running.values())
        for job in jobs:
            job.cancel(even_if_sent=True)
        if jobs:
            await asyncio.wait({job.task for job in jobs}, timeout=_PATIENCE)

    # The course of a job

    def _ended(self, job: Job) -> None:
        """Log the end of a job, report it to the user, and show the evidence."""
        del self._running[job.id]
        if not self._running:
            self._is_idle.set()
        ending = job.ending
        if ending is not None and not self._closing:
            told = {str(text): text for text in (ending.message, report.summary(ending.outcome))}
            self._client.log(joined(" ", told.values()))
            if job.announced:  # otherwise a client or a batch waits for the job
                self._tell(job, ending)
            # The user cannot see a candidate that was discarded or that a client sent, so its evidence is not shown.
            if ending.applied or ending.kept or not (job.reply or edits_of(ending.outcome)):
                self._shown.found(job.snapshot, ending.outcome, is_inserted=ending.applied, job_id=job.result_id)
            for tell in self.on_end:
                tell(job)
        self._refresh()

    def _refresh(self) -> None:
        if not self._closing:
            self._shown.refresh()

    # Results that can still be inserted

    def _tell(self, job: Job, ending: Ending) -> None:
        """Report the end of a job. If its result is kept, ask about the result, unless a question would disturb."""
        result, habits = self._results.kept(job.result_id), self._client.habits
        if result is None or habits.shows_endings or not habits.asks_beside_text:
            about = _about(job, result)
            self._client.tell_end(ending.message, warning=not ending.is_good, about=about, place=job.place)
            return
        self._client.begin(self._ask(result, ending))

    async def _ask(self, result: KeptResult, ending: Ending) -> None:
        kind = types.MessageType.Info if ending.is_good else types.MessageType.Warning
        actions = [types.MessageActionItem(title) for title in (_SHOW, _DISCARD, _INSERT)]
        params = types.ShowMessageRequestParams(kind, ending.message, actions)
        try:
            answer = await self._client.protocol.ask(types.WINDOW_SHOW_MESSAGE_REQUEST, params, seconds=_ASKING)
        except (TimeoutError, JsonRpcException):
            return
        try:
            await self._answered(result, getattr(answer, "title", None))
        except AdaCoderError as error:
            self._client.show(str(error), warning=True)

    async def _answered(self, result: KeptResult, title: str | None) -> None:
        if title == _SHOW:
            await self.difference(result, shows=True)
        elif title == _DISCARD:
            self.discard(result)
        elif title == _INSERT:
            (await self.insert(result)).begin()

    async def insert(self, result: KeptResult, number: object = None) -> Job:
        """Start a job that inserts a kept result. With `number`, the job inserts the candidate of this number instead.

        Candidates are numbered from 1 in the order of their evaluation. Any candidate that passes an example can be
        inserted.

        Raises:
            AdaCoderError: the candidate or the function does not exist, or the result does not fit the function or was
                discarded.
        """
        text = None if number is None else result.nth(number)
        snapshot, target = await self._placed(result)
        self._results.demanded(result.job_id)  # it may have been discarded meanwhile
        if text is not None:
            candidate = await aside(read_reply, text, target)
            # The candidate gets its own id, so inserting it neither replaces nor drops the job's kept result.
            result = replace(result, job_id=f"{result.job_id}/{number}", candidate=candidate, reach=())
        return self.start(Job(result, snapshot, target, apply=True, announced=True))

    async def difference(self, result: KeptResult, *, shows: bool) -> dict[str, JSON]:
        """Return the change that a kept result would make, as a unified diff and as the document's new text.

        With `shows`, open the diff in the editor.

        Raises:
            AdaCoderError: the function does not exist, or the result does not fit the function.
        """
        snapshot, target = await self._placed(result)
        edits = await aside(KeptResult.edits_in, result, target)
        after = apply_edits(snapshot.text, [moved(edit, -snapshot.start) for edit in edits])
        diff = report.unified_diff(snapshot.text, after, Path(target.module.path.name))
        if shows:
            await self._client.documents.show("The difference", f"{snapshot.path.stem}.{result.name}.diff", diff)
        document: JSON = {"uri": snapshot.uri, "version": snapshot.version}
        return {"difference": diff, "newText": after, "textDocument": document, **result.json()}

    async def _placed(self, result: KeptResult) -> tuple[Snapshot, Target]:
        """Return a snapshot of the current text, and the function for which the result was written."""
        snapshot = take(self._client.workspace, result.uri)
        return snapshot, await asyncio.to_thread(result.function_in, snapshot)


def _same_function(one: Job, other: Job) -> bool:
    return (one.snapshot.path, one.target.qualname) == (other.snapshot.path, other.target.qualname)


def _about(job: Job, result: KeptResult | None) -> dict[str, JSON]:
    """Return data for clients about an ended job. `version` is the version of the text on which the job worked."""
    return {
        "jobId": job.result_id,
        "textDocument": {"uri": job.snapshot.uri, "version": job.snapshot.version},
        "qualifiedName": job.target.qualname,
        "kept": result is not None,
    }
