"""Work-done progress: messages to the user while a job runs, and a button to cancel it."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client

log = logging.getLogger(__name__)

_PATIENCE = 5.0
"""Seconds to wait for a client to create a token for progress that the server begins."""
_PAUSE = 0.1
"""Seconds between two messages, because a model writes faster than anyone reads."""
_LONG = 10.0
"""Seconds after which a job is reported in a message if no progress is shown."""
_numbers = itertools.count(1)


@asynccontextmanager
async def progress(
    client: Client, title: str, token: types.ProgressToken | None, cancel: Callable[[], object]
) -> AsyncGenerator[Callable[[str], None]]:
    """Show progress under `token` during the `async with` block, which receives a function that shows a message.

    `token` comes from the client or from `new_token`. If it is None, nothing is shown. `cancel` is called when the user
    cancels.
    """
    if token is None:
        yield lambda message: None
        return
    shown = client.work_done_progress
    shown.begin(token, types.WorkDoneProgressBegin(title=title, cancellable=True))
    shown.tokens[token].add_done_callback(lambda _: cancel())
    messages = _Messages(lambda text: shown.report(token, types.WorkDoneProgressReport(message=text)))
    try:
        yield messages.show
    finally:
        messages.close()
        shown.tokens.pop(token, None)  # pygls keeps every token (pygls#607)
        shown.end(token, types.WorkDoneProgressEnd())


@asynccontextmanager
async def announced(client: Client, title: str, cancel: Callable[[], object]) -> AsyncGenerator[Callable[[str], None]]:
    """Show progress that the server begins, as `progress` does. The block does not wait for the client's token.

    If the client shows no progress, one message reports a job that takes long.
    """
    latest = ""
    report: Callable[[str], None] | None = None

    def show(message: str) -> None:
        nonlocal latest
        latest = message
        if report is not None:
            report(message)

    async def shown() -> None:
        nonlocal report
        token = await new_token(client, title)
        if token is None:
            await asyncio.sleep(_LONG)
            client.show(" · ".join(filter(None, (title, latest))), warning=False)
            return
        async with progress(client, title, token, cancel) as report:
            if latest:
                report(latest)
            await ended.wait()

    ended = asyncio.Event()
    showing = asyncio.create_task(shown())
    try:
        yield show
    finally:
        ended.set()
        showing.cancel()
        await asyncio.wait({showing})


async def new_token(client: Client, title: str) -> types.ProgressToken | None:
    """Create a progress token with the client. Return None if it shows no progress that a server begins."""
    if not get_capability(client.client_capabilities, "window.work_done_progress", False):
        return None
    token = f"{title} ({next(_numbers)})"  # some clients show it
    params = types.WorkDoneProgressCreateParams(token=token)
    try:
        await client.protocol.ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params, seconds=_PATIENCE)
    except (TimeoutError, JsonRpcException) as error:
        log.warning("The editor shows no progress: %r", error)
        return None
    return token


class _Messages:
    """Sends the first message at once, then only the latest message after each pause."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send
        self._latest: str | None = None
        self._timer: asyncio.TimerHandle | None = None

    def show(self, message: str) -> None:
        self._latest = message
        if self._timer is None:
            self._flush()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _flush(self) -> None:
        self._timer = None
        if self._latest is not None:
            self._send(self._latest)
            self._latest = None
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._flush)
