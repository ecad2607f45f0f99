"""Flows of a person in VS Code, from a light bulb, a command or a lens to the file on disk."""

from __future__ import annotations

import re
from threading import Event

import pytest
from playwright.sync_api import expect

from editors.vscode.code_server import wait_until
from editors.vscode.samples import (
    DIFFERING,
    PLAN,
    ROUNDED,
    TRUNCATED,
    Model,
    cells,
    file,
    function,
    held,
    never_ending,
    notebook,
    reply,
)
from editors.vscode.workbench import Workbench
from support.standins.server import Script

pytestmark = pytest.mark.isolation

WRITTEN = "divmod(minutes, 60)"
"""Part of a body. It shows that the body was inserted."""


def test_light_bulb(bench: Workbench, model: Model) -> None:
    """The light bulb generates a function that is verified. Saving writes it to disk."""
    subtitles = file(bench.folder, "timestamp")
    model.says("timestamp", reply("timestamp", ROUNDED))
    bench.open(subtitles)
    bench.put_cursor("def timestamp")
    expect(bench.light_bulb).to_be_visible()
    assert "AdaCoder: generate function 'timestamp'" in bench.actions()
    bench.picture("light-bulb")
    bench.page.keyboard.press("Escape")
    bench.put_cursor(">>> timestamp(83.5)")  # opening the menu hid the light bulb
    bench.light_bulb.click()
    expect(bench.line(WRITTEN)).to_be_visible()
    expect(bench.notification("Inserted 'timestamp'. 3/3 examples passed.")).to_be_visible()
    expect(bench.lens("✓ 3/3 examples")).to_be_visible()
    bench.picture("verified")
    bench.save(subtitles, ROUNDED)
    assert subtitles.read_text(encoding="utf-8") == function("timestamp", ROUNDED)


def test_one_undo_takes_it_back(bench: Workbench, model: Model) -> None:
    undone = file(bench.folder, "undone")
    model.says("undone", reply("undone", ROUNDED))
    bench.open(undone)
    bench.press_lens("Generate")
    expect(bench.line(WRITTEN)).to_be_visible()
    bench.line("def undone").click()
    bench.page.keyboard.press("Control+z")
    expect(bench.line(WRITTEN)).to_be_hidden()
    expect(bench.line("def undone")).to_be_visible()


def test_a_tour(bench: Workbench, model: Model) -> None:
    """The pictures of the animation on the extension's page."""
    tour, goes_on = file(bench.folder, "srt_time"), Event()
    written = reply("srt_time", ROUNDED)
    model.says("srt_time", Script(written, token=len(written) - 10, until=goes_on))
    bench.open(tour)
    bench.put_cursor("def srt_time")
    expect(bench.lens("Generate")).to_be_visible()
    bench.picture("tour-1")
    assert "AdaCoder: generate function 'srt_time'" in bench.actions()
    bench.picture("tour-2")
    bench.page.keyboard.press("Escape")
    bench.press_lens("Generate")
    wait_until(lambda: "divmod(minutes" in bench.beside(), "the reply is shown")
    bench.picture("tour-3")
    goes_on.set()
    expect(bench.notification("Inserted 'srt_time'. 3/3 examples passed.")).to_be_visible()
    expect(bench.lens("✓ 3/3 examples")).to_be_visible()
    expect(bench.lens("Undo")).to_be_visible()
    bench.picture("tour-4")
    bench.press_lens("✓ 3/3 examples")
    expect(bench.preview("srt_time").first).to_be_visible()
    bench.picture("tour-5")


def test_an_insertion_is_kept_or_taken_back_in_place(bench: Workbench, model: Model) -> None:
    """Undo takes back exactly the insertion."""
    placed = file(bench.folder, "placed")
    model.says("placed", reply("placed", ROUNDED))
    bench.open(placed)
    bench.press_lens("Generate")
    expect(bench.line(WRITTEN)).to_be_visible()
    expect(bench.lens("✓ 3/3 examples")).to_be_visible()
    bench.picture("keep-undo")
    bench.press_lens("Undo")
    expect(bench.line(WRITTEN)).to_be_hidden()
    bench.save(placed, "def placed")
    assert placed.read_text(encoding="utf-8") == function("placed", "")
    bench.press_lens("Generate")
    bench.press_lens("Show Changes")
    expect(bench.tab("Before AdaCoder ↔ Now")).to_be_visible()
    bench.picture("changes")
    bench.command("View: Close Editor")
    bench.command("AdaCoder: Undo Insertion")
    expect(bench.line(WRITTEN)).to_be_hidden()
    bench.press_lens("Generate")
    bench.press_lens("Keep")
    expect(bench.lens("Undo")).to_be_hidden()
    bench.save(placed, ROUNDED)


def test_typing_keeps_an_insertion(bench: Workbench, model: Model) -> None:
    continued = file(bench.folder, "continued")
    model.says("continued", reply("continued", ROUNDED))
    bench.open(continued)
    bench.press_lens("Generate")
    expect(bench.lens("Undo")).to_be_visible()
    bench.put_cursor("def continued")
    bench.page.keyboard.type("# Mine\n")
    expect(bench.lens("Undo")).to_be_hidden()
    bench.save(continued, "# Mine\n" + function("continued", ROUNDED))


def test_an_untitled_text(bench: Workbench, model: Model) -> None:
    """The light bulb, the palette and the lenses work on a text that was never saved."""
    model.says("untitled", reply("untitled", TRUNCATED), PLAN, reply("untitled", ROUNDED))
    bench.open(file(bench.folder, "untitled"))
    bench.new_untitled_copy("Python")
    bench.put_cursor("def untitled")
    bench.until_offered("AdaCoder: generate function 'untitled'")
    bench.page.keyboard.press("Escape")
    bench.command("AdaCoder: Generate Function")
    expect(bench.line("round(seconds * 1000)")).to_be_visible()
    expect(bench.lens("✓ 3/3 examples")).to_be_visible()
    assert (bench.folder / "untitled.py").read_text(encoding="utf-8") == function("untitled", "")


def test_a_cell_of_a_notebook(bench: Workbench, model: Model) -> None:
    """The function of a cell is written with the names of the cell above. Moved above them, it fails."""
    body = ROUNDED.replace("1000)", "SCALE)")
    model.says("celled", reply("celled", body))
    path = notebook(bench.folder, "celled", "%matplotlib inline\nSCALE = 1000", function("celled", ""))
    bench.open_notebook(path)
    bench.line_of_cell("def celled").click()
    bench.offered("AdaCoder: generate function 'celled'")
    expect(bench.line_of_cell("round(seconds * SCALE)")).to_be_visible()
    expect(bench.notification("Inserted 'celled'. 3/3 examples passed.")).to_be_visible()
    bench.picture("notebook")
    bench.save(path, "round(seconds * SCALE)")
    assert cells(path) == ["%matplotlib inline\nSCALE = 1000", function("celled", body)]
    bench.command("AdaCoder: Check Examples")
    expect(bench.notification("Checked 'celled'. 3/3 examples passed.")).to_be_visible()
    bench.line_of_cell("def celled").click()
    bench.command("Notebook: Move Cell Up")
    bench.line_of_cell("def celled").click()
    bench.command("AdaCoder: Check Examples")
    expect(bench.notification("SCALE")).to_be_visible()


def test_what_is_kept_for_a_cell_has_a_preview(bench: Workbench, model: Model) -> None:
    model.says("kept_cell", reply("kept_cell", TRUNCATED))
    path = notebook(bench.folder, "kept_cell", "import os", function("kept_cell", ""))
    bench.open_notebook(path)
    bench.line_of_cell("def kept_cell").click()
    bench.command("AdaCoder: Generate Function")
    expect(bench.page.locator(".monaco-diff-editor .view-line", has_text="int(seconds")).not_to_have_count(0)
    bench.picture("preview-of-cell")
    bench.title_button("Insert").click()
    expect(bench.line_of_cell("int(seconds * 1000)")).to_be_visible()
    bench.save(path, "int(seconds * 1000)")
    assert cells(path) == ["import os", function("kept_cell", TRUNCATED)]


def test_fix_from_the_palette(bench: Workbench, model: Model) -> None:
    fixed = file(bench.folder, "fixed", TRUNCATED)
    model.says("fixed", PLAN, reply("fixed", ROUNDED))
    bench.open(fixed)
    bench.put_cursor("def fixed")
    bench.command("Fix with AdaCoder")
    expect(bench.line("round(seconds * 1000)")).to_be_visible()
    bench.save(fixed, ROUNDED)


def test_progress_and_cancel(bench: Workbench, model: Model) -> None:
    """The progress shows the state of the job, and its button cancels it. The text in the editor does not change."""
    cancelled = file(bench.folder, "cancelled")
    model.says("cancelled", never_ending("cancelled"))
    bench.open(cancelled)
    bench.put_cursor("def cancelled")
    bench.offered("AdaCoder: generate function 'cancelled'")
    progress = bench.notification("AdaCoder: generating 'cancelled'")
    expect(progress).to_contain_text(re.compile(r"round.1/6"))
    expect(bench.lens("round 1/6")).to_be_visible()
    bench.picture("progress")
    bench.press(progress, "Cancel")
    expect(bench.notification("Cancelled 'cancelled'; nothing was changed.")).to_be_visible()
    expect(progress).to_be_hidden()
    expect(bench.lens("Generate")).to_be_visible()
    assert cancelled.read_text(encoding="utf-8") == function("cancelled", "")
    expect(bench.page.locator(".tab.active.dirty")).to_have_count(0)


def test_cancel_by_its_lens(bench: Workbench, model: Model) -> None:
    ended = file(bench.folder, "ended")
    model.says("ended", never_ending("ended"))
    bench.open(ended)
    bench.press_lens("Generate")
    bench.press_lens("Cancel")
    expect(bench.notification("Cancelled 'ended'; nothing was changed.")).to_be_visible()
    expect(bench.lens("Generate")).to_be_visible()


def test_a_wish_is_told_to_the_model(bench: Workbench, model: Model) -> None:
    wished = file(bench.folder, "wished")
    model.says("wished", reply("wished", ROUNDED))
    bench.open(wished)
    bench.put_cursor("def wished")
    bench.command("AdaCoder: Generate with a Wish…")
    bench.list.locator("input").first.fill("use round")
    bench.picture("wish")
    bench.page.keyboard.press("Enter")
    expect(bench.line("round(seconds * 1000)")).to_be_visible()
    assert "The user wishes for this function: use round" in model.asked["wished"]
    bench.save(wished, ROUNDED)


def test_what_the_model_writes_is_shown_beside_the_function(bench: Workbench, model: Model) -> None:
    """Typing hides it, and so does Escape. The job goes on."""
    for name, hide in (("typed", None), ("escaped", "Escape")):
        goes_on = Event()
        path = file(bench.folder, name)
        model.says(name, Script(reply(name, ROUNDED), token=len(reply(name, ROUNDED)) - 10, until=goes_on))
        bench.open(path)
        bench.put_cursor("def ")
        bench.command("AdaCoder: Generate Function")
        wait_until(lambda: "divmod(minutes" in bench.beside(), "the reply is shown")
        assert "round 1/6" in bench.beside().replace("\u00a0", " ")
        bench.picture("writing")
        assert path.read_text(encoding="utf-8") == function(name, "")
        if hide is None:
            bench.put_cursor("def ")
            bench.page.keyboard.type("# Mine\n")
        else:
            bench.editor.locator(".view-line").first.click()
            bench.page.keyboard.press(hide)
        wait_until(lambda: bench.beside() == "", "the reply is hidden")
        goes_on.set()
        expect(bench.line("round(seconds * 1000)")).to_be_visible()
        bench.save(path, ROUNDED)


def test_a_result_to_review_is_offered_at_the_cursor(bench: Workbench, model: Model) -> None:
    """With `preview`, the body is shown at the end of the stub. Tab inserts it, and the examples run again."""
    ghost = file(bench.folder, "ghost")
    model.says("ghost", reply("ghost", ROUNDED))
    bench.server.set(adacoder__preview=True)
    bench.open(ghost)
    bench.press_lens("Generate")
    expect(bench.title_button("Insert")).to_be_visible()
    bench.open(ghost)
    bench.line('"""').click()  # the header ends before the body
    bench.page.keyboard.press("Control+End")
    bench.page.keyboard.type("    ")
    expect(bench.editor.locator(".ghost-text").first).to_be_visible()
    bench.picture("inline-completion")
    assert ghost.read_text(encoding="utf-8") == function("ghost", "")
    bench.page.keyboard.press("Tab")
    expect(bench.line(WRITTEN)).to_be_visible()
    expect(bench.notification("Checked 'ghost'. 3/3 examples passed.")).to_be_visible()
    expect(bench.lens("✓ 3/3 examples")).to_be_visible()
    bench.server.set(adacoder__preview=None)
    bench.save(ghost, ROUNDED.rstrip())


def test_a_plan_in_the_second_round(bench: Workbench, model: Model) -> None:
    """The first body fails an example. With the strategy `adacoder`, a plan follows, and the second body passes."""
    bench.server.set(adacoder__strategy="adacoder")
    planned, goes_on = file(bench.folder, "planned"), Event()
    model.says("planned", reply("planned", TRUNCATED), held(PLAN, goes_on), reply("planned", ROUNDED))
    bench.open(planned)
    bench.put_cursor("def planned")
    bench.command("AdaCoder: Generate Function")
    progress = bench.notification("Generating function")
    expect(progress).to_contain_text("round 1/6 · planning from the error")
    bench.picture("plan")
    goes_on.set()
    expect(bench.line("round(seconds * 1000)")).to_be_visible()
    expect(bench.notification("3/3 examples passed")).to_be_visible()
    bench.save(planned, ROUNDED)
    bench.server.set(adacoder__strategy=None)


def test_what_is_kept_is_inserted_by_the_button_of_its_preview(bench: Workbench, model: Model) -> None:
    """Nothing passes. The text stays unchanged beside the best result, until the person inserts that."""
    kept = file(bench.folder, "kept")
    model.says("kept", reply("kept", TRUNCATED))
    bench.open(kept)
    bench.press_lens("Generate")
    told = bench.notification("Not inserted; its result is kept: 'kept' passes only 2/3 examples.")
    expect(told).to_be_visible()
    for button in ("Insert", "Discard", "Show Journal"):
        expect(told.get_by_role("button", name=button, exact=True)).to_be_visible()
    expect(bench.page.locator(".monaco-diff-editor .view-line", has_text="int(seconds")).not_to_have_count(0)
    bench.picture("preview")
    assert kept.read_text(encoding="utf-8") == function("kept", "")
    bench.title_button("Insert").click()
    expect(bench.notification("Inserted 'kept', unverified.")).to_be_visible()
    expect(bench.line("int(seconds * 1000)")).to_be_visible()
    bench.save(kept, TRUNCATED)


def test_what_is_kept_is_discarded(bench: Workbench, model: Model) -> None:
    discarded = file(bench.folder, "discarded")
    model.says("discarded", reply("discarded", TRUNCATED))
    bench.open(discarded)
    bench.press_lens("Generate")
    bench.title_button("Discard").click()
    expect(bench.lens("Generate")).to_be_visible()
    expect(bench.lens("Insert")).to_be_hidden()
    assert discarded.read_text(encoding="utf-8") == function("discarded", "")


def test_lens_leads_to_the_journal(bench: Workbench, model: Model) -> None:
    shown = file(bench.folder, "shown")
    model.says("shown", reply("shown", ROUNDED))
    bench.open(shown)
    bench.press_lens("Generate")
    bench.press_lens("✓ 3/3 examples")
    expect(bench.preview("3/3 examples passed")).to_be_visible()
    bench.picture("journal")


def test_diagnostic_and_its_quick_fix(bench: Workbench, model: Model) -> None:
    """A failed example is marked at its own line, and its quick fix repairs the body."""
    marked = file(bench.folder, "marked", TRUNCATED)
    model.says("marked", PLAN, reply("marked", ROUNDED))
    bench.open(marked)
    bench.put_cursor("def marked")
    bench.command("AdaCoder: Check Examples")
    mark = bench.editor.locator(".squiggly-error").first
    expect(mark).to_be_visible()
    expect(bench.lens("✗ 2/3 examples")).to_be_visible()
    bench.put_cursor(">>> marked(59.9996)")
    bench.picture("diagnostic")
    bench.offered("Fix with AdaCoder")
    expect(bench.line("round(seconds * 1000)")).to_be_visible()
    expect(bench.editor.locator(".squiggly-error")).to_have_count(0)
    bench.save(marked, ROUNDED)


def test_a_question_about_an_output(bench: Workbench, model: Model) -> None:
    """A second program differs. The person's answer becomes an example, and one undo takes it back."""
    folder = bench.folder / "asking"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.adacoder]\ncrossCheck = true\n", encoding="utf-8")
    asked = file(folder, "asked")
    model.says("asked", reply("asked", ROUNDED), reply("asked", DIFFERING))
    bench.open(asked)
    bench.press_lens("Generate")
    question = bench.notification("Which is right? asked(0.0) gives '00:00:00,000', and a second program gives")
    expect(question).to_be_visible()
    expect(bench.lens("asked(0.0):")).to_be_visible()
    bench.picture("question")
    bench.press(question, "'00:00:00,000'")
    expect(bench.line(">>> asked(0.0)")).to_be_visible()
    expect(bench.lens("✓ 4/4 examples")).to_be_visible()
    bench.line(">>> asked(0.0)").click()
    bench.page.keyboard.press("Control+z")
    expect(bench.line(">>> asked(0.0)")).to_be_hidden()
    expect(bench.line(WRITTEN)).to_be_visible()


def test_typing_while_a_job_runs(bench: Workbench, model: Model) -> None:
    """Text typed elsewhere in the file stays, and the body is inserted."""
    typed, goes_on = file(bench.folder, "typed"), Event()
    model.says("typed", held(reply("typed", ROUNDED), goes_on))
    bench.open(typed)
    bench.press_lens("Generate")
    expect(bench.notification("AdaCoder: generating 'typed'")).to_contain_text(re.compile(r"round.1/6"))
    bench.put_cursor("def typed")
    bench.page.keyboard.type("# typed meanwhile\n")
    expect(bench.line("# typed meanwhile")).to_be_visible()
    goes_on.set()
    expect(bench.line(WRITTEN)).to_be_visible()
    bench.save(typed, ROUNDED)
    assert typed.read_text(encoding="utf-8") == "# typed meanwhile\n" + function("typed", ROUNDED)


def test_editing_the_function_itself(bench: Workbench, model: Model) -> None:
    """If the function was edited meanwhile, its body is kept and not inserted unasked."""
    edited, goes_on = file(bench.folder, "edited"), Event()
    model.says("edited", held(reply("edited", ROUNDED), goes_on))
    bench.open(edited)
    bench.press_lens("Generate")
    expect(bench.notification("AdaCoder: generating 'edited'")).to_contain_text(re.compile(r"round.1/6"))
    bench.line("A moment of a film").click()
    bench.page.keyboard.press("End")
    bench.page.keyboard.type(" Quite so.")
    expect(bench.line("Quite so.")).to_be_visible()
    goes_on.set()
    expect(bench.notification("Not inserted; its result is kept: 'edited' was edited meanwhile.")).to_be_visible()
    expect(bench.line(WRITTEN)).to_be_hidden()
    bench.put_cursor("def edited")
    bench.offered("Insert AdaCoder's result for 'edited' (3/3 examples)")
    expect(bench.line(WRITTEN)).to_be_visible()
    bench.save(edited, ROUNDED)
    assert "SRT files write it. Quite so.\n" in edited.read_text(encoding="utf-8")
