"""An editor as each client is: what it declares, and its ways. Clients are data, in `profiles/`.

`ways` of a profile:

* `settings`: how they get to the server: `pull`, `push` (sent when they change) or `options` (told at the start);
* `refusal`: how an edit of a text that has moved on is refused: by `applied: false`, or by an `error`;
* `silent`: it makes edits, and answers no request.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from integration.lsp.client import Client, ResponseError, Silence
from integration.lsp.texts import told_of
from support.standins.ollama import StandIn

CHANGED = "workspace/didChangeConfiguration"
WATCHED = ("workspace", "didChangeConfiguration", "dynamicRegistration")
"""What a client declares that announces changed settings to whom asks for that."""
PROFILES = {path.stem: path for path in sorted((Path(__file__).parent / "profiles").glob("*.json"))}

LEISURE = """
import sys
from adacoder.__main__ import main
from adacoder.lsp.connection import client

client._LONG = 3600.0
sys.exit(main(["serve"]))
"""
UNHURRIED = (sys.executable, "-c", LEISURE)
"""The server, except that it reports no job as long, however slow a busy machine is."""


@cache
def profile(name: str) -> Mapping[str, Any]:
    """What a client declares, and its ways."""
    read: dict[str, Any] = json.loads(PROFILES[name].read_text(encoding="utf-8"))
    return read


@dataclass
class Desk:
    """A person's editor and model server."""

    name: str
    editor: Client
    standin: StandIn

    @property
    def ways(self) -> Mapping[str, Any]:
        """Of the profile."""
        ways: Mapping[str, Any] = profile(self.name)["ways"]
        return ways

    def declared(self, *path: str) -> Any:
        """What the client declares of a capability, such as `window`, `workDoneProgress`."""
        value: Any = profile(self.name)["capabilities"]
        for member in path:
            value = value.get(member) if isinstance(value, dict) else None
        return value

    def declares(self, *path: str) -> bool:
        """True if the client declares that it can do something."""
        return bool(self.declared(*path))

    @property
    def versioned(self) -> bool:
        """True if edits are bound to a version of the text."""
        return self.declares("workspace", "workspaceEdit", "documentChanges")

    def answer(self) -> None:
        """Have the server's requests answered as this client does."""
        self.editor.answers.clear()
        self.editor.answers["workspace/applyEdit"] = self.apply
        self.editor.answers["window/showMessageRequest"] = lambda _: None  # the person goes on with something else
        self.editor.answers["window/showDocument"] = lambda _: {"success": True}
        if self.ways.get("silent"):
            for method in ("workspace/configuration", "window/workDoneProgress/create", "window/showMessageRequest"):
                self.editor.answers[method] = _never

    async def apply(self, params: Any) -> Any:
        """Make an edit, or refuse it in the client's own way."""
        answer = await self.editor._apply(params)
        if self.ways.get("silent"):
            raise Silence
        if not answer["applied"] and self.ways["refusal"] == "error":
            raise ResponseError({"code": -32603, "message": answer["failureReason"]})
        return answer

    async def configured(self, **more: Any) -> bool:
        """Change the person's settings, in the client's way; False if it has none.

        A client that can be asked to tell of such changes tells of none before it was.
        """
        if self.ways["settings"] == "options":
            return False
        settings = told_of(self.standin, **more)
        self.editor.settings = settings if self.ways["settings"] == "pull" else {}
        pushed = {"adacoder": settings} if self.ways["settings"] == "push" else None
        if not self.declares(*WATCHED) or CHANGED in self.editor.registered:
            await self.editor.notify(CHANGED, {"settings": pushed})
        return True

    async def titles(self, uri: str, at: str) -> list[str]:
        """The titles of the actions that are offered."""
        return [action["title"] for action in await self.editor.actions(uri, at)]

    async def take(self, uri: str, at: str, title: str) -> Any:
        """Take the action whose title holds `title`."""
        offered = await self.editor.actions(uri, at)
        (action,) = [each for each in offered if title in each["title"]]
        return await self.editor.take(action)

    async def told(self) -> str:
        """The last message or question, once nothing runs any more."""
        await self.editor.idle()
        told = ("window/showMessageRequest", "window/showMessage")
        return str([each["params"]["message"] for each in self.editor.received if each["method"] in told][-1])


def _never(_: Any) -> Any:
    raise Silence


@asynccontextmanager
async def desk(name: str, folder: Path) -> AsyncIterator[Desk]:
    """A client's editor with a server that it has initialized, and a model server that it has been told of."""
    with_ways, declared = profile(name)["ways"], profile(name)["capabilities"]
    async with StandIn([]) as standin:
        settings = told_of(standin)
        client = await Client.spawned(folder, settings if with_ways["settings"] == "pull" else {}, UNHURRIED)
        opened = Desk(name, client, standin)
        opened.answer()
        try:
            options = {"adacoder": settings} if with_ways["settings"] == "options" else None
            await client.initialize(declared, options, client_info=profile(name)["clientInfo"])
            if with_ways["settings"] == "push":
                await opened.configured()
            yield opened
            assert await client.leave() == 0, client.stderr
            client.check()
        finally:
            await client.kill()


async def until_asked(standin: StandIn, count: int) -> None:
    """Wait until the model has been asked `count` times."""
    async with asyncio.timeout(20):
        while len(standin.requests) < count:  # noqa: ASYNC110  # another process asks
            await asyncio.sleep(0.01)
