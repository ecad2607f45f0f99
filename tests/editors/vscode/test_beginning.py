"""The first day of a new user: no server, no model, and a walkthrough."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from editors.vscode.code_server import PATIENCE, code_server, wait_until
from editors.vscode.conftest import Ollama
from editors.vscode.samples import ROUNDED, Model, file, reply
from editors.vscode.workbench import Workbench, window

pytestmark = pytest.mark.isolation

INSTALLING = 5 * PATIENCE * 1000
"""Milliseconds to create an environment and fill it from a package index."""
OFFLINE = "[global]\nindex-url = http://127.0.0.1:9/simple\nextra-index-url =\nretries = 0\n"


def test_first_start_offline_and_then_online(
    browser: Browser, tools: Path, vsix: Path, pictures: Path, tmp_path: Path, model: Model, ollama: Ollama
) -> None:
    """If there is no server, the extension installs the one that it contains, after it asked once."""
    project, pip = tmp_path / "project", tmp_path / "pip.conf"
    project.mkdir()
    pip.write_text(OFFLINE, encoding="utf-8")
    first = file(project, "first")
    model.says("first", reply("first", ROUNDED))
    # Of whoever runs the tests what leads to their package index, but for their folder of wheels.
    index = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_", "UV_"))}
    index = {key: value for key, value in index.items() if key != "PIP_FIND_LINKS"}
    told = {
        **index,
        "OLLAMA_HOST": ollama.server.host,
        "PIP_CONFIG_FILE": str(pip),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
    }
    with (
        code_server(tmp_path / "code-server", tools, [vsix], told, {}) as server,
        window(browser, server, project, pictures, name="first-start") as bench,
    ):
        bench.open(first)
        question = bench.notification("AdaCoder's server is not installed. Install it into a private environment")
        expect(question).to_contain_text("come from the package index")
        bench.picture("first-start")
        bench.press(question, "Install")
        failed = bench.notification("Your package index does not answer: go online")
        expect(failed).to_be_visible(timeout=INSTALLING)
        bench.picture("first-start-offline")
        pip.write_text("", encoding="utf-8")
        bench.press(failed, "Try Again")
        expect(bench.notification("AdaCoder: installing its server")).to_be_visible()
        expect(bench.lens("Generate")).to_be_visible(timeout=INSTALLING)
        bench.press_lens("Generate")
        expect(bench.line("divmod(minutes, 60)")).to_be_visible()
        assert any("/server-" in word for pid in server.processes("serve") for word in _command(pid))


def _command(pid: int) -> list[str]:
    return (Path("/proc") / str(pid) / "cmdline").read_bytes().decode().split("\0")


def test_a_model_is_downloaded_and_used(bench: Workbench, model: Model, ollama: Ollama) -> None:
    """The list of models says what each one needs. A missing model is downloaded, with progress."""
    pulled = file(bench.folder, "pulled")
    model.says("pulled", reply("pulled", ROUNDED))
    bench.open(pulled)
    bench.command("AdaCoder: Select Model")
    expect(bench.list).to_contain_text("qwen2.5-coder:7b")
    bench.picture("models")
    with ollama.downloading():
        bench.choose("qwen2.5-coder:3b")
        progress = bench.notification("AdaCoder: downloading qwen2.5-coder:3b")
        expect(progress).to_contain_text(re.compile(r"\d+.?%"))
        bench.picture("download")
    expect(progress).to_be_hidden()
    expect(bench.status_bar).to_contain_text("AdaCoder: qwen2.5-coder:3b")
    settings = bench.server.root / "user" / "User" / "settings.json"
    assert "ollama:qwen2.5-coder:3b" in settings.read_text(encoding="utf-8")
    bench.press_lens("Generate")
    expect(bench.line("divmod(minutes, 60)")).to_be_visible()
    assert ollama.server.requests[-1]["model"] == "qwen2.5-coder:3b"
    bench.command("AdaCoder: Select Model")
    bench.choose("Automatic")
    expect(bench.status_bar).to_contain_text("AdaCoder: qwen2.5-coder:7b")
    assert "adacoder.model" not in json.loads(settings.read_text(encoding="utf-8"))


def test_the_walkthroughs_buttons(bench: Workbench, model: Model) -> None:
    """Each of its five buttons does what it says, with a sample file of the person's own."""
    body = '    return "".join(word[0] for word in name.split()).upper()\n'
    model.says("initials", f"```python\ndef initials(name):\n{body}```")
    walkthrough = bench.page.locator(".gettingStartedContainer")
    shown = (
        ("A model server", "Check This Machine", bench.preview("What works here")),
        ("A model", "Select Model", bench.list.get_by_text("qwen2.5-coder:1.5b")),
        ("A first stub", "Generate It", bench.lens("✓ 2/2 examples")),
        ("A failing example, fixed", "Fix It", bench.notification("Inserted 'circle_area'.")),
        ("Evidence and coverage", "Check It", bench.lens("✓ 2/2 examples · line 39 not reached")),
    )
    for number, (step, button, seen) in enumerate(shown, 1):
        bench.command("Welcome: Open Walkthrough...")
        bench.choose("First Steps with AdaCoder")
        walkthrough.locator(".getting-started-step").filter(has=bench.page.get_by_text(step, exact=True)).click()
        walkthrough.get_by_role("button", name=button).click()
        expect(seen.first).to_be_visible()
        bench.picture(f"walkthrough-{number}")
        bench.page.keyboard.press("Escape")


def test_a_model_that_no_list_has(bench: Workbench) -> None:
    """Its name is typed, and an empty name chooses the best one again."""
    settings = bench.server.root / "user" / "User" / "settings.json"
    for name, is_set in (("openai:unlisted", True), ("", False)):
        bench.command("AdaCoder: Select Model")
        bench.choose("Other Model…")
        bench.list.locator("input").first.fill(name)
        bench.page.keyboard.press("Enter")
        wait_until(partial(_has, settings, '"openai:unlisted"', is_set), f"the settings after {name!r}")


def _has(path: Path, text: str, expected: bool) -> bool:
    return path.is_file() and (text in path.read_text(encoding="utf-8")) is expected


def test_the_menu_leads_everywhere(bench: Workbench, model: Model) -> None:
    """The entry in the status bar has the commands of the file, the settings, the walkthrough and the documentation."""
    listed = file(bench.folder, "listed")
    model.says("listed", reply("listed", ROUNDED))
    bench.open(listed)
    bench.command("AdaCoder: Status and Menu")
    expect(bench.list.get_by_text("Walkthrough")).to_be_visible()
    bench.picture("menu")
    bench.choose("Generate All Stubs in File")
    expect(bench.line("round(seconds * 1000)")).to_be_visible()
    bench.save(listed, ROUNDED)
    editors = {
        "Settings": "settings-editor",
        "Walkthrough": "gettingStartedContainer",
        "Documentation": "extension-editor",
    }
    for entry, editor in editors.items():
        bench.command("AdaCoder: Status and Menu")
        bench.choose(entry)
        expect(bench.page.locator(f".{editor}").first).to_be_visible()
        bench.picture(f"menu-{entry.lower()}")
    expect(bench.document.get_by_alt_text("The list of models").first).to_be_visible()
    if os.environ.get("ADACODER_CODE_SERVER") == "newest":  # It shows only pictures from the web.
        return
    pictures = bench.document.locator("img")
    loaded = "images => images.length > 1 && images.every(each => each.complete && each.naturalWidth > 0)"
    wait_until(lambda: bool(pictures.evaluate_all(loaded)), "the pictures of the extension's page")
    bench.picture("extension-page")


def test_the_default_keys_have_no_other_command(bench: Workbench) -> None:
    bench.command("Preferences: Open Keyboard Shortcuts")
    rows = bench.page.locator(".keybindings-editor .monaco-list-row")
    for key in "gfcayu":
        bench.page.locator(".keybindings-editor").get_by_role("textbox").first.fill(f'"ctrl+k alt+{key}"')
        expect(rows).to_have_count(1)
        expect(rows.first).to_contain_text("AdaCoder: ")
    bench.command("View: Close All Editors")


def test_a_model_server_that_is_missing_is_in_the_status(bench: Workbench, ollama: Ollama) -> None:
    unserved = file(bench.folder, "unserved")
    bench.open(unserved)
    expect(bench.status_bar).to_contain_text("AdaCoder: qwen2.5-coder:7b")
    with ollama.stopped():
        bench.command("AdaCoder: Restart Server")
        expect(bench.status_bar).to_contain_text("AdaCoder: no model server")
        bench.picture("status-no-server")
    bench.command("AdaCoder: Restart Server")
    expect(bench.status_bar).to_contain_text("AdaCoder: qwen2.5-coder:7b")
