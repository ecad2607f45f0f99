"""The language server: registers the handlers, stores the client's state, and shuts down.

Editors wait for the answer to `initialize`. So other modules are imported after this answer.
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
"""Seconds that a request for actions or lenses waits until kept results are read from disk.

Editors send these requests at each keystroke, so the wait is short.
"""
_PATIENCE = 5.0
_LOOKING = 2.0
"""Seconds between two checks that the client's process still exists."""
_SAVING_AS = 1.0
"""Seconds between closing and opening a file that still count as one command, such as `:saveas` in Neovim."""
_FILES = types.FileOperationFilter(types.FileOperationPattern("**/*"), scheme="file")
_OPTIONS: dict[str, Any] = {
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(code_action_kinds=KINDS),
    types.TEXT_DOCUMENT_INLINE_COMPLETION: types.InlineCompletionOptions(),  # pygls announces it only with options
    types.WORKSPACE_DID_RENAME_FILES: types.FileOperationRegistrationOptions([_FILES]),
}


class AdaCoderServer(Client):
    """The language server for one client."""

    def __init__(self) -> None:
        super().__init__()
        self._is_at_work = False

    @cached_property
    def state(self) -> ClientState:
        """The client's jobs, results and evidence.

        They are created on first use, because the import is slow.
        """
        self._is_at_work = True
        return ClientState(self)

    async def close(self) -> None:
        """End all jobs and processes."""
        if self._is_at_work:
            await self.state.close()
        self.cancel_work()
        self.documents.close()
        if self._service is not None:
            await self._service.close()


class ClientState:
    """Jobs, results and evidence of one client."""

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
        """Lock during the search for the function of a new job.

        A cancellation waits for this lock, so that it also cancels a job that was requested just before.
        """
        self._client = client
        self._restored: asyncio.Task[None] | None = None
        self._reading = asyncio.Lock()

    def moved(self, old: str, new: str) -> None:
        """Update jobs and kept results after the file or folder `old` was renamed to `new`."""
        from adacoder.lsp.snapshot import path_of

        self.jobs.moved(old, new)
        self.results.moved(old, new, partial(path_of, self._client.workspace))
        self.shown.refresh()

    def opened(self, uri: Uri, text: str) -> None:
        """Detect that an opened document was renamed. Many editors do not report this.

        A document counts as renamed in two cases. Either a document with the same text was closed just before, or the
        document has a function with a job or kept result whose file has disappeared. In a notebook, a function may also
        have moved to another cell.
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
        """Run `function`, which reads a text, in a thread.

        Only one such thread runs at a time, because two threads would slow each other down.
        """
        async with self._reading:
            return await asyncio.to_thread(function, *arguments, **named)

    def restore(self) -> asyncio.Task[None]:
        """Return the task that reads the kept results from disk. Start the task on the first call."""
        if self._restored is None:
            self._restored = asyncio.create_task(self._restore())
        return self._restored

    async def restored(self, seconds: float = _PATIENCE) -> None:
        """Wait until the kept results are read, but no longer than `seconds`.

        Reading needs the client's settings, which some clients send late.
        """
        await asyncio.wait({self.restore()}, timeout=seconds)

    async def _restore(self) -> None:
        """Read the results that an earlier server kept. If the setting `unverified` is `discard`, delete them.

        In an untrusted workspace and on Windows, kept results are not stored on disk.
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
        """End all jobs, and stop all other work for the client."""
        self.jobs.stop()  # else a job that ends now would ask the user a question
        self._client.cancel_work()
        if self._restored is not None:
            self._restored.cancel()
            await asyncio.wait({self._restored})  # else the event loop may close before the task begins
        activities = (self.jobs, self.batches, self.saving, self.cross_checks, self.tests_ahead)
        await asyncio.gather(*(each.close() for each in activities))


def register(server: AdaCoderServer) -> None:
    """Register all features and commands with `server`."""
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
    """Handle `initialize`: store the client's settings and behaviour."""
    ls.habits = Habits.of(params)
    ls.protocol.trace = params.trace or types.TraceValue.Off
    ls.protocol.pause = ls.habits.pause
    ls.configuration.begin(params.initialization_options)


def on_initialized(ls: AdaCoderServer, params: types.InitializedParams) -> None:
    """Handle `initialized`: import the handlers, follow changed settings, and watch the client's process."""
    ls.begin(ls.configuration.follow())
    if os.name == "posix":  # on Windows, `os.kill` would end the client's process
        ls.begin(_ended_with(ls.process_id))
    threading.Thread(target=_prepare, args=(ls,), daemon=True).start()  # a daemon thread does not delay the exit


async def _ended_with(client: int | None) -> None:
    """End the server when the client's process has ended.

    stdin alone is not enough, because another process may hold stdin open. A client in another container cannot be
    seen, and is not watched.
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
    """Handle `shutdown`: end all jobs, other background work and processes."""
    await ls.close()


def _prepare(ls: AdaCoderServer) -> None:
    state = ("jobs.batch:Batches", "showing.saving:Saving", "showing.shown:Shown")
    for name in (*NOTIFICATIONS.values(), *FEATURES.values(), *state):
        found(name)
    gc.freeze()  # exclude the imported modules from garbage collection
    ls.protocol.prepare()


@cache
def found(handler: str) -> Any:
    """Import a function or class of this package by its name, such as `handlers:on_run`."""
    return resolve_name(f"{__package__}.{handler}")


def add_notification(server: AdaCoderServer, method: str, handler: str) -> None:
    """Register the handler of the notification `method`.

    The server reads the next message after the handler has returned.
    """

    def noted(ls: AdaCoderServer, params: Any) -> None:
        found(handler)(ls, params)

    server.feature(method, _OPTIONS.get(method))(noted)


def add_command(server: AdaCoderServer, name: str, handler: str) -> None:
    """Register the handler of the command `name`."""

    async def answered(ls: AdaCoderServer, *arguments: Any) -> Any:
        if (task := asyncio.current_task()) is not None:
            ls.protocol.cancel_with_request(task)
        return await _answer(ls, handler, arguments[0] if arguments else None)

    server.command(name)(answered)


def add_request(server: AdaCoderServer, method: str, handler: str) -> None:
    """Register the handler of the request `method`."""

    async def answered(ls: AdaCoderServer, params: object) -> Any:
        return await _answer(ls, handler, params)

    server.feature(method, _OPTIONS.get(method))(answered)


async def _answer(ls: AdaCoderServer, handler: str, params: object) -> Any:
    """Call a handler and return its answer. If AdaCoder defines the form of the answer, add the member `version`.

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
