"""The examples of docstrings in VS Code's own Test Explorer."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from editors.vscode.samples import TRUNCATED, file
from editors.vscode.workbench import Workbench

pytestmark = pytest.mark.isolation

PARTLY_REACHED = '''\
def grade(points):
    """The grade for some points out of 100.

    >>> grade(95)
    'A'
    >>> grade(40)
    'F'
    """
    if points >= 90:
        return "A"
    if points >= 75:
        return "B"
    return "F"
'''


def test_a_failure_is_shown_with_what_was_wanted_and_given(bench: Workbench) -> None:
    failing = file(bench.folder, "failing", TRUNCATED)
    bench.open(failing)
    expect(bench.editor.locator(".testing-run-glyph").first).to_be_visible()
    bench.command("Test: Run Tests in Current File")
    expect(bench.editor.locator('[class*="testing-failed"], [class*="testing-error"]').first).to_be_visible()
    bench.command("Test: Peek Output")
    peek = bench.page.locator(".test-output-peek")
    expect(peek).to_contain_text("00:00:59,999")
    expect(peek).to_contain_text("00:01:00,000")
    bench.picture("test-failure")


def test_coverage_in_the_gutter(bench: Workbench) -> None:
    """The gutter marks the lines that no example reaches, and those that an example reaches."""
    reached = bench.folder / "reached.py"
    reached.write_text(PARTLY_REACHED, encoding="utf-8")
    bench.open(reached)
    expect(bench.editor.locator(".testing-run-glyph").first).to_be_visible()
    bench.command("Test: Run Tests with Coverage in Current File")
    expect(bench.page.locator(".pane", has_text="Test Coverage").first).to_be_visible()
    bench.open(reached)
    expect(bench.editor.locator(".coverage-deco-gutter.coverage-deco-miss").first).to_be_visible()
    expect(bench.editor.locator(".coverage-deco-gutter.coverage-deco-hit").first).to_be_visible()
    bench.picture("coverage")


PAGE = """\
# Doubling

```python
def written():
    \"\"\"Text of a fence.

    And more.
    \"\"\"
```

```pycon
>>> 2 * 21
41
```
"""


def test_a_page_is_checked_and_updated(bench: Workbench) -> None:
    """A Markdown page has tests, a lens and an action for its example, and none for the function in a fence."""
    page = bench.folder / "doubling.md"
    page.write_text(PAGE, encoding="utf-8")
    bench.open(file(bench.folder, "beside", TRUNCATED))  # AdaCoder waits for a Python file
    bench.open(page)
    expect(bench.editor.locator(".testing-run-glyph").first).to_be_visible()
    bench.put_cursor("def written")
    assert [each for each in bench.actions() if "AdaCoder" in each] == ["AdaCoder: check the examples of 'doubling.md'"]
    bench.page.keyboard.press("Escape")
    bench.command("AdaCoder: Check Examples")
    expect(bench.lens("✗ 0/1 example")).to_be_visible()
    bench.picture("page")
    bench.put_cursor("2 * 21")
    bench.offered("AdaCoder: insert the actual output")
    expect(bench.line("42")).to_be_visible()
    bench.command("Test: Run Tests in Current File")
    expect(bench.editor.locator('[class*="testing-passed"]').first).to_be_visible()
    expect(bench.lens("✓ 1/1 example")).to_be_visible()


def test_without_a_debugger_a_message_says_what_to_install(bench: Workbench) -> None:
    failing = file(bench.folder, "debugged", TRUNCATED)
    bench.open(failing)
    expect(bench.editor.locator(".testing-run-glyph").first).to_be_visible()
    bench.put_cursor("debugged(83.5)")
    bench.command("Test: Debug Test at Cursor")
    expect(bench.notification("install ms-python.debugpy")).to_be_visible()
