"""The Journal: the ordered record of each Agent's input and result.

The progress in editors, the output of the command line and `--json` show the Journal. On the lowest floor of the import
order, this is the only module that reads a clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from adacoder.domain import Details, Ended, Example, Failure, Outcome, Step, Timing, Tokens


@dataclass(frozen=True, slots=True)
class Asked(Details):
    """A model was asked."""

    instruction: str
    """The last paragraph of the chat, which is different in each call."""
    reply: str | None = None
    """The reply; None if no reply came."""
    ended: Ended = Ended.STOP
    is_known: bool = False
    """True if the same reply has come before."""
    again: str = ""
    """Reason for asking the model once more."""
    unread: bool = False
    """True if the reply could not be read, so that the Role's default was used."""
    designed: tuple[Example, ...] | None = None
    """The tests that were read from the reply, in the form that people see; None if the Role designs no tests."""


@dataclass(frozen=True, slots=True)
class Evaluated(Details):
    """Examples ran on a candidate."""

    code: str
    has_run: bool
    """True if something ran. False if the candidate is not code."""
    passed: int
    total: int
    failure: Failure | None
    notes: tuple[str, ...] = ()
    is_known: bool = False
    """True if the candidate was evaluated before."""


@dataclass(frozen=True, slots=True)
class Repaired(Details):
    """Rules were tried on a candidate."""

    rules: tuple[str, ...]
    """Names of the rules that changed the candidate."""
    code: str
    """The candidate's code after the rules."""


@dataclass(frozen=True, slots=True)
class Traced(Details):
    """An example was traced."""

    code: str
    example: str
    lines: int
    """Number of executed lines."""
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Noted(Details):
    """A strategy has made a decision, for example not to use a test."""

    note: str


@dataclass
class OpenStep:
    """A step that has not ended yet. Its Agent fills in the details."""

    agent: str
    action: str
    round: int
    doing: str = ""
    branch: tuple[str, ...] = ()
    details: Details | None = None
    tokens: Tokens = field(default_factory=Tokens)
    time: Timing | None = None
    written: int = 0
    """Estimated number of tokens so far in a reply that is streaming."""
    _moved: Callable[[OpenStep], None] = lambda step: None

    def moved(self, written: int) -> None:
        """Report that the reply has grown to about `written` tokens."""
        self.written = written
        self._moved(self)


Listener = Callable[["OpenStep | Step | Waiting"], None]
"""A function that receives the events of a request. It gets an `OpenStep` when a step begins and whenever the step
makes progress, the `Step` when it has ended, and a `Waiting` when the request has to wait. A listener that does not
know a step shows the step's `doing`.
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The request waits for something outside the loop."""

    message: str
    """The reason, such as `waiting for the model, 1 ahead`."""


_branch: ContextVar[tuple[str, ...]] = ContextVar("_branch", default=())


class Journal:
    """The record of one request. Listeners receive every step as it happens."""

    def __init__(self, *listeners: Listener, earlier: Outcome | None = None) -> None:
        """With `earlier`, continue the record of the request that had this Outcome."""
        self._listeners = listeners
        self._steps: list[Step] = [*earlier.steps] if earlier else []
        self._round = earlier.rounds if earlier else 0
        self._began = time.perf_counter() - (earlier.seconds if earlier else 0.0)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that have ended, in order."""
        return tuple(self._steps)

    @property
    def round(self) -> int:
        """Current round of the loop, 1-based; 0 before the first."""
        return self._round

    @property
    def seconds(self) -> float:
        """Seconds since the request began."""
        return time.perf_counter() - self._began

    def begin_round(self) -> None:
        """Start a new round. The steps after this call belong to it."""
        self._round += 1

    def waiting(self, message: str) -> None:
        """Report to the listeners that the request waits, with `message` as the reason."""
        self._tell(Waiting(message))

    @contextmanager
    def branch(self, *names: str) -> Iterator[None]:
        """Record the steps in the `with` block, and of tasks started in it, as a branch of a search."""
        token = _branch.set((*_branch.get(), *names))
        try:
            yield
        finally:
            _branch.reset(token)

    @contextmanager
    def step(self, agent: str, action: str, doing: str) -> Iterator[OpenStep]:
        """Record an action of `agent` inside the `with` block, even if it fails or is cancelled."""
        step = OpenStep(agent, action, max(self._round, 1), doing, _branch.get(), _moved=self._tell)
        began = time.perf_counter()
        self._tell(step)
        failed: str | None = None
        try:
            yield step
        except BaseException as error:
            failed = str(error) or type(error).__name__
            raise
        finally:
            ended = Step(
                step.agent,
                step.action,
                step.round,
                time.perf_counter() - began,
                step.tokens,
                step.details,
                step.time,
                step.doing,
                step.branch,
                failed,
            )
            self._steps.append(ended)
            self._tell(ended)

    def _tell(self, event: OpenStep | Step | Waiting) -> None:
        for listener in self._listeners:
            listener(event)
