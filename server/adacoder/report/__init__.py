"""Describe requests for all user interfaces: in words, and as the JSON object of `--json`."""

from adacoder.report.as_json import VERSION, path_json, to_json
from adacoder.report.brief import age, brief_unreached, want_and_got
from adacoder.report.difference import unified_diff
from adacoder.report.doctests import as_doctest, failed_example, what_came
from adacoder.report.markdown import fenced, inline, plain
from adacoder.report.outcome import exit_code, label, notes, summary
from adacoder.report.step_words import brief_score, doing, fixed, progress, score
from adacoder.report.unreached import unreached

__all__ = [
    "VERSION",
    "age",
    "as_doctest",
    "brief_score",
    "brief_unreached",
    "doing",
    "exit_code",
    "failed_example",
    "fenced",
    "fixed",
    "inline",
    "label",
    "notes",
    "path_json",
    "plain",
    "progress",
    "score",
    "summary",
    "to_json",
    "unified_diff",
    "unreached",
    "want_and_got",
    "what_came",
]
