"""Run several jobs for one command: write all stubs of a file, or make a failing test pass.

A stub is a function with a docstring and no body. The jobs run one after another, each on the current text of the file.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from adacoder import report
from adacoder.domain import JSON, AdaCoderError, Target, TargetError
from adacoder.lsp.connection.client import announced
from adacoder.lsp.jobs.job import Activity, Job, after_edit
from adacoder.lsp.jobs.results import EndedBatch, EndedJob, Results
from adacoder.lsp.snapshot import Snapshot, take, uri_at
from adacoder.messages import Text, joined
from adacoder.project import below
from adacoder.task import Mode

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.jobs.jobs import Jobs

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Batch(Activity):
    """Several jobs that one command starts."""

    mode: ClassVar[str]
    """Name of the command that started the batch."""
    snapshot: Snapshot
    """The document at the start of the batch."""
    show: Callable[[str], None] = lambda message: None
    answers: dict[str, dict[str, JSON]] = field(default_factory=dict)
    """Answers of the jobs so far, by function name."""
    jobs: list[EndedJob] = field(default_factory=list)
    """The jobs that have ended. A job that could not start is not in the list."""

    def ended(self) -> EndedBatch:
        """Return a record of this batch, to be stored in `Results`."""
        answer: dict[str, JSON] = {"summary": self.summary, "results": [*self.answers.values()]}
        return EndedBatch(self.id, answer, tuple(self.jobs))

    def tell(self, message: str) -> None:
        """Show a progress message."""
        self.message = message
        self.show(message)

    @property
    def target(self) -> str:
        """Name of the file or test, as shown to the user."""
        return self.snapshot.path.name

    @property
    @abstractmethod
    def title(self) -> str:
        """Title of the progress display."""

    @property
    @abstractmethod
    def summary(self) -> Text:
        """Message to show when the batch ends."""

    @property
    @abstractmethod
    def is_good(self) -> bool:
        """True if the batch did all that the command asked for."""

    @property
    def about(self) -> dict[str, JSON]:
        """Return the data that accompanies the final message to the client."""
        document: JSON = {"uri": self.snapshot.uri, "version": self.snapshot.version}
        return {"jobId": self.id, "textDocument": document, "qualifiedName": None, "kept": False}

    @abstractmethod
    async def perform(self, batches: Batches) -> None:
        """Run the jobs one after another."""

    def note(self, name: str, answer: dict[str, JSON]) -> None:
        """Store the answer of a job.

        Raises:
            CancelledError: the user cancelled the batch while the job was inserting its result.
        """
        self.answers[name] = answer
        if self.is_cancelled:
            raise asyncio.CancelledError


@dataclass(eq=False)
class _Stubs(Batch):
    """A request to write the bodies of all stubs in a file."""

    mode = "generateAll"
    number: int = 0
    """Number of stubs at the start of the batch."""

    @property
    def title(self) -> str:
        return f"AdaCoder: generating the stubs in {self.snapshot.path.name}"

    @property
    def summary(self) -> Text:
        """List the stubs that were written. Then say why the other stubs were not."""
        written = [f"'{name}' {_passed(answer)}" for name, answer in self.answers.items() if answer["applied"]]
        others = [answer["summary"] for answer in self.answers.values() if not answer["applied"]]
        head = f"Generated {len(written)} of {self.number} stubs in {self.snapshot.path.name}"
        said = (each for each in others if isinstance(each, str))
        return joined(" ", [f"{head}: {', '.join(written)}." if written else f"{head}.", *said])

    @property
    def is_good(self) -> bool:
        return all(answer["applied"] for answer in self.answers.values())

    async def perform(self, batches: Batches) -> None:
        tried: set[tuple[str, str]] = set()
        snapshot = self.snapshot
        while True:
            left = [each for each in await asyncio.to_thread(_stubs, snapshot) if _key(each) not in tried]
            if not left:
                return
            target = left[0]
            tried.add(_key(target))
            place = f"{len(tried)}/{self.number} · {target.name}"
            job = Job(Mode.GENERATE, snapshot, target, apply=True, announced=False)
            answer = await batches.result(self, job, place)
            self.note(target.qualname, answer)
            snapshot = await batches.after(job.snapshot, is_edited=answer["applied"] is True)


@dataclass(eq=False)
class _FailingTest(Batch):
    """A request to make a failing test of the project pass. The functions that the test runs are fixed in turn."""

    mode = "fixTest"
    test: str = ""
    """Name of the test, with its path in the project: `tests/test_a.py::test_f`."""
    reasons: list[str] = field(default_factory=list)
    """Sentences for the user that say why each function was tried, and why other functions cannot be fixed."""

    @property
    def target(self) -> str:
        return self.test

    @property
    def title(self) -> str:
        return f"AdaCoder: making {self.test} pass"

    @property
    def summary(self) -> Text:
        """Say if the test passes. Then report each function that was tried."""
        if not self.answers:
            return joined(" ", self.reasons)
        said = (answer["summary"] for answer in self.answers.values())
        tried = [
            Text(f"{reason} ", each) for reason, each in zip(self.reasons, said, strict=False) if isinstance(each, str)
        ]
        has_result = any(answer["status"] == "verified" and answer["kept"] for answer in self.answers.values())
        passes = "would pass with the result" if has_result else "still fails"
        head = f"{self.test} {'passes' if self._is_applied else passes}."
        return joined(" ", [head, *tried, *self.reasons[len(self.answers) :]])

    @property
    def _is_applied(self) -> bool:
        return any(answer["applied"] for answer in self.answers.values())

    @property
    def is_good(self) -> bool:
        return any(answer["status"] == "verified" and answer["isGood"] for answer in self.answers.values())

    @property
    def about(self) -> dict[str, JSON]:
        """Describe the last job of the batch. If its result was kept, the client can offer to insert the result."""
        last = self.jobs[-1] if self.jobs else None
        if last is None or not last.answer["kept"]:
            return super().about
        document: JSON = {"uri": last.uri, "version": None}
        return {"jobId": last.id, "textDocument": document, "qualifiedName": last.outcome.target.qualname, "kept": True}

    async def perform(self, batches: Batches) -> None:
        client = batches.client
        self.tell("finding the functions that the test runs")
        service, settings = await client.service_for(self.snapshot)
        suspects = await service.suspects(self.test, settings, self.snapshot.project)
        for number, (suspect, why) in enumerate(suspects.targets, 1):
            label = report.label(suspect, self.snapshot.folder)
            self.reasons.append(f"{label} was tried, because it is {why}")
            snapshot = take(client.workspace, uri_at(client.workspace, suspect.module.path))
            target = await asyncio.to_thread(snapshot.again, suspect)
            if target is None:
                answer: dict[str, JSON] = _not_begun(f"'{suspect.name}' was edited meanwhile.")
            else:
                job = Job(Mode.FIX, snapshot, target, apply=True, announced=False, goal=self.test)
                answer = await batches.result(self, job, f"{number}/{len(suspects.targets)} · {suspect.name}")
            self.note(label, answer)
            if answer["status"] == "verified":
                break
        self.reasons += suspects.notes


class Batches:
    """Start, cancel and list the batches of a server."""

    def __init__(self, client: Client, jobs: Jobs, results: Results) -> None:
        self.client = client
        self._jobs = jobs
        self._results = results
        self._running: dict[str, Batch] = {}
        self._closing = False

    async def start_stubs(self, snapshot: Snapshot) -> Batch:
        """Start a batch that writes the bodies of all stubs in a file. Do not wait for its end.

        Raises:
            TargetError: the file has no stubs, another batch is working on the file, or the server is shutting down.
        """
        stubs = await asyncio.to_thread(_stubs, snapshot)
        if not stubs:
            raise TargetError(f"There is no function with a docstring and no body yet in {snapshot.path}.")
        return self._start(_Stubs(snapshot, number=len(stubs)))

    async def start_test(self, snapshot: Snapshot, test: str) -> Batch:
        """Start a batch that makes a failing test pass. Do not wait for its end.

        `test` is the name of the test without the path.

        Raises:
            TargetError: the file has unsaved changes, another batch is working on the file, or the server is shutting
                down.
        """
        if snapshot.version is not None and await asyncio.to_thread(_is_unsaved, snapshot):
            raise TargetError(f"{snapshot.path} has unsaved changes, and tests run as they are on disk: save it first.")
        return self._start(_FailingTest(snapshot, test=f"{below(snapshot.folder, snapshot.path).as_posix()}::{test}"))

    def _start(self, batch: Batch) -> Batch:
        if self._closing:
            raise TargetError("The language server is shutting down: restart it.")
        path = batch.snapshot.path
        if any(other.snapshot.path == path for other in self._running.values()):
            raise TargetError(f"AdaCoder is already working on {path.name}: wait for it, or cancel it.")
        self._running[batch.id] = batch
        batch.task = asyncio.create_task(self._perform(batch), name=f"adacoder {path.name}")
        batch.task.add_done_callback(lambda _: self._running.pop(batch.id))
        return batch

    def cancel(self, job_id: str | None) -> list[str]:
        """Cancel the batch with this id, or all batches if the id is None. Return the ids of the cancelled batches."""
        chosen = [batch for batch in self._running.values() if job_id in (None, batch.id)]
        for batch in chosen:
            batch.cancel()
        return [batch.id for batch in chosen]

    def status(self) -> list[JSON]:
        """Describe the running batches to the client, the oldest first."""
        return [
            {
                "jobId": batch.id,
                "uri": batch.snapshot.uri,
                "qualifiedName": None,
                "target": batch.target,
                "mode": batch.mode,
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
        """Run a batch. At its end, also after a cancellation, show one message."""
        ended: str = ""
        try:
            await batch.may_begin.wait()
            async with announced(self.client, batch.title, batch.cancel) as show:
                batch.show = show
                await batch.perform(self)
        except AdaCoderError as error:
            ended = str(error)
        except asyncio.CancelledError:
            ended = "Cancelled."
            raise
        except Exception as error:
            log.exception("'%s' failed on %s", batch.mode, batch.snapshot.path)
            ended = f"AdaCoder failed ({type(error).__name__}): see the language server's log."
        finally:
            is_good = not ended and batch.is_good
            self._results.end(batch.ended())
            if not self._closing:
                message = joined(" ", filter(None, [ended, batch.summary]))
                self.client.tell_end(message, warning=not is_good, about=batch.about)

    async def result(self, batch: Batch, job: Job, place: str) -> dict[str, JSON]:
        """Run a job of a batch and return the job's answer.

        `place`, such as `2/5 · f`, is shown before each progress message of the job.
        """
        job.relay = lambda message: batch.tell(f"{place} · {message}")
        try:
            self._jobs.start(job).begin()
        except TargetError as error:
            return _not_begun(str(error))
        try:
            return await self._jobs.result(job)
        except asyncio.CancelledError:
            if batch.is_cancelled or job.ended is None:
                raise
            return {**job.ended.answer}  # the user cancelled this job, but not the batch
        finally:
            if job.ended is not None:
                batch.jobs.append(job.ended)

    async def after(self, snapshot: Snapshot, *, is_edited: bool) -> Snapshot:
        """Return a snapshot of the current text. After an edit, wait first until the client reports the edited text."""
        return await after_edit(self.client, snapshot) if is_edited else take(self.client.workspace, snapshot.uri)


def _stubs(snapshot: Snapshot) -> Sequence[Target]:
    """Return the stubs in a document. If a stub uses other stubs, the other stubs come first."""
    from adacoder.source.dependence import by_dependence

    found = snapshot.functions()
    return by_dependence([one.target for one in found if one.target.is_stub and one.unreadable is None])


def _key(target: Target) -> tuple[str, str]:
    return target.qualname, target.source


def _is_unsaved(snapshot: Snapshot) -> bool:
    from adacoder.source.text import read

    return read(snapshot.path).text != snapshot.text


def _not_begun(reason: str) -> dict[str, JSON]:
    return {"status": "error", "applied": False, "summary": reason}


def _passed(answer: dict[str, JSON]) -> str:
    examples = answer.get("examples")
    return f"{examples['passed']}/{examples['total']}" if isinstance(examples, dict) else ""
