"""The state of loaded models in the stand-in for Ollama, similar to Ollama's scheduler.

A model has one slot. A request uses its model while it waits for the slot and until its reply ends or its client hangs
up. A model that no request uses may be unloaded. A stream that the client has abandoned can still hold the slot.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from support.standins.prompt import Loaded

DURATION = re.compile(r"-?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+")
_PIECE = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_FOREVER = 2**63 / 1e9
_DEFAULT = 300.0


@dataclass
class Runner(Loaded):
    """A loaded model."""

    slot: asyncio.Lock = field(default_factory=asyncio.Lock)
    references: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Event that is set while no request uses the model."""
    session: float = _DEFAULT
    """Seconds that the model stays loaded after the last request."""
    expires: datetime | None = None
    """Time at which the model will be unloaded; None before the first request has ended."""

    @property
    def until(self) -> str:
        """Unload time as Go writes it. Until the first request has ended, it is counted from now."""
        moment = self.expires or datetime.now(UTC) + timedelta(seconds=self.session)
        return f"{moment:%Y-%m-%dT%H:%M:%S.%f}789Z"


class Runners(dict[str, Runner]):
    """The loaded models by their names."""

    @asynccontextmanager
    async def referred(self, name: str, window: int, keep_alive: object) -> AsyncIterator[tuple[Runner, bool]]:
        """Use a model in the `async with` block. Yield the model, and True if it has to be loaded.

        A model that is loaded with another window is loaded again, as soon as no request uses it.
        """
        while (runner := self.get(name)) is not None and runner.window != window and runner.references:
            await runner.idle.wait()
        is_new = runner is None or runner.window != window
        if runner is None or is_new:
            runner = self[name] = Runner(window)
        runner.references += 1
        runner.idle.clear()
        if keep_alive is not None:
            runner.session = seconds(keep_alive)
        try:
            yield runner, is_new
        finally:
            runner.references -= 1
            if runner.references == 0:
                runner.idle.set()
                runner.expires = datetime.now(UTC) + timedelta(seconds=runner.session)
                self._drop(name, runner)

    def expire(self, name: str) -> None:
        """Unload a model now, or as soon as no request uses it."""
        if runner := self.get(name):
            runner.session, runner.expires = 0.0, datetime.now(UTC)
            self._drop(name, runner)

    def _drop(self, name: str, runner: Runner) -> None:
        if runner.references == 0 and runner.session == 0 and self.get(name) is runner:
            del self[name]


def seconds(keep_alive: object) -> float:
    """Return the seconds that a request keeps its model loaded.

    `keep_alive` is a number, or a duration as Go writes it.
    """
    if isinstance(keep_alive, int | float):
        return float(keep_alive) if keep_alive >= 0 else _FOREVER
    written = str(keep_alive)
    if written.startswith("-"):
        return _FOREVER
    return sum(float(number) * _SECONDS[unit] for number, unit in _PIECE.findall(written))
