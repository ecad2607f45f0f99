"""Build the JSON object that `--json` prints and that the language server's request `adacoder/run` returns."""

from __future__ import annotations

from pathlib import Path

from adacoder.domain import (
    JSON,
    Coverage,
    Details,
    Edit,
    Failure,
    Isolation,
    Outcome,
    ProjectTest,
    SourceLine,
    Step,
    Target,
    Timing,
    Tokens,
)
from adacoder.journal import Asked, Evaluated, Noted, Repaired, Traced
from adacoder.project import below
from adacoder.report.differences import cross_check_json, differences_json
from adacoder.report.outcome import label, notes, summary, total_tokens
from adacoder.source.text import PositionEncoding, range_of

VERSION = 1
"""Version of the JSON object.

Increase the version when a member is removed or changes its meaning. A new member needs no new version.
"""


def to_json(outcome: Outcome, folder: Path, encoding: PositionEncoding = "utf-16") -> dict[str, JSON]:
    """Return the object that `--json` prints and that answers `adacoder/run`.

    Args:
        outcome: the result of a request.
        folder: the workspace. Paths of files in it are relative.
        encoding: the LSP position encoding of the member `edits`.
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
        "tests": [] if verdict is None else [_test(test) for test in verdict.tests],
        "coverage": None if verdict is None or verdict.coverage is None else _coverage(verdict.coverage),
        "behaviour": None if outcome.behaviour is None else differences_json(outcome.behaviour),
        "crossCheck": None if outcome.cross_check is None else cross_check_json(outcome.cross_check),
        "rounds": outcome.rounds,
        "modelCalls": sum(isinstance(step.details, Asked) for step in outcome.steps),
        "tokens": _tokens(total_tokens(outcome)),
        "seconds": round(outcome.seconds, 3),
        "model": outcome.model,
        "strategy": outcome.strategy,
        "isolation": None if verdict is None or verdict.isolation is None else _isolation(verdict.isolation),
        "notes": [*notes(outcome)],
        "positionEncoding": encoding,
        "edits": [_edit(edit, outcome.target, encoding) for edit in outcome.edits],
        "failure": None if verdict is None or verdict.failure is None else _failure(verdict.failure),
        "journal": [step_json(step) for step in outcome.steps],
    }


def path_json(path: Path | None, folder: Path, status: str, reason: str) -> dict[str, JSON]:
    """Return the object of `check --json` for a file or folder that was not checked, with the members of `to_json`.

    Args:
        path: the file or folder; None if the reason concerns several.
        folder: the workspace. Paths of files in it are relative.
        status: `error` or `skipped`.
        reason: a sentence.
    """
    return {
        "version": VERSION,
        "status": status,
        "reason": reason,
        "summary": reason,
        "target": None if path is None else below(folder, path).as_posix(),
        "examples": {"passed": 0, "total": 0},
        "tests": [],
        "coverage": None,
        "behaviour": None,
        "crossCheck": None,
        "rounds": 0,
        "modelCalls": 0,
        "tokens": _tokens(Tokens()),
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


def _test(test: ProjectTest) -> JSON:
    return {"name": test.name, "status": test.status.value, "seconds": round(test.seconds, 3)}


def _edit(edit: Edit, target: Target, encoding: PositionEncoding) -> JSON:
    above = target.module.first_line
    positions: list[JSON] = [
        {"line": line - above, "character": at} for line, at in range_of(edit, target.text, encoding)
    ]
    return {"range": {"start": positions[0], "end": positions[1]}, "newText": edit.text}


def _coverage(coverage: Coverage) -> JSON:
    return {
        "lines": len(coverage.lines),
        "reached": [*sorted({*coverage.lines} - {line.number for line in coverage.unreached})],
        "unreached": [_line(line) for line in coverage.unreached],
        "branches": [{**_line(line), "never": never} for line, never in coverage.branches],
    }


def _line(line: SourceLine) -> dict[str, JSON]:
    return {"line": line.number, "text": line.text.strip()}


def step_json(step: Step) -> dict[str, JSON]:
    """Return the entry for a step in the member `journal`."""
    return {
        "agent": step.agent,
        "action": step.action,
        "round": step.round,
        "seconds": round(step.seconds, 3),
        "tokens": _tokens(step.tokens),
        **({} if step.time is None else {"time": _timing(step.time)}),
        **({"branch": [*step.branch]} if step.branch else {}),
        **_details(step.details),
        **({} if step.error is None else {"error": step.error}),
    }


def _details(details: Details | None) -> dict[str, JSON]:
    """Return the members of a `journal` entry that depend on the step's kind."""
    match details:
        case Asked():
            return _asked(details)
        case Evaluated():
            return _evaluated(details)
        case Repaired():
            return {"rules": [*details.rules], "code": details.code}
        case Traced(code, example, lines, is_complete):
            return {"code": code, "example": example, "lines": lines, "complete": is_complete}
        case Noted():
            return {"note": details.note}
    return {}


def _asked(asked: Asked) -> dict[str, JSON]:
    return {
        "instruction": asked.instruction,
        **({} if asked.reply is None else {"reply": asked.reply, "ended": asked.ended.value}),
        **({"known": True} if asked.is_known else {}),
        **({"again": asked.again} if asked.again else {}),
        **({"unread": True} if asked.unread else {}),
    }


def _evaluated(evaluated: Evaluated) -> dict[str, JSON]:
    return {
        "code": evaluated.code,
        "ran": evaluated.has_run,
        "passed": evaluated.passed,
        "total": evaluated.total,
        "failure": None if evaluated.failure is None else _failure(evaluated.failure),
        "notes": [*evaluated.notes],
        **({"known": True} if evaluated.is_known else {}),
        **({"tests": {"passed": evaluated.tests[0], "total": evaluated.tests[1]}} if evaluated.tests[1] else {}),
    }


def _tokens(tokens: Tokens) -> JSON:
    return {name: getattr(tokens, name) for name in ("prompt", "cached", "completion", "estimated")}


def _timing(time: Timing) -> JSON:
    return {name: round(getattr(time, name), 3) for name in ("queue", "load", "prompt", "generation")}


def _isolation(isolation: Isolation) -> JSON:
    return {"level": isolation.level.value, "by": list(isolation.by)}


def _failure(failure: Failure) -> JSON:
    source, want = (None, None) if failure.example is None else (failure.example.source, failure.example.want)
    told: dict[str, JSON] = {"kind": failure.kind.value, "message": failure.message, "example": source, "want": want}
    told |= {"got": failure.got, "error": failure.error, "line": failure.line}
    if failure.test is not None:
        told |= {"test": failure.test.name, "explanation": failure.test.explanation}
    return told
