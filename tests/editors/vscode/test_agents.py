"""Another extension calls AdaCoder's tools for agents, as a chat does."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from editors.vscode.code_server import CodeServer
from editors.vscode.samples import ROUNDED, TRUNCATED, file, function
from editors.vscode.workbench import Workbench


@pytest.fixture
def offered(editor: CodeServer) -> Iterator[None]:
    """The tools are available meanwhile."""
    editor.set(adacoder__agentTools=True)
    yield
    editor.set(adacoder__agentTools=None)


def call(bench: Workbench, tool: str, **asked: str) -> None:
    bench.command("Agent: Call a Tool")
    bench.list.locator("input").first.fill(json.dumps({"name": f"adacoder_{tool}", "input": asked}))
    bench.page.keyboard.press("Enter")


def question(bench: Workbench) -> Locator:
    return bench.page.locator(".monaco-dialog-box")


def allow(bench: Workbench, tool: str, asks: str, **asked: str) -> None:
    """Call a tool, and agree to the question before it runs."""
    call(bench, tool, **asked)
    expect(question(bench)).to_contain_text(asks)
    bench.picture("agent")
    question(bench).get_by_role("button", name="Yes").click()


def test_no_tool_is_offered_by_default(bench: Workbench) -> None:
    call(bench, "check_examples", path="agent.py")
    expect(bench.notification("adacoder_check_examples")).to_contain_text("Agent: Error")
    expect(question(bench)).to_be_hidden()


@pytest.mark.usefixtures("offered")
def test_an_agents_candidate_is_inserted_if_it_is_right(bench: Workbench) -> None:
    """Each tool asks before it runs, and the agent gets the verdict and the failed example."""
    bench.open(file(bench.folder, "agent"))
    place = {"path": "agent.py", "name": "agent"}
    allow(bench, "verify_candidate", "'agent' in agent.py", **place, code=function("agent", TRUNCATED))
    expect(bench.notification('"verdict":"failed"')).to_contain_text('"example":"agent(59.9996)"')
    allow(bench, "insert_verified", "'agent' in agent.py", **place, code=function("agent", ROUNDED))
    expect(bench.notification('"verdict":"verified"')).to_contain_text('"written":true')
    expect(bench.line("round(seconds * 1000)")).to_be_visible()


@pytest.mark.usefixtures("offered")
def test_an_agent_is_told_of_unsaved_changes(bench: Workbench) -> None:
    path = file(bench.folder, "by_hand", ROUNDED)
    bench.open(path)
    bench.write_below("01:23:45,250", "")
    allow(bench, "check_examples", "by_hand.py", path="by_hand.py")
    expect(bench.notification('"verdict":"not_run"')).to_contain_text("unsaved changes")
    bench.save(path, "")
    allow(bench, "check_examples", "by_hand.py", path="by_hand.py")
    expect(bench.notification('"verdict":"verified"')).to_be_visible()


@pytest.mark.usefixtures("offered")
def test_the_settings_of_the_editor_hold_for_agents(bench: Workbench, editor: CodeServer) -> None:
    file(bench.folder, "hidden", ROUNDED)
    allow(bench, "check_examples", "hidden.py", path="hidden.py")
    expect(bench.notification('"verdict":"verified"')).to_be_visible()
    editor.set(adacoder__hide=["hidden.py"])
    allow(bench, "check_examples", "hidden.py", path="hidden.py")
    expect(bench.notification('"error":"outside_root"')).to_be_visible()
    editor.set(adacoder__hide=None)
