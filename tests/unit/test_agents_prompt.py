"""Rendered prompts are kept as golden files, so that a change of wording is seen in the diff.

To renew them after a change that is meant: `ADACODER_RENEW_GOLDEN=1 pytest tests/unit/test_agents_prompt.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adacoder.agents import prompt
from adacoder.domain import Example, Failure, FailureKind, Message, Plan, Target
from adacoder.models.base import ContextOverflow
from adacoder.source import text
from adacoder.source.context import pieces
from adacoder.source.locate import functions

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
STUBS = ROOT / "fixtures" / "stubs"
PLAN = Plan("1. Read the text word by word.\n2. Keep each word once.\n3. Sort what is left.")


def stubs() -> list[Target]:
    files = sorted(STUBS.rglob("*.py"))
    found = [target for path in files for target in functions(text.read(path).text, path, STUBS)]
    return [target for target in found if target.deciding]


def briefing(target: Target, **changes: object) -> prompt.Briefing:
    settings = {"context_tokens": 8192, "instructions": ""} | changes
    return prompt.brief(target, pieces(target), **settings)  # type: ignore[arg-type]  # the two are of mixed type


def rendered(messages: tuple[Message, ...]) -> str:
    return "".join(f"[{message.role}]\n{message.content}\n" for message in messages)


@pytest.mark.parametrize("target", stubs(), ids=lambda target: target.qualname)
def test_rendered_prompt_is_golden(target: Target) -> None:
    wrong = Failure(FailureKind.WRONG_OUTPUT, "…", target.examples[0], got="None\n")
    packed = briefing(target)
    text = rendered(packed.messages(prompt.write_instruction(target, None)))
    text += "\n--- planned ---\n" + prompt.write_instruction(target, PLAN)
    text += "\n--- plan ---\n" + prompt.plan_instruction(target, wrong)
    golden = GOLDEN / f"{target.module.path.stem}.{target.qualname}.md"
    if os.environ.get("ADACODER_RENEW_GOLDEN"):
        golden.write_text(text, encoding="utf-8", newline="\n")
    assert golden.read_bytes().decode() == text


def test_every_call_of_a_request_begins_with_the_same_text() -> None:
    target = stubs()[0]
    packed = briefing(target)
    first = packed.messages(prompt.write_instruction(target, None))
    later = packed.messages(prompt.write_instruction(target, PLAN))
    assert first[0] == later[0]
    assert first[1].content.startswith(packed.shared)
    assert later[1].content.startswith(packed.shared)


def test_the_projects_instructions_end_the_system_text() -> None:
    packed = briefing(stubs()[0], instructions="Prefer early returns.")
    assert packed.system.endswith("Prefer early returns.\n")
    assert "Prefer" not in briefing(stubs()[0]).system


def test_context_is_cut_before_the_task() -> None:
    target = next(target for target in stubs() if pieces(target))
    full, tight = briefing(target), briefing(target, context_tokens=3500)
    assert len(tight.shared) <= len(full.shared)
    assert target.docstring.splitlines()[0] in tight.shared


def test_a_task_that_does_not_fit_says_which_setting_to_raise() -> None:
    with pytest.raises(ContextOverflow, match=r"raise adacoder\.contextTokens"):
        briefing(stubs()[0], context_tokens=1024)


@pytest.mark.parametrize(
    ("failure", "shown"),
    [
        (
            Failure(FailureKind.WRONG_OUTPUT, "…", Example("f(1)\n", "2\n", 0), got="3\n"),
            ">>> f(1)\nmust give\n2\nbut gave\n3",
        ),
        (
            Failure(FailureKind.WRONG_OUTPUT, "…", Example("f(1)\n", "2\n", 0), got=""),
            ">>> f(1)\nmust give\n2\nbut gave\nnothing",
        ),
        (
            Failure(
                FailureKind.EXCEPTION,
                "…",
                Example("for x in f():\n    x\n", "2\n", 0),
                error="KeyError: 1",
                line=3,
            ),
            ">>> for x in f():\n...     x\nmust give\n2\nbut raised\nKeyError: 1",
        ),
        (
            Failure(FailureKind.TIMED_OUT, "It took over 2 s.", Example("f(1)\n", "2\n", 0)),
            ">>> f(1)\nmust give\n2\nbut this happened:\nIt took over 2 s.",
        ),
        (
            Failure(FailureKind.SYNTAX_ERROR, "It is no Python.", error="SyntaxError: '(' was never closed", line=2),
            "It is no Python.\nSyntaxError: '(' was never closed",
        ),
    ],
)
def test_an_error_names_the_example_what_it_must_give_and_what_it_gave(failure: Failure, shown: str) -> None:
    assert prompt.describe(failure) == shown


def test_a_long_value_keeps_its_ends() -> None:
    failure = Failure(FailureKind.WRONG_OUTPUT, "…", Example("f()\n", "2\n", 0), got=f"a{'x' * 5000}b\n")
    shown = prompt.describe(failure)
    assert len(shown) < 2000
    assert "a" + "x" * 100 in shown
    assert shown.endswith("xb")
