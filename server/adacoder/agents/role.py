"""A role: an agent that asks a model, described by its name, its prompt, and the function that reads its reply.

To add such an agent, write a `Role`, and its prompt in `prompts/*.md`.
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
"""Value of a prompt field: a text, or a function that gets the maximum length of quotations and returns a text."""

FENCE = "\n```\n"
"""A code fence on its own line, used as a stop sequence."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a role's reply."""

    one_in: int
    """Divisor that limits a reply to a part of the window: 8 means an eighth."""
    most: int | None = None
    """Maximum number of tokens; None if only the window limits the reply."""
    before: int | None = None
    """Maximum length of the text before the function, in characters; None for no limit. The module's length is added,
    because models may repeat the module."""
    stop: tuple[str, ...] = ()
    """Stop sequences, the most important first, because servers accept at most four.

    A sequence that occurs in the prompt is not sent, because the model may have to write it."""

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

    Use functions at module level for the fields, so that other processes can call them.
    """

    agent: str
    """Name of the agent in the journal, such as `programming_assistant`."""
    action: str
    """Name of the action in the journal, such as `write`."""
    doing: str
    """Progress message, such as "writing the function"."""
    prompt: str
    """Name of the prompt file with the last paragraph of the chat. Each call fills in its fields, such as `$name`."""
    read: Callable[[Reply, Target], T | None]
    """Function that reads a reply. It returns None if the reply has no result."""
    limits: Limits
    system: str = ""
    """Name of the prompt file with the role's part of the system text; empty for none."""
    has_found: Callable[[T], bool] = bool
    """Function that returns True if a value from `read` can be used."""
    otherwise: T | None = None
    """Result to use if the reply has none. With None, the reply must have a result."""
    tests: Callable[[T], tuple[Example, ...]] | None = None
    """Function that extracts tests from a result; None if the role writes no tests."""
    enough: Callable[[Target], Enough] = _never
    """Function that returns a check for a target. The check returns True once a growing reply is complete."""
    was_stopped_short: Callable[[str, Target], bool] | None = None
    """Function that returns True if a stop sequence ended the reply too early. The model must then be asked again."""
