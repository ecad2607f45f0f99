"""The start and end of a session, and messages that are invalid or come at the wrong time."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from integration.lsp.client import PATIENCE, SERVER, Client, ResponseError
from integration.lsp.texts import ENDLESS, GOOD, STUB, UNENDING, thinking, told_of
from support.standins.ollama import StandIn

HEAVY = ("ollama", "httpx", "jedi", "parso", "pyflakes", "click", "rich")


@asynccontextmanager
async def fresh(folder: Path, *, complains: bool = False, **more: Any) -> AsyncIterator[Client]:
    """A server that has received nothing. It may end in any way, and may write to stderr if it `complains`."""
    client = await Client.spawned(folder, is_forked=False, **more)
    try:
        yield client
        if not complains:
            client.check()
    finally:
        await client.kill()


def imported(stderr: str) -> set[str]:
    """Return the top-level modules in the output of `-X importtime`."""
    return {name.partition(".")[0] for name in re.findall(r"^import time:.*\|\s+([\w.]+)$", stderr, re.MULTILINE)}


async def test_answering_initialize_imports_nothing_heavy(tmp_path: Path) -> None:
    command = (sys.executable, "-X", "importtime", *SERVER[1:])
    async with fresh(tmp_path, command=command) as client:
        await client.initialize()
        uri = await client.write("names.py", STUB)
        assert await client.actions(uri, "def")
        await client.leave()
        assert imported(client.stderr) & {"lsprotocol", *HEAVY} == {"lsprotocol"}


@pytest.mark.isolation
async def test_a_request_imports_what_it_needs(tmp_path: Path) -> None:
    command = (sys.executable, "-X", "importtime", *SERVER[1:])
    async with StandIn([GOOD]) as standin, fresh(tmp_path, command=command) as client:
        client.settings = told_of(standin)
        await client.initialize()
        await client.write("names.py", STUB)
        await client.run("names.py", "initials")
        await client.leave()
        found = imported(client.stderr) & set(HEAVY)
        assert found >= {"ollama", "httpx"}
        assert not found & {"jedi", "pyflakes"}, "what reads whole modules is not in the process of the event loop"


def runs(pid: int) -> bool:
    """Return True if the process exists."""
    return Path(f"/proc/{pid}").exists()


async def test_exit_without_shutdown_is_a_failure(tmp_path: Path) -> None:
    async with fresh(tmp_path) as client:
        await client.initialize()
        await client.notify("exit")
        assert await client.ended() == 1


async def test_exit_before_initialize(tmp_path: Path) -> None:
    async with fresh(tmp_path) as client:
        await client.notify("exit")
        assert await client.ended() == 1


async def test_exit_that_does_not_wait_for_shutdown(tmp_path: Path) -> None:
    async with fresh(tmp_path) as client:
        await client.initialize()
        await client.begin("shutdown")
        await client.notify("exit")
        assert await client.ended() == 0


@pytest.mark.parametrize("was_shut_down", [True, False])
async def test_the_end_of_stdin_is_the_end(tmp_path: Path, was_shut_down: bool) -> None:
    async with fresh(tmp_path) as client:
        await client.initialize()
        if was_shut_down:
            await client.request("shutdown")
        client.hang_up()
        assert await client.ended() == (0 if was_shut_down else 1)


@pytest.mark.skipif(sys.platform == "win32", reason="a client on Windows closes the stdin of its server")
@pytest.mark.parametrize("how", ["ended", "running", "unknown"])
async def test_the_server_ends_after_its_client_although_stdin_stays_open(tmp_path: Path, how: str) -> None:
    editor = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=subprocess.PIPE)
    process_id = {"ended": editor.pid, "running": editor.pid, "unknown": (1 << 31) - 1}[how]
    async with fresh(tmp_path, complains=True) as client:
        params: dict[str, Any] = {"processId": process_id, "rootUri": None, "capabilities": {}}
        await client.request("initialize", params)
        await client.notify("initialized", {})
        await client.execute("status")
        if how == "ended":
            editor.kill()
            await editor.wait()
            assert await client.ended() == 1
        else:
            await asyncio.sleep(3)  # nothing shows that the server continues, so wait
            assert await client.execute("status")
    if editor.returncode is None:
        editor.kill()
        await editor.wait()


async def test_the_end_of_stdin_in_the_middle_of_a_message(tmp_path: Path) -> None:
    async with fresh(tmp_path) as client:
        await client.initialize()
        await client.send_bytes(b'Content-Length: 99\r\n\r\n{"jsonrpc"')
        client.hang_up()
        assert await client.ended() == 1


@pytest.mark.isolation
@pytest.mark.parametrize("ending", ["shutdown", "exit", "hang up", "SIGTERM", "SIGINT"])
async def test_nothing_survives_the_end(tmp_path: Path, ending: str) -> None:
    async with StandIn([UNENDING]) as standin, fresh(tmp_path) as client:
        client.settings = told_of(standin)
        await client.initialize()
        await client.write("names.py", STUB)
        _, answer = await client.begin("adacoder/run", client.run_params("names.py", "initials"))
        await standin.until("first byte 1")
        match ending:
            case "shutdown":
                assert await client.leave() == 0
                with pytest.raises(ResponseError, match="-32800"):
                    await answer
            case "exit":
                await client.notify("exit")
            case "hang up":
                client.hang_up()
            case _:
                client.process.send_signal(signal.Signals[ending])
        assert await client.ended() == (0 if ending == "shutdown" else 1)
        await standin.until("disconnected 1")
        assert client.all("workspace/applyEdit") == []
        assert client.messages == []


@pytest.mark.isolation
@pytest.mark.parametrize("ending", ["hang up", "SIGTERM"])
async def test_no_evaluation_survives_the_end(tmp_path: Path, ending: str) -> None:
    async with StandIn([ENDLESS]) as standin, fresh(tmp_path) as client:
        client.settings = told_of(standin, timeout=300)
        await client.initialize()
        uri = await client.write("names.py", STUB)
        await client.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        await client.until(lambda: "running the examples" in str(client.all("$/progress")))
        async with asyncio.timeout(PATIENCE):
            while not (running := client.descendants()):  # noqa: ASYNC110  # no event says when a process starts
                await asyncio.sleep(0.02)
            if ending == "hang up":
                client.hang_up()
            else:
                client.process.send_signal(signal.SIGTERM)
            assert await client.ended() == 1
            while any(map(runs, running)):  # noqa: ASYNC110  # or when one is gone
                await asyncio.sleep(0.02)


async def test_shutdown_with_commands_in_flight(tmp_path: Path) -> None:
    async with StandIn() as standin, fresh(tmp_path) as client, thinking(standin):
        client.settings = told_of(standin)
        await client.initialize()
        uri = await client.write("names.py", STUB + STUB.replace("initials", "capitals"))
        for name in ("initials", "capitals"):
            await client.execute("generate", {"uri": uri, "qualifiedName": name})
        asked = asyncio.Event()

        async def wait(params: object) -> None:
            asked.set()
            await asyncio.Event().wait()

        client.answers["workspace/configuration"] = wait
        await client.begin("workspace/executeCommand", {"command": "adacoder.server.models", "arguments": []})
        await asyncio.wait_for(asked.wait(), PATIENCE)
        assert await client.leave() == 0


async def test_messages_that_are_none(tmp_path: Path) -> None:
    async with fresh(tmp_path, complains=True) as client:
        await client.initialize()
        for body in (b"not JSON", b"[]", b'{"jsonrpc": "2.0", "method": "no/such"}'):
            await client.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        await client.notify("textDocument/didOpen", {"textDocument": None})
        assert await client.execute("status") == {"version": 1, "jobs": []}
        assert client.messages == []


async def test_a_broken_header_ends_the_server_with_the_reason(tmp_path: Path) -> None:
    async with fresh(tmp_path, complains=True) as client:
        await client.initialize()
        await client.send_bytes(b"Content-Length: abc\r\n\r\n")
        assert await client.ended() == 1
        assert "a header has no 'Content-Length': b'Content-Length: abc" in client.stderr


# Processes


WATCHED = """
import asyncio, sys, threading
from adacoder.lsp import stdio

start, spawn = threading.Thread.start, asyncio.create_subprocess_exec
threading.Thread.start = lambda self: (print("thread", self.name, file=sys.stderr), start(self))[1]
asyncio.create_subprocess_exec = lambda *a, **k: (print("process", file=sys.stderr), spawn(*a, **k))[1]
sys.exit(stdio.serve())
"""


@pytest.mark.isolation
async def test_no_thread_is_started_for_a_process(tmp_path: Path) -> None:
    async with Client.started(tmp_path, command=(sys.executable, "-c", WATCHED), is_forked=False) as client:
        await client.write("names.py", f"{STUB}    return 'AL'\n")
        assert (await client.run("names.py", "initials", mode="check"))["examples"] == {"passed": 1, "total": 2}
    assert "process" in client.stderr
    assert "thread" in client.stderr
    assert "asyncio-waitpid" not in client.stderr


# stdin and stdout


NOISY = """
import os, subprocess, sys
from adacoder.lsp import stdio

create = stdio.create

def noise(ls, params):
    print("noise from print")
    os.write(1, b"noise from a file descriptor\\n")
    subprocess.run(["echo", "noise from a child"])
    return sys.stdin.read()

def noisy():
    made = create()
    made.feature("noise/make")(noise)
    return made

stdio.create = noisy
sys.exit(stdio.serve())
"""


async def test_noise_on_stdout_does_not_reach_the_client(tmp_path: Path) -> None:
    async with Client.started(tmp_path, command=(sys.executable, "-c", NOISY), is_forked=False) as client:
        assert await client.request("noise/make", {}) == ""
        assert await client.execute("status") == {"version": 1, "jobs": []}
        await client.until(lambda: client.stderr.count("noise from") == 3)


def framed(*messages: dict[str, Any]) -> bytes:
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)


SESSION = framed(
    {
        "id": 1,
        "method": "initialize",
        "params": {"processId": None, "rootUri": None, "capabilities": {}},
    },
    {"id": 2, "method": "shutdown"},
    {"method": "exit"},
)


def test_stdin_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "session").write_bytes(SESSION)
    with (tmp_path / "session").open("rb") as session:
        ran = subprocess.run(SERVER, stdin=session, capture_output=True, timeout=PATIENCE, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.count(b"Content-Length") == 2


def test_a_server_whose_stdin_is_nothing_ends() -> None:
    ran = subprocess.run(SERVER, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=PATIENCE)
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, b"", b"")


def test_stdin_and_stdout_may_be_one_socket(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(PATIENCE)
        server = subprocess.Popen(SERVER, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.PIPE)
        theirs.close()
        ours.sendall(SESSION)
        received = b""
        while part := ours.recv(1 << 16):
            received += part
        _, stderr = server.communicate(timeout=PATIENCE)
    assert (server.returncode, stderr) == (0, b"")
    assert received.count(b"Content-Length") == 2
