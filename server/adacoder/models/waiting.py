"""Wait for the first part of a reply, and recover a loaded model that does not answer.

Ollama has a bug (ollama/ollama#17131). If a token arrives while a client closes the stream, the stream blocks forever
and keeps the model's slot. All later requests for the model wait. The remedy is to unload the model.

A model that other programs use must not be unloaded. To find out, AdaCoder closes its own request and watches the time
at which Ollama will unload the model. Ollama sets a new time when the last request for a model ends, and does not count
a blocked stream. A changed time is therefore a proof that no other program uses the model.

AdaCoder needs two such proofs, because one proof can be wrong: another program's reply may just have ended, or the
server may still have been reading the prompt.

If this process closed the model's last stream early, that stream probably blocks the model. This counts as one more
proof after each unanswered request.

If other programs seem to use the model, AdaCoder pauses. Otherwise, two programs that wait for the same blocked stream
would each believe that the other one uses the model.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Self

from adacoder.models.base import OnWait
from adacoder.models.errors import FIRST_TOKEN_TIMEOUT, BadReply, ModelError, Stalled
from adacoder.models.server import Chat, Deadlines, Part, Running, Server
from adacoder.models.window import Calibration

_TIMES = 2
"""Tolerance for slow reading: the time to read a prompt may be this many times the expected time."""
_PER_BYTE = 1e-11
"""Assumed time to read one prompt token, in seconds per byte of the model in main memory. This pessimistic value means
18 tokens per second for 7 billion parameters."""
_PER_GPU_BYTE = 1e-12
"""Assumed time to read one prompt token, in seconds per byte of the model in GPU memory."""
_USUAL_SIZE = 6_000_000_000
"""Assumed size of a model in bytes, if its server does not report the size."""
_PROOFS = 2
"""Number of proofs that no other program uses a model, before the model is unloaded."""
_LONGER = 2
"""Factor by which the next wait grows after a proof, so that a temporary cause of a wrong proof can pass."""
_PATIENCE = 4
"""Factor by which the next wait grows each time that other programs still use the model."""
_MOST_EMPTY = 50_000
"""Maximum number of parts without text in a reply."""
_LOOK = 0.25
"""Maximum time between two queries of the model's state, in seconds."""
_LOOKS = 6
"""Minimum number of queries each time that AdaCoder watches a model's state."""
_SETTLED = 0.3
"""Seconds until Ollama has noticed a closed request. Other programs cause later changes of the unload time."""
_UNLOADING = 10.0
"""Timeout for unloading a model, in seconds. Freeing GPU memory can be slow."""


class _Left(Enum):
    """State of a model after AdaCoder has closed its own request."""

    NOBODY = auto()
    """The model is loaded, and no other program uses it."""
    OTHERS = auto()
    """Other programs seem to use the model."""
    NOTHING = auto()
    """The model is not loaded any more."""


class Parts:
    """Reads the parts of a stream that show progress: text, thoughts, and the end.

    Parts without progress do not extend a timeout.
    """

    def __init__(self, stream: AsyncGenerator[Part], url: str) -> None:
        self._stream = stream
        self._url = url
        self._empty = 0
        self.ended = False
        """True if the server ended the stream."""

    async def next(self) -> Part | None:
        """Return the next part that shows progress, or None at the end of the stream.

        Raises:
            BadReply: the stream has too many parts without text.
            ModelError: the server ended the reply with an error.
        """
        try:
            while (part := await anext(self._stream, None)) is not None and not part.text and part.end is None:
                self._empty += 1
                if self._empty > _MOST_EMPTY:
                    break
        except ModelError:
            self.ended = True
            raise
        if self._empty > _MOST_EMPTY:
            raise BadReply(self._url, f"{_MOST_EMPTY:,} parts of the reply are empty")
        self.ended = part is None or part.end is not None
        return part


@dataclass(frozen=True, slots=True)
class Begun:
    """A stream that has begun, with its first part."""

    part: Part | None
    """First part; None if the stream is empty."""
    rest: Parts
    waited: float
    """Seconds that earlier requests without an answer took."""
    loads: bool
    """True if the model had to be loaded."""


class Reloaded(str):
    """Message that a model was unloaded because it did not answer. Progress and result both show this message."""

    __slots__ = ()

    @classmethod
    def note(cls, model: str) -> Self:
        """Create the message about `model`."""
        return cls(f"{model} was loaded and idle but did not answer: it was unloaded, and asked again")


class FirstPart:
    """Waits for the first part of each reply of one model."""

    def __init__(
        self, server: Server, model: str, deadlines: Deadlines, calibration: Calibration, on_wait: OnWait
    ) -> None:
        self._server = server
        self._model = model
        self._deadlines = deadlines
        self._calibration = calibration
        self._on_wait = on_wait
        self._has_told_of_loading = False

    @asynccontextmanager
    async def begun(self, chat: Chat, tokens: int) -> AsyncGenerator[Begun]:
        """Open the stream of `chat` and wait for its first part. `tokens` is the maximum size of the prompt.

        Raises:
            Stalled: no part came in time.
        """
        loaded = await self._loaded(chat)
        async with AsyncExitStack() as stack:
            with self._telling() as why:
                begun = await self._wait(chat, loaded, tokens, stack, why)
            self._calibration.closed = False
            try:
                yield begun
            finally:
                self._calibration.closed |= not begun.rest.ended

    async def _wait(
        self, chat: Chat, loaded: Running | None, tokens: int, stack: AsyncExitStack, why: list[str]
    ) -> Begun:
        """Implement `begun`.

        `stack` closes the stream. The reason for waiting is written into the list `why`, for progress messages.
        """
        clock = asyncio.get_running_loop().time
        loading = f", loading {self._model}"
        if loaded is None:
            why[:] = [loading]
            if not self._has_told_of_loading:
                self._on_wait(f"loading {self._model}")
        self._has_told_of_loading = True
        patience = self._patience(loaded, tokens)
        began = asked = clock()
        until, proofs, has_unloaded = began + self._deadlines.first, 0, False
        while True:
            stream = await stack.enter_async_context(aclosing(self._server.chat(chat)))
            parts = Parts(stream, self._server.url)
            before: list[Running] = []
            try:
                part = await self._next(parts, chat, patience, until, before)
            except TimeoutError:
                await stack.aclose()
            else:
                self._calibration.began(chat.messages, clock() - asked)
                return Begun(part, parts, asked - began, loaded is None)
            if patience is None or not before:
                raise self._stalled()
            left = await self._left(chat, before[0], _SETTLED)
            if left is _Left.NOBODY:
                proofs += 1
                patience *= _LONGER
                why[:] = [", a prompt that was cancelled may still be read"]
            elif left is _Left.OTHERS:
                why[:] = [", others use the model"]
                left = await self._left(chat, before[0], max(0.0, min(_LONGER * patience, until - clock())))
                patience *= _PATIENCE if left is _Left.OTHERS else 1
            if left is not _Left.NOTHING and not has_unloaded:
                proofs += self._calibration.closed
                if proofs >= _PROOFS:  # unload only once
                    has_unloaded, self._calibration.closed = True, False
                    if await self._is_unloaded(chat):
                        left = _Left.NOTHING
            if left is _Left.NOTHING:
                # The model must be loaded again, so the next request gets the full timeout.
                loaded, patience, until = None, None, clock() + self._deadlines.first
                why[:] = [loading]
            elif clock() >= until:
                raise self._stalled()
            asked = clock()

    async def _next(
        self, parts: Parts, chat: Chat, patience: float | None, until: float, before: list[Running]
    ) -> Part | None:
        """Return the first part, or raise TimeoutError at the time `until`.

        After `patience` seconds, check whether the model is loaded. If the model is loaded, add its state to `before`
        and raise TimeoutError early. The state must be read before the request is closed.
        """
        clock = asyncio.get_running_loop().time
        async with asyncio.timeout_at(until) as limit:

            async def look(seconds: float) -> None:
                await asyncio.sleep(min(seconds, until - clock() - _LOOK))
                loaded = await self._loaded(chat)
                if loaded is not None and loaded.until is not None:
                    before.append(loaded)
                    limit.reschedule(clock())

            looking = None if patience is None else asyncio.create_task(look(patience))
            try:
                return await parts.next()
            finally:
                if looking is not None:
                    looking.cancel()
                    await asyncio.wait({looking})

    def _patience(self, loaded: Running | None, tokens: int) -> float | None:
        """Return the seconds after which a loaded model should have answered a prompt of `tokens`.

        Return None if only the user's timeout applies, for example because the model must be loaded first.
        """
        if loaded is None or loaded.until is None or self._deadlines.first < (1 + _LONGER) * self._deadlines.loaded:
            return None
        seconds = self._calibration.seconds_a_token_at_most
        if not seconds:
            on_gpu = loaded.on_gpu or 0.0
            seconds = (loaded.size or _USUAL_SIZE) * (on_gpu * _PER_GPU_BYTE + (1 - on_gpu) * _PER_BYTE)
        return min(self._deadlines.loaded + _TIMES * tokens * seconds, self._deadlines.first / (1 + _LONGER))

    def _stalled(self) -> Stalled:
        limit, kind = self._deadlines.first, self._server.kind
        return Stalled(self._server.url, limit, kind, FIRST_TOKEN_TIMEOUT, self._model)

    async def _loaded(self, chat: Chat) -> Running | None:
        """Return the model's state, or None if the model is not loaded with the window of `chat`."""
        loaded = await self._server.loaded(self._model)
        return loaded if loaded is not None and loaded.has_window(chat.context_tokens) else None

    async def _left(self, chat: Chat, before: Running, seconds: float) -> _Left:
        """Observe the model for up to `seconds` after a request was closed. `before` is the model's earlier state."""
        clock = asyncio.get_running_loop().time
        end, last = clock() + seconds, None
        while True:
            await asyncio.sleep(min(_LOOK, seconds / _LOOKS))
            loaded = await self._loaded(chat)
            if loaded is None:
                return _Left.NOTHING
            # Until the model has been idle once, its unload time changes with each query.
            if loaded.until is not None and loaded.until == last != before.until:
                return _Left.NOBODY
            if clock() >= end:
                return _Left.OTHERS
            last = loaded.until

    async def _is_unloaded(self, chat: Chat) -> bool:
        """Unload the model. Return True on success, even if the model has been loaded again since.

        If other programs use the model, Ollama unloads it later or not at all.
        """
        clock = asyncio.get_running_loop().time
        self._on_wait(Reloaded.note(self._model))
        with suppress(ModelError):  # A proxy may forbid unloading. The loop below checks the result.
            await self._server.unload(self._model)
        end, marked = clock() + _UNLOADING, await self._loaded(chat)
        loaded = marked
        while loaded and marked and clock() < end:
            await asyncio.sleep(_LOOK)
            before, loaded = loaded, await self._loaded(chat)
            if loaded and loaded.until == before.until != marked.until:
                return False
            if loaded and before.until not in (marked.until, loaded.until):
                return True
        return loaded is None

    @contextmanager
    def _telling(self) -> Iterator[list[str]]:
        """Send progress messages until the first part arrives. They include the reason in the yielded list."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        why: list[str] = []
        timers: list[asyncio.TimerHandle] = []

        def tell() -> None:
            self._on_wait(f"waiting for the first token, {loop.time() - began:.0f} s{''.join(why)}")
            timers[:] = [loop.call_later(self._deadlines.sign, tell)]

        timers[:] = [loop.call_later(self._deadlines.sign, tell)]
        try:
            yield why
        finally:
            timers[0].cancel()
