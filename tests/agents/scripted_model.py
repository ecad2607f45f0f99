"""A stand-in for the models of coding agents. It calls the agent's tools and says texts, as a script tells it.

It speaks OpenAI's chat and responses, and Gemini. A request that offers no tools is not a turn, because agents also ask
for titles and summaries.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from support.standins.server import Body, Request, StandInServer, compact, respond


@dataclass(frozen=True)
class ToolCall:
    """A call of the offered tool whose name ends in `tool`."""

    tool: str
    arguments: Body


Turn = ToolCall | str
"""What the model does when it is asked: it calls a tool, or says a text and so ends its work."""
_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
_TOKENS = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}


@dataclass
class AgentModel(StandInServer):
    """A model with a script. After the last turn it only says `ok`."""

    CHATS: ClassVar[str] = ""
    script: Sequence[Turn] = field(default=(), kw_only=True)
    asked: list[Body] = field(default_factory=list, kw_only=True)
    """The bodies of all requests that were turns."""

    def offered(self, turn: int) -> list[str]:
        """Return the names of the tools that the agent offered in a turn."""
        return [name for _, name in _offered(self.asked[turn])]

    async def _answer(self, request: Request, number: int, writer: asyncio.StreamWriter) -> None:
        if request.method != "POST":
            return await respond(writer, 200, compact({"object": "list", "data": [{"id": "scripted"}], "models": []}))
        body, path = request.body, request.path
        reply = self._next(body)
        if path.endswith("/chat/completions"):
            return await _send(writer, _chat(reply), compact(_whole_chat(reply)), is_stream=bool(body.get("stream")))
        if path.endswith("/responses"):
            return await _send(writer, _responses(reply), "", is_stream=True)
        if path.endswith("enerateContent"):
            event = _gemini(reply)
            return await _send(writer, iter((event,)), event, is_stream=path.endswith("streamGenerateContent"))
        return await respond(writer, 404, "{}")

    def _next(self, body: Body) -> _Reply:
        """Return the reply to a request."""
        offered = _offered(body)
        if not offered:
            return _Reply("ok")
        turn = self.script[len(self.asked)] if len(self.asked) < len(self.script) else "ok"
        self.asked.append(body)
        if isinstance(turn, str):
            return _Reply(turn)
        for space, name in offered:
            if name.endswith(turn.tool):
                return _Reply("", name, space, turn.arguments, f"call_{len(self.asked)}")
        return _Reply(f"There is no tool {turn.tool}.")


@dataclass(frozen=True)
class _Reply:
    """A text, or a call of a tool if `tool` is not empty."""

    text: str
    tool: str = ""
    space: str = ""
    """Name of the group of tools, which some agents use for the tools of a server."""
    arguments: Body = field(default_factory=dict)
    id: str = ""


def _offered(body: Body) -> list[tuple[str, str]]:
    """Return the group and the name of each tool that a request offers."""
    found: list[tuple[str, str]] = []
    for tool in body.get("tools") or []:
        if "functionDeclarations" in tool:
            found += [("", each["name"]) for each in tool["functionDeclarations"]]
        elif tool.get("type") == "namespace":
            found += [(tool["name"], each["name"]) for each in tool["tools"]]
        else:
            found.append(("", tool.get("function", tool).get("name", "")))
    return found


async def _send(writer: asyncio.StreamWriter, events: Iterator[str], whole: str, *, is_stream: bool) -> None:
    """Send a reply as a stream of events, or as a whole."""
    if not is_stream:
        return await respond(writer, 200, whole)
    text = "".join(f"data: {event}\n\n" for event in events)
    return await respond(writer, 200, text, "text/event-stream")


def _message(reply: _Reply) -> dict[str, Any]:
    if not reply.tool:
        return {"role": "assistant", "content": reply.text}
    function = {"name": reply.tool, "arguments": json.dumps(reply.arguments)}
    call = {"index": 0, "id": reply.id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _whole_chat(reply: _Reply) -> dict[str, Any]:
    choice = {"index": 0, "message": _message(reply), "finish_reason": _ending(reply)}
    return {"id": "chat", "object": "chat.completion", "created": 0, "choices": [choice], "usage": _USAGE}


def _chat(reply: _Reply) -> Iterator[str]:
    chunk = {"id": "chat", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
    for delta, ending in ((_message(reply), None), ({}, _ending(reply))):
        yield compact({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": ending}]})
    yield compact({**chunk, "choices": [], "usage": _USAGE})
    yield "[DONE]"


def _responses(reply: _Reply) -> Iterator[str]:
    if reply.tool:
        call = {"type": "function_call", "id": "item", "call_id": reply.id, "name": reply.tool}
        item: dict[str, Any] = {**call, "arguments": json.dumps(reply.arguments)}
        item |= {"namespace": reply.space} if reply.space else {}
    else:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        item = {"type": "message", "id": "item", "role": "assistant", "content": content}
    response = {"id": "response", "object": "response", "model": "scripted"}
    yield compact({"type": "response.created", "response": response})
    yield compact({"type": "response.output_item.done", "output_index": 0, "item": item})
    done = {**response, "status": "completed", "output": [item], "usage": _TOKENS}
    yield compact({"type": "response.completed", "response": done})


def _gemini(reply: _Reply) -> str:
    part = {"functionCall": {"name": reply.tool, "args": reply.arguments}} if reply.tool else {"text": reply.text}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return compact({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 10, "totalTokenCount": 15}})


def _ending(reply: _Reply) -> str:
    return "tool_calls" if reply.tool else "stop"
