"""A model-based Agent as data: its name, its prompt, and the function that reads its reply.

A new Agent needs only a Role, and its prompt in `prompts/*.md`. The Conversation asks the model, and the Journal
records the reply. Progress messages use the Role's own words.
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
"""The value of a prompt field. A text is cut in the middle if the window is too small. A function gets the maximum
number of characters of each quotation, and returns the text.
"""

FENCE = "\n```\n"
"""The end of a code block. This is a stop sequence, because a reply should have only one block. If it opens a block
after prose, or if more blocks follow, the reply stops too early, and is requested again without stop sequences."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum length of a reply in a Role, and the stop sequences."""

    one_in: int
    """A reply may take at most the window divided by this number."""
    most: int | None = None
    """Maximum number of tokens; None: only the part of the window limits the reply."""
    before: int | None = None
    """Maximum characters before the function, in addition to the module, which a model may repeat; None: no limit."""
    stop: tuple[str, ...] = ()
    """Stop sequences. A sequence that the prompt contains is not used, because the model may have to write it. Every
    prompt contains fences, so for `FENCE` only the function and its examples are searched. Servers accept at most four
    stop sequences, including the model's own. So the most important ones come first.
    """

    def tokens(self, window: Window) -> int:
        """Return the maximum number of tokens of a reply."""
        part = window.tokens // self.one_in
        return part if self.most is None else min(part, self.most)


def always(found: object) -> bool:
    """Return True for any result, even 0 or False."""
    return True


def _never(target: Target) -> Enough:
    return lambda text: False


@dataclass(frozen=True, slots=True)
class Role(Generic[T]):
    """A model-based Agent and one of its actions.

    Its functions must be defined at module level, because another process may pack prompts and read replies.
    """

    agent: str
    """The Agent's name in the Journal, such as `programming_assistant`."""
    action: str
    """The action's name in the Journal, such as `write`."""
    doing: str
    """The action as users see it while they wait, such as "writing the function"."""
    prompt: str
    """The prompt file with the chat's last paragraph. `$name` stands for the target's name, and each call fills in its
    fields."""
    read: Callable[[Reply, Target], T | None]
    """Reads a reply; None if the reply cannot be read."""
    limits: Limits
    system: str = ""
    """The prompt file with the Role's part of the system text; empty if it has none. Roles may share a file."""
    has_found: Callable[[T], bool] = bool
    """Returns True if a value from `read` is a result. Without a result, a reply that is still thinking is an error."""
    otherwise: T | None = None
    """The default result if a reply has none, for Roles that a request can do without. The Journal notes it."""
    tests: Callable[[T], tuple[Example, ...]] | None = None
    """Returns the tests in a result, if the Role designs tests. The Journal keeps them."""
    enough: Callable[[Target], Enough] = _never
    """Returns the function that decides whether a growing reply can end."""
    was_stopped_short: Callable[[str, Target], bool] | None = None
    """Returns True if a stop sequence ended a reply too early. It is then requested again without them."""
