"""File format of recorded conversations. A file holds one conversation:

    {"adacoder": "conversation", "version": 3, "madeBy": "adacoder 0.1.0", "model": "ollama:qwen2.5-coder:7b",
     "window": {"tokens": 8192, "ratio": 1.0}, "about": {"target": {"path": "shop/cart.py", "qualname": "total"}, …}}
    {"messages": [{"role": "user", "content": "…"}, …],
     "reply": {"text": "…", "promptTokens": 1, "completionTokens": 1, "estimated": false, "ended": "stop"}}
    …
    {"outcome": {"status": "verified", …}}

A header is followed by one JSON object for each model call, and then by the outcome. An aborted request has no outcome.
`"error": "…"` replaces a missing reply or window. Each JSON object begins on a new line. Any text may be written as a
list of its lines, so that a diff shows the changed lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from adacoder import __version__
from adacoder.domain import JSON, Ended, Failure, Message, Outcome, Reply, Tokens
from adacoder.foreign_json import read_json
from adacoder.models.errors import ModelError
from adacoder.models.window import Window
from adacoder.privacy.access import read_regular

T = TypeVar("T")

VERSION = 3
_MOST_BYTES = 64 << 20
"""Maximum size of a file, in bytes."""
_MOST_TOKENS = 1 << 31
"""Maximum number of tokens in a valid file."""
_VALUE = re.compile(r"^(?=\{)", re.MULTILINE)


class BadRecording(ModelError):
    """The file is not a conversation that can be replayed."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is not a recorded conversation ({why}): name a file that this AdaCoder wrote with --record."
        )


@dataclass(frozen=True, slots=True)
class Exchange:
    """One model call: the messages, and the reply or an error."""

    messages: tuple[Message, ...]
    reply: Reply | str


@dataclass(slots=True)
class RecordedConversation:
    """The recorded conversation of one request."""

    model: str
    """Model id."""
    window: Window | str
    """The model's context window, or the error that was raised instead."""
    about: Mapping[str, JSON]
    """Description of the request from `About.json`, in the form that `as_written` returns."""
    exchanges: list[Exchange] = field(default_factory=list)
    outcome: Mapping[str, JSON] | None = None
    """Outcome of the request; None if the request was aborted."""


def header_json(model: str, window: Window | str, about: JSON) -> dict[str, JSON]:
    """Return the header of a conversation."""
    start: dict[str, JSON] = {"adacoder": "conversation", "version": VERSION, "madeBy": f"adacoder {__version__}"}
    had: dict[str, JSON] = (
        {"error": window} if isinstance(window, str) else {"window": {"tokens": window.tokens, "ratio": window.ratio}}
    )
    return {**start, "model": model, **had, "about": about}


def exchange_json(messages: Sequence[Message], reply: Reply | str) -> dict[str, JSON]:
    """Return one model call as a JSON object. Durations are left out, because they differ at each run."""
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


def outcome_json(outcome: Outcome) -> dict[str, JSON]:
    """Return the last object of a conversation, which holds the outcome without durations."""
    verdict = outcome.verdict
    isolation = None if verdict is None else verdict.isolation
    told: dict[str, JSON] = {
        "status": outcome.status,
        "reason": outcome.reason,
        "rounds": outcome.rounds,
        "candidate": None if outcome.candidate is None else outcome.candidate.text,
        "failure": None if verdict is None or verdict.failure is None else _failure_json(verdict.failure),
        "isolation": None if isolation is None else {"level": isolation.level, "by": [*isolation.by]},
        "notes": [*(() if verdict is None else verdict.notes), *outcome.notes],
    }
    return {"outcome": told}


def _failure_json(failure: Failure) -> JSON:
    source, want = (None, None) if failure.example is None else (failure.example.source, failure.example.want)
    return {
        "kind": failure.kind,
        "message": failure.message,
        "example": source,
        "want": want,
        "got": failure.got,
        "error": failure.error,
        "line": failure.line,
    }


def as_written(value: JSON, redact: Callable[[str], str]) -> JSON:
    """Redact `value`, and turn each text that has several lines into a list of lines."""
    match value:
        case str():
            lines: list[JSON] = [*redact(value).split("\n")]
            return lines if len(lines) > 1 else lines[0]
        case list():
            return [as_written(one, redact) for one in value]
        case dict():
            return {redact(name): as_written(one, redact) for name, one in value.items()}
        case _:
            return value


def encoded(value: JSON, redact: Callable[[str], str]) -> bytes:
    """Return a JSON object as the bytes to write to a file."""
    text = json.dumps(as_written(value, redact), ensure_ascii=False, indent=1)
    # A lone surrogate cannot be encoded, so write its escape, which is the same in Python and in JSON.
    return f"{text}\n".encode("utf-8", "backslashreplace")


def read(path: Path) -> RecordedConversation:
    """Read the conversation in a file.

    Raises:
        BadRecording: the file cannot be read, or is not a conversation.
    """
    try:
        text = read_regular(path, most=_MOST_BYTES).decode("utf-8-sig")  # some editors add a byte order mark
    except (OSError, ValueError) as error:  # not UTF-8, or an invalid path
        raise BadRecording(path, getattr(error, "strerror", None) or str(error)) from None
    before, *values = _VALUE.split(text)
    if before.strip() or not values:
        raise BadRecording(path, "it is not a recording" if text.strip() else "it is empty")
    line = before.count("\n") + 1
    try:
        header = _checked(dict, read_json(values[0]))
        if header.get("version", VERSION) != VERSION:
            raise BadRecording(path, "another version of AdaCoder wrote it")
        conversation = _begun(header)
        for last, value in pairwise(values):
            line += last.count("\n")
            entry = _checked(dict, read_json(value))
            if "adacoder" in entry:
                raise BadRecording(path, f"a second conversation begins in line {line}")
            _add(entry, conversation)
    except (LookupError, TypeError, ValueError, ArithmeticError):
        raise BadRecording(path, f"the part from line {line} on is not understood") from None
    return conversation


def _begun(header: Mapping[str, JSON]) -> RecordedConversation:
    window = _window(header["window"]) if "window" in header else _text(header["error"])
    return RecordedConversation(_text(header["model"]), window, _checked(dict, header["about"]))


def _add(value: Mapping[str, JSON], conversation: RecordedConversation) -> None:
    if "outcome" in value:
        conversation.outcome = _checked(dict, value["outcome"])
    else:
        asked = tuple(Message(_text(one["role"]), _text(one["content"])) for one in _checked(list, value["messages"]))
        said = _reply(value["reply"]) if "reply" in value else _text(value["error"])
        conversation.exchanges.append(Exchange(asked, said))


def _reply(value: JSON) -> Reply:
    reply = _checked(dict, value)
    counts = _count(reply["promptTokens"]), _count(reply["completionTokens"])
    return Reply(_text(reply["text"]), Tokens(*counts, reply["estimated"] is True), Ended(_text(reply["ended"])))


def _window(value: JSON) -> Window:
    window = _checked(dict, value)
    ratio = float(window["ratio"])
    if not 0 < ratio < 100:
        raise ValueError(ratio)
    return Window(_count(window["tokens"]), ratio)


def _count(value: JSON) -> int:
    if not 0 <= _checked(int, value) < _MOST_TOKENS:
        raise ValueError(value)
    return _checked(int, value)


def _text(value: JSON) -> str:
    """Return a text that is stored as a string or as a list of lines."""
    return value if isinstance(value, str) else "\n".join(_checked(list, value))


def _checked(kind: type[T], value: JSON) -> T:
    """Return `value`, or raise TypeError if it has another type."""
    if not isinstance(value, kind):
        raise TypeError(value)
    return value
