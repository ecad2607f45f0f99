"""What a request is about, as its recording tells it: all that is needed to make the same request again."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adacoder.domain import JSON, Candidate, Target
from adacoder.settings import Settings

_NUMBERED = re.compile(r"python(\d+\.\d+)", re.IGNORECASE)
"""How an executable is called that tells its version."""


@dataclass(frozen=True, slots=True)
class About:
    """What a request is about."""

    target: Target
    start: Candidate | None
    """Where it begins, if not with a reply."""
    settings: Settings
    workspace: Path
    interpreter: Path
    """What runs the examples; it is not run for this."""
    shown: Callable[[Target], str]
    """The text of the target's module as it may leave the machine."""
    rung: int = 1
    """The place of the model in the ladder, from 1."""

    @property
    def path(self) -> str:
        """The module's file, as seen from the workspace."""
        path = self.target.module.path
        return (path.relative_to(self.workspace) if path.is_relative_to(self.workspace) else path).as_posix()

    def json(self) -> dict[str, JSON]:
        """The `about` object of a conversation. Nothing in it depends on time or chance."""
        return {
            "target": {"path": self.path, "qualname": self.target.qualname},
            "rung": self.rung,
            "module": self.target.module.name,
            "text": self.shown(self.target),
            "start": None if self.start is None else self.start.text,
            "settings": _shaping(self.settings),
            "python": _version(self.interpreter),
            "platform": sys.platform,
        }


def _shaping(settings: Settings) -> dict[str, JSON]:
    """What shapes a request, as section `adacoder` spells it."""
    return {
        "strategy": settings.strategy,
        "maxIterations": settings.max_iterations,
        "rules": settings.rules.value,
        "timeout": settings.timeout,
        "isolation": settings.isolation.value,
        "contextTokens": settings.context_tokens,
        "temperature": settings.temperature,
        "seed": settings.seed,
        "instructions": settings.instructions,
    }


def _version(interpreter: Path) -> str | None:
    """The version of an interpreter, as far as it is known without running it."""
    executable = os.path.realpath(interpreter)
    if executable == os.path.realpath(sys.executable):
        return platform.python_version()
    match = _NUMBERED.fullmatch(Path(executable).name)
    return match[1] if match else None
