"""Kept results survive a restart or crash of the server. Data from disk is not trusted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from integration.lsp.client import Client
from integration.lsp.texts import BODY, GOOD, STUB, told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

TITLE = "Insert AdaCoder's result for 'initials' (unverified)"


@asynccontextmanager
async def started(folder: Path, settings: dict[str, Any] | None = None) -> AsyncIterator[tuple[Client, str]]:
    """An editor with a workspace folder and an open file."""
    (folder / "project").mkdir(exist_ok=True)
    options = {"storage": str(folder / "storage")}
    async with Client.started(folder / "project", settings, options=options, is_forked=False) as editor:
        file = folder / "project" / "names.py"
        yield editor, await (editor.open("names.py") if file.exists() else editor.write("names.py", STUB))


@pytest.fixture
async def kept(tmp_path: Path) -> Path:
    """Make a folder in which a killed server has kept a verified result."""
    async with StandIn([GOOD]) as standin:
        (tmp_path / "project").mkdir()
        editor = await Client.spawned(tmp_path / "project", told_of(standin, preview=True), is_forked=False)
        try:
            await editor.initialize(options={"storage": str(tmp_path / "storage")})
            await editor.write("names.py", STUB)
            assert (await editor.run("names.py", "initials"))["kept"]
        finally:
            await editor.kill()
    return tmp_path


async def titles(editor: Client, uri: str) -> list[str]:
    return [action["title"] for action in await editor.actions(uri, "def ") if "result for" in action["title"]]


async def test_a_kept_result_outlives_a_crash_and_is_evaluated_again_where_it_goes_in(kept: Path) -> None:
    async with started(kept) as (editor, uri):
        found = await titles(editor, uri)
        assert found == [
            TITLE,
            "Show difference: AdaCoder's result for 'initials'",
            "Discard AdaCoder's result for 'initials'",
        ]
        (item,) = (await editor.request("adacoder/kept", {}))["items"]
        lenses = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        assert [each["command"]["title"] for each in lenses][1:3] == ["Insert", "Discard"]
        evidence = await editor.request("adacoder/evidence", {"textDocument": {"uri": uri}})
        assert evidence["items"] == [], "what is read from disk proves nothing"
        place = {"position": {"line": STUB.count("\n") - 1, "character": 7}, "context": {"triggerKind": 2}}
        found_inline = await editor.request("textDocument/inlineCompletion", {"textDocument": {"uri": uri}, **place})
        assert found_inline is None, "it has not run yet"
        answer = await editor.execute("insert", {"jobId": item["jobId"], "candidate": 1})
        assert answer["reason"] == "Only the result of that job is kept: insert it without 'candidate'."
        editor.received.clear()
        await editor.execute("insert", {"jobId": item["jobId"]})
        assert (await editor.told())[1] == "Inserted 'initials'. 2/2 examples passed."
        assert editor.text(uri) == STUB + BODY
    async with started(kept) as (editor, uri):
        assert (await editor.request("adacoder/kept", {}))["items"] == [], "it went in"


async def test_a_result_that_was_changed_on_disk_does_not_go_in(kept: Path) -> None:
    (file,) = (kept / "storage" / "kept").iterdir()
    members = json.loads(file.read_text(encoding="utf-8"))
    members["candidate"]["function"] = "def initials(name):\n    return name"
    file.write_text(json.dumps(members), encoding="utf-8")
    async with started(kept) as (editor, uri):
        (action,) = [each for each in await editor.actions(uri, "def ") if each["title"] == TITLE]
        await editor.take(action)
        assert "'initials' passes no example in the current text" in (await editor.told())[1]
        assert editor.text(uri) == STUB


async def test_what_was_discarded_stays_so(kept: Path) -> None:
    async with started(kept) as (editor, uri):
        (*_, discard) = [each for each in await editor.actions(uri, "def ") if "result for" in each["title"]]
        assert (await editor.take(discard))["discarded"]
    assert [*(kept / "storage" / "kept").iterdir()] == []
    async with started(kept) as (editor, uri):
        assert await titles(editor, uri) == []


async def test_nothing_is_read_for_a_folder_that_is_not_trusted(kept: Path) -> None:
    async with started(kept, {"trusted": False}) as (editor, uri):
        assert await titles(editor, uri) == []
        assert (await editor.request("adacoder/kept", {}))["items"] == []
    async with started(kept) as (editor, uri):
        assert (await titles(editor, uri))[:1] == [TITLE], "the control: it is still there"


async def test_nothing_is_kept_on_disk_where_results_are_to_be_discarded(kept: Path) -> None:
    async with started(kept, {"unverified": "discard"}) as (editor, uri):
        assert await titles(editor, uri) == []
    assert [*(kept / "storage" / "kept").iterdir()] == []


async def test_other_clients_have_a_folder_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    project = tmp_path / "project"
    project.mkdir()
    async with StandIn([GOOD]) as standin, Client.started(project, told_of(standin, preview=True)) as editor:
        await editor.write("names.py", STUB)
        assert (await editor.run("names.py", "initials"))["kept"]
    async with Client.started(project) as editor:
        assert (await titles(editor, await editor.open("names.py")))[:1] == [TITLE]
    assert [*project.iterdir()] == [project / "names.py"], "nothing is left in the workspace"
