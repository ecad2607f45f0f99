"""Define an attack: hostile code, the ways in which it may end, its harm without isolation, and a benign twin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from adacoder.domain import FailureKind

Ending: TypeAlias = FailureKind | Literal["passed", "refused"]
"""The kind of the verdict's failure, `passed`, or `refused` if the evaluator raised SandboxError."""

ONE_EXAMPLE = ">>> f(1)\n2"


class Harm(StrEnum):
    """The harm that an attack intends. The scene detects it, inside and outside an evaluator."""

    PASSED = "passed"
    """The attack was reported as passed, although it forged the verdict or did something forbidden."""
    HUNG = "hung"
    """The evaluation has no verdict within the time limit."""
    SERVER_ENDED = "server ended"
    """The evaluator was killed, stopped or broken."""
    BYSTANDER_HIT = "bystander hit"
    """Another process was killed, stopped or given other limits."""
    PROCESS_LEFT = "process left"
    """A process of the attack still runs after the evaluation."""
    VICTIM_CHANGED = "victim changed"
    """A file, folder or shared memory that is not the attack's own was changed, added or removed."""
    SECRET_TOLD = "secret told"
    """The evaluation's report contains a secret."""
    REACHED = "reached"
    """The attack reached a port, a socket or the user's terminal."""
    EXHAUSTED = "exhausted"
    """The evaluator holds far more memory than before."""
    POISONED = "poisoned"
    """The next evaluation behaves in another way than without the attack."""
    LITTERED = "littered"
    """Temporary files stay at the end."""


class Harness(StrEnum):
    """The evaluator in which the attack must do its harm: AdaCoder's without isolation, or a simple one as others
    use it.
    """

    UNCONFINED = "unconfined"
    """AdaCoder's Host at level `none`."""
    SCRIPT = "script"
    """A new process that ends in an `assert`. Its exit code is the verdict. It has the usual soft limits."""
    REPORT = "report"
    """A new process that runs doctest and prints a verdict as JSON. The evaluator believes it."""
    ANSWERS = "answers"
    """A new process that sends outputs through a pipe. The first output counts."""
    IN_PROCESS = "in process"
    """`exec` and `==` in the evaluator's process. An attack can reach the verdict through the stack."""


@dataclass(frozen=True, slots=True)
class Attack:
    """A hostile function `f`, or an honest one in a hostile module or project."""

    name: str
    body: str
    """Body of `f`. It can use the names in `Scene.constants`."""
    ends: tuple[Ending, ...]
    """The ends that the evaluation may have with isolation."""
    harm: Harm
    """The harm without isolation."""
    harness: Harness = Harness.UNCONFINED
    """The evaluator without isolation."""
    twin: str = "return x + 1"
    """Body of a benign `f` that does something similar and passes."""
    top: str = ""
    """Text of the module above `f`."""
    bottom: str = ""
    """Text of the module below `f`."""
    examples: str = ONE_EXAMPLE
    """The docstring of `f`."""
    aftermath: str = "return x + 1"
    """Body of the next `f`. It passes if the attack had no effect on it."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Python files of the project, by relative path. They can use the scene's constants."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Files of the virtual environment, by path. `packages/…` means `site-packages`, and `library/…` the standard
    library.
    """
    timeout: float = 10.0
    """Time limit of the evaluation in seconds."""
    knows_want: bool = False
    """True if the attack passes by knowing the expected output. Doctest would accept it as well."""
    unshown: str = ""
    """The reason why the harm cannot be shown on this machine. Such an attack does not count."""
    machine: str = ""
    """The machine for whose processor the attack is written, as in `platform.machine`."""
