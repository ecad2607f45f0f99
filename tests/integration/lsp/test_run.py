"""The request `adacoder/run`, for clients without a user, and for clients that show progress themselves."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from integration.lsp.client import Client, ResponseError
from integration.lsp.texts import BODY, GOOD, NO_EXAMPLES, SHOUT, STUB, WRONG, told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("apply", [True, False])
async def test_generate(editor: Client, apply: bool) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        answer = await editor.run("names.py", "initials", apply=apply)
    assert (answer["status"], answer["applied"], answer["failureReason"]) == ("verified", apply, None)
    assert answer["target"].endswith("/names.py::initials")
    assert answer["examples"] == {"passed": 2, "total": 2}
    assert answer["positionEncoding"] == "utf-16"
    assert editor.edited(STUB, answer["edits"]) == STUB + BODY
    assert editor.text(uri) == (STUB + BODY if apply else STUB)
    assert editor.messages == [], "the answer says it all"
    assert editor.all("window/workDoneProgress/create") == []


async def test_by_position(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", f"A = 1\n\n\n{STUB}")
        params = {
            "textDocument": {"uri": uri},
            "position": {"line": 4, "character": 9},
            "mode": "generate",
            "apply": False,
        }
        assert (await editor.request("adacoder/run", params))["status"] == "verified"


async def test_check_and_repair_and_fix(editor: Client) -> None:
    async with StandIn(["1. Take first letters.", GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", f"{STUB}    return name\n")
        for mode in ("check", "repair"):
            answer = await editor.run("names.py", "initials", mode=mode)
            assert (answer["status"], answer["applied"], answer["edits"]) == ("failed", False, [])
            assert answer["failure"]["got"] == "'ada lovelace'\n"
            assert answer["modelCalls"] == 0
        answer = await editor.run("names.py", "initials", mode="fix")
        assert (answer["status"], answer["applied"], answer["modelCalls"]) == ("verified", True, 2)
        assert editor.text(uri) == STUB + BODY
        answer = await editor.run("names.py", "initials", mode="check")
        assert (answer["status"], answer["edits"], answer["failureReason"]) == ("verified", [], None)


async def test_what_failed(editor: Client) -> None:
    async with StandIn([WRONG]) as standin:
        editor.settings = told_of(standin, maxIterations=0)
        uri = await editor.write("names.py", STUB)
        answer = await editor.run("names.py", "initials")
    assert (answer["status"], answer["applied"], answer["edits"]) == ("failed", False, [])
    assert answer["failure"]["kind"] == "wrong_output"
    assert editor.text(uri) == STUB


@pytest.mark.parametrize("apply", [True, False])
async def test_what_is_unverified_is_kept_where_it_was_to_be_applied(editor: Client, apply: bool) -> None:
    async with StandIn([SHOUT]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("text.py", NO_EXAMPLES)
        answer = await editor.run("text.py", "shout", apply=apply)
    assert (answer["status"], answer["applied"], answer["kept"]) == ("unverified", False, apply)
    assert answer["edits"], "the candidate is not lost"
    why = "Not inserted; its result is kept: 'shout' is unverified."
    assert answer["failureReason"] == (why if apply else None)
    assert answer["summary"].startswith(why if apply else "Not inserted, as requested: a body for 'shout'.")
    assert editor.all("window/showMessageRequest") == []
    assert editor.text(uri) == NO_EXAMPLES
    assert (await editor.execute("insert", {"jobId": answer["jobId"]}))["accepted"] is apply


@pytest.mark.parametrize("token", ["mine", 7])
async def test_progress_under_the_clients_own_token(editor: Client, token: Any) -> None:
    async with StandIn([GOOD, GOOD]) as standin:
        editor.settings = told_of(standin)
        await editor.write("names.py", STUB)
        params = editor.run_params("names.py", "initials", apply=False, workDoneToken=token)
        for _ in range(2):  # a token may be used again
            editor.received.clear()
            await editor.request("adacoder/run", params)
            shown = editor.all("$/progress")
            assert {each["token"] for each in shown} == {token}
            kinds = [each["value"]["kind"] for each in shown]
            assert (kinds[0], kinds[-1], set(kinds[1:-1])) == ("begin", "end", {"report"})
    assert editor.all("window/workDoneProgress/create") == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"textDocument": None}, "'uri'"),
        ({"textDocument": {"uri": 3}}, "'uri'"),
        ({"qualifiedName": None}, "give 'position' or 'qualifiedName'"),
        ({"qualifiedName": None, "position": {"character": 1}}, "'line'"),
        ({"mode": "write"}, "'mode' must be one of generate, fix, check, repair"),
        ({"mode": None}, "'mode'"),
        ({"mode": ["generate"]}, "'mode'"),
        ({"apply": 1}, "'apply'"),
        ({"apply": None}, "'apply'"),
        ({"workDoneToken": []}, "'workDoneToken'"),
    ],
)
async def test_parameters_that_are_wrong(editor: Client, change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ResponseError, match=problem) as caught:
        await editor.request("adacoder/run", editor.run_params("names.py", "initials") | change)
    assert caught.value.code == -32602
    assert editor.messages == []


@pytest.mark.parametrize("params", [None, [], "text"])
async def test_parameters_that_are_none(editor: Client, params: Any) -> None:
    with pytest.raises(ResponseError, match="'uri' is missing") as caught:
        await editor.request("adacoder/run", params)
    assert caught.value.code == -32602


async def test_what_has_no_target_is_an_answer_with_a_reason(editor: Client) -> None:
    await editor.write("names.py", STUB)
    answer = await editor.run("names.py", "initial")
    assert (answer["status"], answer["applied"], answer["edits"]) == ("error", False, [])
    assert "did you mean 'initials'?" in answer["reason"] == answer["summary"]
    assert "is not open" in (await editor.run("untitled:Untitled-1", "initials"))["reason"]
    assert editor.messages == []


async def test_a_wish_holds_for_later_jobs_on_the_function(editor: Client) -> None:
    async with StandIn([WRONG]) as standin:
        editor.settings = told_of(standin, maxIterations=0)
        await editor.write("names.py", STUB)

        async def asked(mode: str, **wish: str) -> bool:
            await editor.run("names.py", "initials", mode=mode, apply=False, **wish)
            return "The user wishes for this function: use a loop" in str(standin.requests[-1]["messages"])

        assert not await asked("generate")
        assert await asked("generate", wish=" use\na  loop ")
        assert await asked("another")
        assert not await asked("generate", wish="")
        assert not await asked("another")


async def test_functions_of_one_name_have_their_own_wishes(editor: Client) -> None:
    indented = textwrap.indent(STUB, "    ")
    async with StandIn([WRONG]) as standin:
        editor.settings = told_of(standin, maxIterations=0)
        file = await editor.write("names.py", f"if __debug__:\n{indented}else:\n{indented}")
        notebook = await editor.open_notebook("names.ipynb", STUB, STUB)

        async def asked(uri: str, line: int, **wish: str) -> bool:
            place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 0}}
            await editor.request("adacoder/run", {**place, "mode": "generate", "apply": False, **wish})
            return "use a loop" in str(standin.requests[-1]["messages"])

        for first, second in (((file, 1), (file, 10)), ((notebook.cells[0], 0), (notebook.cells[1], 0))):
            assert await asked(*first, wish="use a loop")
            assert not await asked(*second)
            assert await asked(*first)
        renamed = {"oldUri": file, "newUri": editor.uri("others.py")}
        await editor.write("others.py", editor.text(file))
        await editor.notify("workspace/didRenameFiles", {"files": [renamed]})
        assert await asked(renamed["newUri"], 1)


async def test_a_wish_without_a_model_had_no_effect(editor: Client) -> None:
    await editor.write("names.py", STUB + BODY)
    answer = await editor.run("names.py", "initials", mode="fix", wish="use a loop")
    assert (answer["status"], answer["modelCalls"]) == ("verified", 0)
    assert answer["notes"] == ["No model was asked, so your wish had no effect: generate the function again."]


async def test_a_wish_outlives_many_other_jobs(editor: Client) -> None:
    async with StandIn([WRONG]) as standin:
        editor.settings = told_of(standin, maxIterations=0)
        await editor.write("names.py", STUB)
        await editor.write("text.py", NO_EXAMPLES)
        await editor.run("names.py", "initials", apply=False, wish="use a loop")
        for _ in range(65):
            await editor.run("text.py", "shout", mode="check")
        await editor.run("names.py", "initials", apply=False)
        assert "use a loop" in str(standin.requests[-1]["messages"])


async def test_a_wish_that_is_no_short_text_is_refused(editor: Client) -> None:
    await editor.write("names.py", STUB)
    for wish, why in ((7, "be a string"), ("x" * 501, "be at most 500 characters long")):
        with pytest.raises(ResponseError, match=f"'wish' must {why}"):
            await editor.run("names.py", "initials", wish=wish)


@pytest.mark.parametrize(
    ("text", "name", "title", "command"),
    [
        (STUB + "    return name\n", "initials", "Fix", "fix"),
        (STUB, "initials", "Generate", "generate"),
        (NO_EXAMPLES + "    return text\n", "shout", "Suggest Examples", "suggestExamples"),
        ("def bare(x):\n    return x\n", "bare", "Write Skeleton", "writeDocstring"),
    ],
)
async def test_a_check_offers_the_command_that_its_result_calls_for(
    editor: Client, text: str, name: str, title: str, command: str
) -> None:
    async with StandIn(["1. Take the initials.", GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", text)
        ran = await editor.run("names.py", name, mode="check", apply=False)
        (remedy,) = ran["remedies"]
        assert (remedy["kind"], remedy["title"]) == ("command", title)
        assert remedy["command"] == f"adacoder.server.{command}"
        if command in ("fix", "writeDocstring"):
            await editor.take({"command": remedy})
            await editor.until(lambda: editor.text(uri) != text)
    assert editor.text(uri) != text or command in ("generate", "suggestExamples")


async def test_a_check_that_passed_offers_nothing(editor: Client) -> None:
    await editor.write("names.py", STUB + BODY)
    assert (await editor.run("names.py", "initials", mode="check", apply=False))["remedies"] == []


async def test_a_workspace_that_is_not_trusted_can_be_trusted(editor: Client) -> None:
    editor.settings = {"trusted": False}
    await editor.write("names.py", STUB + BODY)
    ran = await editor.run("names.py", "initials", mode="check", apply=False)
    assert (ran["status"], ran["remedies"]) == ("error", [{"kind": "trust"}])


async def test_a_name_counts_more_than_a_line_without_a_version(editor: Client) -> None:
    """The line may be from an older version of the text."""
    other = "def other(x):\n    return x\n\n\n"
    await editor.write("names.py", other + STUB + BODY)
    for name, status in (("initials", "verified"), ("other", "error")):
        ran = await editor.run("names.py", name, mode="check", apply=False, position={"line": 4, "character": 0})
        assert ran["status"] == status


async def test_a_skeleton_is_not_written_into_another_function(editor: Client) -> None:
    """A button acts on the function of its message, or on none."""
    bare = "def first(x):\n    return x\n\n\ndef second(x):\n    return x\n"
    uri = await editor.write("names.py", bare)
    document, place = {"uri": uri}, {"line": 4, "character": 0}
    run = {"textDocument": document, "position": place, "mode": "generate", "apply": True}
    (remedy,) = (await editor.request("adacoder/run", run))["remedies"]
    await editor.change(uri, "def first", "# 1\n# 2\n# 3\n# 4\ndef first")
    moved = editor.text(uri)
    assert not (await editor.take({"command": remedy}))["accepted"]
    assert editor.text(uri) == moved
