"""The HTML report and the plots, with hostile names."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from adacoder.arena.cells import keep
from adacoder.arena.html import journal_of, page
from adacoder.arena.papers import SETS, tables
from adacoder.arena.plots import PlotError, draw
from adacoder.arena.rows import RowsError
from support.arena_rows import column, row

HOSTILE = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>&\"\u2028<!--"


class Read(HTMLParser):
    """Counts tags, and collects texts and the contents of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.texts: list[str] = []
        self.policy = ""
        self._script: dict[str, str | None] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        if dict(attrs).get("http-equiv"):
            self.policy = dict(attrs)["content"] or ""
        self._script = dict(attrs) if tag == "script" else None

    def handle_endtag(self, tag: str) -> None:
        self._script = None

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts.append((self._script, data))
        else:
            self.texts.append(data)


def _page(name: str) -> str:
    rows = [*column("direct", "+!", model=name, candidate=name), row(1, dataset=name, reason=name)]
    return page(tables(rows, ["own"]), rows, lambda row: name, [name])


def test_hostile_names_are_text() -> None:
    tame, hostile = Read(_page("tame")), Read(_page(HOSTILE))
    assert hostile.tags == tame.tags
    assert hostile.attributes == tame.attributes
    assert "onerror" not in hostile.attributes
    assert any("<img src=x onerror='alert(2)'>" in text for text in hostile.texts)


def test_the_cells_are_data_and_come_out_as_they_went_in() -> None:
    scripts = Read(_page(HOSTILE)).scripts
    data = next(text for attributes, text in scripts if attributes.get("id") == "rows")
    assert not re.search("[<>&\u2028]", data)
    cells = json.loads(data)
    assert len(cells) == 3
    assert cells[0]["candidate"] == HOSTILE.replace("\u2028", "\\u2028")
    assert cells[0]["journal"].startswith("</script>")
    assert [cell["right"] for cell in cells] == ["right", "wrong", "right"]


def test_the_policy_allows_our_script_alone() -> None:
    read = Read(_page(HOSTILE))
    script = next(text for attributes, text in read.scripts if not attributes)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in read.policy
    assert "default-src 'none'" in read.policy
    assert not {"src", "href"} & read.attributes


def test_the_script_makes_no_markup() -> None:
    script = next(text for attributes, text in Read(_page("tame")).scripts if not attributes)
    assert not re.search("innerHTML|outerHTML|insertAdjacent|document.write|eval|Function|fetch|XMLHttp", script)
    assert "textContent" in script


def test_a_journal_is_read_only_where_a_run_writes_it(tmp_path: Path) -> None:
    rows = tmp_path / "run" / "arena.jsonl"
    journals = rows.parent / "arena.journals"
    journals.mkdir(parents=True)
    for path in (journals / "a.md", rows.parent / "b.md", rows.parent / ".env", journals / "c.txt", tmp_path / "d.md"):
        path.write_text("what was done", encoding="utf-8")
    (journals / "deep").mkdir()
    (journals / "deep" / "e.md").touch()
    (journals / "link.md").symlink_to(rows.parent / ".env")
    (journals / "inside.md").symlink_to("a.md")
    os.mkfifo(journals / "pipe.md")
    assert journal_of(row(journal="arena.journals/a.md"), rows) == "what was done"
    for hostile in (
        *(
            "b.md",
            ".env",
            "./.env",
            "../d.md",
            "arena.journals/../.env",
            "arena.journals/../b.md",
            "arena.journals/c.txt",
        ),
        *("arena.journals/link.md", "arena.journals/inside.md", "arena.journals/pipe.md", "arena.journals/deep/e.md"),
        *(str(journals / "a.md"), "arena.journals//a.md", "arena.journals/./a.md", "arena.journals", "arena.journals/"),
        *("arena.journals/missing.md", "a\0b", "arena.journals/\0.md", "arena.journals/" + "a" * 5000 + ".md", "", "."),
        *("other.journals/a.md", "ARENA.journals/a.md", "arena.journals/.md", "arena.journals\\a.md"),
    ):
        assert journal_of(row(journal=hostile), rows) is None
    assert journal_of(row(), rows) is None


@pytest.mark.parametrize("where", ["run/arena.journals", "run"])
def test_a_folder_of_journals_is_no_link(where: str, tmp_path: Path) -> None:
    """The folder of the rows may be a link, because the user named it."""
    real = tmp_path / "elsewhere"
    (real / "arena.journals").mkdir(parents=True)
    for folder in (real, real / "arena.journals"):
        (folder / "a.md").write_text("what was done", encoding="utf-8")
    link = tmp_path / where
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(real)
    found = journal_of(row(journal="arena.journals/a.md"), tmp_path / "run" / "arena.jsonl")
    assert found == ("what was done" if where == "run" else None)


def test_a_report_shows_no_keys_of_journals(tmp_path: Path) -> None:
    key = "AKIA" + "QWERTYUIOPASDFGH"
    (tmp_path / "arena.journals").mkdir()
    (tmp_path / "arena.journals" / "a.md").write_text(f"It gave '{key}'.", encoding="utf-8")
    assert journal_of(row(journal="arena.journals/a.md"), tmp_path / "arena.jsonl") == "It gave '…'."


def test_a_report_shows_no_keys_of_rows() -> None:
    key = "AKIA" + "QWERTYUIOPASDFGH"
    told = page([], [row(reason=f"It gave '{key}'.", candidate=f"def f():\n    return '{key}'\n")])
    assert "It gave" in told
    assert key not in told


@pytest.mark.parametrize("link", ["arena.journals", "arena.journals/a.md"])
def test_a_journal_is_not_written_through_a_link(link: str, tmp_path: Path) -> None:
    run, aim = tmp_path / "run", tmp_path / "aim"
    run.mkdir()
    (run / link).parent.mkdir(exist_ok=True)
    aim.mkdir() if link == "arena.journals" else aim.write_text("mine", encoding="utf-8")
    (run / link).symlink_to(aim)
    with pytest.raises(RowsError, match="leads to another file"):
        keep(run / "arena.journals" / "a.md", "what was done")
    assert list(aim.iterdir()) == [] if aim.is_dir() else aim.read_text("utf-8") == "mine"
    keep(run / "others.journals" / "a.md", "what was done")


def test_without_matplotlib_one_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(PlotError, match=r"pip install 'adacoder\[arena\]'"):
        draw(SETS["adacoder"][0].table(column("direct", "+")), tmp_path / "figure.svg")
