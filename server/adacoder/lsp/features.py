"""Capabilities announced in `initialize`. Their handlers are imported later."""

from __future__ import annotations

import gc
import threading

from lsprotocol import types

from adacoder.lsp.connection.habits import Habits
from adacoder.lsp.connection.pygls_fixes import OWN
from adacoder.lsp.identifiers import COMMAND, KINDS
from adacoder.lsp.registration import add_command, add_feature, add_notification, add_request
from adacoder.lsp.server import AdaCoderServer

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
    "examples": "examples:on_examples",
    "check": "examples:on_check",
    "evidence": "examples:on_evidence",
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

    gc.freeze()  # imported objects live as long as the process
    ls.protocol.prepare()
