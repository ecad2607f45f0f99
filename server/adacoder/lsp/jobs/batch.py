"""Write the bodies of all stubs in a file. A stub is a function with a docstring and no body.

Each stub has its own job. A job begins after the previous job has ended, and works on the text at that moment.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adacoder.domain import JSON, AdaCoderError, Target, TargetError
from adacoder.lsp.connection.client import announced
from adacoder.lsp.jobs.job import Activity, Job, after_edit
from adacoder.lsp.jobs.results import EndedBatch, EndedJob, Results
from adacoder.lsp.snapshot import Snapshot, take
from adacoder.messages import Text, joined
from adacoder.task import Mode

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.jobs.jobs import Jobs

log = logging.getLogger(__name__)

MODE = "generateAll"


@dataclass(eq=False)
class Batch(Activity):
    """A request to write the bodies of all stubs in a file."""

    snapshot: Snapshot
    """The document at the start of the batch."""
    show: Callable[[str], None] = lambda message: None
    stubs: int = 0
    """Number of stubs at the start of the batch."""
    answers: dict[str, dict[str, JSON]] = field(default_factory=dict)
    """Answers of ended jobs, by the qualified names of their functions."""
    jobs: list[EndedJob] = field(default_factory=list)
    """The ended jobs. Jobs that could not start are left out."""

    def ended(self) -> EndedBatch:
        """Return the entry for this batch in `Results`."""
        answer: dict[str, JSON] = {"summary": self.summary, "results": [*self.answers.values()]}
        return EndedBatch(self.id, answer, tuple(self.jobs))

    def tell(self, message: str) -> None:
        """Show progress."""
        self.message = message
        self.show(message)

    @property
    def summary(self) -> Text:
        """Summary for the user: the written stubs with their passed examples, then the summaries of the other jobs."""
        written = [f"'{name}' {_passed(answer)}" for name, answer in self.answers.items() if answer["applied"]]
        others = [answer["summary"] for answer in self.answers.values() if not answer["applied"]]
        head = f"Generated {len(written)} of {self.stubs} stubs in {self.snapshot.path.name}"
        said = (each for each in others if isinstance(each, str))
        return joined(" ", [f"{head}: {', '.join(written)}." if written else f"{head}.", *said])


class Batches:
    """All batches of a server."""

    def __init__(self, client: Client, jobs: Jobs, results: Results) -> None:
        self._client = client
        self._jobs = jobs
        self._results = results
        self._running: dict[str, Batch] = {}
        self._closing = False

    async def start(self, snapshot: Snapshot) -> Batch:
        """Start to write the bodies of a file's stubs in the background.

        Raises:
            TargetError: the file has no stubs, another batch is writing them, or the server is shutting down.
        """
        stubs = await asyncio.to_thread(_stubs, snapshot)
        if self._closing:
            raise TargetError("The language server is shutting down: restart it.")
        if any(other.snapshot.path == snapshot.path for other in self._running.values()):
            raise TargetError(f"AdaCoder is already working on {snapshot.path.name}: wait for it, or cancel it.")
        if not stubs:
            raise TargetError(f"There is no function with a docstring and no body yet in {snapshot.path}.")
        batch = Batch(snapshot, stubs=len(stubs))
        self._running[batch.id] = batch
        batch.task = asyncio.create_task(self._perform(batch), name=f"adacoder {snapshot.path.name}")
        batch.task.add_done_callback(lambda _: self._running.pop(batch.id))
        return batch

    def cancel(self, job_id: str | None) -> list[str]:
        """Cancel a batch, or all batches without an id. Return the ids of the cancelled batches."""
        chosen = [batch for batch in self._running.values() if job_id in (None, batch.id)]
        for batch in chosen:
            batch.cancel()
        return [batch.id for batch in chosen]

    def status(self) -> list[JSON]:
        """Return the running batches, the oldest first, as they are sent to a client."""
        return [
            {
                "jobId": batch.id,
                "uri": batch.snapshot.uri,
                "qualifiedName": None,
                "target": batch.snapshot.path.name,
                "mode": MODE,
                "message": batch.message,
            }
            for batch in self._running.values()
        ]

    async def close(self) -> None:
        """Cancel all batches, and wait until they have ended."""
        self._closing = True
        tasks = [batch.task for batch in self._running.values()]
        self.cancel(None)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _perform(self, batch: Batch) -> None:
        """Write the bodies of the stubs in turn. Show one message at the end, even after a cancellation."""
        title = f"AdaCoder: generating the stubs in {batch.snapshot.path.name}"
        ended: str = ""
        try:
            await batch.may_begin.wait()
            async with announced(self._client, title, batch.cancel) as show:
                batch.show = show
                await self._write_all(batch)
        except AdaCoderError as error:
            ended = Text(str(error), " ")
        except asyncio.CancelledError:
            ended = "Cancelled. "
            raise
        except Exception as error:
            log.exception("Not all stubs of %s were written", batch.snapshot.path)
            ended = f"AdaCoder failed ({type(error).__name__}): see the language server's log. "
        finally:
            is_good = not ended and all(answer["applied"] for answer in batch.answers.values())
            self._results.end(batch.ended())
            if not self._closing:
                document: JSON = {"uri": batch.snapshot.uri, "version": batch.snapshot.version}
                about = {"jobId": batch.id, "textDocument": document, "qualifiedName": None, "kept": False}
                self._client.tell_end(joined("", [ended, batch.summary]), warning=not is_good, about=about)

    async def _write_all(self, batch: Batch) -> None:
        tried: set[tuple[str, str]] = set()
        snapshot = batch.snapshot
        while True:
            left = [each for each in await asyncio.to_thread(_stubs, snapshot) if _key(each) not in tried]
            if not left:
                return
            target = left[0]
            tried.add(_key(target))
            place = f"{len(tried)}/{batch.stubs} · {target.name}"
            answer = await self._write(batch, snapshot, target, place)
            if batch.is_cancelled:  # the edit had already been sent, so the job ended normally
                batch.answers[target.qualname] = answer
                raise asyncio.CancelledError
            batch.answers[target.qualname] = answer
            is_edited = answer["applied"] is True
            snapshot = (
                await after_edit(self._client, snapshot) if is_edited else take(self._client.workspace, snapshot.uri)
            )

    async def _write(self, batch: Batch, snapshot: Snapshot, target: Target, place: str) -> dict[str, JSON]:
        def relay(message: str) -> None:
            batch.tell(f"{place} · {message}")

        job = Job(Mode.GENERATE, snapshot, target, apply=True, announced=False, relay=relay)
        try:
            self._jobs.start(job).begin()
        except TargetError as error:
            return {"status": "error", "applied": False, "summary": str(error)}
        try:
            return await self._jobs.result(job)
        except asyncio.CancelledError:
            if batch.is_cancelled or job.ended is None:
                raise
            return {**job.ended.answer}  # only this job was cancelled
        finally:
            if job.ended is not None:
                batch.jobs.append(job.ended)


def _stubs(snapshot: Snapshot) -> list[Target]:
    """Return the stubs of a text. A stub follows the stubs on which it depends."""
    from adacoder.source.dependence import by_dependence
    from adacoder.source.locate import functions

    found = functions(snapshot.text, snapshot.path, snapshot.folder)
    return by_dependence([one.target for one in found if one.target.is_stub and one.unreadable is None])


def _key(target: Target) -> tuple[str, str]:
    """Return a key that identifies a stub even after the text around the stub has changed."""
    return target.qualname, target.source


def _passed(answer: dict[str, JSON]) -> str:
    examples = answer.get("examples")
    return f"{examples['passed']}/{examples['total']}" if isinstance(examples, dict) else ""
