"""The Code Evaluator (paper, section IV-C and Algorithm 2): runs the docstring's examples on a candidate in its place.

Only the examples decide. The candidate is put into the module's current text, and the module is imported as itself, in
isolation; nothing of it runs in our own process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path

from adacoder.domain import JSON, Attempt, Candidate, Example, Failure, FailureKind, Target, Verdict, further
from adacoder.journal import Journal
from adacoder.pytext import Lines
from adacoder.sandbox.host import Host, Program
from adacoder.source.imports import undefined_names
from adacoder.source.splice import Splice, splice


class CodeEvaluator:
    """A rule-based Agent. It remembers its verdicts: identical candidates are not evaluated twice."""

    def __init__(self, host: Host, journal: Journal, *, overlays: Mapping[Path, str], timeout: float) -> None:
        self._host = host
        self._journal = journal
        self._overlays = overlays
        self._timeout = timeout
        self._verdicts: dict[Candidate, Verdict] = {}

    @property
    def furthest(self) -> Attempt | None:
        """Of all candidates so far the one that got furthest; of equals the first."""
        attempts = [Attempt(candidate, verdict) for candidate, verdict in self._verdicts.items()]
        return reduce(further, attempts) if attempts else None

    async def prepare(self, target: Target) -> None:
        """Make ready for candidates of `target`, so that the first need not wait.

        Raises:
            SandboxError: nothing could be run: no isolation, no interpreter.
        """
        unchanged = program(target, Splice((), target.text, target.definition), self._overlays)
        await self._host.prepare(unchanged, timeout=self._timeout)

    async def evaluate(self, target: Target, candidate: Candidate) -> Verdict:
        """What the examples of `target` make of `candidate`.

        Raises:
            SandboxError: nothing could be run: no isolation, no interpreter.
        """
        with self._journal.step("code_evaluator", "evaluate") as step:
            known = self._verdicts.get(candidate)
            step.details["code"] = candidate.text
            verdict = known or await self._judge(target, candidate)
            self._verdicts[candidate] = verdict
            step.details.update(_details(target, verdict))
            if known is not None:
                step.details["known"] = True
            return verdict

    async def _judge(self, target: Target, candidate: Candidate) -> Verdict:
        if not candidate.function:
            return _not_run(FailureKind.NO_FUNCTION, f"The reply holds no function '{target.name}'.")
        if candidate.cut:
            return _not_run(FailureKind.CUT_OFF, "The reply broke off or left parts of the function out.")
        placed = splice(target, candidate)
        verdict = await self._run(target, placed, target.examples)
        failure = verdict.failure
        if failure is None or failure.kind is not FailureKind.IMPORT_ERROR or failure.line is not None:
            return verdict
        unchanged = await self._run(target, Splice((), target.text, target.definition), ())
        if unchanged.imports:
            return verdict
        message = f"The module cannot be imported, with or without a new '{target.name}': {failure.error}."
        return replace(verdict, failure=replace(failure, kind=FailureKind.BROKEN_MODULE, message=message))

    async def _run(self, target: Target, placed: Splice, examples: tuple[Example, ...]) -> Verdict:
        suspects = undefined_names(placed.text, [placed.function, *placed.added])
        what = program(target, placed, self._overlays, suspects)
        return await self._host.evaluate(what, examples, timeout=self._timeout)


def program(target: Target, placed: Splice, overlays: Mapping[Path, str], suspects: tuple[str, ...] = ()) -> Program:
    """What the sandbox runs for a candidate that was put in place."""
    lines = Lines(placed.text)
    return Program(
        module=target.module,
        text=placed.text,
        qualname=target.qualname,
        first_line=lines.line_at(placed.function.start) + 1,
        last_line=lines.line_at(placed.function.end) + 1,
        suspects=suspects,
        # Its own file too: an example may import it under another dotted name.
        overlays={**overlays, target.module.path: placed.text},
    )


def _not_run(kind: FailureKind, message: str) -> Verdict:
    return Verdict(Failure(kind, message))


def _details(target: Target, verdict: Verdict) -> dict[str, JSON]:
    return {
        "ran": verdict.isolation is not None,
        "passed": verdict.examples_passed,
        "total": len(target.deciding),
        "failure": None if verdict.failure is None else verdict.failure.json(),
        "notes": list(verdict.notes),
    }
