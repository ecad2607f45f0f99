"""Identifiers of AdaCoder's commands and actions for editors."""

from __future__ import annotations

from lsprotocol import types

COMMAND = "adacoder.server."
"""Prefix of the ids of all commands."""
GENERATE_KIND = "refactor.rewrite.adacoder"
FIX_KIND = types.CodeActionKind.QuickFix.value
JOURNAL_KIND = "source.adacoder.journal"
KINDS = [GENERATE_KIND, FIX_KIND, JOURNAL_KIND]
"""The kinds of all actions."""
