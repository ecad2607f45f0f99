"""Run jobs in the background, at most one per function.

The reply to a command does not wait for the job; only `adacoder/run` waits. A server that exits cancels all jobs and
waits for their end, so that no process is left running.

A result that was not inserted is kept, and the user can view, insert or discard it later.
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
"""Seconds to wait for the user's answer to a message."""
_SHOW, _DISCARD, _INSERT = "Show difference", "Discard", "Insert"


class Jobs:
    """Start, cancel and list the jobs of a server."""

    def __init__(self, client: Client, results: Results, shown: Shown) -> None:
        self._client = client
        self._results = results
        self._shown = shown
        self._running: dict[str, Job] = {}
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self.on_start: list[Callable[[], None]] = []
        """Callbacks that run when a job starts."""
        self.on_end: list[Callable[[Job], None]] = []
        """Callbacks that run when a job has ended, after its evidence was stored."""
        self._closing = False

    def of(self, uri: Uri) -> list[Job]:
        """Return the running jobs on functions of a document."""
        return [job for job in self._running.values() if job.snapshot.uri == uri]

    def moved(self, old: str, new: str) -> None:
        """Update the running jobs after the file or folder `old` was renamed to `new`."""
        for job in self._running.values():
            if (uri := renamed(job.snapshot.uri, old, new)) is not None:
                path = path_of(self._client.workspace, uri) or job.snapshot.path
                job.snapshot = replace(job.snapshot, uri=uri, path=path)

    def functions(self) -> list[tuple[Uri, Path, str]]:
        """Return the functions with a running job or a kept result. Each is a tuple (document URI, path, text)."""
        running = [(job.snapshot.uri, job.snapshot.path, job.target.source) for job in self._running.values()]
        return [*running, *((each.uri, each.path, each.source) for each in self._results.latest())]

    def start(self, job: Job) -> Job:
        """Start a job in the background. The job does nothing until `job.begin` is called.

        Raises:
            TargetError: another job is working on the same function, or the server is shutting down.
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
        """Wait for a job and return its answer.

        If the wait is cancelled, also cancel the job.
        """
        task: asyncio.Task[dict[str, JSON]] = job.task
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            job.cancel()
            await asyncio.wait({task})
            if task.cancelled():
                raise
            return task.result()  # the job could not be cancelled, because its edit was already sent

    def cancel(self, job_id: str | None) -> list[str]:
        """Cancel the job with this id, or all jobs if the id is None. Return the ids of the cancelled jobs."""
        chosen = [job for job in self._running.values() if job_id in (None, job.id)]
        return [job.id for job in chosen if job.cancel()]

    def discard(self, result: KeptResult) -> None:
        """Discard a kept result. If a job is about to insert this result, cancel the job."""
        self._results.drop(result.job_id)
        for job in self._running.values():
            if not isinstance(job.work, Mode) and job.result_id == result.job_id:
                job.cancel()

    def status(self) -> list[JSON]:
        """Describe the running jobs to the client, the oldest first."""
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
        """Refuse new jobs, and send no more messages about jobs."""
        self._closing = True

    async def close(self) -> None:
        """Refuse new jobs, cancel the running jobs, and wait for their end."""
        self.stop()
        jobs = list(self._running.values())
        for job in jobs:
            job.cancel(even_if_sent=True)
        if jobs:
            await asyncio.wait({job.task for job in jobs}, timeout=_PATIENCE)

    # The end of a job

    def _ended(self, job: Job) -> None:
        """Log the end of a job, show the message, and show the evidence."""
        del self._running[job.id]
        if not self._running:
            self._is_idle.set()
        ending = job.ending
        if ending is not None and not self._closing:
            told = {str(text): text for text in (ending.message, report.summary(ending.outcome))}
            self._client.log(joined(" ", told.values()))
            if job.announced:  # else the job's client or batch shows the message
                self._tell(job, ending)
            # Show no evidence about code that the user cannot see: a discarded candidate, or a candidate from the
            # client.
            if ending.applied or ending.kept or not (job.reply or edits_of(ending.outcome)):
                self._shown.found(job.snapshot, ending.outcome, is_inserted=ending.applied, job_id=job.result_id)
            for tell in self.on_end:
                tell(job)
        self._refresh()

    def _refresh(self) -> None:
        if not self._closing:
            self._shown.refresh()

    # Kept results

    def _tell(self, job: Job, ending: Ending) -> None:
        """Show the final message of a job. If a result was kept, some clients ask what to do with the result."""
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
        """Start a job that inserts a kept result.

        With `number`, insert an earlier candidate of the same job instead. Candidates are numbered from 1 in the order
        of their evaluation.

        Raises:
            AdaCoderError: there is no such candidate or function, the function no longer matches the result, or the
                result was discarded.
        """
        text = None if number is None else result.nth(number)
        snapshot, target = await self._placed(result)
        self._results.demanded(result.job_id)  # the user may have discarded the result meanwhile
        if text is not None:
            candidate = await aside(read_reply, text, target)
            # With an id of its own, this candidate does not replace the job's kept result.
            result = replace(result, job_id=f"{result.job_id}/{number}", candidate=candidate, reach=())
        return self.start(Job(result, snapshot, target, apply=True, announced=True))

    async def difference(self, result: KeptResult, *, shows: bool) -> dict[str, JSON]:
        """Return the change that a kept result would make: a unified diff, and the new text of the document.

        With `shows`, open the diff in the editor.

        Raises:
            AdaCoderError: the function does not exist, or no longer matches the result.
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
        snapshot = take(self._client.workspace, result.uri)
        return snapshot, await asyncio.to_thread(result.function_in, snapshot)


def _same_function(one: Job, other: Job) -> bool:
    return (one.snapshot.path, one.target.qualname) == (other.snapshot.path, other.target.qualname)


def _about(job: Job, result: KeptResult | None) -> dict[str, JSON]:
    """Return the data that accompanies the final message to the client."""
    return {
        "jobId": job.result_id,
        "textDocument": {"uri": job.snapshot.uri, "version": job.snapshot.version},
        "qualifiedName": job.target.qualname,
        "kept": result is not None,
    }
