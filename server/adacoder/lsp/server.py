"""The language server: what it consists of, and how it begins and ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import FeatureRequestError
from pygls.lsp.server import LanguageServer

from adacoder import __version__
from adacoder.lsp.configuration import Configuration
from adacoder.lsp.jobs import Jobs
from adacoder.lsp.pygls_fixes import Protocol, serve_stdio

if TYPE_CHECKING:
    from adacoder.service import Service

log = logging.getLogger(__name__)

_MOST_NOTICES = 50
"""How many boxes of what is ignored may be opened; nobody reads more."""
_CLEARING_SECONDS = 3.0
"""After its start, which is not to be slowed."""


class AdaCoderServer(LanguageServer):
    """One client's server."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__("adacoder", __version__, protocol_cls=Protocol)
        self.configuration = Configuration(self, self._notice)
        self.jobs = Jobs(self)
        self.stopping = threading.Event()
        """Set when the main loop is to end."""
        self.looking_up = asyncio.Lock()
        """Held while a function is looked up that a job is to begin with: what is asked after that waits for it."""
        self._noticed: set[str] = set()
        self._service: Service | None = None
        self._importing = asyncio.Lock()

    async def service(self) -> Service:
        """What runs requests. It brings in much, for which neither `initialize` nor any other message waits."""
        async with self._importing:
            if self._service is None:
                self._service = (await asyncio.to_thread(_service))()
            return self._service

    def log(self, message: str) -> None:
        """Write a line to the editor's log."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Info, message))

    def show(self, message: str, *, warning: bool) -> None:
        """Show a message to the person."""
        kind = types.MessageType.Warning if warning else types.MessageType.Info
        self.window_show_message(types.ShowMessageParams(kind, message))

    def _notice(self, message: str) -> None:
        """Warn of something, the first time only; a project can give cause for any number of warnings."""
        if message not in self._noticed and len(self._noticed) < _MOST_NOTICES:
            self._noticed.add(message)
            self.show(message, warning=True)

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log an error that no answer tells of; pygls opens a message box for each."""
        if source is not FeatureRequestError:
            log.error("%s: %r", source.__name__, error)

    def stop(self) -> None:
        """Let the main loop end."""
        self.stopping.set()

    async def close(self) -> None:
        """End all jobs, and every process that was kept for more of them."""
        await self.jobs.close()
        if self._service is not None:
            await self._service.close()


def _service() -> type[Service]:
    from adacoder.service import Service

    # What was imported lives as long as we do: the collector, which lets nothing else run, need not look at it again.
    gc.freeze()
    return Service


def create() -> AdaCoderServer:
    """A server with all that it answers."""
    from adacoder.lsp.handlers import register

    server = AdaCoderServer()
    register(server)
    return server


def _clear() -> None:
    """Remove what servers left that were killed, though nobody may want anything run."""
    from adacoder.sandbox.isolation.scratch import remove_left

    remove_left()


def serve() -> int:
    """`adacoder serve`: speak LSP over stdin and stdout until the client leaves. Returns the exit code."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    clearing = threading.Timer(_CLEARING_SECONDS, _clear)
    clearing.daemon = True  # so that no exit waits for it
    clearing.start()
    return serve_stdio(create())
