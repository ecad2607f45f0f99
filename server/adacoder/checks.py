"""Run the examples of docstrings without a model.

This module does not import the code for models, so that a check starts faster than a request to `service`.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from adacoder.agents.code_evaluator import CodeEvaluator
from adacoder.aside import aside
from adacoder.conclusion import conclude_check
from adacoder.directives import flags_of
from adacoder.domain import (
    JSON,
    AdaCoderError,
    Attempt,
    BehaviourDiff,
    Edit,
    Example,
    Module,
    Outcome,
    Status,
    Target,
    Verdict,
)
from adacoder.foreign_json import read_json
from adacoder.messages import Remedy
from adacoder.privacy.access import Access
from adacoder.project import module_of
from adacoder.sandbox.environment.interpreter import Interpreter, find
from adacoder.sandbox.host import Host, Program, turns_for_all
from adacoder.sandbox.verdict import unparsed
from adacoder.source.accepting import accepted, outputs
from adacoder.source.conftests import Ignored, adds_names
from adacoder.source.locate import Documented
from adacoder.task import Task, current

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from adacoder.agents.project_tests import ProjectTests, TestsOfRequest
    from adacoder.privacy.private_names import Wishes
    from adacoder.project import Project
    from adacoder.settings import Settings
    from adacoder.source.examples import UnreadableExample

_PARSES = """
try:
    _ = compile({text!r}, {path!r}, "exec", 0, True)
except Exception as error:
    print(getattr(error, "lineno", None) or 1, getattr(error, "msg", None) or type(error).__name__)
"""
"""Code that compiles a text without running it, and prints the line and the message of a syntax error."""
_IGNORED = """print(__import__("json").dumps([
    None if names is None else [str(name)[:300] for name in names]
    for names in map(globals().get, ("collect_ignore", "collect_ignore_glob"))
]))
"""
"""Code that prints which files a `conftest.py` leaves out of pytest's collection."""
_NO_PYTEST = "The examples lack the names that pytest adds, because pytest is not installed: install it."
_TOGETHER = 200_000
"""Maximum number of characters that one process parses, unless a single file is longer."""
_MOMENT_SECONDS = 1.0
"""Seconds for which the interpreter of a folder is remembered. Later, the environment may have changed."""


@dataclass(frozen=True, slots=True)
class NewOutputs:
    """The actual outputs of failed examples, as edits that insert them into the text."""

    edits: tuple[Edit, ...]
    """Edits that replace the expected outputs."""
    changing: tuple[Example, ...] = ()
    """Examples whose output differs from run to run. Such an output is not inserted."""
    refused: tuple[Example, ...] = ()
    """Examples whose output cannot be written as an expected output."""


class Checks:
    """Runs checks. Processes stay ready for later checks until `close` is called."""

    def __init__(self) -> None:
        self._hosts: dict[tuple[object, ...], Host] = {}
        self._tests: dict[Host, ProjectTests] = {}
        self._interpreters: dict[tuple[Path | None, Path, Path], tuple[Interpreter, float]] = {}
        self._turns = turns_for_all()
        self._required: set[tuple[Path, Path, Wishes]] = set()
        """Files that may be read. Each entry contains the file, its workspace, and the settings for private files."""
        self._with_names: dict[tuple[Interpreter, Path], tuple[bool, bool]] = {}
        """For each interpreter and folder, a pair of values.

        The first is True if fixtures of pytest add names to the examples. The second is True if pytest is installed.
        """
        self._ignored: dict[Path, Ignored] = {}
        """Files that a `conftest.py` leaves out. The key is the path of the `conftest.py`."""
        self._preparing = asyncio.Lock()
        """Lock during the preparation of a check, so that checks start in the order of the calls."""

    async def check(
        self,
        task: Task,
        unreadable: UnreadableExample | None = None,
        *,
        once: bool = False,
        covers: bool = False,
        tested: bool = False,
    ) -> Outcome:
        """Run the examples of a docstring on the current code. An example that fails in doctest also fails here.

        A function is `verified` only if an example that shows an output has run the function.

        Args:
            task: the task, whose target has the docstring.
            unreadable: the error, if doctest cannot read the examples.
            once: True if the project's files do not change any more. Then each module is imported only once.
            covers: True to report the code that no example reached. Then examples that pass run twice.
            tested: True to also run the project's tests of the function.
        """
        target, journal = task.target, task.journal
        journal.begin_round()
        try:
            async with self._preparing:
                key = target.module.path, task.project.folder, task.settings.wishes
                if not once or key not in self._required:
                    await asyncio.to_thread(task.require_access)
                    self._required.add(key)
                evaluator = await self._evaluator(task, covers=covers, tested=tested, once=once)
            target = await evaluator.without_missing_packages(target)
            try:
                verdict = await evaluator.evaluate_as_it_stands(Documented(target, unreadable), once=once)
            finally:
                await evaluator.close()
            outcome = conclude_check(target, Attempt(current(target), verdict), journal.round)
        except AdaCoderError as error:
            outcome = Outcome(Status.ERROR, target, str(error), trouble=error)
        return with_evidence(outcome, task)

    async def compare(self, task: Task, before: Target) -> BehaviourDiff:
        """Compare the function of `task` with the earlier version `before`.

        The inputs are the calls in the examples of both versions.

        Raises:
            AdaCoderError: nothing could be run or compared.
        """
        from adacoder.agents.behaviour import compare  # this import is slow, and `check` does not need it

        await asyncio.to_thread(task.require_access)
        evaluator = await self._evaluator(task)
        now, then = [await evaluator.with_class_examples(each) for each in (task.target, before)]
        sources = {example.source for example in now.examples}
        added = tuple(example for example in then.examples if example.source not in sources)
        every = replace(now, examples=(*now.examples, *added))
        return await compare(every, partial(evaluator.observe, now), partial(evaluator.observe, then))

    async def new_outputs(self, task: Task, earlier: Outcome, only: Example | None = None) -> NewOutputs:
        """Check a docstring again, and return edits that insert the actual outputs.

        Outputs that differ between the two checks are not inserted.

        Args:
            task: as in `check`.
            earlier: the Outcome of a check by another instance, so that other processes are used.
            only: the example to change. If None, all examples.
        """
        before, now = (
            outputs(each.verdict.results if each.verdict else ()) for each in (earlier, await self.check(task))
        )
        asked = [example for example in before if only is None or example.line == only.line]
        stable = {example: before[example] for example in asked if now.get(example) == before[example]}
        edits, refused = await aside(accepted, task.target, stable)
        return NewOutputs(tuple(edits), tuple(each for each in asked if each not in stable), tuple(refused))

    async def unparsed(self, texts: Mapping[Path, str], settings: Settings, project: Project) -> dict[Path, str]:
        """Find the files that do not parse. The user's interpreter compiles them, and does not run them.

        Args:
            texts: the whole texts of the files, by path.
            settings: as in a Task.
            project: as in a Task.

        Returns:
            The files that do not parse or may not be read, each with the reason as a sentence.

        Raises:
            AdaCoderError: the interpreter cannot run.
        """
        found: dict[Path, str] = {}
        access = cache(lambda folder: Access((project.folder, folder), settings.wishes))
        modules: dict[Host, dict[Path, str]] = {}
        for path, text in texts.items():
            try:
                access(path.parent).require(path)
            except AdaCoderError as error:
                found[path] = str(error)
                continue
            module = Module(path, path.stem, path.parent)
            host = self._host(await self._interpreter_for(module, settings, project), settings, project)
            modules.setdefault(host, {})[path] = text
        pieces = [(host, piece) for host, of_host in modules.items() for piece in _pieces(of_host)]
        for broken in await asyncio.gather(*(_unparsed(host, piece, settings, project) for host, piece in pieces)):
            found |= broken
        return found

    async def ignored(self, conftest: Path, text: str, settings: Settings, project: Project) -> Ignored:
        """Run a `conftest.py` and return the files that it leaves out. The result is cached.

        Raises:
            AdaCoderError: the interpreter cannot run.
        """
        if conftest not in self._ignored:
            module = module_of(conftest, text, project.folder)
            host = self._host(await self._interpreter_for(module, settings, project), settings, project)
            program = Program(module, text, "__name__", 1, 1, all_count=True)
            verdict = await host.evaluate(program, [Example(_IGNORED, "", 0)], timeout=settings.timeout)
            self._ignored[conftest] = _ignored(conftest, verdict)
        return self._ignored[conftest]

    async def begin(self, module: Module, settings: Settings, project: Project) -> None:
        """Start a process for a module before its examples are known.

        Errors are ignored, because `check` reports them again.
        """
        with suppress(AdaCoderError):
            interpreter = await self._interpreter_for(module, settings, project)
            access = Access.around(module, project.folder, settings.wishes)
            document, _ = await self._document(module, interpreter, access, project, [], once=True)
            await self._host(interpreter, settings, project).begin(module, document)

    async def observe_tests(self, task: Task) -> None:
        """Run the test files that name the target's module, so that later tasks need not wait for their results.

        Raises:
            AdaCoderError: nothing can run.
        """
        interpreter = await self.interpreter(task)
        overlays = await asyncio.to_thread(task.overlays, *interpreter.added)
        tests = self._tests_in(self._host(interpreter, task.settings, task.project), task.project.folder)
        await tests.observe_all(task.target, overlays, task.access())

    async def interpreter(self, task: Task) -> Interpreter:
        """Find the interpreter that runs the examples of a task.

        Raises:
            AdaCoderError: the workspace is not trusted, or there is no interpreter.
        """
        return await self._interpreter_for(task.target.module, task.settings, task.project)

    async def close(self) -> None:
        """End all processes."""
        hosts = list(self._hosts.values())
        self._hosts.clear()
        self._tests.clear()
        await asyncio.gather(*(host.close() for host in hosts))

    async def _evaluator(
        self, task: Task, *, covers: bool = False, tested: bool = False, once: bool = False
    ) -> CodeEvaluator:
        interpreter = await self.interpreter(task)
        access = task.access(*interpreter.added)
        setup = (*task.target.setup, *filter(str.strip, task.settings.doctest_setup.splitlines()))
        sources = [*setup, *(example.source for example in (*task.target.examples, *task.target.of_class))]
        document, note = await self._document(task.target.module, interpreter, access, task.project, sources, once=once)
        overlays = await asyncio.to_thread(task.overlays, *interpreter.added) if task.project.overlays else {}
        host = self._host(interpreter, task.settings, task.project)
        tests = self._tests_of(task, host, overlays, once=once) if tested and task.settings.tests else None
        return CodeEvaluator(
            host,
            task.journal,
            overlays=overlays,
            timeout=task.settings.timeout,
            covers=covers,
            tests=tests,
            options=flags_of(task.settings.doctest_options),
            setup=setup,
            document=document,
            note=note,
        )

    async def _document(
        self,
        module: Module,
        interpreter: Interpreter,
        access: Access,
        project: Project,
        sources: Iterable[str],
        *,
        once: bool,
    ) -> tuple[Path | None, str]:
        """Return the file of `module` if pytest must provide names for its examples `sources`, else None.

        If pytest is needed but not installed, the second value is a note for the user.
        """
        key = interpreter, module.path.parent
        if not once or key not in self._with_names:
            found = await asyncio.to_thread(adds_names, key[1], project.folder, access)
            self._with_names[key] = found, any((folder / "pytest").is_dir() for folder in interpreter.packages)
        has_names, has_pytest = self._with_names[key]
        if not has_names and not any("getfixture" in source for source in sources):
            return None, ""
        return (module.path, "") if has_pytest else (None, _NO_PYTEST)

    def _tests_in(self, host: Host, folder: Path) -> ProjectTests:
        from adacoder.agents.project_tests import ProjectTests

        return self._tests.setdefault(host, ProjectTests(host, folder))

    def _tests_of(self, task: Task, host: Host, overlays: Mapping[Path, str], *, once: bool) -> TestsOfRequest:
        from adacoder.agents.project_tests import TestsOfRequest

        project = self._tests_in(host, task.project.folder)
        seconds, told = task.settings.tests_seconds, task.journal.waiting
        return TestsOfRequest(project, overlays, task.access(), seconds, task.goal, told, once=once)

    def _host(self, interpreter: Interpreter, settings: Settings, project: Project) -> Host:
        folder, least, wishes, env = project.folder, settings.isolation, settings.wishes, settings.env
        key = (interpreter, folder, least, wishes, env)
        if key not in self._hosts:
            self._hosts[key] = Host(interpreter, folder, least=least, turns=self._turns, wishes=wishes, env=env)
        return self._hosts[key]

    async def _interpreter_for(self, module: Module, settings: Settings, project: Project) -> Interpreter:
        """Find the interpreter for a module, or reuse a recent result.

        The search reads many files, so it runs in a thread.
        """
        if not settings.trusted:
            trust = Remedy("trust", "trust it in the editor")
            raise AdaCoderError("This workspace is not trusted, so none of its code runs: ", trust, ".")
        key = (settings.interpreter, module.path.parent, project.folder)
        found, until = self._interpreters.get(key, (None, 0.0))
        if found is None or time.monotonic() >= until:
            found = await asyncio.to_thread(find, *key)
            self._interpreters[key] = (found, time.monotonic() + _MOMENT_SECONDS)
        return found


def _ignored(conftest: Path, verdict: Verdict) -> Ignored:
    """Parse the output of `_IGNORED`."""
    with suppress(ValueError):
        match read_json("".join(result.got for result in verdict.results)):
            case [list() | None as names, list() | None as patterns]:
                return Ignored(conftest, _texts(names), _texts(patterns))
    why = f" ({verdict.failure.error or verdict.failure.message.rstrip('.')})" if verdict.failure else ""
    return Ignored(conftest, None, None, f"{conftest} could not be run{why}, so it leaves no file out: correct it.")


def _texts(values: Sequence[JSON] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(map(str, values))


def _pieces(texts: Mapping[Path, str]) -> Iterator[dict[Path, str]]:
    """Split `texts` into groups. One process parses each group."""
    piece: dict[Path, str] = {}
    for path, text in texts.items():
        if piece and sum(map(len, piece.values())) + len(text) > _TOGETHER:
            yield piece
            piece = {}
        piece[path] = text
    if piece:
        yield piece


async def _unparsed(host: Host, texts: Mapping[Path, str], settings: Settings, project: Project) -> dict[Path, str]:
    """Return the texts that do not parse, with the reasons. One process parses all texts."""
    module = Module(project.folder / "adacoder_parses.py", "adacoder_parses", project.folder)
    asked = {
        path: Example(_PARSES.format(text=text.removeprefix("\ufeff"), path=str(path)), "", number)
        for number, (path, text) in enumerate(texts.items())
    }
    program = Program(module, "", "__doc__", 1, 1, all_count=True)
    verdict = await host.check(program, tuple(asked.values()), timeout=settings.timeout)
    told = {result.example: result.got for result in verdict.results}
    found: dict[Path, str] = {}
    for path, example in asked.items():
        line, _, what = told.get(example, "").partition(" ")
        if line:
            found[path] = unparsed(path, int(line) if line.isdecimal() else 1, what)
        elif example not in told:
            why = "" if verdict.failure is None else f": {verdict.failure.message}"
            found[path] = f"{path} could not be parsed{why}"
    return found


def with_evidence(outcome: Outcome, task: Task) -> Outcome:
    """Add the steps and the duration of `task` to the Outcome."""
    return replace(outcome, steps=task.journal.steps, seconds=task.journal.seconds)
