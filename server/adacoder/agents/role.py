"""A model-based Agent as data: its name, its prompt, and the function that reads its reply.

A new Agent needs only a Role and its prompt in `prompts/*.md`. The Conversation asks, the Journal records, and progress
and stories show the Agent in the Role's own words.
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
"""Value of a prompt field. A text loses its middle if the window is too small. A function gets the maximum number of
characters of each quotation, and returns the text.
"""

FENCE = "\n```\n"
"""End of the only code block that a reply should have. After prose, it may also open a block, and if there are several
blocks, it closes the first. In these cases, the reply is requested again without this stop sequence.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum length of a reply in a Role, and its stop sequences."""

    one_in: int
    """Divisor of the window, for the largest part that a reply may take."""
    most: int | None = None
    """Maximum number of tokens; None: only the part of the window limits the reply."""
    before: int | None = None
    """Maximum number of characters before the function, beyond the module, which a model may repeat; None: no limit."""
    stop: tuple[str, ...] = ()
    """Stop sequences. A sequence that the prompt shows is not used, because the model may have to write it. The prompt
    shows everything in a fence, so for `FENCE` only the function and its examples count. Servers accept at most four
    stop sequences, including the model's own, so put the most important ones first.
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

    Its functions must be defined at module level, because prompts may be packed in another process.
    """

    agent: str
    """The Agent's name in the Journal: `programming_assistant`."""
    action: str
    """The action's name in the Journal: `write`."""
    doing: str
    """The action as shown to waiting users: "writing the function"."""
    prompt: str
    """The prompt file with the chat's last paragraph. The target's `$name` and the fields of a call are filled in."""
    read: Callable[[Reply, Target], T | None]
    """Reads any reply. It must be a module-level function, because it may run in another process."""
    limits: Limits
    system: str = ""
    """The prompt file with the Role's part of the system text. Roles may share one. Empty: no such part."""
    has_found: Callable[[T], bool] = bool
    """Returns True if the reply contained a result. A reply with only thoughts is an error."""
    otherwise: T | None = None
    """Default result if the reply could not be read, for a Role without which the request can continue. The Journal
    notes its use.
    """
    tests: Callable[[T], tuple[Example, ...]] | None = None
    """Returns the tests in a result, for a Role that designs tests. The Journal keeps them."""
    enough: Callable[[Target], Enough] = _never
    """Returns the function that decides when a growing reply can end."""
    was_stopped_short: Callable[[str, Target], bool] | None = None
    """Returns True if a stop sequence ended a reply too early. The reply is then requested again without stop
    sequences.
    """
