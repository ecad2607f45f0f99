"""The client of the official SDK works with `adacoder mcp` in both eras of the protocol."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.commandline import WRONG

mcp = pytest.importorskip("mcp", reason="the official SDK of MCP is not installed")
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
