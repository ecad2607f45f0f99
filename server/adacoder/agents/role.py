"""Describe an agent that asks a model as data: its name, its prompt, and the function that reads its reply.

To add such an agent, write a `Role` and its prompt in `prompts/*.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from adacoder.domain import Example, Reply, Target
    from adacoder.models.base import Enough
    from adacoder.models.window import Window

T = TypeVar("T")

Field: TypeAlias = "str | Callable[[int], str]"
"""Value of a prompt field: a text, or a function that returns a text with quotations of at most the given length."""

FENCE = "\n```\n"
"""A code fence on its own line, used as a stop sequence. If it ends a reply too early, the model is asked again without
stop sequences."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a role's reply."""

    one_in: int
    """Maximum share of the window for a reply, as a divisor: 8 means an eighth."""
    most: int | None = None
    """Maximum number of tokens; None if only the window limits the reply."""
    before: int | None = None
    """Maximum length of the text before the function, in characters. The length of the module is added, because models
    may repeat the module. None means no limit."""
    stop: tuple[str, ...] = ()
    """Stop sequences, the most important first, because servers accept at most four.

    A sequence that occurs in the prompt is not sent, because the model may have to write it. Only the function and its
    examples are searched for `FENCE`."""

    def tokens(self, window: Window) -> int:
        """Return the maximum number of tokens of a reply."""
        part = window.tokens // self.one_in
        return part if self.most is None else min(part, self.most)


def always(found: object) -> bool:
    """Accept any result, even 0 or False."""
    return True


def _never(target: Target) -> Enough:
    return lambda text: False


@dataclass(frozen=True, slots=True)
class Role(Generic[T]):
    """An agent that asks a model for one action.

    The functions must be defined at module level, so that other processes can call them.
    """

    agent: str
    """Name of the agent in the journal, such as `programming_assistant`."""
    action: str
    """Name of the action in the journal, such as `write`."""
    doing: str
    """Progress message, such as "writing the function"."""
    prompt: str
    """Prompt file with the last paragraph of the chat. `$name` is the target's name. Each call fills in the other
    fields."""
    read: Callable[[Reply, Target], T | None]
    """Function that reads a reply. It returns None if the reply has no result."""
    limits: Limits
    system: str = ""
    """Prompt file with the role's part of the system text; empty for none."""
    has_found: Callable[[T], bool] = bool
    """Function that returns whether a value from `read` is a result."""
    otherwise: T | None = None
    """Result to use if the reply has none; None if the request needs a real result."""
    tests: Callable[[T], tuple[Example, ...]] | None = None
    """Function that returns the tests in a result, for roles that write tests."""
    enough: Callable[[Target], Enough] = _never
    """Function that returns a check for a target. The check returns True when a growing reply is complete."""
    was_stopped_short: Callable[[str, Target], bool] | None = None
    """Function that returns True if a stop sequence ended the reply too early. The model is then asked again."""
