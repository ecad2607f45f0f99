"""`adacoder check`: run the examples of a workspace, of folders, of files or of single functions.

Several docstrings are evaluated at a time. Their results are shown in the order of the file.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from adacoder import report
from adacoder.aside import aside
from adacoder.checks import Checks
from adacoder.cli import COULD_NOT_RUN
from adacoder.cli.choices import Choices, Told
from adacoder.cli.findings import Checked, NotChecked, View
from adacoder.cli.output import shown_path
from adacoder.cli.place import Place
from adacoder.domain import AdaCoderError, Outcome, Status, TargetError
from adacoder.messages import counted
from adacoder.privacy.access import Access
from adacoder.privacy.private_names import Wishes
from adacoder.project import (
    PAGES,
    Project,
    Skipped,
    below,
    folder_of,
    is_page,
    module_of,
    project_around,
    python_files,
)
from adacoder.sandbox.probe import probe
from adacoder.settings import Settings
from adacoder.settings.pytest_files import files_with_tests
from adacoder.source.accepting import outputs
from adacoder.source.conftests import Ignored, conftests, ignoring
from adacoder.source.dunder_test import NAME as DUNDER_TEST
from adacoder.source.locate import (
    Documented,
    documented,
    documented_at,
    functions,
    loose_texts,
    may_have_examples,
    must_run,
    out_of_reach,
)
from adacoder.source.pages import page
from adacoder.source.text import SourceFile, read
from adacoder.task import Task

if TYPE_CHECKING:
    from adacoder.changed import Changed
    from adacoder.cli.report_file import ReportFile
    from adacoder.source.changes import Change

T = TypeVar("T")

FAILED = 1
"""Exit code if a docstring fails."""
_AHEAD = 500
"""Maximum number of checks in progress. The evaluator runs a few of them at a time; the others wait."""


_PYTHON = frozenset({"", ".py", ".pyi", ".pyw"})
"""Suffixes of files to check. A file without a suffix may be a Python script."""
_NOTHING = "No examples found, so nothing was checked."
_MOST_NAMED = 8
"""Maximum number of skipped files, folders and links that the last line names."""
_SWITCH_SECONDS = 0.0005
"""Seconds between switches of threads. A short interval lets the event loop answer many small messages fast."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A docstring to check."""

    documented: Documented
    folder: Path
    """The workspace of the docstring."""
    settings: Settings
    is_named: bool
    """True if the user named the docstring. The check then fails if the examples prove nothing."""
    change: Change | None = None
    """The change that made this check necessary; None if all docstrings are checked."""

    @property
    def task(self) -> Task:
        return Task(self.documented.target, self.settings, Project(self.folder))


class Checking:
    """One run of `adacoder check`."""

    def __init__(
        self,
        values: Mapping[str, object],
        view: View,
        *,
        covers: bool = False,
        tested: bool = False,
        reads_pages: bool = False,
        updates: bool = False,
        writes: bool = False,
        changed: Changed | None = None,
        selects: Callable[[str], bool] | None = None,
        exits_first: bool = False,
        junit: Path | None = None,
        sarif: Path | None = None,
        allows_empty: bool = False,
    ) -> None:
        """Args:
        values: maps fields of Settings to the values of options; None means that an option is not given.
        view: shows the results.
        covers: True to report the code that no example reaches.
        tested: True to also run the project's tests that run a function.
        updates: True to show a diff that replaces the expected outputs of failed examples by the actual outputs.
        writes: True to apply this diff to the files.
        changed: finds the functions that changed since a commit. Only these are checked. None to check everything.
        reads_pages: True to also check a folder's pages of documentation.
        selects: returns True to check the docstring at a place such as `a.py::f`; None to check all docstrings.
        exits_first: True to stop at the first docstring that fails.
        junit: the file for a JUnit report; None for no report.
        sarif: the file for a SARIF report; None for no report.
        allows_empty: True to accept files and folders without examples.
        """
        self._tell = Told()
        self._choices = Choices(values, self._tell)
        self._view = view
        self._covers = covers
        self._tested = tested
        self._reads_pages = reads_pages
        self._updates = updates
        self._writes = writes
        self._outdated: list[tuple[Task, Outcome]] = []
        """Docstrings with failed examples, for `--update`."""
        self._selects = selects
        self._exits_first = exits_first
        self._left_by_keyword = 0
        self._is_selected = False
        """True if a docstring was selected."""
        self._has_failed = self._is_cut = False
        self._checks = Checks()
        self._begun: set[Path] = set()
        """Workspaces for which an evaluation process was already started."""
        self._codes = [0]
        self._reports = {"junit": junit, "sarif": sarif}
        self._allows_empty = allows_empty or changed is not None
        self._changed = changed
        self._bare: dict[Path, Sequence[str]] = {}
        """Changed functions without examples, by file."""
        self._found: list[Checked] = []
        self._shown: list[Checked] = []
        """The results of all docstrings. `_found` leaves out docstrings whose examples could not run."""
        self._left: list[NotChecked] = []
        self._skipped: list[Skipped] = []
        self._excluded: dict[Path, str] = {}
        """Files that are not checked, each with the reason."""
        self._ignored: dict[Path, list[Ignored]] = {}
        """For each folder, the files that a `conftest.py` excludes."""
        self._loose: dict[Path, list[int]] = {}
        """Line numbers, by file, of strings that contain examples but are not docstrings."""
        self._silent: dict[Path, dict[Path, str]] = {}
        """Texts of files without examples to run, by workspace and path. Only syntax errors in these files are
        reported.
        """
        self._parsing: list[asyncio.Task[Mapping[Path, str]]] = []
        """Searches for syntax errors in `_silent`, which run while the last examples do."""

    async def carry_out(self, places: Sequence[Place]) -> int:
        """Check all docstrings at `places`, by default in the whole workspace. Return the exit code."""
        sys.setswitchinterval(_SWITCH_SECONDS)
        here = Path.cwd()
        places = places or [Place(project_around(here) or here)]
        began = time.monotonic()
        files: dict[str, ReportFile] = {}
        try:
            for form, path in self._reports.items():
                if path is not None:
                    from adacoder.cli.report_file import ReportFile

                    files[form] = ReportFile(path)
            return await self._carried_out(places, began, files)
        finally:
            self._view.finish()
            for file in files.values():
                file.close()

    async def _carried_out(self, places: Sequence[Place], began: float, files: Mapping[str, ReportFile]) -> int:
        try:
            await self._check_all(self._units(places))
            if self._is_cut:
                self._tell("Stopped at the first failure: to check the other docstrings, leave out -x.")
            else:
                for broken in self._parsing:
                    await self._report(broken)
            await self._name_changes()
            self._name_left()
            self._view.close()
            if self._outdated:
                from adacoder.cli.updating import Updating

                await Updating(self._tell, writes=self._writes).update(self._outdated)
        except AdaCoderError as error:
            self._could_not_run(str(error))
        finally:
            self._view.close()
            await _ended(self._parsing)
            await self._checks.close()
        for form, file in files.items():
            file.write(_rendered(form)(self._shown, self._left, time.monotonic() - began))
        if self._found:
            await probe(keeps=True)  # save the isolation that works here, so that the next `check` starts faster
            unread = {each.path for each in self._left if not (each.is_skipped or each.weakens)}
            unread |= {each.outcome.target.module.path for each in self._shown if each.outcome.status is Status.ERROR}
            self._view.end(self._found, time.monotonic() - began, len(unread))
        elif self._left_by_keyword and not self._is_selected:
            self._could_not_run(f"-k matches none of {counted(self._left_by_keyword, 'docstring')}: change it.")
        elif max(self._codes) == 0:
            since = self._changed and self._changed.since
            self._tell(f"Nothing to check: no docstring with examples changed since {since}." if since else _NOTHING)
        if self._left_by_keyword and self._is_selected:
            self._tell(f"Left out by -k: {counted(self._left_by_keyword, 'docstring')}.")
        return max(self._codes)

    @property
    def _is_stopped(self) -> bool:
        return self._exits_first and self._has_failed

    async def _check_all(self, units: AsyncIterator[Unit]) -> None:
        running: deque[tuple[Unit, asyncio.Task[Checked]]] = deque()
        try:
            async for unit in units:
                running.append((unit, asyncio.create_task(self._check(unit))))
                await asyncio.sleep(0)  # let running checks continue
                if len(running) == _AHEAD or (self._exits_first and running[0][1].done()):
                    await self._show_first(running)
                if self._is_stopped:
                    break
            else:
                self._parsing += (
                    asyncio.create_task(self._unparsed(texts, folder)) for folder, texts in self._silent.items()
                )
            while running and not self._is_stopped:
                await self._show_first(running)
            self._is_cut = bool(running) or (self._is_stopped and await anext(units, None) is not None)
        finally:
            await _ended([task for _, task in running])

    async def _check(self, unit: Unit) -> Checked:
        checks, covers, tested = self._checks, self._covers, self._tested
        if unit.change is not None and self._changed is not None:
            outcome, change = await self._changed.check(checks, unit.task, unit.change, covers=covers, tested=tested)
            return Checked(outcome, unit.folder, unit.is_named, change)
        unreadable = unit.documented.unreadable
        outcome = await checks.check(unit.task, unreadable, once=True, covers=covers, tested=tested)
        return Checked(outcome, unit.folder, unit.is_named)

    async def _show_first(self, running: deque[tuple[Unit, asyncio.Task[Checked]]]) -> None:
        unit, task = running[0]
        self._view.waits_for(unit.documented.target)
        found = await task
        running.popleft()
        one = unit.documented
        if self._tested and not (unit.is_named or one.unreadable or one.target.examples or found.outcome.tests[1]):
            for note in report.notes(found.outcome):
                self._tell(note)
            if found.outcome.status is not Status.ERROR:
                return  # neither an example nor a test runs this function
        self._view.show(found)
        self._shown.append(found)
        outcome = found.outcome
        if outcome.status is Status.ERROR:
            self._could_not_run(report.summary(outcome), FAILED if found.does_not_parse else COULD_NOT_RUN)
            return
        self._found.append(found)
        if self._updates and outputs(outcome.verdict.results if outcome.verdict else ()):
            self._outdated.append((unit.task, outcome))
        if found.fails:
            self._codes.append(FAILED)
            self._has_failed = True

    async def _units(self, places: Sequence[Place]) -> AsyncIterator[Unit]:
        """Yield each docstring to check once. Report the files that cannot be read."""
        seen: set[tuple[Path, int]] = set()
        for place in places:
            files, troubles = 0, len(self._left)
            excluded = len(self._excluded)
            async for path in self._files(place):
                files += 1
                try:
                    units = await self._in_file(path, place)
                except AdaCoderError as error:
                    self._could_not_read(str(error), path)
                    continue
                for unit in units:
                    key = path, unit.documented.target.docstring_span.start
                    if self._selects is not None and not self._selects(
                        report.label(unit.documented.target, unit.folder)
                    ):
                        self._left_by_keyword += 1
                        continue
                    self._is_selected = True
                    if key not in seen:
                        seen.add(key)
                        yield unit
            files += len(self._excluded) - excluded
            if not (files or self._allows_empty or troubles < len(self._left)):
                remedy = "name another folder"
                if not self._reads_pages and any(python_files(place.path, suffixes=PAGES)):
                    remedy = "add `--pages` to check its Markdown and reStructuredText files"
                self._could_not_read(f"There is no Python file in {place.path}: {remedy}.", place.path)

    async def _files(self, place: Place) -> AsyncIterator[Path]:
        suffixes = {".py", *(PAGES if self._reads_pages else ())}
        found: Iterable[Path] = [place.path]
        if _is_folder(place):
            found = python_files(place.path, self._could_not_read, skip=self._skipped.append, suffixes=suffixes)
        if self._changed is not None:
            found = await self._changed.differing(place.path, list(found), suffixes | {place.path.suffix})
        for path in found:
            if not _is_folder(place) or await self._is_wanted(path, place.path):
                yield path

    async def _is_wanted(self, path: Path, top: Path) -> bool:
        """Return False for a file that the setting `exclude` or a `conftest.py` excludes."""
        folder = project_around(path.parent) or top
        settings = self._choices.settings(folder)
        if settings.exclude and Wishes(hide=settings.exclude).hides(below(folder, path).parts):
            self._excluded[path] = "Excluded, as `exclude` says."
        elif (ignored := await self._ignored_in(path.parent, folder, settings)) and (
            conftest := await asyncio.to_thread(ignoring, path, ignored)
        ):
            self._excluded[path] = f"Excluded, as {shown_path(conftest)} says."
        return path not in self._excluded

    async def _ignored_in(self, folder: Path, top: Path, settings: Settings) -> list[Ignored]:
        """Return the files in a folder that each `conftest.py` excludes. The nearest `conftest.py` is first."""
        if folder not in self._ignored:
            texts = conftests(folder, top, Access((top,), settings.wishes))
            found = [
                await self._checks.ignored(path, text, settings, Project(top))
                for path, text in texts
                if "collect_ignore" in text
            ]
            for trouble in filter(None, (each.trouble for each in found)):
                self._tell(trouble)
            self._ignored[folder] = found
        return self._ignored[folder]

    async def _in_file(self, path: Path, place: Place) -> list[Unit]:
        if self._changed is not None:
            return await self._in_changed(path, place, self._changed)
        file = _read(path)
        if is_page(path):
            return await self._in_page(file, place)
        folder = folder_of(file.path, file.text)
        settings = self._choices.settings(folder)
        units = await self._units_of(file, place, folder, settings)
        if any(self._tested or _runs(unit.documented) for unit in units):
            return units  # the run of the examples also reports syntax errors
        if _is_folder(place):
            self._silent.setdefault(folder, {})[path] = file.text
        elif await self._must_parse({path: file.text}, folder) and not (units or self._allows_empty):
            raise TargetError(f"No docstring in {path} has an example: write one, such as `>>> f(2)` above its output.")
        return units

    async def _in_changed(self, path: Path, place: Place, changed: Changed) -> list[Unit]:
        try:
            file = _read(path)
            folder = (project_around(path.parent) or path.parent) if is_page(path) else folder_of(path, file.text)
            settings = self._choices.settings(folder)
            Access.around(module_of(path, file.text, folder), folder, settings.wishes).require(path)
        except AdaCoderError as error:  # the change may have made the examples unreadable
            self._could_not_read(str(error), path, FAILED)
            return []
        found = await changed.compare(file, folder, every_function=self._tested and not files_with_tests(folder)(path))
        named = None if place.is_whole_file else await aside(_named, place, file, folder)
        units = [
            Unit(each.now, folder, settings, is_named=False, change=each)
            for each in found.changes
            if named is None or each.now.target.docstring_span == named.target.docstring_span
        ]
        if found.bare and named is None:
            self._bare[path] = found.bare
        if not (is_page(path) or any(self._tested or _runs(unit.documented) for unit in units)):
            self._silent.setdefault(folder, {})[path] = file.text
        return units

    async def _in_page(self, file: SourceFile, place: Place) -> list[Unit]:
        if not place.is_whole_file:
            raise TargetError(f"{file.path} is checked as a whole: name it without a line or a function.")
        folder = project_around(file.path.parent) or file.path.parent
        found = await aside(page, file.text, file.path, folder)
        if found is not None:
            return [Unit(found, folder, self._choices.settings(folder), is_named=False)]
        if not (_is_folder(place) or self._allows_empty):
            raise TargetError(f"{file.path} has no example: write one, such as `>>> f(2)` above its output.")
        return []

    async def _units_of(self, file: SourceFile, place: Place, folder: Path, settings: Settings) -> list[Unit]:
        path = file.path
        if place.is_whole_file and not (self._tested or may_have_examples(file.text)):
            must_run(path)
            return []
        if folder not in self._begun:  # start an evaluation process now, while the docstrings are read
            self._begun.add(folder)
            await self._checks.begin(module_of(path, file.text, folder), settings, Project(folder))
        if not place.is_whole_file:
            try:
                named = await aside(_named, place, file, folder)
            except TargetError:
                if await self._must_parse({path: file.text}, folder):
                    raise
                return []
            return [Unit(named, folder, settings, is_named=True)]
        found, unread, loose = await aside(_with_examples, file, folder, self._tested)
        for why in unread:
            self._leave(NotChecked(why, path, is_skipped=True))
        if loose:
            self._loose[path] = loose
        return [Unit(one, folder, settings, is_named=False) for one in found]

    async def _unparsed(self, texts: Mapping[Path, str], folder: Path) -> Mapping[Path, str]:
        """Return the files among `texts` that do not parse, each with the reason. Raise AdaCoderError as `Checks`."""
        return await self._checks.unparsed(texts, self._choices.settings(folder), Project(folder))

    async def _must_parse(self, texts: Mapping[Path, str], folder: Path) -> bool:
        """Report the files among `texts` that do not parse. Return True if all of them parse."""
        return await self._report(self._unparsed(texts, folder))

    async def _report(self, broken: Awaitable[Mapping[Path, str]]) -> bool:
        """Report the files that `_unparsed` finds. Return True if there are none."""
        try:
            found = await broken
        except AdaCoderError as error:
            self._could_not_read(str(error))
            return False
        for path, why in found.items():
            self._could_not_read(why, path, FAILED if self._changed else COULD_NOT_RUN)
        return not found

    def _could_not_read(self, message: str, path: Path | None = None, code: int = COULD_NOT_RUN) -> None:
        left = NotChecked(message, path, fails=code == FAILED)
        if left not in self._left:  # the user may name the same file twice
            self._left.append(left)
        self._could_not_run(message, code)

    async def _name_changes(self) -> None:
        """Report changes that weaken examples, and changed functions without examples."""
        changed = self._changed
        if changed is None:
            return
        for each in await changed.weakened():
            keeps = changed.keeps
            self._leave(NotChecked(each.what, each.path, is_skipped=not keeps, weakens=True, fails=keeps))
        for path, reason in sorted(changed.skipped.items()):
            self._leave(NotChecked(reason, path, is_skipped=True))
        for path, names in self._bare.items():
            self._leave(NotChecked(f"Changed without examples: {_listed(names)}.", path, is_skipped=True))
        for path in self._excluded:
            self._tell(f"{shown_path(path)}: Changed, but excluded.")

    def _leave(self, left: NotChecked) -> None:
        self._left.append(left)
        self._codes.append(0 if left.is_skipped else FAILED)
        self._tell(left.reason if left.path is None else f"{shown_path(left.path)}: {left.reason}")

    def _name_left(self) -> None:
        """Report the files and folders that were not checked. All skipped ones are named in one line."""
        skipped = sorted(set(self._skipped), key=lambda each: each.path)
        for each in skipped:
            reason = f"Skipped ({each.why}): name it to check it."
            self._left.append(NotChecked(reason, each.path, is_skipped=True))
        self._left += [NotChecked(why, path, is_skipped=True) for path, why in self._excluded.items()]
        for path, lines in self._loose.items():
            numbers = ", ".join(map(str, lines[:_MOST_NAMED])) + (", …" if len(lines) > _MOST_NAMED else "")
            reason = f"{counted(len(lines), 'text')} with examples, but no docstring: line {numbers}."
            self._left.append(NotChecked(reason, path, is_skipped=True))
        for left in self._left:
            self._view.leave_out(left)
        if self._loose:
            texts = counted(sum(map(len, self._loose.values())), "text")
            self._tell(f"Not checked: {texts} with examples that are not docstrings, in {_named_files(self._loose)}.")
        if self._excluded:
            self._tell(f"Excluded: {counted(len(self._excluded), 'file')}.")
        if skipped:
            here = Path.cwd()
            names = [f"{below(here, each.path)} ({each.why})" for each in skipped[:_MOST_NAMED]]
            more = f" and {len(skipped) - _MOST_NAMED} more" if len(skipped) > _MOST_NAMED else ""
            self._tell(f"Skipped: {', '.join(names)}{more}. To check one, name it.")

    def _could_not_run(self, message: str, code: int = COULD_NOT_RUN) -> None:
        self._codes.append(code)
        self._tell(message)


async def _ended(tasks: Sequence[asyncio.Task[T]]) -> None:
    """Cancel tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _rendered(form: str) -> Callable[[Sequence[Checked], Sequence[NotChecked], float], bytes]:
    """Return the function that writes a report. Its module is imported only if the user wants this report."""
    if form == "junit":
        from adacoder.cli.junit import as_junit

        return as_junit
    from adacoder.cli.sarif import as_sarif

    return as_sarif


def _named_files(paths: Iterable[Path]) -> str:
    return _listed(sorted(map(str, map(shown_path, paths))), "more file")


def _listed(names: Sequence[str], others: str = "other") -> str:
    more = f" and {counted(len(names) - _MOST_NAMED, others)}" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def _is_folder(place: Place) -> bool:
    return place.is_whole_file and os.path.isdir(place.path)  # noqa: PTH112  # is_dir() may raise


def _read(path: Path) -> SourceFile:
    if path.suffix not in _PYTHON | PAGES and os.path.isfile(path):  # noqa: PTH113  # is_file() may raise
        raise TargetError(f"{path} is not a Python file: name a .py, .md or .rst file, or a folder.")
    return read(path)


def _runs(one: Documented) -> bool:
    return one.unreadable is None and any(not example.skipped for example in one.target.examples)


def _with_examples(
    file: SourceFile, folder: Path, every_function: bool
) -> tuple[list[Documented], list[str], list[int]]:
    """Return three items: docstrings with examples, reasons, and line numbers.

    The reasons say why examples in `__test__` cannot be read. The line numbers belong to strings that contain examples
    but are not docstrings. `every_function` adds functions without examples to the first item.
    """
    found = [one for one in documented(file.text, file.path, folder) if one.target.examples or one.unreadable]
    unread = [reason for name, _, _, reason in out_of_reach(file.text) if name == DUNDER_TEST]
    if files_with_tests(folder)(file.path):
        return found, unread, []
    if every_function:
        starts = {one.target.docstring_span.start for one in found}
        others = (one for one in functions(file.text, file.path, folder) if not one.target.is_stub)
        found += [one for one in others if one.target.docstring_span.start not in starts]
    return found, unread, loose_texts(file.text)


def _named(place: Place, file: SourceFile, folder: Path) -> Documented:
    return documented_at(file.text, file.path, folder, place.line, place.qualname)
