"""Requests to a model that says what it is told to, with the real evaluator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from adacoder.domain import Candidate, Ended, Outcome, Reply, Target, Tokens
from adacoder.models.base import Ask
from adacoder.models.errors import ModelError
from adacoder.models.window import Window
from adacoder.project import Project
from adacoder.service import Service
from adacoder.settings import Settings
from adacoder.source.locate import locate
from adacoder.task import Task

STUB = '''"""Shapes."""


def hypotenuse(a, b):
    """The longest side of a right triangle.

    >>> hypotenuse(3, 4)
    5.0
    >>> hypotenuse(5, 12)
    13.0
    """
    pass
'''


class ScriptedModel:
    """Answers with the scripted replies, one after the other; an exception among them is raised."""

    name = "scripted"

    def __init__(self, *replies: str | Reply | ModelError) -> None:
        self.replies = list(replies)
        self.asked: list[str] = []
        self.closed = False

    lease_key = "scripted"

    async def window(self) -> Window:
        return Window(8192)

    async def reply(self, ask: Ask) -> Reply:
        self.asked.append(ask.messages[-1].content)
        await asyncio.sleep(0)
        if not self.replies:
            raise ModelError("The script is at its end.")
        reply = self.replies.pop(0)
        if isinstance(reply, ModelError):
            raise reply
        return reply if isinstance(reply, Reply) else Reply(reply, Tokens(10, 5), Ended.STOP)

    async def close(self) -> None:
        self.closed = True


class Desk:
    """A workspace with one file, a service, and a model to script."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = ScriptedModel()
        self.opens: Callable[[str | None], ScriptedModel] = lambda model_id: self.model
        self.service = Service(open_model=self._open)
        self.settings = Settings(models=("scripted",))

    async def _open(self, model_id: str | None, *_: object) -> ScriptedModel:
        return self.opens(model_id)

    def target(self, text: str = STUB, qualname: str = "hypotenuse") -> Target:
        path = self.folder / "shapes.py"
        path.write_text(text, encoding="utf-8", newline="")
        return locate(text, path, self.folder, qualname=qualname)

    async def run(
        self, target: Target, *replies: str | Reply | ModelError, start: Candidate | None = None
    ) -> tuple[Outcome, ScriptedModel]:
        model = self.model = ScriptedModel(*replies)
        outcome = await self.service.run(Task(target, self.settings, Project(self.folder), start=start))
        assert model.closed or not model.asked
        return outcome, model
