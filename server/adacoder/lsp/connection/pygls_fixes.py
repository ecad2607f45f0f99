"""Correct faults of pygls 2.1.1, the newest release.

Each docstring describes the fault that its function corrects. `tests/unit/lsp/test_pygls_fixes.py` shows each fault in
plain pygls. If such a test fails with a new release of pygls, the release has corrected the fault. `docs/upstream` has
a report on each fault.

This module uses private attributes of pygls, so `pyproject.toml` pins the version of pygls.
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
from pygls import workspace
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification, RPCMessage, RPCRequest

from adacoder.lsp.connection.display import displayed

log = logging.getLogger(__name__)

OWN = "adacoder/"
"""Prefix of AdaCoder's own requests. Their handlers get the parameters as plain JSON."""
ENDED = f"{OWN}ended"
"""Notification that a job has ended."""
WRITING = f"{OWN}writing"
"""Notification with the lines that a model has written so far."""
EVIDENCE = f"{OWN}evidenceChanged"
"""Notification that a document has new evidence."""

Handled = Generator[Any, Any, Any]
"""The return type of a built-in handler of pygls. The generator yields further handlers to call."""


@attrs.define
class RawRequest:
    """A request whose parameters stay plain JSON.

    pygls converts parameters of unknown requests to nested namedtuples and renames some keys. A request without
    parameters makes pygls fail without an answer.
    """

    id: Any
    method: str
    jsonrpc: str
    params: Any = None


@attrs.define
class Malformed:
    """A message whose parameters or result have the wrong form for its method."""

    data: dict[str, Any]
    error: JsonRpcException
    jsonrpc: str = "2.0"


class Protocol(LanguageServerProtocol):
    """The protocol class of pygls, without the faults."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.stopping = threading.Event()
        """Event that tells the main loop to end."""
        self.pause = 0.0
        """Seconds to wait between an answer and the next request."""
        self._answered_at = 0.0
        self._after: dict[int | str, Callable[[bool], None]] = {}
        """Functions to call after a request is answered, by the id of the request."""

    @property
    def was_shut_down(self) -> bool:
        """True if the client has requested `shutdown`."""
        return self._shutdown

    def closed_as(self, text: str, seconds: float) -> str | None:
        """Return the URI of the document that was closed last, if its text was `text`.

        Return None if the document was closed more than `seconds` ago.
        """
        if not isinstance(self._workspace, Workspace):
            return None
        uri, known, when = self._workspace.closed
        return uri if time.monotonic() < when + seconds and known == text else None

    # Unreadable messages

    def receive(self, content: bytes) -> None:
        """Read and handle a message. Answer an invalid request with an error, as JSON-RPC requires.

        pygls sends no answer. pygls also takes any object with a member `jsonrpc` for a message, even inside another
        message.
        """
        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            data = None
        problem = self._problem(data)
        if problem is not None:
            log.warning("%s", problem)
            if (message_id := _id_of(data)) is not None:
                self._send_response(message_id, error=_error(types.ErrorCodes.InvalidRequest, problem))
        elif "method" in data or self._is_awaited(data):
            try:
                self.handle_message(self.structure_message(data))
            except Exception:
                log.exception("A message could not be handled")

    def _problem(self, data: Any) -> str | None:
        """Return the reason why JSON data is not a valid message, or None if the data is valid."""
        if not isinstance(data, dict) or data.get("jsonrpc") != self.VERSION:
            return 'A message must be a JSON object with "jsonrpc": "2.0".'
        if data.get("id") is not None and _id_of(data) is None:
            return "The 'id' of a message must be a string or a whole number."
        if not isinstance(data.get("method", ""), str) or not {"method", "result", "error"} & data.keys():
            return "A message must have a 'method', a 'result' or an 'error'."
        kind = self.get_message_type(data.get("method", ""))
        if "id" in data and kind is not None and kind is not RawRequest and not hasattr(kind, "id"):
            return f"'{data['method']}' is not a request: it has no 'id'."
        return None

    def _is_awaited(self, data: dict[str, Any]) -> bool:
        """Return whether `data` answers a request that the server has sent.

        pygls also accepts an answer to a request of the client itself.
        """
        waiting = self._request_futures.get(data.get("id"))  # type: ignore[arg-type]  # None is never a key
        return data.get("id") in self._result_types and waiting is not None and not waiting.done()

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]  # theirs is a cached function
        """Return the class for a message. AdaCoder's own requests get the class `RawRequest`."""
        if method in (ENDED, WRITING, EVIDENCE):
            return JsonRPCNotification
        return RawRequest if method.startswith(OWN) else super().get_message_type(method)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Convert JSON to a message.

        pygls never answers a malformed request, and waits forever after a malformed answer. pygls also opens a message
        box for each malformed message (pygls#438).
        """
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
        problem = f"The parameters of '{method}' do not match the protocol."
        self._send_response(message_id, error=_error(types.ErrorCodes.InvalidParams, problem))

    # Messages as the user sees them

    def _serialize_message(self, data: Any) -> dict[str, Any]:
        """Convert a message to JSON, and make all texts in it safe to show in an editor."""
        return displayed(super()._serialize_message(data))

    def prepare(self) -> None:
        """Create the converters for common messages in advance. This takes 50 ms, so call it in a thread."""
        for read in (types.CodeActionRequest, types.DidChangeTextDocumentNotification, types.ExecuteCommandRequest):
            self._converter.get_structure_hook(read)
        for written in (types.CodeAction, types.WorkDoneProgressCreateRequest, types.ApplyWorkspaceEditRequest):
            self._converter.get_unstructure_hook(written)

    # The order of messages

    def handle_message(self, message: RPCMessage | Malformed) -> None:
        """Handle a message, or refuse a message that the protocol forbids at this time.

        pygls answers requests before `initialize`. After `shutdown`, pygls sends no answer, not even an error
        (pygls#605).
        """
        if isinstance(message, Malformed):
            self._refuse(message)
        elif refusal := self._refusal(getattr(message, "method", None)):
            if isinstance(message, RPCRequest):
                self._send_response(message.id, error=refusal)
        else:
            super().handle_message(message)

    def _refusal(self, method: str | None) -> types.ResponseError | None:
        """Return an error if the protocol forbids the method at this time, else None."""
        if method is None or method == types.EXIT:
            return None
        if self._shutdown:
            return _error(types.ErrorCodes.InvalidRequest, "The server has been shut down.")
        if self._workspace is None and method != types.INITIALIZE:
            return _error(types.ErrorCodes.ServerNotInitialized, "The server is not initialized.")
        if self._workspace is not None and method == types.INITIALIZE:
            return _error(types.ErrorCodes.InvalidRequest, "The server is initialized already.")
        return None

    # Start and end

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Handled:
        """Initialize the server. The documents split lines as the protocol requires.

        See `snapshot.Document` for the fault of pygls.
        """
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
        """Cancel all running requests.

        pygls fails if requests are running. Each request that ends changes the dictionary over which pygls iterates
        (pygls#606).
        """
        self._shutdown = True
        for message_id, future in list(self._request_futures.items()):
            if message_id != self.msg_id and not future.done():
                future.cancel()
        if (handler := self.fm.features.get(types.SHUTDOWN)) is not None:
            yield handler, args, None

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: object) -> None:  # type: ignore[override]  # the method of pygls waits for a handler
        """Tell the main loop to end.

        pygls raises SystemExit inside the event loop and then loses the exit code.
        """
        self.stopping.set()

    # Memory leaks

    def _execute_handler(
        self,
        msg_id: int | str,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Run a handler, and delete the handler's Future at the end.

        pygls keeps the Future of every notification, and editors send a notification for each keystroke.
        """
        super()._execute_handler(msg_id, handler, callback, args, kwargs)
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(lambda _: self._request_futures.pop(msg_id, None))

    # Requests

    async def rested(self) -> None:
        """Wait until the client can read a request.

        Some clients read a request late if it arrives right after an answer.
        """
        if (left := self._answered_at + self.pause - time.monotonic()) > 0:
            await asyncio.sleep(left)

    async def ask(self, method: str, params: Any, *, seconds: float, at_once: bool = False) -> Any:
        """Send a request to the client and return the answer.

        With `at_once`, no other task runs before the request is sent. Use `at_once` for an edit that is only right for
        the current text.

        A late answer is ignored. pygls opens a message box for a late answer (pygls#621).

        Raises:
            TimeoutError: no answer came in `seconds`.
            JsonRpcException: the client answered with an error, or the answer is malformed.
        """
        if not at_once:
            await self.rested()
        message_id = str(uuid.uuid4())
        answer = asyncio.wrap_future(self.send_request(method, params, msg_id=message_id))
        try:
            # In Python 3.11, `wait_for` loses a cancellation that arrives at the same time as the answer.
            async with asyncio.timeout(seconds):
                return await answer
        finally:
            self._request_futures.pop(message_id, None)

    def after_answer(self, begin: Callable[[bool], None]) -> None:
        """Call `begin` after the current request is answered.

        The argument of `begin` is True if the answer is an error.
        """
        if self.msg_id is not None:
            self._after[self.msg_id] = begin

    def _send_response(self, msg_id: Any, result: Any = None, error: types.ResponseError | None = None) -> None:
        super()._send_response(msg_id, result, error)
        self._answered_at = time.monotonic()
        if (begin := self._after.pop(msg_id, None)) is not None:
            begin(error is not None)

    def cancel_with_request(self, task: asyncio.Task[Any]) -> None:
        """If the client cancels the current request, cancel `task`.

        pygls does not cancel the task of a `workspace/executeCommand` request.
        """
        if self.msg_id is not None and (future := self._request_futures.get(self.msg_id)):
            future.add_done_callback(lambda ended: ended.cancelled() and task.cancel())


class Workspace(workspace.Workspace):
    """The open documents."""

    closed: tuple[str, str, float] = ("", "", 0.0)
    """URI and text of the document that was closed last, and the time of closing."""

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> workspace.TextDocument:
        from adacoder.lsp.snapshot import Document

        return Document(
            doc_uri,
            source=source,
            version=version,
            language_id=language_id,
            sync_kind=self._sync_kind,
            position_codec=self._position_codec,
        )

    def remove_text_document(self, doc_uri: str) -> None:
        """Close a document, and remember its text for `closed_as`.

        The text of a notebook cell is not remembered, because a cell is never saved as a file.
        """
        from adacoder.lsp.snapshot import Uri

        uri = Uri(doc_uri)
        if (document := self.text_documents.get(uri)) is not None and uri not in self._cell_in_notebook:
            self.closed = doc_uri, document.source, time.monotonic()
        super().remove_text_document(doc_uri)

    def update_notebook_document(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """Apply a change to a notebook, if the notebook is open.

        pygls fails if the notebook is closed. pygls also loses a cell that the same change closes and opens.
        """
        if self.get_notebook_document(notebook_uri=params.notebook_document.uri) is None:
            return
        structure = None if params.change.cells is None else params.change.cells.structure
        if structure is not None and structure.did_close:
            opened = {each.uri for each in structure.did_open or ()}
            structure.did_close = [each for each in structure.did_close if each.uri not in opened]
        super().update_notebook_document(params)

    def update_text_document(
        self, text_doc: types.VersionedTextDocumentIdentifier, change: types.TextDocumentContentChangeEvent
    ) -> None:
        """Apply a change to a document, if the document is open.

        VS Code also reports changes of closed documents. They make pygls fail.
        """
        from adacoder.lsp.snapshot import Uri

        if self.text_documents.get(Uri(text_doc.uri)) is not None:
            super().update_text_document(text_doc, change)


class _ClientsFaults(logging.Filter):
    """Removes tracebacks about messages of the client from the log.

    pygls logs a traceback for every error answer and every unreadable message. `Protocol` already logs one line.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Remove the traceback from an error answer. Return False to drop the record."""
        if record.exc_info and isinstance(record.exc_info[1], JsonRpcException):
            record.exc_info = None
        return not record.getMessage().startswith("Unable to deserialize message")


logging.getLogger("pygls.protocol.json_rpc").addFilter(_ClientsFaults())


def _id_of(data: Any) -> int | str | None:
    """Return the id in the JSON of a message, or None if there is no valid id."""
    found = data.get("id") if isinstance(data, dict) else None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def _error(code: types.ErrorCodes, message: str) -> types.ResponseError:
    return types.ResponseError(code=code.value, message=message)
