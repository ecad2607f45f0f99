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
"""Matches the name of a model family that is made for code."""

_MEMORY_SHARE = 2 / 3
"""Share of this machine's memory that a default model may take. The rest is for its window, the editor and the system.
A GPU that shares this memory can usually use about the same share."""

_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([BM])", re.IGNORECASE)
_BYTES_PER_PARAMETER = 0.6
"""Bytes per parameter with Ollama's usual quantization."""
_AT_ONCE = 4
"""Maximum number of models whose properties are requested in parallel."""
_MOST_MODELS = 500
"""Maximum number of models in a listing. Ollama lists the most recently changed models first."""
_MOST_ASKED = 50
"""Maximum number of models to look up in the search for a default model."""
_ASKING = 20.0
"""Timeout in seconds for describing all models."""
_LONGEST_NAME = 1000
"""Maximum length of a name from a server. Models with longer names, or with line breaks in them, are ignored."""


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that a server has installed."""

    name: str
    """Name on its server, such as `qwen2.5-coder:7b`."""
    billions: float
    """Size in billions of parameters; 0.0 if unknown."""
    cloud: bool = False
    """True if it runs on another machine."""
    size: int = 0
    """Bytes on disk; 0 if unknown. In memory, the model needs at least as much."""
    quantization: str = ""
    """Quantization, such as `Q4_K_M`; empty if unknown."""
    fits: bool | None = None
    """True if this machine has enough memory for a default model of this size. None if this is unknown, or if the model
    runs elsewhere."""

    @property
    def is_too_large(self) -> bool:
        """True if the model takes more of this machine's memory than a default model may."""
        return self.fits is False

    @property
    def parameters(self) -> str:
        """Size as people name it, such as `630M` or `7.6B`; empty if unknown."""
        millions = round(1000 * self.billions)
        if millions < 1000:
            return f"{millions}M" if millions else ""
        return f"{self.billions:.3g}B" if self.billions < 100 else f"{self.billions:,.0f}B"

    @property
    def is_coder(self) -> bool:
        """True if the name shows that the model is made for code."""
        return _CODER.search(family_and_tag(self.name)[0]) is not None

    @property
    def chats(self) -> bool:
        """True unless the name shows that the model does not follow instructions."""
        return may_chat(self.name)


@dataclass(frozen=True, slots=True)
class Described:
    """An installed model with its properties and state."""

    model: InstalledModel
    facts: Facts | None
    """The model's properties; None if the server does not report them."""
    running: Running | None
    """The state of the loaded model. None if it is not loaded, or if the server does not report this."""


Named = TypeVar("Named", InstalledModel, Running)
T = TypeVar("T")


class Listing(tuple[T, ...]):
    """A list of a server's models, limited to `_MOST_MODELS`."""

    others: int = 0
    """Number of models that are left out of the list."""


async def installed(host: str | None) -> Listing[InstalledModel]:
    """List the models of the server at `host`, most recently changed first.

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
    """List the same models as `installed`, with the properties and the load state of each.

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
                    return None  # The other models can still be described.

        facts = await asyncio.gather(*(ask(model.name) for model in models))
        listing = Listing(
            Described(model, fact, find(model.name, loaded or ())) for model, fact in zip(models, facts, strict=True)
        )
        listing.others = models.others
        return listing


async def facts(host: str | None, model: str) -> Facts:
    """Return the properties of a model of the server at `host`.

    Raises:
        ModelMissing: the server does not have the model.
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        return await server.facts(model)


async def running(host: str | None) -> tuple[Running, ...] | None:
    """Return the loaded models of the server at `host`, or None if the server does not report them.

    Raises:
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        return await _running(server)


async def version(host: str | None) -> str:
    """Return the version of the server at `host`, such as `0.24.0`.

    Raises:
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        return (await server.version())[:_LONGEST_NAME]


async def best(host: str | None, deadlines: Deadlines | None = None) -> InstalledModel | None:
    """Return the best code model of the server at `host`; None if no model is suitable.

    It is the first model in the order of `rank` that is local and answers chats, according to the server.

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
    """Return the models that may be used by default, best first. Cloud models and base models are left out.

    Models made for code come first. Within both groups, larger models come first, and models of equal size keep their
    order. Models that are too large for this machine come last, smallest first.
    """
    fit = [model for model in models if model.chats and not model.cloud]
    return sorted(fit, key=_order)


def _order(model: InstalledModel) -> tuple[bool, bool, float]:
    if model.is_too_large:
        return True, True, model.size
    return False, not model.is_coder, -model.billions


def find(name: str, models: Iterable[Named]) -> Named | None:
    """Find the model that a user means by `name`."""
    return next((model for model in models if canonical(model.name) == canonical(name)), None)


def memory() -> int | None:
    """Return the bytes of this machine's memory, or None if the system does not report them."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf, and not all systems know these names.
        return None


def fits(size: int, most: int | None) -> bool | None:
    """Return whether a model of `size` bytes leaves room in `most` bytes of memory; None if `most` is unknown."""
    return None if most is None else size <= most * _MEMORY_SHARE


async def _models(server: OllamaServer) -> Listing[InstalledModel]:
    most = memory() if address(server.url).loopback else None
    tags = await server.tags()
    named = (tag for tag in tags if _is_name(str(tag.get("name"))))
    models = Listing(_installed(tag, most) for tag in itertools.islice(named, _MOST_MODELS))
    models.others = len(tags) - len(models)
    return models


async def _facts(server: OllamaServer, model: str) -> Facts | None:
    """Return the properties of `model`; None if the server cannot report them, for example for a broken file."""
    try:
        return await server.facts(model)
    except (BadReply, ModelMissing):
        return None


async def _running(server: OllamaServer) -> tuple[Running, ...] | None:
    try:
        return tuple(await server.running())
    except BadReply:  # Early versions do not report loaded models.
        return None


def _installed(tag: Mapping[str, object], most: int | None) -> InstalledModel:
    """Parse an entry of `/api/tags`. `most` is this machine's memory in bytes; None if models run elsewhere."""
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
    """Parse an entry of `/models`. llama-server reports the parameters and the size of its models."""
    found = card.get("meta")
    meta = found if isinstance(found, dict) else {}
    return InstalledModel(str(card["id"]), count(meta.get("n_params")) / 1e9, size=count(meta.get("size")))


def _billions(stated: str, name: str, size: int) -> float:
    match = _SIZE.fullmatch(stated) or _SIZE.search(name.rpartition(":")[2])
    if match:
        return float(match[1]) / (1 if match[2] in "bB" else 1000)
    return size / _BYTES_PER_PARAMETER / 1e9
