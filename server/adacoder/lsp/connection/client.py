"""The client as the rest of the server sees it: capabilities, habits, settings, and functions that show something."""

from __future__ import annotations

import asyncio
import gc
import itertools
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import FeatureRequestError, JsonRpcException
from pygls.lsp.server import LanguageServer

from adacoder import __version__
from adacoder.lsp.connection.display import displayed
from adacoder.lsp.connection.pygls_fixes import ENDED, Protocol
from adacoder.lsp.features import COMMAND
from adacoder.messages import Named, remedies

if TYPE_CHECKING:
    from adacoder.domain import JSON
    from adacoder.lsp.snapshot import Snapshot
    from adacoder.service import Service
    from adacoder.settings import Settings

log = logging.getLogger(__name__)

_MOST_NOTICES = 50
"""Maximum number of message boxes about ignored settings."""
_SHOWING = 10.0
"""Seconds to wait for an editor to show a document."""
_PATIENCE = 5.0
"""Seconds to wait until an editor sends its settings, or accepts a token for progress."""
_PAUSE = 0.1
"""Minimum seconds between two progress messages, because a model writes faster than a person reads."""
_LONG = 10.0
"""Seconds after which a message reports a running job, if the client shows no progress."""
_SECTION = "adacoder"
_TITLES = {
    "fix": "Fix",
    "generate": "Generate",
    "suggestExamples": "Suggest Examples",
    "writeDocstring": "Write Skeleton",
}
"""The titles of the commands for a function that a message can call for."""
_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithCells([types.NotebookCellLanguage("python")])], save=True
)
"""Notebooks of all kinds, with only their Python cells."""
_WATCH = "adacoder.settings"
_numbers = itertools.count(1)
_BESIDE_THE_TEXT = ("visual studio code", "code - oss", "vscodium", "code-server", "cursor", "windsurf", "positron")
"""VS Code and editors based on it. They ask questions in a notification in the corner, so the user cannot answer by
accident while typing.

In other editors, the next key that the user types can be the answer. Neovim and Vim ask in the command line. eglot and
lsp-mode ask in the minibuffer, with the first answer filled in. Helix and Sublime ask in a list that has the focus.
Clients that are not listed are never asked.
"""
_READS_LATE = ("eglot", "emacs", "")
"""eglot and lsp-mode. If a request arrives together with an answer, these clients read the request only when more input
arrives. Old versions of eglot do not send their name, so a client without a name is treated like eglot.
"""
_AFTER_ANSWER = 0.15
"""Seconds to wait after an answer before a client in `_READS_LATE` gets a request.

In a test, 3 of 10 requests stayed unread without this wait, and none with it.
"""


@dataclass(frozen=True, slots=True)
class Habits:
    """Behaviour of one client that its capabilities do not show. No other class looks at the names of clients."""

    asks_beside_text: bool = False
    """True if the client shows questions in a place where the user cannot answer them by accident."""
    shows_endings: bool = False
    """True if the client declares that it shows ended jobs and kept results itself, so the server sends only data."""
    shows_writing: bool = False
    """True if the client declares that it shows a model's reply while it grows."""
    pause: float = 0.0
    """Seconds that the server waits after an answer before it sends a request."""

    @classmethod
    def of(cls, params: types.InitializeParams) -> Habits:
        """Return the habits of the client that sent these parameters of `initialize`."""
        name = (params.client_info.name if params.client_info else "").casefold()
        # This capability is only about the actions of a question. But a client without the capability may not support
        # questions at all.
        knows_questions = get_capability(params.capabilities, "window.show_message", None) is not None
        return cls(
            shows_endings=_declares("endings", params.capabilities.experimental),
            shows_writing=_declares("writing", params.capabilities.experimental),
            asks_beside_text=knows_questions and name.startswith(_BESIDE_THE_TEXT),
            pause=_AFTER_ANSWER if name in _READS_LATE else 0.0,
        )


def _declares(capability: str, experimental: object) -> bool:
    own = experimental.get("adacoder") if isinstance(experimental, Mapping) else None
    return isinstance(own, Mapping) and own.get(capability) is True


class Client(LanguageServer):
    """One client. The object is also the server, because pygls keeps the connection and the features in it."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__("adacoder", __version__, protocol_cls=Protocol, notebook_document_sync=_NOTEBOOKS)
        self.habits = Habits()
        self.configuration = Configuration(self)
        self.documents = Documents(self)
        self._noticed: set[str] = set()
        self._working: set[asyncio.Task[None]] = set()
        self._service: Service | None = None
        self._importing = asyncio.Lock()

    async def service(self) -> Service:
        """Return the Service, which turns a task into an Outcome.

        The import of the Service takes long. A thread imports it on first use, so other messages need not wait.
        """
        async with self._importing:
            if self._service is None:
                self._service = (await asyncio.to_thread(_service))()
            return self._service

    async def service_for(self, snapshot: Snapshot) -> tuple[Service, Settings]:
        """Return the Service, and the settings for a document."""
        settings = await self.configuration.settings_for(snapshot)
        return await self.service(), settings

    def begin(self, work: Coroutine[object, object, None]) -> None:
        """Do `work` in the background. `cancel_work` cancels it."""
        task = asyncio.get_running_loop().create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    def cancel_work(self) -> None:
        """Cancel all work in the background."""
        for task in self._working:
            task.cancel()

    def has(self, capability: str) -> bool:
        """Return whether the client declares a capability, such as `workspace.apply_edit`."""
        return bool(get_capability(self.client_capabilities, capability, False))

    def log(self, message: str) -> None:
        """Write a line to the editor's log."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Info, message))

    def trace(self, message: str, details: str) -> None:
        """Report a step of the work, if the client asks for a trace. `details` are only in a verbose trace."""
        if (wish := self.protocol.trace) is not types.TraceValue.Off:
            verbose = details if wish is types.TraceValue.Verbose else None
            self.log_trace(types.LogTraceParams(message, verbose))

    def show(self, message: str, *, warning: bool) -> None:
        """Show a message to the user."""
        kind = types.MessageType.Warning if warning else types.MessageType.Info
        self.window_show_message(types.ShowMessageParams(kind, message))

    def tell_end(self, message: str, *, warning: bool, about: Mapping[str, JSON], place: JSON = None) -> None:
        """Report the end of a job as a message. A client that shows the ends of jobs itself gets the data instead.

        `place` is the parameter of a command for the function that the job worked on.
        """
        if self.habits.shows_endings:
            from adacoder.report import VERSION

            end = {"version": VERSION, "message": message, "isGood": not warning}
            self.protocol.notify(ENDED, {**end, "remedies": remedies_json(message, place), **about})
        else:
            self.show(message, warning=warning)

    def notice(self, message: str) -> None:
        """Show a warning, but each text only once. A project could cause many warnings, so their number is limited."""
        if message not in self._noticed and len(self._noticed) < _MOST_NOTICES:
            self._noticed.add(message)
            self.show(message, warning=True)

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log an error that no answer reports. pygls would open a message box for each such error."""
        if source is not FeatureRequestError:
            log.error("%s: %r", source.__name__, error)


def _service() -> type[Service]:
    from adacoder.service import Service

    # Imported objects live as long as the process. The garbage collector stops all other work while it scans objects,
    # so exclude the imported ones.
    gc.freeze()
    return Service


def remedies_json(message: str, place: JSON = None) -> list[JSON]:
    """Return the actions that an editor can offer with a message: to open a setting, or to carry out a remedy.

    `place` is the parameter of a command for the function. Without it, no such command is offered.
    """
    found: list[JSON] = []
    for each in remedies(message):
        if isinstance(each, Named):
            found.append({"kind": "setting", "key": each.key})
        elif each.kind not in _TITLES:
            found.append({"kind": each.kind, "model": each.model} if each.model else {"kind": each.kind})
        elif place is not None:
            title, command = _TITLES[each.kind], COMMAND + each.kind
            found.append({"kind": "command", "title": title, "command": command, "arguments": [place]})
    return found


class Configuration:
    """The editor's values of the section `adacoder`.

    An editor that answers `workspace/configuration` is asked before each job, so a job always has current settings. The
    display of evidence depends on announced changes instead. So editors that announce changes only on request are asked
    to announce them.

    An editor that has pushed its settings also pushes each change, and its values are the same for all folders. Such an
    editor is not asked before a job, because the job would wait for an answer without any news.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._initial: Mapping[str, object] = {}
        """The values from `initializationOptions`."""
        self._pushed: Mapping[str, object] = {}
        """The values from the last `workspace/didChangeConfiguration` that had values."""
        self.storage: Path | None = None
        """The client's storage folder for this workspace, if the client names a folder."""
        self._is_pushed = False
        """True if the latest `workspace/didChangeConfiguration` had the section `adacoder`."""

    def begin(self, options: object) -> None:
        """Read `initializationOptions`, which is the section itself or an object with the section as a member.

        The member `storage` is not a setting. It names the folder in which AdaCoder stores its data about this
        workspace.
        """
        members = dict(_mapping(options))
        storage = members.pop("storage", None)
        if isinstance(storage, str) and Path(storage).is_absolute():
            self.storage = Path(storage)
        self._initial = _mapping(members.get(_SECTION, members))

    def pushed(self, settings: object) -> None:
        """Keep the settings from `workspace/didChangeConfiguration`. If they are null, jobs must ask the editor."""
        if isinstance(settings, Mapping):
            self._pushed = _mapping(settings.get(_SECTION))
        self._is_pushed = isinstance(_mapping(settings).get(_SECTION), Mapping)

    async def follow(self) -> None:
        """Ask the client to announce changes of its settings. Some clients announce them only on request.

        The request names no section, so the notifications contain no values. If the request named a section, VS Code
        would send values that are not specific to a folder, and jobs would use these values in every folder.
        """
        if not self._client.has("workspace.did_change_configuration.dynamic_registration"):
            return
        wish = types.Registration(id=_WATCH, method=types.WORKSPACE_DID_CHANGE_CONFIGURATION)
        params = types.RegistrationParams(registrations=[wish])
        try:
            await self._client.protocol.ask(types.CLIENT_REGISTER_CAPABILITY, params, seconds=_PATIENCE)
        except (TimeoutError, JsonRpcException) as error:
            log.warning("The editor does not report changes of its settings: %r", error)

    async def settings_for(self, snapshot: Snapshot) -> Settings:
        """Return the settings for a document."""
        return await self.settings(snapshot.path.parent, snapshot.scope, top=snapshot.folder)

    async def settings(self, folder: Path, uri: str | None = None, *, top: Path | None = None) -> Settings:
        """Return the settings for a file in `folder`. The project overrides the defaults, and the editor the project.

        Each unusable setting causes a notice. In an untrusted workspace, no file is opened, so the settings of the
        project have no effect.

        Args:
            folder: the folder of the file.
            uri: the document to which the settings apply.
            top: the topmost folder in the search for a project.
        """
        from adacoder.settings import Settings, from_project

        said = (self._initial, self._pushed, await self._pulled(uri))
        settings = self._merged(Settings(), said)
        if not settings.trusted:
            return settings
        notices: list[str] = []
        of_project = await asyncio.to_thread(from_project, Settings(), folder, notices.append, top=top)
        for notice in notices:
            self._client.notice(notice)
        return self._merged(of_project, said)

    def _merged(self, settings: Settings, said: Iterable[Mapping[str, object]]) -> Settings:
        from adacoder.settings import merge

        for values in said:
            settings = merge(settings, values, self._client.notice)
        return settings

    async def _pulled(self, uri: str | None) -> Mapping[str, object]:
        if self._is_pushed or not self._client.has("workspace.configuration"):
            return {}
        item = types.ConfigurationItem(scope_uri=uri, section=_SECTION)
        try:
            answer = await self._client.protocol.ask(
                types.WORKSPACE_CONFIGURATION, types.ConfigurationParams(items=[item]), seconds=_PATIENCE
            )
        except (TimeoutError, JsonRpcException) as error:
            log.warning("The editor did not answer with its settings: %r", error)
            return {}
        return _mapping(answer[0] if answer else None)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


@asynccontextmanager
async def progress(
    client: Client, title: str, token: types.ProgressToken | None, cancel: Callable[[], object]
) -> AsyncGenerator[Callable[[str], None]]:
    """Show progress under `token` during the `async with` block. Yield a function that shows a message.

    `token` comes from the client or from `new_token`. If `token` is None, nothing is shown. When the user cancels the
    progress, `cancel` is called.
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
    """Show progress as `progress` does, under a new token. The block begins before the client accepts the token.

    If the client shows no progress and the work takes long, a single message reports the work.
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
        token = await new_token(client)
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


async def new_token(client: Client) -> types.ProgressToken | None:
    """Create a progress token with the client. Return None if the client cannot show progress that a server begins."""
    if not client.has("window.work_done_progress"):
        return None
    token = f"AdaCoder {next(_numbers)}"  # Helix shows the token before the title and before each message
    params = types.WorkDoneProgressCreateParams(token=token)
    try:
        await client.protocol.ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params, seconds=_PATIENCE)
    except (TimeoutError, JsonRpcException) as error:
        log.warning("The editor shows no progress: %r", error)
        return None
    return token


class _Messages:
    """Sends the first message at once, and then at most one message every `_PAUSE` seconds.

    Only the latest message is sent. Messages in between are dropped.
    """

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


class Documents:
    """The documents that the server shows to one client, such as journals. They are files in a temporary folder."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._open = ExitStack()
        self._folder: Path | None = None

    async def show(self, what: str, name: str, text: str) -> None:
        """Show `text` in the editor as the file `name`. If the editor does not show files, show the path instead."""
        path = self._place() / name
        path.write_text(displayed(text), encoding="utf-8", newline="")
        if self._client.has("window.show_document.support"):
            params = types.ShowDocumentParams(uri=path.as_uri(), take_focus=True)
            try:
                shown = await self._client.protocol.ask(types.WINDOW_SHOW_DOCUMENT, params, seconds=_SHOWING)
            except (TimeoutError, JsonRpcException):
                shown = None
            if shown is not None and shown.success:
                return
        self._client.show(f"{what} is in {path}", warning=False)

    def close(self) -> None:
        """Remove the files."""
        self._open.close()

    def _place(self) -> Path:
        """Return a folder that only this user can access. `close` removes the folder."""
        if self._folder is None:
            from adacoder.sandbox.isolation.scratch import scratch

            self._folder = Path(self._open.enter_context(scratch()))
        return self._folder
