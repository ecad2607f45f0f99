"""The MCP Inspector finds nothing wrong with the tools, and calls them. `nox -s inspector` runs these tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.commandline import WRONG

FOLDER = Path(os.environ.get("ADACODER_INSPECTOR", "."))
INSPECTOR = (
    FOLDER / "node_modules" / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
)
pytestmark = [
    pytest.mark.isolation,
    pytest.mark.skipif(
        "ADACODER_INSPECTOR" not in os.environ, reason="ADACODER_INSPECTOR names no folder with the MCP Inspector"
    ),
]
LISTED = ("--method", "tools/list", "--strict")
NOT_PORTABLE = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        result["serverInfo"] = {"name": "x", "version": "1"}
    else:
        result = {"tools": [{"name": "x", "inputSchema": {"type": "object", "properties": {"path": True}}}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def inspected(folder: Path, command: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the Inspector on a server that `command` starts."""
    configuration = folder / "configuration.json"
    configuration.write_text(json.dumps({"mcpServers": {"one": {"command": command[0], "args": command[1:]}}}))
    node = FOLDER / "node_modules" / "node" / "bin" / "node"
    return subprocess.run(
        [node, INSPECTOR, "--cli", "--config", configuration, "--server", "one", *arguments],
        env={"PATH": f"{node.parent}:/usr/bin:/bin", "HOME": str(folder), "MCP_INSPECTOR_SECRET_STORE": "memory"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_schemas_of_the_tools_are_portable(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    ran = inspected(tmp_path, [sys.executable, "-m", "adacoder", "mcp", "--root", str(project)], *LISTED)
    assert ran.returncode == 0, ran.stderr
    assert len(json.loads(ran.stdout)["tools"]) == 5
    (tmp_path / "server.py").write_text(NOT_PORTABLE)
    ran = inspected(tmp_path, [sys.executable, str(tmp_path / "server.py")], *LISTED)
    assert (ran.returncode, "1 tool schema portability error found" in ran.stderr) == (6, True)


def test_a_tool_is_called(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "shapes.py").write_text(WRONG)
    server = [sys.executable, "-m", "adacoder", "mcp", "--root", str(project)]
    call = ("--method", "tools/call", "--tool-name", "check_examples", "--tool-arg", "path=shapes.py")
    ran = inspected(tmp_path, server, *call)
    assert json.loads(ran.stdout)["structuredContent"]["verdict"] == "failed", ran.stderr
