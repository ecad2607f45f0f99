"""Describe the outcomes of requests in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adacoder.domain import PAGE, Outcome, Status, Target, Tokens
from adacoder.messages import Text, counted, joined
from adacoder.project import below
from adacoder.report.differences import since_before
from adacoder.report.step_words import score
from adacoder.report.unreached import unreached

_EXIT_CODES = {
    Status.VERIFIED: 0,
    Status.PARTIAL: 1,
    Status.UNVERIFIED: 1,
    Status.FAILED: 1,
    Status.DENIED: 1,
    Status.ERROR: 2,
    Status.CANCELLED: 130,
}


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """Return the exit code of the command line. The worst outcome decides."""
    return max((_EXIT_CODES[outcome.status] for outcome in outcomes), default=0)


def summary(outcome: Outcome) -> str:
    """Return one line: the result, its evidence, the differences from the previous version, and the notes."""
    compared = [] if outcome.behaviour is None else [since_before(outcome.behaviour)]
    return joined(" ", [_ending(outcome), *compared, *notes(outcome)])


def notes(outcome: Outcome) -> list[str]:
    """Return the notes for the user. Notes about the run of the examples come first."""
    return [*(() if outcome.verdict is None else outcome.verdict.notes), *outcome.notes]


def _ending(outcome: Outcome) -> str:
    target = outcome.target
    name = f"'{target.name if target.qualname == PAGE else target.qualname}'"
    match outcome.status:
        case Status.VERIFIED:
            unchanged = ", nothing to fix" if outcome.strategy and outcome.stands else ""
            return f"Verified {name}{unchanged}: {_evidence(outcome)}."
        case Status.CANCELLED:
            return f"Cancelled {name}; nothing was changed."
        case Status.ERROR:
            return outcome.reason or "It could not run."
        case Status.UNVERIFIED:
            what = "Unverified"
        case Status.DENIED:
            what = "Denied:"
        case Status.PARTIAL | Status.FAILED:
            what = "No verified candidate for" if outcome.strategy else "Not verified:"
    return Text(f"{what} {name}: ", outcome.reason or "", f" ({_evidence(outcome)})")


def _evidence(outcome: Outcome) -> str:
    tokens = total_tokens(outcome)
    parts, examples = list[str](), list[str]()
    verdict = outcome.verdict
    if verdict is not None and verdict.isolation is not None and (outcome.total or verdict.tests_total):
        examples.append(score(outcome.passed, outcome.total, outcome.tests))
    if outcome.strategy:
        parts.append(counted(outcome.rounds, "round"))
    if outcome.model and not outcome.model.startswith(
        "replay:"
    ):  # a replayed recording has a long path instead of a model's name
        parts.append(outcome.model.removeprefix("ollama:"))
    if tokens.completion:
        about = "about " if tokens.estimated else ""
        parts.append(f"{about}{counted(tokens.completion, 'token')}")
    parts.append(f"{outcome.seconds:.1f} s")
    if verdict is not None and verdict.isolation is not None:
        parts.append(f"isolation {verdict.isolation.level}")
    if unreached_lines := unreached(outcome):
        return "; ".join([*examples, unreached_lines, ", ".join(parts)])
    return ", ".join([*examples, *parts])


def total_tokens(outcome: Outcome) -> Tokens:
    """Return the number of tokens of all steps of a request."""
    return sum((step.tokens for step in outcome.steps), Tokens())


def label(target: Target, folder: Path) -> str:
    """Return `path::qualname`. The path is relative to `folder` if the file is inside."""
    return f"{below(folder, target.module.path).as_posix()}::{target.qualname}"
