"""Measure the cost of a request in tokens: early stops, reusable prefixes of prompts, and the loop.

A stand-in for Ollama serves recorded replies to tasks of HumanEval over real HTTP: two that fail, then one that passes.
Complete chat replies come first. Most tasks also need replies that are only code, and an early stop cannot shorten
these. Plans are numbered steps, taken from replies to another prompt. Tasks and replies come from the folder
ADACODER_DATA. The output is one JSON line:

* `early_stop`: the number of tokens that the stand-in writes with early stops, divided by the number without. A token
  is four characters. The figure is a little too high, because the stand-in writes on until it notices a closed
  connection. `verified` compares the numbers of verified tasks, and must be 1.
* `prefix`: for each request but a task's first, the share of its tokens that repeat the beginning of the previous
  request.
* `loop`: calls, tokens and verified tasks of `adacoder`, and of `direct` with the first reply. This shows the cost of
  rounds. It does not compare the strategies, because the tasks were chosen to need rounds. `uncached_prompt_tokens` are
  the tokens that do not repeat the previous request's beginning.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import re
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from measuring import Figure, Report

from adacoder.agents.prompt_engineer import PLANNER
from adacoder.domain import Outcome, Reply, Status, Target, TargetError
from adacoder.journal import Asked
from adacoder.models.base import Ask, never
from adacoder.models.served import ServedModel
from adacoder.models.window import estimate
from adacoder.project import Project
from adacoder.replies.steps import are_complete, steps
from adacoder.service import Service, from_reply
from adacoder.settings import Settings
from adacoder.source.locate import locate
from adacoder.task import Task as ServiceTask
from support.standins.ollama import StandIn  # modules in tests/
from support.standins.server import Body, Script, Stream

if TYPE_CHECKING:
    from adacoder.domain import JSON

    Row: TypeAlias = Mapping[str, str]

DATA = "ADACODER_DATA"
"""The environment variable that names the folder with `HumanEval.jsonl.gz` and `model_replies.jsonl.gz`."""
MODEL = "qwen2.5-coder:7b"
TASKS = 30
FAILING = 2
"""Number of failing replies to each task, before a reply that passes."""
TOKEN = 4
"""Number of characters in a token of the stand-in."""
LONGEST_PLAN = PLANNER.limits.most or 0
"""Maximum number of tokens in a plan."""
CHOICE = f"tasks chosen for {FAILING} failing replies and a passing one, so the number of verified tasks proves nothing"
"""Note in the output that the tasks were chosen by their replies."""
REUSABLE = 0.8
"""Target: a prefix cache saves at least this share of the median prompt."""
_EXPLAINED = re.compile(r"^#+ *Tutorial[^\n]*\n(?P<plan>.*?)^#+ *Example Problems", re.DOTALL | re.MULTILINE)
"""Matches the plan in a reply to MapCoder's prompt for similar problems."""
_RAW = "chat-reply"
"""Kind of recorded replies that are complete chat replies."""
_NOT_FROM_CHATS = "continuation"
"""Kind of recorded replies by base models."""
_SEVERAL_BLOCKS = "Analogical"
"""Stage of replies to MapCoder's prompt. They begin with code of other problems, but AdaCoder asks for one block."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task, and the model's replies."""

    target: Target
    replies: tuple[str, ...]
    """The model's replies to the Programming Assistant, in order."""
    plans: tuple[str, ...]
    """Plans that the stand-in gives in turn. After the last plan, the first one follows."""
    raw: int
    """Number of replies in `replies` that are complete chat replies."""

    @property
    def said(self) -> Iterator[str]:
        """Yield the texts for the loop: a reply, a plan, the next reply, and so on."""
        for number, reply in enumerate(self.replies):
            if number:
                yield self.plans[(number - 1) % len(self.plans)]
            yield reply


@dataclass(slots=True)
class Run:
    """The result of one task."""

    outcome: Outcome
    requests: Sequence[str]
    """The texts of all requests."""
    sent: Sequence[int]
    """Number of tokens that the stand-in wrote for each reply."""

    @property
    def prompts(self) -> list[int]:
        """Number of tokens of each request."""
        return [estimate(request) for request in self.requests]

    @property
    def shared(self) -> list[int]:
        """For each request but the first, the number of tokens at its beginning that the previous request has, too."""
        return [estimate(text) for text in _shared(self.requests)]


class Model:
    """The model of the stand-in, with prepared replies. It counts their tokens."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        """Number of tokens of each reply. The last reply may be unfinished."""
        self._says: Iterator[str] = iter(())
        self._asked: object = None
        self._said = ""

    def is_to_say(self, texts: Iterator[str]) -> None:
        """Answer with `texts` from now on, in order."""
        self._says = texts
        self._asked = None

    def __call__(self, body: Body) -> Script:
        self.sent.append(0)
        if body["messages"] != self._asked:  # asked again, the model continues the same reply
            self._asked, self._said = body["messages"], next(self._says)
        return Script(self._said, token=TOKEN, prompt_tokens=estimate(_as_text(body)))

    def counting(self) -> AbstractContextManager[object]:
        """Count the tokens that are sent. At the end of a stream, the server's own count replaces this count."""
        send = Stream.send

        async def counted(stream: Stream, text: str) -> None:
            await send(stream, text)
            part = json.loads(text)
            self.sent[-1] = part.get("eval_count", 0) if part["done"] else self.sent[-1] + 1

        return patch.object(Stream, "send", counted)


class Desk:
    """Runs tasks with a service, whose model server is the stand-in."""

    def __init__(self, folder: Path, model: Model, server: StandIn) -> None:
        self._settings = Settings(models=(MODEL,), host=server.host, max_iterations=FAILING)
        self._folder = folder
        self._model = model
        self._server = server
        self._service = Service()

    async def close(self) -> None:
        """End every process."""
        await self._service.close()

    async def run(self, task: Task, strategy: str = "adacoder") -> Run:
        """Run `strategy` on the task. Return the result."""
        settings = replace(self._settings, strategy=strategy)
        asked, sent = len(self._server.requests), len(self._model.sent)
        self._model.is_to_say(task.said)
        outcome = await self._service.run(ServiceTask(task.target, settings, Project(self._folder)))
        requests = [_as_text(body) for body in self._server.requests[asked:]]
        return Run(outcome, requests, self._model.sent[sent:])

    async def task(self, row: Row, rows: Sequence[Row]) -> Task | None:
        """Return the task of a HumanEval row, with replies from `rows`; None if there are too few."""
        path = self._folder / f"task_{row['task_id'].partition('/')[2]}.py"
        path.write_text(row["prompt"], encoding="utf-8")
        try:
            target = locate(row["prompt"], path, self._folder, qualname=row["entry_point"])
        except TargetError:
            return None
        plans = tuple(dict.fromkeys(plan for each in rows if (plan := _plan(each["reply"]))))
        failing: list[Row] = []
        passing: list[Row] = []
        for each in _in_order(rows, target.name):
            label, text = each["hidden_tests"], each["reply"]
            if label == "pass" and not passing and await self._verifies(target, text):
                passing.append(each)
            elif label == "fail" and len(failing) < FAILING and not await self._verifies(target, text):
                failing.append(each)
        if not passing or len(failing) < FAILING or not plans:
            return None
        served = [*failing, *passing]
        raw = sum(each["kind"] == _RAW for each in served)
        return Task(target, tuple(each["reply"] for each in served), plans, raw)

    async def _verifies(self, target: Target, text: str) -> bool:
        """Return True if a reply passes the examples, perhaps after a repair by rules."""
        settings = replace(self._settings, max_iterations=0)
        candidate = from_reply(text, target)
        outcome = await self._service.run(ServiceTask(target, settings, Project(self._folder), start=candidate))
        return outcome.status is Status.VERIFIED


def _plan(reply: str) -> str | None:
    """Return the numbered steps in a reply; None if there are none, or too many for a plan."""
    explained = _EXPLAINED.search(reply)
    text = explained["plan"] if explained else ""
    return text if are_complete(f"{text}\n\nThese are all steps.\n") and estimate(steps(text)) <= LONGEST_PLAN else None


def _in_order(rows: Sequence[Row], name: str) -> Iterator[Row]:
    """Yield the distinct replies, complete chat replies first."""
    seen: set[str] = set()
    for row in sorted(rows, key=lambda row: row["kind"] != _RAW):
        is_for_us = row["kind"] != _NOT_FROM_CHATS and row["stage"] != _SEVERAL_BLOCKS
        if row["reply"] not in seen and is_for_us and f"def {name}" in row["reply"]:
            seen.add(row["reply"])
            yield row


def _as_text(body: Body) -> str:
    messages = body["messages"]
    assert isinstance(messages, list)
    return "\n".join(f"<{message['role']}>\n{message['content']}" for message in messages)


def _shared(requests: Sequence[str]) -> Iterator[str]:
    """Yield the beginning that each request has in common with the previous request."""
    for before, request in pairwise(requests):
        same = takewhile(lambda pair: pair[0] == pair[1], zip(before, request, strict=False))
        yield request[: sum(1 for _ in same)]


def without_early_stops() -> AbstractContextManager[object]:
    """Read every reply to its end."""
    reply = ServedModel.reply

    async def whole(model: ServedModel, ask: Ask) -> Reply:
        return await reply(model, replace(ask, enough=never))

    return patch.object(ServedModel, "reply", whole)


async def measure(folder: Path, data: Path, count: int) -> dict[str, JSON]:
    """Return the output line. `folder` is the workspace of the tasks."""
    model = Model()
    with model.counting():
        async with StandIn(model) as server:
            desk = Desk(folder, model, server)
            try:
                tasks = await _chosen(desk, data, count)
                runs = [await desk.run(task) for task in tasks]
                with without_early_stops():
                    whole = [await desk.run(task) for task in tasks]
                direct = [await desk.run(task, "direct") for task in tasks]
            finally:
                await desk.close()
    return {
        "tasks": len(tasks),
        "replies": {"served": sum(len(task.replies) for task in tasks), "raw": sum(task.raw for task in tasks)},
        "early_stop": early_stop(runs, whole).json(),
        "prefix": prefix(runs).json(),
        "loop": {"choice": CHOICE, "adacoder": totals(runs), "direct": totals(direct)},
    }


async def _chosen(desk: Desk, data: Path, count: int) -> list[Task]:
    replies: dict[str, list[Row]] = {}
    for row in _read(data / "model_replies.jsonl.gz"):
        replies.setdefault(row["task_id"], []).append(row)
    tasks: list[Task] = []
    for row in _read(data / "HumanEval.jsonl.gz"):
        if len(tasks) < count and (task := await desk.task(row, replies.get(row["task_id"], []))):
            tasks.append(task)
    return tasks


def _read(path: Path) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def early_stop(runs: Sequence[Run], whole: Sequence[Run]) -> Report:
    """Compare the tokens of the same replies with and without early stops."""
    with_it, without = _by_role(runs), _by_role(whole)
    return Report(
        len(runs),
        {"verified": Figure(_verified(runs) / _verified(whole), at_least=1.0)},
        {
            "completion": round(with_it.total() / without.total(), 4),
            **{
                f"{role}_tokens_{how}": counts[role]
                for how, counts in (("with", with_it), ("without", without))
                for role in counts
            },
        },
    )


def _verified(runs: Sequence[Run]) -> int:
    return sum(run.outcome.status is Status.VERIFIED for run in runs)


def _by_role(runs: Sequence[Run]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for run in runs:
        agents = [step.agent for step in run.outcome.steps if isinstance(step.details, Asked)]
        for agent, sent in zip(agents, run.sent, strict=True):
            counts[agent] += sent
    return counts


def prefix(runs: Sequence[Run]) -> Report:
    """Report the tokens that a prefix cache can reuse."""
    later = [share for run in runs for share in _shares(run)]
    tasks = [sum(run.shared) / sum(run.prompts[1:]) for run in runs]
    return Report(
        len(later),
        {
            "median_of_requests": Figure(statistics.median(later), at_least=REUSABLE),
            "median_of_tasks": Figure(statistics.median(tasks), at_least=REUSABLE),
        },
        {"least_of_requests": round(min(later), 4), "least_of_tasks": round(min(tasks), 4)},
    )


def _shares(run: Run) -> Iterator[float]:
    """Yield the share of each request but the first that a prefix cache can reuse."""
    for shared, prompt in zip(run.shared, run.prompts[1:], strict=True):
        yield shared / prompt


def totals(runs: Sequence[Run]) -> dict[str, JSON]:
    """Return the totals of calls, tokens and verified tasks."""
    requests = [request for run in runs for request in run.requests]
    prompt = sum(map(estimate, requests))
    return {
        "verified": _verified(runs),
        "calls": len(requests),
        "prompt_tokens": prompt,
        "uncached_prompt_tokens": prompt - sum(map(estimate, _shared(requests))),
        "completion_tokens": sum(sum(run.sent) for run in runs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=TASKS)
    arguments = parser.parse_args()
    folder = os.environ.get(DATA)
    if folder is None:
        print(json.dumps({"skipped": f"{DATA} does not name a folder with real replies"}))
        return
    with tempfile.TemporaryDirectory() as workspace:
        line = asyncio.run(measure(Path(workspace).resolve(), Path(folder), arguments.tasks))
    print(json.dumps(line))


if __name__ == "__main__":
    main()
