"""A small editor for tests. It starts a server process, speaks LSP with it over stdio, and applies edits.

It shares no code with the server, so that wrong counting of characters is noticed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from support.commandline import HEEDING
from support.forking import Forked

PATIENCE = 30.0
"""Seconds after which a test stops waiting."""
_CASES = itertools.count(1)
SERVER = (sys.executable, "-m", "adacoder", "serve")

FULL: dict[str, Any] = {
    "window": {"workDoneProgress": True, "showMessage": {"messageActionItem": {}}},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceFolders": True,
        "workspaceEdit": {"documentChanges": True},
    },
    "textDocument": {
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor.rewrite"]}},
            "disabledSupport": True,
            "tagSupport": {"valueSet": [1]},
        }
    },
}
"""Capabilities of an editor that can do everything that AdaCoder uses."""

BARE: dict[str, Any] = {}
"""Capabilities of an editor that declares nothing, similar to ALE."""


def encodings(capabilities: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return `capabilities` with the position encodings `names`, in order of preference."""
    return {**capabilities, "general": {"positionEncodings": list(names)}}


class ResponseError(Exception):
    """An error response."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]


class Silence(Exception):
    """Raised by a handler in place of an answer, to simulate an editor that never answers."""


@dataclass
class Document:
    """An open text."""

    text: str
    version: int
    notebook: Notebook | None = None
    """The notebook of a cell."""


@dataclass
class Notebook:
    """An open notebook."""

    uri: str
    cells: list[str]
    """URIs of the Python cells, in order."""
    version: int = 1


@dataclass
class Client:
    """An editor with a server process."""

    process: asyncio.subprocess.Process | Forked
    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)
    """The settings in section `adacoder`."""
    encoding: str = "utf-16"
    documents: dict[str, Document] = field(default_factory=dict)
    received: list[dict[str, Any]] = field(default_factory=list)
    """Every request and notification from the server."""
    answers: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Answers to the server's requests, in place of the usual ones."""
    capabilities: dict[str, Any] = field(default_factory=dict)
    """The server's capabilities."""
    registered: dict[str, Any] = field(default_factory=dict)
    """Notifications that the server has registered for, with their options."""
    stderr: str = ""

    def __post_init__(self) -> None:
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._answering: list[asyncio.Task[None]] = []
        self._changed = asyncio.Condition()
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._listen_to_stderr())]

    @classmethod
    async def spawned(
        cls,
        folder: Path,
        settings: dict[str, Any] | None = None,
        command: Sequence[str] = SERVER,
        *,
        is_forked: bool = True,
    ) -> Self:
        """Start a server, and send it nothing yet."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("OLLAMA_")}
        if is_forked:
            return cls(await Forked.started(command, folder, environment, limit=1 << 24), folder, settings or {})
        process = await asyncio.create_subprocess_exec(
            *(*HEEDING, *command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=folder,
            env=environment,
            limit=1 << 24,
        )
        return cls(process, folder, settings or {})

    @classmethod
    @asynccontextmanager
    async def started(
        cls,
        folder: Path,
        settings: dict[str, Any] | None = None,
        *,
        capabilities: dict[str, Any] = FULL,
        options: Any = None,
        command: Sequence[str] = SERVER,
        name: str = "test",
        is_forked: bool = True,
    ) -> AsyncIterator[Self]:
        """Start and initialize a server. At the end, shut it down and check that nothing went wrong."""
        client = await cls.spawned(folder, settings, command, is_forked=is_forked)
        try:
            await client.initialize(capabilities, options, client_info={"name": name})
            yield client
            assert await client.leave() == 0, client.stderr
            client.check()
        finally:
            await client.kill()

    async def initialize(
        self, capabilities: dict[str, Any] = FULL, options: Any = None, *, client_info: Any = None
    ) -> dict[str, Any]:
        """Initialize the server. Return its answer."""
        root = self.folder.as_uri()
        result: dict[str, Any] = await self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": root,
                "workspaceFolders": [{"uri": root, "name": self.folder.name}],
                "clientInfo": client_info,
                "capabilities": capabilities,
                "initializationOptions": options,
            },
        )
        self.capabilities = result["capabilities"]
        self.encoding = self.capabilities["positionEncoding"]
        await self.notify("initialized", {})
        return result

    async def leave(self) -> int:
        """Send `shutdown` and `exit`. Return the server's exit code."""
        await self.request("shutdown")
        await self.notify("exit")
        return await self.ended()

    def check(self) -> None:
        """Check that the server has reported no crash, and that no handler has failed."""
        assert "Traceback" not in self.stderr, self.stderr
        for task in self._answering:
            if task.done():
                task.result()

    async def ended(self) -> int:
        """Wait until the server ends. Return its exit code."""
        code = await asyncio.wait_for(self.process.wait(), PATIENCE)
        await asyncio.wait_for(asyncio.gather(*self._tasks), PATIENCE)
        return code

    def hang_up(self) -> None:
        """Close the server's stdin."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def kill(self) -> None:
        """Kill the server if it still runs."""
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        tasks = [*self._tasks, *self._answering]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.hang_up()
        if isinstance(self.process, Forked):
            self.process.close()

    def descendants(self) -> set[int]:
        """Return the server's descendants."""

        def children(pid: int) -> set[int]:
            with contextlib.suppress(OSError):
                tasks = Path(f"/proc/{pid}/task").iterdir()
                return {int(child) for task in tasks for child in (task / "children").read_text().split()}
            return set()

        found: set[int] = set()
        fresh = children(self.process.pid)
        while fresh := fresh - found:
            found |= fresh
            fresh = {grandchild for child in fresh for grandchild in children(child)}
        return found

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a message unchanged."""
        body = json.dumps(message, ensure_ascii=False).encode()
        await self.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def send_bytes(self, data: bytes) -> None:
        """Send bytes that may not be a message."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        await self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    async def begin(self, method: str, params: Any = None) -> tuple[int, asyncio.Future[Any]]:
        """Send a request. Return its id and a future with its result."""
        number = next(self._ids)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        members = {} if params is None else {"params": params}
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, **members})
        return number, future

    async def request(self, method: str, params: Any = None) -> Any:
        """Return the result of a request.

        Raises:
            ResponseError: the server answered with an error.
        """
        _, future = await self.begin(method, params)
        return await asyncio.wait_for(future, PATIENCE)

    async def cancel(self, number: int) -> None:
        """Cancel a request."""
        await self.notify("$/cancelRequest", {"id": number})

    async def until(self, holds: Callable[[], Any]) -> Any:
        """Wait until `holds` is true for the received messages. Return its value."""

        async def wait() -> Any:
            async with self._changed:
                return await self._changed.wait_for(holds)

        try:
            return await asyncio.wait_for(wait(), PATIENCE)
        except TimeoutError:
            raise AssertionError(f"waited in vain; received {self.received[-8:]}; stderr: {self.stderr}") from None

    def all(self, method: str) -> list[Any]:
        """Return the parameters of all messages with `method` from the server."""
        return [message.get("params") for message in self.received if message["method"] == method]

    async def _listen(self) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                head = await self.process.stdout.readuntil(b"\r\n\r\n")
                match = re.fullmatch(rb"Content-Length: (\d+)\r\n(?:Content-Type: [^\r]*\r\n)?\r\n", head)
                assert match, f"the server wrote {head!r} to stdout"
                await self._received(json.loads(await self.process.stdout.readexactly(int(match[1]))))
        for future in self._waiting.values():
            future.cancel()

    async def _received(self, message: dict[str, Any]) -> None:
        if "method" in message:
            self.received.append(message)
            if "id" in message:
                self._answering.append(asyncio.create_task(self._answer(message)))
        elif (future := self._waiting.pop(message["id"], None)) is not None and not future.done():
            if "error" in message:
                future.set_exception(ResponseError(message["error"]))
            else:
                future.set_result(message["result"])
        async with self._changed:
            self._changed.notify_all()

    async def _answer(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params")
        usual = {
            "client/registerCapability": self._register,
            "workspace/configuration": self._configuration,
            "workspace/applyEdit": self._apply,
            "window/workDoneProgress/create": lambda _: None,
            "workspace/codeLens/refresh": lambda _: None,
            "workspace/inlayHint/refresh": lambda _: None,
        }
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            result = (self.answers.get(method) or usual[method])(params)
            await self.send(reply | {"result": await result if asyncio.iscoroutine(result) else result})
        except ResponseError as error:
            await self.send(reply | {"error": {"code": error.code, "message": error.message}})
        except Silence:
            pass
        async with self._changed:  # let tasks run that wait for the received message
            self._changed.notify_all()

    async def _listen_to_stderr(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.stderr += line.decode(errors="replace")
            async with self._changed:
                self._changed.notify_all()

    def uri(self, path: Path | str) -> str:
        """Return the URI of a file. A name that has a scheme is already a URI."""
        return path if isinstance(path, str) and ":" in path else (self.folder / path).as_uri()

    async def open(self, path: Path | str, text: str | None = None) -> str:
        """Open a file with `text`, by default the text on disk. Return its URI."""
        uri = self.uri(path)
        if text is None:
            text = (self.folder / path).read_bytes().decode()
        self.documents[uri] = Document(text, 1)
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        await self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    async def write(self, name: str, text: str) -> str:
        """Create a file and open it. Return its URI."""
        (self.folder / name).write_bytes(text.encode())
        return await self.open(name)

    async def close(self, uri: str) -> None:
        """Close an open text."""
        del self.documents[uri]
        await self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    async def change(self, uri: str, old: str, new: str) -> None:
        """Replace the first `old` in an open text by `new`, as if the user had typed it."""
        document = self.documents[uri]
        start = document.text.index(old)
        at = {"start": self.position(document.text, start), "end": self.position(document.text, start + len(old))}
        document.text = document.text.replace(old, new, 1)
        await self._did_change(uri, [{"range": at, "text": new}])

    async def _did_change(self, uri: str, changes: list[dict[str, Any]]) -> None:
        document = self.documents[uri]
        document.version += 1
        identifier = {"uri": uri, "version": document.version}
        if document.notebook is not None:
            changed = {"document": identifier, "changes": changes}
            await self._notebook_changed(document.notebook, {"textContent": [changed]})
            return
        await self.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": changes})

    async def open_notebook(self, path: Path | str, *texts: str) -> Notebook:
        """Open a notebook with Python cells. Return it."""
        uri = self.uri(path)
        names = [f"vscode-notebook-cell:{uri.partition(':')[2]}#W{number}" for number, _ in enumerate(texts)]
        notebook = Notebook(uri, names)
        items = [self._cell(notebook, name, text) for name, text in zip(names, texts, strict=True)]
        about = {"uri": uri, "notebookType": "jupyter-notebook", "version": 1, "cells": _cells(names)}
        await self.notify("notebookDocument/didOpen", {"notebookDocument": about, "cellTextDocuments": items})
        return notebook

    async def close_notebook(self, notebook: Notebook) -> None:
        """Close a notebook."""
        cells = [{"uri": uri} for uri in notebook.cells]
        params = {"notebookDocument": {"uri": notebook.uri}, "cellTextDocuments": cells}
        for uri in notebook.cells:
            del self.documents[uri]
        await self.notify("notebookDocument/didClose", params)

    async def rearrange(self, notebook: Notebook, cells: Sequence[str], **new: str) -> None:
        """Replace a notebook's cells, given by their URIs. `new` has the texts of new cells."""
        base = notebook.cells[0].partition("#")[0] if notebook.cells else notebook.uri
        fresh = {f"{base}#{name}": text for name, text in new.items()}
        opened = [self._cell(notebook, uri, text) for uri, text in fresh.items()]
        closed = [uri for uri in notebook.cells if uri not in cells]
        for uri in closed:
            del self.documents[uri]
        structure = {
            "array": {"start": 0, "deleteCount": len(notebook.cells), "cells": _cells(cells)},
            "didOpen": opened,
            "didClose": [{"uri": uri} for uri in closed],
        }
        notebook.cells = list(cells)
        await self._notebook_changed(notebook, {"structure": structure})

    def _cell(self, notebook: Notebook, uri: str, text: str) -> dict[str, Any]:
        self.documents[uri] = Document(text, 1, notebook)
        return {"uri": uri, "languageId": "python", "version": 1, "text": text}

    async def _notebook_changed(self, notebook: Notebook, cells: dict[str, Any]) -> None:
        notebook.version += 1
        identifier = {"uri": notebook.uri, "version": notebook.version}
        await self.notify("notebookDocument/didChange", {"notebookDocument": identifier, "change": {"cells": cells}})

    def text(self, uri: str) -> str:
        """Return the text of an open document as the user sees it."""
        return self.documents[uri].text

    def position(self, text: str, offset: int) -> dict[str, int]:
        """Return the LSP position of a code-point offset."""
        lines = _lines(text[:offset])
        return {"line": len(lines) - 1, "character": self._units(lines[-1])}

    def offset(self, text: str, position: Mapping[str, int]) -> int:
        """Return the code-point offset of an LSP position."""
        lines = _lines(text)
        line = lines[position["line"]]
        columns = [self._units(line[:index]) for index in range(len(line) + 1)]
        return sum(map(len, lines[: position["line"]])) + columns.index(position["character"])

    def marked(self, uri: str, place: Mapping[str, Any]) -> str:
        """Return the text of an LSP range."""
        text = self.text(uri)
        return text[self.offset(text, place["start"]) : self.offset(text, place["end"])]

    def _units(self, text: str) -> int:
        size = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[self.encoding]
        codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[self.encoding]
        return len(text.encode(codec)) // size

    def edited(self, text: str, edits: Sequence[Mapping[str, Any]]) -> str:
        """Apply LSP edits to `text`."""
        spans = [
            (self.offset(text, edit["range"]["start"]), self.offset(text, edit["range"]["end"]), edit["newText"])
            for edit in edits
        ]
        for start, end, new in sorted(spans, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def _register(self, params: Any) -> None:
        self.registered.update({each["method"]: each.get("registerOptions") for each in params["registrations"]})

    def _configuration(self, params: Any) -> list[Any]:
        return [self.settings if item.get("section") == "adacoder" else None for item in params["items"]]

    async def _apply(self, params: Any) -> dict[str, Any]:
        edit = params["edit"]
        if "documentChanges" in edit:
            changes = [
                (each["textDocument"]["uri"], each["textDocument"]["version"], each["edits"])
                for each in edit["documentChanges"]
            ]
        else:
            changes = [(uri, self.documents[uri].version, edits) for uri, edits in edit["changes"].items()]
        for uri, version, edits in changes:
            document = self.documents[uri]
            if version != document.version:
                return {"applied": False, "failureReason": f"version {version} is not {document.version}"}
            document.text = self.edited(document.text, edits)
            await self._did_change(uri, [{"text": document.text}])
        return {"applied": True}

    async def actions(
        self,
        uri: str,
        at: str,
        only: Sequence[str] | None = None,
        trigger: int | None = 1,
        diagnostics: Sequence[dict[str, Any]] = (),
    ) -> list[dict[str, Any]]:
        """Return the code actions at the first `at`.

        `trigger` is 1 if the user asks for them, 2 if the editor does. `diagnostics` are the diagnostics there.
        """
        text = self.documents[uri].text
        position = self.position(text, text.index(at))
        context: dict[str, Any] = {"diagnostics": [*diagnostics]}
        context |= {} if only is None else {"only": list(only)}
        context |= {} if trigger is None else {"triggerKind": trigger}
        params = {"textDocument": {"uri": uri}, "range": {"start": position, "end": position}, "context": context}
        return await self.request("textDocument/codeAction", params) or []

    async def execute(self, command: str, *arguments: Any) -> Any:
        """Execute a command of the server."""
        params = {"command": f"adacoder.server.{command}", "arguments": list(arguments)}
        return await self.request("workspace/executeCommand", params)

    async def take(self, action: Mapping[str, Any]) -> Any:
        """Execute the command of a code action."""
        command = action if isinstance(action["command"], str) else action["command"]
        return await self.request(
            "workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]}
        )

    async def run(
        self, path: Path | str, qualname: str, *, mode: str = "generate", apply: bool = True, **more: Any
    ) -> Any:
        """Return the answer to `adacoder/run`."""
        return await self.request("adacoder/run", self.run_params(path, qualname, mode=mode, apply=apply, **more))

    def run_params(
        self, path: Path | str, qualname: str, *, mode: str = "generate", apply: bool = True, **more: Any
    ) -> dict[str, Any]:
        document = {"uri": self.uri(path)}
        return {"textDocument": document, "qualifiedName": qualname, "mode": mode, "apply": apply, **more}

    @asynccontextmanager
    async def case(self) -> AsyncIterator[Self]:
        """Work in a new folder of the workspace.

        At the end, check that no job runs, and that nothing is kept or open.
        """
        workspace = self.folder
        self.folder = workspace / f"case{next(_CASES)}"
        self.folder.mkdir()
        self.received.clear()
        self.answers.clear()
        yield self
        await self.execute("cancel")
        await self.idle()
        for result in (await self.request("adacoder/kept", {}))["items"]:
            await self.execute("discard", {"jobId": result["jobId"]})
        for document in list(self.documents.values()):
            if document.notebook is not None and document.notebook.cells[0] in self.documents:
                await self.close_notebook(document.notebook)
        for uri in list(self.documents):
            await self.close(uri)
        self.folder = workspace

    async def idle(self) -> None:
        """Wait until no job runs."""
        async with asyncio.timeout(PATIENCE):
            while (await self.execute("status"))["jobs"]:  # noqa: ASYNC110  # they run in another process
                await asyncio.sleep(0.02)

    @property
    def messages(self) -> list[tuple[int, str]]:
        """Return the messages to the user: their kind (2 is a warning, 3 an information) and text."""
        return [(params["type"], params["message"]) for params in self.all("window/showMessage")]

    async def told(self) -> tuple[int, str]:
        """Return the message at the end of a job. Fail if there is more than one."""
        await self.until(lambda: self.messages)
        await self.idle()  # time for a second message
        assert len(self.messages) == 1, self.messages
        return self.messages[0]


def _cells(uris: Sequence[str]) -> list[dict[str, Any]]:
    return [{"kind": 2, "document": uri} for uri in uris]


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their line ends, as LSP counts lines."""
    parts = re.split(r"(\r\n|\r|\n)", text)
    return ["".join(parts[index : index + 2]) for index in range(0, len(parts), 2)]
