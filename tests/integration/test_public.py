"""The public names are the ones in `docs/public.txt`, so that none disappears by accident."""

from __future__ import annotations

import runpy

import pytest

from adacoder.cli import commands
from adacoder.lsp import features
from support.paths import ROOT

PUBLIC = runpy.run_path(str(ROOT / "docs" / "public.py"))
REMOVED = (
    "These lines were public, and are gone or changed. docs/stability.md: deprecate what you remove, and name it in "
    "CHANGELOG.md one release before. Then run `nox -s settings`."
)
ADDED = "These lines are new: name them in CHANGELOG.md if people will use them, and run `nox -s settings`."


@pytest.mark.rest
@pytest.mark.isolation
def test_the_members_of_answers_are_those_of_the_list() -> None:
    assert_listed(PUBLIC["members"](), is_json=True)


def test_the_other_names_are_those_of_the_list() -> None:
    assert_listed(PUBLIC["names"](), is_json=False)


def assert_listed(found: list[str], *, is_json: bool) -> None:
    lines = (ROOT / "docs" / "public.txt").read_text(encoding="utf-8").splitlines()
    assert lines == sorted(lines), "run `nox -s settings`"
    listed = {line for line in lines if line.startswith("json ") is is_json}
    assert sorted(listed - {*found}) == [], REMOVED
    assert sorted({*found} - listed) == [], ADDED


def test_each_kind_of_name_is_listed() -> None:
    assert {
        "cli adacoder check --base REV",
        "cli adacoder check --format text|github [text]",
        "setting timeout float 0.1..600 [10.0]",
        "command adacoder.server.pull model",
        "request adacoder/run mode generate|fix|check|repair|another|suggestExamples",
        "notification adacoder/ended",
        "mcp-tool verify_candidate input.code string required",
        "environment OLLAMA_HOST",
        "extra arena",
        "entry-point adacoder = adacoder.__main__:main",
    } <= {*PUBLIC["names"]()}


def test_a_removed_option_and_a_new_command_change_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    before = PUBLIC["names"]()
    monkeypatch.setattr(commands.check, "params", commands.check.params[1:])
    monkeypatch.setitem(features.COMMANDS, "other", features.COMMANDS["fix"])
    after = PUBLIC["names"]()
    assert {*before} - {*after} == {"cli adacoder check [PATH[::NAME|:LINE]]..."}
    assert {line.split()[1] for line in {*after} - {*before}} == {"adacoder.server.other"}
