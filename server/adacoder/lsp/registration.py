"""Registration of the server's handlers. AdaCoder's commands and requests are all answered in the same way.

Handlers are imported with the first message after `initialize`, if not earlier, so that they do not delay the start.
Cancelling a client's request cancels its handler at any moment.
"""

from __future__ import annotations

import asyncio
from functools import cache
from pkgutil import resolve_name
from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

from adacoder.lsp.server import AdaCoderServer  # pygls reads annotations


@cache
def found(handler: str) -> Any:
    """The function at `module:function` of this package."""
    return resolve_name(f"{__package__}.{handler}")


def add_notification(server: AdaCoderServer, method: str, handler: str) -> None:
    """Let `server` handle the notification `method` before it reads the next message."""

    def noted(ls: AdaCoderServer, params: Any) -> None:
        found(handler)(ls, params)

    server.feature(method)(noted)


def add_feature(server: AdaCoderServer, method: str, handler: str, options: Any) -> None:
    """Let `server` answer `method`, a request of the protocol."""

    async def answered(ls: AdaCoderServer, params: Any) -> Any:
        return await found(handler)(ls, params)

    server.feature(method, options)(answered)


def add_command(server: AdaCoderServer, name: str, handler: str) -> None:
    """Let `server` answer the command `name`."""

    async def answered(ls: AdaCoderServer, *arguments: Any) -> Any:
        if (task := asyncio.current_task()) is not None:
            ls.protocol.cancel_with_request(task)
        return _with_version(await found(handler)(ls, arguments[0] if arguments else None))

    server.command(name)(answered)


def add_request(server: AdaCoderServer, name: str, handler: str) -> None:
    """Let `server` answer AdaCoder's own request `name`. Unreadable parameters are an error."""

    async def answered(ls: AdaCoderServer, params: object) -> Any:
        from adacoder.lsp.from_proto import ParametersError

        try:
            return _with_version(await found(handler)(ls, params))
        except ParametersError as error:
            raise JsonRpcInvalidParams(str(error)) from None

    server.feature(name)(answered)


def _with_version(answer: Any) -> Any:
    from adacoder.report import VERSION

    return {"version": VERSION, **answer} if isinstance(answer, dict) else answer
