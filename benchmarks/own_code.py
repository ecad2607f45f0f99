"""Search for hidden examples in the prompts for a folder's own functions: python benchmarks/own_code.py FOLDER…

Each folder is a project, such as the unpacked source of a package from PyPI. A silent model receives all of its tasks.
The prompts are searched for hidden examples that the shown docstring does not contain. Prints one JSON line a folder:
tasks, tasks judged by the project's tests, hidden examples, hidden examples found, and the seconds to find the tasks.
The number found must be 0.
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
"""Characters that identify an example."""


def bare(text: str) -> str:
    """Return a text without white space and without the marks of examples."""
    return "".join(re.sub(r"(?m)^[ \t]*(?:>>>|\.\.\.)", "", text).split())


def read(text: str) -> str:
    """Return the source text for a search: bare, as written and with its escape sequences resolved."""
    escaped = text.encode("latin-1", "backslashreplace").decode("unicode_escape", "replace")
    return f"{bare(text)}\n{bare(escaped)}"


async def found(task: ArenaTask) -> list[str]:
    """Return the hidden examples that are in the prompts sent to the model."""
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
    assert bare(task.target.examples[0].source) in text  # the control
    hidden = (bare(each.source) for each in hidden_of(task))
    return [each for each in hidden if len(each) >= LEAST and each in text and each not in shown]


def hidden_of(task: ArenaTask) -> list[Example]:
    """Return the hidden examples of a task."""
    assert isinstance(task.hidden, Examples)
    return list(task.hidden.examples[len(task.target.examples) :])


async def measure(folder: Path) -> dict[str, object]:
    """Return the figures to print for a folder."""
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
