"""The language server of one client: it calls the handlers, holds the client's state, and shuts down.

The editor waits for the answer to `initialize`, so only modules that this answer needs are imported at the start. The
other modules are imported after the answer, and some of them only when a client uses them.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Callable
from functools import cache, cached_property, partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from adacoder.lsp.connection.client import Client, Habits
from adacoder.lsp.connection.pygls_fixes import OWN
from adacoder.lsp.features import COMMAND, COMMANDS, FEATURES, KINDS, NOTIFICATIONS, REQUESTS

if TYPE_CHECKING:
    from adacoder.lsp.snapshot import Uri

P = ParamSpec("P")
A = TypeVar("A")

MOMENT = 0.5
"""Seconds that a request for actions or lenses waits until the results of earlier servers are read from disk.

Editors send these requests at each keystroke, so the wait is short.
"""
_PATIENCE = 5.0
_LOOKING = 2.0
"""Seconds between two looks at the client's process."""
_SAVING_AS = 1.0
"""Seconds in which the closing of a file and the opening of another can be one step, such as `:saveas` in Neovim."""
_FILES = types.FileOperationFilter(types.FileOperationPattern("**/*"), scheme="file")
_OPTIONS: dict[str, Any] = {
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(code_action_kinds=KINDS),
    types.TEXT_DOCUMENT_INLINE_COMPLETION: types.InlineCompletionOptions(),  # otherwise pygls does not announce it
    types.WORKSPACE_DID_RENAME_FILES: types.FileOperationRegistrationOptions([_FILES]),
}


class AdaCoderServer(Client):
    """The language server of one client, with everything that AdaCoder keeps for this client."""

    def __init__(self) -> None:
        super().__init__()
        self._is_at_work = False

    @cached_property
    def state(self) -> ClientState:
        """The client's jobs, results and evidence. Created on first use, because the imports take time."""
        self._is_at_work = True
        return ClientState(self)

    async def close(self) -> None:
        """End all jobs, and all processes that were kept ready for further jobs."""
        if self._is_at_work:
            await self.state.close()
        self.cancel_work()
        self.documents.close()
        if self._service is not None:
            await self._service.close()


class ClientState:
    """The jobs of one client, their results, and the evidence (results of examples) that the client shows."""

    def __init__(self, client: Client) -> None:
        from adacoder.lsp.jobs.batch import Batches
        from adacoder.lsp.jobs.cross_checks import CrossChecks
        from adacoder.lsp.jobs.jobs import Jobs
        from adacoder.lsp.jobs.results import Results
        from adacoder.lsp.jobs.tests_ahead import TestsAhead
        from adacoder.lsp.showing.saving import Saving
        from adacoder.lsp.showing.shown import Shown

        self.shown = Shown(client)
        self.results = Results(self.shown.dropped)
        self.jobs = Jobs(client, self.results, self.shown)
        self.batches = Batches(client, self.jobs, self.results)
        self.cross_checks = CrossChecks(client, self.jobs, self.results, self.shown)
        self.tests_ahead = TestsAhead(client, self.jobs)
        self.saving = Saving(client, self.shown, self.jobs)
        self.looking_up = asyncio.Lock()
        """Lock that is held while the server looks up the function for a new job.

        Later requests wait for this lock, so a cancellation also reaches a job that was requested just before.
        """
        self._client = client
        self._restored: asyncio.Task[None] | None = None
        self._reading = asyncio.Lock()

    def moved(self, old: str, new: str) -> None:
        """Let jobs and kept results follow the file or folder `old` to `new`."""
        from adacoder.lsp.snapshot import path_of

        self.jobs.moved(old, new)
        self.results.moved(old, new, partial(path_of, self._client.workspace))
        self.shown.refresh()

    def opened(self, uri: Uri, text: str) -> None:
        """Find out whether the new document is a known file with a new name, because many editors do not say so.

        Either the known file was closed just now with the same text, or it is gone, and the text has a function of a
        job or of a kept result. The function of a cell can also be in another cell of its notebook now.
        """
        from adacoder.lsp.snapshot import path_of

        closed = self._client.protocol.closed_as(text, _SAVING_AS)
        own = path_of(self._client.workspace, uri)
        for old, path, source in self.jobs.functions():
            known = self.shown.document(old)
            if known is not None and (path != own or source in known.source):
                continue
            if old == closed or (source in text and (path == own or not path.exists())):
                self.moved(old, uri)

    async def read(self, function: Callable[P, A], *arguments: P.args, **named: P.kwargs) -> A:
        """Call a function that reads a text, in a thread. Requests that editors send at each keystroke use this method.

        Only one such thread runs at a time, because two threads would slow each other down. The user would then wait
        longer for the first answer.
        """
        async with self._reading:
            return await asyncio.to_thread(function, *arguments, **named)

    def restore(self) -> asyncio.Task[None]:
        """Start to read the kept results of earlier servers, unless an earlier call has done so. Return the task."""
        if self._restored is None:
            self._restored = asyncio.create_task(self._restore())
        return self._restored

    async def restored(self, seconds: float = _PATIENCE) -> None:
        """Wait until the kept results of earlier servers are read, but at most `seconds`.

        The wait is limited because reading needs the client's settings, and some clients send their settings late.
        """
        await asyncio.wait({self.restore()}, timeout=seconds)

    async def _restore(self) -> None:
        """Read the results that are kept on disk, or remove them if the setting `unverified` is `discard`.

        In an untrusted workspace and on Windows, AdaCoder neither reads nor writes these files.
        """
        from adacoder.lsp.jobs.kept_files import KeptFiles
        from adacoder.lsp.snapshot import first_folder
        from adacoder.settings import Unverified

        folder, configuration = first_folder(self._client.workspace), self._client.configuration
        settings = await configuration.settings(folder, folder.as_uri(), top=folder)
        if not settings.trusted or os.name != "posix":
            return
        files = KeptFiles(folder, configuration.storage)
        if settings.unverified is Unverified.DISCARD:
            await asyncio.to_thread(files.clear)
            return
        self.results.restore(files, await asyncio.to_thread(files.load))
        self.shown.refresh()

    async def close(self) -> None:
        """End all jobs."""
        self.jobs.stop()  # otherwise a job that has just ended would ask the user a question
        self._client.cancel_work()
        if self._restored is not None:
            self._restored.cancel()
            await asyncio.wait({self._restored})  # otherwise the loop may close before the task has begun
        activities = (self.jobs, self.batches, self.saving, self.cross_checks, self.tests_ahead)
        await asyncio.gather(*(each.close() for each in activities))


def register(server: AdaCoderServer) -> None:
    """Register all of AdaCoder's features and commands with `server`."""
    server.feature(types.INITIALIZE)(on_initialize)
    server.feature(types.INITIALIZED)(on_initialized)
    server.feature(types.SHUTDOWN)(on_shutdown)
    for method, handler in NOTIFICATIONS.items():
        add_notification(server, method, handler)
    for method, handler in FEATURES.items():
        add_request(server, method, handler)
    for name, handler in REQUESTS.items():
        add_request(server, OWN + name, handler)
    for name, handler in COMMANDS.items():
        add_command(server, COMMAND + name, handler)


def on_initialize(ls: AdaCoderServer, params: types.InitializeParams) -> None:
    """`initialize`: store the client's settings and its known habits, such as its way to show questions."""
    ls.habits = Habits.of(params)
    ls.protocol.trace = params.trace or types.TraceValue.Off
    ls.protocol.pause = ls.habits.pause
    ls.configuration.begin(params.initialization_options)


def on_initialized(ls: AdaCoderServer, params: types.InitializedParams) -> None:
    """`initialized`: prepare for the most frequent messages, ask for changes of the settings, and watch the client."""
    ls.begin(ls.configuration.follow())
    if os.name == "posix":  # on Windows, this look at a process would end it
        ls.begin(_ended_with(ls.process_id))
    threading.Thread(target=_prepare, args=(ls,), daemon=True).start()  # the exit does not wait for a daemon thread


async def _ended_with(client: int | None) -> None:
    """End the server as Ctrl-C does when the client's process has ended, because another process may hold stdin open.

    A process that cannot be seen at first is in another container, and is not watched.
    """
    if client is None or not _runs(client):
        return
    while _runs(client):  # noqa: ASYNC110  # another process ends
        await asyncio.sleep(_LOOKING)
    signal.raise_signal(signal.SIGINT)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


async def on_shutdown(ls: AdaCoderServer, params: object) -> None:
    """`shutdown`: end all jobs, other background work and processes."""
    await ls.close()


def _prepare(ls: AdaCoderServer) -> None:
    state = ("jobs.batch:Batches", "showing.saving:Saving", "showing.shown:Shown")
    for name in (*NOTIFICATIONS.values(), *FEATURES.values(), *state):
        found(name)
    gc.freeze()  # imported objects live as long as the process, so the garbage collector need not scan them
    ls.protocol.prepare()


@cache
def found(handler: str) -> Any:
    """Import and return an object of this package by its name, such as `handlers:on_run`."""
    return resolve_name(f"{__package__}.{handler}")


def add_notification(server: AdaCoderServer, method: str, handler: str) -> None:
    """Let `server` handle the notification `method`. The handler ends before the server reads the next message."""

    def noted(ls: AdaCoderServer, params: Any) -> None:
        found(handler)(ls, params)

    server.feature(method, _OPTIONS.get(method))(noted)


def add_command(server: AdaCoderServer, name: str, handler: str) -> None:
    """Let `server` answer the command `name`."""

    async def answered(ls: AdaCoderServer, *arguments: Any) -> Any:
        if (task := asyncio.current_task()) is not None:
            ls.protocol.cancel_with_request(task)
        return await _answer(ls, handler, arguments[0] if arguments else None)

    server.command(name)(answered)


def add_request(server: AdaCoderServer, method: str, handler: str) -> None:
    """Let `server` answer the request `method`, which LSP or AdaCoder defines."""

    async def answered(ls: AdaCoderServer, params: object) -> Any:
        return await _answer(ls, handler, params)

    server.feature(method, _OPTIONS.get(method))(answered)


async def _answer(ls: AdaCoderServer, handler: str, params: object) -> Any:
    """Return the answer of a handler. If AdaCoder defines the form of the answer, add the member `version`.

    Raises:
        JsonRpcInvalidParams: the parameters cannot be read.
    """
    from adacoder.lsp.from_proto import ParametersError
    from adacoder.report import VERSION

    try:
        answer = await found(handler)(ls, params)
    except ParametersError as error:
        raise JsonRpcInvalidParams(str(error)) from None
    return {"version": VERSION, **answer} if isinstance(answer, dict) else answer
