"""Real coding agents with a scripted model, offline: `nox -s agents`.

Each agent breaks a function, calls `check_examples`, and wants to stop. The hook does not let it, so it corrects the
function, checks again, and stops. Agents without a hook correct the function after the first check.

ADACODER_AGENTS names the folder with the agents' npm packages, ADACODER_AGENT_LOGS a folder for their logs.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agents.scripted_model import AgentModel, ToolCall, Turn
from support.commandline import SOLVED, WRONG
from support.paths import ROOT
from support.repository import commit

_PROGRAMS = Path(os.environ.get("ADACODER_AGENTS", "/nonexistent")) / "node_modules" / ".bin"
pytestmark = pytest.mark.skipif(not _PROGRAMS.is_dir(), reason="ADACODER_AGENTS names no folder with coding agents")

_ADACODER = Path(sys.executable).with_name("adacoder")
_HOMES = Path(__file__).with_name("homes")
_PAYLOADS = Path(__file__).with_name("payloads")
_SKILLS = ROOT / "docs" / "skills"
_TOOLS = {"check_examples", "verify_candidate", "behaviour_diff", "generate", "insert_verified"}
_CHECK = {"path": "shapes.py", "name": "hypotenuse"}
_FIRST = SOLVED.replace("0.5", "(1 / 2)")
_SECONDS = 240
_RECORDER = """#!/bin/sh
# Runs adacoder, and logs the agent's messages and variables.
log=$(mktemp "{logs}/$1-XXXXXX") || exit
env | sort > "$log.env"
tee "$log.in" | {adacoder} "$@"
"""


@dataclass(frozen=True)
class CodingAgent:
    """A coding agent, and the way to run it without a person. `homes` has its configuration."""

    name: str
    command: str
    tool: str
    """Name of its tool that runs command lines."""
    arguments: Callable[[str], Mapping[str, object]] = lambda command: {"command": command}
    """Returns the arguments of that tool for a command line."""
    hooks: str = ""
    """The file for the output of `adacoder hook --install`, in the workspace; empty if the agent has no hooks."""
    environment: Mapping[str, str] = field(default_factory=dict)
    told: str = "Run the doctest examples in the docstrings"
    """What its model learns about the skill in the first request."""
    is_lazy: bool = False
    """True if its model has to search for tools of MCP servers."""

    def runs(self, command: str) -> ToolCall:
        """Return the call that runs a command line."""
        return ToolCall(self.tool, self.arguments(command))

    def checks(self) -> list[Turn]:
        """Return the turns that call `check_examples`."""
        if not self.is_lazy:
            return [ToolCall("check_examples", _CHECK)]
        name = "mcp__adacoder__check_examples"
        found = ToolCall("tool_search", {"query": f"select:{name}"})
        return [found, ToolCall("tool_call", {"name": name, "arguments": _CHECK})]


AGENTS = (
    CodingAgent(
        "codex",
        "exec --json --trust --dangerously-bypass-hook-trust",
        "exec_command",
        lambda command: {"cmd": command},
        hooks=".codex/hooks.json",
        environment={"SCRIPTED_KEY": "x"},
    ),
    CodingAgent(
        "gemini",
        "--model gemini-2.5-flash --approval-mode yolo --prompt",
        "run_shell_command",
        hooks=".gemini/settings.json",
        environment={
            "GEMINI_API_KEY": "x",
            "GOOGLE_GEMINI_BASE_URL": "@URL@",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
    ),
    CodingAgent(
        "qwen",
        "--yolo --prompt",
        "run_shell_command",
        lambda command: {"command": command, "is_background": False},
        hooks=".qwen/settings.json",
        environment={"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "@URL@/v1", "OPENAI_MODEL": "scripted"},
        is_lazy=True,
    ),
    CodingAgent(
        "opencode",
        "run --format json",
        "bash",
        lambda command: {"command": command, "description": "Write the file"},
        environment={"OPENCODE_DISABLE_MODELS_FETCH": "1"},
    ),
    CodingAgent(
        "cline",
        "--json --provider openai-compatible --model scripted --timeout 200",
        "run_commands",
        lambda command: {"commands": [command]},
        environment={"CLINE_SESSION_BACKEND_MODE": "local"},
        told="docstring-examples",
    ),
)


class Site:
    """A home and a repository for one agent."""

    def __init__(self, agent: CodingAgent, folder: Path, logs: Path) -> None:
        self.agent, self.logs = agent, logs
        self.home, self.workspace = folder / "home", folder / "work"
        self.workspace.mkdir()
        self.activated = folder / "activated"
        venv.create(self.activated)
        self.temporary = folder / "temporary"
        self.temporary.mkdir()  # Codex needs a home outside the temporary folder.
        self.recorder = folder / "adacoder"
        self.recorder.write_text(_RECORDER.format(logs=logs, adacoder=shlex.quote(str(_ADACODER))), encoding="utf-8")
        self.recorder.chmod(0o755)
        for name, text in (("shapes.py", _FIRST), ("wrong.txt", WRONG), ("right.txt", SOLVED)):
            (self.workspace / name).write_text(text, encoding="utf-8")
        (self.workspace / "pyproject.toml").touch()
        shutil.copytree(_SKILLS, self.workspace / ".agents" / "skills")
        if agent.hooks:
            self._install_hooks()
        commit(self.workspace)

    def _install_hooks(self) -> None:
        """Write exactly what `adacoder hook --install` prints, with the recorder as the command."""
        command = [str(_ADACODER), "hook", "--install", self.agent.name]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        path = self.workspace / self.agent.hooks
        path.parent.mkdir()
        path.write_text(printed.replace(str(_ADACODER), str(self.recorder)), encoding="utf-8")

    def run(self, url: str) -> None:
        """Run the agent until it stops by itself."""
        self._write_home(url)
        command = [str(_PROGRAMS / self.agent.name), *self.agent.command.split(), "Improve hypotenuse in shapes.py"]
        own = {name: value.replace("@URL@", url) for name, value in self.agent.environment.items()}
        environment = {"HOME": str(self.home), "TMPDIR": str(self.temporary), "PATH": f"{_PROGRAMS}:/usr/bin:/bin"}
        terminal = {"VIRTUAL_ENV": str(self.activated), "LANG": "C.UTF-8", "TERM": "dumb"}
        with (self.logs / "output.txt").open("wb") as output:
            subprocess.run(
                ["nice", "-n", "5", *command],
                cwd=self.workspace,
                env={**environment, **terminal, **own},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=_SECONDS,
                check=True,
            )

    def _write_home(self, url: str) -> None:
        template = _HOMES / self.agent.name
        self.home.mkdir()
        for path in (each for each in template.rglob("*") if each.is_file()):
            text = path.read_text(encoding="utf-8").replace("@URL@", url).replace("@ADACODER@", str(self.recorder))
            written = self.home / path.relative_to(template)
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agent_checks_its_change_and_is_kept_from_stopping(agent: CodingAgent, tmp_path: Path) -> None:
    logs = Path(os.environ.get("ADACODER_AGENT_LOGS", tmp_path)) / agent.name
    logs.mkdir(parents=True)
    site = Site(agent, tmp_path, logs)
    broken: list[Turn] = [agent.runs("cp wrong.txt shapes.py"), *agent.checks()]
    stopped: list[Turn] = ["I think that I am done."] if agent.hooks else []
    script = [*broken, *stopped, agent.runs("cp right.txt shapes.py"), *agent.checks(), "I am done."]
    model = AgentModel(script=script)
    try:
        with model.in_thread():
            site.run(model.host)
    finally:
        asked = (json.dumps(body) + "\n" for body in model.asked)
        (logs / "model.jsonl").write_text("".join(asked), encoding="utf-8")

    texts = [json.dumps(body) for body in model.asked]
    assert len(texts) == len(script)
    named = [*model.offered(0), *re.findall(r"mcp__adacoder__\w+", texts[0])]
    assert agent.told in texts[0]
    assert {tool for tool in _TOOLS for name in named if name.endswith(tool)} == _TOOLS
    verdicts = [set(re.findall(r'verdict[\\"]+:\s*[\\"]+(\w+)', text)) for text in texts]
    assert "failed" not in verdicts[len(broken) - 1]
    assert "failed" in verdicts[len(broken)]
    assert "verified" not in verdicts[-2]
    assert "verified" in verdicts[-1]
    assert f"{site.activated}/bin/python" in texts[-1]
    blocked = ["code that you changed does not do" in text for text in texts]
    first = len(broken) + 1 if agent.hooks else len(texts)
    assert blocked == [number >= first for number in range(len(texts))]
    assert (site.workspace / "shapes.py").read_text(encoding="utf-8") == SOLVED

    events = [json.loads(path.read_text(encoding="utf-8")) for path in logs.glob("hook-*.in")]
    assert len(events) == (3 if agent.hooks else 0)  # the start, and two stops
    for event in events:
        recorded = _PAYLOADS / f"{agent.name}-{event['hook_event_name']}.json"
        assert set(event) == set(json.loads(recorded.read_text(encoding="utf-8")))
