"""`adacoder check --sarif FILE`: write the failures in SARIF 2.1.0, the format of code scanning services."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from adacoder import __version__
from adacoder.cli.findings import Checked, NotChecked, failures, kind_of
from adacoder.cli.output import shown_path
from adacoder.visible import visible

if TYPE_CHECKING:
    from adacoder.domain import JSON


def as_sarif(all_found: Sequence[Checked], left: Sequence[NotChecked], _seconds: float) -> bytes:
    """Return the report in SARIF. Failed examples become results. Files that were not checked become notifications."""
    results: list[JSON] = [result for found in all_found for result in _results(found)]
    results += [
        {"ruleId": "weakened", **_message(each.path, None, each.reason, "note" if each.is_skipped else "error")}
        for each in left
        if each.weakens
    ]
    rules = {result["ruleId"]: None for result in results if isinstance(result, dict)}
    troubles: list[JSON] = [
        _message(each.path, None, each.reason) for each in left if not (each.is_skipped or each.weakens)
    ]
    run: JSON = {
        "tool": {"driver": {"name": "AdaCoder", "version": __version__, "rules": [{"id": rule} for rule in rules]}},
        "invocations": [{"executionSuccessful": not troubles, "toolExecutionNotifications": troubles}],
        "results": results,
    }
    return json.dumps({"version": "2.1.0", "runs": [run]}, indent=1).encode() + b"\n"


def _results(found: Checked) -> Iterator[dict[str, JSON]]:
    level = "error" if found.fails or found.change is None else "note"
    for line, message in failures(found):
        yield {"ruleId": kind_of(found), **_message(found.outcome.target.module.path, line, message, level)}


def _message(path: Path | None, line: int | None, message: str, level: str = "error") -> dict[str, JSON]:
    told: dict[str, JSON] = {"level": level, "message": {"text": visible(message)}}
    if path is not None:
        place: dict[str, JSON] = {"artifactLocation": {"uri": quote(shown_path(path).as_posix())}}
        if line is not None:
            place["region"] = {"startLine": line + 1}
        told["locations"] = [{"physicalLocation": place}]
    return told
