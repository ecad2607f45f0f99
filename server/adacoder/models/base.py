"""What every model backend is: the ChatModel protocol, the closed set of errors, and the lease.

The rest of AdaCoder sees no more of a backend than this file.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol, Self

from adacoder.domain import AdaCoderError, Message, Reply

Enough = Callable[[str], bool]
"""Told the reply's text so far whenever it has grown; True ends the reply (`Ended.STOPPED_EARLY`)."""


class ChatModel(Protocol):
    """One model that answers chats. It belongs to the event loop that first asks it."""

    @property
    def name(self) -> str:
        """The model's id as a user names it, such as `ollama:qwen2.5-coder:7b`."""
        ...

    async def reply(self, messages: Sequence[Message], *, enough: Enough, max_tokens: int) -> Reply:
        """Answer `messages` with at most `max_tokens` tokens.

        Raises:
            ModelError: there is no whole reply to be had.
        """
        ...

    async def close(self) -> None:
        """Let go of connections and files."""
        ...


class ModelError(AdaCoderError):
    """A model could not reply. The text says what to do."""


class BadHost(ModelError):
    """What was named as the model server is no address."""

    def __init__(self, host: str) -> None:
        super().__init__(f"'{host}' is no address of a model server: write HOST:PORT or http://HOST:PORT (or https).")


class NotRunning(ModelError):
    """Nothing answers at the model server's address."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"No Ollama server answers at {host}: start it with `ollama serve`,"
            " or name another with --host or OLLAMA_HOST."
        )


class NoModel(ModelError):
    """No model was named, and none that is installed will do."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"No model is named, and none that writes code is installed at {host}:"
            " run `ollama pull qwen2.5-coder:7b`, or name a model with --model."
        )


class ModelMissing(ModelError):
    """The server does not have the model."""

    def __init__(self, model: str, host: str, installed: Sequence[str] = ()) -> None:
        choice = f", or choose an installed one with --model ({', '.join(installed)})" if installed else ""
        super().__init__(f"The model '{model}' is not installed at {host}: run `ollama pull {model}`{choice}.")


class CloudRefused(ModelError):
    """The model would run on someone else's machine, and nobody allowed that."""

    def __init__(self, model: str) -> None:
        super().__init__(
            f"The model '{model}' runs on Ollama's servers, so your code would leave this machine:"
            " choose a local model with --model, or allow it with adacoder.allowCloud."
        )


class Denied(ModelError):
    """The server asks for credentials, or refuses those it got."""

    def __init__(self, host: str, status: int) -> None:
        super().__init__(
            f"The server at {host} denies access (HTTP {status}): set OLLAMA_API_KEY,"
            " which is sent only to a host that you named, over https or on this machine."
        )


class ContextOverflow(ModelError):
    """The prompt is larger than the model's window, so that the model would not see all of it."""

    @classmethod
    def by(cls, model: str) -> Self:
        """The error for a prompt that `model` cannot see all of."""
        return cls(
            f"The prompt does not fit into the context window of '{model}': raise adacoder.contextTokens,"
            " or choose a model with a larger window."
        )


class OutOfMemory(ModelError):
    """The server cannot hold the model."""

    def __init__(self, model: str, said: str) -> None:
        super().__init__(
            f"There is not enough memory to run '{model}' ({said}):"
            " choose a smaller model with --model, or lower adacoder.contextTokens."
        )


class Busy(ModelError):
    """The server turned the request away because of others."""

    def __init__(self, host: str) -> None:
        super().__init__(f"The server at {host} has too many requests waiting: try again when it has worked them off.")


class Stalled(ModelError):
    """The server went silent."""

    def __init__(self, host: str, seconds: float) -> None:
        super().__init__(
            f"The server at {host} has sent nothing for {seconds:g} seconds:"
            " see what it is doing with `ollama ps`, or choose a smaller model with --model."
        )


class BadReply(ModelError):
    """What came is no whole reply."""

    def __init__(self, host: str, what: str) -> None:
        super().__init__(
            f"The server at {host} gave no usable reply ({what}): try again, and see its log if it happens again."
        )


class Leases:
    """Who may use which model now. Owned by whoever starts requests; there is no other queue.

    One request holds a model from its first call to its last, because a server that reads the prompts of two
    requests by turns forgets each time what those of one request have in common.
    """

    def __init__(self) -> None:
        self._queues: dict[Hashable, list[asyncio.Event]] = {}

    @asynccontextmanager
    async def lease(self, key: Hashable, on_wait: Callable[[str], None]) -> AsyncGenerator[None]:
        """Hold `key` inside the `async with` block: first come, first served; a wait can be cancelled.

        `on_wait` is told `waiting for the model, 1 ahead` if there is a wait, and again when that changes.
        """
        queue = self._queues.setdefault(key, [])
        moved = asyncio.Event()
        queue.append(moved)
        try:
            while ahead := queue.index(moved):
                moved.clear()
                on_wait(f"waiting for the model, {ahead} ahead")
                await moved.wait()
            yield
        finally:
            place = queue.index(moved)
            del queue[place]
            for behind in queue[place:]:
                behind.set()
            if not queue:
                del self._queues[key]
