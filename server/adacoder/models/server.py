"""What a model server must be able to do, whatever its kind: the protocol `Server`, and the words it is asked in.

`ollama.py` and `openai.py` each have one; `served.py` makes a ChatModel of any of them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from adacoder.domain import Ended, Message, Timing
from adacoder.models.errors import CloudRefused, Kind, NoChat
from adacoder.models.window import Bound, Window


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long to wait for a server, in seconds."""

    connect: float = 10.0
    first: float = 300.0
    """For the first token: the model may have to be loaded, other clients served and the prompt read."""
    loaded: float = 1.5
    """For the first token of a model that is loaded, besides the time to read the prompt; then what holds it up is
    found out."""
    next: float = 60.0
    """For the next token, and for an answer that needs no model."""
    whole: float | None = None
    """For a whole reply, its waits included; None: as long as it takes."""
    sign: float = 3.0
    """How often it is told that the first token has not come yet."""
    busy: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    """Before asking again a server that turned a request away because of others; then that is an error."""


class Thinking(Enum):
    """What a model does before it answers."""

    NEVER = "never"
    UNLESS_TOLD = "unless told"
    """It thinks, but need not."""
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server says of one of its models."""

    thinking: Thinking = Thinking.NEVER
    window: int | None = None
    """The most tokens it can read at once, whatever is asked for; None: not said."""
    bound: Bound = Bound.MODEL
    """What sets that."""
    reads_as_asked: bool = True
    """Whether it reads as much as a request asks for, up to that; else it may be less, and is not said."""
    remote: bool = False
    """Whether the server passes requests on to another machine."""
    chats: bool = True
    """Whether it can answer, and not only embed texts."""
    stop: tuple[str, ...] = ()
    """Where it is set up to stop; a request that names such texts must name these too, or it would not stop there."""
    hears_system: bool = True
    """Whether its chat template shows it what a system message says."""

    def window_for(self, asked: int) -> Window:
        """The window of requests that ask for so many tokens."""
        if self.window is not None and self.window < asked:
            return Window(self.window, bound=self.bound)
        return Window(asked, bound=Bound.SETTING if self.reads_as_asked else Bound.UNTOLD)


@dataclass(frozen=True, slots=True)
class Running:
    """A model that a server has loaded."""

    name: str
    window: int | None = None
    """The context window that it was loaded with, in tokens; None: not told."""
    until: datetime | None = None
    """When it will be unloaded, unless it is asked before; None: not told."""
    on_gpu: float | None = None
    """The share of it that is in the memory of graphics hardware; None: not told."""
    size: int = 0
    """The bytes of memory that it takes; 0: not told."""

    def has_window(self, tokens: int) -> bool:
        """Whether a request for a window of so many tokens finds it; for any other it has to be loaded anew.

        What Ollama tells is the window of one request, in every version that tells one (0.10 and later), however many
        requests it serves side by side.
        """
        return self.window in (None, tokens)


@dataclass(frozen=True, slots=True)
class Chat:
    """What one chat asks of a server."""

    model: str
    messages: tuple[Message, ...]
    max_tokens: int
    context_tokens: int
    """The window to load the model with; the same in all requests, since a change may make a server reload."""
    bound: Bound
    """Of that window."""
    temperature: float
    top_p: float | None
    """None: the server's own choice."""
    seed: int | None
    stop: tuple[str, ...]
    thinking: Thinking
    keep_alive: str
    """How long the model is to stay loaded afterwards, as Ollama spells durations."""


@dataclass(frozen=True, slots=True)
class End:
    """How a stream ended, with what the server tells of it; counts of 0 are not told."""

    ended: Ended
    prompt: int = 0
    completion: int = 0
    cached: int | None = None
    """None: not told."""
    time: Timing | None = None
    """None: not told."""
    in_circles: bool = False
    """Whether the server ended it because the model only repeated itself."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a stream; about one token."""

    text: str = ""
    thought: bool = False
    """Whether the part is one of the model's thoughts, which are no part of its reply."""
    so_far: End | None = None
    """The end of the reply, were it to end here; None: the server tells nothing of it before its end."""
    end: End | None = None
    """With the last part, and only with it."""


class Server(Protocol):
    """A model server. Nothing is imported and no connection made before the first request."""

    @property
    def url(self) -> str:
        """Its address."""
        ...

    @property
    def kind(self) -> Kind:
        """What kind of server it is."""
        ...

    async def facts(self, model: str) -> Facts:
        """What it says of `model`.

        Raises:
            ModelMissing: it does not have it; the error names those it has.
        """
        ...

    async def loaded(self, model: str) -> Running | None:
        """`model` as it is loaded, with no more than its name where the server does not tell; None: it must be loaded
        first."""
        ...

    async def unload(self, model: str) -> None:
        """Have `model` unloaded as soon as no request waits for it or reads its reply, where the server lets others do
        so: no reply is ended by it.

        Raises:
            ModelError: the server does not do so.
        """
        ...

    def chat(self, chat: Chat) -> AsyncGenerator[Part]:
        """The parts of a reply as they come. Closing this closes the connection, which ends the generation.

        Raises:
            ModelError: there is no reply to be had.
        """
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...


def permitted(model: str, facts: Facts, *, allow_cloud: bool) -> Facts:
    """`facts`, if they let `model` be used.

    Raises:
        CloudRefused: it runs elsewhere.
        NoChat: it cannot answer.
    """
    if facts.remote and not allow_cloud:
        raise CloudRefused(model)
    if not facts.chats:
        raise NoChat(model)
    return facts
