"""Show in the editor what a model writes while it writes. This never changes the text of a document."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from adacoder.journal import OpenStep
from adacoder.lsp.connection.pygls_fixes import WRITING
from adacoder.pytext import Lines
from adacoder.task import Mode

if TYPE_CHECKING:
    from adacoder.domain import Step, Target
    from adacoder.journal import Waiting
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.jobs.job import Job

_PAUSE = 0.08
"""Minimum seconds between two notifications while a reply grows."""
_TAIL = 4000
"""Maximum number of characters of a reply that are looked at."""
_LINES = 40
"""Maximum number of lines in a notification."""
_MODES = frozenset({Mode.GENERATE, Mode.FIX, Mode.ANOTHER})


class LiveReply:
    """Sends the last lines of a growing reply to a client that shows them beside the function."""

    def __init__(self, client: Client, job: Job, first: int, last: int) -> None:
        """`first` and `last` are the lines of the header and of the docstring's end, counted from 0."""
        self._client, self._job = client, job
        self._place = {"uri": str(job.snapshot.uri), "version": job.snapshot.version, "first": first, "last": last}
        self._text = ""
        self._sent = 0.0
        """The time of the last notification."""
        self._later: asyncio.TimerHandle | None = None

    def listen(self, event: OpenStep | Step | Waiting) -> None:
        """Handle an event of the Journal."""
        if isinstance(event, OpenStep):
            self._text = event.text or self._text
            wait = self._sent + _PAUSE - time.monotonic() if event.text else 0
            if self._later is None:
                self._later = asyncio.get_running_loop().call_later(max(wait, 0), self._send)

    def end(self) -> None:
        """Tell the client that there is nothing to show any more."""
        if self._later is not None:
            self._later.cancel()
        self._notify(ended=True)

    def _send(self) -> None:
        self._later, self._sent = None, time.monotonic()
        self._notify(message=self._job.message, lines=_last_lines(self._text))

    def _notify(self, **shown: object) -> None:
        self._client.protocol.notify(WRITING, {"jobId": self._job.id, **self._place, **shown})


def _last_lines(text: str) -> list[str]:
    lines = text[-_TAIL:].splitlines()
    return [line for line in lines if not line.lstrip().startswith("```")][-_LINES:]


@asynccontextmanager
async def live_reply(client: Client, job: Job) -> AsyncIterator[None]:
    """Show the replies for a job in the `with` block, if the client shows them."""
    if not client.habits.shows_writing or job.work not in _MODES:
        yield
        return
    reply = LiveReply(client, job, *await asyncio.to_thread(_lines_of, job.target))
    job.write = reply.listen
    try:
        yield
    finally:
        reply.end()


def _lines_of(target: Target) -> tuple[int, int]:
    lines = Lines(target.text)
    return lines.line_at(target.definition.start), lines.line_at(target.docstring_span.end)
