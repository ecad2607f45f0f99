"""What a person does in VS Code, from the light bulb to the file on disk."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from editors.vscode.samples import ROUNDED, Model, file, function, reply
from editors.vscode.workbench import Workbench

pytestmark = pytest.mark.isolation


def test_light_bulb(bench: Workbench, model: Model) -> None:
    """The light bulb writes a function that is verified; saving has it on disk."""
    subtitles = file(bench.folder, "timestamp")
    model.says("timestamp", reply("timestamp", ROUNDED))
    bench.open(subtitles)
    bench.put_cursor("def timestamp")
    bench.light_bulb()
    bench.picture("light-bulb")
    bench.act("AdaCoder: generate function 'timestamp'")
    expect(bench.line("divmod(minutes, 60)")).to_be_visible()
    expect(bench.notification("Inserted 'timestamp'. 3/3 examples passed.")).to_be_visible()
    bench.save(subtitles, ROUNDED)
    assert subtitles.read_text(encoding="utf-8") == function("timestamp", ROUNDED)
