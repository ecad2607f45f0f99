"""Run hidden tests on candidates in the sandbox.

The judge reports only whether and how a candidate failed, never the text of a test. Agents and strategies cannot import
this module.

Expected results stay in this process. Tests written in Python must run in the candidate's process, but they start after
the candidate was imported.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from adacoder.agents.project_tests import first_failure
from adacoder.agents.questions import Ruling, example_of
from adacoder.arena.rows import DesignedTests, Judged
from adacoder.arena.tasks import ArenaTask, Examples, HiddenCalls, Statements
from adacoder.aside import aside
from adacoder.domain import Candidate, Difference, Example, ExampleResult, FailureKind, Verdict
from adacoder.pytext import Lines
from adacoder.sandbox.environment.interpreter import find
from adacoder.sandbox.host import Host, Program, turns_for_all
from adacoder.sandbox.literal_values import value_of
from adacoder.settings import Settings
from adacoder.source.splice import splice

PASSED = Judged("passed")
_WRONG = Judged("failed", FailureKind.WRONG_OUTPUT.value)
_HOW = {FailureKind.TIMED_OUT: "timeout", FailureKind.DENIED: "refused"}
_RELATIVE = 1e-6
"""Relative tolerance for floats, if a task has no tolerance of its own."""
_TESTS_SECONDS = 60.0
"""Minimum time limit for a run of the project's own tests, in seconds."""
_FIRST = 5
"""Number of first tests for which coverage is reported separately (AgentCoder, Table 5)."""
_PRINTS = (
    "print((lambda inf, nan: __import__('json').dumps([repr({call}(*each)) for each in [{arguments}]]))"
    "(float('inf'), float('nan')))\n"
)


class HiddenJudge:
    """Judges candidates in parallel. Verdicts are cached."""

    def __init__(self, settings: Settings) -> None:
        """`settings` give the interpreter, the isolation and the time limit."""
        self._settings = settings
        self._hosts: dict[tuple[Path, tuple[str, ...]], Host] = {}
        self._turns = turns_for_all()
        self._truth: dict[str, asyncio.Task[tuple[str, ...] | None]] = {}
        """Results that the canonical solution computes, by task id."""
        self._judging: dict[bytes, asyncio.Task[Judged]] = {}
        """Finished and running judgements, by a digest of task and text."""

    async def judge(self, task: ArenaTask, candidate: Candidate) -> Judged:
        """Run the hidden tests of `task` on a candidate.

        Raises:
            SandboxError: nothing can run, because the isolation or the interpreter is missing.
        """
        placed = await aside(splice, task.target, candidate)
        return await self.judge_text(task, placed.text)

    async def judge_text(self, task: ArenaTask, text: str) -> Judged:
        """Run the hidden tests of `task` on a module with the source `text`.

        Raises:
            SandboxError: as in `judge`.
        """
        key = hashlib.sha256(f"{task.id}\0{text}".encode("utf-8", "surrogatepass")).digest()
        found = self._judging.get(key)
        if found is None or (found.done() and (found.cancelled() or found.exception() is not None)):
            found = self._judging[key] = asyncio.create_task(self._judged(task, text))
        return await asyncio.shield(found)

    async def ruled(self, task: ArenaTask, difference: Difference) -> Ruling | None:
        """Return which of two outputs the canonical solution gives, or None if it gives neither.

        Raises:
            SandboxError: as in `judge`.
        """
        if task.canonical is None:
            return None
        text = (await aside(splice, task.target, task.canonical)).text
        rulings = (Ruling.HERE, Ruling.THERE)
        verdict = await self._run(task, text, [example_of(difference, ruling) for ruling in rulings])
        found = zip(rulings, verdict.results, strict=False)
        return next((ruling for ruling, result in found if result.matched), None)

    async def open_verdict(self, task: ArenaTask, text: str) -> Verdict:
        """Run hidden tests that are written in Python, and return the full verdict.

        The verdict quotes the tests. Use this method only for benchmarks on recorded replies, which no model sees.

        Raises:
            SandboxError: as in `judge`.
        """
        if not isinstance(task.hidden, Statements):
            raise TypeError(f"the hidden tests of {task.id} are not Python")
        return await self._run(task, text, [_statements(task.hidden)])

    async def unfit(self, tasks: Iterable[ArenaTask]) -> list[ArenaTask]:
        """Return the tasks whose canonical solution fails the hidden tests.

        Raises:
            SandboxError: as in `judge`.
        """
        known = [task for task in tasks if task.canonical is not None]
        found = await asyncio.gather(*(self.judge(task, task.canonical) for task in known if task.canonical))
        return [task for task, judged in zip(known, found, strict=True) if judged != PASSED]

    async def tried(self, task: ArenaTask, tests: Sequence[Example]) -> DesignedTests:
        """Run a model's tests on the canonical solution.

        If a test ends the process, a new process runs the remaining tests.

        Raises:
            SandboxError: as in `judge`.
        """
        if task.canonical is None:
            return DesignedTests(len(tests))
        text = (await aside(splice, task.target, task.canonical)).text
        results: list[ExampleResult | None] = []
        lines = frozenset[int]()
        while len(results) < len(tests):
            verdict = await self._run(task, text, tests[len(results) :], by_line=True)
            lines |= verdict.reachable.lines
            results += verdict.results
            if len(results) < len(tests):
                results.append(None)
        covered = [frozenset[int]() if each is None else each.reached.lines & lines for each in results]

        def share(tests: Sequence[frozenset[int]]) -> float:
            return len(frozenset[int]().union(*tests)) / len(lines) if lines else 0.0

        right = sum(each is not None and each.matched for each in results)
        return DesignedTests(len(tests), right, share(covered), share(covered[:_FIRST]))

    async def close(self) -> None:
        """Stop the judge's processes."""
        running = [*self._judging.values(), *self._truth.values()]
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await asyncio.gather(*(host.close() for host in self._hosts.values()))

    async def _judged(self, task: ArenaTask, text: str) -> Judged:
        match task.hidden:
            case Statements() as statements:
                verdict = await self._run(task, text, [_statements(statements)])
            case Examples(examples=examples, tests=tests):
                verdict = await self._run(task, text, examples)
                if verdict.passed and tests:
                    seconds = max(_TESTS_SECONDS, self._settings.timeout)
                    verdict = await self._run(replace(task, hide=()), text, (), seconds, tests=tests)
                    verdict = replace(verdict, failure=verdict.failure or first_failure(verdict.tests, tests))
            case HiddenCalls() as calls:
                wanted = calls.wanted if calls.wanted is not None else await self._true(task, calls)
                verdict = await self._called(task, text, calls)
                if verdict.passed:
                    right = wanted is not None and await aside(_all_right, _printed(verdict), wanted, calls.tolerance)
                    return PASSED if right else _WRONG
        return _word(verdict)

    async def _true(self, task: ArenaTask, calls: HiddenCalls) -> tuple[str, ...] | None:
        """Return the results of the canonical solution, or None if the canonical solution fails."""
        if task.id not in self._truth:
            self._truth[task.id] = asyncio.create_task(self._find_truth(task, calls))
        return await asyncio.shield(self._truth[task.id])

    async def _find_truth(self, task: ArenaTask, calls: HiddenCalls) -> tuple[str, ...] | None:
        if task.canonical is None:
            return None
        placed = await aside(splice, task.target, task.canonical)
        verdict = await self._called(task, placed.text, calls)
        return _printed(verdict) if verdict.passed else None

    async def _called(self, task: ArenaTask, text: str, calls: HiddenCalls) -> Verdict:
        source = _PRINTS.format(call=calls.call, arguments=", ".join(calls.arguments))
        return await self._run(task, text, [Example(source, "", 0)])

    async def _run(
        self,
        task: ArenaTask,
        text: str,
        examples: Sequence[Example],
        seconds: float = 0.0,
        *,
        by_line: bool = False,
        tests: tuple[str, ...] = (),
    ) -> Verdict:
        module, overlays = task.target.module, {**task.project.overlays, task.target.module.path: text}
        program = Program(
            module,
            text,
            task.target.qualname,
            1,
            len(Lines(text)),
            overlays=overlays,
            is_withheld=isinstance(task.hidden, Examples),
            by_line=by_line,
            tests=tests,
            all_count=True,
        )
        host = await self._host(task)
        return await host.evaluate(program, examples, timeout=seconds or self._settings.timeout)

    async def _host(self, task: ArenaTask) -> Host:
        key, settings = (task.project.folder, task.hide), self._settings
        if key not in self._hosts:
            folder = task.project.folder
            interpreter = await asyncio.to_thread(find, settings.interpreter, task.target.module.path.parent, folder)
            if key not in self._hosts:  # another call may have created the host during the search
                wishes = replace(settings, hide=(*settings.hide, *task.hide)).wishes
                self._hosts[key] = Host(
                    interpreter,
                    folder,
                    least=settings.isolation,
                    turns=self._turns,
                    wishes=wishes,
                    env=settings.env,
                )
        return self._hosts[key]


def _statements(tests: Statements) -> Example:
    return Example(f"exec({tests.text!r}, globals())\n", "", 0)


def _word(verdict: Verdict) -> Judged:
    failure = verdict.failure
    return PASSED if failure is None else Judged(_HOW.get(failure.kind, "failed"), failure.kind.value)


def _printed(verdict: Verdict) -> tuple[str, ...]:
    """Read the results from the last line of output.

    A candidate may have printed anything, so output in another format gives no results.
    """
    lines = verdict.results[-1].got.splitlines() if verdict.results else []
    try:
        told = json.loads(lines[-1]) if lines else None
    except (ValueError, RecursionError):
        return ()
    return tuple(each for each in told if isinstance(each, str)) if isinstance(told, list) else ()


def _all_right(given: Sequence[str], wanted: Sequence[str], tolerance: float) -> bool:
    return len(given) == len(wanted) and all(
        one == other or _is_right(one, other, tolerance) for one, other in zip(given, wanted, strict=True)
    )


def _is_right(one: str, other: str, tolerance: float) -> bool:
    try:
        return _close(value_of(one), value_of(other), tolerance)
    except ValueError:
        return False


def _close(one: object, other: object, tolerance: float) -> bool:
    """Return whether values are equal, with a tolerance for floats. Lists and tuples with equal items are equal."""
    match one, other:
        case ((int() | float()), (int() | float())) if isinstance(one, float) or isinstance(other, float):
            are_close = math.isclose(one, other, rel_tol=0 if tolerance else _RELATIVE, abs_tol=tolerance or 1e-9)
            return are_close or (math.isnan(one) and math.isnan(other))
        case (list() | tuple(), list() | tuple()):
            return len(one) == len(other) and all(
                _close(each, wanted, tolerance) for each, wanted in zip(one, other, strict=True)
            )
        case (dict(), dict()):
            return one.keys() == other.keys() and all(_close(one[key], other[key], tolerance) for key in one)
        case _:
            return one == other
