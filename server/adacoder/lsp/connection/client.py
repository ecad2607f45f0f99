"""The client as the rest of the server sees it: its capabilities, habits and settings, and all that it is shown."""

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
"""Seconds to wait for an editor's settings, or for a token for progress that the server begins."""
_PAUSE = 0.1
"""Seconds between two messages, because a model writes faster than anyone reads."""
_LONG = 10.0
"""Seconds after which a job is reported in a message if no progress is shown."""
_SECTION = "adacoder"
_WATCH = "adacoder.settings"
_numbers = itertools.count(1)
_BESIDE_THE_TEXT = ("visual studio code", "code - oss", "vscodium", "code-server", "cursor", "windsurf", "positron")
"""VS Code and editors based on it. They ask in a corner notification, which takes no key that is meant for the text.

Neovim and Vim ask in the command line, eglot and lsp-mode in the minibuffer with the first answer filled in, Helix and
Sublime in a list that has the focus. There the next key typed is the answer. Clients that are not listed are never
asked."""
_READS_LATE = ("eglot", "emacs", "")
"""eglot and lsp-mode. If a request arrives together with an answer, they leave it unread until more input arrives. Old
versions of eglot do not send their name."""
_AFTER_ANSWER = 0.15
"""Seconds to wait after an answer. With this pause no request of 10 stayed unread, without it 3 did."""


@dataclass(frozen=True, slots=True)
class Habits:
    """Behaviour of one client that its capabilities do not reveal. Only this class looks at client names."""

    asks_beside_text: bool = False
    """True if the client shows questions where they cannot be answered by accident."""
    shows_endings: bool = False
    """True if the client declares that it shows the ends of jobs and kept results itself."""
    pause: float = 0.0
    """Seconds to wait after an answer before sending it a request."""

    @classmethod
    def of(cls, params: types.InitializeParams) -> Habits:
        """The habits of the client that sent these `initialize` parameters."""
        name = (params.client_info.name if params.client_info else "").casefold()
        # The capability only describes a question's actions, but a client without it may not support questions.
        knows_questions = get_capability(params.capabilities, "window.show_message", None) is not None
        return cls(
            shows_endings=_shows_endings(params.capabilities.experimental),
            asks_beside_text=knows_questions and name.startswith(_BESIDE_THE_TEXT),
            pause=_AFTER_ANSWER if name in _READS_LATE else 0.0,
        )


def _shows_endings(experimental: object) -> bool:
    own = experimental.get("adacoder") if isinstance(experimental, Mapping) else None
    return isinstance(own, Mapping) and own.get("endings") is True


class Client(LanguageServer):
    """One client. pygls keeps its connection and the server's features in one object."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__("adacoder", __version__, protocol_cls=Protocol)
        self.habits = Habits()
        self.configuration = Configuration(self)
        self.documents = Documents(self)
        self._noticed: set[str] = set()
        self._working: set[asyncio.Task[None]] = set()
        self._service: Service | None = None
        self._importing = asyncio.Lock()

    async def service(self) -> Service:
        """The Service. Its import takes long, so only messages that need it wait for it."""
        async with self._importing:
            if self._service is None:
                self._service = (await asyncio.to_thread(_service))()
            return self._service

    async def service_for(self, snapshot: Snapshot) -> tuple[Service, Settings]:
        """The Service, and the settings for a document."""
        settings = await self.configuration.settings_for(snapshot)
        return await self.service(), settings

    def begin(self, work: Coroutine[object, object, None]) -> None:
        """Do `work` in the background, until `cancel_work` is called."""
        task = asyncio.get_running_loop().create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    def cancel_work(self) -> None:
        """Cancel all work in the background."""
        for task in self._working:
            task.cancel()

    def has(self, capability: str) -> bool:
        """True if the client declares a capability, such as `workspace.apply_edit`."""
        return bool(get_capability(self.client_capabilities, capability, False))

    def log(self, message: str) -> None:
        """Write a line to the editor's log."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Info, message))

    def show(self, message: str, *, warning: bool) -> None:
        """Show a message to the user."""
        kind = types.MessageType.Warning if warning else types.MessageType.Info
        self.window_show_message(types.ShowMessageParams(kind, message))

    def tell_end(self, message: str, *, warning: bool, about: Mapping[str, JSON]) -> None:
        """Report the end of a job: as a message, or as data to a client that shows endings itself."""
        if self.habits.shows_endings:
            from adacoder.report import VERSION

            end = {"version": VERSION, "message": message, "isGood": not warning, "remedies": remedies_json(message)}
            self.protocol.notify(ENDED, {**end, **about})
        else:
            self.show(message, warning=warning)

    def notice(self, message: str) -> None:
        """Show a warning, but only once. The number is limited, because a project could cause any number of them."""
        if message not in self._noticed and len(self._noticed) < _MOST_NOTICES:
            self._noticed.add(message)
            self.show(message, warning=True)

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log an error that no answer reports. pygls would open a message box for each."""
        if source is not FeatureRequestError:
            log.error("%s: %r", source.__name__, error)


def _service() -> type[Service]:
    from adacoder.service import Service

    # Imported objects live as long as the process. The collector stops everything else, so it must not scan them again.
    gc.freeze()
    return Service


def remedies_json(message: str) -> list[JSON]:
    """Actions that an editor can offer with a message: open a setting that it names, or follow its advice."""
    return [
        {"kind": "setting", "key": each.key} if isinstance(each, Named) else {"kind": each.kind, "model": each.model}
        for each in remedies(message)
    ]


class Configuration:
    """The editor's values of section `adacoder`.

    Editors that answer `workspace/configuration` are asked for each job, so jobs never depend on announced changes.
    The display of evidence does, so editors that announce changes on request are asked to do so. An editor that has
    pushed its settings also pushes changes, and uses the same values for all folders. It is not asked, because its
    answer would contain nothing new and jobs would wait for it.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._initial: Mapping[str, object] = {}
        """From `initializationOptions`."""
        self._pushed: Mapping[str, object] = {}
        """From the last `workspace/didChangeConfiguration` that held settings."""
        self.storage: Path | None = None
        """The client's storage folder for this workspace, if it names one."""
        self._is_pushed = False
        """True if the latest notification held AdaCoder's own section."""

    def begin(self, options: object) -> None:
        """Take over `initializationOptions`: the section itself, or an object with the section as a member.

        The member `storage` is not a setting. It is the client's folder for AdaCoder's data on this workspace.
        """
        members = dict(_mapping(options))
        storage = members.pop("storage", None)
        if isinstance(storage, str) and Path(storage).is_absolute():
            self.storage = Path(storage)
        self._initial = _mapping(members.get(_SECTION, members))

    def pushed(self, settings: object) -> None:
        """Take over the settings in `workspace/didChangeConfiguration`. Null means that the editor has to be asked."""
        if isinstance(settings, Mapping):
            self._pushed = _mapping(settings.get(_SECTION))
        self._is_pushed = isinstance(_mapping(settings).get(_SECTION), Mapping)

    async def follow(self) -> None:
        """Ask the client to announce changes of its settings. Some do so only on request.

        The request names no section, so a notification only says that something has changed. With a section, VS Code
        sends that section's values outside any folder, and jobs would use them in every folder.
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
        """The settings for a document."""
        return await self.settings(snapshot.path.parent, snapshot.uri, top=snapshot.folder)

    async def settings(self, folder: Path, uri: str | None = None, *, top: Path | None = None) -> Settings:
        """The settings for a file in `folder`: the defaults, overridden by its project's, then by the editor's.

        Shows a notice for each unusable setting. Opens no file of an untrusted workspace.

        Args:
            folder: the folder of the file.
            uri: the document that the settings are for.
            top: the folder above which no project is looked for.
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
    if not client.has("window.work_done_progress"):
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


class Documents:
    """The documents shown to one client. They are files in their own folder."""

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
        """A folder that only this user can access. It does not outlive this process."""
        if self._folder is None:
            from adacoder.sandbox.isolation.scratch import scratch

            self._folder = Path(self._open.enter_context(scratch()))
        return self._folder
