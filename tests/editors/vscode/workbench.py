"""A window of the workbench, with what a person sees and does in it. All waits are for visible states."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, FrameLocator, Locator, Page, expect
from playwright.sync_api import TimeoutError as NotSeen

from editors.vscode.code_server import PATIENCE, CodeServer, wait_until

expect.set_options(timeout=PATIENCE * 1000)
SIZE = {"width": 1280, "height": 800}
NO_BREAK = "\u00a0"
_TRIES = (5, 10, 20, 40, 80)
"""Seconds to wait until a list shows what was typed, or a menu appears. After that, it is opened again, because the
window may have missed a key. Later waits are longer, for slow machines.
"""
_SHOWN = 20_000
"""Milliseconds in which VS Code shows a notification."""
_STILL = 0.5
"""Seconds without a change after which a code lens can be clicked."""
_LOADS = 3
"""Number of times that a window on a workspace is loaded until it shows its folders."""
_CACHED = 5.0
"""Seconds after which VS Code has cached a workspace in the browser."""


class Workbench:
    """A window on a folder or workspace."""

    def __init__(self, page: Page, server: CodeServer, folder: Path, pictures: Path) -> None:
        self.page = page
        self.server = server
        self.folder = folder
        self._pictures = pictures

    # Contents

    @property
    def editor(self) -> Locator:
        """The active text editor."""
        return self.page.locator(".editor-group-container.active .editor-instance .monaco-editor").first

    @property
    def menu(self) -> Locator:
        """The menu of code actions."""
        return self.page.locator(".action-widget:not(.action-list-submenu-panel)")

    @property
    def list(self) -> Locator:
        """The list of the palette, or of any other choice."""
        return self.page.locator(".quick-input-widget:visible")

    @property
    def status_bar(self) -> Locator:
        return self.page.locator(".part.statusbar")

    def line(self, text: str) -> Locator:
        """Return the line of the editor that contains `text`."""
        return self.editor.locator(".view-line", has_text=text.replace(" ", NO_BREAK)).first

    def line_of_cell(self, text: str) -> Locator:
        """Return the line of a notebook's cell that contains `text`."""
        return self.page.locator(".notebookOverlay .view-line", has_text=text.replace(" ", NO_BREAK)).first

    def beside(self) -> str:
        """Return the texts that decorations show behind the lines of the editor."""
        texts = """spans => spans.map(each => getComputedStyle(each, "::after").content)
            .filter(each => each !== "none" && each !== "normal").join("\\n")"""
        return str(self.editor.locator(".view-line span").evaluate_all(texts))

    def lens(self, text: str) -> Locator:
        """Return the code lens that contains `text`. A lens without a command is no link."""
        return self.editor.locator(".codelens-decoration :is(a, span)", has_text=text).first

    def notification(self, text: str | re.Pattern[str]) -> Locator:
        """Return a notification that contains `text`."""
        return self.page.locator(".notifications-toasts .notification-list-item", has_text=text).first

    def listed_notification(self, text: str) -> Locator:
        """Return a notification that contains `text`. If VS Code only counts it at the bell, open the list.

        VS Code sometimes does not show a notification that follows the choice of a button of another.
        """
        try:
            self.notification(text).wait_for(timeout=_SHOWN)
        except NotSeen:
            self.command("Notifications: Show Notifications")
        return self.page.locator(".notification-list-item", has_text=text).first

    def tab(self, name: str) -> Locator:
        return self.page.locator(".tab", has_text=name).first

    @property
    def document(self) -> FrameLocator:
        """The rendered document."""
        return self.page.frame_locator("iframe.webview.ready").frame_locator("#active-frame")

    def preview(self, text: str) -> Locator:
        """Return the part of a rendered document that contains `text`."""
        return self.document.get_by_text(text).first

    def title_button(self, name: str) -> Locator:
        """Return a button in the title bar of the active editor."""
        return (
            self.page.locator(".editor-group-container.active .editor-actions").get_by_role("button", name=name).first
        )

    # Actions of a person

    def open(self, file: Path) -> None:
        """Open a file by its path."""
        self._pick("Control+p", str(file), file.name)
        expect(self.page.locator(".tab.active", has_text=file.name)).to_be_visible()
        expect(self.editor.locator(".view-line").first).to_be_visible()

    def open_notebook(self, file: Path) -> None:
        """Open a notebook by its path."""
        self._pick("Control+p", str(file), file.name)
        expect(self.line_of_cell("")).to_be_visible()

    def new_untitled_copy(self, language: str) -> None:
        """Copy the text of the active editor into an untitled text in a language."""
        self.editor.locator(".view-line").first.click()
        for key in ("Control+a", "Control+c"):
            self.page.keyboard.press(key)
        self.command("File: New Untitled Text File")
        expect(self.tab("Untitled-1")).to_be_visible()
        self.command("Change Language Mode")
        self.list.locator("input").first.fill(language)
        self.choose(language)
        self.editor.locator(".view-line").first.click()
        self.page.keyboard.press("Control+v")

    def command(self, title: str) -> None:
        """Run a command of the palette."""
        self._pick("F1", f">{title}", title)

    def _pick(self, key: str, typed: str, label: str) -> None:
        """Open a list and choose the row with exactly this label."""
        chosen = any(self._is_chosen(key, typed, label, 1000 * seconds) for seconds in _TRIES)
        assert chosen, f"{label} is not in the list for {typed}"
        expect(self._row(label)).to_be_hidden()

    def _is_chosen(self, key: str, typed: str, label: str, timeout: float) -> bool:
        """Open a list, choose a row, and return whether the row was there until then.

        The contents of a list do not change while it is open. But it closes if something else takes the focus.
        """
        self.page.keyboard.press("Escape")
        self.page.keyboard.press(key)
        try:
            self.list.wait_for(timeout=timeout)  # the window misses keys while it renders a document
            self.list.locator("input").first.fill(typed, timeout=timeout)
            self._row(label).click(timeout=timeout)
        except NotSeen:
            return False
        return True

    def choose(self, label: str) -> None:
        """Choose a row of the open list."""
        row = self._row(label)
        expect(row).to_be_visible()
        row.click()
        expect(row).to_be_hidden()

    def _row(self, label: str) -> Locator:
        return self.list.locator(".monaco-list-row").filter(has=self.page.get_by_text(label, exact=True)).first

    def press_lens(self, text: str) -> None:
        """Click a code lens after VS Code has rendered it for the last time. A click is lost if it is rendered anew."""

        def is_still() -> bool:
            found = self.lens(text).element_handle()
            self.page.wait_for_timeout(1000 * _STILL)
            return bool(found.evaluate("element => element.isConnected"))

        wait_until(is_still, f"the lens '{text}' stays")
        self.lens(text).click()

    def put_cursor(self, text: str) -> None:
        """Put the cursor at the beginning of a line."""
        self.line(text).click()
        self.page.keyboard.press("Home")

    def write_below(self, text: str, typed: str) -> None:
        """Type a text in a new line below another line."""
        self.line(text).click()
        self.page.keyboard.press("End")
        self.page.keyboard.press("Enter")
        self.page.keyboard.press("Home")
        self.page.keyboard.type(typed)

    @property
    def light_bulb(self) -> Locator:
        """The light bulb beside the cursor. A click on it runs the only action."""
        return self.editor.locator('.lightBulbWidget, [class*="codicon-gutter-lightbulb"]').first

    def actions(self) -> Sequence[str]:
        """Open the menu of `Ctrl+.` at the cursor and return its entries; empty if there is no menu.

        The menu stays open.
        """
        shown = any(self._is_menu_shown(1000 * seconds) for seconds in _TRIES)
        assert shown, "there is no menu of code actions, and no message that there are none"
        return list(self.menu.locator(".monaco-list-row.action .title").all_inner_texts())

    def _is_menu_shown(self, timeout: float) -> bool:
        """Press `Ctrl+.` and return whether a menu or a message appears.

        A menu closes if something else takes the focus, for example a notebook's cell that is rendered anew.
        """
        self.page.keyboard.press("Control+.")
        nothing = self.page.locator(".monaco-editor-overlaymessage", has_text="No code actions available")
        try:
            self.menu.or_(nothing).filter(visible=True).first.wait_for(timeout=timeout)
        except NotSeen:
            self.page.keyboard.press("Escape")
            return False
        return True

    def offered(self, title: str) -> None:
        """Wait for a code action and choose it."""
        wait_until(lambda: self._is_offered(title) and self._is_chosen_in_menu(title), title)
        expect(self.menu).to_be_hidden()

    def until_offered(self, title: str) -> None:
        """Open the menu of code actions until it contains `title`. The server may not know of the change yet."""
        wait_until(lambda: self._is_offered(title), title)

    def _is_offered(self, title: str) -> bool:
        """Open the menu of code actions, and leave it open if it contains `title`."""
        if any(title in each for each in self.actions()):
            return True
        self.page.keyboard.press("Escape")
        expect(self.menu).to_be_hidden()
        return False

    def _is_chosen_in_menu(self, title: str) -> bool:
        """Choose an entry of the open menu, and return whether the entry was there until then."""
        entry = self.menu.locator(".monaco-list-row.action", has_text=title).first
        try:
            entry.hover(force=True, timeout=5000)  # a menu that has just opened misses the first click
            entry.click(timeout=5000)
        except NotSeen:
            return False
        return True

    def save(self, file: Path, has: str) -> None:
        """Save the file, and wait until the file on disk contains `has`."""
        self.page.keyboard.press("Control+s")
        wait_until(lambda: has in file.read_text(encoding="utf-8"), f"{has!r} in {file.name}")
        expect(self.page.locator(".tab.active.dirty")).to_have_count(0)

    def press(self, notification: Locator, button: str) -> None:
        """Press a button of a notification."""
        notification.get_by_role("button", name=button, exact=True).click()

    def trust(self) -> None:
        """Trust the open folder."""
        self.command("Workspaces: Manage Workspace Trust")
        editor = self.page.locator(".workspace-trust-editor")
        editor.get_by_role("button", name="Trust", exact=True).first.click()
        expect(editor.get_by_text(re.compile("^You trust this "))).to_be_visible()
        self.command("View: Close Editor")  # newer versions show it above everything else

    def clear(self) -> None:
        """Close everything in any state, so that the next flow starts with an empty window."""
        for _ in range(3):
            self.page.keyboard.press("Escape")
        self.command("View: Close All Editors")
        unsaved = self.page.locator(".monaco-dialog-box").get_by_role("button", name=re.compile("Don't Save"))
        empty = self.page.locator(".editor-group-container.empty")
        expect(unsaved.or_(empty).first).to_be_visible()
        if unsaved.is_visible():
            unsaved.click()
        expect(empty).to_be_visible()
        if self.page.locator(".part.panel").is_visible():
            self.page.keyboard.press("Control+j")
        self.command("Notifications: Clear All Notifications")
        expect(self.page.locator(".notifications-toasts .notification-list-item")).to_have_count(0)

    def picture(self, name: str, clip: dict[str, float] | None = None) -> Path:
        """Take a picture of the window, or of a part of it."""
        self._pictures.mkdir(parents=True, exist_ok=True)
        file = self._pictures / f"{name}.png"
        self.page.screenshot(path=file, clip=clip, animations="disabled")
        return file


@contextmanager
def window(
    browser: Browser,
    server: CodeServer,
    place: Path,
    pictures: Path,
    *,
    name: str,
    trusted: bool = True,
    language: str = "",
) -> Iterator[Workbench]:
    """Open a window on a folder, or on a `.code-workspace` file, for a new user.

    With a language, extensions speak that language. VS Code itself stays English, because it has no language pack.
    """
    context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
    if language:
        context.add_init_script(f"globalThis._VSCODE_NLS_LANGUAGE = {json.dumps(language)}")
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    kind = "folder" if place.is_dir() else "workspace"
    payload = quote(json.dumps([["skipWelcome", "true"]]))
    page.goto(f"{server.address}/?{kind}={place}&payload={payload}")
    bench = Workbench(page, server, place if place.is_dir() else place.parent, pictures)
    try:
        expect(page.locator(".monaco-workbench .part.statusbar")).to_be_visible()
        # its folders load after the window, and a file that is opened before them does not get their settings
        if kind == "workspace":
            _until_it_has_folders(page)
        if trusted:
            bench.trust()
        yield bench
    except BaseException:
        bench.picture(f"failed-{name}")
        raise
    finally:
        context.close()


def _until_it_has_folders(page: Page) -> None:
    """Reload a window whose workspace has no folders, as a person would.

    Some windows stay without folders, and a reload gives them their folders. A race in VS Code is the likely cause. It
    builds the workspace from a cache in the browser, which is empty the first time, and then from its file. If the file
    is read before the workspace is there, VS Code drops it (`updateWorkspaceAndInitializeConfiguration` in its
    configurationService). The cache holds the file at the next load, unless the window is reloaded at once.
    """
    folders = page.locator(".explorer-folders-view .monaco-list-row").first
    none = page.locator(".pane-header", has_text="No Folder Opened").first
    for _ in range(_LOADS - 1):
        expect(folders.or_(none).first).to_be_visible()
        try:
            folders.wait_for(timeout=_CACHED * 1000)
        except NotSeen:
            page.reload()
        else:
            return
    expect(folders).to_be_visible()
