"""The Code Evaluator (paper, section IV-C and Algorithm 2): runs the docstring's examples on a candidate in its place.

Only the examples decide. The candidate is put into the module's current text, and the module is imported as itself, in
isolation; nothing of it runs in our own process.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from pathlib import Path

from adacoder.aside import aside
from adacoder.domain import (
    JSON,
    Attempt,
    Candidate,
    Example,
    ExampleResult,
    Failure,
    FailureKind,
    Target,
    Verdict,
    further,
)
from adacoder.journal import Journal
from adacoder.pytext import CountedLines, Lines
from adacoder.sandbox.errors import SandboxError
from adacoder.sandbox.host import Host, Program
from adacoder.source.class_examples import running
from adacoder.source.examples import UnreadableExample
from adacoder.source.locate import Documented
from adacoder.source.placed import Splice
from adacoder.source.text import apply_edits
from adacoder.source.withheld import withheld

_AT_IMPORT = frozenset({FailureKind.IMPORT_ERROR, FailureKind.DENIED})
"""How an import fails that may have nothing to do with the candidate."""
_AS_WRITTEN = "The module's code reads docstrings, so it ran as it is written: the function could read what is wanted."


class CodeEvaluator:
    """A rule-based Agent. It remembers its verdicts: identical candidates are not evaluated twice."""

    def __init__(
        self, host: Host, journal: Journal, *, overlays: Mapping[Path, str], timeout: float, covers: bool = False
    ) -> None:
        """`covers`: of what passes, also tell what no example reached."""
        self._host = host
        self._journal = journal
        self._overlays = overlays
        self._timeout = timeout
        self._covers = covers
        self._verdicts: dict[Candidate, Verdict] = {}

    @property
    def furthest(self) -> Attempt | None:
        """Of all candidates so far the one that got furthest; of equals the first."""
        attempts = [Attempt(candidate, verdict) for candidate, verdict in self._verdicts.items()]
        return reduce(further, attempts) if attempts else None

    async def ready(self, target: Target) -> None:
        """Make ready for candidates of `target`.

        Raises:
            SandboxError: nothing could be run: no isolation, no interpreter.
        """
        text = await aside(withheld, target)
        await self._host.ready(self._program(target, _as_it_stands(target), text))

    async def with_class_examples(self, target: Target) -> Target:
        """`target` with those examples of its class that run it, as is seen on the module as it stands.

        Where it cannot be imported so, a body that does nothing takes the place of the target's.

        Raises:
            SandboxError: nothing could be run: no isolation, no interpreter.
        """
        if not target.of_class:
            return target
        from adacoder.agents.prompt import bodiless  # much to import, and needed for candidates only
        from adacoder.source.splice import splice

        every = replace(target, examples=target.of_class)
        text = await aside(withheld, every)
        stub = Candidate(f"{bodiless(target)}\n    raise NotImplementedError")
        for placed in (_as_it_stands(target), await aside(splice, target, stub)):
            what = self._program(target, placed, text)
            verdict = await self._host.evaluate(what, target.of_class, timeout=self._timeout)
            if verdict.defines:
                return replace(target, examples=(*target.examples, *running(target, verdict.results)))
        return target

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
            step.details |= _details(target, verdict)
            if known is not None:
                step.details["known"] = True
            return verdict

    async def evaluate_as_it_stands(self, documented: Documented, *, once: bool = False) -> Verdict:
        """What the text as it stands makes of the examples in one of its docstrings.

        As in doctest all of them count, those too that do not run the function; and one that shows no output must
        give none. As with a candidate, a function that has them by heart has not passed, whoever wrote it. `once`: as
        `Service.check`.

        Raises:
            SandboxError: nothing could be run: no isolation, no interpreter.
        """
        target = documented.target
        with self._journal.step("code_evaluator", "evaluate") as step:
            step.details["code"] = target.source
            verdict = await self._judge_as_it_stands(target, documented.unreadable, once=once)
            step.details |= _details(target, verdict)
            return verdict

    async def _judge(self, target: Target, candidate: Candidate) -> Verdict:
        if not candidate.function:
            return _not_run(FailureKind.NO_FUNCTION, f"The reply holds no function '{target.name}'.")
        if candidate.cut:
            return _not_run(FailureKind.CUT_OFF, "The reply broke off or left parts of the function out.")
        from adacoder.source.splice import splice  # as above

        text = await aside(withheld, target)
        placed = await aside(splice, target, candidate)
        verdict = await self._run(target, placed, target.examples, text)
        if verdict.failure is None or verdict.failure.kind not in _AT_IMPORT or verdict.imports:
            return await self._looked_into(verdict, target, placed, text)
        standing = await self._run(target, _as_it_stands(target), (), text)
        if text is not None and not standing.imports:
            as_written = await self._run(target, _as_it_stands(target), (), None)
            if as_written.imports:  # something that it imports reads docstrings, as decorators do
                text, standing = None, as_written
                verdict = await self._run(target, placed, target.examples, text)
        failure = _failed_import(verdict)
        if failure is None or standing.imports:
            return await self._looked_into(verdict, target, placed, text)
        return _blaming_the_module(verdict, failure, f"with or without a new '{target.name}'")

    async def _judge_as_it_stands(self, target: Target, unreadable: UnreadableExample | None, *, once: bool) -> Verdict:
        if unreadable is not None:
            source = Lines(target.text)[unreadable.line].strip() + "\n"
            example = Example(source, "", unreadable.line)
            return _not_run(FailureKind.BROKEN_EXAMPLE, str(unreadable), example)
        what = replace(self._program(target, _as_it_stands(target), None), all_count=True)
        run = self._host.check if once else self._host.evaluate
        verdict = await run(what, target.examples, timeout=self._timeout)
        if verdict.imports and not verdict.defines:
            # It was deleted after it was defined, or defined on another condition: doctest does not see it.
            unseen = tuple(ExampleResult(example, matched=False, counts=False) for example in target.examples)
            return replace(verdict, failure=None, results=unseen)
        failure = _failed_import(verdict)
        if failure is not None:
            return _blaming_the_module(verdict, failure)
        return await self._looked_into(
            _minding_what_is_not_shown(verdict), target, _as_it_stands(target), None, once=once
        )

    async def _looked_into(
        self, verdict: Verdict, target: Target, placed: Splice, text: str | None, *, once: bool = False
    ) -> Verdict:
        """`verdict`; of a pass, what is seen when it runs once more, line by line: what came from memory fails, and of
        the rest it is told what no example reached. A run that ends otherwise tells nothing of lines.
        """
        if not (verdict.passed and target.is_function and verdict.is_proved):
            return verdict
        from adacoder.source.coverage import coverage  # as above
        from adacoder.source.memorised import memorised

        why = await aside(memorised, target, placed, verdict.proving)
        if why is None and not self._covers:
            return verdict
        what = replace(self._program(target, placed, text), by_line=True)
        run = self._host.check if once else self._host.evaluate
        seen = Verdict(None)
        with suppress(SandboxError):
            seen = await run(what, target.examples, timeout=self._timeout)
        if why is not None and seen.is_proved:
            why = await aside(memorised, target, placed, seen.proving)
        if why is not None:
            return replace(verdict, failure=Failure(FailureKind.MEMORISED, why))
        if not (self._covers and seen.passed):
            return verdict
        return replace(verdict, coverage=await aside(coverage, placed, seen))

    async def _run(self, target: Target, placed: Splice, examples: tuple[Example, ...], text: str | None) -> Verdict:
        """What `examples` make of a candidate; `text` as of `_program`, where the evidence tells if it is None."""
        from adacoder.source.imports import undefined_names  # as above

        suspects = await aside(undefined_names, placed.text, [placed.function, *placed.added])
        what = self._program(target, placed, text, suspects)
        verdict = await self._host.evaluate(what, examples, timeout=self._timeout)
        return verdict if text is not None else replace(verdict, notes=(*verdict.notes, _AS_WRITTEN))

    def _program(self, target: Target, placed: Splice, text: str | None, suspects: tuple[str, ...] = ()) -> Program:
        """What the sandbox runs for a candidate that was put in place.

        `text`: that of the module with the wants withheld, in which the edits are made; None: it runs as it is written.
        """
        lines = CountedLines(placed.text)
        run = placed.text if text is None else apply_edits(text, placed.edits)
        return Program(
            module=target.module,
            text=run,
            qualname=target.qualname,
            first_line=lines.line_at(placed.function.start) + 1,
            last_line=lines.line_at(placed.function.end) + 1,
            suspects=suspects,
            # Its own file too: an example may import it under another dotted name.
            overlays={**self._overlays, target.module.path: run},
            is_withheld=text is not None,
        )


def _as_it_stands(target: Target) -> Splice:
    return Splice((), target.text, target.definition)


def _failed_import(verdict: Verdict) -> Failure | None:
    """How the import failed, if it did so outside the target."""
    failure = verdict.failure
    if failure is None or failure.kind not in _AT_IMPORT or verdict.imports or failure.line is not None:
        return None
    return failure


def _blaming_the_module(verdict: Verdict, failure: Failure, whatever: str = "") -> Verdict:
    """`verdict`, where the module cannot be imported, `whatever` is done; what isolation denied it is told as such."""
    message = failure.message
    if failure.kind is not FailureKind.DENIED:
        message = ", ".join(filter(None, ["The module cannot be imported", whatever])) + f": {failure.error}."
    return replace(verdict, failure=replace(failure, kind=FailureKind.BROKEN_MODULE, message=message))


def _minding_what_is_not_shown(verdict: Verdict) -> Verdict:
    """`verdict`; if nothing else failed, an example fails that gave an output and shows none."""
    unshown = next((result for result in verdict.results if not result.matched and not result.example.want), None)
    if verdict.failure is not None or unshown is None:
        return verdict
    place = f"The example on line {unshown.example.line + 1}"
    message = f"{place} gives an output that the docstring does not show: write it there, or assign it to a name."
    return replace(verdict, failure=Failure(FailureKind.WRONG_OUTPUT, message, unshown.example, unshown.got))


def _not_run(kind: FailureKind, message: str, example: Example | None = None) -> Verdict:
    return Verdict(Failure(kind, message, example))


def _details(target: Target, verdict: Verdict) -> dict[str, JSON]:
    return {
        "ran": verdict.isolation is not None,
        "passed": verdict.examples_passed,
        "total": verdict.total(target),
        "failure": None if verdict.failure is None else verdict.failure.json(),
        "notes": list(verdict.notes),
    }
