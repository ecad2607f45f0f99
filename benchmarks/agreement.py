"""Measure the worth of a second program: how often two programs agree on inputs that nobody wrote.

    agreement.py --replies FILE --data FOLDER [--pairs N [--hidden-inputs] | --triples N] [--benchmark NAME]

FILE and FOLDER are the same as for `rescue.py`. Up to N pairs of programs are drawn for each task, with a fixed seed.
Both programs of a pair pass the examples, but they are by different models and differ in their text. They run on the
same inputs. Hidden tests show whether the first program is right.

* `right`: share of first programs that are right.
* `right_if_agreed`: the same share, among pairs that agree on all inputs.
* `wrong_flagged`, `right_flagged`: shares of the wrong and of the right first programs with which the second disagrees.
* `wrong_or_raising`, `right_or_raising`: the same if programs also disagree where only one of them returns a value.
* `wrong_beside_right`: share of wrong first programs whose second program is right.

With `--hidden-inputs`, the inputs are the calls in the hidden tests. The figures then show what the best inputs could
reach, because a second program that is right differs from a wrong one in these calls.

In the other figures, programs disagree only if both return a value. Pairs without inputs are counted in
`not_compared`. All tasks have the same weight.

With `--triples N`, up to N triples are drawn instead:

* `wrong`: share of first programs that are wrong.
* `wrong_by_majority`: share of wrong programs if the majority of three selects the program.
* `wrong_after_answers`: the same if a user's answers select the program. The canonical solution gives these answers, at
  most two.
* `questions`: mean number of these questions.

The last line is a JSON object. `interval` is Wilson's 95 % interval for the number of tasks.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import permutations
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from unittest import mock

from recorded import Recorded, replies_in

from adacoder.agents import behaviour
from adacoder.agents.questions import MOST_QUESTIONS, Ruling, question
from adacoder.arena.formats import load
from adacoder.arena.judge import PASSED, HiddenJudge
from adacoder.arena.measures import wilson
from adacoder.arena.tasks import ArenaTask, Statements
from adacoder.checks import Checks
from adacoder.domain import AdaCoderError, Difference, Level, Status, Target
from adacoder.project import Project
from adacoder.service import from_reply
from adacoder.settings import Settings
from adacoder.source.inputs import Input
from adacoder.source.locate import locate
from adacoder.source.splice import splice
from adacoder.task import Task

FILES = {"HumanEval": "HumanEval.jsonl.gz", "MBPP": "mbpp.jsonl.gz"}
SECONDS = 5.0
"""Timeout of an evaluation."""
WORKERS = 2


@dataclass(frozen=True, slots=True)
class Compared:
    """The result of one pair."""

    task: str
    is_right: bool
    differs: bool
    differs_or_raises: bool
    """True if the programs differ, or only one of them returns a value."""
    is_beside_right: bool
    """True if the second program is right."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The result of one triple."""

    task: str
    is_wrong: bool
    is_wrong_by_majority: bool
    is_wrong_after_answers: bool
    questions: int


class Agreement:
    """Compares recorded programs in pairs or triples."""

    def __init__(self, folder: Path) -> None:
        self._settings = Settings(timeout=SECONDS, isolation=Level.LSM)
        self._project = Project(folder)
        self._judge = HiddenJudge(self._settings)
        self._checks = Checks()
        self._turns = asyncio.Semaphore(WORKERS)
        self.not_compared = 0

    async def compared(self, task: ArenaTask, rows: Sequence[Recorded], most: int) -> list[Compared]:
        """Draw and compare up to `most` pairs of the replies `rows` to one task."""
        chance = random.Random(task.id)
        drawn = [*permutations(rows, 2)]
        chance.shuffle(drawn)
        found: list[Compared] = []
        async with self._turns:
            passing: dict[str, Task | None] = {}
            for one, other in drawn[: 8 * most]:
                if len(found) == most:
                    break
                texts = [splice(task.target, from_reply(row["reply"], task.target)).text for row in (one, other)]
                if one["model"] == other["model"] or texts[0] == texts[1]:
                    continue
                for text in texts:
                    if text not in passing:
                        passing[text] = await self._passing(task.target, text)
                first, second = (passing[text] for text in texts)
                if first is None or second is None:
                    continue
                differs = await self._differs(first, second)
                if differs is None:
                    self.not_compared += 1
                else:
                    is_right, is_beside_right = [await self._judge.judge_text(task, text) == PASSED for text in texts]
                    found.append(Compared(task.id, is_right, *differs, is_beside_right))
        return found

    async def chosen(self, task: ArenaTask, rows: Sequence[Recorded], most: int) -> list[Chosen]:
        """Draw up to `most` triples of the replies `rows` to one task, and choose a program from each triple."""
        chance = random.Random(task.id)
        texts = {(row["model"], splice(task.target, from_reply(row["reply"], task.target)).text) for row in rows}
        found: list[Chosen] = []
        async with self._turns:
            passing = [
                (model, text, there)
                for model, text in chance.sample(sorted(texts), min(len(texts), 4 * most))
                if (there := await self._passing(task.target, text)) is not None
            ]
            drawn = [
                three
                for three in permutations(passing, 3)
                if len({each[0] for each in three}) == len({each[1] for each in three}) == 3
            ]
            for three in chance.sample(drawn, min(len(drawn), most)):
                wrong = [await self._judge.judge_text(task, text) != PASSED for _, text, _ in three]
                first, second, third = (there for *_, there in three)
                apart = await self._apart(first, second)
                agrees = [not apart, not await self._apart(first, third), not await self._apart(second, third)]
                votes = (agrees[0] + agrees[1], agrees[0] + agrees[2], agrees[1] + agrees[2])
                asked, rulings = list[str](), set[Ruling | None]()
                while len(asked) < MOST_QUESTIONS and (difference := question(apart, asked)) is not None:
                    asked.append(difference.call)
                    rulings.add(await self._judge.ruled(task, difference))
                answered = Ruling.THERE in rulings and Ruling.HERE not in rulings
                found.append(Chosen(task.id, wrong[0], wrong[votes.index(max(votes))], wrong[answered], len(asked)))
        return found

    async def _apart(self, one: Task, other: Task) -> tuple[Difference, ...]:
        try:
            return (await self._checks.compare(one, other.target)).of_values().differs
        except AdaCoderError:
            return ()

    async def close(self) -> None:
        """End all processes."""
        await self._judge.close()
        await self._checks.close()

    async def _passing(self, target: Target, text: str) -> Task | None:
        """Return the task for the function in `text`; None if the function fails its examples."""
        try:
            there = locate(text, target.module.path, target.module.root, qualname=target.qualname)
        except AdaCoderError:
            return None
        task = Task(there, self._settings, self._project)
        outcome = await self._checks.check(task)
        return task if outcome.status in (Status.VERIFIED, Status.UNVERIFIED) else None

    async def _differs(self, one: Task, other: Task) -> tuple[bool, bool] | None:
        """Return whether the programs differ where both return a value, and whether they differ at all."""
        try:
            found = await self._checks.compare(one, other.target)
        except AdaCoderError:
            return None
        return bool(found.of_values().differs), bool(found.differs)


def shares(found: Sequence[Compared]) -> dict[str, float | int]:
    """Return the figures for pairs."""
    of_task = defaultdict[str, list[Compared]](list)
    for each in found:
        of_task[each.task].append(each)
    weight = {task: 1 / len(its) for task, its in of_task.items()}

    def share(these: Sequence[Compared], those: Sequence[Compared]) -> float:
        whole = sum(weight[each.task] for each in those)
        return round(sum(weight[each.task] for each in these) / whole, 4) if whole else 0.0

    right, wrong = [each for each in found if each.is_right], [each for each in found if not each.is_right]
    agreed = [each for each in found if not each.differs]
    return {
        "pairs": len(found),
        "tasks": len(of_task),
        "wrong": len(wrong),
        "right": share(right, found),
        "agreed": share(agreed, found),
        "right_if_agreed": share([each for each in agreed if each.is_right], agreed),
        "wrong_flagged": share([each for each in wrong if each.differs], wrong),
        "right_flagged": share([each for each in right if each.differs], right),
        "wrong_or_raising": share([each for each in wrong if each.differs_or_raises], wrong),
        "right_or_raising": share([each for each in right if each.differs_or_raises], right),
        "wrong_beside_right": share([each for each in wrong if each.is_beside_right], wrong),
    }


def hidden_calls(task: ArenaTask) -> tuple[Input, ...]:
    """Return the calls in the hidden tests as inputs, if their arguments are literals."""
    found: dict[Input, None] = {}
    for node in ast.walk(ast.parse(task.hidden.text if isinstance(task.hidden, Statements) else "")):
        match node:
            case ast.Call(func=ast.Name(id="candidate" | task.target.name)):
                node.func = ast.Name(task.target.name)
                with suppress(ValueError):
                    ast.literal_eval(ast.Tuple([*node.args, *(keyword.value for keyword in node.keywords)]))
                    found[Input((ast.unparse(node),))] = None
    return tuple(found)


def choices(found: Sequence[Chosen]) -> dict[str, object]:
    """Return the figures for triples."""
    of_task = defaultdict[str, list[Chosen]](list)
    for each in found:
        of_task[each.task].append(each)

    def mean(of: Callable[[Chosen], float]) -> float:
        return fmean(fmean(map(of, its)) for its in of_task.values()) if of_task else 0.0

    figures: dict[str, object] = {"triples": len(found), "tasks": len(of_task)}
    for name in ("wrong", "wrong_by_majority", "wrong_after_answers"):
        share = mean(attrgetter(f"is_{name}"))
        interval = [round(bound, 4) for bound in wilson(share * len(of_task), len(of_task))] if of_task else []
        figures[name] = {"share": round(share, 4), "interval": interval}
    return {**figures, "questions": round(mean(attrgetter("questions")), 4)}


async def measure(
    replies: Path, data: Path, benchmark: str, most: int, *, by_three: bool = False, of_hidden: bool = False
) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name, ExitStack() as patched:
        folder = Path(name)
        tasks = {task.id: task for task in load(data / FILES[benchmark], folder).tasks}
        if of_hidden:
            calls = {(task.target.name, task.target.docstring): hidden_calls(task) for task in tasks.values()}
            most_inputs = max(map(len, calls.values()))

            def made(target: Target, _most: int, _seed: int) -> tuple[Input, ...]:
                return calls[target.name, target.docstring]

            patched.enter_context(mock.patch.multiple(behaviour, varied=made, INPUTS=most_inputs))
        rows = defaultdict[str, list[Recorded]](list)
        for row in replies_in(replies):
            if row["task_id"] in tasks:
                rows[row["task_id"]].append(row)
        measured = Agreement(folder)
        try:
            if by_three:
                of_tasks = await asyncio.gather(
                    *(measured.chosen(tasks[task], its, most) for task, its in rows.items())
                )
                return {"benchmark": benchmark, **choices([each for its in of_tasks for each in its])}
            found = await asyncio.gather(*(measured.compared(tasks[task], its, most) for task, its in rows.items()))
        finally:
            await measured.close()
    pairs = [each for of_task in found for each in of_task]
    return {"benchmark": benchmark, **shares(pairs), "not_compared": measured.not_compared}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--triples", type=int, default=0)
    parser.add_argument("--hidden-inputs", action="store_true")
    parser.add_argument("--benchmark", choices=[*FILES], default="HumanEval")
    options = parser.parse_args()
    found = measure(
        options.replies,
        options.data,
        options.benchmark,
        options.triples or options.pairs,
        by_three=bool(options.triples),
        of_hidden=options.hidden_inputs,
    )
    print(json.dumps(asyncio.run(found)))


if __name__ == "__main__":
    main()
