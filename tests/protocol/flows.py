"""What people do with AdaCoder, and what must come of it in every editor: one function a flow.

A flow is given a desk whose model server replies as the flow says, and a workspace of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from integration.lsp.texts import (
    BODY,
    GOOD,
    NO_EXAMPLES,
    SHOUT,
    STUB,
    UNENDING,
    WRONG,
    thinking,
)
from protocol.desks import Desk

Flow = Callable[[Desk], Awaitable[None]]
FLOWS: dict[str, Flow] = {}

GENERATE = "generate function 'initials'"
WIDE_HEAD = '''def twice(x):
    """Twice x.

    >>> twice(2)
    4

    😀é"""'''
WIDE = f'{WIDE_HEAD}; ...  # 😀\nAFTER = "😀"\n'
"""Its body begins behind characters of which each client counts another number."""


def flow(function: Flow) -> Flow:
    """Make `function` a row of the table."""
    FLOWS[function.__name__] = function
    return function


@flow
async def an_action_is_offered_taken_and_applied(desk: Desk) -> None:
    desk.standin.replies = lambda _: GOOD
    uri = await desk.editor.write("names.py", STUB)
    offered = [action["title"] for action in await desk.editor.actions(uri, "def ")]
    assert any(GENERATE in title for title in offered)
    answer = await desk.take(uri, "def ", GENERATE)
    assert (answer["accepted"], answer["reason"]) == (True, None)
    told = await desk.told()
    assert desk.editor.text(uri) == STUB + BODY
    assert "2/2" in told
    assert len(desk.editor.messages) == 1
    (sent,) = desk.editor.all("workspace/applyEdit")
    assert set(sent["edit"]) == {"documentChanges" if desk.versioned else "changes"}


@flow
async def progress_is_shown_where_the_client_shows_it(desk: Desk) -> None:
    desk.standin.replies = lambda _: GOOD
    uri = await desk.editor.write("names.py", STUB)
    await desk.take(uri, "def ", GENERATE)
    await desk.told()
    created, shown = desk.editor.all("window/workDoneProgress/create"), desk.editor.all("$/progress")
    if not desk.declares("window", "workDoneProgress"):
        assert (created, shown) == ([], [])
        return
    (token,) = {each["token"] for each in [*created, *shown]}
    assert token
    kinds = [each["value"]["kind"] for each in shown]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert "report" in kinds
    assert "'initials'" in shown[0]["value"]["title"]
    assert shown[0]["value"]["cancellable"]


@flow
async def cancelling_leaves_nothing(desk: Desk) -> None:
    desk.standin.replies = lambda _: UNENDING
    uri = await desk.editor.write("names.py", STUB)
    answer = await desk.take(uri, "def ", GENERATE)
    await desk.standin.until(f"first byte {len(desk.standin.requests) or 1}")
    if desk.declares("window", "workDoneProgress"):
        (created,) = desk.editor.all("window/workDoneProgress/create")
        await desk.editor.notify("window/workDoneProgress/cancel", {"token": created["token"]})
    else:
        assert (await desk.editor.execute("cancel", {"jobId": answer["jobId"]}))["cancelled"] == [answer["jobId"]]
    assert "ancelled" in await desk.told()
    await desk.standin.until_idle()
    assert desk.editor.text(uri) == STUB
    assert desk.editor.all("workspace/applyEdit") == []


@flow
async def typing_elsewhere_loses_neither_text_nor_result(desk: Desk) -> None:
    desk.standin.replies = lambda _: GOOD
    uri = await desk.editor.write("names.py", f"A = 1\n\n\n{STUB}")
    async with thinking(desk.standin):
        await desk.take(uri, "def ", GENERATE)
        for number in range(3):
            await desk.editor.change(uri, "A = 1", f"B{number} = '😀'\nA = 1")
    await desk.told()
    assert desk.editor.text(uri) == f"B0 = '😀'\nB1 = '😀'\nB2 = '😀'\nA = 1\n\n\n{STUB}{BODY}"


@flow
async def typing_in_the_function_is_sacred(desk: Desk) -> None:
    desk.standin.replies = lambda _: GOOD
    uri = await desk.editor.write("names.py", STUB)
    async with thinking(desk.standin):
        await desk.take(uri, "def ", GENERATE)
        await desk.editor.change(uri, "in capitals", "in capitals, please")
    told = await desk.told()
    assert desk.editor.text(uri) == STUB.replace("in capitals", "in capitals, please")
    assert "initials" in told


@flow
async def an_edit_of_a_text_that_moved_on_is_refused_and_made_in_the_new_one(desk: Desk) -> None:
    if not desk.versioned:
        return  # no version, no refusal
    desk.standin.replies = lambda _: GOOD
    uri = await desk.editor.write("names.py", f"A = 1\n\n\n{STUB}")
    attempts: list[Any] = []

    async def late(params: Any) -> Any:
        attempts.append(params)
        if len(attempts) == 1:
            await desk.editor.change(uri, "A = 1", "A = 2")
        return await desk.apply(params)

    desk.editor.answers["workspace/applyEdit"] = late
    await desk.take(uri, "def ", GENERATE)
    await desk.told()
    assert desk.editor.text(uri) == f"A = 2\n\n\n{STUB}{BODY}"
    assert len(attempts) == 2


@flow
async def a_failing_function_is_fixed(desk: Desk) -> None:
    desk.standin.replies = lambda _: GOOD
    uri = await desk.editor.write("names.py", f"{STUB}    return name\n")
    await desk.take(uri, "def ", "Fix with AdaCoder")
    await desk.told()
    assert desk.editor.text(uri) == STUB + BODY


@flow
async def a_check_tells_what_fails_and_changes_nothing(desk: Desk) -> None:
    uri = await desk.editor.write("names.py", f"{STUB}    return name\n")
    assert (await desk.editor.execute("check", {"uri": uri, "qualifiedName": "initials"}))["accepted"]
    told = await desk.told()
    assert "'initials'" in told
    assert "'AL'" in told
    assert desk.editor.text(uri) == f"{STUB}    return name\n"


@flow
async def what_fails_is_not_inserted(desk: Desk) -> None:
    desk.standin.replies = lambda _: WRONG
    uri = await desk.editor.write("names.py", STUB)
    await desk.take(uri, "def ", GENERATE)
    assert "'initials'" in await desk.told()
    assert desk.editor.text(uri) == STUB
    assert desk.editor.all("workspace/applyEdit") == []


@flow
async def what_is_unverified_waits_for_a_person(desk: Desk) -> None:
    desk.standin.replies = lambda _: SHOUT
    uri = await desk.editor.write("text.py", NO_EXAMPLES)
    await desk.take(uri, "def ", "generate function 'shout'")
    await desk.told()
    assert desk.editor.text(uri) == NO_EXAMPLES
    assert desk.editor.all("workspace/applyEdit") == []


@flow
async def columns_are_counted_as_the_client_counts_them(desk: Desk) -> None:
    desk.standin.replies = lambda _: "```python\ndef twice(x):\n    return x * 2\n```"
    uri = await desk.editor.write("wide.py", WIDE)
    await desk.take(uri, "def ", "generate function 'twice'")
    told = await desk.told()
    text = desk.editor.text(uri)
    assert "x * 2" in text, told
    assert text.startswith(WIDE_HEAD)
    assert text.endswith('\nAFTER = "😀"\n')


@flow
async def examples_are_listed_run_and_remembered(desk: Desk) -> None:
    uri = await desk.editor.write("names.py", f"A = '😀'\n{STUB}{BODY}")
    document = {"textDocument": {"uri": uri}}
    (item,) = (await desk.editor.request("adacoder/examples", document))["items"]
    text = desk.editor.text(uri)
    start, end = (desk.editor.offset(text, item["examples"][1]["range"][side]) for side in ("start", "end"))
    assert text[start:end] == '>>> initials("Åsa öberg")'
    (result,) = (await desk.editor.request("adacoder/check", {"ids": [item["id"]]}))["results"]
    assert [each["state"] for each in result["results"]] == ["passed", "passed"]
    (kept,) = (await desk.editor.request("adacoder/evidence", document))["items"]
    assert (kept["isCurrent"], kept["evidence"]["status"]) == (True, "verified")


@flow
async def a_program_waits_for_its_answer(desk: Desk) -> None:
    desk.standin.replies = lambda _: GOOD
    await desk.editor.write("names.py", STUB)
    answer = await desk.editor.run("names.py", "initials", apply=False)
    assert (answer["version"], answer["status"], answer["applied"]) == (1, "verified", False)
    assert desk.editor.edited(STUB, answer["edits"]) == STUB + BODY
    assert desk.editor.messages == []
