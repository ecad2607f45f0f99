"""The public names are those of `docs/public.txt`, so that none of them disappears by accident."""

from __future__ import annotations

import runpy

import pytest

from adacoder.cli import commands
from adacoder.lsp import features
from support.paths import ROOT

LISTING = runpy.run_path(str(ROOT / "docs" / "public.py"))["listing"]
REMOVED = (
    "These lines were public, and are gone or changed. docs/stability.md: deprecate what you remove, and name it in "
    "CHANGELOG.md one release before. Then run `nox -s settings`."
)
ADDED = "These lines are new: name them in CHANGELOG.md if people will use them, and run `nox -s settings`."


def test_the_public_names_are_those_of_the_list() -> None:
    listed, found = (ROOT / "docs" / "public.txt").read_text(encoding="utf-8").splitlines(), LISTING()
    assert sorted({*listed} - {*found}) == [], REMOVED
    assert sorted({*found} - {*listed}) == [], ADDED
    assert listed == found, "run `nox -s settings`"


def test_each_kind_of_name_is_listed() -> None:
    assert {
        "cli adacoder check --base REV",
        "cli adacoder check --format text|github [text]",
        "setting timeout float 0.1..600 [10.0]",
        "command adacoder.server.pull model",
        "request adacoder/run mode generate|fix|check|repair|another|suggestExamples",
        "notification adacoder/ended",
        "json result.tokens.cached",
        "json result.status = verified",
        "mcp-tool verify_candidate input.code string required",
        "environment OLLAMA_HOST",
        "extra arena",
        "entry-point adacoder = adacoder.__main__:main",
    } <= {*LISTING()}


def test_a_removed_option_and_a_new_command_change_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    before = LISTING()
    monkeypatch.setattr(commands.check, "params", commands.check.params[1:])
    monkeypatch.setitem(features.COMMANDS, "other", features.COMMANDS["fix"])
    after = LISTING()
    assert {*before} - {*after} == {"cli adacoder check [PATH[::NAME|:LINE]]..."}
    assert {line.split()[1] for line in {*after} - {*before}} == {"adacoder.server.other"}
