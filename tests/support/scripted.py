"""Run requests with a scripted model and the real evaluator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from adacoder.domain import Candidate, Outcome, Target
from adacoder.models.backend import Session
from adacoder.models.scripted import Said, ScriptedModel
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


class Desk:
    """A workspace with one file, a service, and a scripted model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.service = Service(open_model=self._open)
        self.clear()

    def clear(self) -> None:
        """Reset settings, models and session. The started processes stay, because starting them is slow."""
        self.model = ScriptedModel()
        self.opens: Callable[[str | None], ScriptedModel] = lambda model_id: self.model
        self.settings = Settings(models=("scripted",), strategy="adacoder")
        self.service.session = Session()

    async def _open(self, model_id: str | None, *_: object) -> ScriptedModel:
        return self.opens(model_id)

    def target(self, text: str = STUB, qualname: str = "hypotenuse") -> Target:
        path = self.folder / "shapes.py"
        path.write_text(text, encoding="utf-8", newline="")
        return locate(text, path, self.folder, qualname=qualname)

    async def run(
        self, target: Target, *replies: Said, start: Candidate | None = None
    ) -> tuple[Outcome, ScriptedModel]:
        model = self.model = ScriptedModel(*replies)
        outcome = await self.service.run(Task(target, self.settings, Project(self.folder), start=start))
        assert model.is_closed or not model.asked
        return outcome, model
