"""The built site works from disk: links, search and accessibility, without any other host.

`nox -s docs` builds the site twice, into the folders of ADACODER_SITE, and runs these tests.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from integration.docs.test_blocks import PAGES
from support.paths import ROOT

SITE, AGAIN = map(Path, os.environ["ADACODER_SITE"].split(os.pathsep))
AXE = Path(os.environ["ADACODER_AXE"]) / "node_modules/axe-core/axe.min.js"
FLAGS = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync", "--disable-background-networking")
READ = """() => ({
    links: [...document.querySelectorAll("[href], [src]")].map(each => each.href?.baseVal ?? each.href ?? each.src),
    ids: [...document.querySelectorAll("[id]")].map(each => each.id),
    told: [document.querySelector("meta[name=description]")?.content, document.querySelector("link[rel~=icon]")?.href],
})"""
EXAMINE = """async (options) => (await axe.run(options)).violations.map(
    each => [each.id, each.nodes[0].html, each.nodes.length]
)"""
COLOURS = {"runOnly": ["color-contrast"]}
DARK = frozenset({"index.html", "cli.html", "editors.html"})
"""Pages whose dark colours are checked. Together they have all coloured elements."""
BROKEN = """<!doctype html><html><title>Broken</title><body><a href="index.html#nowhere">a</a><a href="gone.html">b</a>
<img src="http://192.0.2.1/x.png"></body></html>"""
"""A page with a dead anchor, a dead link, a foreign image, and no language."""


@dataclass(frozen=True)
class Visit:
    asked: Sequence[str]
    """Return the addresses that the page loaded."""
    links: Sequence[str]
    ids: Sequence[str]
    told: Sequence[str | None]
    """Return the parts of a page that browsers and search engines show: its description and its icon."""
    violations: Sequence[object]

    @property
    def foreign(self) -> list[str]:
        return [url for url in self.asked if urlparse(url).scheme not in {"file", "data"}]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=[*FLAGS])
        yield chromium
        chromium.close()


def _visit(page: Page, file: Path) -> Visit:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    found = page.evaluate(READ)
    page.add_script_tag(path=AXE)
    violations = page.evaluate(EXAMINE, {})
    if file.name in DARK:
        page.emulate_media(color_scheme="dark")
        violations += page.evaluate(EXAMINE, COLOURS)
    return Visit(asked, found["links"], found["ids"], found["told"], violations)


def _visits(browser: Browser, folder: Path) -> Mapping[Path, Visit]:
    context = browser.new_context(color_scheme="light", offline=True)
    visits = {}
    for file in sorted(folder.rglob("*.html")):
        if "http-equiv" not in file.read_text(encoding="utf-8"):  # this page only redirects
            page = context.new_page()
            visits[file] = _visit(page, file)
            page.close()
    context.close()
    return visits


def _dead(visits: Mapping[Path, Visit]) -> list[tuple[str, str]]:
    """Return the dead links to files and anchors, each with its page."""
    dead = []
    for file, visit in visits.items():
        for link in visit.links:
            url, anchor = urldefrag(link)
            target = Path(unquote(urlparse(url).path))
            if urlparse(url).scheme == "file" and not (
                target.exists() and (not anchor or target not in visits or unquote(anchor) in visits[target].ids)
            ):
                dead.append((file.name, link))
    return dead


def test_all_pages_are_accessible_and_complete(browser: Browser) -> None:
    visits = _visits(browser, SITE)
    pages = {SITE / page.relative_to(ROOT).with_suffix(".html") for page in PAGES}
    assert visits.keys() == {*pages, SITE / "search.html"}
    assert {file.name: visit.violations for file, visit in visits.items() if visit.violations} == {}
    assert {file.name: visit.foreign for file, visit in visits.items() if visit.foreign} == {}
    assert _dead(visits) == []
    assert [file.name for file, visit in visits.items() if not all(visit.told)] == ["search.html"]
    descriptions = {str(visits[page].told[0]) for page in pages}
    assert len(descriptions) == len(pages) - 1  # the README and the first page begin alike
    assert max(map(len, descriptions)) <= 155  # search engines cut off the rest


def test_a_broken_page_is_found(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(BROKEN, encoding="utf-8")
    visits = _visits(browser, tmp_path)
    (visit,) = visits.values()
    assert "html-has-lang" in str(visit.violations)
    assert visit.foreign == ["http://192.0.2.1/x.png"]
    assert visit.told == [None, None]
    assert [link.rpartition("/")[2] for _, link in _dead(visits)] == ["index.html#nowhere", "gone.html"]


def test_the_search_works_from_disk(browser: Browser) -> None:
    page = browser.new_page(offline=True)
    page.goto(f"{(SITE / 'search.html').as_uri()}?q=bubblewrap")
    expect(page.locator("ul.search a").filter(has_text="Security").first).to_be_visible()


def test_two_builds_are_equal() -> None:
    builds = [
        {file.relative_to(root): file.read_bytes() for file in root.rglob("*") if file.is_file()}
        for root in (SITE, AGAIN)
    ]
    assert builds[0].keys() == builds[1].keys()
    assert [name for name in builds[0] if builds[0][name] != builds[1][name]] == []
