"""A Task: everything that a request to the service needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from adacoder.domain import Candidate, Target
from adacoder.journal import Journal
from adacoder.privacy.access import Access
from adacoder.project import Project
from adacoder.pytext import dedent, normalize
from adacoder.settings import Settings

_LONGEST_WISH = 500


class Mode(StrEnum):
    """The kind of work on a function."""

    GENERATE = "generate"
    """Write the function."""
    FIX = "fix"
    """Fix a candidate by rules, else by a model."""
    CHECK = "check"
    """Only run the examples."""
    REPAIR = "repair"
    """Fix a candidate only by rules, without a model."""
    ANOTHER = "another"
    """Write a version that differs from all earlier ones."""
    SUGGEST_EXAMPLES = "suggestExamples"
    """Let a model suggest examples for the docstring."""


@dataclass(frozen=True, slots=True)
class Task:
    """One request: the target function, an optional first candidate, and the settings, the project and the journal."""

    target: Target
    settings: Settings
    project: Project
    journal: Journal = field(default_factory=Journal)
    start: Candidate | None = None
    """The first candidate. If None, a model writes it."""
    others: tuple[Candidate, ...] = ()
    """Earlier candidates. The model is asked for a different one."""
    goal: str = ""
    """Name of a failing test of the project that must pass; empty if only the function matters."""
    wish: str = ""
    """The user's wish for this function, such as `use bisect`. It is part of the prompt, and nothing checks it."""

    def in_mode(self, mode: Mode) -> Task:
        """Return this task with the settings and candidates that `mode` needs.

        `FIX` and `REPAIR` start from the current function unless `start` is given. `ANOTHER` adds the current function
        to `others`.
        """
        settings = self.settings
        if mode is Mode.REPAIR:  # without iterations, the default strategy only tries the repair rules
            settings = replace(settings, max_iterations=0, strategy=Settings().strategy)
        if mode is Mode.ANOTHER and not self.target.is_stub:
            return replace(self, others=(current(self.target), *self.others))
        begins = mode in (Mode.FIX, Mode.REPAIR) and self.start is None
        return replace(self, settings=settings, start=current(self.target) if begins else self.start)

    def access(self, *others: Path) -> Access:
        """Return the access that this task has to files: to its workspace, and to the folders `others`."""
        return Access.around(self.target.module, self.project.folder, self.settings.wishes, *others)

    def require_access(self) -> None:
        """Raise AdaCoderError if the target's file may not be read."""
        self.access().require(self.target.module.path)

    def overlays(self, *others: Path) -> Mapping[Path, str]:
        """Return the texts of the open files that this task may read. Private files are left out, even if open."""
        allowed = self.access(*others)
        return {path: text for path, text in self.project.overlays.items() if allowed.refusal(path) is None}


def one_wish(text: str) -> str:
    """Return a wish in one line.

    Raises:
        ValueError: it is too long.
    """
    wish = " ".join(text[: 20 * _LONGEST_WISH].split())
    if len(wish) > _LONGEST_WISH or len(text) > 20 * _LONGEST_WISH:
        raise ValueError(f"be at most {_LONGEST_WISH} characters long")
    return wish


def current(target: Target) -> Candidate:
    """Return the target function as it is now in the text, as a Candidate."""
    return Candidate(function=dedent(normalize(target.source)))
