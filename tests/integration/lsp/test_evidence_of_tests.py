"""In an editor, the evidence for a function includes the project's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from integration.lsp.client import FULL, Client
from integration.lsp.texts import BODY, GOOD, STUB, told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

LUCKY = f"```python\n{STUB}    return (name[0] + name.split()[-1][0]).upper()\n```"
"""A body that passes both examples but not the test."""
PLAN = "1. Take the first letter of each word.\n2. Write them in capitals.\n"
TEST = "from names import initials\n\ndef test_three():\n    assert initials('augusta ada king') == 'AAK'\n"
NAME = "test_names.py::test_three"
SHOWING: dict[str, Any] = {**FULL, "textDocument": {**FULL["textDocument"], "publishDiagnostics": {}}}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    async with Client.started(tmp_path_factory.mktemp("tested"), capabilities=SHOWING) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def editor(server: Client) -> AsyncIterator[Client]:
    async with server.case():
        yield server


async def generated(editor: Client, standin: StandIn, text: str = STUB, **settings: Any) -> tuple[str, dict[str, Any]]:
    """Generate `initials` in a project with a test. Return the document and the job's journal."""
    editor.settings = told_of(standin, **settings)
    (editor.folder / "test_names.py").write_text(TEST, encoding="utf-8")
    uri = await editor.write("names.py", text)
    await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
    await editor.told()
    return uri, await editor.execute("journal", {"uri": uri, "qualifiedName": "initials"})


async def shown(editor: Client, uri: str) -> tuple[list[str], str]:
    """Return the titles of the code lenses, and the function's hover."""
    lenses = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    at = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 5}}
    found = await editor.request("textDocument/hover", at)
    return [lens["command"]["title"] for lens in lenses], found["contents"]["value"]


async def test_examples_and_tests_are_counted_side_by_side(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        uri, journal = await generated(editor, standin)
        titles, hover = await shown(editor, uri)
    assert editor.text(uri) == STUB + BODY
    (test,) = journal["tests"]
    assert (test["name"], test["status"]) == (f"{editor.folder.name}/{NAME}", "passed")
    assert "✓ 2/2 examples · 1/1 test" in titles
    assert "2/2 examples and 1/1 test passed" in hover


async def test_a_program_that_only_the_test_refuses_is_not_inserted(editor: Client) -> None:
    async with StandIn([LUCKY, PLAN, GOOD]) as standin:
        uri, journal = await generated(editor, standin)
        _, planner, _ = (str(each["messages"]) for each in standin.requests)
    assert editor.text(uri) == STUB + BODY
    assert journal["status"] == "verified"
    assert f"This test of the project fails ({editor.folder.name}/{NAME})" in planner


async def test_a_failing_test_is_a_diagnostic_with_its_explanation(editor: Client) -> None:
    async with StandIn([LUCKY]) as standin:
        uri, journal = await generated(editor, standin, maxIterations=0)
        titles, hover = await shown(editor, uri)
    assert editor.text(uri) == STUB
    assert journal["failure"]["kind"] == "test_failed"
    published = [each for each in editor.all("textDocument/publishDiagnostics") if each["uri"] == uri]
    (found,) = published[-1]["diagnostics"]
    assert (found["code"], found["data"]["test"]) == ("test_failed", f"{editor.folder.name}/{NAME}")
    assert f"/{NAME} fails: AssertionError: assert 'AK' == 'AAK'" in found["message"]
    assert "initials('augusta ada king')" in found["data"]["explanation"]
    assert editor.marked(uri, found["range"]) == "def initials(name):"
    assert "initials('augusta ada king')" in hover
    assert not any(title.startswith("✓") for title in titles)


async def test_without_the_setting_only_the_examples_count(editor: Client) -> None:
    async with StandIn([LUCKY]) as standin:
        uri, journal = await generated(editor, standin, tests=False)
    assert (journal["status"], journal["tests"]) == ("verified", [])
    assert editor.text(uri) != STUB


async def test_a_check_counts_tests_too(editor: Client) -> None:
    async with StandIn([]) as standin:
        editor.settings = told_of(standin)
        (editor.folder / "test_names.py").write_text(TEST, encoding="utf-8")
        uri = await editor.write("names.py", STUB + BODY)
        await editor.execute("check", {"uri": uri, "qualifiedName": "initials"})
        await editor.told()
        titles, _ = await shown(editor, uri)
        assert "✓ 2/2 examples · 1/1 test" in titles
        await editor.change(uri, BODY, "    return (name[0] + name.split()[-1][0]).upper()\n")
        await editor.execute("check", {"uri": uri, "qualifiedName": "initials"})
        await editor.until(lambda: len(editor.messages) == 2)
        titles, hover = await shown(editor, uri)
    assert "✗ 0/1 test" in titles
    assert "2/2 examples and 0/1 test passed" in hover


async def test_an_unsaved_test_runs_as_it_is_on_disk(editor: Client) -> None:
    async with StandIn([LUCKY]) as standin:
        editor.settings = told_of(standin)
        path = editor.folder / "test_names.py"
        path.write_text(TEST.replace("'AAK'", "'AK'"), encoding="utf-8")
        await editor.open(path, TEST)
        uri = await editor.write("names.py", STUB)
        await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        await editor.told()
        journal = await editor.execute("journal", {"uri": uri, "qualifiedName": "initials"})
    assert (journal["status"], journal["tests"][0]["status"]) == ("verified", "passed")
    assert any(
        note.endswith("/test_names.py has unsaved changes, which did not run: save it.") for note in journal["notes"]
    )
