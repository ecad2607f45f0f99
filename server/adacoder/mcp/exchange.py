"""Speak the Model Context Protocol: JSON-RPC with one message on each line.

Clients of the revisions in `HANDSHAKE` begin with `initialize`. Clients of the later revision `STATELESS` name the
revision in each request.

This module imports little, because agents do not wait long for the list of tools.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol, TypeAlias

from adacoder import __version__
from adacoder.mcp.tool_words import CORRECT_ARGUMENTS, INSTRUCTIONS

log = logging.getLogger(__name__)

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = "2026-07-28"
_VERSION = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_INFO = {"name": "adacoder", "title": "AdaCoder", "version": __version__}
_OFFER = {"capabilities": {"tools": {}}, "instructions": INSTRUCTIONS}
_NOT_CACHED = {"ttlMs": 0, "cacheScope": "private"}
_COMPLETE = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": _INFO}}

_MOST_IN_BATCH = 50
_ANSWER_SECONDS = 45.0
"""Seconds to wait for the user's answer to a question. Agents stop waiting for a call after one or two minutes."""

_PARSE, _REQUEST, _METHOD, _PARAMS, _INTERNAL, _REVISION = -32700, -32600, -32601, -32602, -32603, -32022
"""Error codes of JSON-RPC and the Model Context Protocol."""

Id: TypeAlias = "str | int"
Object: TypeAlias = dict[str, Any]


class Caller(Protocol):
    """The client that has called a tool."""

    @property
    def can_ask(self) -> bool:
        """True if the client can ask its user a question."""

    def report(self, progress: int, total: int, message: str) -> None:
        """Report progress, if the client has asked for it."""

    async def ask(self, message: str, choices: Sequence[str]) -> str | None:
        """Ask the user to choose one of `choices`. Return None if the user does not answer.

        In the revision `STATELESS`, the client repeats its request with the user's answer. If no repeated request
        comes, the call is cancelled.
        """


Call: TypeAlias = Callable[[str, Object, Caller], Awaitable[tuple[Object, bool]]]
"""Function that calls a tool. It returns the result, and True if the result is an error."""


Offer: TypeAlias = Callable[[Object], list[Object]]
"""Function that returns the definitions of the tools. It receives the client's settings."""


class InvalidRequest(Exception):
    """An invalid request. The answer is an error of JSON-RPC."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


class ToolCall:
    """A running call of a tool."""

    task: asyncio.Task[None]

    def __init__(
        self, exchange: AgentExchange, number: Id, params: Object, *, is_stateless: bool, can_ask: bool
    ) -> None:
        """Create a call.

        Args:
            exchange: sends messages to the client.
            number: the id of the client's request.
            params: the parameters of the request.
            is_stateless: True if the request has the revision `STATELESS`.
            can_ask: True if the client can ask the user.
        """
        self._exchange, self._params, self.can_ask = exchange, params, can_ask
        self.number: Id | None = number
        """Id of the request to answer. None while the call waits for the client to repeat the request."""
        self.is_stateless = is_stateless

    def report(self, progress: int, total: int, message: str) -> None:
        """Report progress. See `Caller`."""
        self._exchange.report(self._params, progress, total, message)

    async def ask(self, message: str, choices: Sequence[str]) -> str | None:
        """Ask the user. See `Caller`.

        The answer counts only if the user has accepted the form. If the client repeats its request too late, a new call
        begins. This call uses the answer in the request.
        """
        if not self.can_ask:
            return None
        late = self._params.get("inputResponses") if self.is_stateless else None
        for answer in late.values() if isinstance(late, dict) else ():
            if (choice := _chosen(answer, choices)) is not None:
                return choice
        fields = {"choice": {"type": "string", "title": "Answer", "enum": [*choices]}}
        schema = {"type": "object", "properties": fields, "required": ["choice"]}
        params = {"message": message, "requestedSchema": schema}
        return _chosen(await self._exchange.ask(self, {"method": "elicitation/create", "params": params}), choices)

    def repeats(self, params: Object) -> bool:
        """Return whether a request with the parameters `params` repeats this call."""
        return all(self._params.get(name) == params.get(name) for name in ("name", "arguments"))


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question to the client without an answer so far."""

    call: ToolCall
    answer: asyncio.Future[Any]

    def take(self, result: Any) -> None:
        """Store the answer, unless there is an answer already."""
        if not self.answer.done():
            self.answer.set_result(result)


class AgentExchange:
    """Answers the messages of one client."""

    def __init__(self, send: Callable[[bytes], None], offer: Offer, call: Call) -> None:
        """Create the exchange with one client.

        Args:
            send: writes a line to the client.
            offer: returns the definitions of the tools.
            call: calls a tool.
        """
        self._send, self._offer, self._call = send, offer, call
        self._tools = _by_name(offer({}))
        self._capabilities: Any = None
        """The client's capabilities, from `initialize`."""
        self._running: dict[Id | None, ToolCall] = {}
        """Calls for which the client waits, by the id of the request."""
        self._tasks: set[asyncio.Task[None]] = set()
        """Tasks of all calls. This includes calls that wait for the user's answer."""
        self._asked: dict[str, OpenQuestion] = {}
        self._numbers = count(1)

    def receive(self, line: bytes) -> None:
        """Handle one line from the client. Calls of tools run as tasks. Other requests are answered at once."""
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
        """Send an error, because a line was too long to read."""
        self._refuse(None, InvalidRequest(_REQUEST, "The message is too long."))

    async def close(self) -> None:
        """Cancel all calls, and wait for their end."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def ask(self, call: ToolCall, request: Object) -> Any:
        """Send a question to the client. Return the client's answer, or None.

        In the revision `STATELESS`, the question is sent as a result of the request. The client then repeats the
        request with the user's answer.
        """
        key = f"question-{next(self._numbers)}"
        answer = asyncio.get_running_loop().create_future()
        self._asked[key] = OpenQuestion(call, answer)
        if call.is_stateless:
            self._park(key, call, request)
        else:
            self._write({"id": key, **request})
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await answer
        except TimeoutError:
            if call.number is None:
                raise asyncio.CancelledError from None
            return None
        finally:
            del self._asked[key]
            if answer.cancelled() and not call.is_stateless:
                self._write({"method": "notifications/cancelled", "params": {"requestId": key}})

    def _park(self, key: str, call: ToolCall, request: Object) -> None:
        number, call.number = call.number, None
        self._running.pop(number, None)
        asked = {"resultType": "input_required", "inputRequests": {key: request}, "requestState": key}
        self._write({"id": number, "result": {**_COMPLETE, **asked}})

    def _resume(self, number: Id, params: Object) -> bool:
        """Continue the call for which a client has repeated its request with the user's answer.

        Return False if there is no such call.
        """
        key, answers = params.get("requestState"), params.get("inputResponses")
        question = self._asked.get(key) if isinstance(key, str) else None
        if question is None or question.call.number is not None or not question.call.repeats(params):
            return False
        question.call.number = number
        self._running[number] = question.call
        question.take(answers.get(key) if isinstance(answers, dict) else None)
        return True

    def _take(self, key: str, result: Any) -> None:
        """Store the answer to a question.

        Ignore a late answer. In the revision `STATELESS`, the answer must be in a request, so ignore any other answer.
        """
        question = self._asked.get(key)
        if question is not None and not question.call.is_stateless:
            question.take(result)

    def _handle(self, message: Any) -> None:
        match message:
            case {"method": "notifications/cancelled", "params": {"requestId": str() | int() as number}}:
                if not isinstance(number, bool) and (call := self._running.get(number)) is not None:
                    call.task.cancel()
            case {"method": str() as method, "id": str() | int() as number} if not isinstance(number, bool):
                try:
                    self._answer(number, method, message.get("params", {}))
                except InvalidRequest as error:
                    self._refuse(number, error)
            case {"method": str()} if "id" not in message:
                pass  # other notifications are ignored
            case {"id": str() as key, "result": result}:
                self._take(key, result)
            case {"id": str() as key, "error": _}:
                self._take(key, None)
            case {"result": _} | {"error": _}:
                pass  # an answer to no open question
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
                self._capabilities = params.get("capabilities")
                self._tools = _by_name(self._offer(_declared(self._capabilities)))
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
        self._write({"id": number, "result": {**result, **(_COMPLETE if is_stateless else {})}})

    def _begin(self, number: Id, params: Object, *, is_stateless: bool) -> None:
        """Start a task that calls a tool.

        Raises:
            InvalidRequest: the tool is unknown, or the id of the request is in use.
        """
        if number in self._running:
            raise InvalidRequest(_REQUEST, "A request with this id is still running.")
        tool = self._tools.get(str(params.get("name")))
        if tool is None:
            raise InvalidRequest(_PARAMS, "This tool is unknown.")
        try:
            arguments = _fitting(params.get("arguments"), tool["inputSchema"])
        except ValueError as error:  # models do not see errors of JSON-RPC
            refusal = {"error": "invalid_arguments", "message": str(error), "next": CORRECT_ARGUMENTS}
            self._write({"id": number, "result": _result(refusal, is_error=True, is_stateless=is_stateless)})
            return
        if is_stateless and self._resume(number, params):
            return
        capabilities = params["_meta"].get(_CAPABILITIES) if is_stateless else self._capabilities
        call = ToolCall(self, number, params, is_stateless=is_stateless, can_ask=_can_ask(capabilities))
        self._running[number] = call
        call.task = asyncio.create_task(self._called(call, tool["name"], arguments))
        self._tasks.add(call.task)
        call.task.add_done_callback(lambda task: self._end(call, task))

    def _end(self, call: ToolCall, task: asyncio.Task[None]) -> None:
        self._running.pop(call.number, None)
        self._tasks.discard(task)

    async def _called(self, call: ToolCall, name: str, arguments: Object) -> None:
        try:
            found, is_error = await self._call(name, arguments, call)
        except Exception:
            log.exception("A call of %s failed.", name)
            told: Object = {"error": {"code": _INTERNAL, "message": "AdaCoder failed. Its log has the reason."}}
        else:
            told = {"result": _result(found, is_error=is_error, is_stateless=call.is_stateless)}
        if call.number is not None:  # else the client never repeated its request
            self._write({"id": call.number, **told})

    def report(self, params: Object, progress: int, total: int, message: str) -> None:
        """Send a progress notification, if the parameters `params` of the request ask for progress."""
        match params:
            case {"_meta": {"progressToken": str() | int() as token}}:
                told = {"progressToken": token, "progress": progress, "total": total, "message": message}
                self._write({"method": "notifications/progress", "params": told})

    def _refuse(self, number: Id | None, error: InvalidRequest) -> None:
        told: Object = {"code": error.code, "message": str(error)}
        self._write({"id": number, "error": told if error.data is None else {**told, "data": error.data}})

    def _write(self, message: Object) -> None:
        self._send(compact({"jsonrpc": "2.0", **message}).encode(errors="backslashreplace") + b"\n")


def compact(value: object) -> str:
    """Convert a value to JSON without white space."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _result(found: Object, *, is_error: bool, is_stateless: bool) -> Object:
    content = [{"type": "text", "text": compact(found)}]
    result = {"content": content, "structuredContent": found, "isError": is_error}
    return {**result, **(_COMPLETE if is_stateless else {})}


def _chosen(answer: Any, choices: Sequence[str]) -> str | None:
    match answer:
        case {"action": "accept", "content": {"choice": str() as choice}} if choice in choices:
            return choice
    return None


def _can_ask(capabilities: Any) -> bool:
    """Return whether a client with these capabilities can ask the user with a form."""
    match capabilities:
        case {"elicitation": dict() as kinds}:
            return "form" in kinds or not kinds
    return False


def _by_name(tools: list[Object]) -> dict[str, Object]:
    return {each["name"]: each for each in tools}


def _declared(capabilities: Any) -> Object:
    """Return the settings in the capabilities that a client sends with `initialize`."""
    match capabilities:
        case {"experimental": {"adacoder": {"settings": settings}}}:
            if isinstance(settings, dict):
                return settings
            log.warning("The client's settings are ignored, because they are not an object.")
    return {}


def _is_stateless(params: Object) -> bool:
    """Return whether a request names the revision `STATELESS`.

    Raises:
        InvalidRequest: the request names a revision that is not supported.
    """
    meta = params.get("_meta")
    wanted = meta.get(_VERSION) if isinstance(meta, dict) else None
    if wanted is not None and wanted != STATELESS:
        data = {"supported": [STATELESS], "requested": str(wanted)[:40]}
        raise InvalidRequest(_REVISION, "This revision of the protocol is not supported.", data)
    return wanted is not None


def _fitting(arguments: object, schema: Object) -> Object:
    """Check the arguments of a call, which must be strings. Return the arguments that are not empty.

    Null and empty arguments count as missing, because some models fill in every argument.

    Raises:
        ValueError: the arguments do not match the schema.
    """
    given = {} if arguments is None else arguments
    if isinstance(given, dict):
        given = {name: each for name, each in given.items() if each not in (None, "")}
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise ValueError("The arguments are not an object of texts.")
    if missing := [each for each in schema["required"] if each not in given]:
        raise ValueError(f"An argument is missing: {', '.join(missing)}.")
    if set(given) - set(schema["properties"]):
        raise ValueError(f"An argument is unknown. The known ones are: {', '.join(schema['properties'])}.")
    return given
