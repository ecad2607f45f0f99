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


class Mode(StrEnum):
    """The kind of work on a function."""

    GENERATE = "generate"
    """Write the function."""
    FIX = "fix"
    """Start from a candidate. Ask a model only if no rule fixes it."""
    CHECK = "check"
    """Only run the examples."""
    REPAIR = "repair"
    """Start from a candidate. Fix it only by rules."""
    ANOTHER = "another"
    """Write a version that differs from all earlier ones."""
    SUGGEST_EXAMPLES = "suggestExamples"
    """Let a model suggest examples for the docstring."""


@dataclass(frozen=True, slots=True)
class Task:
    """One request: a function, its first candidate, and the settings, project and journal of the work."""

    target: Target
    settings: Settings
    project: Project
    journal: Journal = field(default_factory=Journal)
    start: Candidate | None = None
    """The first candidate. If None, a model writes it."""
    others: tuple[Candidate, ...] = ()
    """Earlier candidates. The model is asked for a candidate that differs from them."""

    def in_mode(self, mode: Mode) -> Task:
        """Return this task, adapted to `mode`.

        Fixing and repairing start from the current function, unless `start` is given. For `Mode.ANOTHER` the candidate
        must differ from the current function.
        """
        settings = self.settings
        if mode is Mode.REPAIR:  # a repair needs only rules, and the default workflow has them
            settings = replace(settings, max_iterations=0, strategy=Settings().strategy)
        if mode is Mode.ANOTHER and not self.target.is_stub:
            return replace(self, others=(current(self.target), *self.others))
        begins = mode in (Mode.FIX, Mode.REPAIR) and self.start is None
        return replace(self, settings=settings, start=current(self.target) if begins else self.start)

    def access(self, *others: Path) -> Access:
        """Return the access that this task has to files, including files in the folders `others`."""
        return Access.around(self.target.module, self.project.folder, self.settings.wishes, *others)

    def require_access(self) -> None:
        """Raise AdaCoderError if the target's file may not be read."""
        self.access().require(self.target.module.path)

    def overlays(self, *others: Path) -> Mapping[Path, str]:
        """Return the texts of the open files that this task may read. An open private file stays private."""
        allowed = self.access(*others)
        return {path: text for path, text in self.project.overlays.items() if allowed.refusal(path) is None}


def current(target: Target) -> Candidate:
    """Return the function that is now in the text, as a Candidate."""
    return Candidate(function=dedent(normalize(target.source)))
