"""The server fixes a function so that a failing test of the project passes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from integration.lsp.client import Client
from integration.lsp.texts import told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

INFO, WARNING = 3, 2
SHOP = '''def total(prices):
    """Add prices.

    >>> total([])
    0
    """
    return sum(prices[:2])


def receipt(prices):
    """Describe the total of prices."""
    return f"{total(prices)} EUR"
'''
TEST = """from shop import receipt


def test_none():
    assert receipt([]) == "0 EUR"


class TestReceipts:
    def test_three(self):
        assert receipt([1, 2, 3]) == "6 EUR"
"""
RIGHT = "```python\ndef total(prices):\n    return sum(prices)\n```"
USELESS = "```python\ndef total(prices):\n    return sum(prices[:1])\n```"
AROUND = '```python\ndef receipt(prices):\n    return f"{sum(prices)} EUR"\n```'
PLAN = "1. Add all prices."


def named(editor: Client, rest: str) -> str:
    """Return the name of a file or test in this case's folder, as in messages."""
    return f"{editor.folder.name}/{rest}"


async def beside(editor: Client) -> tuple[Path, str, str]:
    """Write a test file and its module, and open both. Return the test file, its URI, and the module's URI."""
    path = editor.folder / "test_shop.py"
    path.write_text(TEST, encoding="utf-8")
    module = await editor.write("shop.py", SHOP)
    return path, await editor.open(path, TEST), module


def fixes(actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in actions if each["command"]["command"] == "adacoder.server.fixTest"]


@pytest.mark.parametrize("way", ["an action", "its line", "its name", "a case"])
async def test_a_function_that_the_test_runs_is_fixed(way: str, editor: Client) -> None:
    async with StandIn([PLAN, RIGHT]) as standin:
        editor.settings = told_of(standin, strategy="adacoder")
        _, uri, module = await beside(editor)
        if way == "an action":
            (action,) = fixes(await editor.actions(uri, '== "6 EUR"'))
            assert action["title"] == "Fix with AdaCoder: make 'test_three' pass"
            answer = await editor.take(action)
        elif way == "its line":
            answer = await editor.execute("fixTest", {"uri": uri, "position": {"line": 9, "character": 0}})
        else:
            case = "[1-2]" if way == "a case" else ""
            answer = await editor.execute("fixTest", {"uri": uri, "test": f"TestReceipts::test_three{case}"})
        assert answer["accepted"], answer
        kind, message = await editor.told()
        first = str(standin.requests[0])
    assert editor.text(module) == SHOP.replace("[:2]", "")
    assert kind == INFO
    head = named(editor, f"test_shop.py::TestReceipts::test_three{'[1-2]' if way == 'a case' else ''} passes. ")
    assert message.startswith(head + named(editor, "shop.py::total was tried, because "))
    assert "it is run by 1 failing test and 1 passing test. " in message
    assert "2/2 tests passed" in message
    assert "This test of the project fails" in first
    journal = await editor.execute("journal", {"jobId": answer["jobId"]})
    assert [each["status"] for each in journal["results"]] == ["verified"]


async def test_a_second_function_is_tried_if_the_first_does_not_help(editor: Client) -> None:
    async with StandIn([PLAN, USELESS, PLAN, AROUND]) as standin:
        editor.settings = told_of(standin, strategy="adacoder", maxIterations=1)
        _, uri, module = await beside(editor)
        await editor.execute("fixTest", {"uri": uri, "test": "TestReceipts::test_three"})
        kind, message = await editor.told()
    assert editor.text(module) == SHOP.replace("total(prices)} EUR", "sum(prices)} EUR")
    assert (kind, "shop.py::receipt was tried, because it is " in message) == (INFO, True)


async def test_a_function_without_a_docstring_is_fixed(editor: Client) -> None:
    async with StandIn([PLAN, RIGHT]) as standin:
        editor.settings = told_of(standin, strategy="adacoder")
        _, uri, _ = await beside(editor)
        before = re.sub(r' {4}""".*?"""\n', "", SHOP, flags=re.DOTALL)
        module = await editor.write("shop.py", before)
        await editor.execute("fixTest", {"uri": uri, "test": "TestReceipts::test_three"})
        kind, message = await editor.told()
    assert editor.text(module) == before.replace("[:2]", "")
    assert (kind, "'total' has no docstring, so only tests decide" in message) == (INFO, True)


async def test_a_test_that_still_fails_is_told(editor: Client) -> None:
    async with StandIn([PLAN, USELESS]) as standin:
        editor.settings = told_of(standin, strategy="adacoder", maxIterations=1)
        _, uri, module = await beside(editor)
        await editor.execute("fixTest", {"uri": uri, "test": "TestReceipts::test_three"})
        kind, message = await editor.told()
    assert editor.text(module) == SHOP
    assert kind == WARNING
    assert message.startswith(named(editor, "test_shop.py::TestReceipts::test_three still fails. "))


async def test_a_result_to_preview_is_kept(editor: Client) -> None:
    async with StandIn([PLAN, RIGHT]) as standin:
        editor.settings = told_of(standin, strategy="adacoder", preview=True)
        _, uri, module = await beside(editor)
        await editor.execute("fixTest", {"uri": uri, "test": "TestReceipts::test_three"})
        kind, message = await editor.told()
        kept = await editor.request("adacoder/kept", {"textDocument": {"uri": module}})
    assert editor.text(module) == SHOP
    assert kind == INFO
    assert message.startswith(named(editor, "test_shop.py::TestReceipts::test_three would pass with the result. "))
    assert "review 'total' first" in message
    assert [each["qualifiedName"] for each in kept["items"]] == ["total"]


async def test_the_search_can_be_cancelled(editor: Client) -> None:
    async with StandIn([]) as standin:
        editor.settings = told_of(standin, strategy="adacoder")
        path, uri, module = await beside(editor)
        path.write_text(TEST + "\nimport time\ntime.sleep(60)\n", encoding="utf-8")
        await editor.change(uri, TEST, path.read_text(encoding="utf-8"))
        answer = await editor.execute("fixTest", {"uri": uri, "test": "TestReceipts::test_three"})
        status = (await editor.execute("status"))["jobs"]
        assert [(each["mode"], each["target"]) for each in status] == [
            ("fixTest", named(editor, "test_shop.py::TestReceipts::test_three"))
        ]
        assert (await editor.execute("cancel", {"jobId": answer["jobId"]}))["cancelled"] == [answer["jobId"]]
        _, message = await editor.told()
    assert (message, editor.text(module)) == ("Cancelled.", SHOP)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({}, "No test is named: give 'position' or 'test'."),
        ({"position": {"line": 0, "character": 0}}, "There is no test at line 1 of "),
        ({"position": {"line": 9, "character": 0}, "version": 7}, "The text has changed since you asked: ask again."),
        ({"test": 3}, "'test' must be a string."),
    ],
)
async def test_what_names_no_test_is_answered_with_a_reason(asked: dict[str, Any], reason: str, editor: Client) -> None:
    async with StandIn([]) as standin:
        editor.settings = told_of(standin, strategy="adacoder")
        _, uri, _ = await beside(editor)
        answer = await editor.execute("fixTest", {"uri": uri, **asked})
    assert not answer["accepted"]
    assert answer["reason"].startswith(reason)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("test_none", "The test {}::test_none does not fail here (its status is 'passed'): nothing to fix."),
        ("test_gone", "There is no test '{}::test_gone': write FILE::TEST, as pytest does."),
    ],
)
async def test_a_test_that_cannot_be_fixed_is_told(name: str, message: str, editor: Client) -> None:
    async with StandIn([]) as standin:
        editor.settings = told_of(standin, strategy="adacoder")
        _, uri, _ = await beside(editor)
        await editor.execute("fixTest", {"uri": uri, "test": name})
        assert await editor.told() == (WARNING, message.format(named(editor, "test_shop.py")))


async def test_an_unsaved_test_file_is_refused(editor: Client) -> None:
    async with StandIn([]) as standin:
        editor.settings = told_of(standin, strategy="adacoder")
        _, uri, _ = await beside(editor)
        await editor.change(uri, "6 EUR", "7 EUR")
        answer = await editor.execute("fixTest", {"uri": uri, "test": "TestReceipts::test_three"})
    assert answer["reason"].endswith("has unsaved changes, and tests run as they are on disk: save it first.")


async def test_the_action_is_only_offered_on_a_test(editor: Client) -> None:
    async with StandIn([]) as standin:
        editor.settings = told_of(standin, strategy="adacoder")
        _, uri, module = await beside(editor)
        assert fixes(await editor.actions(uri, "def test_none"))
        assert not fixes(await editor.actions(uri, "import receipt"))
        helper = "@pytest.fixture\ndef test_client():\n    pass\n\nclass Helper:\n    def test_x(self):\n        pass\n"
        other = await editor.open(editor.folder / "test_other.py", helper)
        assert not fixes(await editor.actions(other, "def test_client"))
        assert not fixes(await editor.actions(other, "def test_x"))
        assert not fixes(await editor.actions(module, "def total"))
