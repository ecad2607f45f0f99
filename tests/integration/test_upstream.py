"""The reports in `docs/upstream` show faults in the named versions, one for each workaround in the code."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import jedi
import pytest
from pygls.protocol import LanguageServerProtocol
from pygls.workspace import Workspace

from adacoder.lsp.connection import pygls_fixes
from support.paths import ROOT
from support.standins.ollama import StandIn
from support.standins.server import Script

REPORTS = ROOT / "docs" / "upstream"
OLLAMA = REPORTS / "ollama-closed-stream.md"
PAGES = sorted({*REPORTS.glob("*-*.md")} - {OLLAMA})
INDEX = (REPORTS / "README.md").read_text(encoding="utf-8")
COUNTING = Script("".join(f"{number} " for number in range(1000)), pause=0.002)
CORRECTED = "{} no longer shows the fault. If a release has corrected it, remove the remedy and the page."


@pytest.fixture(autouse=True)
def demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Run the scripts in a temporary folder, so that they can import `demo.py` with a server of their own."""
    monkeypatch.syspath_prepend(str(REPORTS))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(jedi.settings, "cache_directory", str(tmp_path))
    yield
    sys.modules.pop("demo", None)
    logging.disable(logging.NOTSET)


def block(page: Path, language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def printed(page: Path) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(block(page, "python"), str(page), "exec"), {"__name__": "__main__"})
    return out.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_fault_is_still_there(page: Path) -> None:
    for library, named in re.findall(r"(pygls|lsprotocol|jedi|parso) ([\d.]+),", page.read_text(encoding="utf-8")):
        if version(library) != named:
            pytest.skip(f"{page.name} is about {library} {named}")
    assert printed(page) == block(page, "text"), CORRECTED.format(page.name)


def test_a_corrected_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workspace, "update_text_document", lambda *_: None)
    page = REPORTS / "pygls-closed-documents.md"
    assert printed(page) != block(page, "text")


def test_every_remedy_has_a_report() -> None:
    fixed = {name for name in vars(pygls_fixes.Protocol) if hasattr(LanguageServerProtocol, name)}
    fixed |= {name for name in vars(pygls_fixes.Workspace) if hasattr(Workspace, name)}
    assert {name for name in fixed if not name.startswith("__") and f"`{name}`" not in INDEX} == set()
    assert {page.name for page in (*PAGES, OLLAMA)} == set(re.findall(r"\]\((\S+-\S+\.md)\)", INDEX))


@pytest.mark.parametrize("wedges", [True, False])
def test_the_script_for_ollama_finds_a_lost_model(monkeypatch: pytest.MonkeyPatch, *, wedges: bool) -> None:
    closed = iter([False, False, False, False, wedges])
    with StandIn(lambda _: COUNTING, wedges=lambda: next(closed, False)).in_thread() as server:
        host = server.host.removeprefix("http://")
        monkeypatch.setattr(sys, "argv", ["script.py", host, "qwen2.5-coder:7b", "0.5", "6"])
        if wedges:
            assert printed(OLLAMA).splitlines()[1:] == block(OLLAMA, "text").splitlines()[1:]
        else:
            with pytest.raises(SystemExit, match="No request was lost"):
                printed(OLLAMA)
