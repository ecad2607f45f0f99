"""Further uses of the Test Explorer: before a file is open, while files are saved, and cancelling."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from editors.vscode.code_server import CodeServer
from editors.vscode.samples import ROUNDED, TRUNCATED, file
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
