"""The JSON object of `--json` and `adacoder/run`."""

from __future__ import annotations

from pathlib import Path

from adacoder.domain import JSON, Coverage, Edit, Line, Outcome, Tokens
from adacoder.journal import Asked
from adacoder.project import below
from adacoder.report.outcome import label, notes, summary, total_tokens
from adacoder.source.text import PositionEncoding, range_of

VERSION = 1
"""Version of the JSON object. It grows when a member is removed or changes its meaning, not when a member is added."""


def to_json(outcome: Outcome, folder: Path, encoding: PositionEncoding = "utf-16") -> dict[str, JSON]:
    """Return the object that `--json` prints and `adacoder/run` answers with.

    Args:
        outcome: result of a request.
        folder: the workspace. `target` is relative to it if it lies inside.
        encoding: position encoding of `edits`.
    """
    verdict = outcome.verdict
    return {
        "version": VERSION,
        "status": outcome.status.value,
        "reason": outcome.reason,
        "summary": summary(outcome),
        "target": label(outcome.target, folder),
        "examples": {
            "passed": outcome.passed,
            "total": outcome.total,
        },
        "coverage": None if verdict is None or verdict.coverage is None else _coverage_json(verdict.coverage),
        "rounds": outcome.rounds,
        "modelCalls": sum(isinstance(step.details, Asked) for step in outcome.steps),
        "tokens": total_tokens(outcome).json(),
        "seconds": round(outcome.seconds, 3),
        "model": outcome.model,
        "strategy": outcome.strategy,
        "isolation": None if verdict is None or verdict.isolation is None else verdict.isolation.json(),
        "notes": [*notes(outcome)],
        "positionEncoding": encoding,
        "edits": [_edit_json(edit, outcome.target.text, encoding) for edit in outcome.edits],
        "failure": None if verdict is None or verdict.failure is None else verdict.failure.json(),
        "journal": [step.json() for step in outcome.steps],
    }


def path_json(path: Path | None, folder: Path, status: str, reason: str) -> dict[str, JSON]:
    """Return the object of `check --json` for a file or folder that was not checked. It has the members of `to_json`.

    Args:
        path: the file or folder; None if there is none.
        folder: `path` is shown relative to it if it lies inside.
        status: `error` or `skipped`.
        reason: one sentence.
    """
    return {
        "version": VERSION,
        "status": status,
        "reason": reason,
        "summary": reason,
        "target": None if path is None else below(folder, path).as_posix(),
        "examples": {"passed": 0, "total": 0},
        "coverage": None,
        "rounds": 0,
        "modelCalls": 0,
        "tokens": Tokens().json(),
        "seconds": 0.0,
        "model": None,
        "strategy": None,
        "isolation": None,
        "notes": [],
        "positionEncoding": "utf-16",
        "edits": [],
        "failure": None,
        "journal": [],
    }


def _edit_json(edit: Edit, text: str, encoding: PositionEncoding) -> JSON:
    positions: list[JSON] = [{"line": line, "character": at} for line, at in range_of(edit, text, encoding)]
    return {"range": {"start": positions[0], "end": positions[1]}, "newText": edit.text}


def _coverage_json(coverage: Coverage) -> JSON:
    return {
        "lines": len(coverage.lines),
        "reached": [*sorted({*coverage.lines} - {line.number for line in coverage.unreached})],
        "unreached": [_line_json(line) for line in coverage.unreached],
        "branches": [{**_line_json(line), "never": never} for line, never in coverage.branches],
    }


def _line_json(line: Line) -> dict[str, JSON]:
    return {"line": line.number, "text": line.text.strip()}
