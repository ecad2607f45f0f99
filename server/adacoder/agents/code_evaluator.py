"""Run the docstring's examples on candidates (paper, section IV-C and Algorithm 2).

The Code Evaluator puts a candidate into the module's current text, and imports the module in the sandbox. User code
never runs in AdaCoder's own process.
"""

from __future__ import annotations

import asyncio
import doctest
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.aside import aside
from adacoder.domain import (
    ENDLESS,
    RAISES,
    AdaCoderError,
    Candidate,
    Example,
    ExampleResult,
    Failure,
    FailureKind,
    Module,
    SourceLine,
    Target,
    Verdict,
)
from adacoder.journal import Evaluated, Journal, Traced
from adacoder.project import is_page
from adacoder.pytext import Lines, normalize
from adacoder.sandbox.host import Host, Program
from adacoder.sandbox.unavailable import SandboxError
from adacoder.source.class_examples import running
from adacoder.source.examples import UnreadableExample
from adacoder.source.locate import Documented
from adacoder.source.placed import Splice
from adacoder.source.text import apply_edits
from adacoder.source.withheld import shows_wants, withheld
from adacoder.traces import Trace

if TYPE_CHECKING:
    from adacoder.agents.project_tests import TestsOfRequest
    from adacoder.source.inputs import Input

_AGENT, _RUNNING = "code_evaluator", "running the examples"
_AT_IMPORT = frozenset({FailureKind.IMPORT_ERROR, FailureKind.DENIED})
"""Failures that can occur while the module is imported, even if the candidate is right."""
_IS_INSTALLED = """
def is_installed(name):
    from importlib import util

    try:
        if util.find_spec(name):
            return True
    except (ImportError, ValueError):
        pass
    try:
        from importlib.metadata import version
        from packaging.requirements import Requirement
        from platform import python_version

        found = Requirement(name)
        installed = python_version() if found.name == "python" else version(found.name)
        return found.specifier.contains(installed, prereleases=True)
    except Exception:
        return False


print(is_installed({name!r}))
"""
"""Code that prints whether a module or a distribution is installed, by the rules of pytest-doctestplus.

It uses the project's own `packaging`, which is usually installed because pytest depends on it."""
_ASKING = "adacoder_asks"
"""Name of the empty module in which `_IS_INSTALLED` runs."""
_MOST_CUT = 4
"""Maximum number of processes in `observe`. Each input that never ends costs one process."""
_AS_WRITTEN = "The module's code reads docstrings, so it ran unchanged: the function could read the expected output."
_SHOWN = "The module's code shows the output of an example outside docstrings: the function could read it."


@dataclass(frozen=True, slots=True)
class Feedback:
    """The result of a model's tests. Such tests can rank or reject a candidate, but never verify a candidate."""

    results: tuple[ExampleResult, ...]
    failure: Failure | None
    """The first failure, or the reason why no test could run."""

    @property
    def passed(self) -> int:
        """Number of tests that ran the target and passed."""
        return sum(result.matched for result in self.results if result.entered and result.example.has_want)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen when one input ran: the outputs of its statements, and the lines of the function that ran."""

    outputs: tuple[str, ...]
    """Output of each statement. The last output may be `ENDLESS`, or `RAISES` with an exception's class."""
    entered: bool = True
    """True if the input was observed to run the function."""
    lines: frozenset[int] = field(default=frozenset(), compare=False)
    """Lines of the function that ran."""

    @property
    def raised(self) -> bool:
        """True if the last statement raised an exception.

        Printed text cannot fake an exception, because printed text ends with a newline.
        """
        return self.outputs[-1].startswith(RAISES) and not self.outputs[-1].endswith("\n")


class CodeEvaluator:
    """Evaluates candidates in the sandbox. Results are cached, so an equal candidate does not run again."""

    def __init__(
        self,
        host: Host,
        journal: Journal,
        *,
        overlays: Mapping[Path, str],
        timeout: float,
        covers: bool = False,
        tests: TestsOfRequest | None = None,
        options: int = 0,
        setup: tuple[str, ...] = (),
        document: Path | None = None,
        note: str = "",
    ) -> None:
        """`covers` turns on coverage for candidates that pass.

        `tests` are the project's own tests; None if they should not run. `options` are doctest option flags, and
        `setup` are statements that run before the examples. For `document`, see `Program.document`. `note` is added to
        verdicts on unchanged code.
        """
        self._host = host
        self._journal = journal
        self._overlays = overlays
        self._timeout = timeout
        self._covers = covers
        self._tests = tests
        self._options = options
        self._setup = setup
        self._document = document
        self._note = note
        self._verdicts: dict[tuple[Target, Candidate], Verdict] = {}

    async def ready(self, target: Target) -> None:
        """Start the sandbox processes that candidates of `target` need.

        Raises:
            SandboxError: nothing can run, because the isolation or the interpreter is missing.
        """
        text = await aside(withheld, target)
        if self._tests is not None:
            self._tests.begin(target)
        await self._host.ready(self._program(target, _as_it_stands(target), text))

    async def close(self) -> None:
        """Cancel the search for the project's tests."""
        if self._tests is not None:
            await self._tests.close()

    async def described_by(self, target: Target) -> Sequence[str]:
        """Return the source code of the project's failing tests, which describe a target that has no examples.

        Raises:
            SandboxError: nothing can run, because the isolation or the interpreter is missing.
        """
        return () if self._tests is None or target.has_wants else await self._tests.sources(target)

    async def with_class_examples(self, target: Target) -> Target:
        """Add the class docstring's examples that run the target.

        The examples run in the unchanged module first. If some do not finish, all run again with a body that only
        raises an exception.

        Raises:
            SandboxError: nothing can run, because the isolation or the interpreter is missing.
        """
        if not target.of_class:
            return target
        from adacoder.agents.prompt import bodiless  # slow import, needed only for candidates
        from adacoder.source.splice import splice

        every = replace(target, examples=target.of_class)
        text = await aside(withheld, every)
        stub = Candidate(f"{bodiless(target)}\n    raise NotImplementedError")
        found: tuple[Example, ...] = ()
        for placed in (_as_it_stands(target), await aside(splice, target, stub)):
            what = self._program(target, placed, text)
            verdict = await self._host.evaluate(what, target.of_class, timeout=self._timeout)
            found = max(found, running(target, verdict.results), key=len)
            if verdict.defines and verdict.answers(target.of_class):
                break
        return replace(target, examples=(*target.examples, *found))

    async def evaluate(self, target: Target, candidate: Candidate) -> Verdict:
        """Run the docstring's examples on `candidate`, or return the cached verdict.

        Raises:
            SandboxError: nothing can run, because the isolation or the interpreter is missing.
        """
        with self._journal.step(_AGENT, "evaluate", _RUNNING) as step:
            known = self._verdicts.get((target, candidate))
            verdict = known or await self._evaluated(target, candidate)
            self._verdicts[target, candidate] = verdict
            step.details = _details(target, candidate.text, verdict, is_known=known is not None)
            return verdict

    async def probe(self, target: Target, candidate: Candidate, tests: Sequence[Example]) -> Feedback:
        """Run a model's `tests` on `candidate`.

        Raises:
            SandboxError: as `evaluate`.
        """
        probed = replace(target, examples=tuple(tests))
        with self._journal.step(_AGENT, "probe", "running designed tests") as step:
            verdict, _, _ = await self._judge(probed, candidate)
            step.details = _details(probed, candidate.text, verdict)
            return Feedback(verdict.results, verdict.failure)

    async def trace(self, target: Target, candidate: Candidate, example: Example) -> Trace:
        """Trace `example` on `candidate`, after the examples that precede it in the docstring.

        Raises:
            SandboxError: as `evaluate`.
        """
        from adacoder.source.splice import splice  # slow import, not needed by `check`

        examples = target.examples
        before = examples[: examples.index(example)] if example in examples else ()
        with self._journal.step(_AGENT, "trace", "tracing an example") as step:
            text = await aside(withheld, target)
            placed = await aside(splice, target, candidate)
            what = self._program(target, placed, text)
            found = await self._host.trace(what, (*before, example), timeout=self._timeout)
            lines = enumerate(normalize(placed.function.of(placed.text)).split("\n"), what.first_line)
            found = replace(found, code=tuple(SourceLine(number, line) for number, line in lines))
            step.details = Traced(candidate.text, example.source, len(found.executed), found.is_complete)
            return found

    async def observe(
        self, target: Target, inputs: Sequence[Input], *, candidate: Candidate | None = None, by_line: bool = False
    ) -> Sequence[Seen | None]:
        """Run `inputs` in order in one process, on the module's current text or on `candidate`.

        With `by_line`, the results include the lines that each input reaches. Before Python 3.12, this is slower.

        An input that never ends needs a new process for the inputs after it. Inputs that are left after `_MOST_CUT`
        processes have the result None.

        Raises:
            AdaCoderError: the module cannot be imported, or does not define the function.
            SandboxError: nothing can run, because the isolation or the interpreter is missing.
        """
        placed = _as_it_stands(target)
        if candidate is not None and not candidate.function:
            raise AdaCoderError(f"The reply holds no function '{target.name}'.")
        if candidate is not None:
            from adacoder.source.splice import splice  # slow import, not needed by `check`

            placed = await aside(splice, target, candidate)
        what = replace(self._program(target, placed, None), by_line=by_line, observed=True)
        found: list[Seen | None] = [None] * len(inputs)
        begin = 0
        for _ in range(_MOST_CUT):
            places = [(number, text) for number in range(begin, len(inputs)) for text in inputs[number].statements]
            examples = tuple(Example(f"{text}\n", "", line) for line, (_, text) in enumerate(places))
            if not examples:
                break
            verdict = await self._host.evaluate(what, examples, timeout=self._timeout)
            if not (verdict.imports and verdict.defines):
                why = verdict.failure.message if verdict.failure else "It could not be loaded."
                raise AdaCoderError(f"{target.module.path}: {why}")
            for number in dict.fromkeys(number for number, _ in places):
                of_input = [each for each, (its, _) in zip(verdict.results, places, strict=False) if its == number]
                if len(of_input) < len(inputs[number].statements):
                    # The time ran out during this input. It counts as endless only if no earlier input used part of the
                    # time.
                    if number == begin:
                        found[number] = Seen((*_seen(of_input), ENDLESS))
                    begin = max(number, begin + 1)
                    break
                lines = frozenset[int]().union(*(each.reached.lines for each in of_input))
                found[number] = Seen(_seen(of_input), any(each.entered for each in of_input), lines)
            else:
                break
        return found

    async def evaluate_as_it_stands(self, documented: Documented, *, once: bool = False) -> Verdict:
        """Run the examples of one docstring on the module's current text, as doctest does.

        All examples count, even if they do not call the function. An example without expected output must print
        nothing. For `once`, see `Checks.check`.

        Raises:
            SandboxError: nothing can run, because the isolation or the interpreter is missing.
        """
        target = documented.target
        with self._journal.step(_AGENT, "evaluate", _RUNNING) as step:
            verdict = await self._judge_as_it_stands(target, documented.unreadable, once=once)
            verdict = replace(verdict, notes=(*verdict.notes, self._note)) if self._note else verdict
            if self._tests is not None and target.is_function and verdict.defines:
                verdict = await self._tests.beside(verdict, target)
            verdict = await self._covered(verdict, target, _as_it_stands(target), None, once=once)
            step.details = _details(target, target.source, verdict)
            return verdict

    async def without_missing_packages(self, target: Target) -> Target:
        """Return the target with a skip mark on each example that needs a package that is not installed.

        Raises:
            SandboxError: as `evaluate`.
        """
        needed = {name for example in (*target.examples, *target.of_class) for name in example.needs}
        if not needed:
            return target
        asked = {name: Example(_IS_INSTALLED.format(name=name), "", 0, is_block=True) for name in needed}
        program = Program(_empty(target.module, _ASKING), "", "__doc__", 1, 1, all_count=True)
        verdict = await self._host.evaluate(program, tuple(asked.values()), timeout=self._timeout)
        here = {result.example for result in verdict.results if result.got == "True\n"}
        missing = {name for name, example in asked.items() if example not in here}

        def kept(example: Example) -> Example:
            return replace(example, flags=example.flags | doctest.SKIP) if example.needs & missing else example

        return replace(target, examples=tuple(map(kept, target.examples)), of_class=tuple(map(kept, target.of_class)))

    async def _evaluated(self, target: Target, candidate: Candidate) -> Verdict:
        verdict, placed, text = await self._judge(target, candidate)
        if placed is None:
            return verdict
        verdict = replace(await self._not_memorised(verdict, target, placed, text), edits=placed.edits)
        if self._tests is not None and verdict.passed and verdict.defines:
            verdict = await self._tests.on(verdict, target, candidate, self._program(target, placed, None))
        return await self._covered(verdict, target, placed, text)

    async def _judge(self, target: Target, candidate: Candidate) -> tuple[Verdict, Splice | None, str | None]:
        """Run the examples on a candidate.

        Return the verdict, the edits that inserted the candidate, and the module's text without expected outputs. If
        the complete text ran, the last value is None.
        """
        if not candidate.function:
            message = " ".join(candidate.notes) or f"The reply holds no function '{target.name}'."
            return _not_run(FailureKind.NO_FUNCTION, message), None, None
        if candidate.cut:
            message = "The reply broke off or left parts of the function out."
            return _not_run(FailureKind.CUT_OFF, message), None, None
        from adacoder.source.splice import splice  # slow import, not needed by `check`

        text = await aside(withheld, target)
        placed = await aside(splice, target, candidate)
        verdict = await self._run(target, placed, target.examples, text)
        if verdict.failure is None or verdict.failure.kind not in _AT_IMPORT or verdict.imports:
            return verdict, placed, text
        standing = await self._run(target, _as_it_stands(target), (), text)
        if text is not None and not standing.imports:
            as_written = await self._run(target, _as_it_stands(target), (), None)
            if as_written.imports:  # the module needs its docstrings at import, for example in a decorator
                text, standing = None, as_written
                verdict = await self._run(target, placed, target.examples, text)
        failure = _failed_import(verdict)
        if failure is not None and not standing.imports:
            verdict = _broken_module(verdict, failure, f"with or without a new '{target.name}'")
        return verdict, placed, text

    async def _judge_as_it_stands(self, target: Target, unreadable: UnreadableExample | None, *, once: bool) -> Verdict:
        if unreadable is not None:
            above = target.module.first_line
            source = Lines(target.text)[above + unreadable.line].strip() + "\n"
            example = Example(source, "", above + unreadable.line, above=above)
            return _not_run(FailureKind.BROKEN_EXAMPLE, str(unreadable), example)
        what = replace(self._program(target, _as_it_stands(target), None), all_count=True)
        if is_page(target.module.path):
            # A Markdown or text page is not Python, so its examples run in an empty module.
            what = replace(what, module=_empty(target.module, target.module.name), text="", overlays=self._overlays)
            once = False
        run = self._host.check if once else self._host.evaluate
        verdict = await run(what, target.examples, timeout=self._timeout)
        if verdict.imports and not verdict.defines:
            # The function does not exist after the import, for example because the module deletes it. Doctest would not
            # find the function either.
            not_run = tuple(ExampleResult(example, matched=False, counts=False) for example in target.examples)
            return replace(verdict, failure=None, results=not_run)
        failure = _failed_import(verdict)
        if failure is not None and failure.kind is not FailureKind.DENIED:
            return _broken_module(verdict, failure)
        return await self._not_memorised(
            _failing_on_unshown_output(verdict), target, _as_it_stands(target), None, once=once
        )

    async def _not_memorised(
        self, verdict: Verdict, target: Target, placed: Splice, text: str | None, *, once: bool = False
    ) -> Verdict:
        """Fail a candidate that passes with hard-coded answers.

        A suspicious candidate runs again, to observe which lines the examples reach.
        """
        if not (verdict.passed and target.is_function and verdict.is_proved):
            return verdict
        from adacoder.source.memorised import memorised

        why = await aside(memorised, target, placed, verdict.proving)
        if why is None:
            return verdict
        seen = await self._seen_by_line(target, placed, text, (), once=once)
        if seen.passed and seen.is_proved:
            why = await aside(memorised, target, placed, seen.proving)
        return verdict if why is None else replace(verdict, failure=Failure(FailureKind.MEMORISED, why))

    async def _covered(
        self, verdict: Verdict, target: Target, placed: Splice, text: str | None, *, once: bool = False
    ) -> Verdict:
        """Add the coverage by the examples and by the project's tests that passed.

        If the examples and the tests cannot run together, only the examples count.
        """
        if not (self._covers and verdict.passed and target.is_function and verdict.is_proved):
            return verdict
        from adacoder.source.coverage import coverage  # slow import, not needed by `check`

        names = tuple(test.name for test in verdict.tests if test.proves)
        for tests in dict.fromkeys((names, ())):
            seen = await self._seen_by_line(target, placed, text, tests, once=once)
            if seen.passed and len(seen.tests) == len(tests):
                return replace(verdict, coverage=await aside(coverage, placed, seen, target.module.first_line))
        return verdict

    async def _seen_by_line(
        self, target: Target, placed: Splice, text: str | None, tests: tuple[str, ...], *, once: bool
    ) -> Verdict:
        """Run the examples and `tests` again, and observe the lines that they reach.

        Return an empty verdict if nothing can run.
        """
        what = replace(self._program(target, placed, None if tests else text), by_line=True, tests=tests)
        run, seconds = self._host.check if once else self._host.evaluate, self._timeout
        if tests and self._tests is not None:
            what = await asyncio.to_thread(self._tests.without_tests, what)
            run, seconds = self._host.evaluate, seconds + self._tests.seconds
        with suppress(SandboxError):
            return await run(what, target.examples, timeout=seconds)
        return Verdict(None)

    async def _run(self, target: Target, placed: Splice, examples: tuple[Example, ...], text: str | None) -> Verdict:
        """Run `examples` on a candidate in its module. Add a note if the candidate could read the expected outputs."""
        from adacoder.source.imports import undefined_names  # slow import, not needed by `check`

        suspects = await aside(undefined_names, placed.text, [placed.function, *placed.added])
        what = self._program(target, placed, text, suspects)
        verdict = await self._host.evaluate(what, examples, timeout=self._timeout)
        note = ""
        if text is None:
            note = _AS_WRITTEN
        elif verdict.passed and await aside(shows_wants, target):
            note = _SHOWN
        return replace(verdict, notes=(*verdict.notes, note)) if note else verdict

    def _program(self, target: Target, placed: Splice, text: str | None, suspects: tuple[str, ...] = ()) -> Program:
        """Create the program that the sandbox runs.

        `text` is the module's text without the expected outputs, so that candidates cannot read the outputs. If `text`
        is None, the complete text runs.
        """
        lines = Lines(placed.text)
        run = placed.text if text is None else apply_edits(text, placed.edits)
        return Program(
            module=target.module,
            text=run,
            qualname=target.qualname,
            first_line=lines.line_at(placed.function.start) + 1,
            last_line=lines.line_at(placed.function.end) + 1,
            suspects=suspects,
            # An example may import the module's own file under a second name, so replace the file as well.
            overlays={**self._overlays, target.module.path: run},
            is_withheld=text is not None,
            options=self._options,
            setup=self._setup,
            document=self._document,
            is_unchanged=not placed.edits,
        )


def _seen(results: Sequence[ExampleResult]) -> tuple[str, ...]:
    """Return the outputs up to the first exception. Later statements may use names that were never assigned."""
    outputs: list[str] = []
    for result in results:
        if result.error is not None:
            name = result.error.partition("\n")[0].partition(":")[0].rpartition(".")[2]
            return (*outputs, RAISES + name)
        outputs.append(result.got or "")
    return tuple(outputs)


def _empty(module: Module, name: str) -> Module:
    """Return an empty module in the import root of `module`."""
    return replace(module, path=module.root / f"{name}.py", name=name)


def _as_it_stands(target: Target) -> Splice:
    return Splice((), target.text, target.definition)


def _failed_import(verdict: Verdict) -> Failure | None:
    """Return the failure of an import that the target did not cause, or None."""
    failure = verdict.failure
    if failure is None or failure.kind not in _AT_IMPORT or verdict.imports or failure.line is not None:
        return None
    return failure


def _broken_module(verdict: Verdict, failure: Failure, whatever: str = "") -> Verdict:
    """Report that the module cannot be imported, with `whatever` as an explanation.

    If isolation denied something, the original message is kept.
    """
    message = failure.message
    if failure.kind is not FailureKind.DENIED:
        message = ", ".join(filter(None, ["The module cannot be imported", whatever])) + f": {failure.error}."
    return replace(verdict, failure=replace(failure, kind=FailureKind.BROKEN_MODULE, message=message))


def _failing_on_unshown_output(verdict: Verdict) -> Verdict:
    """Fail a verdict if an example without expected output printed something.

    An example with a wrong directive also fails.
    """
    unshown = next((each for each in verdict.results if not (each.matched or each.skipped or each.example.want)), None)
    if verdict.failure is not None or unshown is None:
        return verdict
    place = f"The example on line {unshown.example.number}"
    output = "gives an output that the docstring does not show: write it there, or assign it to a name"
    message = f"{place} {unshown.example.problem or output}."
    return replace(verdict, failure=Failure(FailureKind.WRONG_OUTPUT, message, unshown.example, unshown.got))


def _not_run(kind: FailureKind, message: str, example: Example | None = None) -> Verdict:
    return Verdict(Failure(kind, message, example))


def _details(target: Target, code: str, verdict: Verdict, *, is_known: bool = False) -> Evaluated:
    return Evaluated(
        code,
        verdict.isolation is not None,
        verdict.examples_passed,
        verdict.total(target),
        verdict.failure,
        verdict.notes,
        is_known,
        verdict.tests_score,
    )
