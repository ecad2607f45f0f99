"""What an Ollama server has installed, and which of it to use when nobody named a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from adacoder.models.ollama import OllamaServer, is_cloud

_WORTH: tuple[tuple[str, float], ...] = (
    ("qwen3-coder", 1.0),
    ("qwen2.5-coder", 1.0),
    ("devstral", 0.9),
    ("qwen3", 0.6),
    ("gpt-oss", 0.6),
    ("qwen2.5", 0.5),
    ("deepseek-coder-v2", 0.5),
    ("yi-coder", 0.5),
    ("gemma4", 0.5),
    ("gemma3", 0.4),
    ("deepseek-coder", 0.35),
    ("llama3", 0.3),
    ("codestral", 0.3),
    ("mistral", 0.2),
    ("starcoder2", 0.15),
    ("granite", 0.15),
    ("codegemma", 0.12),
    ("codellama", 0.1),
)
"""What a billion parameters of a family is worth in writing Python: the size of the qwen2.5-coder that solves
the same share of tasks in published comparisons (aider's editing benchmark, HumanEval). Rough on purpose: it
only orders what somebody has installed. The first entry that a model's name begins with counts."""
_UNKNOWN_WORTH = 0.05

_NO_CHAT = re.compile(r"(?:^|[-_:])(?:base|embed|embedding|rerank|reranker|minilm|bge)(?:$|[-_:])")
"""Parts of a name that say a model only continues text, or writes none at all."""
_NO_CHAT_TAG = re.compile(r"(?:^|-)(?:code|python|text|fim)(?:$|-)")
"""Parts of a tag that say so."""
_NEEDS_INSTRUCT = ("starcoder2", "stable-code")
"""Families whose plain tags are base models."""

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([BM])", re.IGNORECASE)
_BYTES_PER_PARAMETER = 0.6
"""Of a model as Ollama usually quantizes it."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A model that a server has."""

    name: str
    """As a user names it: `qwen2.5-coder:7b`."""
    billions: float
    """Its size in billions of parameters; 0.0 if that is unknown."""
    cloud: bool = False
    """Whether it runs on another machine."""

    @property
    def worth(self) -> float:
        """What it can be expected to do, as the size of the qwen2.5-coder that does the same."""
        family, _ = self._family_and_tag
        known = (worth for begin, worth in _WORTH if family.startswith(begin))
        return self.billions * next(known, _UNKNOWN_WORTH)

    @property
    def chats(self) -> bool:
        """Whether its name leaves it possible that it follows instructions."""
        family, tag = self._family_and_tag
        if family.startswith(_NEEDS_INSTRUCT):
            return "instruct" in tag
        return not (_NO_CHAT.search(f"{family}:{tag}") or _NO_CHAT_TAG.search(tag))

    @property
    def _family_and_tag(self) -> tuple[str, str]:
        """`qwen2.5-coder` and `7b`; without the account that published it."""
        family, _, tag = self.name.lower().rpartition("/")[2].partition(":")
        return family, tag


async def installed(host: str | None) -> tuple[Installed, ...]:
    """The models of the server at `host`, in its order: the last changed first.

    Raises:
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        return tuple(_installed(tag) for tag in await server.tags())


async def version(host: str | None) -> str:
    """The version of the server at `host`, such as `0.24.0`.

    Raises:
        ModelError: no server answers there.
    """
    async with aclosing(OllamaServer(host)) as server:
        return await server.version()


def choose(models: Iterable[Installed]) -> Installed | None:
    """The best of `models` for writing code; None if none will do.

    That is the one worth most, of all that run on this machine and follow instructions; of equals the first.
    """
    fit = [model for model in models if model.chats and not model.cloud]
    return max(fit, key=lambda model: model.worth, default=None)


def _installed(tag: Mapping[str, object]) -> Installed:
    """What an entry of `/api/tags` says."""
    name = str(tag.get("name"))
    details = tag.get("details")
    stated = str(details.get("parameter_size")) if isinstance(details, dict) else ""
    remote = bool(tag.get("remote_host") or tag.get("remote_model"))
    return Installed(name, _billions(stated, name, tag.get("size")), remote or is_cloud(name))


def _billions(stated: str, name: str, size: object) -> float:
    match = _SIZE.fullmatch(stated) or _SIZE.search(name.rpartition(":")[2])
    if match:
        return float(match[1]) / (1 if match[2] in "bB" else 1000)
    return size / _BYTES_PER_PARAMETER / 1e9 if isinstance(size, int) else 0.0
