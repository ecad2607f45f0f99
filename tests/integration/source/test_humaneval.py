"""HumanEval: examples of most prompts are read, and the canonical solutions pass all of them."""

from __future__ import annotations

import ast
import asyncio
import gzip
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import TargetError, Verdict
from adacoder.pytext import Lines
from adacoder.sandbox.host import Host, Program
from adacoder.source.locate import locate
from support.evaluating import workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.domain import Target

FOLDER = os.environ.get("ADACODER_DATA")
with_data = pytest.mark.skipif(FOLDER is None, reason="ADACODER_DATA names no folder with HumanEval")

WRONG = {
    "HumanEval/47": "median([-10, 4, 6, 1000, 10, 20]) is 8.0, and not 15.0",
    "HumanEval/65": "\"21\" is shown as the output, which is '21'",
    "HumanEval/113": "the same",
    "HumanEval/116": "it sorts by the number of ones, and the examples by the number",
}
"""Tasks whose docstrings contradict the canonical solution, or the way in which Python shows values."""
SHOWS_NO_PLAIN_CALL = {
    "HumanEval/51": "doctest cannot read the line break within a string",
    "HumanEval/80": "the arguments are words without quotes",
    "HumanEval/115": "the text is no docstring, as an import stands before it",
    "HumanEval/130": "`tri(1) = 3` tells an element of the sequence, `tri(3) = [1, 3, 2, 8]` a result",
}
"""Tasks whose docstrings show calls in a form that cannot be read without guessing."""


def data(name: str) -> Iterator[dict[str, str]]:
    with gzip.open(Path(str(FOLDER)) / name, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def shows_a_call(task: dict[str, str]) -> bool:
    """Return True if a prompt's last docstring shows a call in any form."""
    docstring = re.split(r"\"{3}|'{3}", task["prompt"])[-2]
    call = rf"\b{task['entry_point']}\(.+\)"
    return re.search(rf"{call}|^\s*For .* should be |^\s*Input: ", docstring, re.MULTILINE) is not None


def canonical(folder: Path) -> dict[str, Target]:
    """Return the canonical solutions that can be targets, by task."""
    targets: dict[str, Target] = {}
    for task in data("HumanEval.jsonl.gz"):
        text, path = task["prompt"] + task["canonical_solution"], folder / "solution.py"
        with suppress(TargetError):
            targets[task["task_id"]] = locate(text, path, folder, qualname=task["entry_point"])
    return targets


def given_tests() -> dict[str, dict[str, str]]:
    """Return the visible tests that people wrote by hand, by task: calls with their results."""
    tests: dict[str, dict[str, str]] = {}
    for task in data("HumanEval_given_tests_ldb.jsonl.gz"):
        asserts = [ast.parse(each).body[0] for each in task["given_tests"]]
        compared = [each.test for each in asserts if isinstance(each, ast.Assert)]
        tests[task["task_id"]] = {
            ast.unparse(each.left): ast.unparse(each.comparators[0])
            for each in compared
            if isinstance(each, ast.Compare)
        }
    return tests


@with_data
def test_most_tasks_that_show_a_call_have_examples(capsys: pytest.CaptureFixture[str]) -> None:
    targets, tests = canonical(Path("/w")), given_tests()
    shown = {task["task_id"] for task in data("HumanEval.jsonl.gz") if shows_a_call(task)}
    found = {task for task, target in targets.items() if target.has_wants}
    calls = {
        task: {example.source.strip(): example.want.strip() for example in targets[task].examples if example.has_want}
        for task in found
    }
    by_hand = [(task, call, want) for task in shown & found for call, want in tests[task].items()]
    read = [(task, call, want) for task, call, want in by_hand if call in calls[task]]
    differ = [
        (task, call) for task, call, want in read if ast.literal_eval(calls[task][call]) != ast.literal_eval(want)
    ]
    informal = [task for task in found if any(example.informal for example in targets[task].examples)]
    with capsys.disabled():
        print(
            f"\nHumanEval: {len(shown)} of 164 prompts show a call; examples are read in {len(shown & found)} of these"
            f" ({len(shown & found) / len(shown):.1%}), in {len(informal)} of them from prose."
            f" Of {len(by_hand)} calls that somebody wrote out of them {len(read)} are read."
        )
    assert shown - found == SHOWS_NO_PLAIN_CALL.keys()
    assert not found - shown
    assert len(shown & found) >= 0.9 * len(shown)
    assert {task for task, _ in differ} <= WRONG.keys()


@with_data
@pytest.mark.isolation
async def test_no_example_contradicts_the_canonical_solution(tmp_path: Path) -> None:
    targets = canonical(tmp_path)
    async with workspace(tmp_path) as ws:
        verdicts = await asyncio.gather(*(as_it_stands(ws.host(), target) for target in targets.values()))
    failed = {task for task, verdict in zip(targets, verdicts, strict=True) if not verdict.passed}
    assert failed == WRONG.keys()
    assert sum(len(verdict.results) for verdict in verdicts) > 300


async def as_it_stands(host: Host, target: Target) -> Verdict:
    lines = Lines(target.text)
    first, last = lines.line_at(target.definition.start) + 1, lines.line_at(target.definition.end) + 1
    program = Program(target.module, target.text, target.qualname, first, last)
    return await host.evaluate(program, target.examples, timeout=30)
