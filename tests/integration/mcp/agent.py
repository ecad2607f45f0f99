"""A small coding agent for tests. It speaks MCP with a server over two files, and shares no code with it."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from adacoder.mcp.agent_server import LateTools, serve_files
from support.evaluating import processes_in

PATIENCE = 30.0
"""Seconds after which a test stops waiting."""
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
_LONGEST = 1 << 22
"""Maximum number of bytes of a message."""
_NUMBERS = itertools.count(1)


class SilentCaller:
    """A client that cannot ask its user. It records the progress."""

    def __init__(self) -> None:
        self.reported: list[int] = []
        self.can_ask = False

    def report(self, progress: int, total: int, message: str) -> None:
        self.reported.append(progress)

    async def ask(self, message: str, choices: Sequence[str]) -> None:
        """Answer no question."""


class Agent:
    """A client of one server."""

    def __init__(self, stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader) -> None:
        self._stdin, self._stdout = stdin, stdout
        self.notified: list[dict[str, Any]] = []
        """All notifications so far."""
        self.answers: dict[object, dict[str, Any]] = {}

    def send(self, line: bytes) -> None:
        """Send a line of any bytes."""
        self._stdin.write(line + b"\n")

    def begin(self, method: str, **params: object) -> int:
        """Send a request. Return its id."""
        number = next(_NUMBERS)
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())
        return number

    def notify(self, method: str, **params: object) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    async def next(self) -> dict[str, Any]:
        """Return the next message from the server."""
        line = await asyncio.wait_for(self._stdout.readline(), PATIENCE)
        message: dict[str, Any] = json.loads(line)
        assert message.pop("jsonrpc") == "2.0"
        return message

    async def answer(self, number: int) -> dict[str, Any]:
        """Return the response to a request. Other messages may come first."""
        while number not in self.answers:
            message = await self.next()
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.notified.append(message)
        return self.answers.pop(number)

    async def ask(self, method: str, **params: object) -> dict[str, Any]:
        return await self.answer(self.begin(method, **params))

    async def call(self, tool: str, **arguments: str) -> dict[str, Any]:
        """Call a tool. Return its result, which must not be an error."""
        result = await self.result(tool, **arguments)
        assert result["isError"] is False, result
        return found(result)

    async def refused(self, tool: str, **arguments: str) -> dict[str, Any]:
        """Call a tool. Return the error, which must occur."""
        result = await self.result(tool, **arguments)
        assert result["isError"] is True, result
        return found(result)

    async def result(self, tool: str, **arguments: str) -> dict[str, Any]:
        answer = await self.ask("tools/call", name=tool, arguments=arguments)
        result: dict[str, Any] = answer["result"]
        return result

    def leave(self) -> None:
        """Close the server's stdin."""
        self._stdin.close()


class ProcessAgent(Agent):
    """A client of a server in another process."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        super().__init__(process.stdin, process.stdout)
        self.process = process

    def held(self) -> tuple[int, int]:
        """Return the numbers of the server's open files and processes."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir())), len(self.descendants())

    def descendants(self) -> set[int]:
        """Return the server's descendants."""
        found: set[int] = set()
        waiting = [self.process.pid]
        while waiting:
            started = _children(waiting.pop()) - found
            found |= started
            waiting += started
        return found


def found(result: dict[str, Any]) -> dict[str, Any]:
    """Return the structured result of a call. The text of the call must repeat it."""
    (content,) = result["content"]
    assert json.loads(content["text"]) == result["structuredContent"]
    assert len(content["text"]) <= 6000
    structured: dict[str, Any] = result["structuredContent"]
    return structured


def declaring(settings: object) -> dict[str, Any]:
    """Return the params of `initialize` with an editor's settings."""
    return {"capabilities": {"experimental": {"adacoder": {"settings": settings}}}}


def _children(pid: int) -> set[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return {int(child) for task in tasks for child in (task / "children").read_text("ascii").split()}
    except OSError:
        return set()


def computed(pid: int) -> float:
    """Return the processor seconds of a process; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_running(pid: int) -> bool:
    """Return True if a process runs. A zombie, which has ended but still has an entry, does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@asynccontextmanager
async def agent(folder: Path, *options: object, **environment: str) -> AsyncIterator[ProcessAgent]:
    """Start a server in `folder`, and end it afterwards. Check that no process stays."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "adacoder", "mcp", *map(str, options)),
        cwd=folder,
        env={**os.environ, **environment},
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        limit=_LONGEST,
    )
    opened = ProcessAgent(process)
    try:
        yield opened
        started = opened.descendants()
        opened.leave()
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
        assert [pid for pid in started if is_running(pid)] == []
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@asynccontextmanager
async def inner_agent(folder: Path, **values: object) -> AsyncIterator[Agent]:
    """Start a server for `folder` in this process, and end it afterwards. Check that no sandbox stays.

    `values` are values of settings.
    """
    (stdin, typed), (shown, stdout) = (map(os.fdopen, os.pipe(), ("rb", "wb")) for _ in range(2))
    reader, loop = asyncio.StreamReader(_LONGEST), asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), shown)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, typed)
    opened = Agent(asyncio.StreamWriter(transport, protocol, None, loop), reader)
    calls = LateTools(folder, values, None)
    with stdin, stdout:
        serving = asyncio.create_task(serve_files(calls, partial(calls.offer, read_only=False), stdin, stdout))
        try:
            yield opened
        finally:
            opened.leave()
            await asyncio.wait_for(serving, PATIENCE)
    assert processes_in(folder) == []
