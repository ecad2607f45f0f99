"""Recorded conversations as data, and as the JSON values of a file.

A file holds one or more conversations, one after the other:

    {"adacoder": "conversation", "version": 3, "madeBy": "adacoder 0.1.0", "model": "ollama:qwen2.5-coder:7b",
     "window": {"tokens": 8192, "ratio": 1.0}, "about": {"target": {"path": "shop/cart.py", "qualname": "total"}, …}}
    {"messages": [{"role": "user", "content": "…"}, …],
     "reply": {"text": "…", "promptTokens": 1, "completionTokens": 1, "estimated": false, "ended": "stop"}}
    …
    {"outcome": {"status": "verified", …}}

A header begins a conversation, its requests follow, and last comes the Outcome, unless the request was broken off.
`"error": "…"` stands instead of a reply that did not come, and instead of a window where there was no model to ask.
Each value begins on a line of its own. Any text may be a list of its lines, so that a diff shows what changed.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from adacoder import __version__
from adacoder.domain import JSON, Ended, Message, Outcome, Reply, Tokens
from adacoder.models.errors import ModelError
from adacoder.models.window import Window

T = TypeVar("T")

VERSION = 3
_MOST_BYTES = 64 << 20
"""Of a file; a conversation of a thousand rounds takes less."""
_MOST_TOKENS = 1 << 31
"""More than any window has."""
_VALUE = re.compile(r"^(?=\{)", re.MULTILINE)


class BadRecording(ModelError):
    """The file holds no conversation that could be replayed."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is no recorded conversation ({why}): name a file that this AdaCoder wrote with --record."
        )
        self.why = why


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, and the reply to it or the error that came instead."""

    messages: tuple[Message, ...]
    reply: Reply | str


@dataclass(slots=True)
class Conversation:
    """What was said in one request."""

    model: str
    """The id of the model that spoke."""
    window: Window | str
    """The model's, or the error that came instead."""
    about: Mapping[str, JSON]
    """What was to be done, with what settings and where (`About.json`), as it is written."""
    exchanges: list[Exchange] = field(default_factory=list)
    outcome: Mapping[str, JSON] | None = None
    """What came of it; None: it was broken off."""


def header(model: str, window: Window | str, about: JSON) -> dict[str, JSON]:
    """Return what begins a conversation."""
    start: dict[str, JSON] = {"adacoder": "conversation", "version": VERSION, "madeBy": f"adacoder {__version__}"}
    had: dict[str, JSON] = (
        {"error": window} if isinstance(window, str) else {"window": {"tokens": window.tokens, "ratio": window.ratio}}
    )
    return {**start, "model": model, **had, "about": about}


def exchanged(messages: Sequence[Message], reply: Reply | str) -> dict[str, JSON]:
    """Return one request and what came of it, but for what depends on time: `reply.time` and `reply.tokens.cached`."""
    asked: list[JSON] = [{"role": one.role, "content": one.content} for one in messages]
    if isinstance(reply, str):
        return {"messages": asked, "error": reply}
    said: dict[str, JSON] = {
        "text": reply.text,
        "promptTokens": reply.tokens.prompt,
        "completionTokens": reply.tokens.completion,
        "estimated": reply.tokens.estimated,
        "ended": reply.ended,
    }
    return {"messages": asked, "reply": said}


def ended(outcome: Outcome) -> dict[str, JSON]:
    """Return what ends a conversation: the Outcome, but for what took time and what depends on it."""
    verdict = outcome.verdict
    told: dict[str, JSON] = {
        "status": outcome.status,
        "reason": outcome.reason,
        "rounds": outcome.rounds,
        "candidate": None if outcome.candidate is None else outcome.candidate.text,
        "failure": None if verdict is None or verdict.failure is None else verdict.failure.json(),
        "isolation": None if verdict is None or verdict.isolation is None else verdict.isolation.json(),
        "notes": [*(() if verdict is None else verdict.notes), *outcome.notes],
    }
    return {"outcome": told}


def as_written(value: JSON, redact: Callable[[str], str]) -> JSON:
    """Return `value` as a recording holds it: redacted, each line of a text by itself."""
    match value:
        case str():
            lines: list[JSON] = [*redact(value).split("\n")]
            return lines if len(lines) > 1 else lines[0]
        case list():
            return [as_written(one, redact) for one in value]
        case dict():
            return {name: as_written(one, redact) for name, one in value.items()}
        case _:
            return value


def encoded(value: JSON) -> bytes:
    """Return the bytes of one value of a file, which are the same each time."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    # A lone surrogate cannot be encoded; its escape in Python is its escape in JSON too.
    return f"{text}\n".encode("utf-8", "backslashreplace")


def read(path: Path) -> list[Conversation]:
    """Read the conversations in a file, at least one.

    Raises:
        BadRecording: it cannot be read, or holds something else.
    """
    text = _text_of(path)
    before, *values = _VALUE.split(text)
    if before.strip() or not values:
        raise BadRecording(path, "it holds something else" if text.strip() else "it is empty")
    found: list[Conversation] = []
    line = before.count("\n") + 1
    for value in values:
        try:
            entry = json.loads(value)
            if entry.get("version", VERSION) != VERSION:
                raise BadRecording(path, "another version of AdaCoder wrote it")
            _add(entry, found)
        except (LookupError, TypeError, ValueError, RecursionError):
            raise BadRecording(path, f"what begins in line {line} is not understood") from None
        line += value.count("\n")
    return found


def _text_of(path: Path) -> str:
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            raise BadRecording(path, "it is no regular file")
        if state.st_size > _MOST_BYTES:
            raise BadRecording(path, f"it is larger than {_MOST_BYTES >> 20} MB")
        return path.read_text(encoding="utf-8-sig")  # some editors put a mark before it
    except OSError as error:
        raise BadRecording(path, error.strerror or str(error)) from None
    except ValueError as error:  # bytes that are not UTF-8, or a character that no path has
        raise BadRecording(path, "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)) from None


def _add(value: Mapping[str, JSON], found: list[Conversation]) -> None:
    """Add what `value` says to the conversations that were found before it."""
    if "adacoder" in value:
        window = _window(value["window"]) if "window" in value else _text(value["error"])
        found.append(Conversation(_text(value["model"]), window, _is(dict, value["about"])))
    elif "outcome" in value:
        found[-1].outcome = _is(dict, value["outcome"])
    else:
        asked = tuple(Message(_text(one["role"]), _text(one["content"])) for one in _is(list, value["messages"]))
        said = _reply(value["reply"]) if "reply" in value else _text(value["error"])
        found[-1].exchanges.append(Exchange(asked, said))


def _reply(value: JSON) -> Reply:
    reply = _is(dict, value)
    counts = _count(reply["promptTokens"]), _count(reply["completionTokens"])
    return Reply(_text(reply["text"]), Tokens(*counts, reply["estimated"] is True), Ended(_text(reply["ended"])))


def _window(value: JSON) -> Window:
    window = _is(dict, value)
    ratio = float(window["ratio"])
    if not 0 < ratio < 100:
        raise ValueError(ratio)
    return Window(_count(window["tokens"]), ratio)


def _count(value: JSON) -> int:
    if not 0 <= _is(int, value) < _MOST_TOKENS:
        raise ValueError(value)
    return _is(int, value)


def _text(value: JSON) -> str:
    """Return a text that is written as it is, or as its lines."""
    return value if isinstance(value, str) else "\n".join(_is(list, value))


def _is(kind: type[T], value: JSON) -> T:
    if not isinstance(value, kind):
        raise TypeError(value)
    return value
