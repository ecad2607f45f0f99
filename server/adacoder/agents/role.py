"""A model-based Agent as data: its name, its prompt, and how its reply is read.

A Role and its prompt in `prompts/*.md` are all that a new Agent takes. The Conversation asks, the Journal records, and
progress and stories show it by the words that stand in the Role.
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
"""Value of a prompt field: a text, whose middle is cut if the window is too small; or a function of
the most characters to quote of each thing."""

FENCE = "\n```\n"
"""End of the only code block that a reply should hold. After prose it may also open one, and of several blocks
it closes the first: then the reply is requested again without it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Length of a reply in a Role, and its stop sequences."""

    one_in: int
    """Divisor of the window: the part that a reply may take at most."""
    most: int | None = None
    """Most tokens; None: no other limit than the part."""
    stop: tuple[str, ...] = ()
    """Stop sequences, except those that the prompt shows, which the model may have to write. All that is shown is in a
    fence, so for `FENCE` only the function and its examples count. Servers take at most four, the model's own included:
    the first ones count."""

    def tokens(self, window: Window) -> int:
        """The tokens that a reply may take."""
        part = window.tokens // self.one_in
        return part if self.most is None else min(part, self.most)


def always(found: object) -> bool:
    """True of whatever was read, be it 0 or no."""
    return True


def _never(target: Target) -> Enough:
    return lambda text: False


@dataclass(frozen=True, slots=True)
class Role(Generic[T]):
    """A model-based Agent and one of its actions; its functions are of modules, since prompts are packed in another
    process, too."""

    agent: str
    """Its name in the Journal: `programming_assistant`."""
    action: str
    """Its action in the Journal: `write`."""
    doing: str
    """Its action for people who wait: "writing the function"."""
    prompt: str
    """The prompt file with the chat's last paragraph; the target's `$name` is filled in, and the fields of a call."""
    read: Callable[[Reply, Target], T | None]
    """Reads any reply; a module-level function, since it may run in another process."""
    limits: Limits
    system: str = ""
    """The prompt file with its part of the system text; Roles may share one. Empty: none."""
    has_found: Callable[[T], bool] = bool
    """True if the reply held a result. One that holds only thoughts instead is an error."""
    otherwise: T | None = None
    """Default where nothing could be read, if the request can go on by it; the Journal tells so."""
    tests: Callable[[T], tuple[Example, ...]] | None = None
    """The tests in what was read, of a Role that designs any; the Journal keeps them."""
    enough: Callable[[Target], Enough] = _never
    """Makes the function that says when a growing reply can end."""
    was_stopped_short: Callable[[str, Target], bool] | None = None
    """True if a reply that ended at a stop sequence is incomplete; it is then requested again without one."""
