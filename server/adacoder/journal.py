"""Record what each Agent does in a request.

Editors and the command line show this Journal as progress, and `--json` prints it. No other module on the ground floor
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
    """Data about asking a model."""

    instruction: str
    """The last paragraph of the prompt. The paragraphs before it are the same for all calls of a request."""
    reply: str | None = None
    """The reply, or None if none came."""
    ended: Ended = Ended.STOP
    is_known: bool = False
    """True if the same reply came before."""
    again: str = ""
    """The reason for asking the model again. Empty if it was not asked again."""
    unread: bool = False
    """True if the reply was unreadable. Then the Role's default answer was used."""
    designed: tuple[Example, ...] | None = None
    """The tests that the model designed, as shown to the user. None if the Role designs no tests."""


@dataclass(frozen=True, slots=True)
class Evaluated(Details):
    """Data about evaluating a candidate."""

    code: str
    has_run: bool
    """False if the candidate is not code, so nothing could run."""
    passed: int
    total: int
    failure: Failure | None
    notes: tuple[str, ...] = ()
    is_known: bool = False
    """True if the same candidate was evaluated before."""
    tests: tuple[int, int] = (0, 0)
    """Numbers of the project's tests: how many passed, and how many count."""


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
    """Data about a decision of a strategy, such as not to use a test."""

    note: str


@dataclass
class OpenStep:
    """A step that is still running. Its Agent fills in the data."""

    agent: str
    action: str
    round: int
    doing: str = ""
    branch: tuple[str, ...] = ()
    details: Details | None = None
    tokens: Tokens = field(default_factory=Tokens)
    time: Timing | None = None
    written: int = 0
    """Estimated number of tokens of the reply so far."""
    text: str = ""
    """The reply so far."""
    _moved: Callable[[OpenStep], None] = lambda step: None

    def moved(self, text: str) -> None:
        """Report that the reply has grown to `text`. It is called about once for each token."""
        self.written, self.text = self.written + 1, text
        self._moved(self)


Listener = Callable[["OpenStep | Step | Waiting"], None]
"""Function that receives the events of a request.

An `OpenStep` means that a step has begun or made progress. A `Step` means that it has ended. `Waiting` means that the
request waits. A listener can show the text `doing` of any step.
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Event: the request waits, for example because another request uses the model."""

    message: str
    """The reason for the wait, such as `waiting for the model, 1 ahead`."""


_branch: ContextVar[tuple[str, ...]] = ContextVar("_branch", default=())


class Journal:
    """Records one request. Listeners receive every event at once."""

    def __init__(self, *listeners: Listener, earlier: Outcome | None = None) -> None:
        """Start a record, or continue the record of the request with the Outcome `earlier`."""
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
        """The current round, counted from 1. 0 before the first round."""
        return self._round

    @property
    def seconds(self) -> float:
        """Seconds since the request began."""
        return time.perf_counter() - self._began

    def begin_round(self) -> None:
        """Start the next round."""
        self._round += 1

    def waiting(self, message: str) -> None:
        """Tell the listeners why the request waits."""
        self._tell(Waiting(message))

    @contextmanager
    def branch(self, *names: str) -> Iterator[None]:
        """Assign steps to a branch of a search. This applies to the `with` block, and to tasks started in it."""
        token = _branch.set((*_branch.get(), *names))
        try:
            yield
        finally:
            _branch.reset(token)

    @contextmanager
    def step(self, agent: str, action: str, doing: str) -> Iterator[OpenStep]:
        """Record the `with` block as a step of `agent`, even if it fails or is cancelled."""
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
