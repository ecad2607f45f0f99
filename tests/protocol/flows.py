"""The tasks that people do with AdaCoder, and their results in every editor. Each flow is one function.

A flow gets a desk, whose model server replies as the flow says, and a workspace of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from integration.lsp.client import PATIENCE
from integration.lsp.texts import (
    BODY,
    GOOD,
    NO_EXAMPLES,
    SHOUT,
    SHOUTED,
    STUB,
    UNENDING,
    WRONG,
    thinking,
)
from protocol.desks import CHANGED, WATCHED, Desk

Flow = Callable[[Desk], Awaitable[None]]
FLOWS: dict[str, Flow] = {}

GENERATE = "generate function 'initials'"
DOUBLE = '''def double(x):
    """Twice x.

    >>> double(2)
    4
    """
'''
DOUBLED = f"```python\n{DOUBLE}    return 2 * x\n```"
OTHER_BODY = '    return "".join(word[0] for word in name.upper().split())\n'
OTHER = f"```python\n{STUB}{OTHER_BODY}```"
DIFFERING = f"```python\n{STUB}    return ''.join(w[0] for w in name.title().split()) if ' ' in name else name\n```"
"""It passes both examples, and differs for a single word."""
WIDE_HEAD = '''def twice(x):
    """Twice x.

    >>> twice(2)
    4

    😀é"""'''
WIDE = f'{WIDE_HEAD}; ...  # 😀\nAFTER = "😀"\n'
"""Its body starts after characters that clients count differently."""


def flow(function: Flow) -> Flow:
    """Add `function` to the table of flows."""
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
async def an_edit_of_a_text_that_moved_on_is_refused_and_made_in_the_new_one(desk: Desk) -> None:
    if not desk.versioned:
        return  # no version, so nothing is refused
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
async def a_right_function_is_said_to_need_no_fix(desk: Desk) -> None:
    uri = await desk.editor.write("names.py", STUB + BODY)
    assert (await desk.editor.execute("fix", {"uri": uri, "qualifiedName": "initials"}))["accepted"]
    assert (await desk.told()).startswith("Nothing to fix in 'initials'. 2/2 examples passed.")
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
async def what_is_unverified_is_kept_and_inserted_by_its_action(desk: Desk) -> None:
    uri = await kept(desk)
    await desk.take(uri, "def ", "Insert AdaCoder's result for 'shout' (unverified)")
    assert "Inserted 'shout', unverified" in await desk.told()
    assert desk.editor.text(uri) == SHOUTED
    assert len(desk.editor.all("workspace/applyEdit")) == 1


@flow
async def the_difference_that_a_kept_result_makes_is_shown(desk: Desk) -> None:
    uri = await kept(desk)
    desk.editor.received.clear()
    answer = await desk.take(uri, "def ", "Show difference: AdaCoder's result for 'shout'")
    assert "\n+    return text.upper()\n" in answer["difference"]
    shown, messages = desk.editor.all("window/showDocument"), desk.editor.messages
    shows_documents = desk.declares("window", "showDocument", "support")
    assert (len(shown), len(messages)) == ((1, 0) if shows_documents else (0, 1))
    assert desk.editor.text(uri) == NO_EXAMPLES


@flow
async def a_kept_result_is_discarded(desk: Desk) -> None:
    uri = await kept(desk)
    assert (await desk.take(uri, "def ", "Discard AdaCoder's result for 'shout'"))["discarded"]
    assert not [title for title in await desk.titles(uri, "def ") if "AdaCoder's result" in title]
    assert desk.editor.text(uri) == NO_EXAMPLES


@flow
async def a_function_that_was_edited_meanwhile_has_its_result_kept(desk: Desk) -> None:
    desk.standin.replies = lambda _: GOOD
    uri = await desk.editor.write("names.py", STUB)
    async with thinking(desk.standin):
        await desk.take(uri, "def ", GENERATE)
        await desk.editor.change(uri, "in capitals", "in capitals, please")
    edited = STUB.replace("in capitals", "in capitals, please")
    assert "its result is kept: 'initials' was edited meanwhile" in await desk.told()
    assert desk.editor.text(uri) == edited
    await desk.take(uri, "def ", "Insert AdaCoder's result for 'initials' (2/2 examples)")
    assert "Inserted 'initials'. 2/2" in await desk.told()
    assert desk.editor.text(uri) == edited + BODY


async def kept(desk: Desk) -> str:
    """Generate a result that nothing verifies, and return the document, which must not change."""
    desk.standin.replies = lambda _: SHOUT
    uri = await desk.editor.write("text.py", NO_EXAMPLES)
    await desk.take(uri, "def ", "generate function 'shout'")
    assert "its result is kept" in await desk.told()
    assert desk.editor.text(uri) == NO_EXAMPLES
    assert desk.editor.all("workspace/applyEdit") == []
    return uri


@flow
async def all_stubs_of_a_file_are_written(desk: Desk) -> None:
    replies = iter([GOOD, DOUBLED])
    desk.standin.replies = lambda _: next(replies)
    uri = await desk.editor.write("both.py", f"{STUB}\n\n{DOUBLE}")
    await desk.take(uri, "def ", "generate all stubs in this file")
    assert "Generated 2 of 2 stubs in both.py: 'initials' 2/2, 'double' 1/1." in await desk.told()
    assert desk.editor.text(uri) == f"{STUB}{BODY}\n\n{DOUBLE}    return 2 * x\n"


@flow
async def another_candidate_is_kept_beside_the_first(desk: Desk) -> None:
    desk.standin.replies = lambda _: OTHER
    uri = await desk.editor.write("names.py", STUB + BODY)
    await desk.take(uri, "def ", "another candidate for 'initials'")
    assert "compare the new candidate for 'initials' first" in await desk.told()
    assert desk.editor.text(uri) == STUB + BODY
    await desk.take(uri, "def ", "Insert AdaCoder's result for 'initials' (2/2 examples)")
    await desk.told()
    assert desk.editor.text(uri) == STUB + OTHER_BODY


@flow
async def examples_are_suggested_and_go_in_when_they_were_read(desk: Desk) -> None:
    desk.standin.replies = lambda _: "```\n>>> shout(\"Ada\")\n'ADA'\n```"
    uri = await desk.editor.write("text.py", NO_EXAMPLES)
    await desk.take(uri, "def ", "suggest examples for 'shout'")
    assert "review the suggested examples for 'shout' first" in await desk.told()
    assert desk.editor.text(uri) == NO_EXAMPLES
    await desk.take(uri, "def ", "Insert AdaCoder's examples for 'shout' (not reviewed)")
    await desk.told()
    assert ">>> shout(\"Ada\")\n    'ADA'\n" in desk.editor.text(uri)


@flow
async def an_output_on_which_a_second_program_differs_is_asked_and_becomes_an_example(desk: Desk) -> None:
    if not await desk.configured(crossCheck=True):
        return
    replies = iter([GOOD, DIFFERING])
    desk.standin.replies = lambda _: next(replies)
    uri = await desk.editor.write("names.py", STUB)
    await desk.take(uri, "def ", GENERATE)
    await desk.told()
    async with asyncio.timeout(PATIENCE):
        while not any("is right" in title for title in await desk.titles(uri, "def ")):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert (await desk.take(uri, "def ", "'A' is right"))["accepted"]
    await desk.editor.until(lambda: ">>> initials('a')\n    'A'\n" in desk.editor.text(uri))
    await desk.editor.idle()
    assert desk.editor.text(uri).endswith(BODY)
    assert len(desk.editor.all("workspace/applyEdit")) == 2


@flow
async def a_docstring_is_begun_without_a_model(desk: Desk) -> None:
    uri = await desk.editor.write("text.py", "def shout(text: str):\n    return text.upper()\n")
    await desk.take(uri, "def ", "'shout' has no docstring: write the skeleton of one")
    await desk.editor.until(lambda: '>>> shout("text")' in desk.editor.text(uri))
    assert desk.editor.text(uri).endswith('    """\n    return text.upper()\n')


@flow
async def what_was_found_is_shown_where_the_client_shows_it(desk: Desk) -> None:
    text = f"A = '😀'\n{STUB}    return name\n"
    uri = await desk.editor.write("names.py", text)
    await desk.editor.execute("check", {"uri": uri, "qualifiedName": "initials"})
    await desk.told()
    document = {"textDocument": {"uri": uri}}
    if desk.declares("textDocument", "publishDiagnostics"):
        # the diagnostics of the previous flow's document may be cleared only now
        published = "textDocument/publishDiagnostics"
        sent = await desk.editor.until(lambda: [each for each in desk.editor.all(published) if each["uri"] == uri])
        assert [desk.editor.marked(uri, each["range"]) for each in sent[-1]["diagnostics"]] == [
            '>>> initials("ada lovelace")',
            '>>> initials("Åsa öberg")',
        ]
    else:
        assert desk.editor.all("textDocument/publishDiagnostics") == []
    lenses = await desk.editor.request("textDocument/codeLens", document)
    assert [each["command"]["title"] for each in lenses] == ["✗ 0/2 examples", "Fix"]
    position = desk.editor.position(text, text.index("initials"))
    hover = await desk.editor.request("textDocument/hover", {**document, "position": position})
    formats = desk.declared("textDocument", "hover", "contentFormat") or ["plaintext"]
    assert hover["contents"]["kind"] == formats[0]
    assert hover["contents"]["value"].startswith("✗ ")
    for method, capability in (("codeLens", "codeLens"), ("inlayHint", "inlayHint")):
        asked_anew = partial(desk.editor.all, f"workspace/{method}/refresh")
        if desk.declares("workspace", capability, "refreshSupport"):
            await desk.editor.until(asked_anew)  # each client gets one request at a time
        else:
            assert asked_anew() == []


@flow
async def inlay_hints_say_what_came_where_they_are_wanted(desk: Desk) -> None:
    text = f"A = '😀'\n{STUB}    return name\n"
    uri = await desk.editor.write("names.py", text)
    await desk.editor.execute("check", {"uri": uri, "qualifiedName": "initials"})
    await desk.told()
    whole = {"start": desk.editor.position(text, 0), "end": desk.editor.position(text, len(text))}
    asked_for = {"textDocument": {"uri": uri}, "range": whole}
    assert not await desk.editor.request("textDocument/inlayHint", asked_for)
    if not await desk.configured(inlayHints=True):
        return  # its settings are sent at the start, and never again
    hints = await desk.editor.request("textDocument/inlayHint", asked_for)
    assert [each["label"] for each in hints] == ["gave 'ada lovelace'", "gave 'Åsa öberg'"]
    places = [desk.editor.offset(text, each["position"]) for each in hints]
    assert [text[:place].endswith(end) for place, end in zip(places, ('lace")', 'berg")'), strict=True)] == [True, True]


@flow
async def what_is_shown_follows_the_settings_at_once(desk: Desk) -> None:
    """This also holds for clients that report changes only on request. They get no request that they do not know."""
    if desk.declares(*WATCHED):
        await desk.editor.until(lambda: desk.editor.registered)
    assert desk.editor.registered == ({CHANGED: None} if desk.declares(*WATCHED) else {})
    uri = await desk.editor.write("names.py", STUB)
    document = {"textDocument": {"uri": uri}}
    (lens,) = await desk.editor.request("textDocument/codeLens", document)
    assert lens["command"]["title"] == "Generate"
    for shows in (False, True):
        desk.editor.received.clear()
        if not await desk.configured(codeLens=shows):
            return  # its settings are sent at the start, and never again
        if desk.declares("workspace", "codeLens", "refreshSupport"):
            await desk.editor.until(lambda: desk.editor.all("workspace/codeLens/refresh"))
        assert bool(await desk.editor.request("textDocument/codeLens", document)) == shows


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
async def a_program_is_told_what_became_of_the_edit(desk: Desk) -> None:
    desk.standin.replies = lambda _: GOOD
    uri = await desk.editor.write("names.py", STUB)
    answer = await desk.editor.run("names.py", "initials", apply=True)
    is_known = desk.declares("workspace", "applyEdit")
    assert (answer["applied"], answer["kept"]) == (True, not is_known), "kept where nobody says that it was made"
    await desk.editor.until(lambda: desk.editor.text(uri) == STUB + BODY)


@flow
async def a_program_waits_for_its_answer(desk: Desk) -> None:
    desk.standin.replies = lambda _: GOOD
    await desk.editor.write("names.py", STUB)
    answer = await desk.editor.run("names.py", "initials", apply=False)
    assert (answer["version"], answer["status"], answer["applied"]) == (1, "verified", False)
    assert desk.editor.edited(STUB, answer["edits"]) == STUB + BODY
    assert desk.editor.messages == []
