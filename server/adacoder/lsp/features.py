"""Map the notifications, requests and commands of the server to their handlers.

A handler is written as `module:function`, and is imported only after `initialize`, so that the server starts fast.
"""

from __future__ import annotations

from lsprotocol import types

COMMAND = "adacoder.server."
"""Prefix of the ids of all commands."""
GENERATE_KIND = "refactor.rewrite.adacoder"
FIX_KIND = types.CodeActionKind.QuickFix.value
JOURNAL_KIND = "source.adacoder.journal"
KINDS = [GENERATE_KIND, FIX_KIND, JOURNAL_KIND]
"""The kinds of code actions that the server offers."""

NOTIFICATIONS = {
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: "handlers:on_configuration",
    types.TEXT_DOCUMENT_DID_OPEN: "showing.views:on_open",
    types.TEXT_DOCUMENT_DID_CHANGE: "showing.views:on_change",
    types.TEXT_DOCUMENT_DID_CLOSE: "showing.views:on_close",
    types.TEXT_DOCUMENT_DID_SAVE: "showing.views:on_save",
    types.NOTEBOOK_DOCUMENT_DID_OPEN: "showing.views:on_open_notebook",
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: "showing.views:on_change_notebook",
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: "showing.views:on_close_notebook",
    types.NOTEBOOK_DOCUMENT_DID_SAVE: "showing.views:on_save_notebook",
    types.WORKSPACE_DID_RENAME_FILES: "handlers:on_rename",
}
FEATURES = {
    types.TEXT_DOCUMENT_CODE_ACTION: "showing.views:on_code_action",
    types.TEXT_DOCUMENT_CODE_LENS: "showing.views:on_code_lens",
    types.TEXT_DOCUMENT_HOVER: "showing.views:on_hover",
    types.TEXT_DOCUMENT_INLAY_HINT: "showing.views:on_inlay_hint",
    types.TEXT_DOCUMENT_INLINE_COMPLETION: "showing.views:on_inline_completion",
}
REQUESTS = {
    "run": "handlers:on_run",
    "examples": "example_requests:on_examples",
    "check": "example_requests:on_check",
    "evidence": "example_requests:on_evidence",
    "debug": "example_requests:on_debug",
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
    "fixTest": "handlers:on_fix_test",
    "acceptOutput": "handlers:on_accept_output",
    "writeDocstring": "handlers:on_write_docstring",
    "insert": "handlers:on_insert",
    "difference": "handlers:on_difference",
    "discard": "handlers:on_discard",
    "answer": "handlers:on_answer",
    "cancel": "handlers:on_cancel",
    "status": "machine:on_status",
    "models": "machine:on_models",
    "pull": "machine:on_pull",
    "strategies": "machine:on_strategies",
    "doctor": "machine:on_doctor",
    "clear": "showing.views:on_clear",
    "journal": "showing.views:on_journal",
}
