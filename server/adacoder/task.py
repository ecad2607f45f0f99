"""Define a Task: the input of a request to `service`."""

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
    """Fix the function by rules. If this is not enough, ask a model."""
    CHECK = "check"
    """Only run the examples."""
    REPAIR = "repair"
    """Fix the function by rules, without a model."""
    ANOTHER = "another"
    """Write a version of the function that differs from earlier versions."""
    SUGGEST_EXAMPLES = "suggestExamples"
    """Let a model suggest examples for the docstring."""


@dataclass(frozen=True, slots=True)
class Task:
    """One request on a target function."""

    target: Target
    settings: Settings
    project: Project
    journal: Journal = field(default_factory=Journal)
    start: Candidate | None = None
    """The first candidate to evaluate. If None, a model writes the first candidate."""
    others: tuple[Candidate, ...] = ()
    """Earlier candidates. A new candidate must differ from them."""
    goal: str = ""
    """Name of a failing test that must pass. Empty if there is no such test."""
    wish: str = ""
    """Instructions of the user for this function, such as `use bisect`.

    The prompt contains the instructions. Nothing checks if they were followed.
    """

    def in_mode(self, mode: Mode) -> Task:
        """Return this task with the settings and candidates for `mode`.

        `FIX` and `REPAIR` start with the current function, unless `start` is set. With `ANOTHER`, the result must
        differ from the current function.
        """
        settings = self.settings
        if mode is Mode.REPAIR:  # without iterations, only the repair rules are tried
            settings = replace(settings, max_iterations=0, strategy=Settings().strategy)
        if mode is Mode.ANOTHER and not self.target.is_stub:
            return replace(self, others=(current(self.target), *self.others))
        begins = mode in (Mode.FIX, Mode.REPAIR) and self.start is None
        return replace(self, settings=settings, start=current(self.target) if begins else self.start)

    def access(self, *others: Path) -> Access:
        """Return the access rights of this task. It may read files of the workspace, and of the folders `others`."""
        return Access.around(self.target.module, self.project.folder, self.settings.wishes, *others)

    def require_access(self) -> None:
        """Check that the target's file may be read.

        Raises:
            AdaCoderError: the file may not be read.
        """
        self.access().require(self.target.module.path)

    def overlays(self, *others: Path) -> Mapping[Path, str]:
        """Return the texts of open files, without private files."""
        allowed = self.access(*others)
        return {path: text for path, text in self.project.overlays.items() if allowed.refusal(path) is None}


def one_wish(text: str) -> str:
    """Return the user's instructions in one line.

    Raises:
        ValueError: the instructions are too long.
    """
    wish = " ".join(text[: 20 * _LONGEST_WISH].split())
    if len(wish) > _LONGEST_WISH or len(text) > 20 * _LONGEST_WISH:
        raise ValueError(f"be at most {_LONGEST_WISH} characters long")
    return wish


def current(target: Target) -> Candidate:
    """Return the current function as a candidate."""
    return Candidate(function=dedent(normalize(target.source)))
