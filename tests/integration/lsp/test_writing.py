"""A client can ask for the model's growing reply. It gets the reply before anything is in the text."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from integration.lsp.client import FULL, Client
from integration.lsp.texts import BODY, GOOD, STUB, WRONG, told_of
from support.standins.ollama import StandIn
from support.standins.server import Script

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

WRITING = "adacoder/writing"


@asynccontextmanager
async def started(folder: Path, standin: StandIn, **own: object) -> AsyncIterator[Client]:
    capabilities = {**FULL, "experimental": {"adacoder": own}}
    settings = told_of(standin, strategy="adacoder", maxIterations=1)
    async with Client.started(folder, settings, capabilities=capabilities) as editor:
        yield editor


def shown(editor: Client) -> list[Any]:
    return editor.all(WRITING)


async def test_what_a_model_writes_is_shown_until_the_job_ends(tmp_path: Path) -> None:
    is_planned, goes_on = threading.Event(), threading.Event()
    plan = Script("1. Take first letters.\n2. Join them.", token=24, until=is_planned)
    async with (
        StandIn([WRONG, plan, Script(GOOD, token=60, until=goes_on)]) as standin,
        started(tmp_path, standin, writing=True) as editor,
    ):
        uri = await editor.write("names.py", f"A = 1\n\n\n{STUB}")
        job = (await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"}))["jobId"]
        await editor.until(lambda: any("1. Take first letters." in each["lines"] for each in shown(editor)))
        assert "planning" in shown(editor)[-1]["message"]
        is_planned.set()
        await editor.until(lambda: any("def initials" in "".join(each["lines"]) for each in shown(editor)[-1:]))
        assert editor.text(uri) == f"A = 1\n\n\n{STUB}"
        goes_on.set()
        await editor.until(lambda: shown(editor)[-1].get("ended"))
        assert editor.text(uri).endswith(BODY)
    place = {"jobId": job, "uri": uri, "version": 1, "first": 3, "last": 3 + STUB.rstrip().count("\n")}
    assert all(each.items() >= place.items() for each in shown(editor))
    assert [each for each in shown(editor) if "ended" in each] == [{**place, "ended": True}]
    lines = [line for each in shown(editor)[:-1] for line in each["lines"]]
    assert not any(line.startswith("```") for line in lines)


async def test_a_job_that_is_cancelled_is_shown_no_longer(tmp_path: Path) -> None:
    async with (
        StandIn([Script(GOOD, token=60, until=threading.Event())]) as standin,
        started(tmp_path, standin, writing=True) as editor,
    ):
        uri = await editor.write("names.py", STUB)
        await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        await editor.until(lambda: any(each["lines"] for each in shown(editor)))
        await editor.execute("cancel")
        await editor.until(lambda: shown(editor)[-1].get("ended"))


async def test_other_clients_and_checks_get_none_of_it(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    async with StandIn([GOOD]) as standin:
        async with started(tmp_path / "a", standin, endings=True) as editor:
            await editor.write("names.py", STUB)
            assert (await editor.run("names.py", "initials"))["status"] == "verified"
            assert shown(editor) == []
        async with started(tmp_path / "b", standin, writing=True) as editor:
            await editor.write("names.py", STUB + BODY)
            assert (await editor.run("names.py", "initials", mode="check"))["status"] == "verified"
            assert shown(editor) == []


async def test_control_characters_are_made_visible_and_long_replies_are_cut(tmp_path: Path) -> None:
    text = GOOD.replace("    return", "    # more\n" * 500 + "    # \x1b[31m red\n    return")
    script = Script(text, token=len(text) - 30, until=threading.Event())
    async with StandIn([script]) as standin, started(tmp_path, standin, writing=True) as editor:
        uri = await editor.write("names.py", STUB)
        await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        await editor.until(lambda: any(each["lines"] for each in shown(editor)))
        lines = shown(editor)[-1]["lines"]
        assert len(lines) == 40
        assert any("[31m red" in line for line in lines)
        assert "\x1b" not in "".join(lines)
