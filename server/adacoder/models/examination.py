"""Results of examining a model for `adacoder doctor`, with the wording that all kinds of backends share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from adacoder.domain import JSON
from adacoder.messages import Text
from adacoder.models.errors import CONTEXT_TOKENS
from adacoder.models.server import Facts
from adacoder.models.window import Bound

_LONGEST = 2000
"""Maximum length of a shown text. Texts from servers and projects may be longer."""
NAMES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, such as of a server or of a model's context window."""

    name: str
    ok: bool | None
    """True if the check passes, False if AdaCoder cannot generate because it fails, None if nothing depends on it."""
    text: str
    advice: str = ""
    """A sentence with the next step; empty if there is nothing to do."""
    model: str | None = None
    """Id of the model that was checked; None if the check is not about one model."""

    def __post_init__(self) -> None:
        """Cut long texts."""
        for name in ("text", "advice", "model"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, Text(value).shortened(_LONGEST))

    def json(self) -> dict[str, JSON]:
        """Return the finding as an object for `--json`."""
        return {"name": self.name, "ok": self.ok, "text": self.text, "advice": self.advice, "model": self.model}


@dataclass(frozen=True, slots=True)
class Examination:
    """The findings about one model and its server. The finding about the server comes first."""

    findings: tuple[Finding, ...]
    measure: Callable[[], Awaitable[Finding]] | None = None
    """A function that measures the model's speed; None if there is nothing to measure."""

    @property
    def usable(self) -> bool:
        """True if no finding prevents the use of this model."""
        return all(finding.ok is not False for finding in self.findings)


def context(model_id: str, asked: int, facts: Facts) -> Finding:
    """Return the finding about the model's context window."""
    window = facts.window_for(asked)
    text = f"{window.tokens:,} tokens"
    if window.bound is Bound.UNTOLD:
        text += ", as set; the server does not report its own limit"
        return Finding("Context", None, text, model=model_id)
    if window.bound is not Bound.SETTING:
        text = Text(text, ", its limit; ", CONTEXT_TOKENS, f" would allow {asked:,}")
    elif facts.window is not None and facts.window > asked:
        text += f", of at most {facts.window:,}"
    return Finding("Context", True, text, model=model_id)
