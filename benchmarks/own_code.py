"""Check that no prompt of the arena contains hidden examples of a folder's own functions.

    python benchmarks/own_code.py FOLDER…

Each folder is a project. A model that never answers with code gets all of its tasks, and the prompts are searched for
hidden examples that the docstring does not show. The output is one JSON line for each folder: the numbers of tasks, of
tasks that the project's tests judge, and of hidden examples, the examples that were found (there must be none), and the
seconds to find the tasks.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from pathlib import Path

from adacoder.arena.own_code import tasks_of
from adacoder.arena.tasks import ArenaTask, Examples
from adacoder.domain import Example
from adacoder.models.backend import Session
from adacoder.models.base import Leases
from adacoder.models.scripted import ScriptedModel
from adacoder.models.window import Window
from adacoder.service import Service
from adacoder.settings import Settings
from adacoder.task import Task

LEAST = 4
"""Minimum length of an example that is searched for. Shorter examples occur by chance."""


def bare(text: str) -> str:
    """Return a text without white space and without prompts such as `>>>`."""
    return "".join(re.sub(r"(?m)^[ \t]*(?:>>>|\.\.\.)", "", text).split())


def read(text: str) -> str:
    """Return the text without white space and prompts, as written and with its escape sequences resolved."""
    escaped = text.encode("latin-1", "backslashreplace").decode("unicode_escape", "replace")
    return f"{bare(text)}\n{bare(escaped)}"


async def found(task: ArenaTask) -> list[str]:
    """Return the hidden examples that occur in a task's prompts, but not in the shown docstring."""
    model = ScriptedModel(then="nothing", window=Window(1 << 17))

    async def opened(*_: object) -> ScriptedModel:
        return model

    service = Service(opened, Session(leases=Leases(1)))
    settings = Settings(max_iterations=0, strategy="adacoder", hide=task.hide)
    await service.run(Task(task.target, settings, task.project))
    await service.close()
    text, shown = (
        read("\n".join(ask.text for ask in model.asked)),
        read(task.target.docstring_span.of(task.target.text)),
    )
    assert bare(task.target.examples[0].source) in text  # The search works: it finds a shown example.
    hidden = (bare(each.source) for each in hidden_of(task))
    return [each for each in hidden if len(each) >= LEAST and each in text and each not in shown]


def hidden_of(task: ArenaTask) -> list[Example]:
    """Return the hidden examples of a task."""
    assert isinstance(task.hidden, Examples)
    return list(task.hidden.examples[len(task.target.examples) :])


async def measure(folder: Path) -> dict[str, object]:
    """Return the figures for a folder."""
    began = time.perf_counter()
    tasks = (await tasks_of(folder, Settings())).tasks
    seconds = time.perf_counter() - began
    return {
        "folder": folder.name,
        "tasks": len(tasks),
        "judged_by_tests": sum(isinstance(each.hidden, Examples) and bool(each.hidden.tests) for each in tasks),
        "hidden": sum(len(hidden_of(each)) for each in tasks),
        "found": {each.id: told for each in tasks if (told := await found(each))},
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(json.dumps(asyncio.run(measure(Path(name).resolve()))), flush=True)
