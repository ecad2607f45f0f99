"""The kinds of model servers that have a stand-in, and helpers that open and ask their models."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from adacoder.domain import AdaCoderError, Message, Reply
from adacoder.models.base import Ask, OnWait, never
from adacoder.models.errors import OLLAMA, OPENAI, Kind
from adacoder.models.ollama import OllamaServer
from adacoder.models.openai import OpenAIServer
from adacoder.models.served import ServedModel
from adacoder.models.server import Deadlines, Server
from adacoder.models.window import Calibration
from adacoder.settings import Settings
from support.standins import openai as standin_openai
from support.standins.ollama import Model, StandIn
from support.standins.server import PATIENCE, Body, Replies, StandInServer

CODER = "qwen2.5-coder:7b"
CODE = "def f(x):\n    return x + 1\n"
MESSAGES = (Message("system", "You write Python."), Message("user", "Write f."))


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A kind of model server, with its stand-in and the functions that open its models."""

    kind: Kind
    prefix: str
    """Prefix of the ids of its models."""
    stand_in: Callable[..., Any]
    """A function that creates a `StandInServer` of this kind. It takes `replies` and the stand-in's own arguments."""
    model: Callable[[str], object]
    """A function that creates one of the `models` for a stand-in to serve."""
    server: Callable[[str | None, Deadlines], Server]
    """A function that creates the client for the server at an address."""
    facts_path: str
    """Path of the request about a model's properties."""


KINDS: Mapping[str, ServerKind] = {
    "ollama 0.24": ServerKind(OLLAMA, "ollama", partial(StandIn, version="0.24.0"), Model, OllamaServer, "/api/show"),
    "ollama 0.33": ServerKind(OLLAMA, "ollama", partial(StandIn, version="0.33.0"), Model, OllamaServer, "/api/show"),
    "openai": ServerKind(OPENAI, "openai", standin_openai.StandIn, standin_openai.Model, OpenAIServer, "/v1/models"),
}
"""All kinds. `integration/models/test_contract*.py` has the tests that must pass for every kind."""
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
_OLLAMAS = {name: kind for name, kind in KINDS.items() if kind.prefix == "ollama"}
every_ollama = pytest.mark.parametrize("kind", _OLLAMAS.values(), ids=_OLLAMAS.keys())


def does_not_think() -> Calibration:
    """Return the calibration of a model whose first reply had no thoughts."""
    calibration = Calibration()
    calibration.thinks_aloud = False
    return calibration


def model_at(
    host: str | None,
    name: str = CODER,
    *,
    kind: ServerKind = KINDS["ollama 0.24"],
    context_tokens: int = 8192,
    temperature: float = 0.2,
    seed: int | None = None,
    keep_alive: str = "10m",
    allow_cloud: bool = False,
    deadlines: Deadlines | None = None,
    calibration: Calibration | None = None,
    on_wait: OnWait = lambda _: None,
) -> ServedModel:
    """Return a model of the server at `host`."""
    deadlines = deadlines or Deadlines()
    settings = Settings(
        context_tokens=context_tokens,
        temperature=temperature,
        seed=seed,
        keep_alive=keep_alive,
        allow_cloud=allow_cloud,
    )
    return ServedModel(
        kind.server(host, deadlines),
        name,
        settings,
        prefix=kind.prefix,
        deadlines=deadlines,
        calibration=calibration or does_not_think(),
        on_wait=on_wait,
    )


@asynccontextmanager
async def talking(
    kind: ServerKind,
    replies: Replies,
    name: str = CODER,
    stand_in: Mapping[str, Any] | None = None,
    **opened: Any,
) -> AsyncIterator[tuple[Any, ServedModel]]:
    """Start a stand-in with the arguments `stand_in`. Open one of its models with the arguments `opened`.

    At the end, no connection may be open.
    """
    async with kind.stand_in(replies, **(stand_in or {})) as server:
        model = model_at(server.host, name, kind=kind, **opened)
        try:
            yield server, model
        finally:
            await model.close()
        await server.until_idle()


async def ask(
    model: ServedModel,
    messages: tuple[Message, ...] = MESSAGES,
    *,
    enough: Callable[[str], bool] = never,
    max_tokens: int = 512,
    stop: tuple[str, ...] = (),
) -> Reply:
    """Return a reply of `model`. The test fails if the reply takes too long."""
    async with asyncio.timeout(PATIENCE):
        return await model.reply(Ask(messages, enough=enough, max_tokens=max_tokens, stop=stop))


def sentence(error: BaseException, server: StandInServer | str) -> str:
    """Return the message of an error. The address of `server` is replaced by HOST.

    The message must be one line and end like a sentence.
    """
    text = str(error)
    assert isinstance(error, AdaCoderError)
    assert re.fullmatch(r"['A-Z].*\.", text), text
    return text.replace(server if isinstance(server, str) else server.host, "HOST")


def fate(server: StandInServer, number: int) -> list[str]:
    """Return the events of one chat, in order. The event `load` is left out."""
    events = [event.rpartition(" ") for event in server.events]
    return [what for what, _, of in events if of == str(number) and what != "load"]


def settings_of(body: Body) -> dict[str, object]:
    """Return all parameters of a chat except its messages. Ollama's options are included."""
    options = body.get("options")
    rest = {name: value for name, value in body.items() if name not in ("options", "messages")}
    return rest | (options if isinstance(options, dict) else {})


def words(count: int) -> tuple[Message, ...]:
    """Return a prompt that a stand-in counts as `count` tokens, and some more for the template around a message."""
    return (Message("user", "word " * count),)
