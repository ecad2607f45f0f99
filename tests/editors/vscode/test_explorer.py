"""Further uses of the Test Explorer: before a file is open, while files are saved, and cancelling."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from editors.vscode.code_server import CodeServer
from editors.vscode.samples import PLAN, ROUNDED, TRUNCATED, Model, file, reply
from editors.vscode.workbench import Workbench, window

pytestmark = pytest.mark.isolation

SLOW = '''\
import time


def slow():
    """Takes longer than anybody waits.

    >>> slow()
    1
    """
    time.sleep(600)
    return 1
'''
TEST = """\
from halved import halved


def test_last():
    assert halved(59.9996) == "00:01:00,000"
"""
PASSED = '[class*="testing-passed"]'
FAILED = '[class*="testing-failed"], [class*="testing-error"]'


def test_examples_are_listed_before_a_file_is_open(
    browser: Browser, editor: CodeServer, pictures: Path, tmp_path: Path
) -> None:
    """The tests and the status are there without a server. It starts when somebody opens a file."""
    file(tmp_path, "listed", ROUNDED)
    servers = set(editor.processes("serve"))
    with window(browser, editor, tmp_path, pictures, name="unopened") as bench:
        expect(bench.status_bar.get_by_text("AdaCoder", exact=True)).to_be_visible()
        bench.command("View: Show Testing")
        row = bench.page.locator(".test-explorer .monaco-list-row")
        expect(row.filter(has_text="listed.py")).to_be_visible()
        assert set(editor.processes("serve")) <= servers
        row.filter(has_text="listed.py").locator(".monaco-tl-twistie").click()
        expect(row.filter(has_text="listed").nth(1)).to_be_visible()
        assert set(editor.processes("serve")) - servers
        bench.picture("unopened")


@pytest.fixture
def alone(browser: Browser, editor: CodeServer, pictures: Path, tmp_path: Path) -> Iterator[Workbench]:
    """A window of its own, because the list of tests does not render the rows that it does not show."""
    with window(browser, editor, tmp_path, pictures, name="alone") as bench:
        yield bench


def fix_in_explorer(bench: Workbench, row: Locator) -> None:
    """Choose "Fix with AdaCoder" in the menu of a row of the Test Explorer."""
    row.click(button="right")
    entry = bench.page.locator(".monaco-menu .action-item", has_text="Fix with AdaCoder").first
    expect(entry).to_be_visible()
    bench.picture("fix-in-explorer")
    entry.click()
    expect(entry).to_be_hidden()


def test_fix_an_example_that_fails(alone: Workbench, model: Model) -> None:
    wrong = file(alone.folder, "wrong", TRUNCATED)
    model.says("wrong", PLAN, reply("wrong", ROUNDED))
    alone.open(wrong)
    alone.command("View: Show Testing")
    row = alone.page.locator(".test-explorer .monaco-list-row")
    row.filter(has_text="wrong.py").locator(".monaco-tl-twistie").click()
    fix_in_explorer(alone, row.filter(has_text="wrong").nth(1))
    expect(alone.line("round(seconds * 1000)")).to_be_visible()
    expect(alone.notification("Inserted 'wrong'. 3/3 examples passed.")).to_be_visible()


def test_fix_a_test_of_the_project(alone: Workbench, model: Model) -> None:
    """The Python extension lists the test. AdaCoder finds the function that the test runs, and fixes it."""
    halved = file(alone.folder, "halved", TRUNCATED)
    test = alone.folder / "test_halved.py"
    test.write_text(TEST, encoding="utf-8")
    model.says("halved", PLAN, reply("halved", ROUNDED))
    alone.open(halved)
    alone.command("Agent: List a Test")
    alone.list.locator("input").first.fill(json.dumps({"path": str(test), "name": "test_last", "line": 3}))
    alone.page.keyboard.press("Enter")
    alone.command("View: Show Testing")
    fix_in_explorer(alone, alone.page.locator(".test-explorer .monaco-list-row", has_text="test_last"))
    expect(alone.line("round(seconds * 1000)")).to_be_visible()
    expect(alone.notification("test_halved.py::test_last passes. halved.py::halved was tried, because")).to_be_visible()
    alone.picture("fixed-test")


def test_what_is_saved_runs_again(bench: Workbench) -> None:
    saved = file(bench.folder, "saved", TRUNCATED)
    bench.open(saved)
    expect(bench.editor.locator(".testing-run-glyph").first).to_be_visible()
    bench.command("Test: Start Continuous Run")
    bench.list.locator(".monaco-list-row", has_text="Run").first.click()
    bench.list.get_by_role("button", name="OK").click()
    try:
        bench.line("return f").click()
        bench.page.keyboard.press("End")
        bench.page.keyboard.type("  # changed")
        bench.save(saved, "# changed")
        expect(bench.editor.locator(FAILED).first).to_be_visible()
        bench.put_cursor("int(seconds")
        bench.page.keyboard.press("Shift+End")
        bench.page.keyboard.insert_text(ROUNDED.splitlines()[0].strip())
        bench.save(saved, "round(seconds")
        expect(bench.editor.locator(PASSED).first).to_be_visible()
        expect(bench.editor.locator(FAILED)).to_have_count(0)
    finally:
        bench.command("Test: Stop Continuous Run")


def test_a_run_is_cancelled(bench: Workbench) -> None:
    """The run ends long before the time limit of an example."""
    bench.server.set(adacoder__timeout=300)
    slow = bench.folder / "slow.py"
    slow.write_text(SLOW, encoding="utf-8")
    bench.open(slow)
    expect(bench.editor.locator(".testing-run-glyph").first).to_be_visible()
    bench.command("Test: Run Tests in Current File")
    running = bench.editor.locator('[class*="codicon-loading"], [class*="codicon-testing-loading"]')
    expect(running.first).to_be_visible()
    bench.page.keyboard.press("Control+;")
    bench.page.keyboard.press("Control+x")
    expect(running).to_have_count(0)
    expect(bench.editor.locator(FAILED)).to_have_count(0)
    bench.server.set(adacoder__timeout=None)
    expect(bench.editor.locator(PASSED)).to_have_count(0)
    slow.unlink()  # a run of all tests would wait for it
