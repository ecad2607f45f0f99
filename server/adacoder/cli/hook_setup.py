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
"""Seconds after which the agent kills the hook. The hook's own time limit is shorter."""


def _in_settings(*events: str, per_second: int = 1) -> Callable[[str], str]:
    """Return a function that prints the hook in the settings format of Claude Code, which other agents also use."""

    def written(command: str) -> str:
        run = {"type": "command", "command": f"{command} hook", "timeout": _SECONDS * per_second}
        return json.dumps({"hooks": {event: [{"hooks": [run]}] for event in events}}, indent=2)

    return written


def _vibe(command: str) -> str:
    keys = {"name": "adacoder", "type": "post_agent", "command": f"{command} hook", "timeout": _SECONDS}
    return "\n".join(("[[hooks]]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())))


def _git(command: str) -> str:
    check = f"{command} check --changed --keep-examples"
    return f"""# .git/hooks/pre-commit
#!/bin/sh
if ! git diff --cached --name-only -z -- '*.py' | xargs -0 -r git diff --quiet --; then
    echo 'A staged file has other changes as well: stage or stash them, because AdaCoder checks the files on disk.' >&2
    exit 1
fi
exec {check}

# .git/hooks/pre-push
#!/bin/sh
while read -r _ ours _ theirs; do
    case $ours in *[!0]*) ;; *) continue ;; esac
    case $theirs in
        *[!0]*) base=$theirs ;;
        *) base=$(git merge-base "$ours" "refs/remotes/$1/HEAD" 2>/dev/null) ;;
    esac
    base=${{base:-$(git rev-list --max-parents=0 "$ours" | tail -n 1)}}
    {check} --base "$base" </dev/null || exit 1
done"""


_PLACES: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "claude": (".claude/settings.json", _in_settings("SessionStart", "Stop")),
    "codex": (".codex/hooks.json", _in_settings("SessionStart", "Stop")),
    "gemini": (".gemini/settings.json", _in_settings("SessionStart", "AfterAgent", per_second=1000)),
    "qwen": (".qwen/settings.json", _in_settings("SessionStart", "Stop", per_second=1000)),
    "vibe": (".vibe/hooks.toml", _vibe),
    "git": ("executable files", _git),
}
_AFTERWARDS = {
    "codex": "Then trust the hook with /hooks in Codex. Until then, Codex does not run it, and says nothing."
}
"""What the user must do after adding the configuration, by agent."""


def print_setup(agent: str) -> int:
    """Print the configuration for an agent to stdout, and the name of its file to stderr. Return the exit code."""
    if agent not in _PLACES:
        complain(f"No configuration is known for '{agent}': name {', '.join(_PLACES)}.")
        return COULD_NOT_RUN
    place, written = _PLACES[agent]
    complain(
        f"Add this to {place} of the project or of your home folder:" if agent != "git" else f"Write these {place}:"
    )
    if agent in _AFTERWARDS:
        complain(_AFTERWARDS[agent])
    print(written(_command()))
    return 0


def _command() -> str:
    """Return the absolute command of this installation.

    If an agent cannot find a command, it says nothing.
    """
    script = Path(sys.executable).parent / "adacoder"
    return shlex.quote(str(script)) if script.is_file() else f"{shlex.quote(sys.executable)} -m adacoder"
