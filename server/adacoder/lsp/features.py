"""Capabilities announced in `initialize`. Their handlers are imported later."""

from __future__ import annotations

import gc
import threading

from lsprotocol import types

from adacoder.lsp.habits import Habits
from adacoder.lsp.names import COMMAND, KINDS
from adacoder.lsp.pygls_fixes import OWN
from adacoder.lsp.registration import add_command, add_feature, add_notification, add_request
from adacoder.lsp.server import AdaCoderServer

NOTIFICATIONS = (
    types.WORKSPACE_DID_CHANGE_CONFIGURATION,
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.TEXT_DOCUMENT_DID_SAVE,
)
FEATURES = {
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(code_action_kinds=KINDS),
    types.TEXT_DOCUMENT_CODE_LENS: None,
    types.TEXT_DOCUMENT_HOVER: None,
    types.TEXT_DOCUMENT_INLAY_HINT: None,
}
REQUESTS = ("run", "examples", "check", "evidence", "kept")
COMMANDS = (
    *("generate", "fix", "check", "repair", "another", "suggestExamples", "generateAll", "writeDocstring"),
    *(
        "insert",
        "difference",
        "discard",
        "cancel",
        "status",
        "models",
        "pull",
        "strategies",
        "doctor",
        "clear",
        "journal",
    ),
)


def register(server: AdaCoderServer) -> None:
    """Register all of AdaCoder's features and commands with `server`."""
    server.feature(types.INITIALIZE)(on_initialize)
    server.feature(types.INITIALIZED)(on_initialized)
    server.feature(types.SHUTDOWN)(on_shutdown)
    for method in NOTIFICATIONS:
        add_notification(server, method)
    for method, options in FEATURES.items():
        add_feature(server, method, options)
    for name in REQUESTS:
        add_request(server, OWN, name)
    for name in COMMANDS:
        add_command(server, COMMAND, name)


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
