"""The client as the rest of the server sees it: its capabilities, its workspace, and messages to it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import FeatureRequestError
from pygls.lsp.server import LanguageServer

from adacoder import __version__
from adacoder.lsp.connection.habits import Habits
from adacoder.lsp.connection.pygls_fixes import ENDED, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adacoder.domain import JSON

log = logging.getLogger(__name__)

_MOST_NOTICES = 50
"""Maximum number of message boxes about ignored settings."""


class Client(LanguageServer):
    """One client. pygls keeps its connection and the server's features in one object."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__("adacoder", __version__, protocol_cls=Protocol)
        self.habits = Habits()
        self._noticed: set[str] = set()

    def log(self, message: str) -> None:
        """Write a line to the editor's log."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Info, message))

    def show(self, message: str, *, warning: bool) -> None:
        """Show a message to the user."""
        kind = types.MessageType.Warning if warning else types.MessageType.Info
        self.window_show_message(types.ShowMessageParams(kind, message))

    def tell_end(self, message: str, *, warning: bool, about: Mapping[str, JSON]) -> None:
        """Report the end of a job: as a message, or as data to a client that shows endings itself."""
        if self.habits.shows_endings:
            from adacoder.lsp.jobs.endings import remedies_json
            from adacoder.report import VERSION

            end = {"version": VERSION, "message": message, "isGood": not warning, "remedies": remedies_json(message)}
            self.protocol.notify(ENDED, {**end, **about})
        else:
            self.show(message, warning=warning)

    def notice(self, message: str) -> None:
        """Show a warning, but only once. The number of warnings is limited, because a project can cause any number."""
        if message not in self._noticed and len(self._noticed) < _MOST_NOTICES:
            self._noticed.add(message)
            self.show(message, warning=True)

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log an error that no answer reports. pygls would open a message box for each."""
        if source is not FeatureRequestError:
            log.error("%s: %r", source.__name__, error)
