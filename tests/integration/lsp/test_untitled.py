"""Texts that were never saved have the same actions as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from integration.lsp.client import FULL, Client
from integration.lsp.test_edits import begin, settled
from integration.lsp.texts import BODY, GOOD, NO_EXAMPLES, STUB, WRONG, thinking, told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

INFO, WARNING = 3, 2
UNTITLED = "untitled:Untitled-1"
USES_NEIGHBOUR = '''from neighbour import FACTOR


def scaled(x):
    """x, scaled.

    >>> scaled(2)
    20
    """
    return x * FACTOR
'''


async def action(editor: Client, uri: str, command: str) -> dict[str, Any]:
    """Return the code action for `command` at the first function."""
    (found,) = (
        each for each in await editor.actions(uri, "def ") if each["command"]["command"].endswith(f".{command}")
    )
    return found


async def test_an_action_writes_a_function_and_shows_its_evidence(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.open(UNTITLED, STUB)
        await editor.take(await action(editor, uri, "generate"))
        assert await editor.told() == (INFO, "Inserted 'initials'. 2/2 examples passed.")
    assert editor.text(uri) == STUB + BODY
    (edit,) = editor.all("workspace/applyEdit")
    (change,) = edit["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": UNTITLED, "version": 1}
    (lens,) = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert lens["command"]["title"] == "✓ 2/2 examples"
    hover = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 5}}
    assert "Verified 'initials'" in (await editor.request("textDocument/hover", hover))["contents"]["value"]
    assert [path.name for path in editor.folder.iterdir()] == [], "saving is the person's"


@pytest.mark.parametrize(
    ("command", "replies"), [("fix", ["Join the first letters.", GOOD]), ("another", [GOOD]), ("check", [])]
)
async def test_the_other_actions_of_a_written_function(editor: Client, command: str, replies: list[str]) -> None:
    async with StandIn(replies) as standin:
        editor.settings = told_of(standin)
        uri = await editor.open(f"untitled:{command}", f"{STUB}    return name\n")
        await editor.take(await action(editor, uri, command))
        _, message = await editor.told()
    assert "'initials'" in message
    kept = (await editor.request("adacoder/kept", {"textDocument": {"uri": uri}}))["items"]
    assert [each["uri"] for each in kept] == ([uri] if command == "another" else [])
    assert (editor.text(uri) == STUB + BODY) == (command == "fix")


async def test_suggested_examples_are_kept_and_inserted(editor: Client) -> None:
    async with StandIn(["```\n>>> shout(\"Ada\")\n'ADA!'\n```"]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.open(UNTITLED, NO_EXAMPLES)
        await editor.take(await action(editor, uri, "suggestExamples"))
        await editor.told()
        editor.received.clear()
        await editor.take(await action(editor, uri, "insert"))
        await editor.told()
    assert ">>> shout(\"Ada\")\n    'ADA!'\n" in editor.text(uri)


async def test_it_imports_from_the_first_folder_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("FACTOR = 10\n", encoding="utf-8")
    async with Client.started(tmp_path) as editor:
        await editor.open(UNTITLED, USES_NEIGHBOUR)
        answer = await editor.run(UNTITLED, "scaled", mode="check")
    assert (answer["status"], answer["target"]) == ("verified", "Untitled-1::scaled")


async def test_without_a_folder_it_is_alone(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("FACTOR = 10\n", encoding="utf-8")
    client = await Client.spawned(tmp_path)
    try:
        await client.request("initialize", {"processId": None, "rootUri": None, "capabilities": FULL})
        await client.notify("initialized", {})
        await client.open(UNTITLED, f"{STUB}{BODY}")
        assert (await client.run(UNTITLED, "initials", mode="check"))["status"] == "verified"
        await client.open("untitled:Untitled-2", USES_NEIGHBOUR)
        answer = await client.run("untitled:Untitled-2", "scaled", mode="check")
        assert "neighbour" in answer["reason"], "the server's working directory is no folder of the text"
        assert await client.leave() == 0
    finally:
        await client.kill()


async def test_a_result_follows_the_text_into_its_file(editor: Client) -> None:
    async with StandIn([WRONG]) as standin:
        editor.settings = told_of(standin, maxIterations=0, unverified="keep")
        uri = await editor.open(UNTITLED, STUB.replace("    'AL'", "    'ada lovelace'"))
        await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        await editor.told()
        text = editor.text(uri)
        await editor.close(uri)
        saved = await editor.write("names.py", text)
        await settled(editor)
        (kept,) = (await editor.request("adacoder/kept", {}))["items"]
        assert kept["uri"] == saved
        assert "Insert AdaCoder's result for 'initials' (1/2 examples)" in [
            each["title"] for each in await editor.actions(saved, "def ")
        ]


async def test_a_text_that_is_closed_meanwhile_loses_no_result(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.open(UNTITLED, STUB)
        async with thinking(standin):
            await begin(editor, uri, "initials", standin)
            await editor.close(uri)
        kind, message = await editor.told()
    assert kind == WARNING
    assert message.startswith("Not inserted; its result is kept: The untitled text 'Untitled-1' is not open")
    (kept,) = (await editor.request("adacoder/kept", {}))["items"]
    await editor.open(UNTITLED, STUB)
    editor.received.clear()
    await editor.execute("insert", {"jobId": kept["jobId"]})
    assert (await editor.told())[0] == INFO
    assert editor.text(UNTITLED) == STUB + BODY


async def test_what_needs_a_file_says_so(editor: Client) -> None:
    await editor.open("untitled:test_names.py", "def test_names():\n    assert True\n")
    answer = await editor.execute("fixTest", {"uri": "untitled:test_names.py", "test": "test_names"})
    assert answer["reason"] == "Tests run as they are on disk: save this text as a file first."
    await editor.notify(
        "textDocument/didOpen",
        {"textDocument": {"uri": "untitled:Notes", "languageId": "markdown", "version": 1, "text": ">>> 1\n1\n"}},
    )
    answer = await editor.run("untitled:Notes", "f")
    assert answer["reason"] == "'Notes' is not Python: choose Python as its language, or save it as a .py file."
