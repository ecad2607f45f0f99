"""Recorded conversations as data, and as the JSON values of a file.

A file holds one or more conversations, one after the other:

    {"adacoder": "conversation", "version": 2, "madeBy": "adacoder 0.1.0", "model": "ollama:qwen2.5-coder:7b",
     "window": {"tokens": 8192, "ratio": 1.0}, "about": {"target": {"path": "shop/cart.py", "qualname": "total"}, …}}
    {"messages": [{"role": "user", "content": "…"}, …], "maxTokens": 4096, "stop": [],
     "reply": {"text": "…", "promptTokens": 1, "completionTokens": 1, "estimated": false, "ended": "stop"}}
    …
    {"outcome": {"status": "verified", …}}

Each header begins a conversation; its requests follow, each with its reply, or with the error that came instead as
`{"error": {"kind": "Stalled", "message": "…"}}`, and last comes the Outcome, unless the request was broken off. A
header has such an error instead of a window where there was no model to ask. Any text may be written as a list of
its lines, so that a diff shows what changed. `docs/recordings.md` tells all that is in a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from adacoder import __version__
from adacoder.domain import JSON, Ended, Message, Outcome, Reply, Tokens
from adacoder.models.window import Window

VERSION = 2
_MOST = 1 << 31
"""More than any number of tokens."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error that came instead of a reply."""

    kind: str
    """The name of its class, which need not exist any more."""
    message: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, and what came of it."""

    messages: tuple[Message, ...]
    reply: Reply | Trouble
    max_tokens: int = 0
    """What the reply might take."""
    stop: tuple[str, ...] = ()
    """Texts that ended it."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said in one request."""

    model: str
    """The id of the model that spoke."""
    window: Window | Trouble
    """The model's, or why there was none."""
    about: Mapping[str, JSON] = field(default_factory=dict)
    """What was to be done, with what settings and where (`About.json`)."""
    exchanges: tuple[Exchange, ...] = ()
    outcome: Mapping[str, JSON] | None = None
    """What came of it; None: it was broken off."""


class OtherVersionError(Exception):
    """The conversation has another form than ours."""

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.version = version


def header(model: str, window: Window | Trouble, about: Mapping[str, JSON]) -> JSON:
    """What begins a conversation."""
    had: dict[str, JSON] = (
        {"error": _trouble_json(window)}
        if isinstance(window, Trouble)
        else {"window": {"tokens": window.tokens, "ratio": window.ratio}}
    )
    made_by = f"adacoder {__version__}"
    start: dict[str, JSON] = {"adacoder": "conversation", "version": VERSION, "madeBy": made_by, "model": model}
    return {**start, **had, "about": dict(about)}


def exchanged(exchange: Exchange) -> JSON:
    """One request and what came of it."""
    asked: dict[str, JSON] = {
        "messages": [{"role": one.role, "content": one.content} for one in exchange.messages],
        "maxTokens": exchange.max_tokens,
        "stop": [*exchange.stop],
    }
    if isinstance(exchange.reply, Trouble):
        return {**asked, "error": _trouble_json(exchange.reply)}
    return {**asked, "reply": _reply_json(exchange.reply)}


def ended(outcome: Outcome) -> JSON:
    """What ends a conversation: the Outcome, but for what took time and what depends on it."""
    verdict = outcome.verdict
    return {
        "outcome": {
            "status": outcome.status.value,
            "reason": outcome.reason,
            "rounds": outcome.rounds,
            "candidate": None if outcome.candidate is None else outcome.candidate.text,
            "failure": None if verdict is None or verdict.failure is None else verdict.failure.json(),
            "isolation": None if verdict is None or verdict.isolation is None else verdict.isolation.json(),
            "notes": [*(() if verdict is None else verdict.notes), *outcome.notes],
        }
    }


def written(value: JSON, redact: Callable[[str], str]) -> bytes:
    """`value` as a recording holds it: redacted, its long texts by lines, in a form that is the same each time."""
    text = json.dumps(_on_paper(value, redact), ensure_ascii=False, indent=1)
    # A lone surrogate cannot be encoded; its escape in Python is its escape in JSON too.
    return f"{text}\n".encode("utf-8", "backslashreplace")


def understood(values: Iterable[JSON]) -> Iterator[Conversation]:
    """The conversations that `values` make.

    Raises:
        OtherVersionError: one has another form.
        LookupError, TypeError, ValueError: the last value taken is none of theirs, or stands where it cannot.
    """
    begun: Conversation | None = None
    exchanges: list[Exchange] = []
    outcome: Mapping[str, JSON] | None = None
    for one in map(_object, values):
        if "adacoder" in one:
            if begun is not None:
                yield replace(begun, exchanges=tuple(exchanges), outcome=outcome)
            begun, exchanges, outcome = _begun(one), [], None
        elif begun is None or outcome is not None:
            raise ValueError(one)
        elif "outcome" in one:
            outcome = _object(one["outcome"])
        else:
            exchanges.append(_exchange(one))
    if begun is not None:
        yield replace(begun, exchanges=tuple(exchanges), outcome=outcome)


def _object(value: JSON) -> dict[str, JSON]:
    """`value`, which must be an object."""
    if not isinstance(value, dict):
        raise TypeError(value)
    return value


def _on_paper(value: JSON, redact: Callable[[str], str]) -> JSON:
    match value:
        case str():
            # Redacted as a whole: a name could have a line end in it.
            lines: list[JSON] = [*redact(value).split("\n")]
            return lines if len(lines) > 1 else lines[0]
        case list():
            return [_on_paper(one, redact) for one in value]
        case dict():
            return {name: _on_paper(one, redact) for name, one in value.items()}
        case _:
            return value


def _begun(value: dict[str, JSON]) -> Conversation:
    if value["adacoder"] != "conversation":
        raise ValueError(value)
    if (version := _count(value["version"])) != VERSION:
        raise OtherVersionError(version)
    window = _trouble(value["error"]) if "error" in value else _window(_object(value["window"]))
    return Conversation(_text(value["model"]), window, _object(value.get("about", {})))


def _window(value: dict[str, JSON]) -> Window:
    ratio = value["ratio"]
    if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 < ratio < 100:
        raise TypeError(ratio)
    return Window(_count(value["tokens"]), ratio)


def _exchange(value: dict[str, JSON]) -> Exchange:
    messages = tuple(
        Message(_text(one["role"]), _text(one["content"])) for one in map(_object, _list(value["messages"]))
    )
    reply = _trouble(value["error"]) if "error" in value else _reply(_object(value["reply"]))
    return Exchange(messages, reply, _count(value["maxTokens"]), tuple(map(_text, _list(value["stop"]))))


def _reply_json(reply: Reply) -> JSON:
    # Neither `time` nor `tokens.cached`, which is concluded from it: the same request would look different each time.
    return {
        "text": reply.text,
        "promptTokens": reply.tokens.prompt,
        "completionTokens": reply.tokens.completion,
        "estimated": reply.tokens.estimated,
        "ended": reply.ended.value,
    }


def _reply(value: dict[str, JSON]) -> Reply:
    return Reply(
        _text(value["text"]),
        Tokens(_count(value["promptTokens"]), _count(value["completionTokens"]), value["estimated"] is True),
        Ended(_text(value["ended"])),
    )


def _trouble_json(trouble: Trouble) -> JSON:
    return {"kind": trouble.kind, "message": trouble.message}


def _trouble(value: JSON) -> Trouble:
    one = _object(value)
    return Trouble(_text(one["kind"]), _text(one["message"]))


def _list(value: JSON) -> Sequence[JSON]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _count(value: JSON) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST:
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
