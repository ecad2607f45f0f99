"""A second program is compared with a new function. If they differ, the user is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from integration.lsp.client import FULL, Client
from integration.lsp.texts import BODY, GOOD, STUB, UNENDING, thinking, told_of
from support.standins.ollama import Script, StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

SAME = f"```python\n{STUB}{BODY.replace('.upper()', '.upper().upper()')}```"
OTHER = f"```python\n{STUB}    return ''.join(w[0] for w in name.title().split()) if ' ' in name else name\n```"
"""A body that passes both examples, but gives another output for one word."""
PLAN = "1. Take the first letter of each word.\n2. Write them in capitals.\n"
WARNING, INFORMATION = 2, 3
SHOWING: dict[str, Any] = {
    **FULL,
    "textDocument": {**FULL["textDocument"], "publishDiagnostics": {}, "hover": {"contentFormat": ["plaintext"]}},
}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    async with Client.started(tmp_path_factory.mktemp("compared"), capabilities=SHOWING) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def editor(server: Client) -> AsyncIterator[Client]:
    async with server.case():
        yield server


async def compared(editor: Client, standin: StandIn, text: str = STUB, **settings: Any) -> str:
    """Generate `initials`, and wait for the end of the comparison. Return the document."""
    editor.settings = told_of(standin, crossCheck=True, **settings)
    uri = await editor.write("names.py", text)
    await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
    await editor.told()
    await editor.until(lambda: any("second program" in each["message"] for each in editor.all("window/logMessage")))
    return uri


def questions(editor: Client, uri: str) -> list[dict[str, Any]]:
    """Return the diagnostics that ask which output is right."""
    shown = [each["diagnostics"] for each in editor.all("textDocument/publishDiagnostics") if each["uri"] == uri]
    return [each for each in (shown[-1] if shown else []) if each["code"] == "differs"]


async def asked(editor: Client, uri: str, call: str = "") -> dict[str, Any]:
    """Wait for a question about `call`. Return its diagnostic."""
    await editor.until(lambda: any(call in each["message"] for each in questions(editor, uri)))
    (question,) = questions(editor, uri)
    return question


async def hover(editor: Client, uri: str) -> str:
    at = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 5}}
    value: str = (await editor.request("textDocument/hover", at))["contents"]["value"]
    return value


async def test_a_second_program_that_agrees_is_part_of_the_evidence(editor: Client) -> None:
    async with StandIn([GOOD, SAME]) as standin:
        uri = await compared(editor, standin)
        told = await hover(editor, uri)
        journal = await editor.execute("journal", {"uri": uri, "qualifiedName": "initials"})
        assert len(standin.requests) == 2
    assert editor.text(uri) == STUB + BODY
    assert "A second program agrees on " in told
    assert journal["crossCheck"]["differs"] == []
    assert journal["crossCheck"]["inputs"] > 5
    assert (journal["applied"], journal["modelCalls"]) == (True, 2)
    assert questions(editor, uri) == []


async def test_the_second_program_counts_towards_the_budget_of_the_request(editor: Client) -> None:
    async with StandIn([GOOD, SAME]) as standin:
        uri = await compared(editor, standin, budgetCalls=1)
        journal = await editor.execute("journal", {"uri": uri, "qualifiedName": "initials"})
        assert len(standin.requests) == 1
    assert (journal["status"], journal["modelCalls"]) == ("verified", 1)
    assert "limit of 1 calls" in journal["crossCheck"]["reason"]


async def test_a_difference_is_a_question_at_the_function(editor: Client) -> None:
    async with StandIn([GOOD, OTHER]) as standin:
        uri = await compared(editor, standin)
        found = await asked(editor, uri)
        lenses = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        titles = [action["title"] for action in await editor.actions(uri, "def ", trigger=2)]
    assert found["severity"] == INFORMATION
    assert found["message"] == "Which is right? initials('a') gives 'A', and a second program gives 'a'."
    assert {name: found["data"][name] for name in ("call", "here", "there")} == {
        "call": "initials('a')",
        "here": "'A'",
        "there": "'a'",
    }
    assert editor.marked(uri, found["range"]) == "def initials(name):"
    assert "initials('a'): 'A' or 'a'?" in [lens["command"]["title"] for lens in lenses]
    assert titles == [
        "AdaCoder: 'A' is right: add it as an example",
        "AdaCoder: 'a' is right: add it as an example, and fix",
        "AdaCoder: it should raise ValueError: add it as an example, and fix",
        "AdaCoder: do not ask about this function",
    ]
    assert editor.text(uri) == STUB + BODY


async def chosen(editor: Client, uri: str, words: str) -> None:
    (action,) = [each for each in await editor.actions(uri, "def ") if words in each["title"]]
    assert (await editor.take(action))["accepted"]


EXAMPLE = '''    >>> initials("Åsa öberg")
    'ÅÖ'

    >>> initials('a')
    {}
    """
'''


async def test_the_answer_that_is_in_place_becomes_an_example_and_is_checked(editor: Client) -> None:
    async with StandIn([GOOD, OTHER]) as standin:
        uri = await compared(editor, standin)
        await asked(editor, uri)
        await chosen(editor, uri, "'A' is right")
        await asked(editor, uri, "'öberg'")
        assert len(standin.requests) == 2
    before, _ = STUB.split('    >>> initials("Åsa')
    assert editor.text(uri) == before + EXAMPLE.format("'A'") + BODY
    assert "3/3 examples passed" in await hover(editor, uri)


async def test_no_more_than_two_questions_are_asked_about_a_function(editor: Client) -> None:
    async with StandIn([GOOD, OTHER]) as standin:
        uri = await compared(editor, standin)
        for call, answer in (("'a'", "A"), ("'öberg'", "Ö")):
            await asked(editor, uri, call)
            await chosen(editor, uri, f"'{answer}' is right")
        await editor.until(lambda: editor.text(uri).count(">>>") == 4)
        await editor.idle()
    assert questions(editor, uri) == []


async def test_another_answer_is_fixed_with_the_second_program(editor: Client) -> None:
    async with StandIn([GOOD, OTHER, OTHER]) as standin:
        uri = await compared(editor, standin)
        await asked(editor, uri)
        editor.received.clear()
        await chosen(editor, uri, "'a' is right")
        assert await editor.told() == (INFORMATION, "Inserted 'initials'. 3/3 examples passed.")
        await editor.until(lambda: editor.all("window/logMessage"))
    assert EXAMPLE.format("'a'") in editor.text(uri)
    assert "else name" in editor.text(uri)


async def test_an_answer_that_it_should_raise_is_fixed_from_the_function(editor: Client) -> None:
    raising = f"```python\n{STUB}    if ' ' not in name:\n        raise ValueError(name)\n{BODY}```"
    async with StandIn([GOOD, OTHER, raising, raising]) as standin:
        uri = await compared(editor, standin, strategy="resample")
        await asked(editor, uri)
        editor.received.clear()
        await chosen(editor, uri, "should raise ValueError")
        assert await editor.told() == (INFORMATION, "Inserted 'initials'. 3/3 examples passed.")
    assert "    >>> initials('a')  # doctest: +IGNORE_EXCEPTION_DETAIL\n    Traceback" in editor.text(uri)


async def test_of_two_answers_at_once_the_first_counts(editor: Client) -> None:
    async with StandIn([GOOD, OTHER]) as standin:
        uri = await compared(editor, standin)
        await asked(editor, uri)
        editor.received.clear()
        offered = await editor.actions(uri, "def ")
        first, second = [next(each for each in offered if words in each["title"]) for words in ("'A' is", "ValueError")]
        answers = await asyncio.gather(editor.take(first), editor.take(second))
        assert [each["accepted"] for each in answers] == [True, True]
        kind, message = await editor.told()
    assert (kind, message.startswith("There is no such question")) == (WARNING, True)
    assert editor.text(uri).count(">>> initials('a')") == 1


async def test_the_user_can_end_the_questions_about_a_function(editor: Client) -> None:
    async with StandIn([GOOD, OTHER]) as standin:
        uri = await compared(editor, standin)
        await asked(editor, uri)
        await chosen(editor, uri, "do not ask")
        await editor.until(lambda: not questions(editor, uri))
        assert not [each for each in await editor.actions(uri, "def ") if "is right" in each["title"]]
    assert editor.text(uri) == STUB + BODY


async def test_a_change_of_the_function_ends_the_question(editor: Client) -> None:
    async with StandIn([GOOD, OTHER]) as standin:
        uri = await compared(editor, standin)
        call = (await asked(editor, uri))["data"]["call"]
        await editor.change(uri, "capitals", "upper case")
        await editor.until(lambda: not questions(editor, uri))
        place = {"uri": uri, "qualifiedName": "initials", "call": call}
        refused = await editor.execute("answer", {**place, "answer": "there"})
    assert (refused["accepted"], refused["reason"].startswith("There is no such question")) == (False, True)
    assert editor.text(uri).count(">>>") == 2


async def test_the_lens_asks_in_a_message(editor: Client) -> None:
    async with StandIn([GOOD, OTHER]) as standin:
        uri = await compared(editor, standin)
        await asked(editor, uri)
        lenses = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        (lens,) = [each for each in lenses if each["command"]["title"].endswith("or 'a'?")]
        shown: list[Any] = []

        def answer(params: Any) -> Any:
            shown.append(params)
            return params["actions"][0]

        editor.answers["window/showMessageRequest"] = answer
        await editor.take(lens)
        await editor.until(lambda: EXAMPLE.format("'A'") in editor.text(uri))
    assert [each["title"] for each in shown[0]["actions"]] == ["'A'", "'a'", "ValueError", "Do not ask"]


async def test_an_editor_that_asks_beside_the_text_asks_at_once(tmp_path: Path) -> None:
    name = "Visual Studio Code"
    async with (
        StandIn([GOOD, OTHER]) as standin,
        Client.started(tmp_path, capabilities=SHOWING, name=name) as editor,
    ):
        shown: list[str] = []

        def answer(params: Any) -> None:
            shown.append(params["message"])

        editor.answers["window/showMessageRequest"] = answer
        uri = await compared(editor, standin)
        await editor.until(lambda: shown)
        await asked(editor, uri)
    question = "Which is right? initials('a') gives 'A', and a second program gives 'a'."
    assert shown == [f"{question} Your answer becomes an example."]


@asynccontextmanager
async def comparing(editor: Client, reply: str) -> AsyncIterator[str]:
    """Keep the model busy with the second program during this block. Yield the document's URI."""
    replies: list[str | Script] = [GOOD]
    async with StandIn(replies) as standin:
        editor.settings = told_of(standin, crossCheck=True)
        uri = await editor.write("names.py", STUB)
        await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        await editor.told()
        async with thinking(standin):
            await standin.until("request 2")
            yield uri
        replies[:] = [GOOD, reply]
        told = "A second program agrees "
        await editor.until(lambda: any(told in each["message"] for each in editor.all("window/logMessage")))


async def test_a_new_job_interrupts_the_comparison_which_begins_again_later(editor: Client) -> None:
    async with comparing(editor, SAME):
        (running,) = (await editor.execute("status"))["jobs"]
        other = await editor.write("other.py", STUB + BODY)
        checked = await editor.run(other, "initials", mode="check")
    assert (running["mode"], running["qualifiedName"]) == ("crossCheck", "initials")
    assert checked["status"] == "verified"


async def test_a_check_of_the_same_function_only_delays_the_comparison(editor: Client) -> None:
    async with comparing(editor, OTHER) as uri:
        assert (await editor.run(uri, "initials", mode="check"))["status"] == "verified"
    assert await asked(editor, uri)


async def test_no_answer_is_added_while_a_job_works_on_the_function(editor: Client) -> None:
    replies: list[str | Script] = [GOOD, OTHER]
    async with StandIn(replies) as standin:
        uri = await compared(editor, standin)
        call = (await asked(editor, uri))["data"]["call"]
        text = editor.text(uri)
        async with thinking(standin):
            await editor.execute("another", {"uri": uri, "qualifiedName": "initials"})
            await standin.until("request 3")
            place = {"uri": uri, "qualifiedName": "initials", "call": call}
            await editor.execute("answer", {**place, "answer": "there"})
            refused = "AdaCoder is working on 'initials': answer the question again when it has ended."
            await editor.until(lambda: (WARNING, refused) in editor.messages)
            await editor.execute("cancel")
        assert editor.text(uri) == text
        assert await asked(editor, uri)


async def test_a_comparison_can_be_cancelled_and_changes_nothing(editor: Client) -> None:
    async with StandIn([GOOD, UNENDING]) as standin:
        editor.settings = told_of(standin, crossCheck=True)
        uri = await editor.write("names.py", STUB)
        await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        await editor.told()
        await standin.until("request 2")
        (running,) = (await editor.execute("status"))["jobs"]
        assert (await editor.execute("cancel"))["cancelled"] == [running["jobId"]]
        await editor.idle()
    assert editor.text(uri) == STUB + BODY
    assert len(editor.messages) == 1


async def test_a_fix_is_compared_with_the_function_before(editor: Client) -> None:
    wrong = STUB + "    return name[0].upper() + 'L'\n"
    async with StandIn([PLAN, GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", wrong)
        await editor.execute("fix", {"uri": uri, "qualifiedName": "initials"})
        await editor.told()
        await editor.until(lambda: any("Same as before" in each["message"] for each in editor.all("window/logMessage")))
        told = await hover(editor, uri)
        journal = await editor.execute("journal", {"uri": uri, "qualifiedName": "initials"})
    assert "Same as before on " in told
    assert {"call": "initials('a')", "here": "'A'", "there": "'AL'"} in journal["behaviour"]["differs"]
    assert journal["crossCheck"] is None


async def test_without_the_setting_nothing_is_compared(editor: Client) -> None:
    def settings(params: dict[str, Any]) -> list[dict[str, Any]]:
        return [told_of(standin, crossCheck=not each["scopeUri"].endswith("first.py")) for each in params["items"]]

    async with StandIn([GOOD, GOOD, OTHER]) as standin:
        editor.answers["workspace/configuration"] = settings
        first = await editor.write("first.py", STUB)
        await editor.execute("generate", {"uri": first, "qualifiedName": "initials"})
        await editor.told()
        editor.received.clear()
        second = await compared(editor, standin)  # comparisons run in the order of their jobs
        await asked(editor, second)
        assert len(standin.requests) == 3
        assert not questions(editor, first)
