"""The handshake, and messages that are invalid or come at the wrong time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types

from adacoder.lsp.stdio import create
from unit.lsp.peer import Peer, turns

COMMANDS = """generate fix check repair another suggestExamples writeDocstring insert difference discard answer clear
generateAll fixTest acceptOutput cancel journal models pull strategies doctor status"""
STATUS = "adacoder.server.status"


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Peer]:
    peer = Peer(create())
    yield peer
    await peer.server.close()  # type: ignore[attr-defined]  # it is ours


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        ((), "utf-16"),
        (("utf-16",), "utf-16"),
        (("utf-8", "utf-16", "utf-32"), "utf-8"),
        (("utf-32", "utf-8", "utf-16"), "utf-32"),
    ],
)
async def test_initialize(server: Peer, offered: tuple[str, ...], chosen: str) -> None:
    result = server.initialize(**({"general": {"positionEncodings": offered}} if offered else {}))
    assert result["serverInfo"]["name"] == "adacoder"
    offer = result["capabilities"]
    assert offer["positionEncoding"] == chosen
    kinds = ["refactor.rewrite.adacoder", "quickfix", "source.adacoder.journal"]
    assert offer["codeActionProvider"]["codeActionKinds"] == kinds
    assert not offer["codeActionProvider"].get("resolveProvider")
    commands = sorted(f"adacoder.server.{name}" for name in COMMANDS.split())
    assert sorted(set(offer["executeCommandProvider"]["commands"]) - {"test.wait"}) == commands


async def test_nothing_is_answered_before_initialize(server: Peer) -> None:
    document = {"uri": "file:///a.py", "version": 1, "languageId": "python", "text": ""}
    server.receive(method="textDocument/didOpen", params={"textDocument": document})
    server.execute(1, STATUS)
    assert server.error(1) == types.ErrorCodes.ServerNotInitialized.value
    server.initialize()
    assert server.initialize() is None
    server.execute(2, STATUS)
    await turns()
    assert (server.answer(2) or {})["result"] == {"version": 1, "jobs": []}
    assert not server.server.workspace.text_documents


async def test_nothing_but_exit_is_heeded_after_shutdown(server: Peer) -> None:
    server.initialize()
    server.receive(id=1, method="shutdown")
    await turns()
    assert server.error(1) == 0
    for number, method in enumerate(("shutdown", "workspace/executeCommand", "adacoder/run"), 2):
        server.receive(id=number, method=method, params={"command": STATUS})
        assert server.error(number) == types.ErrorCodes.InvalidRequest.value


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"method": "no/such", "params": {"a": 1}}, types.ErrorCodes.MethodNotFound),
        ({"method": "textDocument/codeAction", "params": {"textDocument": 3}}, types.ErrorCodes.InvalidParams),
        ({"method": "workspace/executeCommand", "params": {"command": "no.such"}}, types.ErrorCodes.InvalidParams),
        ({"method": "textDocument/didOpen", "params": {}}, types.ErrorCodes.InvalidRequest),
        ({"method": 3}, types.ErrorCodes.InvalidRequest),
        ({}, types.ErrorCodes.InvalidRequest),
        ({"method": "shutdown", "jsonrpc": "1.0"}, types.ErrorCodes.InvalidRequest),
        (
            {
                "method": "textDocument/codeAction",
                "params": {
                    "textDocument": {"uri": "file:///a.py"},
                    "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
                    "context": {"diagnostics": [], "triggerKind": 9},
                },
            },
            types.ErrorCodes.InvalidParams,
        ),
    ],
)
async def test_a_request_that_is_wrong_gets_an_error(
    server: Peer, message: dict[str, Any], code: types.ErrorCodes
) -> None:
    server.initialize()
    server.receive(**{"id": 1, **message})
    await turns()
    assert server.error(1) == code.value
    assert server.boxes == []


@pytest.mark.parametrize("content", [b"not JSON", b"[]", b'"text"', b"{}", b"\xff", b"[" * 100_000])
async def test_what_is_no_message_is_passed_over(server: Peer, content: bytes) -> None:
    server.initialize()
    server.server.protocol.receive(content)  # type: ignore[attr-defined]  # it is ours
    server.execute(1, STATUS)
    await turns()
    assert [each["id"] for each in server.sent] == [1]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("workspace/executeCommand", {"command": "adacoder.server.cancel", "arguments": [{"jobId": 5}]}),
        ("workspace/executeCommand", {"command": "adacoder.server.journal", "arguments": [{"jobId": 5}]}),
        ("adacoder/kept", {"textDocument": {"uri": 5}}),
        ("adacoder/check", {}),
    ],
)
async def test_unreadable_parameters_are_an_error(server: Peer, method: str, params: dict[str, Any]) -> None:
    server.initialize()
    server.receive(id=1, method=method, params=params)
    while server.answer(1) is None:  # noqa: ASYNC110  # its parts are imported first
        await asyncio.sleep(0)
    assert server.error(1) == types.ErrorCodes.InvalidParams.value
    assert server.answer(1)["error"]["message"].startswith("'")  # type: ignore[index]
    assert server.boxes == []
