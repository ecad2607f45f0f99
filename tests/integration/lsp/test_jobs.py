"""Jobs from a code action to the text in the editor, with their messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adacoder.lsp.features import COMMANDS
from integration.lsp.client import FULL, Client, encodings
from integration.lsp.texts import (
    BODY,
    GOOD,
    NEEDS_HELPER,
    NO_EXAMPLES,
    SCALED,
    SHOUT,
    SHOUTED,
    STUB,
    UNENDING,
    WRONG,
    thinking,
    told_of,
)
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

INFO, WARNING = 3, 2


async def generate(editor: Client, uri: str, at: str = "def ") -> dict[str, Any]:
    """Execute the action that generates the function at `at`."""
    action = (await editor.actions(uri, at))[0]
    answer: dict[str, Any] = await editor.take(action)
    assert answer["accepted"], answer
    return answer


async def test_an_action_writes_the_function(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        answer = await generate(editor, uri)
        kind, message = await editor.told()
    assert editor.text(uri) == STUB + BODY
    assert kind == INFO
    assert message == "Inserted 'initials'. 2/2 examples passed."
    (logged,) = editor.all("window/logMessage")
    assert "1 round, qwen2.5-coder:7b" in logged["message"], "what it took is for the log"
    (edit,) = editor.all("workspace/applyEdit")
    (change,) = edit["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": uri, "version": 1}
    assert (editor.folder / "names.py").read_text(encoding="utf-8") == STUB, "saving is the person's"
    journal = await editor.execute("journal", {"jobId": answer["jobId"]})
    assert (journal["status"], journal["applied"], journal["failureReason"]) == ("verified", True, None)
    assert journal == await editor.execute("journal")


async def test_progress_begins_and_moves_and_ends(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        await generate(editor, uri)
        await editor.told()
    (created,) = editor.all("window/workDoneProgress/create")
    shown = editor.all("$/progress")
    assert {each["token"] for each in shown} == {created["token"]}
    begin, *reports, end = [each["value"] for each in shown]
    assert begin == {"kind": "begin", "title": "AdaCoder: generating 'initials'", "cancellable": True}
    assert reports[0]["message"] == "round 1/6 · writing the function"
    assert end == {"kind": "end"}


@pytest.mark.parametrize(
    ("command", "rounds"), [("generate", 2 + 6), ("fix", 3 + 6), ("repair", 1), ("check", 1), ("suggestExamples", 1)]
)
async def test_progress_announces_no_more_rounds_than_there_may_be(editor: Client, command: str, rounds: int) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = {**told_of(standin), "model": ["qwen2.5-coder:7b"] * 2}
        uri = await editor.write("names.py", STUB)
        await editor.execute(command, {"uri": uri, "qualifiedName": "initials"})
        await editor.told()
    shown = [str(each["value"].get("message", "")) for each in editor.all("$/progress")]
    told = {line.split()[1] for line in shown if line.startswith("round ")}
    assert told
    assert {line.partition("/")[2] for line in told} == {str(rounds)}


async def test_a_client_gets_the_trace_that_it_asks_for(editor: Client) -> None:
    traces = []
    uri = await editor.write("names.py", STUB + BODY)
    for value in ("messages", "verbose", "off"):
        editor.received.clear()
        await editor.notify("$/setTrace", {"value": value})
        await editor.execute("check", {"uri": uri, "qualifiedName": "initials"})
        await editor.told()
        traces.append(editor.all("$/logTrace"))
    step = {"message": "round 1/1 · 2/2 examples passed"}
    assert traces == [[step], [{**step, "verbose": f"{editor.folder.name}/names.py::initials"}], []]


async def test_progress_names_settings_and_no_options(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = {**told_of(standin), "model": ["gone:1b", "qwen2.5-coder:7b"]}
        uri = await editor.write("names.py", STUB)
        await generate(editor, uri)
        assert (await editor.told())[0] == INFO
    shown = [str(each["value"].get("message", "")) for each in editor.all("$/progress")]
    (missing,) = [message for message in shown if "has no model 'gone:1b'" in message]
    assert "adacoder.model" in missing
    assert "--" not in missing


AWKWARD = '''"""Größen und 𝔐."""
𝔫 = 3


def größer(größe):
    """𝔐-fach größer.

    >>> größer("𝔐é")
    '𝔐é𝔐é𝔐é'

    𝔐𝔐 größer."""  # 𝔐𝔐é; kein Körper
# é𝔐
'''


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_edits_land_right_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    async with (
        StandIn(lambda _: "```python\ndef größer(größe):\n    return größe * 𝔫\n```") as standin,
        Client.started(tmp_path, told_of(standin), capabilities=encodings(FULL, encoding)) as editor,
    ):
        assert editor.encoding == encoding
        for name, ending in (("unix.py", "\n"), ("windows.py", "\r\n")):
            text = AWKWARD.replace("\n", ending)
            uri = await editor.write(name, text)
            await editor.change(uri, "kein Körper", "𝔐 kein Körper")
            expected = text.replace("kein Körper" + ending, f"𝔐 kein Körper{ending}    return größe * 𝔫{ending}")
            answer = await editor.run(name, "größer", apply=False)
            assert answer["positionEncoding"] == encoding
            assert editor.edited(editor.text(uri), answer["edits"]) == expected
            await generate(editor, uri, "größer(größe)")
            assert (await editor.told())[0] == INFO
            assert editor.text(uri) == expected
            editor.received.clear()


async def test_a_form_feed_moves_nothing(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", f'"""Names."""\n\f\nA = "\u2028\x1c"\n\f\n{STUB}')
        await editor.change(uri, "in capitals", "in large letters")
        before = editor.text(uri)
        await generate(editor, uri)
        await editor.told()
        assert editor.text(uri) == before + BODY


async def test_fix_begins_with_what_is_there(editor: Client) -> None:
    async with StandIn(["1. Take first letters.", GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", f"{STUB}    return name\n")
        _, fix, *_ = await editor.actions(uri, "def ")
        await editor.take(fix)
        assert (await editor.told())[0] == INFO
        assert editor.text(uri) == STUB + BODY
        journal = await editor.execute("journal")
    assert [step["agent"] for step in journal["journal"]][:1] == ["code_evaluator"]
    assert journal["modelCalls"] == 2


async def test_repair_and_check_ask_no_model(editor: Client) -> None:
    text = NEEDS_HELPER.replace("FACTOR = 10\n", "") + "    return math.prod([x, 10])\n"
    async with StandIn() as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("scale.py", text)
        here = {"uri": uri, "position": {"line": 3, "character": 0}}
        assert (await editor.execute("check", here))["accepted"]
        kind, message = await editor.told()
        assert (kind, "math" in message) == (WARNING, True)
        assert editor.text(uri) == text
        editor.received.clear()
        assert (await editor.execute("repair", here))["accepted"]
        assert (await editor.told())[0] == INFO
        assert "import math\n" in editor.text(uri)
        assert standin.seen == []


async def test_nothing_that_failed_is_inserted(editor: Client) -> None:
    async with StandIn([WRONG, "1. Try again.", WRONG]) as standin:
        editor.settings = told_of(standin, maxIterations=1)
        uri = await editor.write("names.py", STUB)
        await generate(editor, uri)
        kind, message = await editor.told()
    assert kind == WARNING
    assert message.startswith("Not inserted: no candidate for 'initials' passed.")
    assert editor.all("workspace/applyEdit") == []
    assert "return name" in str((await editor.execute("journal"))["journal"]), "the candidate is kept"


NOT_RUN = 'def idle(x):\n    """x.\n\n    >>> 1 + 1\n    2\n    """\n    return x\n'


@pytest.mark.parametrize(
    ("command", "text", "kind", "said"),
    [
        ("fix", STUB + BODY, INFO, "Nothing to fix in 'initials'. 2/2 examples passed."),
        ("repair", STUB + BODY, INFO, "Nothing to fix in 'initials'. 2/2 examples passed."),
        ("fix", (STUB + BODY).replace("\n", "\r\n"), INFO, "Nothing to fix in 'initials'. 2/2 examples passed."),
        ("generate", STUB + BODY, INFO, "Nothing to fix in 'initials'. 2/2 examples passed."),
        (
            "fix",
            NOT_RUN,
            WARNING,
            "Not changed: 'idle' is unverified. No example that shows",
        ),
        (
            "another",
            STUB + BODY,
            WARNING,
            "No other candidate for 'initials'. The model repeated an earlier 'initials'",
        ),
    ],
)
async def test_what_needs_no_change_is_said_to_need_none(
    editor: Client, command: str, text: str, kind: int, said: str
) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin, maxIterations=0)
        uri = await editor.write("names.py", text)
        name = "idle" if text == NOT_RUN else "initials"
        await editor.execute(command, {"uri": uri, "qualifiedName": name})
        told = await editor.told()
        assert (told[0], told[1].startswith(said)) == (kind, True), told
        assert len(standin.requests) == (command in ("generate", "another"))
        answer = await editor.execute("journal")
        assert (answer["kept"], answer["applied"], answer["edits"]) == (False, False, [])
        assert answer["status"] == ("failed" if command == "another" else "verified" if kind == INFO else "unverified")
        assert (await editor.request("adacoder/kept", {"textDocument": {"uri": uri}}))["items"] == []
    assert editor.text(uri) == text


async def test_no_model_server_is_one_message(editor: Client) -> None:
    async with StandIn() as standin:
        editor.settings = told_of(standin)
    uri = await editor.write("names.py", STUB)
    await generate(editor, uri)
    kind, message = await editor.told()
    assert kind == WARNING
    assert message.startswith("No Ollama server answers at")
    assert editor.all("workspace/applyEdit") == []


async def test_what_cannot_be_accepted_says_why(editor: Client) -> None:
    uri = await editor.write("names.py", f"X = 1\n\n\n{STUB}\n\ndef bare():\n    pass\n")
    cell = await editor.open("vscode-notebook-cell:/a.ipynb#x", STUB)
    old = await editor.open("git:/names.py", STUB)
    for argument, reason in [
        ({"uri": uri, "position": {"line": 0, "character": 0}}, "no function at line 1"),
        ({"uri": uri, "qualifiedName": "initial"}, "did you mean 'initials'?"),
        ({"uri": uri, "qualifiedName": "bare"}, "no docstring"),
        ({"uri": uri, "version": 9, "position": {"line": 3, "character": 0}}, "has changed"),
        ({"uri": cell, "qualifiedName": "initials"}, "sends this cell without its notebook"),
        ({"uri": old, "qualifiedName": "initials"}, "save it as a .py file first"),
        ({"uri": editor.uri("gone.py"), "qualifiedName": "f"}, "no file"),
        ({"uri": uri}, "give 'position' or 'qualifiedName'"),
        ({"qualifiedName": "initials"}, "'uri' is missing"),
        ({"uri": uri, "position": {"line": -1}}, "'line'"),
        ({"uri": uri, "position": 3}, "'line'"),
        ({"uri": uri, "position": {"line": True}}, "'line'"),
        ({"uri": uri, "version": True, "qualifiedName": "initials"}, "'version'"),
        ({"uri": uri, "version": "1", "qualifiedName": "initials"}, "'version'"),
        ({"uri": uri, "qualifiedName": 3}, "'qualifiedName'"),
        ("names.py", "'uri' is missing"),
        (None, "Your editor named no function"),
    ]:
        editor.received.clear()
        answer = await editor.execute("generate", *([] if argument is None else [argument]))
        assert (answer["accepted"], answer["jobId"]) == (False, None)
        assert reason in answer["reason"]
        assert editor.messages == [(WARNING, answer["reason"])]


async def test_every_command_works_without_arguments_or_says_what_to_do(editor: Client) -> None:
    """Helix sends commands without arguments."""
    uri = await editor.write("names.py", f"{STUB}    return name\n")
    await editor.run("names.py", "initials", mode="check")
    silent = set()
    for command in sorted(COMMANDS.keys() - {"models", "doctor"}):  # commands that ask a model server
        editor.received.clear()
        answer = await editor.execute(command)
        await editor.execute("status")
        if not editor.messages:
            silent.add(command)
            assert answer is not None, "it did something"
            continue
        ((kind, message),) = editor.messages
        assert kind == WARNING
        assert message.startswith(f"Your editor named no {'model' if command == 'pull' else 'function'}: ")
        assert answer.get("reason", message) == message
    assert silent == {"cancel", "status", "strategies", "journal", "clear"}
    assert editor.text(uri) == f"{STUB}    return name\n"


async def test_a_name_is_found_in_a_later_text(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        action, *_ = await editor.actions(uri, "def ")
        await editor.change(uri, "def ", "# One line more.\n\n\ndef ")
        assert (await editor.take(action))["accepted"]
        assert (await editor.told())[0] == INFO
        assert editor.text(uri) == f"# One line more.\n\n\n{STUB}{BODY}"


async def test_a_file_that_is_not_open_is_read_from_disk(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        (editor.folder / "names.py").write_bytes(STUB.encode())
        sent: list[Any] = []
        editor.answers["workspace/applyEdit"] = lambda params: sent.append(params) or {"applied": True}
        await editor.execute("generate", {"uri": editor.uri("names.py"), "qualifiedName": "initials"})
        assert (await editor.told())[0] == INFO
    (change,) = sent[0]["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": editor.uri("names.py"), "version": None}
    assert editor.edited(STUB, change["edits"]) == STUB + BODY


async def test_one_job_a_function(editor: Client) -> None:
    two = STUB + "\n\n" + STUB.replace("initials", "capitals")
    async with StandIn([UNENDING]) as standin, thinking(standin):
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", two)
        first = await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        again = await editor.execute("fix", {"uri": uri, "qualifiedName": "initials"})
        other = await editor.execute("generate", {"uri": uri, "qualifiedName": "capitals"})
        assert (first["accepted"], again["accepted"], other["accepted"]) == (True, False, True)
        assert "already working on 'initials'" in again["reason"]
        await standin.until("request 1")
        await editor.until(lambda: any("waiting for the model" in str(each) for each in editor.all("$/progress")))
        status = (await editor.execute("status"))["jobs"]
        assert [(job["jobId"], job["mode"]) for job in status] == [
            (first["jobId"], "generate"),
            (other["jobId"], "generate"),
        ]
        assert [job["target"].rpartition("::")[2] for job in status] == ["initials", "capitals"]
        assert "waiting for the model, 1 ahead" in [job["message"] for job in status]
        assert await editor.execute("cancel") == {"version": 1, "cancelled": [first["jobId"], other["jobId"]]}
        await editor.idle()


async def test_unsaved_files_are_what_is_evaluated(editor: Client) -> None:
    (editor.folder / "units.py").write_bytes(b"FACTOR = 1\n")
    text = NEEDS_HELPER.replace("FACTOR = 10", "from units import FACTOR")
    async with StandIn([SCALED, SCALED]) as standin:
        editor.settings = told_of(standin, maxIterations=0)
        uri = await editor.write("scale.py", text)
        await generate(editor, uri)
        assert (await editor.told())[0] == WARNING, "on disk the factor is 1"
        units = await editor.open("units.py")
        await editor.change(units, "1", "10")
        editor.received.clear()
        await generate(editor, uri)
        assert (await editor.told())[0] == INFO


@pytest.mark.parametrize(
    ("wish", "is_inserted", "says"),
    [
        ({"unverified": "insert"}, True, "Inserted 'shout', unverified."),
        (
            {"unverified": "discard"},
            False,
            "Not inserted: 'shout' is unverified, and is discarded, as ",
        ),
        ({"unverified": "keep"}, False, "Not inserted; its result is kept: 'shout' is unverified."),
        ({}, False, "Not inserted; its result is kept: 'shout' is unverified."),
    ],
)
async def test_what_is_unverified(editor: Client, wish: dict[str, str], is_inserted: bool, says: str) -> None:
    async with StandIn([SHOUT]) as standin:
        editor.settings = told_of(standin, **wish)
        uri = await editor.write("text.py", NO_EXAMPLES)
        await generate(editor, uri)
        kind, message = await editor.told()
    assert editor.text(uri) == (SHOUTED if is_inserted else NO_EXAMPLES)
    assert kind == WARNING
    assert message.startswith(says)
    assert "so nothing could be verified" in message
    assert editor.all("window/showMessageRequest") == []


async def test_an_unknown_job_has_no_journal(editor: Client) -> None:
    assert await editor.execute("journal", {"jobId": "no such"}) is None
    assert await editor.execute("cancel", {"jobId": "no such"}) == {"version": 1, "cancelled": []}


@pytest.mark.parametrize("unverified", ["insert", "discard", "keep"])
async def test_suggested_examples_are_read_first_whatever_the_settings_say(editor: Client, unverified: str) -> None:
    async with StandIn(["```\n>>> shout(\"Ada\")\n'ADA!'\n```"]) as standin:
        editor.settings = {**told_of(standin), "unverified": unverified}
        uri = await editor.write("words.py", NO_EXAMPLES)
        answer = await editor.execute("suggestExamples", {"uri": uri, "qualifiedName": "shout"})
        assert answer["accepted"], answer
        kind, message = await editor.told()
    assert kind == INFO
    assert "shout(\"Ada\") → 'ADA!'" in message
    assert editor.text(uri) == NO_EXAMPLES
    actions = await editor.actions(uri, "def ")
    assert any(each["title"] == "Insert AdaCoder's examples for 'shout' (not reviewed)" for each in actions)
