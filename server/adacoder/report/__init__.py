"""Requests in words, for every door: outcomes, progress, the JSON object, and texts made visible."""

from adacoder.report.as_json import VERSION, to_json
from adacoder.report.outcome import exit_code, label, summary
from adacoder.report.progress import fixed, progress, score
from adacoder.report.unreached import unreached
from adacoder.report.visible import Visible, in_a_message, visible

__all__ = [
    "VERSION",
    "Visible",
    "exit_code",
    "fixed",
    "in_a_message",
    "label",
    "progress",
    "score",
    "summary",
    "to_json",
    "unreached",
    "visible",
]
