"""The findings of an examination, in the words that all kinds of backends share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from adacoder.domain import JSON
from adacoder.messages import Text
from adacoder.models.errors import CONTEXT_TOKENS
from adacoder.models.server import Facts
from adacoder.models.window import Bound

_LONGEST = 2000
"""Characters that are shown of a text, however much a server or a project had to say."""
NAMES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was examined."""

    name: str
    ok: bool | None
    """True if it works; None where nothing depends on it. AdaCoder can generate here if nothing is False."""
    text: str
    advice: str = ""
    """A sentence that says what to do; empty if there is nothing to do."""
    model: str | None = None
    """The one model of the ladder that it is about, as it was named or chosen."""

    def __post_init__(self) -> None:
        """Cut long texts."""
        for name in ("text", "advice", "model"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, Text(value).shortened(_LONGEST))

    def json(self) -> dict[str, JSON]:
        """An object of `--json`."""
        return {"name": self.name, "ok": self.ok, "text": self.text, "advice": self.advice, "model": self.model}


@dataclass(frozen=True, slots=True)
class Examination:
    """The findings about one model, its server first."""

    findings: tuple[Finding, ...]
    measure: Callable[[], Awaitable[Finding]] | None = None
    """Measures the model's speed; None: it has none."""

    @property
    def usable(self) -> bool:
        """True if this model could be asked for a function, as far as was found."""
        return all(finding.ok is not False for finding in self.findings)


def context(model_id: str, asked: int, facts: Facts) -> Finding:
    """The finding about the length of a prompt that the model sees."""
    window = facts.window_for(asked)
    text = f"{window.tokens:,} tokens"
    if window.bound is Bound.UNTOLD:
        text += ", as set; the server does not say what it can read"
        return Finding("Context", None, text, model=model_id)
    if window.bound is not Bound.SETTING:
        text = Text(text, ", all that it can read; ", CONTEXT_TOKENS, f" would allow {asked:,}")
    elif facts.window is not None and facts.window > asked:
        text += f", of the {facts.window:,} that it can read"
    return Finding("Context", True, text, model=model_id)
