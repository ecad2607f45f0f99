"""Describe a request in its recording, so that the request can be repeated."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adacoder.domain import JSON, Candidate, Target
from adacoder.project import below
from adacoder.settings import Settings

_RECORDED_SETTINGS = (
    *("strategy", "max_iterations", "timeout", "isolation", "context_tokens", "temperature", "seed"),
    "instructions",
)
"""Settings to record. Other settings name hosts, paths and private files."""


@dataclass(frozen=True, slots=True)
class About:
    """A request: its target, settings and environment."""

    target: Target
    start: Candidate | None
    """Candidate that the request starts from; None if a model writes the first candidate."""
    settings: Settings
    workspace: Path
    interpreter: Path
    """Python interpreter that runs the examples."""
    shareable: Callable[[Target], str]
    """Function that returns the module's text without private content."""
    rung: int = 1
    """Position of the model among all models that the request asks, from 1."""

    def json(self) -> dict[str, JSON]:
        """Return the description as JSON. Equal requests have equal descriptions."""
        place = below(self.workspace, self.target.module.path)
        return {
            "target": {"path": place.as_posix(), "qualname": self.target.qualname},
            "start": None if self.start is None else self.start.text,
            "rung": self.rung,
            "module": self.target.module.name,
            "text": self.shareable(self.target),
            "settings": {name: getattr(self.settings, name) for name in _RECORDED_SETTINGS},
            "python": Path(os.path.realpath(self.interpreter)).name,  # such as `python3.11`
            "platform": sys.platform,
        }
