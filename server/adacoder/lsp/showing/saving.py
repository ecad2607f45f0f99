"""Check a file when it is saved, if the setting `checkOnSave` is on."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from adacoder.aside import aside
from adacoder.domain import AdaCoderError
from adacoder.lsp.connection.client import new_token, progress
from adacoder.lsp.snapshot import Snapshot, take
from adacoder.project import is_page
from adacoder.task import Task

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.jobs.jobs import Jobs
    from adacoder.lsp.showing.shown import Shown
    from adacoder.lsp.snapshot import Uri
    from adacoder.settings import Settings
    from adacoder.source.locate import Documented

log = logging.getLogger(__name__)

_QUIET = 1.0
"""Seconds after which the progress of a check is shown."""


class Saving:
    """Runs the checks of saved files, at most one check of each file at a time."""

    def __init__(self, client: Client, shown: Shown, jobs: Jobs) -> None:
        self._client = client
        self._shown = shown
        self._jobs = jobs
        self._running: dict[Uri, asyncio.Task[None]] = {}

    def saved(self, uri: Uri, cells: Sequence[Uri] | None = None) -> None:
        """Check a saved document. Cancel the previous check of the same document.

        In a notebook, the documents `cells` are checked one after another.
        """
        if uri in self._running:
            self._running[uri].cancel()
        task = asyncio.get_running_loop().create_task(self._check_all((uri,) if cells is None else cells))
        self._running[uri] = task
        task.add_done_callback(lambda ended: self._ended(uri, ended))

    def cancel(self) -> None:
        """Cancel all checks."""
        for task in self._running.values():
            task.cancel()

    async def close(self) -> None:
        """Cancel all checks, and wait until they have ended."""
        tasks = list(self._running.values())
        self.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, uri: Uri, task: asyncio.Task[None]) -> None:
        if self._running.get(uri) is task:
            del self._running[uri]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("The check of %s on save failed: %r", uri, error)

    async def _check_all(self, uris: Sequence[Uri]) -> None:
        for uri in uris:
            settings = await self._shown.settings(uri)
            if settings.check_on_save and settings.trusted:
                await self._check(uri, settings)

    async def _check(self, uri: Uri, settings: Settings) -> None:
        try:
            snapshot = take(self._client.workspace, uri)
            found = await aside(_functions, snapshot)
        except AdaCoderError:
            return
        wanted = [each for each in found if _has_examples(each)]
        if not wanted:
            return
        service = await self._client.service()
        began, show = time.monotonic(), None
        async with AsyncExitStack() as shown:
            for number, each in enumerate(wanted):
                if show is None and time.monotonic() - began > _QUIET:
                    title = f"AdaCoder: checking {snapshot.path.name}"
                    token = await new_token(self._client)
                    show = await shown.enter_async_context(progress(self._client, title, token, self.cancel))
                if show is not None:
                    show(f"{number}/{len(wanted)} functions")
                if any(job.target.qualname == each.target.qualname for job in self._jobs.of(uri)):
                    continue  # the job will run the examples
                task = Task(each.target, settings, snapshot.project)
                outcome = await service.check(task, each.unreadable, covers=settings.unreached_hints)
                self._shown.found(snapshot, outcome, is_inserted=False)


def _functions(snapshot: Snapshot) -> tuple[Documented, ...]:
    if is_page(snapshot.path):
        return tuple(snapshot.documented())
    return snapshot.functions()


def _has_examples(function: Documented) -> bool:
    """Return whether a function needs a check. A stub is not checked, because its examples always fail."""
    return not function.target.is_stub and bool(function.target.examples or function.unreadable)
