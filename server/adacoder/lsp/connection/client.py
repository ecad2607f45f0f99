"""Represent the connected editor: its capabilities, its settings, and its ways to show messages to the user."""

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
"""Maximum number of different warnings that are shown about settings."""
_SHOWING = 10.0
"""Seconds to wait until an editor has opened a document."""
_PATIENCE = 5.0
"""Seconds to wait until an editor sends its settings or accepts a progress token."""
_PAUSE = 0.1
"""Minimum number of seconds between two progress messages. A model writes faster than a person reads."""
_LONG = 10.0
"""Seconds after which a message reports running work, in clients without a progress display."""
_SECTION = "adacoder"
_TITLES = {
    "fix": "Fix",
    "generate": "Generate",
    "suggestExamples": "Suggest Examples",
    "writeDocstring": "Write Skeleton",
}
"""Titles of the commands that can be offered with a message about a function."""
_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithCells([types.NotebookCellLanguage("python")])], save=True
)
"""Ask the client to send the Python cells of every kind of notebook."""
_WATCH = "adacoder.settings"
_numbers = itertools.count(1)
_BESIDE_THE_TEXT = ("visual studio code", "code - oss", "vscodium", "code-server", "cursor", "windsurf", "positron")
"""Names of VS Code and of editors based on VS Code.

These editors show a question in a corner of the window. In other editors, the next key that the user types may answer
the question, so AdaCoder asks no questions there.
"""
_READS_LATE = ("eglot", "emacs", "")
"""Names of eglot and lsp-mode. If a request arrives right after an answer, these clients read the request late.

Old versions of eglot send no name, so a client without a name is treated like eglot.
"""
_AFTER_ANSWER = 0.15
"""Seconds between an answer and the next request, for clients in `_READS_LATE`.

In a test without this pause, the client left 3 of 10 requests unread. With the pause, it read all of them.
"""


@dataclass(frozen=True, slots=True)
class Habits:
    """Behaviour of a client that its capabilities do not reveal. Only this class reads the names of clients."""

    asks_beside_text: bool = False
    """True if the client shows questions in a place where typing does not answer them."""
    shows_endings: bool = False
    """True if the client itself shows ended jobs and kept results. The server then sends data instead of messages."""
    shows_writing: bool = False
    """True if the client can show a model's reply while it is written."""
    follows_evidence: bool = False
    """True if the client itself shows evidence, for example in a list of tests."""
    pause: float = 0.0
    """Seconds to wait between an answer and the next request."""

    @classmethod
    def of(cls, params: types.InitializeParams) -> Habits:
        """Derive the habits from the parameters of `initialize`."""
        name = (params.client_info.name if params.client_info else "").casefold()
        # A client that does not declare this capability may show no questions at all.
        knows_questions = get_capability(params.capabilities, "window.show_message", None) is not None
        return cls(
            shows_endings=_declares("endings", params.capabilities.experimental),
            shows_writing=_declares("writing", params.capabilities.experimental),
            follows_evidence=_declares("evidence", params.capabilities.experimental),
            asks_beside_text=knows_questions and name.startswith(_BESIDE_THE_TEXT),
            pause=_AFTER_ANSWER if name in _READS_LATE else 0.0,
        )


def _declares(capability: str, experimental: object) -> bool:
    own = experimental.get("adacoder") if isinstance(experimental, Mapping) else None
    return isinstance(own, Mapping) and own.get(capability) is True


class Client(LanguageServer):
    """A connected client.

    This is also the pygls server object, because pygls stores the connection and the features there.
    """

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
        """Return the Service, which runs the requests.

        The Service is imported on first use. The import is slow and runs in a thread, so other messages need not wait.
        """
        async with self._importing:
            if self._service is None:
                self._service = (await asyncio.to_thread(_service))()
            return self._service

    async def service_for(self, snapshot: Snapshot) -> tuple[Service, Settings]:
        """Return the Service and the settings for a document."""
        settings = await self.configuration.settings_for(snapshot)
        return await self.service(), settings

    def begin(self, work: Coroutine[object, object, None]) -> None:
        """Start `work` as a background task. `cancel_work` cancels the task."""
        task = asyncio.get_running_loop().create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    def cancel_work(self) -> None:
        """Cancel everything that `begin` started."""
        for task in self._working:
            task.cancel()

    def has(self, capability: str) -> bool:
        """Return whether the client declares a capability, such as `workspace.apply_edit`."""
        return bool(get_capability(self.client_capabilities, capability, False))

    def log(self, message: str) -> None:
        """Write a line to the editor's log."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Info, message))

    def trace(self, message: str, details: str) -> None:
        """Send a trace message, if the client enabled traces. `details` are sent only in verbose traces."""
        if (wish := self.protocol.trace) is not types.TraceValue.Off:
            verbose = details if wish is types.TraceValue.Verbose else None
            self.log_trace(types.LogTraceParams(message, verbose))

    def show(self, message: str, *, warning: bool) -> None:
        """Show a message to the user."""
        kind = types.MessageType.Warning if warning else types.MessageType.Info
        self.window_show_message(types.ShowMessageParams(kind, message))

    def tell_end(self, message: str, *, warning: bool, about: Mapping[str, JSON], place: JSON = None) -> None:
        """Tell the user that a job has ended. A client that shows ended jobs itself gets data instead of a message.

        Commands in the message apply to the function `place`.
        """
        if self.habits.shows_endings:
            from adacoder.report import VERSION

            end = {"version": VERSION, "message": message, "isGood": not warning}
            self.protocol.notify(ENDED, {**end, "remedies": remedies_json(message, place), **about})
        else:
            self.show(message, warning=warning)

    def notice(self, message: str) -> None:
        """Show a warning, unless the same warning was shown before.

        At most `_MOST_NOTICES` warnings are shown, because a project's settings could cause many warnings.
        """
        if message not in self._noticed and len(self._noticed) < _MOST_NOTICES:
            self._noticed.add(message)
            self.show(message, warning=True)

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log an error. pygls would show the error in a message box."""
        if source is not FeatureRequestError:
            log.error("%s: %r", source.__name__, error)


def _service() -> type[Service]:
    from adacoder.service import Service

    # Exclude the imported modules from garbage collection, because to scan them would block the server.
    gc.freeze()
    return Service


def remedies_json(message: str, place: JSON = None) -> list[JSON]:
    """Return the actions that an editor can offer with a message, such as to open a setting or run a command.

    Commands apply to the function `place`. Without `place`, no command is offered.
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
    """Read the settings that the editor has for the section `adacoder`.

    Before each job, the editor is asked with `workspace/configuration`. An editor that sends its settings unasked is
    not asked, because it also sends each change.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._initial: Mapping[str, object] = {}
        """Settings that the editor sent in `initializationOptions`."""
        self._pushed: Mapping[str, object] = {}
        """Settings that the editor sent in the last `workspace/didChangeConfiguration`."""
        self.storage: Path | None = None
        """The client's storage folder for this workspace, or None."""
        self._is_pushed = False
        """True if the last `workspace/didChangeConfiguration` contained the section `adacoder`.

        Then the editor is not asked.
        """

    def begin(self, options: object) -> None:
        """Read `initializationOptions`: the section `adacoder`, or an object that contains this section.

        The member `storage` is not a setting, but names a folder for AdaCoder's data about this workspace.
        """
        members = dict(_mapping(options))
        storage = members.pop("storage", None)
        if isinstance(storage, str) and Path(storage).is_absolute():
            self.storage = Path(storage)
        self._initial = _mapping(members.get(_SECTION, members))

    def pushed(self, settings: object) -> None:
        """Store the settings in a `workspace/didChangeConfiguration`.

        If it has none, the editor is asked before each job.
        """
        if isinstance(settings, Mapping):
            self._pushed = _mapping(settings.get(_SECTION))
        self._is_pushed = isinstance(_mapping(settings).get(_SECTION), Mapping)

    async def follow(self) -> None:
        """Ask the client to announce changes of its settings, because some clients do so only on request.

        The request names no section, so the notifications contain no values. With a section, VS Code would send values
        without regard to the folder, and jobs would apply them in every folder.
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
        """Return the settings for a file in `folder`. The editor's settings override the project's settings.

        An invalid setting is ignored with a warning. In an untrusted workspace, the project's settings are not read.

        Args:
            folder: the folder of the file.
            uri: the document for which the editor is asked.
            top: the topmost folder in which to search for the project's settings.
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
    """Show progress during the `async with` block. Yield a function that shows a message.

    `token` comes from the client or from `new_token`. Without a token, nothing is shown. `cancel` is called if the user
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
        shown.tokens.pop(token, None)  # pygls would keep every token (pygls#607)
        shown.end(token, types.WorkDoneProgressEnd())


@asynccontextmanager
async def announced(client: Client, title: str, cancel: Callable[[], object]) -> AsyncGenerator[Callable[[str], None]]:
    """Like `progress`, but create a token.

    The block does not wait until the client has accepted the token. In a client without a progress display, one message
    reports that the work takes long.
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
    """Create a token for a progress display. Return None if the client does not support such displays."""
    if not client.has("window.work_done_progress"):
        return None
    token = f"AdaCoder {next(_numbers)}"  # Helix shows the token to the user
    params = types.WorkDoneProgressCreateParams(token=token)
    try:
        await client.protocol.ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params, seconds=_PATIENCE)
    except (TimeoutError, JsonRpcException) as error:
        log.warning("The editor shows no progress: %r", error)
        return None
    return token


class _Messages:
    """Sends at most one progress message every `_PAUSE` seconds.

    If there are more messages, only the latest is sent.
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
    """Opens texts, such as journals, in the editor. The texts are files in a temporary folder."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._open = ExitStack()
        self._folder: Path | None = None

    async def show(self, what: str, name: str, text: str) -> None:
        """Write `text` to the file `name` and open it in the editor. If that fails, show the path in a message."""
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
        """Delete the files and the temporary folder."""
        self._open.close()

    def _place(self) -> Path:
        if self._folder is None:
            from adacoder.sandbox.isolation.scratch import scratch

            self._folder = Path(self._open.enter_context(scratch()))
        return self._folder
