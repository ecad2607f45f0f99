"""What rules make of real replies of models: ours, and the paper's.

    rescue.py --replies FILE --data FOLDER [--details FILE] [--sources NAME …]

FILE holds one JSON object a line (`id, benchmark, task_id, kind, reply, hidden_tests`); FOLDER the benchmarks' tasks
(`HumanEval.jsonl.gz`, `mbpp.jsonl.gz`) and the table of names that the paper's rules import by
(`paper_module_names.json`). The hidden tests decide here and reach nothing else.

* First every reply runs unmodified: the plain program, which is the first fence if there is one, with the tests
  appended. A reply whose label does not come out again is dropped.
* A task that `apply` refuses (no docstring, examples that doctest cannot read) leaves its replies as they are.
* Ours: what `apply` makes of the reply in the task's module, its prompt. Only the docstring's examples and static
  errors are known to it; and, as to any user's, the function's name and parameters, which a program that goes its own
  way may lack.
* The paper's: Algorithm 3 on the plain program, once more after another superficial error, wherever the unmodified
  program failed by one: the paper's system stops on the hidden tests, so that its rules know their error. For the same
  reason they are never tried on what passes, and `paper_broken` is 0 whatever they do.
* What of ours is due to what: the reply extracted and put in its place without any rule (`extraction`), and then with
  the paper's rules in our loop (`paper_in_our_loop`: the setting `rules = "paper"`, and our table of names).

`rescued` passed after and not before; `broken` passed before and not after. `median_ms` is what extraction, rules and
splice take for one reply, without evaluation. Every program runs in the sandbox. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import gzip
import json
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from adacoder.agents.debug_specialist import DebugSpecialist
from adacoder.agents.paper_rules import debugged
from adacoder.domain import Example, Failure, FailureKind, Level, Module, Target, TargetError, Verdict
from adacoder.journal import Journal
from adacoder.project import Project
from adacoder.pytext import Lines, definitions
from adacoder.sandbox.host import Host, Program
from adacoder.sandbox.interpreter import find
from adacoder.service import Service, from_reply
from adacoder.settings import Rules, Settings
from adacoder.source.imports import ImportIndex
from adacoder.source.locate import locate
from adacoder.source.splice import splice
from adacoder.task import Task as ServiceTask

if TYPE_CHECKING:
    from adacoder.domain import JSON

    Row: TypeAlias = Mapping[str, str]

SECONDS = 5.0
"""That an evaluation may take."""
WORKERS = 2
FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n(?P<code>.*?)(?:^[ \t]*(?:```|~~~)|\Z)", re.DOTALL | re.MULTILINE)
SUPERFICIAL = frozenset({"NameError", "SyntaxError", "IndentationError"})
"""The errors that the released system calls its Debug Specialist for."""
PASSES = 2
"""How often it calls it for one program."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a benchmark: a module with a stub, and the tests that nobody sees."""

    function: str
    prompt: str
    """The module: whatever stands before the stub, its signature and its docstring."""
    tests: str
    """Python that raises unless the function is right."""


@dataclass(slots=True)
class Finding:
    """What came of one reply."""

    row: Row
    before: bool
    after: dict[str, bool] = field(default_factory=dict)
    """Whether it passes the hidden tests, by what was done to it."""
    milliseconds: float | None = None
    """None where `apply` refuses the task."""

    @property
    def is_labelled_so(self) -> bool:
        return self.before == (self.row["hidden_tests"] == "pass")

    def json(self) -> dict[str, JSON]:
        """A line of `--details`."""
        kept = {name: self.row[name] for name in ("id", "source", "benchmark", "task_id", "kind") if name in self.row}
        return {**kept, "before": self.before, **self.after, "milliseconds": self.milliseconds}


class Judge:
    """Runs programs with hidden tests in the sandbox."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "program.py"
        self._folder = folder
        interpreter = find(None, folder, folder)
        self.folders = interpreter.folders
        """What the interpreter imports installed packages from."""
        self._host = Host(interpreter, folder, least=Level.LSM)
        self._known: dict[tuple[str, Task], Verdict] = {}

    async def verdict(self, program: str, task: Task) -> Verdict:
        """What the tests make of `program`; what has been run before is not run again."""
        if (program, task) not in self._known:
            self._known[program, task] = await self._run(program, task)
        return self._known[program, task]

    async def _run(self, program: str, task: Task) -> Verdict:
        text = f"{program}\n\n{task.tests}\n"
        lines = Lines(text)
        what = Program(Module(self._path, "program", self._folder), text, task.function, 1, len(lines), all_count=True)
        example = Example("adacoder_hidden_tests()\n", "", len(lines))
        return await self._host.evaluate(what, (example,), timeout=SECONDS)

    async def passes(self, program: str, task: Task) -> bool:
        """Whether `program` passes the hidden tests."""
        return passed(await self.verdict(program, task))

    async def close(self) -> None:
        """End its processes."""
        await self._host.close()


class Rescue:
    """Everything that is tried on a reply."""

    def __init__(self, folder: Path, judge: Judge, tasks: Mapping[str, Task], names: Mapping[str, str]) -> None:
        self._folder = folder
        self._judge = judge
        self._tasks = tasks
        self._names = names
        self._service = Service()

    async def unmodified(self, row: Row) -> tuple[Finding, Verdict]:
        """What the reply is worth as it came."""
        task = self._tasks[row["task_id"]]
        verdict = await self._judge.verdict(plain(row, task), task)
        return Finding(row, passed(verdict)), verdict

    async def examine(self, finding: Finding, verdict: Verdict) -> None:
        """Try all that can be tried, and write down what came of it."""
        task = self._tasks[finding.row["task_id"]]
        finding.after["paper"] = await self._by_the_paper(plain(finding.row, task), verdict, task)
        target = self._target(task)
        if target is None:
            finding.after |= dict.fromkeys(("extraction", "ours", "paper_in_our_loop"), finding.before)
            return
        extracted = splice(target, from_reply(finding.row["reply"], target)).text
        finding.after |= {
            "extraction": await self._judge.passes(extracted, task),
            "ours": await self._applied(finding.row, target, task, Rules.ORDERED),
            "paper_in_our_loop": await self._applied(finding.row, target, task, Rules.PAPER),
        }

    async def time(self, finding: Finding) -> None:
        """Time extraction, rules (for what failed) and splice."""
        target = self._target(self._tasks[finding.row["task_id"]])
        if target is None:
            return
        began = time.perf_counter()
        candidate = from_reply(finding.row["reply"], target)
        if not finding.before:
            specialist = DebugSpecialist(ImportIndex(target, self._folder, self._judge.folders), Journal())
            candidate = await specialist.repair(target, candidate, Verdict(Failure(FailureKind.EXCEPTION, "failed")))
        splice(target, candidate)
        finding.milliseconds = (time.perf_counter() - began) * 1000

    async def close(self) -> None:
        """End its processes."""
        await self._service.close()

    def _target(self, task: Task) -> Target | None:
        """The task's stub; None where `apply` refuses it: no docstring, or examples that doctest cannot read."""
        try:
            return locate(task.prompt, self._folder / "task.py", self._folder, qualname=task.function)
        except TargetError:
            return None

    async def _applied(self, row: Row, target: Target, task: Task, rules: Rules) -> bool:
        """Whether what `apply` ends with passes."""
        settings = Settings(max_iterations=0, isolation=Level.LSM, timeout=SECONDS, rules=rules)
        outcome = await self._service.run(
            ServiceTask(target, settings, Project(self._folder), start=from_reply(row["reply"], target))
        )
        if outcome.candidate is None:
            raise RuntimeError(f"{row['id']}: {outcome.reason}")
        return await self._judge.passes(splice(target, outcome.candidate).text, task)

    async def _by_the_paper(self, program: str, verdict: Verdict, task: Task) -> bool:
        """Whether Algorithm 3 makes `program`, of which `verdict` is known, pass."""
        for _ in range(PASSES):
            error = superficial_error(verdict)
            if error is None:
                break
            changed = debugged(program, error, self._paper_import)
            if changed == program:
                break
            program, verdict = changed, await self._judge.verdict(changed, task)
        return passed(verdict)

    def _paper_import(self, name: str) -> str | None:
        aliases = {"np": "import numpy as np", "pd": "import pandas as pd"}
        if name in aliases:
            return aliases[name]
        if name in self._names.values():
            return f"import {name}"
        return f"from {self._names[name]} import {name}" if name in self._names else None


def passed(verdict: Verdict) -> bool:
    """Whether the hidden tests ran, and nothing failed."""
    return verdict.passed and len(verdict.results) == 1


def superficial_error(verdict: Verdict) -> str | None:
    """The error of a failed run, as `Type: message`, if the paper's rules are meant for it."""
    failure = verdict.failure
    if failure is None or failure.error is None:
        return None
    return failure.error if failure.error.partition(":")[0] in SUPERFICIAL else None


def plain(row: Row, task: Task) -> str:
    """The program that a reply is taken for without any care."""
    reply = row["reply"]
    if row["kind"] == "continuation":
        return task.prompt + reply
    fence = FENCE.search(reply) if row["kind"] == "chat-reply" else None
    return fence["code"] if fence else reply


def tasks_in(folder: Path) -> dict[str, Task]:
    """The tasks of both benchmarks, by their ids in the replies."""
    tasks = {each["task_id"]: humaneval(each) for each in read(folder / "HumanEval.jsonl.gz")}
    for each in read(folder / "mbpp.jsonl.gz"):
        tasks[f"MBPP/{each['task_id']}"] = mbpp(each)
    return tasks


def humaneval(task: Mapping[str, str]) -> Task:
    """A task of HumanEval: its prompt is a module as it stands."""
    function = task["entry_point"]
    return Task(function, task["prompt"], in_a_function([task["test"], f"check({function})"]))


def mbpp(task: Mapping[str, str | list[str]]) -> Task:
    """A task of MBPP: its text becomes the docstring, and the signature is that of its solution."""
    tests = [str(task["test_setup_code"]), *task["test_list"]]
    solution = str(task["code"]).replace("\r\n", "\n")
    functions = [each for each in definitions(solution) if not each.is_class and not each.parents]
    called = re.findall(r"[^\W\d]\w*(?=\s*\()", tests[1])
    tested = next(each for name in called for each in functions if each.name == name)
    header = tested.header.of(solution)
    prompt = f'{header}\n    """{task["text"]}"""\n'
    return Task(tested.name, prompt, in_a_function(tests))


def in_a_function(tests: Sequence[str]) -> str:
    """Tests that run when they are called."""
    text = "\n".join(tests)
    ast.parse(text)
    return f"def adacoder_hidden_tests():\n    exec({text!r}, globals())"


def read(path: Path) -> Iterator[dict[str, str]]:
    """The objects of a file with one JSON object a line, compressed or not."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def paper_names(path: Path) -> dict[str, str]:
    """The released table the way its program reads it: of several modules with a name the last one wins."""
    table: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return {name: module for module, names in table.items() for name in names}


async def shared_out(work: Sequence[Awaitable[None]]) -> None:
    """Do `work`, so much at a time as there are workers."""
    waiting = iter(work)

    async def worker() -> None:
        for each in waiting:
            await each

    await asyncio.gather(*(worker() for _ in range(WORKERS)))


async def measure(folder: Path, replies: Path, data: Path, sources: Sequence[str]) -> list[Finding]:
    """What came of every reply; `folder` is the workspace that everything runs in."""
    rows = [row for row in read(replies) if not sources or row["source"] in sources]
    found: dict[int, tuple[Finding, Verdict]] = {}
    judge = Judge(folder)
    rescue = Rescue(folder, judge, tasks_in(data), paper_names(data / "paper_module_names.json"))

    async def first(place: int, row: Row) -> None:
        found[place] = await rescue.unmodified(row)
        told(len(found), len(rows), "unmodified")

    done = 0

    async def then(finding: Finding, verdict: Verdict) -> None:
        nonlocal done
        await rescue.examine(finding, verdict)
        done += 1
        told(done, len(rows), "by rules")

    try:
        await shared_out([first(place, row) for place, row in enumerate(rows)])
        await shared_out([then(*each) for each in found.values() if each[0].is_labelled_so])
    finally:
        await rescue.close()
        await judge.close()
    # Nothing else runs any more that would take the processor meanwhile.
    findings = [found[place][0] for place in sorted(found)]
    for finding in findings:
        await rescue.time(finding)
    return findings


def told(done: int, of: int, what: str) -> None:
    """Progress, on standard error."""
    if done % 500 == 0 or done == of:
        print(f"{what}: {done} of {of}", file=sys.stderr, flush=True)


def summary(findings: Sequence[Finding]) -> dict[str, JSON]:
    """The benchmark's line."""
    kept = [finding for finding in findings if finding.is_labelled_so]
    counts = Counter(
        f"{who}_{what}"
        for finding in kept
        for who, passes in finding.after.items()
        for what, holds in (("rescued", passes and not finding.before), ("broken", finding.before and not passes))
        if holds
    )
    rescued, paper = counts["ours_rescued"], counts["paper_rescued"]
    return {
        "replies": len(findings),
        "dropped": len(findings) - len(kept),
        "refused": sum(finding.milliseconds is None for finding in kept),
        "passed_before": sum(finding.before for finding in kept),
        "rescued": rescued,
        "broken": counts["ours_broken"],
        "paper_rescued": paper,
        "paper_broken": counts["paper_broken"],
        **{f"{who}_rescued": counts[f"{who}_rescued"] for who in ("extraction", "paper_in_our_loop")},
        "ratio": round(rescued / paper, 2) if paper else None,
        "median_ms": round(statistics.median(each.milliseconds for each in kept if each.milliseconds is not None), 3),
    }


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--replies", type=Path, required=True, help="replies, one JSON object a line")
    parser.add_argument("--data", type=Path, required=True, help="the folder with the benchmarks' tasks")
    parser.add_argument("--details", type=Path, help="write what came of each reply here, one JSON object a line")
    parser.add_argument("--sources", nargs="*", default=(), help="only the replies of these systems")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        findings = asyncio.run(measure(folder, arguments.replies, arguments.data, arguments.sources))
    if arguments.details:
        lines = [json.dumps(finding.json()) for finding in findings]
        arguments.details.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{sum(not finding.is_labelled_so for finding in findings)} replies dropped: their label does not reproduce")
    print(json.dumps(summary(findings)))


if __name__ == "__main__":
    main()
