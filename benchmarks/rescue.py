"""Measure how many real replies of models are rescued by AdaCoder's rules and by the paper's rules.

    rescue.py --replies FILE --data FOLDER [--details FILE] [--sources NAME …]

FILE has one JSON object per line (`id, task_id, kind, reply, hidden_tests`). FOLDER has the benchmarks' tasks
(`HumanEval.jsonl.gz`, `mbpp.jsonl.gz`) and the paper's table of names to import (`paper_module_names.json`).

Hidden tests judge the programs. First every reply runs unmodified: its first fenced block, or the whole reply. If the
result contradicts the reply's label, the reply is dropped. Then each treatment of the reply is tried:

* `ours`: the reply goes through `apply`, as in the arena. `apply` knows the docstring and static errors, but no test.
* `paper`: the paper's Algorithm 3 changes a program that failed with a superficial error, at most twice. As in the
  paper, the error comes from the hidden tests. So a passing program is never changed, and `paper_broken` is always 0.
* `extraction`: the first part of `ours`. The function is taken from the reply and inserted, but no rules run.
* `paper_in_our_loop`: the paper's rules in AdaCoder's loop (strategy `adacoder:paper-rules`).

A `rescued` reply passes only with the treatment, a `broken` reply only without it. `median_ms` is the time of
extraction, rules and insertion, without evaluation. The last line of the output is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from recorded import Recorded, plain, replies_in, tasks_in

from adacoder.agents.debug_specialist import DebugSpecialist
from adacoder.agents.paper_rules import debugged
from adacoder.arena.judge import PASSED, HiddenJudge
from adacoder.arena.tasks import ArenaTask
from adacoder.domain import Failure, FailureKind, Level, Verdict
from adacoder.journal import Journal
from adacoder.project import Project
from adacoder.sandbox.environment.interpreter import find
from adacoder.service import Service, from_reply
from adacoder.settings import Settings
from adacoder.source.imports import ImportIndex
from adacoder.source.splice import splice
from adacoder.task import Task

if TYPE_CHECKING:
    from adacoder.domain import JSON

SECONDS = 5.0
"""Timeout of an evaluation, in seconds."""
WORKERS = 2
SUPERFICIAL = frozenset({"NameError", "SyntaxError", "IndentationError"})
"""Errors after which the paper's released program calls its Debug Specialist."""
PASSES = 2
"""Maximum number of times that the Debug Specialist repairs one program."""


@dataclass(slots=True)
class Finding:
    """The results of one reply, before and after each treatment."""

    row: Recorded
    before: bool
    after: dict[str, bool] = field(default_factory=dict)
    """For each treatment, True if the reply passes the hidden tests afterwards."""
    milliseconds: float = 0.0

    @property
    def is_labelled_so(self) -> bool:
        return self.before == (self.row["hidden_tests"] == "pass")

    def json(self) -> dict[str, JSON]:
        """Return the finding as a line of `--details`."""
        kept = {name: self.row[name] for name in ("id", "source", "benchmark", "task_id", "kind") if name in self.row}
        return {**kept, "before": self.before, **self.after, "milliseconds": self.milliseconds}


class Rescue:
    """Applies all treatments to a model's reply."""

    def __init__(
        self, folder: Path, judge: HiddenJudge, tasks: Mapping[str, ArenaTask], names: Mapping[str, str]
    ) -> None:
        self._folder = folder
        self._installed = find(None, folder, folder).folders
        self._judge = judge
        self._tasks = tasks
        self._names = names
        self._service = Service()

    async def unmodified(self, row: Recorded) -> tuple[Finding, Verdict]:
        """Run the unmodified reply."""
        task = self._tasks[row["task_id"]]
        verdict = await self._judge.open_verdict(task, plain(row, task))
        return Finding(row, verdict.passed), verdict

    async def examine(self, finding: Finding, verdict: Verdict) -> None:
        """Try every treatment, such as AdaCoder's rules, on the reply. Record the results in `finding`."""
        task = self._tasks[finding.row["task_id"]]
        finding.after["paper"] = await self._by_the_paper(plain(finding.row, task), verdict, task)
        extracted = splice(task.target, from_reply(finding.row["reply"], task.target)).text
        finding.after |= {
            "extraction": await self._judge.judge_text(task, extracted) == PASSED,
            "ours": await self._applied(finding.row, task, "adacoder"),
            "paper_in_our_loop": await self._applied(finding.row, task, "adacoder:paper-rules"),
        }

    async def time(self, finding: Finding) -> None:
        """Measure the time of extraction and insertion. If the reply failed, include the rules."""
        target = self._tasks[finding.row["task_id"]].target
        began = time.perf_counter()
        candidate = from_reply(finding.row["reply"], target)
        if not finding.before:
            specialist = DebugSpecialist(ImportIndex(target, self._folder, self._installed), Journal())
            candidate = await specialist.repair(target, candidate, Verdict(Failure(FailureKind.EXCEPTION, "failed")))
        splice(target, candidate)
        finding.milliseconds = (time.perf_counter() - began) * 1000

    async def close(self) -> None:
        """End the service's processes."""
        await self._service.close()

    async def _applied(self, row: Recorded, task: ArenaTask, strategy: str) -> bool:
        """Return True if the result of `apply` passes the hidden tests."""
        target = task.target
        settings = Settings(max_iterations=0, isolation=Level.LSM, timeout=SECONDS, strategy=strategy)
        outcome = await self._service.run(
            Task(target, settings, Project(self._folder), start=from_reply(row["reply"], target))
        )
        if outcome.candidate is None:
            raise RuntimeError(f"{row['id']}: {outcome.reason}")
        return await self._judge.judge(task, outcome.candidate) == PASSED

    async def _by_the_paper(self, program: str, verdict: Verdict, task: ArenaTask) -> bool:
        """Return True if `program` passes after Algorithm 3. `verdict` is its verdict before."""
        for _ in range(PASSES):
            error = superficial_error(verdict)
            if error is None:
                break
            changed = debugged(program, error, self._paper_import)
            if changed == program:
                break
            program, verdict = changed, await self._judge.open_verdict(task, changed)
        return verdict.passed

    def _paper_import(self, name: str) -> str | None:
        aliases = {"np": "import numpy as np", "pd": "import pandas as pd"}
        if name in aliases:
            return aliases[name]
        if name in self._names.values():
            return f"import {name}"
        return f"from {self._names[name]} import {name}" if name in self._names else None


def superficial_error(verdict: Verdict) -> str | None:
    """Return the error of a failed run as `Type: message`; None if the paper's rules do not apply to such errors."""
    failure = verdict.failure
    if failure is None or failure.error is None:
        return None
    return failure.error if failure.error.partition(":")[0] in SUPERFICIAL else None


def paper_names(path: Path) -> dict[str, str]:
    """Read the paper's table of names to import. As in the paper's program, the last module with a name wins."""
    table: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return {name: module for module, names in table.items() for name in names}


async def shared_out(work: Sequence[Awaitable[None]]) -> None:
    """Process the items with `work`, `WORKERS` at a time."""
    waiting = iter(work)

    async def worker() -> None:
        for each in waiting:
            await each

    await asyncio.gather(*(worker() for _ in range(WORKERS)))


async def measure(folder: Path, replies: Path, data: Path, sources: Sequence[str]) -> list[Finding]:
    """Return the results of every reply. `folder` is the workspace."""
    rows = [row for row in replies_in(replies) if not sources or row["source"] in sources]
    found: dict[int, tuple[Finding, Verdict]] = {}
    judge = HiddenJudge(Settings(timeout=SECONDS, isolation=Level.LSM))
    rescue = Rescue(folder, judge, tasks_in(data, folder)[1], paper_names(data / "paper_module_names.json"))

    async def first(place: int, row: Recorded) -> None:
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
    # Measure times last, when no other work uses the processor.
    findings = [found[place][0] for place in sorted(found)]
    for finding in findings:
        await rescue.time(finding)
    return findings


def told(done: int, of: int, what: str) -> None:
    if done % 500 == 0 or done == of:
        print(f"{what}: {done} of {of}", file=sys.stderr, flush=True)


def summary(findings: Sequence[Finding]) -> dict[str, JSON]:
    """Return the benchmark's output line."""
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
        "passed_before": sum(finding.before for finding in kept),
        "rescued": rescued,
        "broken": counts["ours_broken"],
        "paper_rescued": paper,
        "paper_broken": counts["paper_broken"],
        **{f"{who}_rescued": counts[f"{who}_rescued"] for who in ("extraction", "paper_in_our_loop")},
        "ratio": round(rescued / paper, 2) if paper else None,
        "median_ms": round(statistics.median(each.milliseconds for each in kept), 3),
    }


def main() -> None:
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
