"""Tasks of the arena. A task is a function to write, with hidden tests. Only the judge may read these tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from adacoder.domain import AdaCoderError, Candidate, Example, Target
from adacoder.project import Project


class TasksError(AdaCoderError):
    """A file or folder has no tasks, or they cannot be read."""


@dataclass(frozen=True, slots=True, repr=False)
class Statements:
    """Hidden tests as Python code. The code raises an error if the function is wrong."""

    text: str


@dataclass(frozen=True, slots=True, repr=False)
class HiddenCalls:
    """Hidden tests as calls of the function. The sandbox never sees the expected results."""

    call: str
    """Expression for the function to call, such as `f` or `Solution().f`."""
    arguments: tuple[str, ...]
    """Arguments of each call, as the text of a list."""
    wanted: tuple[str, ...] | None
    """Expected result of each call, as the text of a literal. None if the canonical solution computes the results."""
    tolerance: float = 0.0
    """Absolute tolerance for floats; 0 means a relative tolerance of one millionth."""


@dataclass(frozen=True, slots=True, repr=False)
class Examples:
    """Hidden tests from the user's own docstring and project."""

    examples: tuple[Example, ...]
    """All examples of the docstring. Hidden examples may use names that shown examples define."""
    tests: tuple[str, ...] = ()
    """Names of the project's tests that must also pass, in pytest's form."""


Hidden: TypeAlias = Statements | HiddenCalls | Examples


@dataclass(frozen=True, slots=True)
class ArenaTask:
    """A task. Only `judge.py` may read `hidden`."""

    id: str
    target: Target
    project: Project
    canonical: Candidate | None = field(repr=False)
    """A correct solution; None if unknown."""
    hidden: Hidden = field(repr=False)
    hide: tuple[str, ...] = ()
    """Patterns of files that may contain hidden tests. Models and candidates cannot read these files."""
    difficulty: str = ""
    """Difficulty according to the dataset, such as `easy`; empty if unknown."""


@dataclass(frozen=True, slots=True)
class TaskSet:
    """All tasks of a dataset."""

    dataset: str
    """Name of the dataset, such as `humaneval`."""
    checksum: str
    """Checksum of the file or of the folder's texts, as `sha256:…`."""
    tasks: Sequence[ArenaTask]
    left_out: tuple[str, ...] = ()
    """Messages about parts of the file or folder that could not become tasks."""
