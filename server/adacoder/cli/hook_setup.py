"""`adacoder hook --install`: print the configuration that lets a coding agent or git run AdaCoder."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from adacoder.cli import COULD_NOT_RUN
from adacoder.cli.terminal import complain

_SECONDS = 60
"""Time after which the agent ends the hook. The hook ends itself before."""


def _in_settings(*events: str, per_second: int = 1, also: Mapping[str, object] | None = None) -> Callable[[str], str]:
    """Return the function that makes the settings of an agent whose hooks have the form of Claude Code's."""

    def written(command: str) -> str:
        run = {"type": "command", "command": f"{command} hook", "timeout": _SECONDS * per_second}
        return json.dumps({**(also or {}), "hooks": {event: [{"hooks": [run]}] for event in events}}, indent=2)

    return written


def _vibe(command: str) -> str:
    keys = {"name": "adacoder", "type": "post_agent", "command": f"{command} hook", "timeout": _SECONDS}
    return "\n".join(("[[hooks]]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())))


def _git(command: str) -> str:
    check = f"exec {command} check --changed --keep-examples"
    return "\n".join(
        (
            "# .git/hooks/pre-commit",
            "#!/bin/sh",
            check,
            "",
            "# .git/hooks/pre-push",
            "#!/bin/sh",
            "base=$(git rev-parse --verify --quiet '@{upstream}') || exit 0",
            f'{check} --base "$base"',
        )
    )


_PLACES: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "claude": (".claude/settings.json", _in_settings("SessionStart", "Stop")),
    "codex": (".codex/hooks.json", _in_settings("SessionStart", "Stop")),
    "gemini": (
        ".gemini/settings.json",
        _in_settings("SessionStart", "AfterAgent", per_second=1000, also={"tools": {"enableHooks": True}}),
    ),
    "qwen": (
        ".qwen/settings.json",
        _in_settings("SessionStart", "Stop", per_second=1000, also={"hooksConfig": {"enabled": True}}),
    ),
    "vibe": (".vibe/hooks.toml", _vibe),
    "git": ("executable files", _git),
}


def print_setup(agent: str) -> int:
    """Print the configuration for an agent to stdout, and to stderr where it belongs. Return the exit code."""
    if agent not in _PLACES:
        complain(f"No configuration is known for '{agent}': name {', '.join(_PLACES)}.")
        return COULD_NOT_RUN
    place, written = _PLACES[agent]
    complain(
        f"Add this to {place} of the project or of your home folder:" if agent != "git" else f"Write these {place}:"
    )
    print(written(_command()))
    return 0


def _command() -> str:
    """Return the absolute command of this installation. With a wrong path, an agent would stop without a word."""
    script = Path(sys.executable).parent / "adacoder"
    return shlex.quote(str(script)) if script.is_file() else f"{shlex.quote(sys.executable)} -m adacoder"
