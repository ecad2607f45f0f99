"""An editor that behaves like a certain client, with its capabilities and ways. Clients are data, in `profiles/`.

`ways` of a profile:

* `settings`: how they reach the server: `pull`, `push` (sent when they change) or `options` (sent at the start);
* `refusal`: how the client refuses an edit of an outdated text: by `applied: false`, or by an `error`;
* `silent`: it makes edits, but answers no request.
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
"""Capability of a client that reports changed settings to servers that ask for it."""
PROFILES = {path.stem: path for path in sorted((Path(__file__).parent / "profiles").glob("*.json"))}

LEISURE = """
import sys
from adacoder.__main__ import main
from adacoder.lsp.connection import client

client._LONG = 3600.0
sys.exit(main(["serve"]))
"""
UNHURRIED = (sys.executable, "-c", LEISURE)
"""The server, except that it reports no job as long, even on a slow or busy machine."""


@cache
def profile(name: str) -> Mapping[str, Any]:
    """Return a client's capabilities and ways."""
    read: dict[str, Any] = json.loads(PROFILES[name].read_text(encoding="utf-8"))
    return read


@dataclass
class Desk:
    """An editor and a model server of one person."""

    name: str
    editor: Client
    standin: StandIn

    @property
    def ways(self) -> Mapping[str, Any]:
        """The ways of the profile."""
        ways: Mapping[str, Any] = profile(self.name)["ways"]
        return ways

    def declared(self, *path: str) -> Any:
        """Return the client's declared value of a capability, such as `window`, `workDoneProgress`."""
        value: Any = profile(self.name)["capabilities"]
        for member in path:
            value = value.get(member) if isinstance(value, dict) else None
        return value

    def declares(self, *path: str) -> bool:
        """Return whether the client declares a capability."""
        return bool(self.declared(*path))

    @property
    def versioned(self) -> bool:
        """True if edits belong to a version of the text."""
        return self.declares("workspace", "workspaceEdit", "documentChanges")

    def answer(self) -> None:
        """Answer the server's requests as this client does."""
        self.editor.answers.clear()
        self.editor.answers["workspace/applyEdit"] = self.apply
        self.editor.answers["window/showMessageRequest"] = lambda _: None  # the person does something else instead
        self.editor.answers["window/showDocument"] = lambda _: {"success": True}
        if self.ways.get("silent"):
            for method in ("workspace/configuration", "window/workDoneProgress/create", "window/showMessageRequest"):
                self.editor.answers[method] = _never

    async def apply(self, params: Any) -> Any:
        """Make an edit, or refuse it as the client does."""
        answer = await self.editor._apply(params)
        if self.ways.get("silent"):
            raise Silence
        if not answer["applied"] and self.ways["refusal"] == "error":
            raise ResponseError({"code": -32603, "message": answer["failureReason"]})
        return answer

    async def configured(self, **more: Any) -> bool:
        """Change the person's settings as the client does. Return False if it cannot change them.

        If a client reports changes on request, it reports none before the server asks for it.
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
        """Return the titles of the available code actions."""
        return [action["title"] for action in await self.editor.actions(uri, at)]

    async def take(self, uri: str, at: str, title: str) -> Any:
        """Take the action whose title contains `title`."""
        offered = await self.editor.actions(uri, at)
        (action,) = [each for each in offered if title in each["title"]]
        return await self.editor.take(action)

    async def told(self) -> str:
        """Return the last message or question after everything has ended."""
        await self.editor.idle()
        told = ("window/showMessageRequest", "window/showMessage")
        return str([each["params"]["message"] for each in self.editor.received if each["method"] in told][-1])


def _never(_: Any) -> Any:
    raise Silence


@asynccontextmanager
async def desk(name: str, folder: Path) -> AsyncIterator[Desk]:
    """Open a client's editor with an initialized server and a model server in its settings."""
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
    """Wait until the model has received `count` requests."""
    async with asyncio.timeout(20):
        while len(standin.requests) < count:  # noqa: ASYNC110  # another process sends them
            await asyncio.sleep(0.01)
