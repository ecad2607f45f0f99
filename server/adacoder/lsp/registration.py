"""Registration of AdaCoder's commands and requests, which are all answered in the same way.

Handlers are imported with the first message after `initialize`, if not earlier, so that they do not delay the start.
Cancelling a client's request cancels its handler at any moment.
"""

from __future__ import annotations

import asyncio
from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

from adacoder.lsp.server import AdaCoderServer  # pygls reads annotations


def add_notification(server: AdaCoderServer, method: str) -> None:
    """Let `server` handle the notification `method` before it reads the next message."""

    def noted(ls: AdaCoderServer, params: Any) -> None:
        from adacoder.lsp.handlers import NOTIFICATIONS

        NOTIFICATIONS[method](ls, params)

    server.feature(method)(noted)


def add_feature(server: AdaCoderServer, method: str, options: Any) -> None:
    """Let `server` answer `method`, a request of the protocol."""

    async def answered(ls: AdaCoderServer, params: Any) -> Any:
        from adacoder.lsp.handlers import FEATURES

        return await FEATURES[method](ls, params)

    server.feature(method, options)(answered)


def add_command(server: AdaCoderServer, prefix: str, name: str) -> None:
    """Let `server` answer the command `name`."""

    async def answered(ls: AdaCoderServer, *arguments: Any) -> Any:
        if (task := asyncio.current_task()) is not None:
            ls.protocol.cancel_with_request(task)
        from adacoder.lsp.handlers import COMMANDS

        return _with_version(await COMMANDS[name](ls, arguments[0] if arguments else None))

    server.command(prefix + name)(answered)


def add_request(server: AdaCoderServer, prefix: str, name: str) -> None:
    """Let `server` answer AdaCoder's own request `name`. Unreadable parameters are an error."""

    async def answered(ls: AdaCoderServer, params: object) -> Any:
        from adacoder.lsp.handlers import REQUESTS
        from adacoder.lsp.snapshot import ParametersError

        try:
            return _with_version(await REQUESTS[name](ls, params))
        except ParametersError as error:
            raise JsonRpcInvalidParams(str(error)) from None

    server.feature(prefix + name)(answered)


def _with_version(answer: Any) -> Any:
    from adacoder.report import VERSION

    return {"version": VERSION, **answer} if isinstance(answer, dict) else answer
