"""Tasks of the arena. A task is an ordinary Target with hidden tests that only the judge opens."""

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
    """Hidden tests in Python. They raise an error if the function is wrong."""

    text: str


@dataclass(frozen=True, slots=True, repr=False)
class HiddenCalls:
    """Hidden tests that call the function. The results must equal `wanted`, which the sandbox never sees."""

    call: str
    """Expression to call, such as `f` or `Solution().f`."""
    arguments: tuple[str, ...]
    """The arguments of each call, as the text of a list."""
    wanted: tuple[str, ...] | None
    """The result of each call, as the text of a literal. If None, the canonical solution gives the results."""
    tolerance: float = 0.0
    """Absolute tolerance of floats; 0 means a millionth of the wanted value."""


@dataclass(frozen=True, slots=True, repr=False)
class Examples:
    """Hidden tests from the user's own docstring and from the tests of the user's project."""

    examples: tuple[Example, ...]
    """All examples of the docstring, in order. Hidden examples may use names that shown examples define."""
    tests: tuple[str, ...] = ()
    """Names of the project's tests that must also pass, as pytest names them."""


Hidden: TypeAlias = Statements | HiddenCalls | Examples


@dataclass(frozen=True, slots=True)
class ArenaTask:
    """A task. Only `judge.py` opens its `hidden` tests."""

    id: str
    target: Target
    project: Project
    canonical: Candidate | None = field(repr=False)
    """A correct solution; None if unknown."""
    hidden: Hidden = field(repr=False)
    hide: tuple[str, ...] = ()
    """Files that may contain hidden tests, as in the setting `hide`. Neither the model nor a candidate sees them."""
    difficulty: str = ""
    """Difficulty that the dataset states, such as `easy`; empty if unknown."""


@dataclass(frozen=True, slots=True)
class TaskSet:
    """The tasks of a dataset."""

    dataset: str
    """Name of the dataset, such as `humaneval`."""
    checksum: str
    """Checksum of the source file, or of the folder's texts, as `sha256:…`."""
    tasks: Sequence[ArenaTask]
    left_out: tuple[str, ...] = ()
    """Objects, functions and files that could not be used, each with the reason."""
