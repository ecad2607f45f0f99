"""Run the project's own pytest tests on a candidate.

Each test file runs once on the unchanged project, to observe which functions each test calls. The result is reused
until a file that the tests read changes.

A failing test usually rejects the candidate. `ProjectTests.tried` decides which failures do not count.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
import re
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.agents.observations import Observations, Observed
from adacoder.aside import aside
from adacoder.domain import (
    AdaCoderError,
    Candidate,
    Failure,
    FailureKind,
    Module,
    ProjectTest,
    ProjectTestStatus,
    Target,
    Verdict,
)
from adacoder.messages import Named, Text, counted
from adacoder.project import Project, below, python_files
from adacoder.pytext import Lines, line_number, normalize
from adacoder.sandbox.child.testing import WITHOUT
from adacoder.sandbox.program import Program
from adacoder.settings.pytest_files import CONFIGURATION, files_with_tests
from adacoder.source.locate import locate
from adacoder.source.meddling import meddling

if TYPE_CHECKING:
    from adacoder.privacy.access import Access
    from adacoder.sandbox.host import Host

_PASSED, _FAILED = ProjectTestStatus.PASSED, ProjectTestStatus.FAILED
_FILE_SECONDS = 60.0
"""Time limit for one run of a test file on the unchanged project, in seconds."""
_FAILED_SECONDS = 10.0
"""Time for which the result of a test file with a failing test is reused, in seconds."""
_ALL_SECONDS = 30.0
"""Time limit for finding the tests that run a function, in seconds."""
_EMPTY = "adacoder_tests"
"""Name of an empty module. The sandbox imports it before it runs a test file, because no candidate is needed then."""
_NAMES_MODULE = 1
"""Rank of a test file that mentions only the target's module. Files of higher ranks do not run ahead of a request."""
_MOST_BYTES = 8 << 20
"""Maximum size of a test file in bytes. Tests in larger files do not run."""
_SHARE = 0.5
"""Share of the time limit that the selected tests may take on unchanged code. The rest is for slower candidates."""
_MOST_SUSPECTS = 3
"""Maximum number of functions that AdaCoder tries to fix for one failing test."""
_MOST_TESTS = 200


class ProjectTests:
    """The tests of one project."""

    def __init__(self, host: Host, folder: Path, most_seconds: float = _ALL_SECONDS) -> None:
        self._most_seconds = most_seconds
        self._host = host
        self.folder = folder
        self._stored = Observations(folder, host.env)
        self._known: dict[tuple[Path, Path], tuple[Observed, float]] = {}
        """Observed results and their expiry time, for each pair of test file and import root."""
        self._digests: dict[Path, tuple[tuple[int, int, int], str]] = {}
        """Cached digest of each file, with the file's modification time, size and inode."""
        self._texts: dict[Path, tuple[tuple[int, int, int] | None, str]] = {}
        """Cached text of each test file, with the file's modification time, size and inode."""
        self._is_test = files_with_tests(folder)
        self._observing = asyncio.Lock()
        """Lock that lets only one test file run at a time."""

    async def of(
        self, target: Target, overlays: Mapping[Path, str], access: Access, goal: str = "", *, once: bool = False
    ) -> tuple[tuple[ProjectTest, ...], tuple[str, ...]]:
        """Return the tests that run the target on the unchanged project, and notes on test files that did not run.

        Tests that run the fewest other functions come first. The file of the test `goal` always runs. With `once`, test
        files are read only at the first call.

        Raises:
            SandboxError: nothing can run, because the isolation or the interpreter is missing.
        """
        ranked = await asyncio.to_thread(self._ranked, target, access, once)
        if goal:
            first = self.folder / goal.partition("::")[0]
            ranked = [(0, first), *((rank, path) for rank, path in ranked if path != first)]
        tests: list[ProjectTest] = []
        troubles: list[str] = []
        silent: list[str] = []
        ends = time.monotonic() + self._most_seconds
        for number, (rank, path) in enumerate(ranked):
            if time.monotonic() > ends:
                left = counted(len(ranked) - number, "test file")
                troubles.append(f"{left} did not run, because the others took long: run them yourself.")
                break
            observed = await self.observe(path, {**overlays, target.module.path: target.text}, access, target.module)
            tests += observed.tests
            if observed.trouble and not rank:
                silent.append(observed.trouble)
            text = self._texts.get(path, (None, ""))[1]
            if path in overlays and normalize(overlays[path]) != normalize(text):
                name = below(self.folder, path).as_posix()
                troubles.append(f"{name} has unsaved changes, which did not run: save it.")
        if silent:
            others = f" The same holds for {counted(len(silent) - 1, 'more test file')}." if silent[1:] else ""
            troubles.insert(0, silent[0] + others)
        return running(target, tests), tuple(troubles)

    async def observe_all(self, target: Target, overlays: Mapping[Path, str], access: Access) -> None:
        """Observe the test files that name the target's module, within the time for a request.

        Raises:
            SandboxError: as `of`.
        """
        ends = time.monotonic() + self._most_seconds
        for rank, path in await asyncio.to_thread(self._ranked, target, access, False):
            if rank <= _NAMES_MODULE and time.monotonic() < ends:
                await self.observe(path, {**overlays, target.module.path: target.text}, access, target.module)

    async def observe(self, path: Path, overlays: Mapping[Path, str], access: Access, near: Module) -> Observed:
        """Return the results of a test file on the unchanged project.

        The results are reused until a file that the tests read changes. The tests can import what the module `near` can
        import.

        Raises:
            SandboxError: as `of`.
        """
        overlays = await asyncio.to_thread(self.without_tests, overlays)
        key = path, near.root
        async with self._observing:
            known, until = self._known.get(key, (None, 0.0))
            if known is None:
                known, until = await asyncio.to_thread(self._stored.load, *key), math.inf
            paths = known.state if known and known.state and time.monotonic() < until else ()
            if known is not None and paths and paths == await asyncio.to_thread(self._state, paths, overlays, access):
                self._known[key] = known, until
                return known
            around = [path, *_around(path, self.folder), *self._host.environment]
            before = await asyncio.to_thread(self._state, around, overlays, access)
            name = below(self.folder, path).as_posix()
            empty = replace(near, path=near.root / f"{_EMPTY}.py", name=_EMPTY)
            program = Program(empty, "", "__doc__", 1, 1, overlays=overlays, tests=(name,), by_function=True)
            verdict = await self._host.evaluate(program, (), timeout=_FILE_SECONDS)
            files = {Path(file) for file in (*verdict.files, *(file for test in verdict.tests for file, _ in test.ran))}
            state = {**await asyncio.to_thread(self._state, files, overlays, access), **before}
            less = [note for note in verdict.notes if note.startswith(WITHOUT)]
            others = " ".join(note for note in verdict.notes if note not in less)
            why = verdict.failure.message if verdict.failure else others
            trouble = ""
            if why:
                which = "Not all" if verdict.tests else "None"
                trouble = f"{which} of the tests in {name} could run: {why.rstrip('.')}. To see more, run pytest on it."
            observed = Observed(verdict.tests, trouble or " ".join(less), state)
            if trouble or any(test.status is _FAILED for test in observed.tests):
                # The next result may differ, for example if a test depends on the time.
                self._known[key] = observed, time.monotonic() + _FAILED_SECONDS
            else:
                self._known[key] = observed, math.inf
                await asyncio.to_thread(self._stored.save, *key, observed)
            return observed

    async def suspects(
        self, name: str, overlays: Mapping[Path, str], access: Access, near: Module
    ) -> list[tuple[Path, int, str]]:
        """Return the functions that a failing test ran, the most suspicious first.

        Each function has its file, its first line (from 1), and a reason. A function that few passing tests run is more
        suspicious. This is the order of the Ochiai coefficient (Abreu et al., "On the Accuracy of Spectrum-based Fault
        Localization", 2007).

        Other failing tests only break ties, because they may have another cause.

        Raises:
            AdaCoderError: the test does not exist or does not fail.
            SandboxError: as `of`.
        """
        path = self.folder / name.partition("::")[0]
        ends = time.monotonic() + self._most_seconds
        observed = await self.observe(path, overlays, access, near)
        tests = {test.name: test for test in observed.tests}
        goal = tests.get(_without_case(name))
        if goal is None:
            trouble = observed.trouble if path.is_file() and not observed.tests else ""
            raise AdaCoderError(trouble or f"There is no test '{name}': write FILE::TEST, as pytest does.")
        if goal.status is not _FAILED:
            raise AdaCoderError(f"The test {name} does not fail here (its status is '{goal.status}'): nothing to fix.")
        self._is_test = files_with_tests(self.folder)
        every = await asyncio.to_thread(lambda: [(path, self._is_test(path)) for path in python_files(self.folder)])
        for other in (path for path, is_test in every if is_test):
            if time.monotonic() < ends:
                tests |= {each.name: each for each in (await self.observe(other, overlays, access, near)).tests}
        own = await asyncio.to_thread(_real, [path for path, is_test in every if not (is_test or _is_conftest(path))])
        places = [place for place in goal.ran if place[0] in own]
        failed, passed = ([t for t in tests.values() if t.status is status] for status in (_FAILED, _PASSED))
        counts = {place: tuple(sum(place in t.ran for t in each) for each in (failed, passed)) for place in places}

        def rank(place: tuple[str, int]) -> tuple[float, int, str, int]:
            failed, passed = counts[place]
            return -1 / math.sqrt(1 + passed), -failed, *place

        def why(place: tuple[str, int]) -> str:
            failed, passed = counts[place]
            return f"run by {counted(failed, 'failing test')} and {counted(passed, 'passing test')}."

        ranked = sorted(places, key=rank)
        return [(Path(file), line, why((file, line))) for file, line in ranked]

    async def tried(
        self,
        program: Program,
        tests: Sequence[ProjectTest],
        raising: Callable[[], Awaitable[Program]],
        seconds: float,
        goal: str = "",
    ) -> tuple[tuple[ProjectTest, ...], Failure | None]:
        """Run tests on a candidate. Return their results, and the first failure that counts.

        Args:
            program: the module with the candidate in place.
            tests: the tests, with their results on the unchanged project.
            raising: returns the module with a body that only raises an exception.
            seconds: time limit of each run.
            goal: name of a test that must pass in any case.

        Raises:
            SandboxError: as `of`.
        """
        known = {test.name: test for test in tests}
        verdict = await self._run(program, known, seconds)
        found = {test.name: test for test in verdict.tests if test.name in known}
        notes = verdict.notes
        if verdict.failure is not None:
            return tuple(found.values()), verdict.failure
        for file in dict.fromkeys(name.partition("::")[0] for name in known if name not in found):
            # Some files cannot run together, for example two files with the same name. Run each of them alone.
            names = [name for name in known if name not in found and name.partition("::")[0] == file]
            verdict = await self._run(program, names, seconds)
            found |= {test.name: test for test in verdict.tests if test.name in known}
            notes = (*notes, *verdict.notes)
        # Run failing tests again, with pytest's explanations of asserts. A test that passes in this second run is
        # unstable.
        for test in (await self._run(replace(program, explained=True), _failed(found), seconds)).tests:
            if test.name in found:
                is_unstable = test.status is _PASSED
                found[test.name] = replace(test, status=ProjectTestStatus.UNSTABLE) if is_unstable else test
        for name, test in found.items():
            evades = test.skipped > known[name].skipped or test.cases < known[name].cases
            if evades or (test.status is ProjectTestStatus.NEEDS and known[name].status is _PASSED):
                why = "it skipped a test that ran before" if evades else test.error
                found[name] = replace(test, status=_FAILED, error=why)
        alike = [name for name in _failed(found) if name != goal and known[name].error == found[name].error != ""]
        other = replace(await raising(), explained=True) if alike else program
        for test in (await self._run(other, alike, seconds)).tests:
            if test.name in alike and test.status is _FAILED and test.error == found[test.name].error:
                found[test.name] = replace(found[test.name], status=ProjectTestStatus.FAILED_BEFORE)
        return tuple(found.values()), first_failure(tuple(found.values()), known, notes)

    def without_tests(self, overlays: Mapping[Path, str]) -> dict[Path, str]:
        """Remove test files and conftest files from `overlays`, because pytest reads them from disk."""
        return {path: text for path, text in overlays.items() if not (self._is_test(path) or _is_conftest(path))}

    def _ranked(self, target: Target, access: Access, once: bool) -> list[tuple[int, Path]]:
        """Return the test files that may run the target, each with a rank.

        A file that mentions the target has rank 0. A file that mentions only the target's module has the rank
        `_NAMES_MODULE`, and a file that mentions only its package has rank 2.
        """
        if not (once and self._texts):
            self._is_test = files_with_tests(self.folder)
            paths = filter(self._is_test, python_files(self.folder))
            self._texts = {path: self._text(path, access) for path in paths}
        module = target.module.name.split(".")
        words = [target.name if target.name != "__init__" else target.qualname.split(".")[0], module[-1], module[0]]
        patterns = [re.compile(rf"\b{re.escape(word)}\b") for word in words]
        ranks = {
            path: next((number for number, each in enumerate(patterns) if each.search(text)), None)
            for path, (_, text) in self._texts.items()
        }
        return sorted((rank, path) for path, rank in ranks.items() if rank is not None)

    def _text(self, path: Path, access: Access) -> tuple[tuple[int, int, int] | None, str]:
        stamp = _stamp(path)
        if (known := self._texts.get(path)) is not None and known[0] == stamp:
            return known
        try:
            return stamp, access.read(path, most=_MOST_BYTES).decode("utf-8", "replace")
        except OSError:
            return stamp, ""

    def _state(self, paths: Iterable[Path], overlays: Mapping[Path, str], access: Access) -> dict[Path, str | None]:
        """Return a digest of each file's text. A modification time and size represent a file that must not be read."""
        found: dict[Path, str | None] = {}
        for path in paths:
            if path in overlays:
                found[path] = _digest(overlays[path].encode("utf-8", "surrogatepass"))
                continue
            stamp = _stamp(path)
            if stamp is not None and self._digests.get(path, (None,))[0] != stamp:
                try:
                    self._digests[path] = stamp, _digest(access.read(path, most=_MOST_BYTES))
                except OSError:
                    self._digests[path] = stamp, repr(stamp)
            found[path] = None if stamp is None else self._digests[path][1]
        return found

    async def _run(self, program: Program, names: Collection[str], seconds: float) -> Verdict:
        if not names:
            return Verdict(None)
        return await self._host.evaluate(replace(program, tests=tuple(names)), (), timeout=seconds)


class TestsOfRequest:
    """The project's tests for one request. The search for tests runs while the model writes."""

    __test__ = False  # keeps pytest from collecting this class

    def __init__(
        self,
        project: ProjectTests,
        overlays: Mapping[Path, str],
        access: Access,
        seconds: float,
        goal: str = "",
        waiting: Callable[[str], object] = str,
        *,
        once: bool = False,
    ) -> None:
        """`seconds` is the time limit for the tests of one candidate.

        `goal` is the name of a failing test that the candidate must pass. Other tests that already fail are then left
        out. `waiting` is called with a progress message. For `once`, see `ProjectTests.of`.
        """
        self._project = project
        self._overlays = overlays
        self._access = access
        self.seconds = seconds
        self._goal = _without_case(goal)
        self._waiting = waiting
        self._once = once
        self._search: asyncio.Task[tuple[tuple[ProjectTest, ...], tuple[str, ...]]] | None = None

    def begin(self, target: Target) -> asyncio.Task[tuple[tuple[ProjectTest, ...], tuple[str, ...]]]:
        """Start the search for tests that run the target, if it has not started."""
        if self._search is None:
            found = self._project.of(target, self._overlays, self._access, self._goal, once=self._once)
            self._search = asyncio.create_task(found)
        return self._search

    def without_tests(self, program: Program) -> Program:
        """Return a program that reads the test files from disk, as pytest does."""
        return replace(program, overlays=self._project.without_tests(program.overlays))

    async def _found(self, target: Target) -> tuple[tuple[ProjectTest, ...], tuple[str, ...]]:
        search = self.begin(target)
        if not search.done():
            self._waiting(f"finding the tests that run '{target.name}'")
        return await asyncio.shield(search)

    async def close(self) -> None:
        """Cancel the search for tests."""
        if self._search is not None:
            self._search.cancel()
            await asyncio.gather(self._search, return_exceptions=True)

    async def sources(self, target: Target) -> list[str]:
        """Return the source code of tests that run the target and fail on the unchanged project.

        Raises:
            SandboxError: nothing can run, because the isolation or the interpreter is missing.
        """
        tests, _ = await self._found(target)
        return [test.source for test in tests if test.status is _FAILED and test.source]

    async def beside(self, verdict: Verdict, target: Target) -> Verdict:
        """Add the test results of the unchanged project to a verdict on unchanged code.

        Raises:
            SandboxError: nothing can run, because the isolation or the interpreter is missing.
        """
        found, notes = await self._found(target)
        tests = tuple(replace(test, entered=True) for test in found)
        failure = verdict.failure or first_failure(tests, ())
        return replace(verdict, tests=tests, failure=failure, notes=(*verdict.notes, *notes))

    async def on(self, verdict: Verdict, target: Target, candidate: Candidate, program: Program) -> Verdict:
        """Run the tests on a candidate that passed, and add their results to its verdict.

        `program` is the module with the candidate in place.

        Raises:
            SandboxError: nothing can run, because the isolation or the interpreter is missing.
        """
        from adacoder.agents.prompt import bodiless
        from adacoder.source.splice import splice

        found, notes = await self._found(target)
        if self._goal:
            goals = [replace(test, seconds=0.0) for test in found if test.name == self._goal]
            found = (*goals, *(test for test in found if test.status is not _FAILED and test.name != self._goal))
        chosen = _within(found, self.seconds)
        if more := len(found) - len(chosen):
            left = f"{counted(more, 'more test')} of '{target.name}' did not run: raise "
            notes = (*notes, Text(left, Named("testsSeconds"), ", or run pytest yourself."))
        if not (chosen or self._goal):
            return replace(verdict, notes=(*verdict.notes, *notes))
        program = await asyncio.to_thread(self.without_tests, program)

        async def raising() -> Program:
            body = "raise __import__('builtins').RuntimeError('This function was replaced.')"
            placed = await aside(splice, target, Candidate(f"{bodiless(target)}\n    {body}"))
            what = as_it_stands(replace(target, text=placed.text, definition=placed.function))
            return replace(what, overlays={**program.overlays, target.module.path: placed.text})

        tests, failure = await self._project.tried(program, chosen, raising, self.seconds, self._goal)
        for status, why in _NOT_COUNTED.items():
            names = [test.name for test in tests if test.status is status]
            if names:
                others = f" and {len(names) - 1} more" if names[1:] else ""
                notes = (*notes, f"{names[0]}{others} did not count: {why}.")
        meddles = await aside(meddling, candidate)
        if meddles is not None:
            untrusted = ProjectTestStatus.UNTRUSTED
            tests = tuple(replace(test, status=untrusted) if test.proves else test for test in tests)
            notes = (
                *notes,
                f"The code could change the results of tests (`{meddles}`), so passing tests prove nothing: read it.",
            )
        if self._goal and failure is None and not any(test.name == self._goal and test.proves for test in tests):
            message = f"It is not proved that the test {self._goal} runs '{target.name}' and passes."
            failure = Failure(FailureKind.TEST_FAILED, message)
        return replace(verdict, tests=tests, failure=failure, notes=(*verdict.notes, *notes))


_NOT_COUNTED = {
    ProjectTestStatus.NEEDS: "isolation denies a resource that the test needs",
    ProjectTestStatus.FAILED_BEFORE: "the test also fails in the same way if the function only raises an exception",
}
"""Reasons why a failed test does not count, by the test's status."""


@dataclass(frozen=True, slots=True)
class Suspects:
    """Functions that may cause a test to fail, the most suspicious first."""

    targets: tuple[tuple[Target, str], ...]
    """Each function, with the reason for the suspicion."""
    notes: tuple[str, ...] = ()
    """Messages about functions that cannot be fixed."""


def suspects_at(places: Iterable[tuple[Path, int, str]], project: Project, access: Access) -> Suspects:
    """Locate the functions that `ProjectTests.suspects` returned. Skip functions that AdaCoder cannot fix."""
    targets: list[tuple[Target, str]] = []
    notes: list[str] = []
    for path, line, why in places:
        if len(targets) == _MOST_SUSPECTS:
            break
        try:
            text = project.overlays.get(path) or access.read(path, most=_MOST_BYTES).decode("utf-8", "replace")
            targets.append((locate(text, path, project.folder, line=line - 1, bare=True), why))
        except (AdaCoderError, OSError) as error:
            notes.append(f"{below(project.folder, path).as_posix()}:{line} was left out: {error}")
    if len(notes) > _MOST_SUSPECTS:
        others = counted(len(notes) - _MOST_SUSPECTS, "more function")
        notes[_MOST_SUSPECTS:] = [f"{others} cannot be fixed either."]
    return Suspects(tuple(targets), tuple(notes))


def _within(tests: Sequence[ProjectTest], seconds: float) -> tuple[ProjectTest, ...]:
    """Select tests that together should end within a time limit."""
    chosen: list[ProjectTest] = []
    left = seconds * _SHARE
    for test in tests[:_MOST_TESTS]:
        if test.seconds <= left:
            left -= test.seconds
            chosen.append(test)
    return tuple(chosen)


def _failed(tests: Mapping[str, ProjectTest]) -> list[str]:
    return [name for name, test in tests.items() if test.status is _FAILED]


def as_it_stands(target: Target) -> Program:
    """Return the program that runs the target's module unchanged."""
    lines = Lines(target.text)
    first, last = (lines.line_at(place) + 1 for place in (target.definition.start, target.definition.end))
    return Program(target.module, target.text, target.qualname, first, last)


def running(target: Target, tests: Iterable[ProjectTest]) -> tuple[ProjectTest, ...]:
    """Return the tests that ran the target. Tests that ran the fewest other functions come first."""
    place = os.path.realpath(target.module.path), line_number(target.text, target.definition.start) + 1
    found = [test for test in tests if place in test.ran and test.status is not ProjectTestStatus.SKIPPED]
    return tuple(sorted(found, key=lambda test: (len(test.ran), test.name)))


def first_failure(tests: Sequence[ProjectTest], names: Iterable[str], notes: Sequence[str] = ()) -> Failure | None:
    """Return the first failure, or None.

    A test in `names` that did not run counts as failed. The message about this test includes the first of the `notes`.
    """
    missing = {*names} - {test.name for test in tests if test.status is not ProjectTestStatus.SKIPPED}
    failed = next((test for test in tests if test.status is _FAILED), None)
    if failed is not None:
        why = failed.error.partition("\n")[0]
        return Failure(FailureKind.TEST_FAILED, f"The test {failed.name} fails: {why}", error=failed.error, test=failed)
    if missing:
        message = " ".join([f"The test {min(missing)} did not run to its end with this function.", *notes[:1]])
        return Failure(FailureKind.TEST_FAILED, message)
    return None


def _is_conftest(path: Path) -> bool:
    return path.name == "conftest.py"


def _real(paths: Iterable[Path]) -> set[str]:
    return {os.path.realpath(path) for path in paths}


def _without_case(name: str) -> str:
    """Remove the parameters in brackets from a test's name. Brackets in the path before `::` are kept."""
    path, separator, rest = name.partition("::")
    return path + separator + rest.partition("[")[0]


def _around(path: Path, folder: Path) -> Iterator[Path]:
    """Yield the configuration files that affect how pytest runs a test file."""
    for parent in path.parents:
        yield from (parent / name for name in ("conftest.py", *CONFIGURATION))
        if parent == folder or not parent.is_relative_to(folder):
            break


def _digest(data: bytes) -> str:
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116  # called for many files
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
