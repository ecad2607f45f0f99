"""Speak the Model Context Protocol: JSON-RPC, one message a line, in both eras of the protocol.

Clients of the revisions in `HANDSHAKE` begin with `initialize`. Clients of the revision `STATELESS` name it in each
request. This module imports little, because agents do not wait long for the list of tools.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

from adacoder import __version__
from adacoder.mcp.tool_words import INSTRUCTIONS

log = logging.getLogger(__name__)

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = "2026-07-28"
_VERSION = "io.modelcontextprotocol/protocolVersion"
_INFO = {"name": "adacoder", "title": "AdaCoder", "version": __version__}
_OFFER = {"capabilities": {"tools": {}}, "instructions": INSTRUCTIONS}
_NOT_CACHED = {"ttlMs": 0, "cacheScope": "private"}
_COMPLETE = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": _INFO}}

_MOST_IN_BATCH = 50

_PARSE, _REQUEST, _METHOD, _PARAMS, _INTERNAL, _REVISION = -32700, -32600, -32601, -32602, -32603, -32022
"""Codes of errors."""

Id: TypeAlias = "str | int"
Object: TypeAlias = dict[str, Any]


class Report(Protocol):
    """Reports the progress of a call."""

    def __call__(self, progress: int, total: int, message: str) -> None: ...


Call: TypeAlias = Callable[[str, Object, Report], Awaitable[tuple[Object, bool]]]
"""Carries out a call of a tool. Returns the result, and True if the result is an error."""


class InvalidRequest(Exception):
    """A request that cannot be answered. It becomes an error of JSON-RPC."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


class AgentExchange:
    """Answers the messages of one client."""

    def __init__(self, send: Callable[[bytes], None], tools: list[Object], call: Call) -> None:
        """Args:
        send: writes a line to the client.
        tools: the definitions of the tools.
        call: carries out a call.
        """
        self._send = send
        self._tools = {each["name"]: each for each in tools}
        self._call = call
        self._running: dict[Id, asyncio.Task[None]] = {}

    def receive(self, line: bytes) -> None:
        """Handle one line. Calls of tools go on in tasks of their own, and everything else is answered at once."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(None, InvalidRequest(_PARSE, "The line is not JSON."))
            return
        batch = message if isinstance(message, list) and message else [message]
        if len(batch) > _MOST_IN_BATCH:
            self._refuse(None, InvalidRequest(_REQUEST, "The batch has too many messages."))
            return
        for each in batch:
            self._handle(each)

    def too_long(self) -> None:
        """Refuse a line that is too long to read."""
        self._refuse(None, InvalidRequest(_REQUEST, "The message is too long."))

    async def close(self) -> None:
        """Cancel all calls, and wait until they have ended."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _handle(self, message: Any) -> None:
        match message:
            case {"method": "notifications/cancelled", "params": {"requestId": str() | int() as number}}:
                if not isinstance(number, bool) and (task := self._running.get(number)) is not None:
                    task.cancel()
            case {"method": str() as method, "id": str() | int() as number} if not isinstance(number, bool):
                try:
                    self._answer(number, method, message.get("params", {}))
                except InvalidRequest as error:
                    self._refuse(number, error)
            case {"method": str()} if "id" not in message:
                pass  # another notification
            case {"result": _} | {"error": _}:
                pass  # the server asks nothing
            case _:
                known = message.get("id") if isinstance(message, dict) else None
                is_id = isinstance(known, str | int) and not isinstance(known, bool)
                self._refuse(
                    known if is_id else None, InvalidRequest(_REQUEST, "The message is not a request of JSON-RPC.")
                )

    def _answer(self, number: Id, method: str, params: Any) -> None:
        if not isinstance(params, dict):
            raise InvalidRequest(_PARAMS, "The params are not an object.")
        is_stateless = _is_stateless(params)
        match method:
            case "initialize":
                wanted = params.get("protocolVersion")
                version = wanted if wanted in HANDSHAKE else HANDSHAKE[-1]
                result = {"protocolVersion": version, "serverInfo": _INFO, **_OFFER}
            case "server/discover":
                result, is_stateless = {"supportedVersions": [STATELESS], **_OFFER, **_NOT_CACHED}, True
            case "ping":
                result = {}
            case "tools/list":
                result = {"tools": list(self._tools.values()), **(_NOT_CACHED if is_stateless else {})}
            case "tools/call":
                self._begin(number, params, is_stateless=is_stateless)
                return
            case _:
                raise InvalidRequest(_METHOD, "This method is unknown.")
        self._reply(number, result, is_stateless=is_stateless)

    def _begin(self, number: Id, params: Object, *, is_stateless: bool) -> None:
        """Start a call of a tool.

        Raises:
            InvalidRequest: the tool is unknown, or its arguments do not fit.
        """
        if number in self._running:
            raise InvalidRequest(_REQUEST, "A request with this id is still running.")
        tool = self._tools.get(str(params.get("name")))
        if tool is None:
            raise InvalidRequest(_PARAMS, "This tool is unknown.")
        arguments = _fitting(params.get("arguments"), tool["inputSchema"])
        work = self._called(number, tool["name"], arguments, self._reports(params), is_stateless=is_stateless)
        self._running[number] = asyncio.create_task(work)
        self._running[number].add_done_callback(lambda _: self._running.pop(number))

    async def _called(self, number: Id, name: str, arguments: Object, report: Report, *, is_stateless: bool) -> None:
        try:
            found, is_error = await self._call(name, arguments, report)
        except InvalidRequest as error:
            self._refuse(number, error)
        except Exception:
            log.exception("A call of %s failed.", name)
            self._refuse(number, InvalidRequest(_INTERNAL, "AdaCoder failed. Its log has the reason."))
        else:
            content = [{"type": "text", "text": compact(found)}]
            result = {"content": content, "structuredContent": found, "isError": is_error}
            self._reply(number, result, is_stateless=is_stateless)

    def _reports(self, params: Object) -> Report:
        """Return a function that reports progress, if the client wants that."""

        def report(progress: int, total: int, message: str) -> None:
            match params:
                case {"_meta": {"progressToken": str() | int() as token}}:
                    told = {"progressToken": token, "progress": progress, "total": total, "message": message}
                    self._write({"method": "notifications/progress", "params": told})

        return report

    def _reply(self, number: Id, result: Object, *, is_stateless: bool) -> None:
        self._write({"id": number, "result": {**result, **(_COMPLETE if is_stateless else {})}})

    def _refuse(self, number: Id | None, error: InvalidRequest) -> None:
        told: Object = {"code": error.code, "message": str(error)}
        self._write({"id": number, "error": told if error.data is None else {**told, "data": error.data}})

    def _write(self, message: Object) -> None:
        self._send(compact({"jsonrpc": "2.0", **message}).encode(errors="backslashreplace") + b"\n")


def compact(value: object) -> str:
    """Return a value as JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_stateless(params: Object) -> bool:
    """Return whether a request names the revision `STATELESS`.

    Raises:
        InvalidRequest: it names another revision.
    """
    meta = params.get("_meta")
    wanted = meta.get(_VERSION) if isinstance(meta, dict) else None
    if wanted is not None and wanted != STATELESS:
        data = {"supported": [STATELESS], "requested": str(wanted)[:40]}
        raise InvalidRequest(_REVISION, "This revision of the protocol is not supported.", data)
    return wanted is not None


def _fitting(arguments: object, schema: Object) -> Object:
    """Return the arguments of a call. Null and empty ones count as missing, because some models fill in all arguments.

    All arguments of all tools are texts.

    Raises:
        InvalidRequest: the arguments do not fit the schema.
    """
    given = {} if arguments is None else arguments
    if isinstance(given, dict):
        given = {name: each for name, each in given.items() if each not in (None, "")}
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise InvalidRequest(_PARAMS, "The arguments are not an object of texts.")
    if missing := [each for each in schema["required"] if each not in given]:
        raise InvalidRequest(_PARAMS, f"An argument is missing: {', '.join(missing)}.")
    if set(given) - set(schema["properties"]):
        raise InvalidRequest(_PARAMS, f"An argument is unknown. The known ones are: {', '.join(schema['properties'])}.")
    return given
