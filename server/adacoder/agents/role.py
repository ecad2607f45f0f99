"""A model-based Agent as data: what it is called, what it is told, and how its reply is read.

A Role and its prompt in `prompts/*.md` are all that a new Agent takes. The Conversation asks, the Journal records, and
progress and stories show it by the words that stand in the Role.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from adacoder.domain import Reply, Target
    from adacoder.models.base import Enough
    from adacoder.models.window import Window

T = TypeVar("T")

Field: TypeAlias = "str | Callable[[int], str]"
"""What fills a place of a prompt: a text, which loses its middle where the window has no room for all of it; or a
function that words it with at most so many characters of each thing that it quotes."""

FENCE = "\n```\n"
"""What closes the one block of code that a reply was to be. Behind words it may also open one, and of several blocks it
closes the first: then the reply is asked for once more, without."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long replies in a Role may be, and where a server may end them."""

    one_in: int
    """The part of the window that a reply may take at most: one in so many."""
    most: int | None = None
    """The tokens that it may take at most; None: whatever that part is."""
    stop: tuple[str, ...] = ()
    """A reply ends before any of these texts, unless the model is shown them: what it is shown, it may have to write.
    A fence stands around all that it is shown, so that of `FENCE` only the function and its examples tell. Servers take
    four at most, those of the model itself included: the first count."""

    def tokens(self, window: Window) -> int:
        """The tokens that a reply may take."""
        part = window.tokens // self.one_in
        return part if self.most is None else min(part, self.most)


def _never(target: Target) -> Enough:
    return lambda text: False


@dataclass(frozen=True, slots=True)
class Role(Generic[T]):
    """A model-based Agent and one thing that it does."""

    agent: str
    """Its name in the Journal: `programming_assistant`."""
    action: str
    """What it does, in the Journal: `write`."""
    doing: str
    """What it does, for people who wait: "writing the function"."""
    prompt: str
    """The prompt file with the chat's last paragraph; the target's `$name` is filled in, and the fields of a call."""
    read: Callable[[Reply, Target], T]
    """Reads a reply, whatever it looks like: a function of a module, since it may run in another process."""
    limits: Limits
    system: str = ""
    """The prompt file with what the system text says of it; Roles may share one. Empty: nothing."""
    has_found: Callable[[T], bool] = bool
    """Whether there was something to read. A reply that holds nothing but thoughts instead is an error."""
    enough: Callable[[Target], Enough] = _never
    """Makes what follows a growing reply and says when it can end."""
    was_stopped_short: Callable[[str, Target], bool] | None = None
    """Whether a reply that ended where a server was to stop lacks something; then it is asked for again, whole."""
