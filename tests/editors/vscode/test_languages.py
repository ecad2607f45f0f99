"""The client speaks the language of VS Code."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from editors.vscode.code_server import CodeServer
from editors.vscode.samples import TRUNCATED, Model, file, reply
from editors.vscode.workbench import window

pytestmark = pytest.mark.isolation


def test_a_person_reads_german(
    browser: Browser, editor: CodeServer, pictures: Path, tmp_path: Path, model: Model
) -> None:
    """Commands, settings, the status menu and buttons are German. The server's messages are English."""
    german = file(tmp_path, "german")
    model.says("german", reply("german", TRUNCATED))
    with window(browser, editor, tmp_path, pictures, name="german", language="de") as bench:
        bench.open(german)
        bench.put_cursor("def german")
        bench.command("AdaCoder: Funktion generieren")
        told = bench.notification("its result is kept")
        expect(told.get_by_role("button", name="Verwerfen")).to_be_visible()
        bench.picture("german-message")
        bench.press(told, "Verwerfen")
        bench.command("AdaCoder: Status und Menü")
        expect(bench.list).to_contain_text("Alle Stubs in der Datei generieren")
        bench.choose("Einstellungen")
        expect(bench.page.locator(".settings-editor").get_by_text("Adresse von Ollama")).to_be_visible()
        bench.picture("german-settings")
