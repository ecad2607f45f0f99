"""What clients do that their capabilities do not tell: decided here, by their names, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pygls.capabilities import get_capability

if TYPE_CHECKING:
    from lsprotocol import types

_BESIDE_THE_TEXT = ("visual studio code", "code - oss", "vscodium", "code-server", "cursor", "windsurf", "positron")
"""VS Code and what is built from it: a notification in a corner, which takes no key that is meant for the text.

Of the others Neovim and Vim ask in the command line, eglot and lsp-mode in the minibuffer with the first answer filled
in, Helix and Sublime in a list that has the focus: there the next key that is typed answers. Who is not named here is
not asked."""
_READS_LATE = ("eglot", "emacs", "")
"""eglot and lsp-mode leave a request unread that comes in one piece with an answer, until something else comes. Old
versions of eglot do not tell their name."""
_PAUSE = 0.15
"""Seconds after an answer with which none of 10 requests stayed unread; without a pause 3 of 10 did."""


@dataclass(frozen=True, slots=True)
class Habits:
    """The habits of one client."""

    asks_beside_text: bool = False
    """True if a question that it is sent cannot be answered by accident."""
    shows_endings: bool = False
    """True if it says that it shows by itself how jobs end, and what is kept."""
    pause: float = 0.0
    """Seconds to wait after an answer before it is sent a request."""

    @classmethod
    def of(cls, params: types.InitializeParams) -> Habits:
        """The habits of the client that sent these parameters of `initialize`."""
        name = (params.client_info.name if params.client_info else "").casefold()
        # Only properties of the actions are declared there; but who declares nothing of questions need not know any.
        knows_questions = get_capability(params.capabilities, "window.show_message", None) is not None
        return cls(
            shows_endings=_shows_endings(params.capabilities.experimental),
            asks_beside_text=knows_questions and name.startswith(_BESIDE_THE_TEXT),
            pause=_PAUSE if name in _READS_LATE else 0.0,
        )


def _shows_endings(experimental: object) -> bool:
    own = experimental.get("adacoder") if isinstance(experimental, Mapping) else None
    return isinstance(own, Mapping) and own.get("endings") is True
