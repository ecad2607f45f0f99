"""Format the Journal of a request in Markdown: each Agent's instructions and replies, and the results."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adacoder.domain import Example, Outcome, Step
from adacoder.journal import Asked, Evaluated, Noted, Repaired, Traced
from adacoder.messages import counted
from adacoder.pytext import dedent
from adacoder.report.doctests import as_doctest, failed_example
from adacoder.report.markdown import fenced, inline
from adacoder.report.outcome import label, notes, total_tokens
from adacoder.report.step_words import fixed, score
from adacoder.source.text import apply_edits
from adacoder.task import current

_DIFF_LINES = 2
"""Lines of context around a change in a diff."""


def journal(outcome: Outcome, folder: Path) -> str:
    """Return the Journal of a request as a Markdown document. `folder` is the workspace of the request."""
    return "\n\n".join(_document(outcome, folder)) + "\n"


def _document(outcome: Outcome, folder: Path) -> Iterator[str]:
    yield f"# {inline(label(outcome.target, folder))}"
    yield f"**{outcome.status.value.capitalize()}**" + (f": {inline(outcome.reason)}" if outcome.reason else ".")
    yield "\n".join(f"* {line}" for line in _facts(outcome))
    if tree := "\n".join(_tree(outcome.steps)):
        yield "## The search"
        yield tree
    last_round = 0
    codes: dict[tuple[str, ...], str] = {(): current(outcome.target).function}
    """The latest code in each branch of the search."""
    for step in outcome.steps:
        if step.round > last_round:
            last_round = step.round
            yield f"## Round {step.round}"
        ways = (step.branch[:depth] for depth in range(len(step.branch), -1, -1))
        yield from _told(step, next(codes[way] for way in ways if way in codes))
        if isinstance(step.details, Evaluated | Repaired):
            codes[step.branch] = step.details.code
    if outcome.edits:
        text = outcome.target.text
        yield "## The edit"
        yield fenced(_diff(text, apply_edits(text, outcome.edits)), "diff")


def _facts(outcome: Outcome) -> Iterator[str]:
    if outcome.verdict is not None and (outcome.total or outcome.tests[1]):
        yield score(outcome.passed, outcome.total, outcome.tests)
    if outcome.strategy:
        yield f"strategy {inline(outcome.strategy)}, {counted(outcome.rounds, 'round')}"
    if outcome.model:
        yield f"model {inline(outcome.model)}"
    tokens = total_tokens(outcome)
    if tokens.prompt or tokens.completion:
        about = "about " if tokens.estimated else ""
        yield f"{about}{tokens.prompt:,} tokens read, {tokens.completion:,} written"
    yield f"{outcome.seconds:.1f} s"
    if outcome.verdict is not None and outcome.verdict.isolation is not None:
        isolation = outcome.verdict.isolation
        yield f"isolation {isolation.level.value} ({', '.join(isolation.by)})"
    yield from map(inline, notes(outcome))


def _told(step: Step, before: str) -> Iterator[str]:
    """Yield the paragraphs about a step. `before` is the code before the step."""
    where = "".join(f"{inline(name)} › " for name in step.branch)
    doing = step.doing or step.action.replace("_", " ")
    yield f"### {where}{_name(step)}: {inline(doing)}"
    yield f"*{', '.join(_spent(step))}*"
    if step.error is not None:
        yield f"It ended with an error: {inline(step.error)}"
    match step.details:
        case Asked() as asked:
            yield from _asked(asked)
        case Evaluated() as found:
            if dedent(found.code).strip() != before.strip():
                yield fenced(_diff(before, found.code), "diff")
            yield from _evaluated(found)
        case Repaired(rules=rules, code=code):
            yield f"{inline(fixed(rules)).capitalize()}."
            if rules:
                yield fenced(_diff(before, code), "diff")
        case Traced(example=example, lines=lines, is_complete=is_complete):
            yield f"{counted(lines, 'line')} were executed{'' if is_complete else ', and more'}, of"
            yield fenced(example, "python")
        case Noted(note=note):
            yield inline(note)


def _asked(asked: Asked) -> Iterator[str]:
    if asked.again:
        yield f"It was asked once more: {inline(asked.again)}"
    yield "Given, after the module and the task:"
    yield fenced(asked.instruction, "text")
    if asked.reply is None:
        yield "No reply came."
        return
    known = ", as before" if asked.is_known else ""
    unread = "; nothing could be read in it" if asked.unread else ""
    yield f"Said{known} ({asked.ended.value.replace('_', ' ')}{unread}):"
    yield fenced(asked.reply, "markdown")


def _evaluated(found: Evaluated) -> Iterator[str]:
    failure = found.failure
    known = ", as before" if found.is_known else ""
    if failure is None:
        yield f"✓ {score(found.passed, found.total, found.tests)}{known}."
    else:
        yield f"✗ {score(found.passed, found.total, found.tests)}{known}. {inline(failure.message)}"
        if failure.example is not None:
            yield fenced(_example(failure.example, failure.got, failure.error), "text")
        if failure.test is not None:
            yield fenced(failure.test.explanation, "text")
    if found.notes:
        yield "\n".join(f"* {inline(note)}" for note in found.notes)


def _example(example: Example, got: str | None, error: str | None) -> str:
    if got is None and error is None:
        return "\n".join(failed_example(example))
    return as_doctest(example, got or "", error)


def _name(step: Step) -> str:
    return step.agent.replace("_", " ").capitalize()


def _spent(step: Step) -> Iterator[str]:
    yield f"{step.seconds:.1f} s"
    tokens = step.tokens
    if tokens.prompt or tokens.completion:
        about = "about " if tokens.estimated else ""
        cached = f" ({tokens.cached:,} cached)" if tokens.cached else ""
        yield f"{about}{tokens.prompt:,} tokens read{cached}, {tokens.completion:,} written"


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=_DIFF_LINES, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


@dataclass
class _Branch:
    """A branch of a search, with its steps and its own branches."""

    steps: list[Step] = field(default_factory=list)
    branches: dict[str, _Branch] = field(default_factory=dict)

    @property
    def result(self) -> str:
        """The best score in the branch; empty if the branch evaluated nothing."""
        found = [step.details for step in self.steps if isinstance(step.details, Evaluated)]
        if not found:
            return ""
        best = max(found, key=lambda each: (each.failure is None, each.passed))
        return f"{'✓' if best.failure is None else '✗'} {score(best.passed, best.total, best.tests)}"


def _tree(steps: Sequence[Step]) -> Iterator[str]:
    """Yield the branches of a search as a nested Markdown list."""
    root = _Branch()
    for step in steps:
        node = root
        for name in step.branch:
            node = node.branches.setdefault(name, _Branch())
        node.steps.append(step)
    yield from _branches(root, 0)


def _branches(node: _Branch, depth: int) -> Iterator[str]:
    for name, branch in node.branches.items():
        notes_of = [step.details.note for step in branch.steps if isinstance(step.details, Noted)]
        told = " · ".join(inline(part) for part in (name, branch.result, *notes_of) if part)
        yield f"{'  ' * depth}* {told}"
        yield from _branches(branch, depth + 1)
