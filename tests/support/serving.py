"""The kinds of model servers: for each, its stand-in and functions to open and ask models."""

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
    """A kind of model server, with a stand-in and functions that open its models."""

    kind: Kind
    prefix: str
    """Prefix of model ids, such as `ollama`."""
    stand_in: Callable[..., Any]
    """Creates a stand-in of this kind from `replies` and other arguments."""
    model: Callable[[str], object]
    """Creates a model with this name, to pass to the stand-in as one of its `models`."""
    server: Callable[[str | None, Deadlines], Server]
    """Creates the client for a server at an address."""
    facts_path: str
    """Path of the HTTP request for a model's properties."""


KINDS: Mapping[str, ServerKind] = {
    "ollama 0.24": ServerKind(OLLAMA, "ollama", partial(StandIn, version="0.24.0"), Model, OllamaServer, "/api/show"),
    "ollama 0.33": ServerKind(OLLAMA, "ollama", partial(StandIn, version="0.33.0"), Model, OllamaServer, "/api/show"),
    "openai": ServerKind(OPENAI, "openai", standin_openai.StandIn, standin_openai.Model, OpenAIServer, "/v1/models"),
}
"""All kinds, by name. Each must pass `integration/models/test_contract*.py`."""
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
_OLLAMAS = {name: kind for name, kind in KINDS.items() if kind.prefix == "ollama"}
every_ollama = pytest.mark.parametrize("kind", _OLLAMAS.values(), ids=_OLLAMAS.keys())


def does_not_think() -> Calibration:
    """Return the calibration of a model whose first reply contained no thoughts."""
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
    """Return the model `name` of the server at `host`."""
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
    """Start a stand-in with the arguments `stand_in`, and open its model `name` with the arguments `opened`.

    If a connection is still open at the end, the test fails.
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
    """Return a reply of `model`. Fail after `PATIENCE` seconds."""
    async with asyncio.timeout(PATIENCE):
        return await model.reply(Ask(messages, enough=enough, max_tokens=max_tokens, stop=stop))


def sentence(error: BaseException, server: StandInServer | str) -> str:
    """Return an error's message, with HOST for the address of `server`. Fail if it is not a sentence on one line."""
    text = str(error)
    assert isinstance(error, AdaCoderError)
    assert re.fullmatch(r"['A-Z].*\.", text), text
    return text.replace(server if isinstance(server, str) else server.host, "HOST")


def fate(server: StandInServer, number: int) -> list[str]:
    """Return the events of chat `number` in the stand-in's log, except `load`."""
    events = [event.rpartition(" ") for event in server.events]
    return [what for what, _, of in events if of == str(number) and what != "load"]


def settings_of(body: Body) -> dict[str, object]:
    """Return the parameters of a chat request, including Ollama's `options`, but not the messages."""
    options = body.get("options")
    rest = {name: value for name, value in body.items() if name not in ("options", "messages")}
    return rest | (options if isinstance(options, dict) else {})


def words(count: int) -> tuple[Message, ...]:
    """Return a prompt that has `count` tokens in a stand-in, not counting the chat template."""
    return (Message("user", "word " * count),)
