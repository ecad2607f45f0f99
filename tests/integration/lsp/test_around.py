"""Jobs around a function: all functions of a file that have no body, another candidate, examples, a docstring."""

from __future__ import annotations

from typing import Any

import pytest

from integration.lsp.client import Client
from integration.lsp.texts import BODY, GOOD, NO_EXAMPLES, STUB, UNENDING, WRONG, told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

INFO, WARNING = 3, 2

MONOGRAM = '''def monogram(name):
    """The `initials`, with dots.

    >>> monogram("ada lovelace")
    'A.L.'
    """
'''
DOTTED = "".join(["```python\n", MONOGRAM, '    return "".join(f"{letter}." for letter in initials(name))\n', "```"])
DOTTED_BODY = '    return "".join(f"{letter}." for letter in initials(name))\n'


def commands(actions: list[dict[str, Any]]) -> list[str]:
    return [action["command"]["command"].removeprefix("adacoder.server.") for action in actions]


def chosen(actions: list[dict[str, Any]], command: str) -> dict[str, Any]:
    (action,) = [each for each in actions if each["command"]["command"] == f"adacoder.server.{command}"]
    return action


async def test_all_stubs_are_written_each_after_those_that_it_uses(editor: Client) -> None:
    text = f"{MONOGRAM}\n\n{STUB}\n\ndef double(x):\n    return 2 * x\n"
    async with StandIn([GOOD, DOTTED]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", text)
        answer = await editor.take(chosen(await editor.actions(uri, "def "), "generateAll"))
        assert answer["accepted"], answer
        kind, message = await editor.told()
    assert editor.text(uri) == text.replace(MONOGRAM, MONOGRAM + DOTTED_BODY).replace(STUB, STUB + BODY)
    assert kind == INFO
    assert message == "Generated 2 of 2 stubs in names.py: 'initials' 2/2, 'monogram' 1/1."
    assert len(editor.all("workspace/applyEdit")) == 2
    shown = editor.all("$/progress")
    assert len({each["token"] for each in shown}) == len(editor.all("window/workDoneProgress/create")) == 1
    begin, *reports, end = [each["value"] for each in shown]
    assert (begin["title"], begin["cancellable"]) == ("AdaCoder: generating the stubs in names.py", True)
    assert "1/2 · initials" in reports[0]["message"]
    assert all(each["message"].startswith(("1/2 · initials", "2/2 · monogram")) for each in reports)
    assert end == {"kind": "end"}
    journal = await editor.execute("journal", {"jobId": answer["jobId"]})
    assert [each["status"] for each in journal["results"]] == ["verified", "verified"]
    assert [each["examples"]["passed"] for each in journal["results"]] == [2, 1]


async def test_one_that_fails_does_not_stop_the_others(editor: Client) -> None:
    text = STUB + "\n\n" + STUB.replace("initials", "capitals")
    async with StandIn([WRONG, GOOD.replace("initials", "capitals")]) as standin:
        editor.settings = told_of(standin, maxIterations=0)
        uri = await editor.write("names.py", text)
        await editor.execute("generateAll", {"uri": uri})
        kind, message = await editor.told()
    assert editor.text(uri) == text + BODY
    assert kind == WARNING
    assert message.startswith(
        "Generated 1 of 2 stubs in names.py: 'capitals' 2/2. Not inserted: no candidate for 'initials' passed."
    )


@pytest.mark.parametrize("how", ["by its id", "all", "by its progress"])
async def test_cancelling_ends_all_of_them(editor: Client, how: str) -> None:
    text = STUB + "\n\n" + STUB.replace("initials", "capitals")
    async with StandIn([GOOD, UNENDING]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", text)
        answer = await editor.execute("generateAll", {"uri": uri})
        assert not (await editor.execute("generateAll", {"uri": uri}))["accepted"]
        await editor.until(lambda: editor.all("workspace/applyEdit"))
        await standin.until("request 2")
        status = (await editor.execute("status"))["jobs"]
        assert (status[0]["jobId"], status[0]["mode"]) == (answer["jobId"], "generateAll")
        editor.received[:] = [each for each in editor.received if each["method"] != "window/showMessage"]
        if how == "by its progress":
            (created,) = editor.all("window/workDoneProgress/create")
            await editor.notify("window/workDoneProgress/cancel", {"token": created["token"]})
        else:
            argument = {"jobId": answer["jobId"]} if how == "by its id" else {}
            assert answer["jobId"] in (await editor.execute("cancel", argument))["cancelled"]
        kind, message = await editor.told()
    assert (kind, message) == (WARNING, "Cancelled. Generated 1 of 2 stubs in names.py: 'initials' 2/2.")
    assert editor.text(uri) == text.replace('\n"""\n', f'\n"""\n{BODY}', 1).replace('    """\n', f'    """\n{BODY}', 1)


async def test_a_file_without_stubs_says_so(editor: Client) -> None:
    uri = await editor.write("names.py", STUB + BODY)
    answer = await editor.execute("generateAll", {"uri": uri})
    assert (answer["accepted"], answer["jobId"]) == (False, None)
    assert "no function with a docstring and no body yet" in answer["reason"]
    assert (await editor.execute("generateAll", {}))["reason"] == "'uri' is missing: name the document."
    declared = await editor.write("names.pyi", STUB)
    assert "only declares types" in (await editor.execute("generateAll", {"uri": declared}))["reason"]


OTHER = f"```python\n{STUB}    words = name.upper().split()\n    return ''.join(word[0] for word in words)\n```"


@pytest.mark.parametrize("unverified", ["keep", "insert"])
async def test_another_candidate_is_a_different_one_and_is_kept_to_be_compared(editor: Client, unverified: str) -> None:
    async with StandIn([OTHER]) as standin:
        editor.settings = told_of(standin, unverified=unverified)
        uri = await editor.write("names.py", STUB + BODY)
        answer = await editor.take(chosen(await editor.actions(uri, "def "), "another"))
        assert "its result is kept" in (await editor.told())[1]
        prompt = standin.seen[-1].body["messages"][-1]["content"]
        assert f"{STUB}{BODY.rstrip()}\n```" in prompt, "it is told what there is already"
        journal = await editor.execute("journal", {"jobId": answer["jobId"]})
        assert (journal["status"], journal["applied"], journal["kept"]) == ("verified", False, True)
        assert editor.text(uri) == STUB + BODY
        editor.received.clear()
        await editor.take(chosen(await editor.actions(uri, "def "), "insert"))
        assert (await editor.told())[1].startswith("Inserted 'initials'")
    assert "name.upper().split()" in editor.text(uri)


async def test_the_same_once_more_is_no_other_candidate(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB + BODY)
        await editor.execute("another", {"uri": uri, "qualifiedName": "initials"})
        kind, message = await editor.told()
    assert kind == WARNING
    assert "repeated an earlier" in message
    assert editor.text(uri) == STUB + BODY


async def test_another_than_the_one_that_was_not_inserted(editor: Client) -> None:
    reply = f"```python\n{NO_EXAMPLES}    return text.upper()\n```"
    async with StandIn([reply, reply.replace("text.upper()", "''.join(map(str.upper, text))")]) as standin:
        editor.settings = told_of(standin, unverified="discard")
        uri = await editor.write("words.py", NO_EXAMPLES)
        assert "another" not in commands(await editor.actions(uri, "def "))
        await editor.execute("generate", {"uri": uri, "qualifiedName": "shout"})
        await editor.told()
        editor.received.clear()
        await editor.change(uri, "(text)", "(words)")
        assert "another" not in commands(await editor.actions(uri, "def ")), "it is for other parameters"
        await editor.change(uri, "(words)", "(text: str) -> str")
        await editor.take(chosen(await editor.actions(uri, "def "), "another"))
        await editor.told()
        assert "return text.upper()" in standin.seen[-1].body["messages"][-1]["content"]
    assert editor.text(uri) == NO_EXAMPLES.replace("(text)", "(text: str) -> str")


async def test_fix_comes_first_on_a_function_that_fails_until_it_is_another(editor: Client) -> None:
    wrong = f"{STUB}    return name\n"
    uri = await editor.write("names.py", wrong)
    assert commands(await editor.actions(uri, "def "))[:2] == ["generate", "fix"]
    assert await editor.actions(uri, "def ", trigger=2) == []
    await editor.execute("check", {"uri": uri, "qualifiedName": "initials"})
    await editor.told()
    assert commands(await editor.actions(uri, "def "))[:2] == ["fix", "generate"]
    assert commands(await editor.actions(uri, "def ", trigger=2)) == ["fix"]
    await editor.change(uri, "return name", "return name.upper()")
    assert commands(await editor.actions(uri, "def "))[:2] == ["generate", "fix"]


async def test_on_a_stub_generate_comes_first_also_if_it_fails(editor: Client) -> None:
    uri = await editor.write("names.py", STUB)
    await editor.execute("check", {"uri": uri, "qualifiedName": "initials"})
    await editor.told()
    assert commands(await editor.actions(uri, "def ", trigger=2)) == ["generate"]


async def test_suggested_examples_are_kept_and_then_written_into_the_docstring(editor: Client) -> None:
    async with StandIn(["```\n>>> shout(\"Ada\")\n'ADA'\n```"]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("words.py", NO_EXAMPLES)
        await editor.take(chosen(await editor.actions(uri, "def "), "suggestExamples"))
        assert "its result is kept" in (await editor.told())[1]
        assert editor.text(uri) == NO_EXAMPLES
        editor.received.clear()
        await editor.take(chosen(await editor.actions(uri, "def "), "insert"))
        await editor.told()
    assert ">>> shout(\"Ada\")\n    'ADA'\n" in editor.text(uri)
    assert "suggestExamples" not in commands(await editor.actions(uri, "def "))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
async def test_the_skeleton_of_a_docstring(editor: Client, ending: str) -> None:
    text = f"𝔫 = 1{ending}{ending}{ending}def shout(text: str, 𝔪=2):{ending}    return text.upper(){ending}"
    uri = await editor.write("words.py", text)
    (action,) = await editor.actions(uri, "def ")
    assert action["title"] == "AdaCoder: 'shout' has no docstring: write the skeleton of one"
    assert (await editor.take(action))["accepted"]
    await editor.until(lambda: editor.text(uri) != text)
    skeleton = ['    """Shout.', "", '    >>> shout("text")', '    """', ""]
    assert editor.text(uri) == text.replace(f":{ending}    ret", f":{ending}{ending.join(skeleton)}    ret")
    assert commands(await editor.actions(uri, "def "))[0] == "generate"
    assert editor.messages == []


async def test_a_docstring_that_is_there_is_left_alone(editor: Client) -> None:
    uri = await editor.write("names.py", STUB)
    answer = await editor.execute("writeDocstring", {"uri": uri, "qualifiedName": "initials"})
    assert (answer["accepted"], answer["reason"]) == (False, "'initials' already has a docstring.")
    answer = await editor.execute("writeDocstring", {"uri": uri, "position": {"line": 99, "character": 0}})
    assert "no function at line 100" in answer["reason"]
    assert editor.all("workspace/applyEdit") == []


async def test_a_refused_docstring_is_told(editor: Client) -> None:
    editor.answers["workspace/applyEdit"] = lambda params: {"applied": False}
    uri = await editor.write("names.py", "def f():\n    pass\n")
    assert (await editor.execute("writeDocstring", {"uri": uri, "qualifiedName": "f"}))["accepted"]
    kind, message = await editor.told()
    assert (kind, message) == (WARNING, "Not inserted: a docstring for 'f': the editor did not make the edit.")


async def test_comments_of_a_stub_are_given_to_the_model_and_stay(editor: Client) -> None:
    text = f"{STUB}    # name may be empty\n    pass  # yet\n"
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", text)
        await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        assert (await editor.told())[0] == INFO
        prompt = standin.seen[-1].body["messages"][-1]["content"]
    assert "    # name may be empty\n    # yet\n```" in prompt
    assert editor.text(uri) == f"{STUB}    # name may be empty\n    # yet\n{BODY}"


USES_A_STUB = f"""def total(names):
    \"\"\"All letters.

    >>> total(["ada lovelace"])
    'AL'
    \"\"\"
    {{body}}


{STUB}"""
TOTAL = 'return "".join(map(initials, names))'


@pytest.mark.parametrize(
    ("mode", "stub", "body", "is_named"),
    [
        ("generate", "pass", TOTAL, True),
        ("fix", TOTAL, TOTAL, True),
        ("generate", "pass", "return names", False),
    ],
)
async def test_a_result_names_the_stubs_that_it_uses_and_offers_to_write_them(
    editor: Client, mode: str, stub: str, body: str, is_named: bool
) -> None:
    async with StandIn([f"```python\ndef total(names):\n    {body}\n```"]) as standin:
        editor.settings = told_of(standin, maxIterations=0)
        uri = await editor.write("names.py", USES_A_STUB.format(body=stub))
        await editor.execute(mode, {"uri": uri, "qualifiedName": "total"})
        _, message = await editor.told()
    note = "'total' uses 'initials', which has no body yet: generate all stubs in the file."
    assert (note in message) is is_named
    offered = [each["title"] for each in await editor.actions(uri, "def total")]
    assert "AdaCoder: generate all stubs in this file" in offered


SETTER = '''class Price:
    @property
    def net(self):
        """The net price."""
        return self._net

    @net.setter
    def net(self, value):
        """Keep it, rounded.

        >>> price = Price()
        >>> price.net = 1.26
        >>> price.net
        1.3
        """
'''


async def test_the_setter_of_a_property(editor: Client) -> None:
    reply = "```python\n@net.setter\ndef net(self, value):\n    self._net = round(value, 1)\n```"
    async with StandIn([reply]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("price.py", SETTER)
        action, *_ = await editor.actions(uri, "@net.setter")
        assert action["title"] == "AdaCoder: generate function 'net'"
        await editor.take(action)
        kind, message = await editor.told()
    assert (kind, editor.text(uri)) == (INFO, f"{SETTER}        self._net = round(value, 1)\n"), message
