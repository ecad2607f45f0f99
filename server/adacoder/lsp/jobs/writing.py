"""Show the last lines of a model's reply in the editor while the model writes. The document is not changed."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from adacoder.journal import OpenStep
from adacoder.lsp.connection.pygls_fixes import WRITING
from adacoder.pytext import Lines

if TYPE_CHECKING:
    from adacoder.domain import Step, Target
    from adacoder.journal import Waiting
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.snapshot import Snapshot

_PAUSE = 0.08
"""Minimum number of seconds between two notifications."""
_TAIL = 4000
"""Number of characters at the end of a reply that are searched for lines."""
_LINES = 40
"""Maximum number of lines in a notification."""


class LiveReply:
    """Sends the last lines of a growing reply to a client, which shows them next to the function."""

    def __init__(self, client: Client, job_id: str, snapshot: Snapshot, target: Target) -> None:
        """Compute the position of the function. Call this in a thread, because a long file takes time."""
        lines = Lines(target.text)
        ends = target.definition.start, target.docstring_span.end
        first, last = (lines.line_at(offset) - target.module.first_line for offset in ends)
        place = {"uri": str(snapshot.uri), "version": snapshot.version, "first": first, "last": last}
        self._client = client
        self._place = {"jobId": job_id, **place}
        self._text = self._message = ""
        self._sent = 0.0
        """Time of the last notification."""
        self._later: asyncio.TimerHandle | None = None

    def listen(self, event: OpenStep | Step | Waiting, message: str) -> None:
        """Update the displayed reply after a Journal event. `message` is the progress message of this event."""
        self._message = message
        if isinstance(event, OpenStep):
            self._text = event.text or self._text
            wait = self._sent + _PAUSE - time.monotonic() if event.text else 0
            if self._later is None:
                self._later = asyncio.get_running_loop().call_later(max(wait, 0), self._send)

    def end(self) -> None:
        """Tell the client to remove the displayed reply."""
        if self._later is not None:
            self._later.cancel()
        self._notify(ended=True)

    def _send(self) -> None:
        self._later, self._sent = None, time.monotonic()
        self._notify(message=self._message, lines=_last_lines(self._text))

    def _notify(self, **shown: object) -> None:
        self._client.protocol.notify(WRITING, {**self._place, **shown})


def _last_lines(text: str) -> list[str]:
    lines = text[-_TAIL:].splitlines()
    return [line for line in lines if not line.lstrip().startswith("```")][-_LINES:]
