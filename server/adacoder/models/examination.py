"""Results of examining a model for `adacoder doctor`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from adacoder.domain import JSON
from adacoder.messages import Text
from adacoder.models.errors import CONTEXT_TOKENS
from adacoder.models.server import Facts
from adacoder.models.window import Bound

_LONGEST = 2000
"""Maximum length of a text that comes from a server or a project, in characters."""
NAMES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check, for example of a server."""

    name: str
    ok: bool | None
    """True if the check passed. False if AdaCoder cannot work until the problem is fixed. None if the finding is only
    information."""
    text: str
    advice: str = ""
    """A sentence with the next step; empty if there is none."""
    model: str | None = None
    """Id of the model that was checked; None if the server was checked."""

    def __post_init__(self) -> None:
        for name in ("text", "advice", "model"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, Text(value).shortened(_LONGEST))

    def json(self) -> dict[str, JSON]:
        """Return the finding as an object for `--json`."""
        return {"name": self.name, "ok": self.ok, "text": self.text, "advice": self.advice, "model": self.model}


@dataclass(frozen=True, slots=True)
class Examination:
    """Findings about one model and its server. The findings about the server come first."""

    findings: tuple[Finding, ...]
    measure: Callable[[], Awaitable[Finding]] | None = None
    """Function that measures the model's speed; None if there is nothing to measure."""

    @property
    def usable(self) -> bool:
        """True if the model can be used."""
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
