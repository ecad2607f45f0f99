"""Define an attack: the hostile code, how it may end, the harm that it does without isolation, and its benign twin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from adacoder.domain import FailureKind

Ending: TypeAlias = FailureKind | Literal["passed", "refused"]
"""The kind of the verdict's failure, or that it passed, or that the evaluator refused to run (SandboxError)."""

ONE_EXAMPLE = ">>> f(1)\n2"


class Harm(StrEnum):
    """The harm that an attack aims at. The scene shows whether it happened, inside and outside an evaluator."""

    PASSED = "passed"
    """It was reported as passed, although it forged the verdict or did something that no candidate may do."""
    HUNG = "hung"
    """There is no verdict at the end of the time limit."""
    SERVER_ENDED = "server ended"
    """The evaluator was killed, stopped or broken."""
    BYSTANDER_HIT = "bystander hit"
    """Another process was killed, stopped or given other limits."""
    PROCESS_LEFT = "process left"
    """A process of the attack still runs after its evaluation."""
    VICTIM_CHANGED = "victim changed"
    """The attack changed, added or removed a file, folder or shared memory outside its own."""
    SECRET_TOLD = "secret told"
    """The evaluation reports a secret."""
    REACHED = "reached"
    """The attack sent something to a port, a socket or the user's terminal."""
    EXHAUSTED = "exhausted"
    """The evaluator holds far more memory than before."""
    POISONED = "poisoned"
    """The next evaluation differs from one without the attack."""
    LITTERED = "littered"
    """Temporary files are left at the end."""


class Harness(StrEnum):
    """The evaluator that must show the harm: AdaCoder's own without isolation, or one as many people use."""

    UNCONFINED = "unconfined"
    """AdaCoder's Host at the level `none`."""
    SCRIPT = "script"
    """A new process that ends in an `assert`. Its exit status is the verdict. It has the usual soft limits."""
    REPORT = "report"
    """A new process that runs doctest and prints its verdict as JSON. The verdict is believed."""
    ANSWERS = "answers"
    """A new process that sends the output through a pipe. The first output is compared and counts."""
    IN_PROCESS = "in process"
    """`exec` and `==` in the evaluating process itself. The verdict is a list in its frame."""


@dataclass(frozen=True, slots=True)
class Attack:
    """A hostile function `f`, or an honest one in a hostile module or project."""

    name: str
    body: str
    """The body of `f`. It can use the names that `Scene.constants` defines."""
    ends: tuple[Ending, ...]
    """How the evaluation may end with isolation."""
    harm: Harm
    """The harm that it does without isolation."""
    harness: Harness = Harness.UNCONFINED
    """The evaluator that runs it without isolation."""
    twin: str = "return x + 1"
    """The body of a benign `f` that does something similar and passes."""
    top: str = ""
    """The module's text above `f`."""
    bottom: str = ""
    """The module's text below `f`."""
    examples: str = ONE_EXAMPLE
    """The docstring of `f`."""
    aftermath: str = "return x + 1"
    """The body of the `f` that is evaluated next. It passes if the attack did it no harm."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Python files of the project, by their path in it. They can also use the scene's constants."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Files of the virtual environment that evaluates it, by their path in it. `packages/…` means its `site-packages`,
    and `library/…` the standard library of its installation.
    """
    timeout: float = 10.0
    """Time limit of the evaluation in seconds."""
    knows_want: bool = False
    """True if it passes because it knows the expected output. An honest doctest run then accepts it too."""
    unshown: str = ""
    """Why its harm cannot be shown here. Such an attack does not count."""
    machine: str = ""
    """The machine whose instructions it contains, as in `platform.machine`."""
