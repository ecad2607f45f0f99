"""The arena from tasks to rows, with a model that answers at once: judgements, stored files, and hidden tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from adacoder.arena.cells import Bench, Plan
from adacoder.arena.formats import load
from adacoder.arena.judge import HiddenJudge
from adacoder.arena.measures import INVARIANCE, refinements
from adacoder.arena.papers import tables
from adacoder.arena.rows import DesignedTests, RowsFile, RowsReader
from adacoder.arena.runner import Runner, RunProgress
from adacoder.models.backend import Session
from adacoder.models.base import Leases
from adacoder.models.errors import ModelError, NotRunning, OnlyThought
from adacoder.models.scripted import ScriptedModel
from adacoder.service import Service
from adacoder.settings import Settings

CANARY = "canary_7f3a91"
TASKS = [
    {
        "task_id": "HumanEval/0",
        "prompt": 'def double(x):\n    """Twice x.\n\n    >>> double(2)\n    4\n    """\n',
        "entry_point": "double",
        "canonical_solution": (
            f"    {CANARY} = 2\n    if x < 0:\n        return -{CANARY} * -x\n    return {CANARY} * x\n"
        ),
        "test": f"def check(candidate):\n    {CANARY} = 21\n    assert candidate({CANARY}) == 42, '{CANARY}'\n",
    },
    {
        "task_id": "HumanEval/1",
        "prompt": 'def triple(x):\n    """Three times x.\n\n    >>> triple(2)\n    6\n    """\n',
        "entry_point": "triple",
        "canonical_solution": f"    {CANARY} = 3\n    return {CANARY} * x\n",
        "test": f"def check(candidate):\n    {CANARY} = 7\n    assert candidate({CANARY}) == 21, '{CANARY}'\n",
    },
]
RIGHT = "```python\ndef double(x):\n    return 2 * x\n\n\ndef triple(x):\n    return 3 * x\n```\n"
MEMORISED = "```python\ndef double(x):\n    return x + 2\n\n\ndef triple(x):\n    return x + 4\n```\n"
"""A reply that passes only the shown examples."""
ENDS = "__import__('os')._exit(0)"
TESTS = [
    *(
        "double(1) == 2",
        "double(2) == 5",
        f"double({ENDS}) == 0",
        "double(3) == 6",
        "double(4) == 8",
        "double(-1) == -2",
    ),
    *("triple(1) == 3", "triple(2) == 7"),
]
TESTED = RIGHT.replace("```\n", "".join(f"assert {each}\n" for each in TESTS) + "```\n")


class Hall:
    """An arena in a folder."""

    def __init__(self, folder: Path, says: Callable[[int], str | ModelError] = lambda _: RIGHT) -> None:
        self.folder = folder
        self.tasks = folder / "tasks.jsonl"
        self.tasks.write_text("".join(json.dumps(each) + "\n" for each in TASKS))
        self.rows = folder / "rows.jsonl"
        self.model = ScriptedModel(then=lambda _: says(len(self.model.asked)), name="instant")
        self.settings = Settings(max_iterations=1)
        self.patience = 5.0

    def stored(self) -> dict[Path, str]:
        """Return all stored texts except the tasks."""
        found = (path for path in self.folder.rglob("*") if path.is_file() and path != self.tasks)
        return {path: path.read_text() for path in found}

    async def run(
        self, *strategies: str, samples: int = 1, hear: Callable[[RunProgress], None] = lambda _: None
    ) -> RunProgress:
        async def open_model(*_: object) -> ScriptedModel:
            return self.model

        (self.folder / "work").mkdir(exist_ok=True)
        judge, service = HiddenJudge(self.settings), Service(open_model, Session(leases=Leases(9)))
        rows = RowsFile(self.rows)
        bench = Bench(service, judge, self.settings, self.folder / "journals", self.folder / "records")
        tasks = load(self.tasks, self.folder / "work")
        plan = Plan(tasks, ("openai:instant",), strategies or ("direct",), samples, self.settings)
        try:
            return await Runner(plan, bench, rows, self.patience, None, hear).run()
        finally:
            await judge.close()
            await service.close()
            await rows.close()


async def test_rows_tell_right_from_verified(tmp_path: Path) -> None:
    right = Hall(tmp_path)
    standing = await right.run("direct", "adacoder")
    rows = list(RowsReader().rows(right.rows))
    assert [row.right for row in rows] == [True] * 4
    assert {row.status for row in rows} == {"verified"}
    assert standing.done == standing.total == 4
    assert {row.journal for row in rows} == {f"journals/{path.name}" for path in (tmp_path / "journals").iterdir()}


async def test_what_only_passes_the_shown_examples_is_verified_but_wrong(tmp_path: Path) -> None:
    hall = Hall(tmp_path, lambda _: MEMORISED)
    standing = await hall.run()
    rows = list(RowsReader().rows(hall.rows))
    assert [(row.status, row.right) for row in rows] == [("verified", False)] * 2
    assert [each.right for row in rows for each in row.attempts] == [False, False]
    (column,) = standing.columns.values()
    assert (column.right, column.verified_but_wrong) == (0, 2)


@pytest.mark.parametrize(("first", "second"), [(MEMORISED, RIGHT), (RIGHT, MEMORISED), (RIGHT, RIGHT)])
async def test_the_canonical_solution_answers_the_questions_about_a_second_program(
    first: str, second: str, tmp_path: Path
) -> None:
    def says(asked: int) -> str:
        *earlier, text = (ask.text for ask in hall.model.asked[:asked])
        return second if text in earlier else first

    hall = Hall(tmp_path, says)
    hall.settings = Settings(max_iterations=1, cross_check=True)
    await hall.run()
    rows = list(RowsReader().rows(hall.rows))
    assert [(row.status, row.right, row.calls) for row in rows] == [("verified", first == RIGHT, 2)] * 2
    found = [row.second for row in rows if row.second is not None]
    assert [each.right for each in found] == [True, True]
    assert [each.questions for each in found] == [0 if first == second else 2] * 2
    assert {each.agreed == each.inputs for each in found} == {first == second}
    assert CANARY not in "".join(hall.stored().values())
    (table,) = [each for each in tables(rows, ["own"]) if each.name == "Second program"]
    told = dict(zip(table.columns, (cell.text for cell in table.lines[0].cells), strict=True))
    assert float(told["wrong after answers, %"].split()[0]) == 0


async def test_a_server_that_is_gone_before_the_second_program_costs_no_row(tmp_path: Path) -> None:
    def says(asked: int) -> str | ModelError:
        *earlier, text = (ask.text for ask in hall.model.asked[:asked])
        return NotRunning("x") if text in earlier else RIGHT

    hall = Hall(tmp_path, says)
    hall.settings, hall.patience = Settings(max_iterations=1, cross_check=True), 0.1
    standing = await hall.run()
    assert list(RowsReader().rows(hall.rows)) == []
    assert sum(standing.troubles.values()) == 2


async def test_without_a_second_program_rows_have_no_table_about_it(tmp_path: Path) -> None:
    hall = Hall(tmp_path)
    await hall.run()
    rows = list(RowsReader().rows(hall.rows))
    assert [row.second for row in rows] == [None, None]
    assert "Second program" not in [each.name for each in tables(rows, ["own"])]


@pytest.mark.parametrize("reply", [RIGHT, MEMORISED, TESTED, "no code"])
async def test_no_hidden_test_is_sent_or_stored(reply: str, tmp_path: Path) -> None:
    hall = Hall(tmp_path, lambda _: reply)
    await hall.run("direct", "adacoder", "agentcoder", "agentcoder:one-agent")
    assert CANARY in hall.tasks.read_text()  # control: the text is there to be found
    assert all(str(each.canonical).count(CANARY) > 1 for each in load(hall.tasks, tmp_path).tasks)  # in solutions, too
    assert hall.model.asked
    assert not [ask for ask in hall.model.asked if CANARY in ask.text]
    stored = hall.stored()
    assert len(stored) > 6
    assert not [path for path, text in stored.items() if CANARY in text]


@pytest.mark.parametrize("strategy", ["agentcoder", "agentcoder:one-agent"])
async def test_designed_tests_are_tried_on_the_canonical_solution(strategy: str, tmp_path: Path) -> None:
    hall = Hall(tmp_path, lambda _: TESTED)
    await hall.run(strategy, "adacoder")
    rows = {(row.task, row.strategy): row.tests for row in RowsReader().rows(hall.rows)}
    assert rows == {
        ("HumanEval/0", strategy): DesignedTests(6, 4, 1.0, 0.75),
        ("HumanEval/1", strategy): DesignedTests(2, 1, 1.0, 1.0),
        **{(f"HumanEval/{number}", "adacoder"): None for number in (0, 1)},  # this strategy designs no tests
    }


async def test_a_designer_that_designs_nothing_covers_nothing(tmp_path: Path) -> None:
    hall = Hall(tmp_path)
    await hall.run("agentcoder")
    assert [row.tests for row in RowsReader().rows(hall.rows)] == [DesignedTests(0, 0, 0.0, 0.0)] * 2


async def test_a_run_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    hall = Hall(tmp_path)

    class Stop(Exception):
        pass

    def stop(standing: RunProgress) -> None:
        if standing.done == 3:
            raise Stop

    with pytest.raises(ExceptionGroup):
        await hall.run(samples=5, hear=stop)
    before = hall.rows.read_text()
    assert before.count("\n") >= 3
    sent = len(hall.model.asked)
    standing = await hall.run(samples=5)
    assert hall.rows.read_text().startswith(before)
    keys = [row.key for row in RowsReader().rows(hall.rows)]
    assert len(keys) == len(set(keys)) == standing.done == 10
    assert len(hall.model.asked) > sent
    sent = len(hall.model.asked)
    await hall.run(samples=5)  # nothing is left
    assert len(hall.model.asked) == sent


async def test_a_server_that_was_gone_costs_no_row(tmp_path: Path) -> None:
    answers = iter([NotRunning("x"), NotRunning("x")])
    hall = Hall(tmp_path, lambda _: next(answers, RIGHT))
    standing = await hall.run()
    assert [row.right for row in RowsReader().rows(hall.rows)] == [True, True]
    assert standing.server_failures == 2
    assert standing.model_failures == 0


async def test_a_server_that_stays_away_leaves_the_cells_to_the_next_run(tmp_path: Path) -> None:
    hall = Hall(tmp_path, lambda _: NotRunning("x"))
    hall.patience = 0.1
    standing = await hall.run()
    assert list(RowsReader().rows(hall.rows)) == []
    assert sum(standing.troubles.values()) == 2


async def test_a_model_that_only_thinks_has_failed(tmp_path: Path) -> None:
    hall = Hall(tmp_path, lambda _: OnlyThought("instant"))
    standing = await hall.run()
    rows = list(RowsReader().rows(hall.rows))
    assert [(row.status, row.right, row.failure_of) for row in rows] == [("error", None, "model")] * 2
    assert (standing.model_failures, standing.server_failures) == (2, 0)


async def test_attempts_tell_what_a_refinement_changed(tmp_path: Path) -> None:
    empty = "```python\ndef double(x):\n    pass\n\n\ndef triple(x):\n    pass\n```\n"
    hall = Hall(tmp_path, lambda _: empty)
    await hall.run("adacoder:neither")
    rows = list(RowsReader().rows(hall.rows))
    assert [len(row.attempts) for row in rows] == [2, 2]
    assert [row.programs for row in rows] == [1, 1]
    assert all(each.is_empty and each.code and each.message for row in rows for each in row.attempts)
    assert refinements(rows) == {INVARIANCE: 2}


@pytest.mark.parametrize(("code", "level"), [("return", 1), ("return {} +", 4)])
async def test_a_row_has_the_highest_level_that_its_strategy_reached(code: str, level: int, tmp_path: Path) -> None:
    hall = Hall(tmp_path, lambda asked: RIGHT.replace("return", code.format(asked)))
    await hall.run("semag")
    assert {row.level for row in RowsReader().rows(hall.rows)} == {level}
