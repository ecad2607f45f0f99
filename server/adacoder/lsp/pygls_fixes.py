"""Remedies for pygls 2.1.1 where it does not follow the protocol.

Each remedy says what goes wrong without it. Only this file, `workspace.py` and `mirror.py`, the remedy for line ends,
touch private parts of pygls; `pyproject.toml` pins its version.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

import attrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification, RPCMessage, RPCRequest

from adacoder.lsp.display import displayed
from adacoder.lsp.workspace import Workspace

log = logging.getLogger(__name__)

OWN = "adacoder/"
"""Prefix of the requests of our own. Their parameters arrive as they were sent."""
ENDED = f"{OWN}ended"
"""The one notification of our own."""

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
        self.pause = 0.0
        """Seconds to wait after an answer before the client is sent a request."""
        self._answered_at = 0.0
        self._after: dict[int | str, Callable[[bool], None]] = {}
        """By the ids of requests, what is to be called once they are answered."""

    @property
    def was_shut_down(self) -> bool:
        """True if the client has asked for `shutdown`."""
        return self._shutdown

    # Messages that cannot be read

    def receive(self, content: bytes) -> None:
        """Handle the content of a message. What is none gets an error answer, as JSON-RPC asks; pygls stays silent,
        and takes what has a member `jsonrpc` for a message wherever it stands in one."""
        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            self.refuse("A message is not JSON.")
            return
        problem = self._problem(data)
        if problem is not None:
            log.warning("%s", problem)
            self._send_response(_id_of(data), error=_error(types.ErrorCodes.InvalidRequest, problem))
        elif "method" in data or self._is_awaited(data):
            try:
                self.handle_message(self.structure_message(data))
            except Exception:
                log.exception("A message could not be handled")  # the next one can

    def refuse(self, problem: str) -> None:
        """Answer what could not be read."""
        log.warning("%s", problem)
        self._send_response(None, error=_error(types.ErrorCodes.ParseError, problem))

    def _problem(self, data: Any) -> str | None:
        """What keeps JSON from being a message."""
        if isinstance(data, list):
            return "Messages come one by one: a JSON array is none."
        if not isinstance(data, dict) or data.get("jsonrpc") != self.VERSION:
            return 'A message is a JSON object with "jsonrpc": "2.0".'
        if "id" in data and data["id"] is not None and _id_of(data) is None:
            return "The 'id' of a message is a text or a whole number."
        if not isinstance(data.get("method", ""), str) or not {"method", "result", "error"} & data.keys():
            return "A message has a 'method', or it is a 'result' or an 'error'."
        kind = self.get_message_type(data.get("method", ""))
        if "id" in data and kind is not None and kind is not RawRequest and not hasattr(kind, "id"):
            return f"'{data['method']}' is no request: it has no 'id'."
        return None

    def _is_awaited(self, data: dict[str, Any]) -> bool:
        """True for an answer to a request of ours; in pygls one with the id of a client's request answers that."""
        waiting = self._request_futures.get(data.get("id"))  # type: ignore[arg-type]  # None is no key
        return data.get("id") in self._result_types and waiting is not None and not waiting.done()

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]  # theirs is a cached function
        """The type of a message: our own requests stay raw."""
        if method == ENDED:
            return JsonRPCNotification
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
        shown = displayed(super()._serialize_message(data))
        if isinstance(data, types.ResponseErrorMessage):
            shown.setdefault("id", None)  # pygls leaves it out where no id could be read
        return shown

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

    async def rested(self) -> None:
        """Wait until the client reads what is sent to it: some do not, right after an answer."""
        if (left := self._answered_at + self.pause - time.monotonic()) > 0:
            await asyncio.sleep(left)

    async def ask(self, method: str, params: Any, *, seconds: float, at_once: bool = False) -> Any:
        """The client's answer to a request of ours. Once nobody waits any more, a late answer is dropped;
        in pygls it meets a cancelled Future and opens a message box.

        `at_once`: the request goes out before anything else happens, since it holds for the text of this moment.

        Raises:
            TimeoutError: no answer came in `seconds`.
            JsonRpcException: the client answered with an error, or with something malformed.
        """
        if not at_once:
            await self.rested()
        message_id = str(uuid.uuid4())
        answer = asyncio.wrap_future(self.send_request(method, params, msg_id=message_id))
        try:
            async with asyncio.timeout(seconds):  # `wait_for` of Python 3.11 loses a cancellation that meets the answer
                return await answer
        finally:
            self._request_futures.pop(message_id, None)

    def after_answer(self, begin: Callable[[bool], None]) -> None:
        """Call `begin` once the request that is being handled has been answered, with True if it was by an error."""
        if self.msg_id is not None:
            self._after[self.msg_id] = begin

    def _send_response(self, msg_id: Any, result: Any = None, error: types.ResponseError | None = None) -> None:
        super()._send_response(msg_id, result, error)
        self._answered_at = time.monotonic()
        if (begin := self._after.pop(msg_id, None)) is not None:
            begin(error is not None)

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


def _id_of(data: Any) -> int | str | None:
    """The id that an answer to `data` can have."""
    found = data.get("id") if isinstance(data, dict) else None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def _error(code: types.ErrorCodes, message: str) -> types.ResponseError:
    return types.ResponseError(code=code.value, message=message)
