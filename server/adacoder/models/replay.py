"""Recorded conversations: `ReplayModel` answers from a file that `Recorder` wrote, or somebody by hand.

A file holds one or more conversations, one after the other, as JSON values:

    {"adacoder": "conversation", "version": 1, "model": "ollama:qwen2.5-coder:7b"}
    {"messages": [{"role": "user", "content": "…"}, …],
     "reply": {"text": "…", "promptTokens": 1, "completionTokens": 1, "estimated": false, "ended": "stop"}}
    …

Each header begins a conversation, and each request of it follows with its reply. One value a line (JSON
Lines) is fine. `content` and `text` may be lists of lines instead; a Recorder writes long ones so, each line
on a line of its own, so that a diff shows what changed in a prompt. Only what was said is written: no host,
no path, no time.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import tempfile
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

from adacoder.domain import JSON, Ended, Message, Reply, Tokens
from adacoder.models.base import ChatModel, Enough, ModelError
from adacoder.models.window import Window, estimate

_VERSION = 1
_DIFF_LINES = 40
"""What a mismatch shows of the two sides."""


class BadRecording(ModelError):
    """The file holds no recorded conversation."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} is no recorded conversation ({why}): name a file that --record wrote.")


class CannotRecord(ModelError):
    """The file cannot be written."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"The conversation cannot be recorded in {path} ({why}): name another file with --record.")


class ReplayMismatch(ModelError):
    """A request is another than the recorded one; what differs follows the first line."""

    def __init__(self, path: Path, number: int, recorded: Sequence[Message], asked: Sequence[Message]) -> None:
        super().__init__(
            f"Request number {number} is not the one recorded in {path}: record it again with --record.\n"
            + "\n".join(_difference(recorded, asked))
        )


class ReplayExhausted(ModelError):
    """The recorded conversation ended earlier."""

    def __init__(self, path: Path, number: int) -> None:
        super().__init__(f"The recorded conversation {path} has no reply number {number}.")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its reply."""

    messages: tuple[Message, ...]
    reply: Reply


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded conversation."""

    model: str
    """The id of the model that spoke."""
    exchanges: tuple[Exchange, ...]


class ReplayModel:
    """A `ChatModel` that gives the replies of a recorded conversation, in order, to the very same requests.

    Of several conversations in one file it follows the last that begins with its first request.
    """

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            BadRecording: it cannot be read, or holds something else.
        """
        self._path = path
        self._recordings = read(path)
        self._answered = 0

    @property
    def name(self) -> str:
        """Its id: `replay:` and the path."""
        return f"replay:{self._path}"

    @property
    def lease_key(self) -> Hashable:
        """As `ChatModel.lease_key`: each conversation is had by itself."""
        return id(self)

    async def close(self) -> None:
        """Nothing is held open."""

    async def window(self) -> Window:
        """As `ChatModel.window`."""
        return Window(8192)

    async def reply(
        self, messages: Sequence[Message], *, enough: Enough, max_tokens: int, stop: Sequence[str] = ()
    ) -> Reply:
        """As `ChatModel.reply`; `max_tokens` was heeded when the reply was recorded.

        Raises:
            ReplayMismatch: `messages` are not the recorded ones.
            ReplayExhausted: there is no reply left.
        """
        recorded = self._next(tuple(messages))
        text = ""
        for line in recorded.text.splitlines(keepends=True):
            await asyncio.sleep(0)
            text += line
            # A reply that was stopped when it was recorded is short already.
            cut = enough(text) and recorded.ended is not Ended.STOPPED_EARLY
            if cut and len(text) < len(recorded.text):
                tokens = Tokens(recorded.tokens.prompt, estimate(text), estimated=True)
                return Reply(text, tokens, Ended.STOPPED_EARLY)
        return recorded

    def _next(self, messages: tuple[Message, ...]) -> Reply:
        number = self._answered + 1
        if number == 1:
            begun = [one for one in self._recordings if one.exchanges and one.exchanges[0].messages == messages]
            self._recordings = (*self._recordings[-1:], *begun)[-1:]
        (recording,) = self._recordings
        if number > len(recording.exchanges):
            raise ReplayExhausted(self._path, number)
        exchange = recording.exchanges[number - 1]
        if exchange.messages != messages:
            raise ReplayMismatch(self._path, number, exchange.messages, messages)
        self._answered = number
        return exchange.reply


class Recorder:
    """A `ChatModel` that passes everything on to another and writes down what was said.

    A file that holds conversations already is continued. What is on disk is always whole: each write replaces
    the file by one that holds an exchange more.
    """

    def __init__(self, model: ChatModel, path: Path) -> None:
        """Begin a conversation in the file.

        Raises:
            CannotRecord: it cannot be written, or holds something else.
        """
        self._model = model
        self._path = path
        if path.exists() and path.stat().st_size and not _is_recording(path):
            raise CannotRecord(path, "it holds something else")
        header: dict[str, JSON] = {"adacoder": "conversation", "version": _VERSION, "model": model.name}
        self._append(json.dumps(header, ensure_ascii=False))

    @property
    def name(self) -> str:
        """The id of the model that speaks."""
        return self._model.name

    @property
    def lease_key(self) -> Hashable:
        """As the model that speaks."""
        return self._model.lease_key

    async def close(self) -> None:
        """As the model that speaks."""
        await self._model.close()

    async def window(self) -> Window:
        """As the model that speaks."""
        return await self._model.window()

    async def reply(
        self, messages: Sequence[Message], *, enough: Enough, max_tokens: int, stop: Sequence[str] = ()
    ) -> Reply:
        """As the model that speaks.

        Raises:
            CannotRecord: the reply came, but the file cannot be written.
        """
        reply = await self._model.reply(messages, enough=enough, max_tokens=max_tokens, stop=stop)
        exchange = _json(Exchange(tuple(messages), reply))
        self._append(json.dumps(exchange, ensure_ascii=False, indent=1))
        return reply

    def _append(self, value: str) -> None:
        target = self._path.resolve()
        # A lone surrogate cannot be encoded; its escape in Python is its escape in JSON too.
        added = f"{value}\n".encode("utf-8", "backslashreplace")
        try:
            before = target.read_bytes() if target.exists() else b""
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=".adacoder-") as folder:
                whole = Path(folder) / target.name
                whole.write_bytes(before + added)
                whole.replace(target)
        except OSError as error:
            raise CannotRecord(self._path, error.strerror or str(error)) from error


def _is_recording(path: Path) -> bool:
    try:
        read(path)
    except BadRecording:
        return False
    return True


def read(path: Path) -> tuple[Recording, ...]:
    """The conversations in a file, at least one.

    Raises:
        BadRecording: it cannot be read, or holds something else.
    """
    try:
        values = list(_values(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise BadRecording(path, error.strerror or str(error)) from error
    except ValueError as error:
        raise BadRecording(path, "it is not JSON") from error
    recordings: list[tuple[str, list[Exchange]]] = []
    for number, value in enumerate(values, 1):
        try:
            if "adacoder" in value:
                recordings.append((_model(value), []))
            else:
                recordings[-1][1].append(_exchange(value))
        except (LookupError, TypeError, ValueError) as error:
            raise BadRecording(path, f"its JSON value number {number} is not understood") from error
    if not recordings:
        raise BadRecording(path, "it is empty")
    return tuple(Recording(model, tuple(exchanges)) for model, exchanges in recordings)


def _values(text: str) -> Iterator[dict[str, JSON]]:
    """The JSON values of `text`, one after the other."""
    decoder = json.JSONDecoder()
    position = _after_space(text, 0)
    while position < len(text):
        value, end = decoder.raw_decode(text, position)
        yield value
        position = _after_space(text, end)


def _after_space(text: str, position: int) -> int:
    return len(text) - len(text[position:].lstrip())


def _model(header: dict[str, JSON]) -> str:
    """The model that a conversation's header names."""
    if header["adacoder"] != "conversation" or header["version"] != _VERSION:
        raise ValueError(header)
    return _text(header["model"])


def _exchange(value: dict[str, JSON]) -> Exchange:
    messages, reply = _list(value["messages"]), _object(value["reply"])
    return Exchange(
        tuple(Message(_text(_object(one)["role"]), _text(_object(one)["content"])) for one in messages),
        Reply(
            _text(reply["text"]),
            Tokens(_count(reply["promptTokens"]), _count(reply["completionTokens"]), reply["estimated"] is True),
            Ended(_text(reply["ended"])),
        ),
    )


def _object(value: JSON) -> dict[str, JSON]:
    if not isinstance(value, dict):
        raise TypeError(value)
    return value


def _list(value: JSON) -> list[JSON]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _count(value: JSON) -> int:
    if not isinstance(value, int):
        raise TypeError(value)
    return value


def _text(value: JSON) -> str:
    """A text that is written as it is, or as its lines."""
    if isinstance(value, str):
        return value
    lines = [line for line in _list(value) if isinstance(line, str)]
    if len(lines) != len(_list(value)):
        raise TypeError(value)
    return "\n".join(lines)


def _written(text: str) -> JSON:
    """`text` as a recording holds it: by lines if it has several."""
    lines: list[JSON] = [*text.split("\n")]
    return lines if len(lines) > 1 else text


def _json(exchange: Exchange) -> JSON:
    reply = exchange.reply
    return {
        "messages": [{"role": one.role, "content": _written(one.content)} for one in exchange.messages],
        "reply": {
            "text": _written(reply.text),
            "promptTokens": reply.tokens.prompt,
            "completionTokens": reply.tokens.completion,
            "estimated": reply.tokens.estimated,
            "ended": reply.ended.value,
        },
    }


def _difference(recorded: Sequence[Message], asked: Sequence[Message]) -> Iterator[str]:
    """The first message that differs, as a short unified diff."""
    pairs = zip_longest(map(_lines, recorded), map(_lines, asked), fillvalue=list[str]())
    before, after = next(pair for pair in pairs if pair[0] != pair[1])
    return islice(difflib.unified_diff(before, after, "recorded", "asked", n=2, lineterm=""), _DIFF_LINES)


def _lines(message: Message) -> list[str]:
    return [f"[{message.role}]", *message.content.split("\n")]
