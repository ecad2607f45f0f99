"""What the tests of recorded conversations share: a model that says what it is told to, and a talk with it."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from adacoder.domain import Ended, Message, Reply, Tokens
from adacoder.models.base import Ask, ChatModel, Enough, never
from adacoder.models.errors import ModelError
from adacoder.models.recording.recorder import Recorder
from adacoder.models.recording.redaction import Redaction
from adacoder.models.window import Window

SYSTEM = Message("system", "You write Python.\nNothing else.")
CODE = "def f(x):\n    return x + 1\n"
TALK = (
    ((SYSTEM, Message("user", "Write f.")), Reply(CODE, Tokens(20, 9), Ended.STOP)),
    ((SYSTEM, Message("user", "Plan f.\nWhy did it fail?")), Reply("1. Add.", Tokens(30, 3), Ended.LENGTH)),
    ((SYSTEM, Message("user", "Write f.")), Reply("x", Tokens(30, 1, True), Ended.STOPPED_EARLY)),
)
NOTHING = Redaction()
WINDOW = Window(8192)


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Files may grow to `size` bytes and no further, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Told:
    """A model that says what it is told to; an error among the replies is raised."""

    lease_key = "told"

    def __init__(
        self,
        replies: Sequence[Reply | BaseException],
        window: Window | ModelError = WINDOW,
        name: str = "ollama:m",
    ) -> None:
        self.name = name
        self._replies = iter(replies)
        self._window = window
        self.closed = False

    async def window(self) -> Window:
        if isinstance(self._window, ModelError):
            raise self._window
        return self._window

    async def reply(self, ask: Ask) -> Reply:
        reply = next(self._replies)
        if isinstance(reply, BaseException):
            raise reply
        ask.enough(reply.text)
        return reply

    async def close(self) -> None:
        self.closed = True


async def ask(model: ChatModel, messages: tuple[Message, ...], enough: Enough = never) -> Reply:
    return await model.reply(Ask(messages, enough=enough, max_tokens=100, stop=("\n\n\n",)))


async def record(path: Path, talk: Sequence[tuple[tuple[Message, ...], Reply]] = TALK, window: Window = WINDOW) -> None:
    """Record `talk`, which is not to be redacted."""
    recorder = Recorder(Told([reply for _, reply in talk], window), path, NOTHING)
    for messages, reply in talk:
        assert await ask(recorder, messages) == reply
    await recorder.close()
