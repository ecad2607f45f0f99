"""What an Ollama server has installed and loaded, and which of it to use when nobody named a model."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar

from adacoder.models.address import address
from adacoder.models.errors import BadReply, ModelError, ModelMissing
from adacoder.models.names import family_and_tag, is_cloud, may_chat, whole
from adacoder.models.numbers import count
from adacoder.models.ollama import OllamaServer
from adacoder.models.server import Deadlines, Facts, Running

_WORTH: tuple[tuple[str, float], ...] = (
    # Measured: aider's editing benchmark, 133 Python tasks, solved at the second attempt.
    ("qwen2.5-coder", 1.0),  # 0.5B 14 %, 1.5B 32 %, 3B 39 %, 7B 58 %, 14B 69 %, 32B 73 %
    ("yi-coder", 0.5),  # 9B 45 %
    ("qwen2.5", 0.25),  # 32B 59 %, 72B 65 %
    ("codestral", 0.22),  # 22B 48 %
    ("llama3.3", 0.12),  # 70B 59 %
    ("llama3", 0.2),  # 3B 26 %, 8B 38 %, 70B 59 %
    ("mistral", 0.13),  # 12B 33 %, 22B 38 %
    ("granite", 0.1),  # 8B 20 %
    # Estimated, with caution: of these no result of that benchmark was at hand.
    ("qwen3-coder", 1.1),
    ("devstral", 0.8),
    ("qwen3.", 0.8),
    ("qwen3", 0.6),
    ("gemma4", 0.5),
    ("deepseek-coder-v2", 0.35),
    ("deepseek-coder", 0.3),
    ("gpt-oss", 0.3),  # it thinks before each reply, whatever it is told, and that takes its time
    ("gemma3", 0.3),
    ("phi4", 0.3),
    ("starcoder2", 0.15),
    ("codegemma", 0.12),
    ("codellama", 0.1),
)
"""What a billion parameters of a family is worth in writing Python: so many billions of qwen2.5-coder solve the
same share of tasks. Ten tasks in a hundred more are about twice the worth. Rough on purpose: it only orders what
somebody has installed. The first entry that a model's name begins with counts."""
_UNKNOWN_WORTH = 0.05

_MEMORY_SHARE = 2 / 3
"""How much of this machine's memory a model may take and still be chosen unasked. The rest is for its window, the
editor and the system; where graphics share the memory, they may use about as much."""

_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([BM])", re.IGNORECASE)
_BYTES_PER_PARAMETER = 0.6
"""Of a model as Ollama usually quantizes it."""
_AT_ONCE = 4
"""How many models a server is asked about at a time."""
_MOST_MODELS = 500
"""How many models of a server are looked at: those changed last."""
_MOST_ASKED = 50
"""How many of them the server is asked about, where one that will do is looked for."""
_ASKING = 20.0
"""Seconds that a server has to describe all its models."""
_LONGEST_NAME = 1000
"""Of a model, and of all else that a server calls by a name. No model with a longer one is looked at."""


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that a server has."""

    name: str
    """As a user names it: `qwen2.5-coder:7b`."""
    billions: float
    """Its size in billions of parameters; 0.0 if that is unknown."""
    cloud: bool = False
    """Whether it runs on another machine."""
    size: int = 0
    """The bytes that it takes on disk, and at least takes in memory; 0 if that is unknown."""
    quantization: str = ""
    """Such as `Q4_K_M`; empty if that is unknown."""
    is_too_large: bool = False
    """Whether it runs on this machine and takes more of its memory than a model chosen unasked may."""

    @property
    def worth(self) -> float:
        """What it can be expected to do, as the size of the qwen2.5-coder that does the same."""
        family, _ = family_and_tag(self.name)
        known = (worth for begin, worth in _WORTH if family.startswith(begin))
        return self.billions * next(known, _UNKNOWN_WORTH)

    @property
    def chats(self) -> bool:
        """Whether its name leaves it possible that it follows instructions."""
        return may_chat(self.name)


@dataclass(frozen=True, slots=True)
class Described:
    """An installed model, with all that its server tells of it."""

    model: InstalledModel
    facts: Facts | None
    """What it can do; None where the server does not say."""
    running: Running | None
    """None: it is not loaded, or the server does not say."""


Named = TypeVar("Named", InstalledModel, Running)


T = TypeVar("T")


class Listing(tuple[T, ...]):
    """The models that a server has installed, as far as they were looked at."""

    others: int = 0
    """How many it has besides."""


async def installed(host: str | None) -> Listing[InstalledModel]:
    """The models of the server at `host`, in its order: the last changed first.

    Raises:
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        return await _models(server)


async def described(host: str | None) -> Listing[Described]:
    """As `installed`, with what each can do, and whether it is loaded.

    Raises:
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        models, loaded = await _models(server), await _running(server)
        turn, due = asyncio.Semaphore(_AT_ONCE), asyncio.get_running_loop().time() + _ASKING

        async def ask(name: str) -> Facts | None:
            async with turn:
                try:
                    async with asyncio.timeout_at(due):
                        return await server.facts(name)
                except (ModelError, TimeoutError):
                    return None  # of the others may be told more

        facts = await asyncio.gather(*(ask(model.name) for model in models))
        listing = Listing(
            Described(model, fact, find(model.name, loaded or ())) for model, fact in zip(models, facts, strict=True)
        )
        listing.others = models.others
        return listing


async def facts(host: str | None, model: str) -> Facts:
    """What `model` of the server at `host` can do.

    Raises:
        ModelMissing: the server does not have it.
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        return await server.facts(model)


async def running(host: str | None) -> tuple[Running, ...] | None:
    """The models that the server at `host` has loaded; None where it does not tell.

    Raises:
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        return await _running(server)


async def version(host: str | None) -> str:
    """The version of the server at `host`, such as `0.24.0`.

    Raises:
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        return (await server.version())[:_LONGEST_NAME]


async def best(host: str | None, deadlines: Deadlines | None = None) -> InstalledModel | None:
    """The best model for writing code that the server at `host` has, and that can do so; None if none will do.

    The first models are asked about in the order of `rank`, until one is known to answer chats.

    Raises:
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host, deadlines)) as server:
        for model in rank(await _models(server))[:_MOST_ASKED]:
            fact = await _facts(server, model.name)
            if fact is not None and fact.chats and not fact.remote:
                return model
    return None


def rank(models: Iterable[InstalledModel]) -> list[InstalledModel]:
    """Those of `models` that may be used unasked, the best first.

    They run where the server is and follow instructions. Before all others come those that are not too large, the one
    worth most first, of equals the last changed; then the others, the smallest first.
    """
    fit = [model for model in models if model.chats and not model.cloud]
    return sorted(fit, key=lambda model: (model.is_too_large, model.size if model.is_too_large else -model.worth))


def find(name: str, models: Iterable[Named]) -> Named | None:
    """The one of `models` that a user means by `name`."""
    return next((model for model in models if whole(model.name) == whole(name)), None)


def memory() -> int | None:
    """The bytes of this machine's memory; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf, and systems differ in what they name
        return None


async def _models(server: OllamaServer) -> Listing[InstalledModel]:
    most = memory() if address(server.url).loopback else None
    tags = await server.tags()
    named = (tag for tag in tags if len(str(tag.get("name"))) <= _LONGEST_NAME)
    models = Listing(_installed(tag, most) for tag in itertools.islice(named, _MOST_MODELS))
    models.others = len(tags) - len(models)
    return models


async def _facts(server: OllamaServer, model: str) -> Facts | None:
    """What `model` can do; None where the server does not say, as of one whose files are broken."""
    try:
        return await server.facts(model)
    except (BadReply, ModelMissing):
        return None


async def _running(server: OllamaServer) -> tuple[Running, ...] | None:
    try:
        return tuple(await server.running())
    except BadReply:  # the first versions could not tell
        return None


def _installed(tag: Mapping[str, object], most: int | None) -> InstalledModel:
    """What an entry of `/api/tags` says. A model may well take of `most` bytes of memory what may be taken."""
    name, size = str(tag.get("name")), count(tag.get("size"))
    details = tag.get("details")
    stated = details if isinstance(details, dict) else {}
    remote = bool(tag.get("remote_host") or tag.get("remote_model"))
    return InstalledModel(
        name,
        _billions(str(stated.get("parameter_size", "")), name, size),
        remote or is_cloud(name),
        size,
        str(stated.get("quantization_level") or "")[:_LONGEST_NAME],
        is_too_large=most is not None and size > most * _MEMORY_SHARE,
    )


def _billions(stated: str, name: str, size: int) -> float:
    match = _SIZE.fullmatch(stated) or _SIZE.search(name.rpartition(":")[2])
    if match:
        return float(match[1]) / (1 if match[2] in "bB" else 1000)
    return size / _BYTES_PER_PARAMETER / 1e9
