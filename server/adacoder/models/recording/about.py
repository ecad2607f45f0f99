"""The description of a request in a recording. It has all data that is needed to repeat the request."""

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
"""Settings that affect a request. Other settings are not recorded, because they name hosts, paths and private files."""


@dataclass(frozen=True, slots=True)
class About:
    """One request: its target, its settings and its environment."""

    target: Target
    start: Candidate | None
    """The candidate that the request begins with; None if it begins with a reply."""
    settings: Settings
    workspace: Path
    interpreter: Path
    """The Python that runs the examples. Only its path is used here."""
    shareable: Callable[[Target], str]
    """Returns the text of the target's module, without content that must not leave the machine."""
    rung: int = 1
    """Position of the model in the ladder, from 1."""

    def json(self) -> dict[str, JSON]:
        """Return the `about` object of a recorded conversation. It does not depend on time or chance."""
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
