"""`adacoder check --sarif FILE`: write the failures in the format that code scanning reads (SARIF 2.1.0 of OASIS)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from adacoder import __version__
from adacoder.cli.findings import Checked, NotChecked, failures
from adacoder.cli.output import shown_path
from adacoder.visible import visible

if TYPE_CHECKING:
    from adacoder.domain import JSON


def as_sarif(all_found: Sequence[Checked], left: Sequence[NotChecked], _seconds: float) -> bytes:
    """Return the report on the failed examples. Files that could not be checked are notifications of the tool."""
    results: list[JSON] = [result for found in all_found for result in _results(found)]
    rules = {result["ruleId"]: None for result in results if isinstance(result, dict)}
    troubles: list[JSON] = [_message(each.path, None, each.reason) for each in left if not each.is_skipped]
    run: JSON = {
        "tool": {"driver": {"name": "AdaCoder", "version": __version__, "rules": [{"id": rule} for rule in rules]}},
        "invocations": [{"executionSuccessful": not troubles, "toolExecutionNotifications": troubles}],
        "results": results,
    }
    return json.dumps({"version": "2.1.0", "runs": [run]}, indent=1).encode() + b"\n"


def _results(found: Checked) -> Iterator[dict[str, JSON]]:
    failure = found.outcome.verdict and found.outcome.verdict.failure
    for line, message in failures(found):
        kind = failure.kind.value if failure else found.outcome.status.value
        yield {"ruleId": kind, **_message(found.outcome.target.module.path, line, message)}


def _message(path: Path | None, line: int | None, message: str) -> dict[str, JSON]:
    told: dict[str, JSON] = {"level": "error", "message": {"text": visible(message)}}
    if path is not None:
        place: dict[str, JSON] = {"artifactLocation": {"uri": quote(shown_path(path).as_posix())}}
        if line is not None:
            place["region"] = {"startLine": line + 1}
        told["locations"] = [{"physicalLocation": place}]
    return told
