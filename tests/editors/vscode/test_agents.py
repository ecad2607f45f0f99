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
    bench.list.locator("input").first.fill(json.dumps({"name": tool, "input": asked}))
    bench.page.keyboard.press("Enter")


def question(bench: Workbench) -> Locator:
    return bench.page.locator(".monaco-dialog-box")


def test_no_tool_is_offered_by_default(bench: Workbench) -> None:
    call(bench, "adacoder_check", file="agent.py", function="agent")
    expect(bench.notification("adacoder_check")).to_contain_text("Agent: Error")
    expect(question(bench)).to_be_hidden()


@pytest.mark.usefixtures("offered")
def test_an_agents_candidate_is_inserted_if_it_is_right(bench: Workbench) -> None:
    """The tool asks before it runs, and the agent gets the verdict and the failed example."""
    agent = file(bench.folder, "agent")
    bench.open(agent)
    for body, said in ((TRUNCATED, "Verdict: partial. 2/3"), (ROUNDED, "Verdict: verified. 3/3")):
        call(bench, "adacoder_verify", file="agent.py", function="agent", candidate=function("agent", body))
        expect(question(bench)).to_contain_text("'agent' in agent.py")
        bench.picture("agent")
        question(bench).get_by_role("button", name="Yes").click()
        expect(bench.notification(said)).to_be_visible()
    expect(bench.line("round(seconds * 1000)")).to_be_visible()
