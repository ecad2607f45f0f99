"""Every part of the extension has a name for screen readers, and can be used without a mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from editors.vscode.samples import ROUNDED, TRUNCATED, Model, file, never_ending, reply
from editors.vscode.workbench import Workbench

pytestmark = pytest.mark.isolation

NAMELESS = """found => found.querySelectorAll('button, [role="button"], a.action-label').values()
    .filter(each => each.offsetParent !== null)
    .filter(each => !(each.getAttribute('aria-label') || each.title || each.innerText || '').trim())
    .map(each => each.outerHTML).toArray()"""


def nameless(place: Locator) -> list[str]:
    """Return the buttons in a place that have no name."""
    assert place.get_by_role("button").count() > 0
    return list(place.evaluate(NAMELESS))


def test_a_function_is_written_by_keyboard_alone(bench: Workbench, model: Model) -> None:
    by_keyboard = file(bench.folder, "by_keyboard")
    model.says("by_keyboard", reply("by_keyboard", ROUNDED))
    bench.open(by_keyboard)
    bench.page.keyboard.press("Control+Home")
    bench.until_offered("AdaCoder: generate function 'by_keyboard'")
    bench.page.keyboard.press("Enter")
    expect(bench.line("divmod(minutes, 60)")).to_be_visible()
    bench.save(by_keyboard, ROUNDED)


def test_a_job_is_cancelled_by_keyboard_alone(bench: Workbench, model: Model) -> None:
    held = file(bench.folder, "held")
    model.says("held", never_ending("held"))
    bench.open(held)
    bench.page.keyboard.press("Control+Home")
    bench.command("AdaCoder: Generate Function")
    progress = bench.notification("Generating function")
    expect(progress).to_be_visible()
    assert nameless(progress) == []
    bench.command("AdaCoder: Cancel")
    expect(progress).to_be_hidden()


def test_what_we_show_has_names(bench: Workbench, model: Model) -> None:
    """Notifications with their buttons, the status, the menu of actions, and code lenses."""
    named = file(bench.folder, "named", TRUNCATED)
    model.says("named", reply("named", TRUNCATED))
    bench.open(named)
    bench.put_cursor("def named")
    bench.command("AdaCoder: Check Examples")
    told = bench.notification("named")
    expect(told).to_be_visible()
    assert nameless(told) == []
    expect(bench.lens("✗ 2/3 examples")).to_have_attribute("role", "button")
    status = bench.status_bar.locator(".statusbar-item", has_text="AdaCoder").first
    expect(status.get_by_role("button")).to_have_attribute(
        "aria-label", "AdaCoder: qwen2.5-coder:7b. Model: qwen2.5-coder:7b. Isolation: full"
    )
    bench.put_cursor("def named")
    bench.until_offered("Fix with AdaCoder")
    for row in bench.menu.locator(".monaco-list-row.action").all():
        assert row.get_attribute("aria-label")
    bench.page.keyboard.press("Escape")
