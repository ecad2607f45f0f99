"""Insertions into a text that changes meanwhile, and insertions by editors with few capabilities."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from integration.lsp.client import BARE, FULL, Client, ResponseError, Silence
from integration.lsp.texts import BODY, GOOD, NEEDS_HELPER, NO_EXAMPLES, SCALED, SHOUT, STUB, thinking, told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

INFO, WARNING = 3, 2


async def begin(editor: Client, uri: str, name: str, standin: StandIn) -> None:
    """Start to generate `name`, and wait until the model has received the request."""
    assert (await editor.execute("generate", {"uri": uri, "qualifiedName": name}))["accepted"]
    await standin.until("request 1")


async def settled(editor: Client) -> None:
    """Wait until the server has received every change."""
    await editor.execute("status")


async def test_an_untouched_function_is_found_at_its_new_place(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        async with thinking(standin):
            await begin(editor, uri, "initials", standin)
            await editor.change(uri, "def ", '"""𝔐"""\n\n\ndef ')
            await editor.change(uri, '    """\n', '    """\n\n\nEND = 1\n')
            await settled(editor)
            before = editor.text(uri)
        assert (await editor.told())[0] == INFO
    assert editor.text(uri) == before.replace('    """\n', f'    """\n{BODY}', 1)
    (edit,) = editor.all("workspace/applyEdit")
    assert edit["edit"]["documentChanges"][0]["textDocument"]["version"] == 3
    steps = (await editor.execute("journal"))["journal"]
    assert [step["action"] for step in steps] == ["write", "evaluate", "evaluate"]


async def test_suggested_examples_move_with_their_docstring(editor: Client) -> None:
    async with StandIn(["```\n>>> shout(\"Ada\")\n'ADA!'\n```"]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("words.py", NO_EXAMPLES)
        async with thinking(standin):
            assert (await editor.execute("suggestExamples", {"uri": uri, "qualifiedName": "shout"}))["accepted"]
            await standin.until("request 1")
            await editor.change(uri, "def ", '"""𝔐"""\n\n\ndef ')
            await settled(editor)
        assert (await editor.told())[0] == INFO
        editor.received.clear()
        (insert,) = [each for each in await editor.actions(uri, "def ") if each["title"].startswith("Insert ")]
        await editor.take(insert)
        await editor.told()
    text = editor.text(uri)
    assert text.startswith('"""𝔐"""\n\n\ndef shout(')
    assert ">>> shout(\"Ada\")\n    'ADA!'\n" in text


async def test_of_several_the_nearest_is_meant(editor: Client) -> None:
    above = "# Names.\n" * 60
    text = above + STUB
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", text)
        async with thinking(standin):
            await begin(editor, uri, "initials", standin)
            await editor.change(uri, above[: len(STUB) + 2], f"{STUB}\n\n")
            await settled(editor)
            before = editor.text(uri)
        assert (await editor.told())[0] == INFO
    assert editor.text(uri) == before + BODY


async def test_a_text_that_is_again_what_it_was_is_not_evaluated_again(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        async with thinking(standin):
            await begin(editor, uri, "initials", standin)
            await editor.change(uri, "capitals", "letters")
            await editor.change(uri, "letters", "capitals")
            await settled(editor)
        assert (await editor.told())[0] == INFO
    assert editor.text(uri) == STUB + BODY
    steps = (await editor.execute("journal"))["journal"]
    assert [step["action"] for step in steps] == ["write", "evaluate"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("in capitals", "in small letters"), ("'AL'", "'al'"), ("def initials", "def first_letters")],
)
async def test_a_touched_function_is_left_alone(editor: Client, old: str, new: str) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        async with thinking(standin):
            await begin(editor, uri, "initials", standin)
            await editor.change(uri, old, new)
            await settled(editor)
        kind, message = await editor.told()
    assert kind == WARNING
    edited = "Not inserted; its result is kept: 'initials' was edited meanwhile."
    assert message.startswith(edited)
    assert editor.text(uri) == STUB.replace(old, new, 1)
    assert editor.all("workspace/applyEdit") == []
    journal = await editor.execute("journal")
    assert (journal["applied"], journal["failureReason"]) == (False, edited)
    assert "word[0]" in str(journal["journal"]), "the candidate is kept"


@pytest.mark.parametrize("factor", [11, 10])
async def test_a_changed_helper_is_evaluated_with(editor: Client, factor: int) -> None:
    async with StandIn([SCALED]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("scale.py", NEEDS_HELPER)
        async with thinking(standin):
            await begin(editor, uri, "scaled", standin)
            await editor.change(uri, "FACTOR = 10", f"FACTOR = 5 + {factor - 5}")
            await settled(editor)
            before = editor.text(uri)
        kind, message = await editor.told()
    if factor == 10:
        assert (kind, editor.text(uri)) == (INFO, f"{before}    return x * FACTOR\n"), message
    else:
        assert (kind, editor.text(uri)) == (WARNING, before)
        assert message.startswith("Not inserted; its result is kept: 'scaled' does not pass in the current text.")


async def test_another_open_file_that_changes_counts_too(editor: Client) -> None:
    async with StandIn([SCALED]) as standin:
        editor.settings = told_of(standin)
        units = await editor.write("units.py", "FACTOR = 10\n")
        uri = await editor.write("scale.py", NEEDS_HELPER.replace("FACTOR = 10", "from units import FACTOR"))
        async with thinking(standin):
            await begin(editor, uri, "scaled", standin)
            await editor.change(units, "10", "11")
            await settled(editor)
        kind, message = await editor.told()
    assert kind == WARNING
    assert message.startswith("Not inserted; its result is kept: ")
    assert editor.all("workspace/applyEdit") == []


async def test_a_file_that_is_gone(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.open("unsaved.py", STUB)
        async with thinking(standin):
            await begin(editor, uri, "initials", standin)
            await editor.close(uri)
            await settled(editor)
        kind, message = await editor.told()
    assert kind == WARNING
    assert message.startswith("Not inserted; its result is kept: There is no file ")
    assert "; its result is kept: " in message


async def test_an_edit_that_comes_too_late_is_brought_up_to_date(editor: Client) -> None:
    async def typed_first(params: Any) -> Any:
        del editor.answers["workspace/applyEdit"]
        await editor.change(uri, "def ", "X = 1\n\n\ndef ")
        return await editor._apply(params)

    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        editor.answers["workspace/applyEdit"] = typed_first
        await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        assert (await editor.told())[0] == INFO
    assert editor.text(uri) == f"X = 1\n\n\n{STUB}{BODY}"
    assert len(editor.all("workspace/applyEdit")) == 2


SLOW_IMPORT = f"import time\n\ntime.sleep(0.3)\nA = 0\n\n\n{STUB}"


def waits(editor: Client) -> bool:
    """Return True if the server has told the user that it waits for a pause."""
    return "waiting for a pause in typing" in str(editor.all("$/progress"))


async def test_typing_beside_a_slow_import_does_not_keep_a_result_out(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", SLOW_IMPORT)
        await begin(editor, uri, "initials", standin)
        for number in range(1, 21):
            await editor.change(uri, f"A = {number - 1}\n", f"A = {number}\n")
            await asyncio.sleep(0.2)
            assert editor.all("workspace/applyEdit") == []
        before = editor.text(uri)
        assert (await editor.told())[0] == INFO
    assert editor.text(uri) == before + BODY


@pytest.mark.parametrize("says", ["Edits on `names.py' require version 1, you have 31", "The buffer is read-only"])
async def test_an_editor_that_reports_late_gets_the_edit_again(editor: Client, says: str) -> None:
    """Simulate eglot: it reports typing only after a pause, and refuses edits of older versions until then."""

    def refuse(params: Any) -> Any:
        raise ResponseError({"code": -32603, "message": says})

    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        editor.answers["workspace/applyEdit"] = refuse
        await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        if "version" in says:
            await editor.until(lambda: waits(editor))
            del editor.answers["workspace/applyEdit"]
            editor.documents[uri].version = 30
            await editor.change(uri, "def ", "X = 1\n\n\ndef ")
            assert (await editor.told())[0] == INFO
            assert editor.text(uri) == f"X = 1\n\n\n{STUB}{BODY}"
            edits = editor.all("workspace/applyEdit")
            assert edits[-1]["edit"]["documentChanges"][0]["textDocument"]["version"] == 31
        else:
            assert says in (await editor.told())[1], "the control"
            assert len(editor.all("workspace/applyEdit")) == 1
            assert not waits(editor)


@pytest.mark.parametrize("how", ["not applied", "an error", "something malformed"])
async def test_an_edit_that_was_not_made_is_no_success(editor: Client, how: str) -> None:
    def refuse(params: Any) -> Any:
        match how:
            case "not applied":
                return {"applied": False, "failureReason": "the buffer is read-only"}
            case "an error":
                raise ResponseError({"code": -32603, "message": "the buffer is read-only"})
        return "the buffer is read-only"

    editor.answers["workspace/applyEdit"] = refuse
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        kind, message = await editor.told()
    assert kind == WARNING
    assert message.startswith("Not inserted; its result is kept: the editor ")
    assert ("the buffer is read-only" in message) == (how != "something malformed")
    assert len(editor.all("workspace/applyEdit")) == 1
    assert (await editor.execute("journal"))["applied"] is False


IMPATIENT = """
import sys
from adacoder.lsp import stdio
from adacoder.lsp.connection import client
from adacoder.lsp.jobs import job

job._EDITING = client._PATIENCE = 0.2
sys.exit(stdio.serve())
"""


@pytest.mark.parametrize("reply", [GOOD, SHOUT], ids=["verified", "unverified"])
async def test_an_editor_that_never_answers(tmp_path: Path, reply: str) -> None:
    def silent(params: object) -> None:
        raise Silence

    command = (sys.executable, "-c", IMPATIENT)
    async with StandIn([reply]) as standin:
        options = told_of(standin)
        async with Client.started(tmp_path, options=options, command=command) as editor:
            for method in (
                "window/workDoneProgress/create",
                "workspace/configuration",
                "workspace/applyEdit",
            ):
                editor.answers[method] = silent
            uri = await editor.write("names.py", STUB if reply == GOOD else NO_EXAMPLES)
            name = "initials" if reply == GOOD else "shout"
            await editor.execute("generate", {"uri": uri, "qualifiedName": name})
            kind, message = await editor.told()
            assert kind == WARNING
            assert ("did not say whether" if reply == GOOD else "its result is kept: 'shout' is unverified") in message
            assert editor.all("$/progress") == []
            assert [each["method"] for each in editor.received].count("workspace/applyEdit") == (reply == GOOD)


async def test_an_editor_that_declares_nothing_gets_the_edit_all_the_same(tmp_path: Path) -> None:
    """Simulate ALE: it applies edits but does not declare this, and it answers nothing."""

    async with StandIn([GOOD]) as standin:
        options = {"adacoder": told_of(standin)}
        async with Client.started(tmp_path, capabilities=BARE, options=options) as editor:

            async def apply_in_silence(params: Any) -> None:
                await editor._apply(params)
                raise Silence

            editor.answers["workspace/applyEdit"] = apply_in_silence
            uri = await editor.write("names.py", STUB)
            (action,) = await editor.actions(uri, "def ", trigger=None)
            # the editor executes only known commands
            assert action["command"] == "adacoder.server.generate"
            await editor.execute("generate", *action["arguments"])
            assert (await editor.told())[0] == INFO
            await editor.until(lambda: editor.text(uri) == STUB + BODY)
            (edit,) = editor.all("workspace/applyEdit")
            assert list(edit["edit"]) == ["changes"]
            sent = {message["method"] for message in editor.received}
            assert sent == {"workspace/applyEdit", "window/showMessage", "window/logMessage"}


async def test_an_editor_that_cannot_ask_keeps(tmp_path: Path) -> None:
    async with StandIn([SHOUT]) as standin:
        options = told_of(standin)
        async with Client.started(tmp_path, capabilities=BARE, options=options) as editor:
            uri = await editor.write("text.py", NO_EXAMPLES)
            await editor.execute("generate", {"uri": uri, "qualifiedName": "shout"})
            kind, message = await editor.told()
            assert kind == WARNING
            assert message.startswith("Not inserted; its result is kept: 'shout' is unverified.")
            assert editor.all("window/showMessageRequest") == []
            assert editor.all("workspace/applyEdit") == []


async def test_without_document_changes_the_text_is_still_the_right_one(tmp_path: Path) -> None:
    capabilities = {**FULL, "workspace": {**FULL["workspace"], "workspaceEdit": {}}}
    async with (
        StandIn([GOOD]) as standin,
        Client.started(tmp_path, told_of(standin), capabilities=capabilities) as editor,
    ):
        uri = await editor.write("names.py", STUB)
        async with thinking(standin):
            await begin(editor, uri, "initials", standin)
            await editor.change(uri, "in capitals", "in small letters")
            await settled(editor)
        kind, message = await editor.told()
        assert (kind, "was edited meanwhile" in message) == (WARNING, True)
