"""A language server in this process, and the messages that it sends."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from pygls.lsp.server import LanguageServer


class Peer:
    """A server, and the messages that it sends."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.sent: list[dict[str, Any]] = []
        self.boxes: list[Any] = []
        server.protocol.set_writer(self)

        async def wait(*_: Any) -> None:
            await asyncio.Event().wait()

        server.command("test.wait")(wait)

    def write(self, data: bytes) -> None:
        message = json.loads(data.partition(b"\r\n\r\n")[2])
        (self.boxes if message.get("method") == "window/showMessage" else self.sent).append(message)

    def close(self) -> None:
        """Do nothing. pygls closes its writers."""

    def receive(self, **message: Any) -> None:
        """Receive a message as in the server's main loop."""
        protocol: Any = self.server.protocol
        protocol.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def initialize(self, **capabilities: Any) -> Any:
        """Initialize the server. Return its answer."""
        params = {"processId": None, "rootUri": None, "capabilities": capabilities}
        self.receive(id="first", method="initialize", params=params)
        answer = self.answer("first")
        self.sent.clear()
        return answer and answer.get("result")

    def execute(self, message_id: Any, command: str) -> None:
        """Send a command without arguments."""
        self.receive(id=message_id, method="workspace/executeCommand", params={"command": command})

    def answer(self, message_id: Any) -> dict[str, Any] | None:
        return next((each for each in self.sent if each.get("id") == message_id and "method" not in each), None)

    def error(self, message_id: Any) -> int | None:
        """Return the code of an error answer; None without an answer, 0 for a result."""
        answer = self.answer(message_id)
        return None if answer is None else answer.get("error", {"code": 0})["code"]


async def turns() -> None:
    """Let all ready tasks run."""
    for _ in range(20):
        await asyncio.sleep(0)
