"""The official SDK's client works with `adacoder mcp` in both versions of the protocol."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from adacoder.mcp.tool_words import ANSWERED_SAME
from support.commandline import GOOD_REPLY, LUCKY_REPLY, MODEL, STUB, WRONG
from support.standins.ollama import StandIn

mcp = pytest.importorskip("mcp", reason="the official SDK of MCP is not installed")
mcp_types = pytest.importorskip("mcp_types", reason="the official SDK of MCP is not installed")
pytestmark = pytest.mark.isolation


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
@pytest.mark.filterwarnings("default")
async def test_tools_are_listed_and_called(mode: str, tmp_path: Path) -> None:
    from mcp.client.stdio import stdio_client

    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "shapes.py").write_text(WRONG)
    server = mcp.StdioServerParameters(command=sys.executable, args=["-m", "adacoder", "mcp"], cwd=tmp_path)
    async with mcp.Client(stdio_client(server), mode=mode) as client:
        assert len((await client.list_tools()).tools) == 5
        result = await client.call_tool("check_examples", {"path": "shapes.py"})
        assert (result.is_error, result.structured_content["verdict"]) == (False, "failed")
        refused = await client.call_tool("check_examples", {"path": "../shapes.py"})
        assert (refused.is_error, refused.structured_content["error"]) == (True, "outside_root")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.filterwarnings("default")
async def test_the_user_answers_a_question(mode: str, tmp_path: Path) -> None:
    from mcp.client.stdio import stdio_client

    async def choose(_: object, asked: Any) -> Any:
        assert "hypotenuse(5, 5)" in asked.message
        return mcp_types.ElicitResult(
            action="accept", content={"choice": asked.requested_schema["properties"]["choice"]["enum"][0]}
        )

    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "shapes.py").write_text(STUB)
    with StandIn([GOOD_REPLY, LUCKY_REPLY]).in_thread() as standin:
        args = ["-m", "adacoder", "mcp", "--cross-check", "--model", MODEL, "--host", standin.host]
        server = mcp.StdioServerParameters(command=sys.executable, args=args, cwd=tmp_path)
        async with mcp.Client(stdio_client(server), mode=mode, elicitation_callback=choose) as client:
            result = await client.call_tool("generate", {"path": "shapes.py", "name": "hypotenuse"})
    assert result.structured_content["question"]["answer"].startswith("7.07")
    assert result.structured_content["next"] == ANSWERED_SAME
