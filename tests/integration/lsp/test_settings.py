"""The sources of the server's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from integration.lsp.client import BARE, FULL, Client
from integration.lsp.texts import GOOD, STUB, WRONG, told_of
from support.standins.ollama import Ending, Model, Script, StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

WARNING = 2


async def generated(editor: Client, **more: Any) -> Any:
    """Return the answer to a request to generate `initials`, in a file that has it."""
    if not editor.documents:
        await editor.write("names.py", STUB)
    return await editor.run("names.py", "initials", apply=False, **more)


async def test_they_are_asked_for_each_time(editor: Client) -> None:
    two = [Model("one:1b"), Model("two:1b")]
    async with StandIn([GOOD, GOOD], models=two) as standin:
        for name in ("one:1b", "two:1b"):
            editor.settings = told_of(standin) | {"model": name}
            assert (await generated(editor))["model"] == f"ollama:{name}"
    asked = {params["items"][0]["scopeUri"] for params in editor.all("workspace/configuration")}
    assert asked - {editor.folder.parent.as_uri()} == {editor.uri("names.py")}, "kept results are those of a folder"


async def test_a_bad_value_is_said_once_and_stops_nothing(editor: Client) -> None:
    async with StandIn([GOOD, GOOD]) as standin:
        editor.settings = told_of(standin, maxIterations="many", noSuch=1)
        for _ in range(2):
            assert (await generated(editor))["status"] == "verified"
    notices = [message for kind, message in editor.messages if kind == WARNING]
    assert notices == [
        "adacoder.maxIterations = 'many' is ignored: it must be a whole number from 0 to 50.",
        "adacoder.noSuch is not a setting of AdaCoder; it is ignored.",
    ]


@pytest.mark.parametrize("settings", [None, [], {"ollama": None}, "text"])
async def test_an_editor_may_have_nothing_to_say(editor: Client, settings: Any) -> None:
    editor.settings = settings
    await editor.write("names.py", STUB)
    assert (await editor.run("names.py", "initials", mode="check"))["status"] == "failed"


async def test_what_an_editor_pushes(tmp_path: Path) -> None:
    async with StandIn([GOOD, WRONG]) as standin:
        options = told_of(standin, maxIterations=9)
        async with Client.started(tmp_path, capabilities=BARE, options=options) as editor:
            assert (await generated(editor))["status"] == "verified"
            await editor.notify("workspace/didChangeConfiguration", {"settings": None})
            pushed = {"adacoder": {"maxIterations": 0}, "other": {}}
            await editor.notify("workspace/didChangeConfiguration", {"settings": pushed})
            assert (await generated(editor))["status"] == "failed"
            assert len(standin.requests) == 2
            assert editor.messages == []


async def test_what_the_editor_says_goes_before_what_the_project_says(editor: Client) -> None:
    project = '[tool.adacoder]\nmaxIterations = 0\nmodel = "two:1b"\nollama.host = "http://evil.example"\n'
    (editor.folder / "pyproject.toml").write_text(project, encoding="utf-8")
    async with StandIn([WRONG], models=[Model("one:1b"), Model("two:1b")]) as standin:
        editor.settings = told_of(standin) | {"model": "one:1b"}
        answer = await generated(editor)
        assert (answer["model"], answer["rounds"], len(standin.requests)) == ("ollama:one:1b", 1, 1)
    (notice,) = [message for _, message in editor.messages]
    assert "a project may not set it" in notice


@pytest.mark.parametrize("where", ["options", "configuration"])
async def test_nothing_runs_where_nothing_is_trusted(tmp_path: Path, where: str) -> None:
    marker = tmp_path / "ran"
    text = f"open({str(marker)!r}, 'w')\n\n\n{STUB}    return name\n"
    async with StandIn([GOOD]) as standin:
        settings = told_of(standin) | ({"trusted": False} if where == "configuration" else {})
        options = {"trusted": False} if where == "options" else None
        async with Client.started(tmp_path, settings, capabilities=FULL, options=options) as editor:
            uri = await editor.write("names.py", text)
            before = editor.descendants()
            for mode in ("generate", "fix", "check", "repair"):
                answer = await editor.run("names.py", "initials", mode=mode)
                assert answer["status"] == "error"
                assert "not trusted" in answer["reason"]
            assert editor.descendants() == before == set()
            assert editor.text(uri) == text
            assert standin.seen == []
    assert not marker.exists()


async def test_what_a_server_says_is_not_taken_for_a_setting(editor: Client) -> None:
    said = "try `ollama run --model x`, --isolation none or --context-tokens 9"
    async with StandIn([Script("", ending=Ending.ERROR, error=said)] * 2) as standin:
        editor.settings = told_of(standin)
        answer = await generated(editor)
        editor.settings = told_of(standin, model="gone:1b")
        control = await generated(editor)
    for text in (answer["reason"], answer["summary"], *(step.get("error", said) for step in answer["journal"])):
        assert said in text
    for text in (control["reason"], control["summary"]):
        assert "choose an available one with adacoder.model" in text
        assert "--" not in text
