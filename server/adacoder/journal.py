"""The Journal: the ordered record of each Agent's input and result.

Editors and the command line show the Journal as progress, and `--json` prints it. No other module on the ground floor
(see ARCHITECTURE.md) reads a clock.
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
    """Details of a step that asks a model."""

    instruction: str
    """The last paragraph of the prompt. The paragraphs before it are the same in all calls of a request."""
    reply: str | None = None
    """The reply; None if no reply came."""
    ended: Ended = Ended.STOP
    is_known: bool = False
    """True if the model has given the same reply before."""
    again: str = ""
    """The reason for asking the model once more; empty if it is not asked again."""
    unread: bool = False
    """True if the reply does not have the expected form. The Role's default answer is then used."""
    designed: tuple[Example, ...] | None = None
    """The designed tests, as they are shown to the user; None if the Role designs no tests."""


@dataclass(frozen=True, slots=True)
class Evaluated(Details):
    """Details of a step that runs the examples on a candidate."""

    code: str
    has_run: bool
    """False if there was nothing to run, because the candidate is not code."""
    passed: int
    total: int
    failure: Failure | None
    notes: tuple[str, ...] = ()
    is_known: bool = False
    """True if the candidate was evaluated before."""
    tests: tuple[int, int] = (0, 0)
    """The number of the project's tests that passed, and the number that count."""


@dataclass(frozen=True, slots=True)
class Repaired(Details):
    """Details of a step that tries the repair rules on a candidate."""

    rules: tuple[str, ...]
    """Names of the rules that changed the candidate."""
    code: str
    """The candidate's code after the rules."""


@dataclass(frozen=True, slots=True)
class Traced(Details):
    """Details of a step that traces an example."""

    code: str
    example: str
    lines: int
    """Number of executed lines."""
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Noted(Details):
    """Details of a step that records a decision of a strategy, such as not to use a test."""

    note: str


@dataclass
class OpenStep:
    """A step that has not ended yet. Its Agent fills in the details, tokens and times."""

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
    text: str = ""
    """The reply so far."""
    _moved: Callable[[OpenStep], None] = lambda step: None

    def moved(self, text: str) -> None:
        """Report that the reply has grown to `text`, by about one token."""
        self.written, self.text = self.written + 1, text
        self._moved(self)


Listener = Callable[["OpenStep | Step | Waiting"], None]
"""Receives the events of a request: an `OpenStep` when a step begins or makes progress, a `Step` when it has ended, and
a `Waiting` when the request has to wait. For a step of unknown kind, a listener can show the text `doing`.
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An event: the request waits, for example for another request that uses the model."""

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
        """The current round of the request, 1-based; 0 before the first round."""
        return self._round

    @property
    def seconds(self) -> float:
        """Seconds since the request began."""
        return time.perf_counter() - self._began

    def begin_round(self) -> None:
        """Start a new round. The steps after this call belong to it."""
        self._round += 1

    def waiting(self, message: str) -> None:
        """Tell the listeners that the request waits, for the reason `message`."""
        self._tell(Waiting(message))

    @contextmanager
    def branch(self, *names: str) -> Iterator[None]:
        """Mark the steps in the `with` block, and in tasks started there, as steps of a branch of a search."""
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
