"""Follow a page as its reader does: type its commands, make its changes, and compare the output.

* A fence ```` ```console ```` has commands after `$`, and their outputs. A backslash at the end of a line continues a
  command.
* Another fence below a line that ends in "`PATH`:" is appended to this file.
* Commands in a fence ```` ```sh ```` need the network, and do not run.

Durations, numbers of tokens and the level of isolation may differ.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"(?P<before>[^\n]*)\n\n```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_ADDED = re.compile(r"`(?P<path>[^`]+)`:$")
_COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_VARIES = ((r"\d+\.\d+ ?s\b", "0.0 s"), (r"\d+ tokens", "0 tokens"), (r"isolation \w+", "isolation full"))
_PERSON = {f"GIT_{role}_{key}": "you@example.com" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}


@dataclass(frozen=True)
class Command:
    """A command that a page shows, with the output that the page shows."""

    command: str
    output: str


@dataclass(frozen=True)
class Addition:
    """Text that the page tells its reader to add to a file."""

    path: str
    text: str


def steps(page: str) -> Iterator[Command | Addition]:
    """Return the steps that the page describes, in order."""
    for fence in _FENCE.finditer(page):
        added = _ADDED.search(fence["before"])
        if fence["kind"] == "console":
            for found in _COMMAND.finditer(fence["text"]):
                yield Command(found["command"], found["output"])
        elif added is not None:
            yield Addition(added["path"], fence["text"])
        else:
            assert fence["kind"] == "sh", f"nothing runs this {fence['kind']} block: {fence['text']}"


def steady(output: str) -> str:
    """Return the output without the parts that vary."""
    for pattern, text in _VARIES:
        output = re.sub(pattern, text, output)
    return "\n".join(line.rstrip() for line in output.splitlines())


def typed(command: str, folder: Path, **variables: str) -> str:
    """Run a command in `folder`. Return its output."""
    env = {**os.environ, **_PERSON, "GIT_CONFIG_GLOBAL": os.devnull, **variables}
    run = ("bash", "-c", command)
    return subprocess.run(run, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def follow(page: str, folder: Path, server: str = "") -> int:
    """Follow a page in `folder` with the tests' model server. Return the number of commands."""
    commands = 0
    for step in steps(page):
        match step:
            case Command(command, output):
                shown = typed(command.replace("http://127.0.0.1:8080/v1", server), folder)
                assert steady(shown) == steady(output), command
                commands += 1
            case Addition(path, text):
                with (folder / path).open("a", encoding="utf-8") as file:
                    file.write(text if text.startswith(" ") else f"\n\n{text}")
    return commands
