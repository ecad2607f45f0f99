"""A Task: all that one request to the service is about."""

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
    """Write it."""
    FIX = "fix"
    """Begin with a candidate, and ask a model only if no rule fixes it."""
    CHECK = "check"
    """Only run the examples."""
    REPAIR = "repair"
    """Begin with a candidate, and fix it by rule only."""
    ANOTHER = "another"
    """Write it in another way than it has been written."""
    SUGGEST_EXAMPLES = "suggestExamples"
    """Let a model suggest examples for the docstring."""


@dataclass(frozen=True, slots=True)
class Task:
    """One request: a function, the candidate to begin with, and what holds while it is worked on."""

    target: Target
    settings: Settings
    project: Project
    journal: Journal = field(default_factory=Journal)
    start: Candidate | None = None
    """The first candidate; None: a model writes it."""
    others: tuple[Candidate, ...] = ()
    """Candidates that there are already: the model is asked for a different one."""

    def in_mode(self, mode: Mode) -> Task:
        """This task for `mode`: fixing and repairing begin with the function as it stands unless `start` is given, and
        another candidate differs from it."""
        settings = self.settings
        if mode is Mode.REPAIR:  # rules are all that it takes of a workflow, and the default one has them
            settings = replace(settings, max_iterations=0, strategy=Settings().strategy)
        if mode is Mode.ANOTHER and not self.target.is_stub:
            return replace(self, others=(current(self.target), *self.others))
        begins = mode in (Mode.FIX, Mode.REPAIR) and self.start is None
        return replace(self, settings=settings, start=current(self.target) if begins else self.start)

    def access(self, *others: Path) -> Access:
        """The files that may be read for this task; with `others`, those that its code may be shown."""
        return Access.around(self.target.module, self.project.folder, self.settings.wishes, *others)

    def require_access(self) -> None:
        """Raise AdaCoderError if the target's file may not be read."""
        self.access().require(self.target.module.path)

    def overlays(self, *others: Path) -> Mapping[Path, str]:
        """The texts of open files that may be read, as by `access`: an open private file is still private."""
        allowed = self.access(*others)
        return {path: text for path, text in self.project.overlays.items() if allowed.refusal(path) is None}


def current(target: Target) -> Candidate:
    """The function as it stands in the text."""
    return Candidate(function=dedent(normalize(target.source)))
