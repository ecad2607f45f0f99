"""The protocol `Server` with its requests and answers, and the base class of connections.

`ollama.py` and `openai.py` implement the protocol. `served.py` makes a ChatModel from any server.
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
    """Timeout for the first token. Until then, the server may load the model, serve others and read the prompt."""
    loaded: float = 1.5
    """Time for the first token of a loaded model, in addition to the time for reading the prompt. After this time,
    AdaCoder looks for the cause of the delay."""
    next: float = 60.0
    """Timeout for the next token, and for any answer that needs no model."""
    whole: float | None = None
    """Timeout for the whole reply, including waits. None means that there is no limit."""
    sign: float = 3.0
    """Interval of progress messages before the first token."""
    busy: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    """Pauses between requests to a busy server. If it is still busy after the last pause, the request fails."""


class Thinking(Enum):
    """Thinking mode of a model."""

    NEVER = "never"
    UNLESS_TOLD = "unless told"
    """The model thinks unless the request forbids it."""
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Facts:
    """Properties of a model, as reported by its server."""

    thinking: Thinking = Thinking.NEVER
    window: int | None = None
    """Maximum context window in tokens; None if unknown."""
    bound: Bound = Bound.MODEL
    """Origin of this maximum. Errors use it to say how to get a larger window."""
    reads_as_asked: bool = True
    """True if the server uses the requested window, up to the maximum. If False, the window may be smaller."""
    remote: bool = False
    """True if the server forwards requests to another machine."""
    chats: bool = True
    """True if the model answers chats. Some models only embed texts."""
    stop: tuple[str, ...] = ()
    """The model's own stop sequences. A request with other sequences must repeat these, because it replaces them."""
    may_think_aloud: bool = True
    """False if neither the chat template nor the server supports thoughts. Then the text of a reply has none."""
    reads_system: bool = True
    """True if the chat template passes system messages on to the model."""

    def window_for(self, asked: int) -> Window:
        """Return the context window for a request that asks for a window of `asked` tokens."""
        if self.window is not None and self.window < asked:
            return Window(self.window, bound=self.bound)
        return Window(asked, bound=Bound.SETTING if self.reads_as_asked else Bound.UNTOLD)


@dataclass(frozen=True, slots=True)
class Running:
    """A loaded model."""

    name: str
    window: int | None = None
    """Context window in tokens that the model was loaded with; None if unknown."""
    until: datetime | None = None
    """Time at which the model will be unloaded if it is not used; None if unknown."""
    on_gpu: float | None = None
    """Share of the model in GPU memory; None if unknown."""
    size: int = 0
    """Bytes of memory that the model takes; 0 if unknown."""

    def has_window(self, tokens: int) -> bool:
        """Return whether the loaded model can serve a request with this window. If not, the server must reload it.

        Ollama 0.10 and later reports the window of one request, even if it serves several in parallel.
        """
        return self.window in (None, tokens)


@dataclass(frozen=True, slots=True)
class Pulled:
    """Progress of a model's download. Unknown numbers are 0."""

    doing: str
    """The current step, as the server words it."""
    bytes: int = 0
    """Number of downloaded bytes, summed over the model's files."""
    total: int = 0


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat request."""

    model: str
    messages: tuple[Message, ...]
    max_tokens: int
    context_tokens: int
    """Window to load the model with. It is always the same, because a server may reload the model at each change."""
    bound: Bound
    """The limit that decided the size of this window."""
    temperature: float
    top_p: float | None
    """None means the server's default."""
    seed: int | None
    stop: tuple[str, ...]
    thinking: Thinking
    keep_alive: str
    """Time that the model stays loaded afterwards, as a duration in Ollama's format."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a stream, with the numbers of tokens in the prompt and the reply; 0 if unknown."""

    ended: Ended
    prompt: int = 0
    completion: int = 0
    cached: int | None = None
    """Number of prompt tokens that the server had cached; None if unknown."""
    time: Timing | None = None
    """Times that the server measured; None if unknown."""
    repeats_itself: bool = False
    """True if the server ended the reply because the model only repeated itself."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a stream, usually one token long."""

    text: str = ""
    thought: bool = False
    """True if the text belongs to the model's thoughts, which are not part of the reply."""
    so_far: End | None = None
    """The counts so far, in case the reply is ended here; None if the server sends counts only at the end."""
    end: End | None = None
    """The end of the stream. Only the last part has it."""


class Server(Protocol):
    """A model server. It imports and connects to nothing before the first request."""

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
            ModelMissing: the server does not have the model. The error names other models of the server.
        """
        ...

    async def loaded(self, model: str) -> Running | None:
        """Return the state of `model`; None if it is not loaded. If its state is unknown, only the name is set."""
        ...

    async def unload(self, model: str) -> None:
        """Unload `model` as soon as no request waits for it or reads its reply. No reply is cut off.

        Raises:
            ModelError: the server refuses.
        """
        ...

    def chat(self, chat: Chat) -> AsyncGenerator[Part]:
        """Yield the parts of a reply. If the generator is closed, the connection closes, which ends the reply.

        Raises:
            ModelError: the server gave no reply.
        """
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...


class Connection(ABC, Generic[ClientT]):
    """Connection to an HTTP server through a client library.

    At the first request, a thread imports the library and creates its client, because this takes up to a second.
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
        """Raise Stalled if the `async with` block, which awaits an answer that needs no model, takes too long."""
        try:
            async with asyncio.timeout(self._deadlines.next):
                yield
        except TimeoutError:
            raise Stalled(self.url, self._deadlines.next, self.kind) from None


def permitted(model: str, facts: Facts, *, allow_cloud: bool) -> Facts:
    """Return `facts` if `model` may be used.

    Raises:
        CloudRefused: the model runs on another machine, and `allow_cloud` is False.
        NoChat: the model cannot answer chats.
    """
    if facts.remote and not allow_cloud:
        raise CloudRefused(model)
    if not facts.chats:
        raise NoChat(model)
    return facts
