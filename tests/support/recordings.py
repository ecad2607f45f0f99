"""A scripted model, and a conversation with it, for tests of recordings."""

from __future__ import annotations

import resource
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from adacoder.domain import Ended, Message, Reply, Tokens
from adacoder.models.base import Ask, ChatModel, Enough, never
from adacoder.models.errors import ModelError
from adacoder.models.recording.recorder import Recorder
from adacoder.models.recording.redaction import Redaction
from adacoder.models.scripted import Said, ScriptedModel
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
    """Limit the size of files to `size` bytes, so that writing fails as on a nearly full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def telling(
    replies: Iterable[Said] = (), window: Window | ModelError = WINDOW, name: str = "ollama:m"
) -> ScriptedModel:
    """Return a scripted model. A reply that is only a text gets fixed token counts."""
    counted = (Reply(each, Tokens(10, 5)) if isinstance(each, str) else each for each in replies)
    return ScriptedModel(*counted, window=window, name=name)


async def ask(model: ChatModel, messages: tuple[Message, ...], enough: Enough = never) -> Reply:
    return await model.reply(Ask(messages, enough=enough, max_tokens=100, stop=("\n\n\n",)))


async def record(path: Path, talk: Sequence[tuple[tuple[Message, ...], Reply]] = TALK, window: Window = WINDOW) -> None:
    """Record the conversation `talk` without redacting secrets."""
    recorder = Recorder(telling([reply for _, reply in talk], window), path, NOTHING)
    for messages, reply in talk:
        assert await ask(recorder, messages) == reply
    await recorder.close()
