"""Client behaviour that capabilities do not reveal. It is derived from client names here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pygls.capabilities import get_capability

if TYPE_CHECKING:
    from lsprotocol import types

_BESIDE_THE_TEXT = ("visual studio code", "code - oss", "vscodium", "code-server", "cursor", "windsurf", "positron")
"""VS Code and editors based on it. They ask in a corner notification, which takes no key that is meant for the text.

Neovim and Vim ask in the command line, eglot and lsp-mode in the minibuffer with the first answer filled in, Helix and
Sublime in a list that has the focus. There the next key typed is the answer. Clients that are not listed are never
asked."""
_READS_LATE = ("eglot", "emacs", "")
"""eglot and lsp-mode. If a request arrives together with an answer, they leave it unread until more input arrives. Old
versions of eglot do not send their name."""
_PAUSE = 0.15
"""Seconds to wait after an answer. With this pause no request of 10 stayed unread, without it 3 did."""


@dataclass(frozen=True, slots=True)
class Habits:
    """The habits of one client."""

    asks_beside_text: bool = False
    """True if the client shows questions where they cannot be answered by accident."""
    shows_endings: bool = False
    """True if the client declares that it shows the ends of jobs and kept results itself."""
    pause: float = 0.0
    """Seconds to wait after an answer before sending it a request."""

    @classmethod
    def of(cls, params: types.InitializeParams) -> Habits:
        """The habits of the client that sent these `initialize` parameters."""
        name = (params.client_info.name if params.client_info else "").casefold()
        # The capability only describes a question's actions, but a client without it may not support questions.
        knows_questions = get_capability(params.capabilities, "window.show_message", None) is not None
        return cls(
            shows_endings=_shows_endings(params.capabilities.experimental),
            asks_beside_text=knows_questions and name.startswith(_BESIDE_THE_TEXT),
            pause=_PAUSE if name in _READS_LATE else 0.0,
        )


def _shows_endings(experimental: object) -> bool:
    own = experimental.get("adacoder") if isinstance(experimental, Mapping) else None
    return isinstance(own, Mapping) and own.get("endings") is True
