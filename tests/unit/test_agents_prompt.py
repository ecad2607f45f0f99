"""Rendered prompts are kept as golden files, so that a change of wording is seen in the diff.

To renew them after a change that is meant: `ADACODER_RENEW_GOLDEN=1 pytest tests/unit/test_agents_prompt.py`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adacoder.agents import prompt
from adacoder.domain import Example, Failure, FailureKind, Message, Plan, Target
from adacoder.models.base import ContextOverflow
from adacoder.models.window import Window, estimate
from adacoder.source import text
from adacoder.source.context import Piece, pieces
from adacoder.source.locate import functions, locate

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
STUBS = ROOT / "fixtures" / "stubs"
PLAN = Plan("1. Read the text word by word.\n2. Keep each word once.\n3. Sort what is left.")


def stubs() -> list[Target]:
    files = sorted(STUBS.rglob("*.py"))
    found = [one.target for path in files for one in functions(text.read(path).text, path, STUBS)]
    return [target for target in found if target.deciding]


def briefing(target: Target, **changes: object) -> prompt.Briefing:
    given_to_it = {"context_tokens": 8192, "instructions": ""} | changes
    return prompt.brief(target, pieces(target), **given_to_it)  # type: ignore[arg-type]  # the two are of mixed type


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


def packed(target: Target, *found: Piece, context_tokens: int) -> list[str]:
    """The kinds of the pieces that were kept, in the order they are listed in."""
    shared = prompt.brief(target, found, window=Window(context_tokens), instructions="").shared
    assert target.docstring.splitlines()[0] in shared
    kept = [piece for piece in found if piece.text in shared]
    return [piece.kind for piece in sorted(kept, key=lambda piece: shared.index(piece.text))]


def test_context_is_cut_before_the_task() -> None:
    target = next(target for target in stubs() if target.name == "due")
    full, tight = briefing(target), briefing(target, context_tokens=3200)
    assert "class Cart" in full.shared
    assert "class Cart" not in tight.shared
    assert full.shared.endswith(tight.shared[tight.shared.index("This is the function") :])


def test_pieces_are_kept_by_rank_and_whole_and_lesser_ones_fill_what_is_left() -> None:
    target = stubs()[0]
    first, large = Piece("class", "first = 1\n" * 50, 2), Piece("signature", "large = 1\n" * 300, 1)
    small, last = Piece("mentioned", "small = 1", 0), Piece("call", "last = 1\n" * 200, 3)
    everything = ["mentioned", "signature", "class", "call"]
    assert packed(target, first, large, small, last, context_tokens=16384) == everything
    assert packed(target, first, large, small, last, context_tokens=7600) == ["mentioned", "signature", "class"]
    assert packed(target, first, large, small, last, context_tokens=4096) == ["mentioned", "class"]


def test_what_nothing_points_to_never_takes_much() -> None:
    target = stubs()[0]
    nearby = [Piece("module", f"nearby_{number} = {number}", number) for number in range(1000)]
    mentioned = [Piece("mentioned", f"mentioned_{number} = {number}", 1000 + number) for number in range(1000)]
    kept = packed(target, *nearby, *mentioned, context_tokens=65536)
    assert 50 < kept.count("module") < 200
    assert kept.count("mentioned") == 1000


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["class", "module"]), st.text(max_size=200)), max_size=30))
def test_what_is_packed_leaves_room_for_the_reply_and_what_changes(found: list[tuple[str, str]]) -> None:
    window = 3600
    pieces = [Piece(kind, text * 5, index) for index, (kind, text) in enumerate(found)]
    packed = prompt.brief(stubs()[0], pieces, window=Window(window), instructions="")
    assert estimate(packed.system) + estimate(packed.shared) <= window - window // 2 - 1024


CLASS = '''
class Account:
    """Money of one owner.

    >>> account = Account()
    >>> account.deposit(5)
    5
    >>> for each in (1, 2):
    ...     account.deposit(each)
    6
    8
    """

    def deposit(self, amount):
        """Put an amount in; gives the balance.

        >>> Account().deposit(1)
        1
        """
'''


def test_examples_of_the_class_are_part_of_the_task() -> None:
    target = locate(CLASS, Path("/nowhere/bank.py"), Path("/nowhere"), qualname="Account.deposit")
    text = CLASS.splitlines()
    own = Example("Account().deposit(1)\n", "1\n", text.index("        >>> Account().deposit(1)"), runs_target=True)
    others = (
        Example("account = Account()\n", "", 4),
        Example("account.deposit(5)\n", "5\n", 5, runs_target=True),
        Example("for each in (1, 2):\n    account.deposit(each)\n", "6\n8\n", 7, runs_target=True),
    )
    alone = prompt.brief(replace(target, examples=(own,)), (), window=Window(8192), instructions="").shared
    both = prompt.brief(replace(target, examples=(*others, own)), (), window=Window(8192), instructions="").shared
    assert both.startswith(alone)
    assert both.removeprefix(alone) == (
        "\nThe docstring of the class `Account` shows how it is used, and these examples will be run too:\n\n"
        "```python\n"
        ">>> account = Account()\n>>> account.deposit(5)\n5\n"
        ">>> for each in (1, 2):\n...     account.deposit(each)\n6\n8\n"
        "```\n"
    )


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
