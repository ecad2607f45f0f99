"""Remedies for pygls 2.1.1 where it does not follow the protocol.

Each remedy says what goes wrong without it. Only this file and `workspace.py`, the remedy for line ends,
touch private parts of pygls; `pyproject.toml` pins its version.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

import attrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import RPCMessage, RPCRequest

from adacoder.lsp.display import displayed
from adacoder.lsp.workspace import Workspace

log = logging.getLogger(__name__)

OWN = "adacoder/"
"""Prefix of the requests of our own. Their parameters arrive as they were sent."""

Handled = Generator[Any, Any, Any]
"""A built-in handler of pygls: a generator that yields the handlers to run inside it."""


@attrs.define
class RawRequest:
    """A request whose parameters stay the plain JSON they are.

    pygls makes nested namedtuples of unknown parameters, renames keys on the way, and fails without an
    answer where there are none.
    """

    id: Any
    method: str
    jsonrpc: str
    params: Any = None


@attrs.define
class Malformed:
    """A message whose content is not what its method asks for."""

    data: dict[str, Any]
    error: JsonRpcException
    jsonrpc: str = "2.0"


class Protocol(LanguageServerProtocol):
    """pygls's protocol with the remedies."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.stopping = threading.Event()
        """Set when the main loop is to end."""

    @property
    def was_shut_down(self) -> bool:
        """True if the client has asked for `shutdown`."""
        return self._shutdown

    # Messages that cannot be read

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]  # theirs is a cached function
        """The type of a message: our own requests stay raw."""
        return RawRequest if method.startswith(OWN) else super().get_message_type(method)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message out of JSON. In pygls a malformed request is never answered, a malformed answer is
        waited for without end, and both open a message box (pygls#438)."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            return Malformed(data, error)

    def _refuse(self, message: Malformed) -> None:
        message_id, method = message.data.get("id"), message.data.get("method")
        log.warning("A message is malformed: %s", message.data)
        if message_id is None:
            return
        if method is None:
            waiting = self._request_futures.pop(message_id, None)
            if waiting is not None:
                waiting.set_exception(message.error)
            return
        problem = f"The parameters of '{method}' are not what the protocol says."
        self._send_response(message_id, error=_error(types.ErrorCodes.InvalidParams, problem))

    # Messages that people read

    def _serialize_message(self, data: Any) -> dict[str, Any]:
        """A message as JSON. Nothing leaves that an editor could obey, or that hides from its reader."""
        return displayed(super()._serialize_message(data))

    def prepare(self) -> None:
        """Create the converters of an editor's usual messages, which takes 50 ms: in a thread nobody waits for it."""
        for read in (types.CodeActionRequest, types.DidChangeTextDocumentNotification, types.ExecuteCommandRequest):
            self._converter.get_structure_hook(read)
        for written in (types.CodeAction, types.WorkDoneProgressCreateRequest, types.ApplyWorkspaceEditRequest):
            self._converter.get_unstructure_hook(written)

    # The order of messages

    def handle_message(self, message: RPCMessage | Malformed) -> None:
        """Handle a message if this is its time. pygls answers requests before `initialize`, and after
        `shutdown` none, not even to refuse it (pygls#605)."""
        if isinstance(message, Malformed):
            self._refuse(message)
        elif refusal := self._refusal(getattr(message, "method", None)):
            if isinstance(message, RPCRequest):
                self._send_response(message.id, error=refusal)
        else:
            super().handle_message(message)

    def _refusal(self, method: str | None) -> types.ResponseError | None:
        """The reason to refuse a request or notification at this time, if any."""
        if method is None or method == types.EXIT:
            return None
        if self._shutdown:
            return _error(types.ErrorCodes.InvalidRequest, "The server has been shut down.")
        if self._workspace is None and method != types.INITIALIZE:
            return _error(types.ErrorCodes.ServerNotInitialized, "The server is not initialized.")
        if self._workspace is not None and method == types.INITIALIZE:
            return _error(types.ErrorCodes.InvalidRequest, "The server is initialized already.")
        return None

    # The beginning and the end

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Handled:
        """Initialize, with documents that cut lines as the protocol does."""
        result = yield from super().lsp_initialize(params)
        theirs = self.workspace
        self._workspace = Workspace(
            theirs.root_uri,
            workspace_folders=params.workspace_folders,
            position_encoding=theirs.position_encoding,
        )
        return result

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: object) -> Handled:
        """Cancel what still runs. pygls fails where requests are in flight: their end changes the very
        dictionary that it goes through (pygls#606)."""
        self._shutdown = True
        for message_id, future in list(self._request_futures.items()):
            if message_id != self.msg_id and not future.done():
                future.cancel()
        if (handler := self.fm.features.get(types.SHUTDOWN)) is not None:
            yield handler, args, None

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: object) -> None:  # type: ignore[override]  # theirs waits for a handler; we have none
        """Leave the main loop. pygls raises SystemExit in the middle of it, with tasks and processes still
        there, and then loses the exit code."""
        self.stopping.set()

    # What would be kept without end

    def _execute_handler(
        self,
        msg_id: int | str,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Run a handler. pygls keeps the Future of every notification, so memory grows with every
        keystroke."""
        super()._execute_handler(msg_id, handler, callback, args, kwargs)
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(lambda _: self._request_futures.pop(msg_id, None))

    # Requests

    async def ask(self, method: str, params: Any, *, seconds: float) -> Any:
        """The client's answer to a request of ours. Once nobody waits any more, a late answer is dropped;
        in pygls it meets a cancelled Future and opens a message box.

        Raises:
            TimeoutError: no answer came in `seconds`.
            JsonRpcException: the client answered with an error, or with something malformed.
        """
        message_id = str(uuid.uuid4())
        answer = asyncio.wrap_future(self.send_request(method, params, msg_id=message_id))
        try:
            return await asyncio.wait_for(answer, seconds)
        finally:
            self._request_futures.pop(message_id, None)

    def cancel_with_request(self, task: asyncio.Task[Any]) -> None:
        """Cancel `task`, which answers the command that is being handled, when the client cancels that
        request.

        pygls cancels only its own Future for `workspace/executeCommand`, and the handler runs on.
        """
        if self.msg_id is not None and (future := self._request_futures.get(self.msg_id)):
            future.add_done_callback(lambda ended: ended.cancelled() and task.cancel())


class _ClientsFaults(logging.Filter):
    """Keeps tracebacks for faults of ours: pygls logs one for every error it answers with, and for every message
    that cannot be read, of which `Protocol` tells in a line."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return False to drop a record; some lose their traceback."""
        if record.exc_info and isinstance(record.exc_info[1], JsonRpcException):
            record.exc_info = None
        return not record.getMessage().startswith("Unable to deserialize message")


logging.getLogger("pygls.protocol.json_rpc").addFilter(_ClientsFaults())


def _error(code: types.ErrorCodes, message: str) -> types.ResponseError:
    return types.ResponseError(code=code.value, message=message)
