"""Tasks of the arena: what is asked, as a Target like any other, and the hidden tests, which only the judge opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from adacoder.domain import AdaCoderError, Candidate, Example, Target
from adacoder.project import Project


class TasksError(AdaCoderError):
    """There are no tasks at a place, or they cannot be read."""


@dataclass(frozen=True, slots=True, repr=False)
class Statements:
    """Hidden tests that are Python: they raise unless the function is right."""

    text: str


@dataclass(frozen=True, slots=True, repr=False)
class Calls:
    """Hidden tests that are arguments: the results must be those that are `wanted`, which the code never sees."""

    call: str
    """What is called, such as `f` or `Solution().f`."""
    arguments: tuple[str, ...]
    """Of each call a list's literal."""
    wanted: tuple[str, ...] | None
    """Of each call a literal; None: what the canonical solution gives."""
    tolerance: float = 0.0
    """How far floats may be off; 0: a millionth of what is wanted."""


@dataclass(frozen=True, slots=True, repr=False)
class Examples:
    """Hidden tests that are examples of the user's own docstring, and tests of the user's project."""

    examples: tuple[Example, ...]
    """All of the docstring's, in order: the shown ones may make what the hidden ones use."""
    tests: tuple[str, ...] = ()
    """Tests of the project that must pass, too, as pytest names them."""


Hidden: TypeAlias = Statements | Calls | Examples


@dataclass(frozen=True, slots=True)
class ArenaTask:
    """One task. Its `hidden` tests are opened in `judge.py`, and nowhere else."""

    id: str
    target: Target
    project: Project
    canonical: Candidate | None = field(repr=False)
    """A solution that is right; None: none is known."""
    hidden: Hidden = field(repr=False)
    hide: tuple[str, ...] = ()
    """Files that may hold hidden tests, as of the setting `hide`: neither the model nor a candidate sees them."""


@dataclass(frozen=True, slots=True)
class TaskSet:
    """Tasks that belong together."""

    dataset: str
    """Such as `humaneval`."""
    checksum: str
    """Of the file or the folder's texts that they were read from, as `sha256:…`."""
    tasks: Sequence[ArenaTask]
    left_out: tuple[str, ...] = ()
    """What could not become a task, and why."""
