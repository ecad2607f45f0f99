"""Base classes of backends. A backend opens models of one kind, and examines them for `adacoder doctor`."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Awaitable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from adacoder.domain import Step
from adacoder.journal import Asked
from adacoder.messages import Text, counted
from adacoder.models.address import Address, require_private
from adacoder.models.base import ChatModel, Leases, OnWait
from adacoder.models.errors import MODEL, Kind, ModelError, NotRunning, OnlyThought
from adacoder.models.examination import Examination, Finding
from adacoder.models.served import ServedModel
from adacoder.models.server import Deadlines, Server
from adacoder.models.speed import WRITTEN_TOKENS, Speed, measure
from adacoder.models.waiting import Reloaded
from adacoder.models.window import Calibration
from adacoder.settings import Settings

T = TypeVar("T")

_PATIENCE = 15.0
"""Timeout for an answer that needs no loaded model, in seconds."""
_MEASURING = 120.0
"""Timeout for loading and measuring a model, in seconds."""


@dataclass(frozen=True, slots=True)
class Session:
    """Data about models that several requests share."""

    leases: Leases = field(default_factory=Leases)
    calibrations: defaultdict[Hashable, Calibration] = field(default_factory=lambda: defaultdict(Calibration))
    """Statistics on token counts and speed, by server and model."""
    seconds_a_call: dict[str, float] = field(default_factory=dict)
    """Mean duration of a model call in the last request, in seconds, by model id."""

    def note_calls(self, model: str | None, steps: Sequence[Step]) -> None:
        """Record how long the model calls of a request took on average."""
        seconds = [step.seconds for step in steps if isinstance(step.details, Asked)]
        if model is not None and seconds:
            self.seconds_a_call[model] = sum(seconds) / len(seconds)

    def announced(self, strategy: str, calls: int, model: str | None) -> str:
        """Return a message with the maximum number of model calls in a request.

        If the model's speed is known from an earlier request, the message includes the expected duration.
        """
        text = f"{strategy} asks the model at most {counted(calls, 'time')}"
        seconds = self.seconds_a_call.get(model or "")
        return text if seconds is None else f"{text}; at {seconds:.1f} s a call, as last time, {calls * seconds:.0f} s"


class Backend(ABC):
    """Opens and examines models of one kind. Create a new instance for each request or examination."""

    slots = 1
    """Number of requests that a server can handle in parallel without slowing down."""

    def __init__(self, settings: Settings, session: Session, on_wait: OnWait) -> None:
        """`on_wait` is called with a reason when a request has to wait."""
        self.settings = settings
        self.session = session
        self.on_wait = on_wait

    @abstractmethod
    async def open_model(self, name: str) -> ChatModel:
        """Open the model `name`, or a default model if `name` is empty.

        Raises:
            ModelError: the model cannot be opened. Some backends notice only at the first call that a model is missing.
        """

    @abstractmethod
    async def examine(self, name: str, how: str, *, probes_speed: bool) -> Examination:
        """Check whether the model that `open_model` would open can be used. The model is not loaded for this.

        Args:
            name: as in `open_model`.
            how: how the model was chosen, such as "as named", for the texts of the findings.
            probes_speed: True if the caller measures the model's speed afterwards, which loads the model.
        """


class ServedBackend(Backend):
    """Backend for models on an HTTP server."""

    kind: Kind
    prefix: str
    """First part of a model id, such as `ollama`."""
    reload_advice = ""
    """Advice for a model that did not answer until it was loaded again; empty for none."""

    @property
    def deadlines(self) -> Deadlines:
        """Timeouts from the settings."""
        settings = self.settings
        return Deadlines(first=settings.first_token_timeout, next=settings.token_timeout, whole=settings.reply_timeout)

    def served(self, server: Server, model: str) -> ServedModel:
        """Return the chat model for `model` on `server`."""
        return ServedModel(
            server,
            model,
            self.settings,
            prefix=self.prefix,
            deadlines=self.deadlines,
            calibration=self.session.calibrations[server.url, model],
            on_wait=self.on_wait,
        )

    async def require_home(self, place: Address) -> None:
        """Raise a ModelError if `place` is not in a private network, unless the settings allow such servers."""
        if not self.settings.allow_cloud:
            await require_private(place, self.kind, self.deadlines.connect)

    async def soon(self, answer: Awaitable[T], url: str) -> T:
        """Wait a short time for `answer`, which must not depend on a loaded model.

        Raises:
            NotRunning: no answer came in time.
        """
        try:
            async with asyncio.timeout(_PATIENCE):
                return await answer
        except TimeoutError:
            raise NotRunning(url, self.kind) from None

    async def measure(self, name: str) -> Finding:
        """Load a model and measure its speed."""
        model_id = f"{self.prefix}:{name}"
        finding = partial(Finding, "Speed", model=model_id)
        self.on_wait(f"measuring {model_id}")
        told: list[str] = []

        def hear(text: str) -> None:
            told.append(text)
            self.on_wait(text)

        try:
            async with asyncio.timeout(_MEASURING):
                model = await type(self)(self.settings, self.session, hear).open_model(name)
                try:
                    async with self.session.leases.lease(model.lease_key, self.on_wait):
                        speed = await measure(model)
                finally:
                    await model.close()
        except TimeoutError:
            remedy = Text("It may still be loading, or is busy: try again, or choose a smaller one with ", MODEL, ".")
            return finding(None, f"it did not write {WRITTEN_TOKENS} tokens in {_MEASURING:g} s", remedy)
        except OnlyThought:
            advice = "Thinking takes time before every reply: a model that does not think is faster."
            return finding(None, "it wrote only thoughts", advice)
        except ModelError as error:
            return finding(False, "it was asked for some tokens and wrote none", str(error))
        if any(isinstance(text, Reloaded) for text in told):
            text = f"{speed.pace}, after it was unloaded because it did not answer"
            return finding(True, text, self.reload_advice)
        return finding(True, speed.pace, await self.speed_advice(name, speed))

    async def speed_advice(self, name: str, speed: Speed) -> str:
        """Return advice about a slow model, or an empty text."""
        del name
        return Text("A smaller model is faster: choose one with ", MODEL, ".") if speed.is_slow else ""
