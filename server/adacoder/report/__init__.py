"""Requests in words, for every door: outcomes, progress, the JSON object, and texts made visible."""

from adacoder.report.as_json import to_json
from adacoder.report.difference import unified_diff
from adacoder.report.outcome import exit_code, label, notes, summary
from adacoder.report.progress import fixed, progress, score
from adacoder.report.unreached import unreached
from adacoder.report.visible import Visible, in_a_message, visible

__all__ = [
    "Visible",
    "exit_code",
    "fixed",
    "in_a_message",
    "label",
    "notes",
    "progress",
    "score",
    "summary",
    "to_json",
    "unified_diff",
    "unreached",
    "visible",
]
