"""The protocol of model servers, its requests and answers, and a base class of connections.

`ollama.py` and `openai.py` implement the protocol. `served.py` turns any server into a chat model.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Generic, Protocol, TypeVar

from adacoder.domain import Ended, Message, Timing
from adacoder.models.address import Address
from adacoder.models.errors import CloudRefused, Kind, NoChat, Stalled
from adacoder.models.window import Bound, Window

ClientT = TypeVar("ClientT")


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Timeouts for a server, in seconds."""

    connect: float = 10.0
    first: float = 300.0
    """Timeout for the first token. It includes the time to load the model, to serve other requests and to read the
    prompt."""
    loaded: float = 1.5
    """Timeout for the first token of a loaded model, in addition to the time for reading the prompt. After this
    time, AdaCoder looks for the cause of the delay."""
    next: float = 60.0
    """Timeout for each further token, and for answers that need no model."""
    whole: float | None = None
    """Timeout for the whole reply, including waits; None for no limit."""
    sign: float = 3.0
    """Interval between progress messages before the first token."""
    busy: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    """Pauses before a busy server is asked again. The request fails after the last pause."""


class Thinking(Enum):
    """A model's ability to think before a reply."""

    NEVER = "never"
    UNLESS_TOLD = "unless told"
    """The model thinks unless the request forbids it."""
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Facts:
    """A model's properties, as reported by its server."""

    thinking: Thinking = Thinking.NEVER
    window: int | None = None
    """Maximum context window in tokens; None if unknown."""
    bound: Bound = Bound.MODEL
    """Limit that decides the maximum window. Errors tell the user how to raise this limit."""
    reads_as_asked: bool = True
    """True if the server uses any requested window up to the maximum. False if the server's window may be smaller."""
    remote: bool = False
    """True if the model runs on another machine."""
    chats: bool = True
    """True if the model can chat. Embedding models cannot."""
    stop: tuple[str, ...] = ()
    """The model's own stop sequences. Stop sequences in a request replace them, so requests include both."""
    may_think_aloud: bool = True
    """False if the model never writes thoughts into the text of a reply."""
    reads_system: bool = True
    """True if the chat template supports system messages."""

    def window_for(self, asked: int) -> Window:
        """Return the context window for a request. `asked` is the number of tokens in the user's settings."""
        if self.window is not None and self.window < asked:
            return Window(self.window, bound=self.bound)
        return Window(asked, bound=Bound.SETTING if self.reads_as_asked else Bound.UNTOLD)


@dataclass(frozen=True, slots=True)
class Running:
    """State of a model that its server has loaded."""

    name: str
    window: int | None = None
    """Context window in tokens; None if unknown."""
    until: datetime | None = None
    """Time at which an unused model will be unloaded; None if unknown."""
    on_gpu: float | None = None
    """Share of the model in GPU memory; None if unknown."""
    size: int = 0
    """Bytes of memory that the model uses; 0 if unknown."""

    def has_window(self, tokens: int) -> bool:
        """Return whether the loaded model can serve a request with this window without being reloaded.

        Since version 0.10, Ollama reports the window of a single request, even if the model serves several in parallel.
        """
        return self.window in (None, tokens)


@dataclass(frozen=True, slots=True)
class Pulled:
    """Progress of a download. Unknown numbers are 0."""

    doing: str
    """Current step, in the server's words."""
    bytes: int = 0
    """Number of bytes that were downloaded so far, over all files."""
    total: int = 0


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat request."""

    model: str
    messages: tuple[Message, ...]
    max_tokens: int
    context_tokens: int
    """Window to load the model with. A server may reload the model if this value changes between requests."""
    bound: Bound
    """Limit that decides the size of the window."""
    temperature: float
    top_p: float | None
    """Nucleus sampling threshold; None for the server's default."""
    seed: int | None
    stop: tuple[str, ...]
    thinking: Thinking
    keep_alive: str
    """Time until an unused model is unloaded, in Ollama's format for durations."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a stream, with token counts. A count of 0 means unknown."""

    ended: Ended
    prompt: int = 0
    completion: int = 0
    cached: int | None = None
    """Number of prompt tokens from the server's cache; None if unknown."""
    time: Timing | None = None
    """Durations that the server measured; None if unknown."""
    repeats_itself: bool = False
    """True if the server ended the reply because the model repeated itself."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a stream, usually one token."""

    text: str = ""
    thought: bool = False
    """True if the text is a thought, which is not part of the reply."""
    so_far: End | None = None
    """Token counts up to this part; None if the server sends counts only at the end."""
    end: End | None = None
    """The end of the stream, in the last part only."""


class Server(Protocol):
    """A model server. Implementations connect at the first request."""

    @property
    def url(self) -> str:
        """Address of the server."""
        ...

    @property
    def kind(self) -> Kind:
        """Kind of the server."""
        ...

    async def facts(self, model: str) -> Facts:
        """Return the properties of `model`.

        Raises:
            ModelMissing: the server does not have the model. The error suggests other models.
        """
        ...

    async def loaded(self, model: str) -> Running | None:
        """Return the load state of `model`, or None if the model is not loaded.

        If the server does not report load states, the result contains only the model's name.
        """
        ...

    async def unload(self, model: str) -> None:
        """Unload `model`. The server first completes running requests.

        Raises:
            ModelError: the server refuses.
        """
        ...

    def chat(self, chat: Chat) -> AsyncGenerator[Part]:
        """Yield the parts of a reply. Closing the generator closes the connection, which stops the server.

        Raises:
            ModelError: the server gave no reply.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


class Connection(ABC, Generic[ClientT]):
    """Base class of connections to a server through a client library.

    A thread imports the library at the first request, because the import takes up to a second.
    """

    kind: Kind

    def __init__(self, address: Address, deadlines: Deadlines | None) -> None:
        self._address = address
        self._deadlines = deadlines or Deadlines()
        self._opened: ClientT | None = None
        self._opening = asyncio.Lock()

    @property
    def url(self) -> str:
        """Address of the server."""
        return self._address.url

    async def _client(self) -> ClientT:
        async with self._opening:
            if self._opened is None:
                self._opened = await asyncio.to_thread(self._connect)
            return self._opened

    @abstractmethod
    def _connect(self) -> ClientT: ...

    @asynccontextmanager
    async def _answered_soon(self) -> AsyncGenerator[None]:
        """Raise Stalled if the `async with` block takes too long.

        The block should wait for an answer that needs no model.
        """
        try:
            async with asyncio.timeout(self._deadlines.next):
                yield
        except TimeoutError:
            raise Stalled(self.url, self._deadlines.next, self.kind) from None


def permitted(model: str, facts: Facts, *, allow_cloud: bool) -> Facts:
    """Return `facts`, or raise an error if the model must not be used.

    Raises:
        CloudRefused: the model runs on another machine, and `allow_cloud` is False.
        NoChat: the model cannot answer chats.
    """
    if facts.remote and not allow_cloud:
        raise CloudRefused(model)
    if not facts.chats:
        raise NoChat(model)
    return facts
