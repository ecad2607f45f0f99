"""What an examination finds of models: the words that all kinds of backends have for it, and what each has to say.

`doctor` asks an Examiner of each kind; `examine_ollama.py`, `examine_openai.py` and `examine_replay.py` have them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from adacoder.domain import JSON
from adacoder.models.errors import Kind, NotRunning
from adacoder.models.server import Facts
from adacoder.models.window import Bound
from adacoder.settings import Settings

T = TypeVar("T")

_LONGEST = 2000
"""Characters that are shown of a text, however much a server or a project had to say."""
NAMES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool | None
    """Whether it works; None where nothing depends on it. AdaCoder can generate here if nothing is False."""
    text: str
    advice: str = ""
    """What to do about it; empty where there is nothing to do."""
    model: str | None = None
    """The model of the ladder that it is about, as it was named or chosen; None: about none of them alone."""

    def __post_init__(self) -> None:
        """Cut what nobody would read to its end."""
        for name in ("text", "advice", "model"):
            value = getattr(self, name)
            if value is not None and len(value) > _LONGEST:
                object.__setattr__(self, name, f"{value[:_LONGEST]} …")

    def json(self) -> dict[str, JSON]:
        """An object of `--json`."""
        return {"name": self.name, "ok": self.ok, "text": self.text, "advice": self.advice, "model": self.model}


@dataclass(frozen=True, slots=True)
class Rung:
    """What was found of one model of the ladder, its server first."""

    findings: tuple[Finding, ...]
    probed: str | None = None
    """The model whose speed can be measured; None: it has none."""

    @property
    def stands(self) -> bool:
        """Whether this model could be asked for a function, as far as was found."""
        return all(finding.ok is not False for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms models are looked at."""

    settings: Settings
    patience: float
    """Seconds that a server has for an answer which needs no model to be loaded."""
    probes_speed: bool
    """Whether each model is measured afterwards, and so loaded."""

    async def soon(self, answer: Awaitable[T], url: str, kind: Kind) -> T:
        """An answer that has to come soon.

        Raises:
            NotRunning: it does not.
        """
        try:
            async with asyncio.timeout(self.patience):
                return await answer
        except TimeoutError:
            raise NotRunning(url, kind) from None


class Examiner(Protocol):
    """Looks at the models of one kind of backend, without using them."""

    def __init__(self, terms: Terms) -> None: ...

    async def rung(self, name: str, how: str) -> Rung:
        """What is found of the model `name`, empty for the one that would be chosen; `how` it came to be looked at."""
        ...

    async def on_gpu(self, name: str) -> float | None:
        """How much of a model that was just asked is on the GPU; None where that is not told."""
        ...


def context(model_id: str, asked: int, facts: Facts) -> Finding:
    """How much of a prompt the model sees at once."""
    window = facts.window_for(asked)
    text = f"{window.tokens:,} tokens"
    if window.bound is Bound.UNTOLD:
        text += ", as set; the server does not say what it can read"
        return Finding("Context", None, text, model=model_id)
    if window.bound is not Bound.SETTING:
        text += f", all that it can read; --context-tokens would allow {asked:,}"
    elif facts.window is not None and facts.window > asked:
        text += f", of the {facts.window:,} that it can read"
    return Finding("Context", True, text, model=model_id)


def counted(count: int, thing: str) -> str:
    """`3 models`, `1 model`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
