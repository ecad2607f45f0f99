"""The Journal: the ordered record of what each Agent was given and returned.

Editor progress, CLI output and `--json` are views of it. It is the only part of the ground that reads a clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from adacoder.domain import JSON, Details, Ended, Example, Failure, Step, Timing, Tokens


@dataclass(frozen=True, slots=True)
class Asked:
    """A model was asked."""

    instruction: str
    """The last paragraph of the chat, which is new in each call."""
    reply: str | None = None
    """None: none came."""
    ended: Ended = Ended.STOP
    is_known: bool = False
    """True if the same reply came before."""
    again: str = ""
    """Reason for asking the model once more."""
    unread: bool = False
    """True if nothing could be read in the reply, so that the Role's default counts."""
    designed: tuple[Example, ...] | None = None
    """The tests that were read in the reply, which people see there; None: the Role designs none."""

    def json(self) -> dict[str, JSON]:
        """As of `Details`."""
        entry: dict[str, JSON] = {"instruction": self.instruction}
        if self.reply is not None:
            entry |= {"reply": self.reply, "ended": self.ended.value}
        if self.is_known:
            entry["known"] = True
        if self.again:
            entry["again"] = self.again
        if self.unread:
            entry["unread"] = True
        return entry


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Examples ran on a candidate."""

    code: str
    has_run: bool
    """True if something ran; False where the candidate is no code."""
    passed: int
    total: int
    failure: Failure | None
    notes: tuple[str, ...] = ()
    is_known: bool = False
    """True if it was evaluated before."""

    def json(self) -> dict[str, JSON]:
        """As of `Details`."""
        return {
            "code": self.code,
            "ran": self.has_run,
            "passed": self.passed,
            "total": self.total,
            "failure": None if self.failure is None else self.failure.json(),
            "notes": [*self.notes],
            **({"known": True} if self.is_known else {}),
        }


@dataclass(frozen=True, slots=True)
class Repaired:
    """Rules were tried on a candidate."""

    rules: tuple[str, ...]
    """The names of those that changed it."""
    code: str
    """The result."""

    def json(self) -> dict[str, JSON]:
        """As of `Details`."""
        return {"rules": [*self.rules], "code": self.code}


@dataclass(frozen=True, slots=True)
class Traced:
    """An example was traced."""

    code: str
    example: str
    lines: int
    """Number of executed lines."""
    is_complete: bool

    def json(self) -> dict[str, JSON]:
        """As of `Details`."""
        return {"code": self.code, "example": self.example, "lines": self.lines, "complete": self.is_complete}


@dataclass(frozen=True, slots=True)
class Noted:
    """A strategy decided something by itself, such as to set a test aside."""

    note: str

    def json(self) -> dict[str, JSON]:
        """As of `Details`."""
        return {"note": self.note}


@dataclass
class OpenStep:
    """A step that is still going on; its Agent fills in what it learns."""

    agent: str
    action: str
    round: int
    doing: str = ""
    branch: tuple[str, ...] = ()
    details: Details | None = None
    tokens: Tokens = field(default_factory=Tokens)
    time: Timing | None = None
    written: int = 0
    """Tokens seen so far in a reply that still streams; an estimate."""
    _moved: Callable[[OpenStep], None] = lambda step: None

    def moved(self, written: int) -> None:
        """Say that the reply has grown to about `written` tokens."""
        self.written = written
        self._moved(self)


Listener = Callable[["OpenStep | Step | Waiting"], None]
"""Called with an `OpenStep` when a step begins and each time it moves, with the `Step` when it has ended, and with
a `Waiting` while a request has to wait. It shows a step that it does not know by its `doing`."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The request waits for something outside the loop."""

    message: str
    """Such as `waiting for the model, 1 ahead`."""


_branch: ContextVar[tuple[str, ...]] = ContextVar("_branch", default=())


class Journal:
    """The record of one request. Listeners hear of every step as it happens."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners = listeners
        self._steps: list[Step] = []
        self._round = 0
        self._began = time.perf_counter()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that have ended, in order."""
        return tuple(self._steps)

    @property
    def round(self) -> int:
        """The round of the loop, from 1; 0 before the first."""
        return self._round

    @property
    def seconds(self) -> float:
        """Time since the request began."""
        return time.perf_counter() - self._began

    def begin_round(self) -> None:
        """Count a new round: the steps that follow belong to it."""
        self._round += 1

    def waiting(self, message: str) -> None:
        """Tell the listeners that the request waits, and for what."""
        self._tell(Waiting(message))

    @contextmanager
    def branch(self, *names: str) -> Iterator[None]:
        """Record what is done inside the `with` block, and in tasks that begin there, as a branch of a search."""
        token = _branch.set((*_branch.get(), *names))
        try:
            yield
        finally:
            _branch.reset(token)

    @contextmanager
    def step(self, agent: str, action: str, doing: str) -> Iterator[OpenStep]:
        """Record what `agent` does inside the `with` block, also when it fails or is cancelled."""
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
