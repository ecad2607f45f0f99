"""Replay a recorded conversation, for the demonstration, tests and bug reports."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from adacoder.domain import Message, Reply
from adacoder.models.base import Ask
from adacoder.models.errors import ModelError, Nameless
from adacoder.models.recording.format import read
from adacoder.models.recording.redaction import Redaction
from adacoder.models.scripted import ScriptedModel
from adacoder.models.window import Window

_LINES_BEFORE = 2
"""Number of equal lines to show before a difference."""
_LINE_LENGTH = 160
"""Maximum length of a shown line, in characters."""


class ReplayMismatch(ModelError):
    """A request differs from the recorded one. The message shows the difference."""


class ReplayModel(ScriptedModel):
    """A model that answers the recorded requests with the recorded replies, in order.

    Its context window is the recorded one, because the window decides which context a prompt contains. Requests are
    redacted before they are compared with the recording.
    """

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            BadRecording: the file cannot be read, or is not a conversation.
        """
        super().__init__(then=self._recorded, name=f"replay:{path}")
        self.path = path
        self._conversation = read(path)
        self.redaction = Redaction()
        self._answered = 0

    @property
    def lease_key(self) -> Hashable:
        """A unique key, so that replays never wait for each other."""
        return id(self)

    @property
    def speaker(self) -> str:
        """Id of the recorded model."""
        return self._conversation.model

    async def window(self) -> Window:
        """Return the recorded window.

        Raises:
            ModelError: the recording has an error instead of a window.
        """
        window = self._conversation.window
        if isinstance(window, str):
            raise ModelError(window)
        return window

    def _recorded(self, ask: Ask) -> Reply | ModelError:
        """Return the next recorded reply or error.

        Raise ReplayMismatch if the messages differ, or if no reply is left.
        """
        number = self._answered + 1
        if number > len(self._conversation.exchanges):
            raise ReplayMismatch(
                f"The recorded conversation {self.path} has no reply number {number}: record it again with --record."
            )
        exchange = self._conversation.exchanges[self._answered]
        recorded, asked = self._lines(exchange.messages), self._lines(ask.messages)
        if recorded != asked:
            raise ReplayMismatch(
                f"Request number {number} is not the one recorded in {self.path}: record it again with --record.\n"
                + "\n".join(_difference(recorded, asked))
            )
        self._answered = number
        return ModelError(exchange.reply) if isinstance(exchange.reply, str) else exchange.reply

    def _lines(self, messages: Sequence[Message]) -> list[str]:
        return [line for one in messages for line in self.redaction(f"[{one.role}]\n{one.content}").split("\n")]


def _difference(recorded: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Return a diff that starts a few lines before the first difference."""
    same = _common_length(recorded, asked)
    then, now = "".join(recorded[same : same + 1]), "".join(asked[same : same + 1])
    begin = _common_length(then, now) // _LINE_LENGTH * _LINE_LENGTH
    return [
        *("--- recorded", "+++ asked", f"@@ line {same + 1} @@"),
        *(f" {line[:_LINE_LENGTH]}" for line in recorded[max(same - _LINES_BEFORE, 0) : same]),
        f"-{then[begin : begin + _LINE_LENGTH]}",
        f"+{now[begin : begin + _LINE_LENGTH]}",
    ]


def _common_length(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def recorded(name: str) -> ReplayModel:
    """Open the recording that the model id `replay:NAME` names.

    Raises:
        ModelError: no file is named, or it has no conversation.
    """
    if not name:
        raise Nameless("replay", "FILE")
    path = Path(name)
    with suppress(RuntimeError):  # `~` is followed by the name of an unknown user
        path = path.expanduser()
    return ReplayModel(path)
