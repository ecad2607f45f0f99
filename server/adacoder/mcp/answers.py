"""Create the results that agents read.

A result is short and starts with the verdict. Text from the repository appears only in certain fields.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adacoder.domain import JSON, UNPARSED, BehaviourDiff, FailureKind, Outcome, Status
from adacoder.mcp.exchange import compact
from adacoder.mcp.tool_words import (
    ANSWERED_OTHER,
    ANSWERED_RAISES,
    ANSWERED_SAME,
    ASK,
    BROKEN_EXAMPLE,
    EXAMPLES_DIFFER,
    LOST_EXAMPLE,
    NEXT_SINCE,
    NOTHING_CHANGED,
    RAISES,
)
from adacoder.privacy.contents import without_secrets
from adacoder.project import below
from adacoder.report import label
from adacoder.report.outcome import notes
from adacoder.sandbox.environment.choice import Choice
from adacoder.source.changes import Altered, ChangeResult
from adacoder.visible import visible

MOST = 6000
"""Maximum length of a result, written as JSON. Some clients cut longer results."""
_MOST_LISTED = 10
"""Maximum number of functions or differences that a result lists."""
_LONGEST = 400
_SHORT = 200
_MOST_LINES = 8
_HIDING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c\u200d\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Invisible letters and marks. An attacker could hide text with them."""
_READ = 20_000
"""Maximum number of characters that are searched for secrets. The rest of a text is cut off."""
_LONGEST_CODE = 3500
_WORST_FIRST = ("failed", "not_run", "unverified", "verified")
_VERDICTS = {
    Status.VERIFIED: "verified",
    Status.UNVERIFIED: "unverified",
    Status.PARTIAL: "failed",
    Status.FAILED: "failed",
}

Result = dict[str, JSON]


class Refusal(Exception):
    """An error that the agent can avoid by calling a tool differently."""

    def __init__(self, code: str, message: str, then: str, nearby: Sequence[str] = ()) -> None:
        """Describe the error for the agent.

        Args:
            code: a code from docs/agents.md.
            message: one sentence. It may quote only the agent's own arguments.
            then: the next step for the agent.
            nearby: names of similar functions in the file.
        """
        super().__init__(message)
        self.result: Result = {"error": code, "message": shown(message), "next": then}
        if nearby:
            self.result["functions_nearby"] = [shown(each) for each in nearby]


def shown(text: str, longest: int = _LONGEST, lines: int = _MOST_LINES) -> str:
    """Prepare text from a repository for agents: mask secrets, escape invisible characters, and shorten a long text."""
    text = text.rstrip("\n")
    whole = _HIDING.sub(
        lambda match: match[0].encode("unicode_escape").decode(), visible(without_secrets(text[:_READ]))
    )
    part = "\n".join(whole.split("\n")[:lines])[:longest]
    left = len(whole) - len(part) + len(text[_READ:])
    return f"{part}… (+{left:,} characters)" if left > 0 else part


def judged(
    outcomes: Sequence[Outcome],
    root: Path,
    python: Choice | None,
    then: Mapping[str, str],
    *,
    is_named: bool = True,
    counts: Mapping[str, int] | None = None,
) -> Result:
    """Return the result for functions whose examples were checked.

    Args:
        outcomes: the outcomes, one for each function.
        root: the folder to which paths in the result are relative.
        python: the interpreter that ran the examples.
        then: the advice for the agent, by verdict.
        is_named: True to list verified functions too.
        counts: further numbers for the result.
    """
    functions = [_function(each, root) for each in outcomes]
    result = _of_all(functions, outcomes, python, then, is_named=is_named, counts=counts)
    failed = [each for each in outcomes if verdict_of(each) == "failed"]
    return {**result, "next": BROKEN_EXAMPLE} if failed and all(map(_has_broken_example, failed)) else result


@dataclass(slots=True)
class ChangedSince:
    """The outcomes of checking everything that changed since a commit."""

    checked: list[tuple[Outcome, ChangeResult]] = field(default_factory=list)
    others: list[Result] = field(default_factory=list)
    """Entries about whole files, such as a file that does not parse."""
    without_examples: int = 0
    """Number of changed functions without examples."""
    folders_left_out: int = 0
    """Number of folders that were not read completely."""


def since(found: ChangedSince, root: Path, python: Choice | None) -> Result:
    """Return the result of checking everything that changed since a commit."""
    functions = [*(_changed(outcome, change, root) for outcome, change in found.checked), *found.others]
    outcomes = [outcome for outcome, _ in found.checked]
    counts = {"without_examples": found.without_examples, "folders_left_out": found.folders_left_out}
    result = _of_all(functions, outcomes, python, NEXT_SINCE, is_named=False, counts=counts)
    return result if functions else {**result, "next": NOTHING_CHANGED}


def _of_all(
    every: Sequence[Result],
    outcomes: Sequence[Outcome],
    python: Choice | None,
    then: Mapping[str, str],
    *,
    is_named: bool,
    counts: Mapping[str, int] | None = None,
) -> Result:
    found = Counter(str(each["verdict"]) for each in every)
    worst = next((verdict for verdict in _WORST_FIRST if found[verdict]), "unverified")
    told = sorted(every, key=lambda each: _WORST_FIRST.index(str(each["verdict"])))
    listed = [each for each in told if is_named or each["verdict"] != "verified"]
    functions: list[JSON] = [*listed[:_MOST_LISTED]]
    levels = [each.verdict.isolation.level for each in outcomes if each.verdict and each.verdict.isolation]
    number: dict[str, JSON] = {verdict: found[verdict] for verdict in reversed(_WORST_FIRST)}
    number |= {"skipped_examples": sum(each.skipped for each in outcomes), "omitted": len(listed) - len(functions)}
    number |= counts or {}
    result: Result = {"verdict": worst, "next": then[worst]}
    if levels:
        result["isolation"] = next(level for level in reversed(type(levels[0])) if level in levels).value
    if python is not None:
        result["python"] = _python(python)
    return _fitted({**result, "counts": number, "functions": functions}, functions, number)


def of_file(file: Result, then: Mapping[str, str]) -> Result:
    """Return the result for a file in which no example could run. `file` is an entry from `of_path`."""
    return {"verdict": file["verdict"], "next": then[str(file["verdict"])], "functions": [file]}


def of_path(path: Path, root: Path, kind: str, why: str) -> Result:
    """Return the entry for a whole file.

    The verdict is `not_run` if `kind` is `not_run`, else `failed`.
    """
    verdict = kind if kind == "not_run" else "failed"
    failure: Result = {"kind": kind, "error": shown(why)}
    target = shown(below(root, path).as_posix(), _SHORT)
    return {"target": target, "verdict": verdict, "passed": 0, "total": 0, "failure": failure}


def different(found: BehaviourDiff, python: Choice, then: Mapping[str, str]) -> Result:
    """Return the result of comparing two versions of a function."""
    verdict = "different" if found.differs else "same"
    differences: list[JSON] = [
        {"example": shown(each.call), "before": shown(each.there), "after": shown(each.here)}
        for each in found.differs[:_MOST_LISTED]
    ]
    left_out = sum(found.left_out.values())
    counts: dict[str, JSON] = {"same": found.agreed, "different": len(found.differs), "not_compared": left_out}
    counts["omitted"] = len(found.differs) - len(differences)
    result: Result = {"verdict": verdict, "next": then[verdict], "inputs": found.inputs, "python": _python(python)}
    return _fitted({**result, "counts": counts, "differences": differences}, differences, counts)


def _fitted(result: Result, items: list[JSON], counts: dict[str, JSON]) -> Result:
    """Remove entries from the end of `items` until `result` is short enough. Count the removed entries in `counts`."""
    listed, omitted = len(items), int(str(counts["omitted"]))
    while len(items) > 1 and len(compact(result)) > MOST:
        items.pop()
        counts["omitted"] = omitted + listed - len(items)
    return result


def _python(python: Choice) -> Result:
    return {"path": shown(str(python.path), _SHORT), "why": shown(python.why, _SHORT)}


def with_altered(result: Result, altered: Altered) -> Result:
    """If HEAD has other examples of the function, add a note to the result."""
    match result:
        case {"functions": [dict() as told]} if altered:
            then = f"{result['next']} {EXAMPLES_DIFFER}"
            return {**result, "next": then, "functions": [{**told, **_counted(altered)}]}
    return result


def with_brief(result: Result, brief: dict[str, str]) -> Result:
    """Add `brief`, which contains all that an agent needs to write the function. A long context is cut."""
    while brief["context"] and len(compact({**result, "brief": brief})) > MOST:
        brief["context"] = brief["context"][: len(brief["context"]) // 2]
    return {**result, "brief": {**brief}}


def with_code(result: Result, code: str) -> Result:
    """Add the code of a candidate to the result. Code that is too long is left out."""
    added: Result = {**result, "code": shown(code, _LONGEST_CODE, _LONGEST_CODE)}
    is_whole = len(code) <= _LONGEST_CODE and len(compact(added)) <= MOST
    return added if is_whole else result


def with_question(result: Result, call: str, choices: Sequence[str], answer: str | None) -> Result:
    """Add a question about a call: which output is right? If the user has answered, add the answer.

    The first choice is the output of the candidate.
    """
    if answer is None:
        return {**result, "next": ASK, "question": {"example": call, "choices": [*choices]}}
    then = {choices[0]: ANSWERED_SAME, RAISES: ANSWERED_RAISES}.get(answer, ANSWERED_OTHER)
    return {**result, "next": then, "question": {"example": call, "choices": [*choices], "answer": answer}}


def verdict_of(outcome: Outcome) -> str:
    """Return the verdict for an outcome. A file that does not parse counts as `failed`."""
    failure = None if outcome.verdict is None else outcome.verdict.failure
    if outcome.status is Status.ERROR and failure is not None and failure.kind in UNPARSED:
        return "failed"
    return _VERDICTS.get(outcome.status, "not_run")


def _has_broken_example(outcome: Outcome) -> bool:
    failure = None if outcome.verdict is None else outcome.verdict.failure
    return failure is not None and failure.kind is FailureKind.BROKEN_EXAMPLE


def _changed(outcome: Outcome, change: ChangeResult, root: Path) -> Result:
    """Return the entry for a changed function. A failure that the change did not cause counts as `unverified`."""
    told = _function(outcome, root)
    if change.fails and verdict_of(outcome) != "failed":
        lost = change.lost[0]
        told["failure"] = {
            "kind": "lost_example",
            "line": lost.line + 1,
            "example": shown(lost.source),
            "want": shown(lost.exception or lost.want),
            "error": LOST_EXAMPLE,
        }
    verdict = "failed" if change.fails else "unverified" if told["verdict"] == "failed" else told["verdict"]
    told |= {"verdict": verdict, "why": change.why.value, "failed_before": change.failed_before}
    return {**told, **_counted(change.altered)}


def _counted(altered: Altered) -> Result:
    if not altered.removed and not altered.edited:
        return {}
    return {"examples_changed": {"removed": len(altered.removed), "edited": len(altered.edited)}}


def _function(outcome: Outcome, root: Path) -> Result:
    verdict = verdict_of(outcome)
    told: Result = {
        "target": shown(label(outcome.target, root), _SHORT),
        "verdict": verdict,
        "passed": outcome.passed,
        "total": outcome.total,
    }
    if verdict != "verified":
        told["failure"] = _failure(outcome)
    if found := notes(outcome):
        told["note"] = shown(" ".join(found))
    return told


def _failure(outcome: Outcome) -> Result:
    failure = None if outcome.verdict is None else outcome.verdict.failure
    if failure is None:
        kind = {"unverified": "unproved", "failed": "refused"}.get(verdict_of(outcome), "not_run")
        return {"kind": kind, "error": shown(outcome.reason or "")}
    told: Result = {"kind": failure.kind.value}
    error = failure.error
    if failure.example is not None:
        told |= {"line": failure.example.line + 1, "example": shown(failure.example.source)}
        told["want"] = shown(failure.example.exception or failure.example.want)
    if failure.got is not None:
        told["got"] = shown(failure.got)
    elif error is None:
        error = failure.message
    if error is not None:
        told["error"] = shown(error)
    return told
