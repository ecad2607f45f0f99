"""Recorded replies of models. Every repair rule, and every listed form, is needed by one of them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TypedDict

import pytest

from adacoder.agents import repairs
from adacoder.domain import Candidate, Reply, Target
from adacoder.pytext import definitions, parsed
from adacoder.replies import transcript
from adacoder.replies.extract import extract
from adacoder.source.importing.standard_library import standard_import
from adacoder.source.imports import undefined_names
from adacoder.source.locate import locate
from adacoder.source.splice import splice
from support.paths import FIXTURES


class Recorded(TypedDict):
    needs: list[str]
    model: str
    source: str
    function: str
    module: str
    text: str


FILE = FIXTURES / "replies.toml"
RECORDED: list[Recorded] = tomllib.loads(FILE.read_text("utf-8"))["replies"]
RULES = {rule.__name__ for rule in repairs.RULES} | {"imports_added"}
FILTERS = {"without_line_numbers"}
NEEDED = [pytest.param(need, each, id=need) for each in RECORDED for need in each["needs"]]


def needed(names: set[str], *, otherwise: bool = False) -> pytest.MarkDecorator:
    """Parametrize a test with the recorded replies that need one of `names`. `otherwise` selects all others."""
    found = [param for param in NEEDED if (param.values[0] in names) is not otherwise]
    return pytest.mark.parametrize(("need", "reply"), found)


def read(reply: Recorded) -> tuple[Target, Candidate]:
    workspace = Path("/workspace")
    target = locate(reply["module"], workspace / "mod.py", workspace, qualname=reply["function"])
    return target, extract(Reply(reply["text"]), target)


def undefined(target: Target, candidate: Candidate) -> tuple[str, ...]:
    placed = splice(target, candidate)
    return undefined_names(placed.text, [placed.function, *placed.added])


def repaired(target: Target, candidate: Candidate, *, without: str = "") -> tuple[Candidate, tuple[str, ...]]:
    imports = (lambda name, code: None) if without == "imports_added" else standard_import
    return repairs.repaired_by_rules(candidate, target, lambda changed: undefined(target, changed), imports)


def is_sound(target: Target, candidate: Candidate) -> bool:
    parts = (candidate.function, *candidate.imports, *candidate.definitions)
    return bool(candidate.function) and all(map(parsed, parts)) and not undefined(target, candidate)


def test_what_no_reply_needs_is_not_there() -> None:
    told = {need for each in RECORDED for need in each["needs"]}
    assert told >= RULES | FILTERS
    assert all(each["source"].startswith("https://github.com/") for each in RECORDED)


@needed(RULES)
def test_a_rule_repairs_a_recorded_reply(need: str, reply: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    target, candidate = read(reply)
    assert not is_sound(target, candidate)
    result, kept = repaired(target, candidate)
    assert need in kept
    assert is_sound(target, result)
    monkeypatch.setattr(repairs, "RULES", tuple(rule for rule in repairs.RULES if rule.__name__ != need))
    assert not is_sound(target, repaired(target, candidate, without=need)[0])


@needed(FILTERS)
def test_a_filter_reads_a_recorded_reply(need: str, reply: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_sound(*read(reply))
    others = tuple(each for each in transcript.FILTERS if each.__name__ != need)
    monkeypatch.setattr(transcript, "FILTERS", others)
    assert not is_sound(*read(reply))


@needed(RULES | FILTERS, otherwise=True)
def test_a_function_is_found_in_a_recorded_reply(need: str, reply: Recorded) -> None:
    _, candidate = read(reply)
    found = [each for each in definitions(candidate.function) if not each.parents]
    assert len(found) == 1, need
    assert parsed(found[0].text)
    assert not candidate.cut
