"""List the models of a server, and choose a default model."""

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
from adacoder.models.model_names import canonical, family_and_tag, is_cloud, may_chat
from adacoder.models.numbers import count
from adacoder.models.ollama import OllamaServer
from adacoder.models.openai import OpenAIServer
from adacoder.models.server import Deadlines, Facts, Running

_CODER = re.compile(r"code|codestral|devstral")
"""Matches the name of a model family for code."""

_MEMORY_SHARE = 2 / 3
"""Share of this machine's memory that a default model may use. The context window and other programs need the rest."""

_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([BM])", re.IGNORECASE)
_BYTES_PER_PARAMETER = 0.6
"""Bytes per parameter with Ollama's usual quantization."""
_AT_ONCE = 4
"""Maximum number of models to describe in parallel."""
_MOST_MODELS = 500
"""Maximum number of models in a list. Ollama lists recently changed models first."""
_MOST_ASKED = 50
"""Maximum number of models whose properties are requested to choose a default model."""
_ASKING = 20.0
"""Timeout for describing all models, in seconds."""
_LONGEST_NAME = 1000
"""Maximum length of a model name. Models with longer names, or with line breaks in the name, are ignored."""


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that is installed on a server."""

    name: str
    """Name on the server, such as `qwen2.5-coder:7b`."""
    billions: float
    """Billions of parameters; 0.0 if unknown."""
    cloud: bool = False
    """True if the model runs on another machine."""
    size: int = 0
    """Bytes on disk; 0 if unknown. The model needs at least as much memory."""
    quantization: str = ""
    """Quantization, such as `Q4_K_M`; empty if unknown."""
    fits: bool | None = None
    """True if this machine has enough memory for the model. None if this is unknown, or if another machine runs the
    model."""

    @property
    def is_too_large(self) -> bool:
        """True if this machine has too little memory for the model."""
        return self.fits is False

    @property
    def parameters(self) -> str:
        """Size such as `630M` or `7.6B`; empty if unknown."""
        millions = round(1000 * self.billions)
        if millions < 1000:
            return f"{millions}M" if millions else ""
        return f"{self.billions:.3g}B" if self.billions < 100 else f"{self.billions:,.0f}B"

    @property
    def is_coder(self) -> bool:
        """True if the name says that the model is made for code."""
        return _CODER.search(family_and_tag(self.name)[0]) is not None

    @property
    def chats(self) -> bool:
        """False if the name says that the model does not follow instructions."""
        return may_chat(self.name)


@dataclass(frozen=True, slots=True)
class Described:
    """An installed model with its properties and its load state."""

    model: InstalledModel
    facts: Facts | None
    """Properties of the model; None if the server does not report any."""
    running: Running | None
    """State of the loaded model. None if the model is not loaded, or if the server does not report states."""


Named = TypeVar("Named", InstalledModel, Running)
T = TypeVar("T")


class Listing(tuple[T, ...]):
    """The models of a server, at most `_MOST_MODELS`."""

    others: int = 0
    """Number of models that are left out of the list."""


async def installed(host: str | None) -> Listing[InstalledModel]:
    """List the models of the Ollama server at `host`, most recently changed first.

    Raises:
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        return await _models(server)


async def served(url: str) -> Listing[InstalledModel]:
    """List the models of the OpenAI-compatible server at `url`, in the server's order. Few servers report sizes.

    Raises:
        ModelError: no server answers there.
    """
    async with aclosing(OpenAIServer(url)) as server:
        cards = await server.cards()
    named = [card for card in cards if isinstance(card.get("id"), str) and _is_name(str(card["id"]))]
    models = Listing(map(_served, named[:_MOST_MODELS]))
    models.others = len(cards) - len(models)
    return models


async def described(host: str | None) -> Listing[Described]:
    """List the models of the Ollama server at `host` with their properties and load states.

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
                    return None  # describe the other models anyway

        facts = await asyncio.gather(*(ask(model.name) for model in models))
        listing = Listing(
            Described(model, fact, find(model.name, loaded or ())) for model, fact in zip(models, facts, strict=True)
        )
        listing.others = models.others
        return listing


async def facts(host: str | None, model: str) -> Facts:
    """Return the properties of a model on the Ollama server at `host`.

    Raises:
        ModelMissing: the server does not have the model.
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        return await server.facts(model)


async def running(host: str | None) -> tuple[Running, ...] | None:
    """Return the loaded models of the Ollama server at `host`, or None if the server does not report them.

    Raises:
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        return await _running(server)


async def version(host: str | None) -> str:
    """Return the version of the Ollama server at `host`, such as `0.24.0`.

    Raises:
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        return (await server.version())[:_LONGEST_NAME]


async def best(host: str | None, deadlines: Deadlines | None = None) -> InstalledModel | None:
    """Return the best code model of the Ollama server at `host`, or None if none is suitable.

    The model must be local and able to chat. For the order of models, see `rank`.

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
    """Sort the models that may be used by default, best first. Cloud models and base models are left out.

    Models for code come first, then other models, each from large to small. Models that need too much memory come last,
    from small to large.
    """
    fit = [model for model in models if model.chats and not model.cloud]
    return sorted(fit, key=_order)


def _order(model: InstalledModel) -> tuple[bool, bool, float]:
    if model.is_too_large:
        return True, True, model.size
    return False, not model.is_coder, -model.billions


def find(name: str, models: Iterable[Named]) -> Named | None:
    """Find the model with `name`. Names that Ollama treats as equal match."""
    return next((model for model in models if canonical(model.name) == canonical(name)), None)


def memory() -> int | None:
    """Return the size of this machine's memory in bytes, or None if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf, and some systems do not know these names
        return None


def fits(size: int, most: int | None) -> bool | None:
    """Return whether a model of `size` bytes is small enough for `most` bytes of memory.

    Return None if `most` is unknown.
    """
    return None if most is None else size <= most * _MEMORY_SHARE


async def _models(server: OllamaServer) -> Listing[InstalledModel]:
    most = memory() if address(server.url).loopback else None
    tags = await server.tags()
    named = (tag for tag in tags if _is_name(str(tag.get("name"))))
    models = Listing(_installed(tag, most) for tag in itertools.islice(named, _MOST_MODELS))
    models.others = len(tags) - len(models)
    return models


async def _facts(server: OllamaServer, model: str) -> Facts | None:
    """Return the properties of `model`, or None if the server cannot report them."""
    try:
        return await server.facts(model)
    except (BadReply, ModelMissing):
        return None


async def _running(server: OllamaServer) -> tuple[Running, ...] | None:
    try:
        return tuple(await server.running())
    except BadReply:  # early versions do not report loaded models
        return None


def _installed(tag: Mapping[str, object], most: int | None) -> InstalledModel:
    """Read an entry of Ollama's `/api/tags`.

    `most` is this machine's memory, or None if another machine runs the models.
    """
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
        fits=fits(size, most) if size and not remote else None,
    )


def _is_name(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and len(name.splitlines()) == 1


def _served(card: Mapping[str, object]) -> InstalledModel:
    """Read an entry of `/models`. Only llama-server reports sizes."""
    found = card.get("meta")
    meta = found if isinstance(found, dict) else {}
    return InstalledModel(str(card["id"]), count(meta.get("n_params")) / 1e9, size=count(meta.get("size")))


def _billions(stated: str, name: str, size: int) -> float:
    match = _SIZE.fullmatch(stated) or _SIZE.search(name.rpartition(":")[2])
    if match:
        return float(match[1]) / (1 if match[2] in "bB" else 1000)
    return size / _BYTES_PER_PARAMETER / 1e9
