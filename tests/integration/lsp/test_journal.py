"""The journal of a job as a document."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from integration.lsp.client import FULL, Client
from integration.lsp.texts import BODY, GOOD, NO_EXAMPLES, STUB, WRONG, told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="module")]

SHOWING = {**FULL, "window": {**FULL["window"], "showDocument": {"support": True}}}
PLAN = "1. Take the first letters.\n2. See [this](command:rm):\n```\nmore\n```"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """An editor that has generated a function in two rounds."""
    async with StandIn([WRONG, PLAN, GOOD]) as standin:
        folder = tmp_path_factory.mktemp("journal")
        async with Client.started(folder, told_of(standin, strategy="adacoder"), capabilities=SHOWING) as client:
            await client.write("names.py", STUB)
            assert (await client.run("names.py", "initials"))["applied"]
            yield client


async def told(editor: Client, **members: Any) -> str:
    found = await editor.execute("journal", {"format": "markdown", **members})
    return str(found["markdown"])


async def test_it_tells_who_was_given_what_and_said_what(editor: Client) -> None:
    document = await told(editor)
    assert document.startswith("# names.py::initials\n\n**Verified**.\n\n* 2/2 examples passed\n")
    parts = ["## Round 1", "### Programming assistant: ", "```text\n", "Said (", "### Code evaluator: ", "```diff\n"]
    places = [document.index(part) for part in [*parts, "✗ 0/2 examples passed", "## Round 2", "✓ 2/2 examples passed"]]
    assert places == sorted(places)
    assert (
        "Failed example:\n    initials(\"ada lovelace\")\nExpected:\n    'AL'\nGot:\n    'ada lovelace'\n" in document
    )
    assert f"+{BODY.rstrip()}" in document, "candidates are shown by what they change"
    assert "````markdown\n1. Take" in document
    assert "](command:" not in document


async def test_an_action_shows_it(editor: Client) -> None:
    shown: list[dict[str, Any]] = []

    def show(params: dict[str, Any]) -> dict[str, Any]:
        path = Path(urlsplit(params["uri"]).path)
        assert path.parent.stat().st_mode & 0o077 == 0
        shown.append({**params, "text": path.read_text(encoding="utf-8"), "path": path})
        return {"success": True}

    editor.answers["window/showDocument"] = show
    uri = editor.uri("names.py")
    *_, action = await editor.actions(uri, "def initials")
    assert action["title"] == "AdaCoder: show the journal of 'initials'"
    editor.received.clear()
    answer = await editor.take(action)
    assert [each["text"] for each in shown] == [answer["markdown"]]
    assert editor.messages == []
    editor.answers["window/showDocument"] = lambda params: {"success": False}
    await editor.take(action)
    assert str(shown[0]["path"]) in editor.messages[0][1], "where no document can be shown, it is told where it is"


async def test_of_which_job(editor: Client) -> None:
    uri = editor.uri("names.py")
    answer = await editor.run("names.py", "initials", mode="check")
    latest = await editor.execute("journal", {"format": "markdown"})
    assert "## Round 2" not in latest["markdown"]
    assert answer["status"] == "verified"
    of_function = {"format": "markdown", "uri": uri, "qualifiedName": "initials"}
    assert await editor.execute("journal", of_function) == latest
    assert await editor.execute("journal", {"format": "markdown", "jobId": "unknown"}) is None
    assert await editor.execute("journal", {**of_function, "qualifiedName": "other"}) is None
    assert (await editor.execute("journal", {"jobId": latest["jobId"]}))["journal"] == answer["journal"]
    assert await editor.execute("journal", {"jobId": "unknown"}) is None
    assert (await editor.execute("journal"))["journal"] == answer["journal"]


async def test_insertions_do_not_displace_the_journal_of_the_job_whose_result_they_insert(tmp_path: Path) -> None:
    async with (
        StandIn(["```\n>>> shout(\"Ada\")\n'ADA!'\n```"]) as standin,
        Client.started(tmp_path, told_of(standin)) as editor,
    ):
        editor.answers["workspace/applyEdit"] = lambda params: {"applied": False}
        uri = await editor.write("words.py", NO_EXAMPLES)
        job = (await editor.execute("suggestExamples", {"uri": uri, "qualifiedName": "shout"}))["jobId"]
        await editor.told()
        for _ in range(18):
            editor.received.clear()
            insertion = await editor.execute("insert", {"jobId": job})
            await editor.told()
        found = await editor.execute("journal", {"uri": uri})
        assert found["jobId"] == job
        assert (await editor.execute("journal", {"uri": uri, "format": "markdown"}))["jobId"] == job
        ended = await editor.execute("journal", {"jobId": insertion["jobId"]})
        assert (ended["applied"], ended["kept"]) == (False, True), "the control: they are stored as well"


async def test_what_was_written_goes_with_the_server(tmp_path: Path) -> None:
    shown: list[Path] = []

    def show(params: dict[str, Any]) -> dict[str, Any]:
        shown.append(Path(urlsplit(params["uri"]).path))
        return {"success": True}

    async with Client.started(tmp_path, capabilities=SHOWING) as editor:
        editor.answers["window/showDocument"] = show
        await editor.write("names.py", STUB + BODY)
        await editor.run("names.py", "initials", mode="check")
        await editor.execute("journal", {"format": "markdown", "show": True})
        assert shown[0].exists()
    assert not shown[0].parent.exists()
