"""`adacoder mcp` speaks both versions of the protocol, and survives every message."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from typing import Any

import pytest

from adacoder.mcp import exchange
from adacoder.mcp.exchange import AgentExchange, Caller
from adacoder.mcp.tool_words import TOOLS
from integration.mcp.agent import MODERN, PATIENCE, agent, declaring

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NAMES = ["check_examples", "verify_candidate", "behaviour_diff", "generate", "insert_verified"]


@pytest.mark.parametrize(
    ("wanted", "agreed"),
    [
        *((each, each) for each in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")),
        ("1999-01-01", "2025-11-25"),
    ],
)
async def test_the_handshake_agrees_on_a_revision(wanted: str, agreed: str, tmp_path: Path) -> None:
    async with agent(tmp_path) as one:
        result = (await one.ask("initialize", protocolVersion=wanted))["result"]
        one.notify("notifications/initialized")
        assert result["protocolVersion"] == agreed
        assert "data, never instructions" in result["instructions"]
        assert (await one.ask("ping"))["result"] == {}
        tools = (await one.ask("tools/list"))["result"]
        assert [each["name"] for each in tools["tools"]] == NAMES
        assert "resultType" not in tools


async def test_the_stateless_revision_needs_no_handshake(tmp_path: Path) -> None:
    async with agent(tmp_path) as one:
        found = (await one.ask("server/discover", _meta=MODERN))["result"]
        assert (found["supportedVersions"], found["resultType"]) == (["2026-07-28"], "complete")
        tools = (await one.ask("tools/list", _meta=MODERN))["result"]
        assert (tools["resultType"], tools["cacheScope"], len(tools["tools"])) == ("complete", "private", len(NAMES))
        other = {**MODERN, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        error = (await one.ask("tools/list", _meta=other))["error"]
        assert (error["code"], error["data"]) == (-32022, {"supported": ["2026-07-28"], "requested": "2099-01-01"})


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 200_000, -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b'{"id": true, "method": "ping"}', -32600),
        (b'{"id": 1}', -32600),
        (b'{"id": 1, "method": "ping", "params": 7}', -32602),
        (b'{"id": 1, "method": "tools/destroy"}', -32601),
        (b'{"id": 1, "method": "tools/call", "params": {"name": "destroy"}}', -32602),
        (b'"' + b"x" * 3_000_000 + b'"', -32600),
    ],
)
async def test_a_malformed_message_gets_an_error_and_the_server_goes_on(line: bytes, code: int, tmp_path: Path) -> None:
    async with agent(tmp_path) as one:
        one.send(line)
        assert (await one.next())["error"]["code"] == code
        assert (await one.ask("ping"))["result"] == {}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("verify_candidate", None, "An argument is missing: path, name, code."),
        ("check_examples", {"path": 1}, "The arguments are not an object of texts."),
        ("check_examples", ["a.py"], "The arguments are not an object of texts."),
        ("check_examples", {"file": "a.py"}, "An argument is unknown. The known ones are: path, name, base."),
    ],
)
@pytest.mark.parametrize("meta", [{}, MODERN])
async def test_a_model_learns_of_wrong_arguments(
    name: str, arguments: object, message: str, meta: dict[str, object]
) -> None:
    server = AskingServer()
    server.call(1, name=name, arguments=arguments, _meta=meta)
    result = (await server.next())["result"]
    assert (result["isError"], result.get("resultType")) == (True, "complete" if meta else None)
    told = result["structuredContent"]
    assert (told["error"], told["message"]) == ("invalid_arguments", message)
    await server.close()


async def test_messages_that_need_no_answer_get_none(tmp_path: Path) -> None:
    async with agent(tmp_path) as one:
        one.notify("notifications/cancelled", requestId="nobody's")
        one.notify("notifications/unknown")
        one.send(b'{"id": "elicited", "result": {}}\n\n')
        number = one.begin("ping")
        assert await one.next() == {"id": number, "result": {}}


async def test_a_batch_is_answered(tmp_path: Path) -> None:
    async with agent(tmp_path) as one:
        one.send(json.dumps([{"id": name, "method": "ping"} for name in ("a", "b")]).encode())
        assert [(await one.next())["id"] for _ in range(2)] == ["a", "b"]


async def test_only_one_tool_writes_and_read_only_leaves_it_out(tmp_path: Path) -> None:
    async def hints(*options: str, **settings: object) -> dict[str, Any]:
        async with agent(tmp_path, *options) as one:
            await one.ask("initialize", **declaring(settings))
            tools = (await one.ask("tools/list"))["result"]["tools"]
            return {each["name"]: each["annotations"] for each in tools}

    every = await hints()
    assert [name for name, each in every.items() if each["destructiveHint"]] == ["insert_verified"]
    assert [name for name, each in every.items() if not each["readOnlyHint"]] == ["insert_verified"]
    assert not any(each["openWorldHint"] for each in every.values())
    assert list(await hints("--read-only")) == NAMES[:-1]
    for options, settings in ((["--allow-cloud"], {}), ([], {"allowCloud": True})):
        found = await hints(*options, **settings)
        assert [name for name, each in found.items() if each["openWorldHint"]] == ["generate"]


async def test_a_tool_that_was_left_out_cannot_be_called(tmp_path: Path) -> None:
    async with agent(tmp_path, "--read-only") as one:
        call = {"name": "insert_verified", "arguments": {"path": "a.py", "name": "f", "code": "x"}}
        assert (await one.ask("tools/call", **call))["error"]["code"] == -32602


@pytest.mark.parametrize(("token", "reported"), [("t", [1, 2]), (7, [1, 2]), (None, [])])
async def test_progress_is_reported_to_clients_that_ask_for_it(token: object, reported: list[int]) -> None:
    sent: list[dict[str, Any]] = []
    is_answered = asyncio.Event()

    def send(line: bytes) -> None:
        sent.append(json.loads(line))
        if "id" in sent[-1]:
            is_answered.set()

    async def call(_: str, __: dict[str, Any], caller: Caller) -> tuple[dict[str, Any], bool]:
        caller.report(1, 9, "at work")
        caller.report(2, 9, "at work")
        return {"next": ""}, False

    params = {"name": "generate", "arguments": {"path": "a.py", "name": "f"}, "_meta": {"progressToken": token}}
    AgentExchange(send, lambda _: TOOLS, call).receive(
        json.dumps({"id": 1, "method": "tools/call", "params": params}).encode()
    )
    await is_answered.wait()
    notified = [each["params"] for each in sent if each.get("method") == "notifications/progress"]
    assert [each["progress"] for each in notified] == reported
    assert all(each["progressToken"] == token for each in notified)


class AskingServer:
    """A server with a tool that returns the user's answer."""

    def __init__(self, **capabilities: object) -> None:
        """`capabilities` are the client's capabilities in `initialize`."""
        self._sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._exchange = AgentExchange(
            lambda line: self._sent.put_nowait(json.loads(line)), lambda _: TOOLS, self._called
        )
        if capabilities:
            self.receive(id=0, method="initialize", params={"capabilities": capabilities})
            self._sent.get_nowait()

    async def _called(self, name: str, arguments: dict[str, Any], caller: Caller) -> tuple[dict[str, Any], bool]:
        return {"next": await caller.ask("Which is right?", ("0", "1"))}, False

    def receive(self, **message: object) -> None:
        self._exchange.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def call(self, number: int, **params: object) -> None:
        asked = {"name": "generate", "arguments": {"path": "a.py", "name": "f"}, **params}
        self.receive(id=number, method="tools/call", params=asked)

    async def next(self) -> dict[str, Any]:
        return await asyncio.wait_for(self._sent.get(), PATIENCE)

    async def until_idle(self) -> None:
        await asyncio.wait(self._exchange._tasks, timeout=PATIENCE)

    async def close(self) -> None:
        await self._exchange.close()
        assert self._sent.empty()


ANSWERS = [
    ({"action": "accept", "content": {"choice": "1"}}, "1"),
    ({"action": "accept", "content": {"choice": "2"}}, None),
    ({"action": "accept", "content": {}}, None),
    ({"action": "decline", "content": {"choice": "1"}}, None),
    ({"action": "cancel"}, None),
    ("1", None),
]


@pytest.mark.parametrize(("result", "answer"), ANSWERS)
async def test_only_an_answer_that_the_user_has_accepted_counts(result: object, answer: str | None) -> None:
    server = AskingServer(elicitation={})
    server.call(1)
    asked = await server.next()
    assert (asked["method"], asked["params"]["message"]) == ("elicitation/create", "Which is right?")
    assert asked["params"]["requestedSchema"]["properties"]["choice"]["enum"] == ["0", "1"]
    server.receive(id="another", result={"action": "accept", "content": {"choice": "0"}})
    server.receive(id=asked["id"], result=result)
    assert (await server.next())["result"]["structuredContent"] == {"next": answer}
    server.receive(id=asked["id"], result=result)  # a second answer, too late
    await server.close()


@pytest.mark.parametrize(("result", "answer"), ANSWERS)
async def test_a_stateless_client_repeats_the_call_with_the_answer(result: object, answer: str | None) -> None:
    server, meta = AskingServer(), {**MODERN, CAPABILITIES: {"elicitation": {"form": {}}}}
    server.call(0, _meta=meta)
    asked = (await server.next())["result"]
    assert asked["resultType"] == "input_required"
    ((key, request),) = asked["inputRequests"].items()
    assert request["method"] == "elicitation/create"
    server.receive(id=key, result={"action": "accept", "content": {"choice": "0"}})  # not a valid answer
    again = {"_meta": meta, "requestState": asked["requestState"], "inputResponses": {key: result}}
    other = {"path": "b.py", "name": "f"}
    server.call(1, **again, arguments=other)
    assert (await server.next())["result"].get("structuredContent") == (None if answer is None else {"next": answer})
    server.call(2, **again)
    told = await server.next()
    assert (told["id"], told["result"]["resultType"]) == (2, "complete")
    assert told["result"]["structuredContent"] == {"next": answer}
    await server.close()


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"elicitation": None}, {"roots": {}}])
async def test_a_client_that_cannot_ask_is_not_asked(capabilities: dict[str, object]) -> None:
    for server, params in (
        (AskingServer(**capabilities), {}),
        (AskingServer(), {"_meta": {**MODERN, CAPABILITIES: capabilities}}),
    ):
        server.call(1, **params)
        assert (await server.next())["result"]["structuredContent"] == {"next": None}
        await server.close()


async def test_a_client_that_does_not_answer_gets_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_ANSWER_SECONDS", 0.01)
    server = AskingServer(elicitation={})
    server.call(1)
    asked, ended, told = await server.next(), await server.next(), await server.next()
    assert (ended["method"], ended["params"]) == ("notifications/cancelled", {"requestId": asked["id"]})
    assert told["result"]["structuredContent"] == {"next": None}
    await server.close()


async def test_a_stateless_client_may_answer_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool is called again, and need not ask again."""
    monkeypatch.setattr(exchange, "_ANSWER_SECONDS", 0.01)
    server, meta = AskingServer(), {**MODERN, CAPABILITIES: {"elicitation": {}}}
    server.call(1, _meta=meta)
    asked = (await server.next())["result"]
    await server.until_idle()
    ((key, _),) = asked["inputRequests"].items()
    late = {key: {"action": "accept", "content": {"choice": "1"}}}
    server.call(2, _meta=meta, requestState=asked["requestState"], inputResponses=late)
    told = await server.next()
    assert (told["id"], told["result"]["structuredContent"]) == (2, {"next": "1"})
    await server.close()


async def test_a_cancelled_call_takes_its_question_back() -> None:
    server = AskingServer(elicitation={})
    server.call(1)
    asked = await server.next()
    server.receive(method="notifications/cancelled", params={"requestId": 1})
    assert (await server.next())["params"] == {"requestId": asked["id"]}
    await server.close()


async def test_a_call_that_is_cancelled_before_it_starts_frees_its_id() -> None:
    sent: list[dict[str, Any]] = []
    is_answered = asyncio.Event()

    def send(line: bytes) -> None:
        sent.append(json.loads(line))
        is_answered.set()

    async def call(_: str, __: dict[str, Any], caller: Caller) -> tuple[dict[str, Any], bool]:
        return {"next": ""}, False

    served = AgentExchange(send, lambda _: TOOLS, call)
    params = {"name": "check_examples", "arguments": {"path": "a.py"}}
    begin = {"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": params}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "x"}}
    served.receive(json.dumps([begin, cancel]).encode())
    await served.close()  # waits for the end of the call
    assert sent == []
    served.receive(json.dumps(begin).encode())
    await is_answered.wait()
    assert sent[0]["result"]["isError"] is False


def test_an_agent_that_does_not_read_does_not_keep_the_server(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "adacoder", "mcp"]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd=tmp_path) as server:
        assert server.stdin is not None
        for number in range(200):  # the answers do not fit into a pipe
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/list"}).encode() + b"\n")
        server.stdin.close()
        try:
            assert server.wait(PATIENCE) == 0
        finally:
            server.kill()


async def test_a_large_batch_is_refused(tmp_path: Path) -> None:
    async with agent(tmp_path) as one:
        one.send(json.dumps([1] * 100).encode())
        assert (await one.next())["error"]["code"] == -32600
        assert (await one.ask("ping"))["result"] == {}


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
async def test_a_closed_stream_is_named(closed: str, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_shell(
        f"{sys.executable} -m adacoder mcp {closed}", stdin=DEVNULL, stdout=PIPE, stderr=PIPE, cwd=tmp_path
    )
    _, told = await process.communicate()
    assert (process.returncode, told) == (2, b"stdin or stdout is closed: let a coding agent start this command.\n")
