"""A code action or command writes the actual output of a failed example into its docstring."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from integration.lsp.client import FULL, Client
from integration.lsp.texts import told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

WARNING = 2
SHOWING: dict[str, Any] = {**FULL, "textDocument": {**FULL["textDocument"], "publishDiagnostics": {}}}
TEXT = '''def double(x):
    """Double.

    >>> double(1)
    2
    >>> double([1, 2])
    5
    >>> [double(2),
    ...  object()]
    6
    >>> double(None)
    7
    """
    return x * 2
'''


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    async with Client.started(tmp_path_factory.mktemp("accepting"), capabilities=SHOWING) as client:
        yield client


async def accept(editor: Client, uri: str, source: str) -> dict[str, Any]:
    text = editor.text(uri)
    line = text[: text.index(source)].count("\n")
    answer: dict[str, Any] = await editor.execute(
        "acceptOutput", {"uri": uri, "position": {"line": line, "character": 0}}
    )
    return answer


async def test_an_action_inserts_the_actual_output(editor: Client) -> None:
    async with StandIn([]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("double.py", TEXT)
        assert not offered(await editor.actions(uri, "double([1, 2])"))
        await editor.execute("check", {"uri": uri, "qualifiedName": "double"})
        await editor.until(lambda: bool(shown(editor, uri)))
        wrong = [each for each in shown(editor, uri) if each["data"]["example"].startswith("double([")]
        (action,) = offered(await editor.actions(uri, "double([1, 2])", diagnostics=wrong))
        assert action["title"] == "AdaCoder: insert the actual output"
        assert (await editor.take(action))["accepted"]
        await editor.until(lambda: editor.text(uri) != TEXT)
    assert editor.text(uri) == TEXT.replace("    5\n", "    [1, 2, 1, 2]\n")


def shown(editor: Client, uri: str) -> list[dict[str, Any]]:
    """Return the diagnostics that the editor shows now."""
    sent = [each["diagnostics"] for each in editor.all("textDocument/publishDiagnostics") if each["uri"] == uri]
    return list(sent[-1]) if sent else []


def offered(actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in actions if each["command"]["command"] == "adacoder.server.acceptOutput"]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("double(1)", "passes, so its output stays."),
        ("[double(2)", "has an actual output that changes when it runs again."),
        ("double(None)", "raises an exception: fix the function first."),
    ],
)
async def test_another_output_is_not_inserted(source: str, why: str, editor: Client) -> None:
    async with StandIn([]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("double.py", TEXT)
        assert (await accept(editor, uri, source))["accepted"]
        kind, message = await editor.told()
    assert (kind, message.endswith(why), editor.text(uri)) == (WARNING, True, TEXT)


async def test_the_text_has_changed_meanwhile(editor: Client) -> None:
    slow = TEXT.replace("    return x * 2", "    import time; time.sleep(0.2)\n    return x * 2")
    async with StandIn([]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("double.py", slow)
        assert (await accept(editor, uri, "double([1, 2])"))["accepted"]
        await editor.change(uri, "Double.", "Twice.")
        kind, message = await editor.told()
    assert (kind, message) == (WARNING, "The text of 'double' has changed since you asked: ask again.")
    assert editor.text(uri) == slow.replace("Double.", "Twice.")


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"position": {"line": 0, "character": 0}}, "There is no example at line 1 of "),
        ({"position": {"line": 3, "character": 0}, "version": 9}, "The text has changed since you asked: ask again."),
        ({}, "'position' is missing."),
    ],
)
async def test_what_names_no_example_is_answered_with_a_reason(
    asked: dict[str, Any], reason: str, editor: Client
) -> None:
    async with StandIn([]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("double.py", TEXT)
        answer = await editor.execute("acceptOutput", {"uri": uri, **asked})
    assert (answer["accepted"], answer["reason"].startswith(reason)) == (False, True)
