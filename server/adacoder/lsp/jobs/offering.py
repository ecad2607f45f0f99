"""Show the user how jobs go on and end, and carry out requests for a kept result: insert, show, or discard it.

These requests are offered as code actions, and in a question if the client shows that next to the text. A result stays
kept if the question is not answered.
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
from adacoder.domain import JSON, AdaCoderError, Target
from adacoder.lsp.from_proto import FunctionPlace, ParametersError
from adacoder.lsp.jobs.jobs import Job
from adacoder.lsp.jobs.results import KeptResult, Results, edits_of, read_reply
from adacoder.lsp.snapshot import Snapshot, find, take
from adacoder.messages import joined
from adacoder.source.text import apply_edits

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client, Documents
    from adacoder.lsp.jobs.policy import Ending
    from adacoder.lsp.showing.shown import Shown
    from adacoder.lsp.uri import Uri

_ASKING = 3600.0
"""Seconds to wait for the user's answer. No other work waits for it."""
_SHOW, _DISCARD, _INSERT = "Show difference", "Discard", "Insert"


class Offering:
    """Jobs and kept results as presented to one client's user."""

    def __init__(
        self, client: Client, results: Results, shown: Shown, documents: Documents, start: Callable[[Job], None]
    ) -> None:
        self._client = client
        self._results = results
        self._shown = shown
        self._documents = documents
        self._start = start
        self._questions: set[asyncio.Task[None]] = set()

    def moved(self, job: Job) -> None:
        """Show a job that has begun, reached a new round, or ended. Its end is logged, told, and shown as evidence."""
        if (ending := job.ending) is not None:
            self._client.log(joined(" ", [ending.message, report.summary(ending.outcome)]))
            if job.announced:  # otherwise a request waits for it
                self._tell(job, ending)
            # Do not show a candidate that the user cannot look at: it was discarded, or it came from a client.
            if ending.applied or ending.kept or not (job.reply or edits_of(ending.outcome)):
                self._shown.found(job.snapshot, ending.outcome, is_inserted=ending.applied, job_id=job.result_id)
        self._shown.refresh()

    def _tell(self, job: Job, ending: Ending) -> None:
        """Tell the end of a job. If its result is kept and a question would not disturb the user, ask one."""
        result, habits = self._results.kept(job.result_id), self._client.habits
        if result is None or habits.shows_endings or not habits.asks_beside_text:
            self._client.tell_end(ending.message, warning=not ending.is_good, about=_about(job, result))
            return
        question = asyncio.create_task(self._ask(result, ending))
        self._questions.add(question)
        question.add_done_callback(self._questions.discard)

    async def _ask(self, result: KeptResult, ending: Ending) -> None:
        kind = types.MessageType.Info if ending.is_good else types.MessageType.Warning
        actions = [types.MessageActionItem(title) for title in (_SHOW, _DISCARD, _INSERT)]
        params = types.ShowMessageRequestParams(kind, ending.message, actions)
        try:
            answer = await self._client.protocol.ask(types.WINDOW_SHOW_MESSAGE_REQUEST, params, seconds=_ASKING)
        except (TimeoutError, JsonRpcException):
            return
        try:
            await self._do(result, getattr(answer, "title", None))
        except AdaCoderError as error:
            self._client.show(str(error), warning=True)

    async def _do(self, result: KeptResult, title: str | None) -> None:
        if title == _SHOW:
            await self.difference(result, shows=True)
        elif title == _DISCARD:
            self._results.drop(result.job_id)
        elif title == _INSERT:
            job = await self.insertion(result)
            job.may_begin.set()

    def listed(self, uri: Uri | None) -> list[JSON]:
        """The kept results of a document, or all kept results, the latest first."""
        return [each.json() for each in self._results.latest() if uri is None or uri == each.uri]

    def result(self, job_id: str | None) -> KeptResult:
        """The kept result of a job.

        Raises:
            ParametersError: the job has no kept result.
        """
        result = self._results.kept(job_id)
        if result is None:
            raise ParametersError("No result of that job is kept: it was inserted or discarded, or is too old.")
        return result

    async def chosen(self, result: KeptResult, number: object) -> KeptResult:
        """`result` with the `number`-th candidate that its job evaluated, counted from 1.

        It can be inserted whatever its rank, unless it passes no example.

        Raises:
            AdaCoderError: the candidate does not exist, or the result does not fit its function.
        """
        texts = result.evaluated
        if not texts:
            raise ParametersError("Only the result of that job is kept: insert it without 'candidate'.")
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= len(texts):
            raise ParametersError(f"'candidate' must be a number from 1 to {len(texts)}.")
        _, target = await self._placed(result)
        candidate = await aside(read_reply, texts[number - 1], target)
        # Use a separate id, so that the job's kept result stays whatever happens to this candidate.
        return replace(result, job_id=f"{result.job_id}/{number}", candidate=candidate, reach=())

    async def insertion(self, result: KeptResult) -> Job:
        """Start the job that inserts a kept result.

        Raises:
            AdaCoderError: its function is gone, or the result does not fit it.
        """
        snapshot, target = await self._placed(result)
        job = Job(result, snapshot, target, apply=True, announced=True)
        self._start(job)
        return job

    async def difference(self, result: KeptResult, *, shows: bool) -> dict[str, JSON]:
        """The change that a kept result would make, as a unified diff and as the document's new text.

        With `shows`, open the diff in the editor.
        """
        snapshot, target = await self._placed(result)
        after = await aside(_text_with, target, result)
        diff = report.unified_diff(target.text, after, Path(target.module.path.name))
        if shows:
            await self._documents.show("The difference", f"{snapshot.path.stem}.{result.name}.diff", diff)
        document: JSON = {"uri": snapshot.uri, "version": snapshot.version}
        return {"difference": diff, "newText": after, "textDocument": document, **result.json()}

    def close(self) -> None:
        """Stop waiting for answers."""
        for question in self._questions:
            question.cancel()

    async def _placed(self, result: KeptResult) -> tuple[Snapshot, Target]:
        """The current text, and the result's function in it.

        Raises:
            AdaCoderError: the function is not there, or the result does not fit it.
        """
        snapshot = take(self._client.workspace, result.uri)
        target = await asyncio.to_thread(find, snapshot, FunctionPlace(uri=result.uri, qualname=result.qualname))
        if not result.fits(target):
            raise ParametersError(f"'{result.name}' now has other parameters, or already has that body.")
        return snapshot, target


def _text_with(target: Target, result: KeptResult) -> str:
    """The text of the function's module with the result in it."""
    from adacoder.source.splice import splice

    if result.candidate is None:
        return target.text.replace(result.source, result.written, 1)
    return apply_edits(target.text, splice(target, result.candidate).edits)


def _about(job: Job, result: KeptResult | None) -> dict[str, JSON]:
    """Data for clients about a finished job. The version belongs to the text that the job worked on."""
    return {
        "jobId": job.result_id,
        "textDocument": {"uri": job.snapshot.uri, "version": job.snapshot.version},
        "qualifiedName": job.target.qualname,
        "kept": result is not None,
    }
