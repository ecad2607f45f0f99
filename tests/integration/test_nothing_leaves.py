"""The command line and the language server contact only the model server, and store only requested files."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from integration.lsp.client import Client
from support.commandline import GOOD_REPLY, MODEL, PLAN, STUB, WRONG_REPLY
from support.paths import TESTS
from support.standins import openai as standin_openai
from support.standins.ollama import StandIn
from support.standins.server import StandInServer

pytestmark = pytest.mark.isolation

WATCHED = TESTS / "support" / "watched.py"


@dataclass(frozen=True)
class Household:
    """All folders in which a program may store files of a user."""

    folder: Path

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")

    def settle_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Create the folders, and make programs use them."""
        for name, variables in {
            "home": ("HOME",),
            "tmp": ("TMPDIR", "TEMP", "TMP"),
            "cache": ("XDG_CACHE_HOME",),
            "config": ("XDG_CONFIG_HOME",),
            "data": ("XDG_DATA_HOME",),
            "state": ("XDG_STATE_HOME",),
        }.items():
            (self.folder / name).mkdir(parents=True)
            for variable in variables:
                monkeypatch.setenv(variable, str(self.folder / name))
        self.project.mkdir()
        (self.project / "pyproject.toml").touch()
        (self.project / "shapes.py").write_text(STUB, encoding="utf-8")
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        monkeypatch.chdir(self.project)

    def files(self) -> dict[str, bytes]:
        """Return every file with its content."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file()
        }

    def contacted(self) -> set[object]:
        """Return the addresses of connections, except those between our own processes."""
        return {
            tuple(what[0]) if isinstance(what[0], list) else what
            for event, what in self._events()
            if event.startswith("socket.") and not _is_local_path(what)
        }

    def left(self) -> set[str]:
        """Return the names of written files that still exist."""
        paths = [
            Path(what) for event, what in self._events() if not event.startswith("socket.") and isinstance(what, str)
        ]
        return {path.name for path in paths if path.exists() and not path.is_char_device()}

    def _events(self) -> list[tuple[str, Any]]:
        return [tuple(json.loads(line)) for line in self.log.read_text(encoding="utf-8").splitlines()]


def _is_local_path(what: object) -> bool:
    """Return True if this is the path of a local socket."""
    return isinstance(what, list) and isinstance(what[0], str)


@pytest.fixture
def household(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Household:
    household = Household(tmp_path / "user")
    household.settle_in(monkeypatch)
    return household


REPLIES = (WRONG_REPLY, PLAN, GOOD_REPLY)
"""Replies that take a request through all of its steps: evaluate, repair, plan, and write again."""


def options(server: StandInServer) -> tuple[str, ...]:
    """Return the command line's options for a model of `server`."""
    if isinstance(server, standin_openai.StandIn):
        return "--model", f"openai:{MODEL}", "--base-url", server.host
    return "--model", MODEL, "--host", server.host


async def command_line(household: Household, server: StandInServer, *more: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(WATCHED), str(household.log), "generate", "shapes.py::hypotenuse"),
        *("--strategy", "adacoder", *(more or options(server))),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(WATCHED.parent)},
    )
    _, said = await process.communicate()
    assert process.returncode == 0, said.decode()


async def without_a_model(household: Household, server: StandInServer) -> None:
    await command_line(household, server, "--host", server.host)


async def language_server(household: Household, server: StandInServer) -> None:
    command = (sys.executable, str(WATCHED), str(household.log), "serve")
    settings = {"model": MODEL, "ollama": {"host": server.host}, "strategy": "adacoder"}
    async with Client.started(household.project, settings, command=command, is_forked=False) as editor:
        await editor.open("shapes.py")
        answer = await editor.run("shapes.py", "hypotenuse", apply=False)
    assert answer["status"] == "verified"


Door = Callable[[Household, StandInServer], Awaitable[None]]


@pytest.mark.parametrize(
    ("door", "kind"),
    [
        (command_line, StandIn),
        (command_line, standin_openai.StandIn),
        (without_a_model, StandIn),
        (language_server, StandIn),
    ],
    ids=["command line", "command line, openai", "command line, no model named", "language server"],
)
async def test_only_the_model_server_is_contacted_and_nothing_is_stored(
    door: Door, kind: type[StandInServer], household: Household
) -> None:
    before = household.files()
    async with kind(REPLIES) as server:
        await door(household, server)
        assert household.contacted() == {("127.0.0.1", server.port)}
    assert household.left() == set()
    assert household.files() == before


async def test_check_keeps_what_was_proved_of_the_machine_and_nothing_else(household: Household) -> None:
    before = household.files()
    for _ in range(2):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(WATCHED), str(household.log), "check", "shapes.py"),
            stdout=asyncio.subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(WATCHED.parent)},
        )
        await process.wait()
        after = household.files()
        assert after.keys() - before.keys() == {"cache/adacoder/isolation.json"}
        assert b"shapes" not in after["cache/adacoder/isolation.json"]
    assert household.contacted() == set()


async def test_what_is_asked_for_is_stored(household: Household) -> None:
    before = household.files()
    async with StandIn(REPLIES) as server:
        await command_line(household, server, *options(server), "--record", "said.jsonl")
    assert household.files().keys() - before.keys() == {"project/said.jsonl"}


async def test_what_strays_is_found(household: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    before = household.files()
    async with StandIn(REPLIES) as server, StandIn() as elsewhere:
        monkeypatch.setenv("ADACODER_TEST_STRAY", str(elsewhere.port))
        await command_line(household, server)
        assert household.contacted() == {("127.0.0.1", server.port), ("127.0.0.1", elsewhere.port)}
    assert household.left() == {"stray.txt"}
    assert household.files().keys() - before.keys() == {"project/stray.txt"}
