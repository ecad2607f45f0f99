"""Results that cannot be inserted at once are kept, and offered at their function without a modal dialog."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from integration.lsp.client import FULL, Client, ResponseError
from integration.lsp.texts import BODY, GOOD, NO_EXAMPLES, SHOUT, SHOUTED, STUB, UNENDING, WRONG, thinking, told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

INFO, WARNING = 3, 2
HALF = f'```python\n{STUB}    return "AL"\n```'
INSERT, SHOW, DISCARD = "Insert AdaCoder's", "Show difference", "Discard"


async def titles(editor: Client, uri: str, at: str = "def ", trigger: int = 1) -> list[str]:
    return [action["title"] for action in await editor.actions(uri, at, trigger=trigger)]


async def chosen(editor: Client, uri: str, title: str) -> Any:
    """Execute the only action whose title starts with `title`."""
    (action,) = [each for each in await editor.actions(uri, "def ") if each["title"].startswith(title)]
    return await editor.take(action)


async def kept(editor: Client, standin: StandIn, *, edit: tuple[str, str] | None = None) -> tuple[str, str]:
    """Make the server keep a result. Return the document and the job's id.

    With `edit`, the result is verified, but the function changes before the insertion. Otherwise it is unverified.
    """
    editor.settings = told_of(standin, maxIterations=0)
    name, text = ("initials", STUB) if edit else ("shout", NO_EXAMPLES)
    uri = await editor.write("names.py", text)
    async with thinking(standin):
        answer = await editor.execute("generate", {"uri": uri, "qualifiedName": name})
        await standin.until("request 1")
        if edit:
            await editor.change(uri, *edit)
            await editor.execute("status")
    await editor.told()
    editor.received.clear()
    return uri, answer["jobId"]


async def test_what_is_unverified_is_offered_and_goes_in_when_it_is_chosen(editor: Client) -> None:
    async with StandIn([SHOUT]) as standin:
        uri, _ = await kept(editor, standin)
        for trigger in (1, 2):
            assert (await titles(editor, uri, trigger=trigger))[:3] == [
                "Insert AdaCoder's result for 'shout' (unverified)",
                "Show difference: AdaCoder's result for 'shout'",
                "Discard AdaCoder's result for 'shout'",
            ]
        assert (await chosen(editor, uri, INSERT))["accepted"]
        kind, message = await editor.told()
    assert (kind, message.startswith("Inserted 'shout', unverified.")) == (WARNING, True)
    assert editor.text(uri) == SHOUTED
    assert not [title for title in await titles(editor, uri) if title.startswith(INSERT)]


async def test_a_result_for_an_edited_function_is_proved_again_where_it_goes_in(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        uri, _ = await kept(editor, standin, edit=("in capitals", "in large letters"))
        assert "Insert AdaCoder's result for 'initials' (2/2 examples)" in await titles(editor, uri)
        await editor.change(uri, "def ", '"""𝔐"""\n\n\ndef ')
        before = editor.text(uri)
        await chosen(editor, uri, INSERT)
        assert await editor.told() == (INFO, "Inserted 'initials'. 2/2 examples passed.")
    assert editor.text(uri) == before + BODY


async def test_what_holds_no_longer_is_not_inserted_unasked(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        uri, _ = await kept(editor, standin, edit=("'AL'", "'al'"))
        before = editor.text(uri)
        await chosen(editor, uri, INSERT)
        kind, message = await editor.told()
        assert kind == WARNING
        assert message.startswith("Not inserted; its result is kept: 'initials' passes 1/2 examples in")
        assert editor.text(uri) == before
        editor.received.clear()
        assert "Insert AdaCoder's result for 'initials' (1/2 examples)" in await titles(editor, uri)
        await chosen(editor, uri, INSERT)
        assert (await editor.told())[0] == WARNING
    assert editor.text(uri) == before + BODY, "the title said what it is worth"


async def test_it_is_offered_as_long_as_it_fits_the_signature(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        uri, job = await kept(editor, standin, edit=("in capitals", "in large letters"))
        for old, new, fits in (
            ("(name)", "(name: str = 'x') -> str", True),
            ("(name: str", "(words: str", False),
            ("(words: str", "(name: str", True),
        ):
            await editor.change(uri, old, new)
            assert any(title.startswith(INSERT) for title in await titles(editor, uri)) is fits
            if not fits:
                answer = await editor.execute("insert", {"jobId": job})
                assert (answer["accepted"], "other parameters" in answer["reason"]) == (False, True)


@pytest.mark.parametrize("preview", [False, True])
async def test_the_lenses_of_functions_of_one_name_act_on_their_own_function(editor: Client, preview: bool) -> None:
    first = f"if __debug__:\n{textwrap.indent(STUB, '    ')}"
    second = f"else:\n{textwrap.indent(STUB.replace('in capitals', 'in large letters'), '    ')}"
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin, preview=preview, maxIterations=0)
        uri = await editor.write("names.py", first + second)

        async def lenses() -> list[tuple[int, str, Any]]:
            found = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
            return [(lens["range"]["start"]["line"], lens["command"]["title"], lens["command"]) for lens in found]

        generate, other = await lenses()
        assert (generate[:2], other[:2]) == ((1, "Generate"), (first.count("\n") + 1, "Generate"))
        await editor.take(generate[2])
        await editor.told()
        if preview:
            (insert,) = (lens for lens in await lenses() if lens[1] == "Insert")
            offers = [
                title.startswith(INSERT) for at in ("capitals", "letters") for title in await titles(editor, uri, at)
            ]
            assert (insert[0], offers.index(True), offers.count(True)) == (1, 0, 1)
            editor.received.clear()
            await editor.take(insert[2])
            await editor.told()
        assert editor.text(uri) == first + textwrap.indent(BODY, "    ") + second
        assert [lens[:2] for lens in await lenses()] == [(1, "✓ 2/2 examples"), (first.count("\n") + 2, "Generate")]


async def test_the_results_of_equal_functions_go_into_their_own_function(editor: Client) -> None:
    stub, body = textwrap.indent(STUB, "    "), textwrap.indent(BODY, "    ")
    first, second = f"if __debug__:\n{stub}", f"else:\n{stub}"
    lines = (1, first.count("\n") + 1)
    async with StandIn([GOOD, GOOD]) as standin:
        editor.settings = told_of(standin, preview=True, maxIterations=0)
        uri = await editor.write("names.py", first + second)
        for line in lines:
            await editor.execute("generate", {"uri": uri, "position": {"line": line, "character": 0}})
            await editor.told()
            editor.received.clear()
        found = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        inserts = [lens for lens in found if lens["command"]["title"] == "Insert"]
        assert tuple(lens["range"]["start"]["line"] for lens in inserts) == lines
        for lens, text in zip(reversed(inserts), (first + second + body, first + body + second + body), strict=True):
            await editor.take(lens["command"])
            await editor.told()
            editor.received.clear()
            assert editor.text(uri) == text


async def test_what_passes_some_examples_is_kept(editor: Client) -> None:
    async with StandIn([HALF]) as standin:
        editor.settings = told_of(standin, maxIterations=0)
        uri = await editor.write("names.py", STUB)
        answer = await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        kind, message = await editor.told()
        assert (kind, message.partition(". ")[0]) == (
            WARNING,
            "Not inserted; its result is kept: 'initials' passes only 1/2 examples",
        )
        assert (await editor.execute("journal"))["kept"] is True
        assert (await editor.execute("insert", {"jobId": answer["jobId"]}))["accepted"]
        await editor.until(lambda: len(editor.messages) == 2)
    assert editor.text(uri) == f'{STUB}    return "AL"\n'


async def test_it_is_kept_across_jobs_and_until_it_is_discarded(editor: Client) -> None:
    async with StandIn([SHOUT, WRONG]) as standin:
        uri, job = await kept(editor, standin)
        other = await editor.write("other.py", STUB)
        await editor.run("other.py", "initials", apply=False)
        assert not [title for title in await titles(editor, other) if title.startswith(INSERT)]
        assert await chosen(editor, uri, DISCARD) == {"version": 1, "discarded": True}
    assert not [title for title in await titles(editor, uri) if title.startswith((INSERT, SHOW, DISCARD))]
    assert await editor.execute("discard", {"jobId": job}) == {"version": 1, "discarded": False}
    for command in ("insert", "difference"):
        answer = await editor.execute(command, {"jobId": job})
        assert "No result of that job is kept" in answer["reason"]
    assert editor.text(uri) == NO_EXAMPLES


async def test_what_is_kept_is_listed_and_given_as_a_text_and_stands_above_its_function(editor: Client) -> None:
    async with StandIn([SHOUT]) as standin:
        uri, job = await kept(editor, standin)
        other = await editor.write("other.py", STUB)
        item = {
            "jobId": job,
            "uri": uri,
            "qualifiedName": "shout",
            "title": "AdaCoder's result for 'shout' (unverified)",
        }
        for params in ({}, {"textDocument": {"uri": uri}}):
            assert item in (await editor.request("adacoder/kept", params))["items"]
        assert (await editor.request("adacoder/kept", {"textDocument": {"uri": other}}))["items"] == []
        await editor.change(uri, "def ", '"""𝔐 \u202e"""\n\n\ndef ')
        answer = await editor.execute("difference", {"jobId": job, "show": False})
        assert answer["newText"] == '"""𝔐 \u202e"""\n\n\n' + SHOUTED
        assert answer["textDocument"] == {"uri": uri, "version": editor.documents[uri].version}
        assert not editor.all("window/showDocument") + editor.messages
        score = item["title"].partition(" (")[2]
        assert await lenses(editor, uri) == [f"Show AdaCoder's result ({score}", "Insert", "Discard", "Generate"]
        await editor.change(uri, "(text)", "(words)")
        assert await lenses(editor, uri) == ["Generate"]
        await editor.change(uri, "(words)", "(text)")
        await editor.execute("discard", {"jobId": job})
        assert await lenses(editor, uri) == ["Generate"]
        answer = await editor.execute("difference", {"jobId": job, "show": False})
        assert ("No result of that job" in answer["reason"], editor.messages) == (True, [])


async def lenses(editor: Client, uri: str) -> list[str]:
    answer = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    return [each["command"]["title"] for each in answer]


async def test_the_lenses_of_a_long_name_fit_into_a_narrow_window(editor: Client) -> None:
    name = f"initials_of_{'a_very_' * 12}long_name"
    async with StandIn([HALF.replace("initials", name)]) as standin:
        editor.settings = told_of(standin, maxIterations=0)
        uri = await editor.write("names.py", STUB.replace("initials", name))
        assert (await editor.run("names.py", name))["kept"]
    titles = await lenses(editor, uri)
    assert titles[1:] == ["Insert", "Discard", "✗ 1/2 examples", "Generate"]
    assert len(" | ".join(titles)) <= 98


async def test_with_a_preview_even_what_is_verified_is_only_kept(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin, preview=True)
        uri = await editor.write("names.py", STUB)
        answer = await editor.run("names.py", "initials")
        assert (answer["status"], answer["applied"], answer["kept"]) == ("verified", False, True)
        assert answer["failureReason"].startswith(
            "Not inserted; its result is kept: review 'initials' first, as adacoder"
        )
        assert answer["remedies"] == [{"kind": "setting", "key": "preview"}]
        assert answer["isGood"], "the person wanted it so"
        assert editor.text(uri) == STUB
        await editor.execute("insert", {"jobId": answer["jobId"]})
        assert (await editor.told())[1].startswith("Inserted 'initials'.")
    assert editor.text(uri) == STUB + BODY


async def test_a_candidate_that_a_client_sends_goes_in_if_it_is_verified_and_is_never_kept(editor: Client) -> None:
    uri = await editor.write("names.py", STUB)
    ask = editor.run_params("names.py", "initials", mode="repair")
    for candidate, status in ((HALF, "partial"), (WRONG, "failed"), (GOOD, "verified")):
        answer = await editor.request("adacoder/run", {**ask, "candidate": candidate})
        assert (answer["status"], answer["kept"], answer["modelCalls"]) == (status, False, 0)
        assert answer["applied"] is (status == "verified")
    assert editor.text(uri) == STUB + BODY
    for wrong, why in (
        ({"candidate": 1}, "must be a string"),
        ({"candidate": GOOD, "mode": "generate"}, "needs the mode"),
    ):
        with pytest.raises(ResponseError, match=f"'candidate' {why}"):
            await editor.request("adacoder/run", {**ask, **wrong})


async def test_a_client_that_shows_endings_itself_is_told_what_there_is_to_show(tmp_path: Path) -> None:
    capabilities = {**FULL, "experimental": {"adacoder": {"endings": True}}}
    async with (
        StandIn([SHOUT, GOOD]) as standin,
        Client.started(tmp_path, told_of(standin, maxIterations=0), capabilities=capabilities, name="Code") as editor,
    ):
        uri = await editor.write("names.py", NO_EXAMPLES)
        job = (await editor.execute("generate", {"uri": uri, "qualifiedName": "shout"}))["jobId"]
        (end,) = await editor.until(lambda: editor.all("adacoder/ended"))
        assert end["message"].startswith("Not inserted; its result is kept: 'shout' is unverified")
        told = {"version": 1, "jobId": job, "qualifiedName": "shout", "kept": True, "isGood": False}
        assert [each["title"] for each in end["remedies"]] == ["Suggest Examples"]
        assert end.items() >= {**told, "textDocument": {"uri": uri, "version": 1}}.items()
        editor.settings["model"] = "absent"
        await editor.execute("generateAll", {"uri": uri})
        end = (await editor.until(lambda: editor.all("adacoder/ended")[1:]))[0]
        assert end["remedies"][0] == {"kind": "pull", "model": "absent"}
        assert {"kind": "setting", "key": "model"} in end["remedies"]
        assert not editor.messages + editor.all("window/showMessageRequest")


async def test_any_candidate_of_a_kept_job_can_be_inserted(editor: Client) -> None:
    async with StandIn([HALF, "1. Try again.", WRONG]) as standin:
        editor.settings = told_of(standin, maxIterations=1)
        uri = await editor.write("names.py", STUB)
        job = (await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"}))["jobId"]
        await editor.told()
        for number in (0, 9, True, "1"):
            answer = await editor.execute("insert", {"jobId": job, "candidate": number})
            assert (answer["accepted"], "'candidate' must be" in answer["reason"]) == (False, True)
        editor.received.clear()
        assert (await editor.execute("insert", {"jobId": job, "candidate": 1}))["accepted"]
        await editor.told()
    assert editor.text(uri) == f'{STUB}    return "AL"\n'


async def test_a_candidate_that_came_twice_counts_twice(editor: Client) -> None:
    async with StandIn([WRONG, "1. Try again.", WRONG, "1. Try again.", HALF]) as standin:
        editor.settings = told_of(standin, strategy="adacoder", maxIterations=2)
        uri = await editor.write("names.py", STUB)
        job = (await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"}))["jobId"]
        await editor.told()
        answer = await editor.execute("insert", {"jobId": job, "candidate": 4})
        assert answer["reason"] == "'candidate' must be a number from 1 to 3."
        editor.received.clear()
        assert (await editor.execute("insert", {"jobId": job, "candidate": 3}))["accepted"]
        await editor.told()
    assert editor.text(uri) == f'{STUB}    return "AL"\n'


async def test_suggested_examples_are_kept_too(editor: Client) -> None:
    async with StandIn(["```\n>>> shout(\"Ada\")\n'ADA!'\n```"]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("words.py", NO_EXAMPLES)
        await editor.execute("suggestExamples", {"uri": uri, "qualifiedName": "shout"})
        await editor.told()
        assert "shout(\"Ada\") → 'ADA!'" in editor.messages[0][1]
        editor.received.clear()
        await chosen(editor, uri, INSERT)
        assert (await editor.told())[1].startswith("Inserted examples for 'shout'")
    assert ">>> shout(\"Ada\")\n    'ADA!'\n" in editor.text(uri)


@pytest.mark.parametrize("shows_documents", [True, False])
async def test_the_difference_can_be_seen(tmp_path: Path, shows_documents: bool) -> None:
    window = {**FULL["window"], "showDocument": {"support": shows_documents}}
    async with (
        StandIn([SHOUT]) as standin,
        Client.started(tmp_path, capabilities={**FULL, "window": window}) as editor,
    ):
        shown: list[str] = []

        def show(params: Any) -> Any:
            shown.append(read(params["uri"].removeprefix("file://")))
            return {"success": True}

        editor.answers["window/showDocument"] = show
        uri, _ = await kept(editor, standin)
        difference = (await chosen(editor, uri, SHOW))["difference"]
        assert "--- a/names.py\n+++ b/names.py\n" in difference
        assert "\n+    return text.upper()\n" in difference
        assert editor.text(uri) == NO_EXAMPLES
        if shows_documents:
            assert (shown, editor.messages) == ([difference], [])
        else:
            ((_, message),) = editor.messages
            assert (shown, read(message.removeprefix("The difference is in "))) == ([], difference)


def read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def vs_code(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """An editor that identifies itself as VS Code."""
    async with Client.started(tmp_path_factory.mktemp("vs_code"), name="Visual Studio Code") as client:
        yield client


@pytest.mark.parametrize("answer", ["Insert", "Discard", "Show difference", None, "an error"])
async def test_vs_code_is_asked_beside_the_text(vs_code: Client, answer: str | None) -> None:
    editor = vs_code
    editor.received.clear()
    asked: list[Any] = []

    def reply(params: Any) -> Any:
        asked.append(params)
        return 3 if answer == "an error" else answer and {"title": answer}

    async with StandIn([SHOUT]) as standin:
        editor.settings = told_of(standin)
        editor.answers["window/showMessageRequest"] = reply
        uri = await editor.write(f"text_{answer}.py", NO_EXAMPLES)
        await editor.execute("generate", {"uri": uri, "qualifiedName": "shout"})
        await editor.until(lambda: asked)
        if answer == "Insert":
            await editor.until(lambda: editor.text(uri) == SHOUTED)
        await editor.idle()
        assert [each["title"] for each in asked[0]["actions"]] == ["Show difference", "Discard", "Insert"]
        assert asked[0]["message"].startswith("Not inserted; its result is kept: 'shout' is unverified.")
        is_offered = any(title.startswith(INSERT) for title in await titles(editor, uri))
        assert is_offered is (answer not in ("Insert", "Discard"))
        assert editor.text(uri) == (SHOUTED if answer == "Insert" else NO_EXAMPLES)


async def test_nobody_is_asked_where_the_next_key_would_answer(tmp_path: Path) -> None:
    async with StandIn([SHOUT]) as standin, Client.started(tmp_path, told_of(standin), name="Eglot") as editor:
        uri = await editor.write("text.py", NO_EXAMPLES)
        await editor.execute("generate", {"uri": uri, "qualifiedName": "shout"})
        assert "its result is kept" in (await editor.told())[1]
        assert editor.all("window/showMessageRequest") == []
        assert any(title.startswith(INSERT) for title in await titles(editor, uri))


async def renamed(editor: Client, uri: str, how: str) -> str:
    """Rename an open file, and return its new URI. Only some editors tell the server."""
    new, text = f"{how}.py", editor.text(uri)
    if how != "saved_as":  # after "Save As", the old file stays
        (editor.folder / "names.py").rename(editor.folder / new)
    if how == "told":
        await editor.notify("workspace/didRenameFiles", {"files": [{"oldUri": uri, "newUri": editor.uri(new)}]})
    await editor.close(uri)
    if how == "untold":
        await asyncio.sleep(1.1)  # opened again after a pause
    return await editor.open(new, text)


RENAMES = pytest.mark.parametrize("how", ["told", "untold", "saved_as"])


@RENAMES
async def test_a_kept_result_follows_its_file(editor: Client, how: str) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin, preview=True)
        uri = await editor.write("names.py", STUB)
        job = (await editor.run("names.py", "initials"))["jobId"]
        new = await renamed(editor, uri, how)
        if how != "untold":
            await editor.change(new, "in capitals", "in large letters")
        (item,) = (await editor.request("adacoder/kept", {"textDocument": {"uri": new}}))["items"]
        assert item["jobId"] == job
        before = editor.text(new)
        await chosen(editor, new, INSERT)
        assert (await editor.told())[0] == INFO
    assert editor.text(new) == before + BODY


@RENAMES
async def test_a_running_job_follows_its_file(editor: Client, how: str) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        async with thinking(standin):
            await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
            await standin.until("request 1")
            new = await renamed(editor, uri, how)
            await editor.change(new, "def ", "X = 1\n\n\ndef ")
            assert await titles(editor, new) == ["AdaCoder: cancel 'initials'"]
        assert (await editor.told())[0] == INFO
    assert editor.text(new) == f"X = 1\n\n\n{STUB}{BODY}"


async def test_a_copy_that_is_opened_later_takes_nothing(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin, preview=True)
        uri = await editor.write("names.py", STUB)
        await editor.run("names.py", "initials")
        copy = await editor.write("copy.py", STUB)
        assert not any(title.startswith(INSERT) for title in await titles(editor, copy))
        await editor.close(uri)
        await asyncio.sleep(1.1)
        await editor.close(copy)
        await editor.open("copy.py")
        assert not any(title.startswith(INSERT) for title in await titles(editor, copy))
        await editor.open("names.py")
        assert any(title.startswith(INSERT) for title in await titles(editor, uri)), "the control"


async def test_a_closed_file_is_named(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        (editor.folder / "demo.py").write_bytes(STUB.encode())
        editor.answers["workspace/applyEdit"] = lambda params: {"applied": True}
        await editor.execute("generate", {"uri": editor.uri("demo.py"), "qualifiedName": "initials"})
        assert (await editor.told())[1].startswith("Inserted 'initials'. demo.py is not open and not saved.")


async def test_a_running_job_is_cancelled_by_an_action_on_its_function(editor: Client) -> None:
    async with StandIn([UNENDING]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        await standin.until("first byte 1")
        assert await titles(editor, uri) == ["AdaCoder: cancel 'initials'"]
        await chosen(editor, uri, "AdaCoder: cancel")
        assert (await editor.told())[1].startswith("Cancelled 'initials'")
    assert "AdaCoder: generate function 'initials'" in await titles(editor, uri)


async def test_a_job_begins_when_its_command_has_been_answered(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        params = {"command": "adacoder.server.generate", "arguments": [{"uri": uri, "qualifiedName": "initials"}]}
        answered: list[bool] = []

        def settings(params: Any) -> Any:
            if params["items"][0]["scopeUri"] == uri:  # not for kept results in the folder
                answered.append(future.done())
            return [editor.settings]

        editor.answers["workspace/configuration"] = settings
        _, future = await editor.begin("workspace/executeCommand", params)
        await editor.told()
    assert answered
    assert all(answered)


SOON = """
import sys
from adacoder.lsp import stdio
from adacoder.lsp.connection import client

client._LONG = 0.1
sys.exit(stdio.serve())
"""


@pytest.mark.parametrize("is_shown", [True, False])
async def test_a_long_job_is_told_of_once_where_no_progress_is_shown(tmp_path: Path, is_shown: bool) -> None:
    window = {**FULL["window"], "workDoneProgress": is_shown}
    command = (sys.executable, "-c", SOON)
    async with (
        StandIn([UNENDING]) as standin,
        Client.started(tmp_path, told_of(standin), capabilities={**FULL, "window": window}, command=command) as editor,
    ):
        uri = await editor.write("names.py", STUB)
        await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        await standin.until("first byte 1")
        await editor.until(lambda: editor.all("$/progress") if is_shown else editor.messages)
        assert ([] if is_shown else ["AdaCoder: generating 'initials'"]) == [
            message.partition(" · ")[0] for _, message in editor.messages
        ]
        shown = [each for each in editor.all("$/progress") if "title" in each["value"]]
        assert not any(each["value"]["title"] in each["token"] for each in shown), "Helix shows the token beside it"
        await editor.execute("cancel")
        await editor.until(lambda: any("Cancelled" in message for _, message in editor.messages))


async def test_pushed_settings_are_not_asked_for(tmp_path: Path) -> None:
    """Late answers of an editor such as eglot or lsp-mode must not delay a job."""

    async def never(params: object) -> None:
        await asyncio.Event().wait()

    async with StandIn([GOOD, GOOD]) as standin, Client.started(tmp_path) as editor:
        editor.answers["workspace/configuration"] = never
        await editor.notify("workspace/didChangeConfiguration", {"settings": {"adacoder": told_of(standin)}})
        await editor.write("names.py", STUB)
        assert (await editor.run("names.py", "initials", apply=False))["status"] == "verified"
        assert editor.all("workspace/configuration") == []
        editor.answers["workspace/configuration"] = lambda params: [told_of(standin)]
        await editor.notify("workspace/didChangeConfiguration", {"settings": None})
        assert (await editor.run("names.py", "initials", apply=False))["status"] == "verified"
        assert editor.all("workspace/configuration"), "null means: ask"


async def test_each_folder_has_its_own_settings(tmp_path: Path) -> None:
    """Changes of settings apply from the next job on."""
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        (folder / "names.py").write_text(STUB, encoding="utf-8")
    async with StandIn([GOOD, WRONG, GOOD]) as standin, Client.started(tmp_path) as editor:
        added = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
        await editor.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": added, "removed": []}})
        own = {"one": told_of(standin), "two": told_of(standin, maxIterations=0)}

        def settings(params: Any) -> Any:
            return [own["two" if "/two/" in item["scopeUri"] else "one"] for item in params["items"]]

        editor.answers["workspace/configuration"] = settings
        for name in ("one", "two"):
            await editor.open(f"{name}/names.py")
        found = [(await editor.run(f"{name}/names.py", "initials", apply=False))["status"] for name in ("one", "two")]
        own["two"] = {**own["two"], "trusted": False}
        found.append((await editor.run("two/names.py", "initials", apply=False))["status"])
        assert found == ["verified", "failed", "error"]
        assert len(standin.requests) == 2
