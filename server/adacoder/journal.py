"""Record the actions of the Agents in a request.

Editors and the command line show this Journal as progress, and `--json` prints it.
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
    """Data about asking a model."""

    instruction: str
    """The last paragraph of the prompt. Earlier paragraphs are the same in all prompts of a request."""
    reply: str | None = None
    """The reply of the model, or None."""
    ended: Ended = Ended.STOP
    is_known: bool = False
    """True if the model gave the same reply before."""
    again: str = ""
    """The reason for asking the model again. Empty for the first question."""
    unread: bool = False
    """True if the reply could not be read. Then a default answer was used."""
    designed: tuple[Example, ...] | None = None
    """The tests that the model designed. None if the model was asked for something else."""


@dataclass(frozen=True, slots=True)
class Evaluated(Details):
    """Data about evaluating a candidate."""

    code: str
    has_run: bool
    """False if nothing was run, because the candidate is not code."""
    passed: int
    total: int
    failure: Failure | None
    notes: tuple[str, ...] = ()
    is_known: bool = False
    """True if the same candidate was evaluated before."""
    tests: tuple[int, int] = (0, 0)
    """The project's tests as two numbers: how many passed, and how many count."""


@dataclass(frozen=True, slots=True)
class Repaired(Details):
    """Data about applying the repair rules to a candidate."""

    rules: tuple[str, ...]
    """Names of the rules that changed the candidate."""
    code: str
    """The repaired code."""


@dataclass(frozen=True, slots=True)
class Traced(Details):
    """Data about tracing an example."""

    code: str
    example: str
    lines: int
    """Number of executed lines."""
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Noted(Details):
    """A decision of a strategy, in words, such as not to use a test."""

    note: str


@dataclass
class OpenStep:
    """A step that is still running. The Agent of the step sets the fields."""

    agent: str
    action: str
    round: int
    doing: str = ""
    branch: tuple[str, ...] = ()
    details: Details | None = None
    tokens: Tokens = field(default_factory=Tokens)
    time: Timing | None = None
    written: int = 0
    """Estimated number of tokens that the model has written."""
    text: str = ""
    """The part of the model's reply that has arrived."""
    _moved: Callable[[OpenStep], None] = lambda step: None

    def moved(self, text: str) -> None:
        """Report that the reply has grown to `text`. Call this about once for each token."""
        self.written, self.text = self.written + 1, text
        self._moved(self)


Listener = Callable[["OpenStep | Step | Waiting"], None]
"""Callback for the events of a request.

An `OpenStep` has begun or made progress. A `Step` has ended. `Waiting` gives the reason for a wait.
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Event of a request that waits, for example because another request uses the model."""

    message: str
    """The reason for the wait, such as `waiting for the model, 1 ahead`."""


_branch: ContextVar[tuple[str, ...]] = ContextVar("_branch", default=())


class Journal:
    """Record of one request. Listeners receive every event at once."""

    def __init__(self, *listeners: Listener, earlier: Outcome | None = None) -> None:
        """Start a record. With `earlier`, continue the record of this Outcome."""
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
        """The current round, counted from 1. Before the first round, this is 0."""
        return self._round

    @property
    def seconds(self) -> float:
        """Seconds since the request began."""
        return time.perf_counter() - self._began

    def begin_round(self) -> None:
        """Start the next round."""
        self._round += 1

    def waiting(self, message: str) -> None:
        """Tell the listeners the reason why the request waits."""
        self._tell(Waiting(message))

    @contextmanager
    def branch(self, *names: str) -> Iterator[None]:
        """Mark the steps inside the `with` block as a branch of a search."""
        token = _branch.set((*_branch.get(), *names))
        try:
            yield
        finally:
            _branch.reset(token)

    @contextmanager
    def step(self, agent: str, action: str, doing: str) -> Iterator[OpenStep]:
        """Record the `with` block as a step of `agent`, even if the block fails or is cancelled."""
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
