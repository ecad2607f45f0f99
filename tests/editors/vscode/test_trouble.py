"""Messages to a person when something is missing, has ended, or is not trusted. Everything works again afterwards."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from editors.vscode.code_server import CodeServer
from editors.vscode.conftest import Ollama
from editors.vscode.samples import ROUNDED, TRUNCATED, Model, file, never_ending, reply
from editors.vscode.workbench import Workbench, window

pytestmark = pytest.mark.isolation

WRITTEN = "divmod(minutes, 60)"


def test_ollama_is_not_running(bench: Workbench, model: Model, ollama: Ollama) -> None:
    """One sentence says what to do. After that, the same command works."""
    started = file(bench.folder, "started")
    model.says("started", reply("started", ROUNDED))
    bench.open(started)
    bench.put_cursor("def started")
    with ollama.stopped():
        bench.command("AdaCoder: Generate Function")
        expect(bench.notification("No Ollama server answers at")).to_contain_text("start it with `ollama serve`")
        bench.picture("no-ollama")
        expect(bench.line(WRITTEN)).to_be_hidden()
    bench.command("AdaCoder: Generate Function")
    expect(bench.line(WRITTEN)).to_be_visible()


def test_server_killed_in_a_job(bench: Workbench, model: Model) -> None:
    """Its progress disappears and the text stays.

    The server that starts in its place does the same job again on request.
    """
    killed = file(bench.folder, "killed")
    model.says("killed", never_ending("killed"))
    bench.open(killed)
    bench.press_lens("Generate")
    progress = bench.notification("AdaCoder: generating 'killed'")
    expect(progress).to_contain_text(re.compile(r"round.1/6"))
    expect(bench.status_bar).to_contain_text("AdaCoder: generating 'killed'")
    _kill_server(bench)
    expect(progress).to_be_hidden()
    told = bench.notification("AdaCoder's server crashed while generating 'killed'. It has restarted.")
    expect(told).to_be_visible()
    bench.picture("killed")
    expect(bench.line(WRITTEN)).to_be_hidden()
    model.says("killed", reply("killed", ROUNDED))
    bench.press(told, "Run Again")
    expect(bench.line(WRITTEN)).to_be_visible()
    bench.save(killed, ROUNDED)


def test_a_server_that_crashes_again_and_again(bench: Workbench, model: Model) -> None:
    """The server stays down after five crashes. One click brings light bulb and lenses back."""
    fifth = file(bench.folder, "fifth")
    model.says("fifth", reply("fifth", ROUNDED))
    bench.command("AdaCoder: Restart Server")  # which begins to count anew
    bench.open(fifth)
    given_up = bench.notification("crashed for the fifth time. It stays down until you restart it.")
    for _ in range(5):
        expect(given_up).to_be_hidden()
        bench.command("AdaCoder: Select Model")  # it has a list once the server runs
        expect(bench.list).to_contain_text("qwen2.5-coder:7b")
        bench.page.keyboard.press("Escape")
        expect(bench.list).to_be_hidden()
        _kill_server(bench)
    expect(given_up).to_be_visible()
    expect(bench.status_bar).to_contain_text("AdaCoder: stopped")
    expect(bench.lens("Generate")).to_be_hidden()
    assert bench.server.processes("serve") == []
    bench.picture("given-up")
    bench.press(given_up, "Restart Server")
    expect(bench.lens("Generate")).to_be_visible()
    bench.put_cursor("def fifth")
    expect(bench.light_bulb).to_be_visible()
    bench.light_bulb.click()
    expect(bench.line(WRITTEN)).to_be_visible()


def _kill_server(bench: Workbench) -> None:
    for server in bench.server.processes("serve"):
        os.kill(server, signal.SIGKILL)


def test_settings_count_at_once(bench: Workbench, model: Model, ollama: Ollama) -> None:
    """A changed setting takes effect without a restart."""
    live = file(bench.folder, "live")
    model.says("live", reply("live", ROUNDED))
    settings = bench.folder / ".vscode" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    bench.open(live)
    expect(bench.lens("Generate")).to_be_visible()
    try:
        settings.write_text('{"adacoder.codeLens": false}', encoding="utf-8")
        expect(bench.lens("Generate")).to_be_hidden()
        settings.write_text('{"adacoder.model": "qwen2.5-coder:1.5b"}', encoding="utf-8")
        expect(bench.status_bar).to_contain_text("AdaCoder: qwen2.5-coder:1.5b")
        bench.press_lens("Generate")
        expect(bench.line(WRITTEN)).to_be_visible()
        assert ollama.server.requests[-1]["model"] == "qwen2.5-coder:1.5b"
    finally:
        settings.unlink()
    expect(bench.status_bar).to_contain_text("AdaCoder: qwen2.5-coder:7b")


def test_nothing_of_an_untrusted_folder_runs(
    browser: Browser, editor: CodeServer, pictures: Path, tmp_path: Path
) -> None:
    """Nothing runs until the workspace is trusted. Then the same command runs the examples."""
    foreign = file(tmp_path, "foreign", TRUNCATED)
    with window(browser, editor, tmp_path, pictures, name="untrusted", trusted=False) as bench:
        bench.open(foreign)
        bench.put_cursor("def foreign")
        bench.command("AdaCoder: Check Examples")
        expect(bench.notification("not trusted")).to_be_visible()
        bench.picture("untrusted")
        expect(bench.editor.locator(".squiggly-error")).to_have_count(0)
        bench.trust()
        bench.open(foreign)
        bench.put_cursor("def foreign")
        bench.command("AdaCoder: Check Examples")
        expect(bench.lens("✗ 2/3 examples")).to_be_visible()


def test_two_folders_with_two_models(
    browser: Browser, editor: CodeServer, pictures: Path, tmp_path: Path, model: Model, ollama: Ollama
) -> None:
    """In a workspace of several folders, each folder has its own settings."""
    models = {"large": "qwen2.5-coder:7b", "small": "qwen2.5-coder:1.5b"}
    for name, chosen in models.items():
        (tmp_path / name / ".vscode").mkdir(parents=True)
        settings = json.dumps({"adacoder.model": chosen})
        (tmp_path / name / ".vscode" / "settings.json").write_text(settings, encoding="utf-8")
        file(tmp_path / name, name)
        model.says(name, reply(name, ROUNDED))
    workspace = tmp_path / "both.code-workspace"
    workspace.write_text(json.dumps({"folders": [{"path": name} for name in models]}), encoding="utf-8")
    with window(browser, editor, workspace, pictures, name="two-folders") as bench:
        for name, chosen in models.items():
            bench.open(tmp_path / name / f"{name}.py")
            expect(bench.status_bar).to_contain_text(f"AdaCoder: {chosen}")
            bench.press_lens("Generate")
            expect(bench.line(WRITTEN)).to_be_visible()
            assert ollama.server.requests[-1]["model"] == chosen
        bench.picture("two-folders")
