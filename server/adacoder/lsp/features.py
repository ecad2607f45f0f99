"""Capabilities announced in `initialize`, and the table of their handlers.

Handlers are imported with the first message after `initialize`, if not earlier, so that they do not delay the start.
Cancelling a client's request cancels its handler at any moment.
"""

from __future__ import annotations

import asyncio
import gc
import threading
from functools import cache
from pkgutil import resolve_name
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from adacoder.lsp.connection.client import Habits
from adacoder.lsp.connection.pygls_fixes import OWN
from adacoder.lsp.identifiers import COMMAND, KINDS
from adacoder.lsp.language_server import AdaCoderServer

NOTIFICATIONS = {
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: "handlers:on_configuration",
    types.TEXT_DOCUMENT_DID_OPEN: "displays:on_open",
    types.TEXT_DOCUMENT_DID_CHANGE: "displays:on_change",
    types.TEXT_DOCUMENT_DID_CLOSE: "displays:on_close",
    types.TEXT_DOCUMENT_DID_SAVE: "displays:on_save",
}
"""Handlers by method, as `module:function` of this package, like those below."""
FEATURES = {
    types.TEXT_DOCUMENT_CODE_ACTION: "handlers:on_code_action",
    types.TEXT_DOCUMENT_CODE_LENS: "displays:on_code_lens",
    types.TEXT_DOCUMENT_HOVER: "displays:on_hover",
    types.TEXT_DOCUMENT_INLAY_HINT: "displays:on_inlay_hint",
}
REQUESTS = {
    "run": "handlers:on_run",
    "examples": "example_requests:on_examples",
    "check": "example_requests:on_check",
    "evidence": "example_requests:on_evidence",
    "kept": "handlers:on_kept",
}
COMMANDS = {
    "generate": "handlers:on_generate",
    "fix": "handlers:on_fix",
    "check": "handlers:on_check",
    "repair": "handlers:on_repair",
    "another": "handlers:on_another",
    "suggestExamples": "handlers:on_suggest_examples",
    "generateAll": "handlers:on_generate_all",
    "writeDocstring": "handlers:on_write_docstring",
    "insert": "handlers:on_insert",
    "difference": "handlers:on_difference",
    "discard": "handlers:on_discard",
    "cancel": "handlers:on_cancel",
    "status": "handlers:on_status",
    "models": "choosing:on_models",
    "pull": "choosing:on_pull",
    "strategies": "choosing:on_strategies",
    "doctor": "handlers:on_doctor",
    "clear": "displays:on_clear",
    "journal": "displays:on_journal",
}
_OPTIONS = {types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(code_action_kinds=KINDS)}


def register(server: AdaCoderServer) -> None:
    """Register all of AdaCoder's features and commands with `server`."""
    server.feature(types.INITIALIZE)(on_initialize)
    server.feature(types.INITIALIZED)(on_initialized)
    server.feature(types.SHUTDOWN)(on_shutdown)
    for method, handler in NOTIFICATIONS.items():
        add_notification(server, method, handler)
    for method, handler in FEATURES.items():
        add_feature(server, method, handler, _OPTIONS.get(method))
    for name, handler in REQUESTS.items():
        add_request(server, OWN + name, handler)
    for name, handler in COMMANDS.items():
        add_command(server, COMMAND + name, handler)


def on_initialize(ls: AdaCoderServer, params: types.InitializeParams) -> None:
    """`initialize`: keep the client's settings and habits."""
    ls.habits = Habits.of(params)
    ls.protocol.pause = ls.habits.pause
    ls.configuration.begin(params.initialization_options)


def on_initialized(ls: AdaCoderServer, params: types.InitializedParams) -> None:
    """`initialized`: prepare for the most frequent messages, and ask for announcements of changed settings."""
    ls.begin(ls.configuration.follow())
    threading.Thread(target=_prepare, args=(ls,), daemon=True).start()  # a daemon, so that exit does not wait for it


async def on_shutdown(ls: AdaCoderServer, params: object) -> None:
    """`shutdown`: end everything that runs."""
    await ls.close()


def _prepare(ls: AdaCoderServer) -> None:
    for handler in (*NOTIFICATIONS.values(), *FEATURES.values()):
        found(handler)
    gc.freeze()  # imported objects live as long as the process
    ls.protocol.prepare()


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
        return await _answer(ls, handler, arguments[0] if arguments else None)

    server.command(name)(answered)


def add_request(server: AdaCoderServer, name: str, handler: str) -> None:
    """Let `server` answer AdaCoder's own request `name`."""

    async def answered(ls: AdaCoderServer, params: object) -> Any:
        return await _answer(ls, handler, params)

    server.feature(name)(answered)


async def _answer(ls: AdaCoderServer, handler: str, params: object) -> Any:
    """The answer of a handler, with its version. Unreadable parameters are an error."""
    from adacoder.lsp.from_proto import ParametersError
    from adacoder.report import VERSION

    try:
        answer = await found(handler)(ls, params)
    except ParametersError as error:
        raise JsonRpcInvalidParams(str(error)) from None
    return {"version": VERSION, **answer} if isinstance(answer, dict) else answer
