"""The Journal: the ordered record of what each Agent was given and returned.

Editor progress, CLI output and `--json` are views of it. It is the only part of the ground that reads a clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from adacoder.domain import JSON, Step, Timing, Tokens


@dataclass
class OpenStep:
    """A step that is still going on; its Agent fills in what it learns."""

    agent: str
    action: str
    round: int
    details: dict[str, JSON] = field(default_factory=dict)
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
a `Waiting` while a request has to wait."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The request waits for something outside the loop."""

    message: str
    """Such as `waiting for the model, 1 ahead`."""


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
    def step(self, agent: str, action: str) -> Iterator[OpenStep]:
        """Record what `agent` does inside the `with` block, also when it fails or is cancelled."""
        step = OpenStep(agent, action, max(self._round, 1), _moved=self._tell)
        began = time.perf_counter()
        self._tell(step)
        try:
            yield step
        except BaseException as error:
            step.details.setdefault("error", str(error) or type(error).__name__)
            raise
        finally:
            seconds = time.perf_counter() - began
            ended = Step(step.agent, step.action, step.round, seconds, step.tokens, step.details, step.time)
            self._steps.append(ended)
            self._tell(ended)

    def _tell(self, event: OpenStep | Step | Waiting) -> None:
        for listener in self._listeners:
            listener(event)
