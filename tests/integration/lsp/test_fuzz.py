"""Send mutations of a recorded session. The server must not die, must answer, and must write only messages.

`--all` sends 10,000. Most of them are still JSON; the others are broken bytes.
"""

from __future__ import annotations

import asyncio
import copy
import json
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from integration.lsp.client import FULL, SERVER, Client, ResponseError
from integration.lsp.texts import NO_EXAMPLES, STUB

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**31, 2**63, 10**400, 1.5, "", "x", "\x00", "\ud800", "𝔐", "file:///no.py"),
    *("untitled:x", [], {}, [[]], [None], {"line": -1, "character": 2**40}, {"uri": 3}, "a" * 10_000),
)
METHODS = ("textDocument/didOpen", "textDocument/codeAction", "adacoder/run", "no/such", "$/cancelRequest", "")
BATCH, PATIENCE, PROBES = 20, 10.0, 5


class FaultError(AssertionError):
    """The server did something forbidden."""


async def recorded(folder: Path) -> list[dict[str, Any]]:
    """Return the messages of an editor's session, without its end."""
    sent: list[dict[str, Any]] = []
    async with Client.started(folder, {"trusted": False}) as client:
        send = client.send

        async def record(message: Any) -> None:
            sent.append(copy.deepcopy(message))
            await send(message)

        client.send = record  # type: ignore[method-assign]  # listens in
        with pytest.raises(ResponseError):
            await client.initialize()  # a second `initialize`, to be mutated as well
        uri = await client.write("names.py", STUB + "\n\n" + NO_EXAMPLES)
        await client.change(uri, "capitals", "letters 𝔐")
        await client.actions(uri, "def ")
        await client.actions(uri, "def shout", ["quickfix"], trigger=2)
        for command in (
            "generate",
            "check",
            "repair",
            "insert",
            "difference",
            "discard",
            "journal",
            "status",
            "cancel",
        ):
            await client.execute(command, {"uri": uri, "qualifiedName": "shout", "jobId": "x", "candidate": 1})
            await client.idle()
        await client.run("names.py", "initials")
        await client.notify("workspace/didChangeConfiguration", {"settings": {"adacoder": {"maxIterations": 1}}})
        await client.cancel(3)
        await client.close(uri)
        del client.send
    return [message for message in sent if message.get("method") not in ("shutdown", "exit")]


def mutated(message: dict[str, Any], rng: random.Random, number: int) -> bytes:
    """Return a framed message with one to three errors in it."""
    message = copy.deepcopy(message)
    if "id" in message and "method" in message:
        message["id"] = number
    for _ in range(rng.randrange(1, 4)):
        _change(message, rng)
    body = json.dumps(message).encode()
    if rng.random() < 0.2:
        body = _broken(body, rng)
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def _change(message: dict[str, Any], rng: random.Random) -> None:
    """Change, remove or add a value in nested data."""
    here: Any = message
    while True:
        places: list[Any] = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not places:
            return
        place = rng.choice(places)
        if isinstance(here[place], dict | list) and here[place] and rng.random() < 0.8:
            here = here[place]
            continue
        break
    match rng.randrange(6):
        case 0 if isinstance(here, dict):
            del here[place]
        case 1:
            message["method"] = rng.choice(METHODS)
        case 2 if isinstance(here, dict):
            here[rng.choice(["jsonrpc", "id", "method", "params", "uri", "x"])] = copy.deepcopy(rng.choice(VALUES))
        case _:
            here[place] = copy.deepcopy(rng.choice(VALUES))


def _broken(body: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(body))
    return rng.choice(
        [
            body[:at],
            body[:at] + bytes([rng.randrange(256)]) + body[at + 1 :],
            body[:at] + b"[" * 3000 + body[at:],
            body + body,
            b"[" + body + b"]",
        ]
    )


def awaited(framed: bytes) -> int | str | None:
    """Return the id of a request that needs an answer; None if there is none."""
    try:
        message = json.loads(framed.partition(b"\r\n\r\n")[2])
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    number, method = message.get("id"), message.get("method")
    is_request = isinstance(method, str) and message.get("jsonrpc") == "2.0" and isinstance(number, int | str)
    return number if is_request and not isinstance(number, bool) else None


async def fuzzed(folder: Path, count: int, seed: int, command: Sequence[str] = SERVER) -> tuple[int, int]:
    """Send mutations. Return the number of all and of those that are JSON.

    Raises:
        FaultError: the server died, was silent, or wrote something that is no message.
    """
    session = await recorded(folder)
    rng = random.Random(seed)
    client = await Client.spawned(folder, {"trusted": False}, command)
    answered: set[object] = set()
    receive = client._received

    async def received(message: dict[str, Any]) -> None:
        if "method" not in message:
            answered.add(message["id"])
        await receive(message)

    client._received = received  # type: ignore[method-assign]  # listens in
    json_count = 0
    try:
        await client.initialize(FULL, {"trusted": False})
        for start in range(0, count, BATCH):
            batch = [mutated(rng.choice(session), rng, 10**6 + start + n) for n in range(min(BATCH, count - start))]
            json_count += sum(_is_json(each.partition(b"\r\n\r\n")[2]) for each in batch)
            wanted = set[object]()
            for each in batch:
                await _sent(client, each)
                if (number := awaited(each)) is not None:
                    wanted.add(number)
            await _heard(client, batch[-1])
            try:
                async with asyncio.timeout(PATIENCE):
                    while wanted - answered:  # noqa: ASYNC110  # nobody reports each of them
                        await asyncio.sleep(0.005)
            except TimeoutError:
                silent = [each for each in batch if awaited(each) in wanted - answered]
                raise FaultError(f"no answer to {silent}") from None
            answered.clear()
            client.received.clear()
    finally:
        await client.kill()
    return count, json_count


async def _sent(client: Client, data: bytes) -> None:
    try:
        await client.send_bytes(data)
    except ConnectionError:
        raise FaultError(f"the server is gone: {client.stderr[-2000:]}") from None


async def _heard(client: Client, last: bytes) -> None:
    """Wait until the server answers a question."""
    for _ in range(PROBES):
        params = {"command": "adacoder.server.status", "arguments": []}
        try:
            _, answer = await client.begin("workspace/executeCommand", params)
            await asyncio.wait({answer}, timeout=PATIENCE / PROBES)
        except ConnectionError:
            break
        listening = client._tasks[0]
        if listening.done() and listening.exception() is not None:
            raise FaultError(f"no message: {listening.exception()!r}; after {last!r}")
        if answer.done() and not answer.cancelled():
            return
        if client.process.returncode is not None:
            break
    raise FaultError(f"dead or silent ({client.process.returncode}) after {last[:2000]!r}: {client.stderr[-2000:]}")


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


async def test_no_mutation_kills_or_silences_the_server(
    tmp_path: Path, one_in: Callable[[int], int], record_property: Callable[[str, object], None]
) -> None:
    count, json_count = await fuzzed(tmp_path, 10_000 // one_in(50), seed=16)
    assert json_count >= count / 2
    record_property("figure", f"{count} mutations, of which {json_count} are JSON: all survived and heard")


BROKEN = {
    "dies": "pygls_fixes.Protocol._refuse = lambda self, message: os._exit(3)",
    "silent": "pygls_fixes.Protocol._refuse = lambda self, message: None",
    "noisy": "pygls_fixes.Protocol._refuse = lambda self, message: self.writer.write(b'noise\\r\\n\\r\\n')",
}


@pytest.mark.parametrize("how", BROKEN)
async def test_a_broken_server_is_found_out(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PATIENCE", 2.0)
    imports = "import os, sys\nfrom adacoder.lsp import stdio\nfrom adacoder.lsp.connection import pygls_fixes"
    program = f"{imports}\n{BROKEN[how]}\nsys.exit(stdio.serve())\n"
    with pytest.raises(FaultError):
        await fuzzed(tmp_path, 200, seed=1, command=(sys.executable, "-c", program))
