"""AdaCoder's messages stay true: about correct functions, about discarded or unsaved results, and after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from editors.vscode.code_server import CodeServer, wait_until
from editors.vscode.conftest import Ollama
from editors.vscode.samples import ROUNDED, TRUNCATED, Model, file, function, reply
from editors.vscode.workbench import Workbench, window

pytestmark = pytest.mark.isolation

UNDOCUMENTED = "def plain(number: int) -> int:\n    return number\n\n\n"


def test_fix_on_a_right_function(bench: Workbench, model: Model) -> None:
    """Nothing needs a fix. An information message says so, and no model is asked."""
    right = file(bench.folder, "right", ROUNDED)
    bench.open(right)
    bench.put_cursor("def right")
    bench.command("Fix with AdaCoder")
    told = bench.notification("Nothing to fix in 'right'. 3/3 examples passed.")
    expect(told).to_be_visible()
    expect(told.locator(".codicon-info")).to_be_visible()
    bench.picture("nothing-to-fix")
    expect(bench.lens("✓ 3/3 examples")).to_be_visible()
    expect(bench.lens("Insert")).to_be_hidden()
    assert right.read_text(encoding="utf-8") == function("right", ROUNDED)


def test_a_message_has_the_button_that_it_calls_for(bench: Workbench, model: Model) -> None:
    """A failed check has Fix, and a function without a docstring has Write Skeleton."""
    urged = file(bench.folder, "urged", TRUNCATED)
    urged.write_text(UNDOCUMENTED + urged.read_text(encoding="utf-8"), encoding="utf-8")
    model.says("urged", "1. Round first.", reply("urged", ROUNDED))
    bench.open(urged)
    bench.put_cursor("def plain")
    bench.command("AdaCoder: Generate Function")
    bench.press(bench.notification("'plain' has no docstring"), "Write Skeleton")
    expect(bench.line(">>> plain(")).to_be_visible()
    bench.put_cursor("def urged")
    bench.command("AdaCoder: Check Examples")
    failed = bench.listed_notification("Checked 'urged'.")
    expect(failed.get_by_role("button", name="Fix", exact=True)).to_be_visible()
    bench.picture("fix-button")
    bench.press(failed, "Fix")
    expect(bench.line("round(seconds * 1000)")).to_be_visible()


def test_a_discarded_result_leaves_nothing(bench: Workbench, model: Model) -> None:
    gone = file(bench.folder, "gone", ROUNDED.replace("round(", "float("))
    model.says("gone", reply("gone", TRUNCATED))
    bench.open(gone)
    bench.put_cursor("def gone")
    bench.command("AdaCoder: Generate Function")
    expect(bench.notification("Not inserted; its result is kept: 'gone' passes only 2/3 examples.")).to_be_visible()
    expect(bench.page.locator(".squiggly-info").first).to_be_visible()
    bench.title_button("Discard").click()
    expect(bench.lens("Insert")).to_be_hidden()
    expect(bench.page.locator(".squiggly-info")).to_have_count(0)
    expect(bench.lens("✗")).to_be_hidden()


def test_a_kept_result_outlives_the_server(bench: Workbench, model: Model) -> None:
    """A result on the screen can still be inserted after the server was restarted."""
    outlived = file(bench.folder, "outlived")
    model.says("outlived", reply("outlived", TRUNCATED))
    bench.open(outlived)
    bench.press_lens("Generate")
    expect(bench.notification("its result is kept")).to_be_visible()
    bench.command("AdaCoder: Restart Server")
    bench.title_button("Insert").click()
    expect(bench.notification("Inserted 'outlived', unverified.")).to_be_visible()
    bench.save(outlived, TRUNCATED)


def test_a_kept_result_outlives_the_window(
    browser: Browser, editor: CodeServer, pictures: Path, tmp_path: Path, model: Model
) -> None:
    reloaded = file(tmp_path, "reloaded")
    model.says("reloaded", reply("reloaded", TRUNCATED))
    with window(browser, editor, tmp_path, pictures, name="reloaded") as bench:
        bench.open(reloaded)
        bench.press_lens("Generate")
        expect(bench.notification("its result is kept")).to_be_visible()
        bench.page.reload()
        expect(bench.page.locator(".monaco-workbench .part.statusbar")).to_be_visible()
        bench.open(reloaded)
        expect(bench.lens("Show AdaCoder's result (unverified)")).to_be_visible()
        bench.picture("outlived")
        bench.press_lens("Insert")
        expect(bench.notification("Inserted 'reloaded', unverified.")).to_be_visible()
        bench.save(reloaded, TRUNCATED)


def test_the_setting_that_a_message_names_is_shown(bench: Workbench, ollama: Ollama) -> None:
    """This also holds in a remote window, as here, where machine settings are not among the user's."""
    unset = file(bench.folder, "unset")
    bench.open(unset)
    bench.put_cursor("def unset")
    with ollama.stopped():
        bench.command("AdaCoder: Generate Function")
        told = bench.notification("No Ollama server answers at")
        bench.press(told, "Open Settings")
        settings = bench.page.locator(".settings-editor")
        expect(settings.locator(".setting-item-label", has_text="Host").first).to_be_visible()
        expect(settings.get_by_text("No Settings Found")).to_be_hidden()
        bench.picture("remote-settings")


def test_ollama_is_started_where_the_person_sees_it(bench: Workbench, ollama: Ollama) -> None:
    unstarted = file(bench.folder, "unstarted")
    bench.open(unstarted)
    bench.put_cursor("def unstarted")
    with ollama.stopped():
        bench.command("AdaCoder: Restart Server")
        expect(bench.status_bar).to_contain_text("AdaCoder: no model server")
        bench.command("AdaCoder: Generate Function")
        bench.press(bench.notification("No Ollama server answers at"), "Start Ollama")
        expect(bench.page.locator(".part.panel").get_by_text("Ollama", exact=True)).to_be_visible()
        asked = bench.server.root / "bin" / "ollama.asked"
        wait_until(lambda: asked.exists() and asked.read_text(encoding="utf-8") == "serve\n", "it is started")
        bench.picture("start-ollama")
    expect(bench.status_bar).to_contain_text("AdaCoder: qwen2.5-coder:7b")
    bench.command("Terminal: Kill All Terminals")


def test_a_model_that_was_missing_is_in_the_status_once_it_is_pulled(bench: Workbench) -> None:
    missing = file(bench.folder, "missing")
    with _settings(bench.folder, {"adacoder.model": "qwen2.5-coder:0.5b"}):
        bench.open(missing)
        expect(bench.status_bar).to_contain_text("AdaCoder: model missing")
        bench.put_cursor("def missing")
        bench.command("AdaCoder: Generate Function")
        bench.press(bench.notification("ollama pull qwen2.5-coder:0.5b"), "Pull Model")
        expect(bench.status_bar).to_contain_text("AdaCoder: qwen2.5-coder:0.5b")
    expect(bench.status_bar).to_contain_text("AdaCoder: qwen2.5-coder:7b")


@contextmanager
def _settings(folder: Path, settings: dict[str, object]) -> Iterator[None]:
    place = folder / ".vscode" / "settings.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(settings), encoding="utf-8")
    try:
        yield
    finally:
        place.unlink()


def test_tests_of_what_was_not_saved_go(bench: Workbench) -> None:
    """The results of a deleted file disappear too."""
    phantom = file(bench.folder, "phantom", ROUNDED)
    rows = _tests(bench)
    bench.open(phantom)
    bench.put_cursor("def phantom")
    bench.page.keyboard.insert_text(function("unsaved", ROUNDED) + "\n\n")
    rows.filter(has_text="phantom.py").locator(".monaco-tl-twistie").click()
    expect(rows.filter(has_text="unsaved").first).to_be_visible()
    bench.picture("unsaved-test")
    bench.clear()
    expect(rows.filter(has_text="unsaved")).to_have_count(0)
    expect(rows.filter(has_text="phantom.py")).to_be_visible()
    phantom.unlink()
    expect(rows.filter(has_text="phantom")).to_have_count(0)
    bench.command("View: Show Explorer")


def _tests(bench: Workbench) -> Locator:
    bench.command("View: Show Testing")
    return bench.page.locator(".test-explorer .monaco-list-row")


def test_coverage_after_a_docstring_that_was_not_saved(bench: Workbench) -> None:
    """A file whose only example was not saved is no longer a test, and a run with coverage ends."""
    covered = bench.folder / "covered.py"
    covered.write_text(UNDOCUMENTED, encoding="utf-8")
    other = file(bench.folder, "other", ROUNDED)
    bench.open(covered)
    bench.put_cursor("def plain")
    bench.offered("'plain' has no docstring: write the skeleton of one")
    rows = _tests(bench)
    bench.page.locator(".test-explorer .monaco-list").first.press("Home")  # only the visible rows exist
    rows.filter(has_text="covered.py").locator(".monaco-tl-twistie").click()
    expect(rows.filter(has_text="plain").first).to_be_visible()
    bench.clear()
    expect(rows.filter(has_text="covered.py")).to_have_count(0)
    bench.command("Test: Run All Tests with Coverage")
    bench.open(other)
    expect(bench.editor.locator(".coverage-deco-gutter.coverage-deco-hit").first).to_be_visible()
    expect(bench.notification("could not run the examples")).to_be_hidden()
    bench.command("View: Show Explorer")


def test_a_long_message_is_not_cut(bench: Workbench, model: Model) -> None:
    """VS Code cuts a message after a line, unless it has a button.

    The server shows this message once, when a job reads the settings. Nothing may press Escape after that, as the
    palette does, because Escape hides messages.
    """
    long, project = file(bench.folder, "long"), bench.folder / "pyproject.toml"
    model.says("long", reply("long", ROUNDED))
    bench.open(long)
    expect(bench.lens("Generate")).to_be_visible()
    project.write_text("[tool.adacoder]\na-setting-with-a-name-that-adacoder-never-had = 1\n", encoding="utf-8")
    try:
        bench.press_lens("Generate")
        told = bench.notification("a-setting-with-a-name-that-adacoder-never-had")
        expect(told.get_by_role("button", name="Show Log")).to_be_visible()
        bench.picture("long-message")
        bench.press(told, "Show Log")
        shown = bench.page.locator(".part.panel .view-line", has_text="a-setting-with-a-name-that-adacoder-never-had")
        expect(shown.first).to_be_visible()
        expect(bench.line("divmod(minutes, 60)")).to_be_visible()
    finally:
        project.unlink()
