"""What an attack is: hostile code, how it may end, the harm it does where nothing stops it, and its benign twin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from adacoder.domain import FailureKind

Ending: TypeAlias = FailureKind | Literal["passed", "refused"]
"""The kind of the verdict's failure; or it passed; or the evaluator refused to run (SandboxError)."""

ONE_EXAMPLE = ">>> f(1)\n2"


class Harm(StrEnum):
    """What an attack is after. The scene shows whether it happened, inside an evaluator and outside of one."""

    PASSED = "passed"
    """It was reported as passed: a forged verdict, or the answer of code that did what no candidate may do."""
    HUNG = "hung"
    """There is no verdict when the time is over."""
    SERVER_ENDED = "server ended"
    """Who evaluates was killed, stopped or broken."""
    BYSTANDER_HIT = "bystander hit"
    """Another process was killed, stopped or put under other limits."""
    PROCESS_LEFT = "process left"
    """A process outlives its evaluation."""
    VICTIM_CHANGED = "victim changed"
    """A file, folder or shared memory that is not the candidate's own was changed, added or removed."""
    SECRET_TOLD = "secret told"
    """A secret is in what the evaluation reports."""
    REACHED = "reached"
    """A port, a socket or the terminal of the user got something."""
    EXHAUSTED = "exhausted"
    """Who evaluates holds far more memory than before."""
    POISONED = "poisoned"
    """The next evaluation is not what it would have been."""
    LITTERED = "littered"
    """Temporary files are left when all is over."""


class Harness(StrEnum):
    """Who evaluates where the harm must show: our own evaluator without isolation, or one as many people use."""

    UNCONFINED = "unconfined"
    """AdaCoder's Host at the level `none`."""
    SCRIPT = "script"
    """A fresh process that ends in an `assert`; its exit status is the verdict. It has the usual soft limits."""
    REPORT = "report"
    """A fresh process that runs doctest and prints its verdict as JSON, which is believed."""
    ANSWERS = "answers"
    """A fresh process that answers on a pipe with the output, which is compared; whatever comes first counts."""
    IN_PROCESS = "in process"
    """`exec` and `==` in the evaluating process itself; the verdict is a list in its frame."""


@dataclass(frozen=True, slots=True)
class Attack:
    """A hostile function `f`, or an honest one in hostile company."""

    name: str
    body: str
    """The body of `f`. The names that `Scene.constants` defines are there for it."""
    ends: tuple[Ending, ...]
    """How it may end where it is isolated."""
    harm: Harm
    """What happens where it is not."""
    harness: Harness = Harness.UNCONFINED
    """Who evaluates there."""
    twin: str = "return x + 1"
    """The body of a benign `f` that does something alike, and passes."""
    top: str = ""
    """What the module has above `f`."""
    bottom: str = ""
    """What the module has below `f`."""
    examples: str = ONE_EXAMPLE
    """The docstring of `f`."""
    aftermath: str = "return x + 1"
    """The body of the `f` that is evaluated next, which passes if the attack did it no harm."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Python files of the project, by path in it. They know the scene's constants too."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Files of the virtual environment that evaluates it, by path in it. `packages/…` stands for its
    `site-packages`, `library/…` for the standard library of the installation beneath it."""
    timeout: float = 10.0
    """Seconds that the evaluation may take."""
    knows_want: bool = False
    """Whether it passes because it knows what is wanted, so that an honest doctest run accepts it too."""
    unshown: str = ""
    """Why its harm cannot be shown here; such an attack does not count."""
    machine: str = ""
    """The machine, as `platform.machine` names it, whose instructions it is made of."""
