"""Check the docstrings that a change since a commit affects.

A docstring is affected if its code, its examples, or code that it uses has changed. The examples of the commit also run
on the new code. So a failure cannot be hidden by removing an example.
"""

from __future__ import annotations

import asyncio
import glob
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from adacoder.aside import aside
from adacoder.checks import Checks
from adacoder.domain import Example, Outcome, ProjectTestStatus, Status, Target, TargetError
from adacoder.messages import counted
from adacoder.privacy.access import Access
from adacoder.privacy.private_names import Wishes
from adacoder.project import Project, below, is_never_own, python_files
from adacoder.revisions import Revision, repository_around, revision_of
from adacoder.settings import Settings, from_tables, tables_in
from adacoder.source.changes import Change, ChangeResult, FileChanges, Why, file_changes, renamed
from adacoder.source.text import LONGEST, SourceFile, decoded
from adacoder.task import Task

_FAILED = frozenset({Status.PARTIAL, Status.FAILED, Status.DENIED})
_SUBMODULE = "Skipped, because a submodule is a repository of its own: name it to check it."
_OF_EXAMPLES = ("exclude", "hide", "doctest_options", "doctest_setup", "env", "timeout", "tests")
"""Settings of a project that decide which examples run, and how."""
_CONFTEST = ("collect_ignore", "doctest_namespace")
"""Variables in a `conftest.py` that decide which examples run, and how."""


@dataclass(frozen=True, slots=True)
class Weakened:
    """A change that makes the examples prove less than before."""

    path: Path
    what: str
    """One sentence that describes the change."""


class Changed:
    """Finds and checks the docstrings that changed since a commit."""

    def __init__(self, base: str | None = None, *, reaches: bool = True, keeps: bool = False) -> None:
        """Choose the commit and the checks.

        Args:
            base: the commit to compare with, as in `revision_of`. If None, HEAD.
            reaches: True to also check an unchanged function that uses changed code of the same file.
            keeps: True to report a failure if the code does not pass an example that was removed or edited.
        """
        self._base = base
        self._name = base or "HEAD"
        self._reaches = reaches
        self.keeps = keeps
        self._revisions: dict[Path, Revision] = {}
        """The commit in each repository. The keys are the top folders of the repositories."""
        self._before: dict[Path, str | None] = {}
        """The commit's texts of the files that differ. None for a new file, and for a file that is not text."""
        self._weakened: dict[Weakened, None] = {}
        self._gone: list[tuple[Weakened, Target, frozenset[str]]] = []
        """Docstrings that no longer exist, with the names that the file defines now."""
        self._new: list[Target] = []
        """New docstrings whose examples were run. Each may be an earlier docstring under a new name."""
        self._projects: dict[Path, dict[Path, str | None]] = {}
        """For each workspace, the commit's texts of all Python files that differ."""
        self._same_data: dict[Path, bool] = {}
        """For each workspace, True if all files other than Python files are unchanged."""
        self._reading = asyncio.Lock()
        self.skipped: dict[Path, str] = {}
        """Folders and files that were not checked. The values are sentences with the reason."""

    @property
    def since(self) -> str:
        """The commit as shown to the user, such as `HEAD (1a2b3c4)`."""
        known = dict.fromkeys(f"{each.name} ({each.commit[:7]})" for each in self._revisions.values())
        return ", ".join(known)

    async def weakened(self) -> Sequence[Weakened]:
        """Return the changes after which the examples prove less.

        Renamed docstrings are left out.
        """

        def lost() -> list[Weakened]:
            return [
                what
                for what, target, defined in self._gone
                if all(renamed(target, new, defined) is None for new in self._new)
            ]

        return list(dict.fromkeys([*self._weakened, *await asyncio.to_thread(lost)]))

    async def differing(self, top: Path, files: Sequence[Path], suffixes: Collection[str]) -> list[Path]:
        """Return the `files` that differ from the commit.

        `weakened` reports removed files and changed settings. `skipped` has the files that are not checked.

        Args:
            top: the folder or file to check.
            files: the files in `top` that a check would read.
            suffixes: the suffixes of the files to compare.

        Raises:
            TargetError: the commit cannot be read.
        """
        revision = await self._revision(_folder(top))
        differ, absent, settings = await asyncio.to_thread(_compared, revision, top, files, suffixes)
        gone = await _gone(revision, absent)
        if left := len(absent) - len(gone):
            self.skipped[top] = f"Skipped {counted(left, 'file')} that git has not checked out."
        absent = gone
        places = {path: revision.place(path) for path in (*differ, *settings)} | absent
        contents = await revision.texts(dict.fromkeys(places.values()))
        for path, place in places.items():
            self._before[path] = _decoded(path, contents.get(place))
            if place in contents and self._before[path] is None:
                self._weaken(path, f"Its text in {self._name} is too long or not text, so nothing was compared.")
        for path, place in absent.items():
            await self._left_out(path, place)
        for path in settings:
            await self._note_settings(path, revision)
        for each in filter(None, map(revision.submodule, files)):
            self.skipped[revision.folder / each] = _SUBMODULE
        return differ

    async def _revision(self, folder: Path) -> Revision:
        top = repository_around(folder)
        if top not in self._revisions:
            self._revisions[top] = await revision_of(top, self._base)
        return self._revisions[top]

    async def _left_out(self, path: Path, place: str) -> None:
        """Store the examples of a file that was removed, or that is no longer checked."""
        here = await asyncio.to_thread(os.path.lexists, path)
        if here and is_never_own(Path(place).parts):
            return  # the file was not checked before either
        for target in (await aside(file_changes, self._before[path], None, path, path.parent, False, False)).gone:
            what = "is no longer checked, with" if here else "was removed with its file and"
            weakened = Weakened(path, f"{target.name} {what} {_counted(target)}.")
            self._gone.append((weakened, target, frozenset([target.qualname.partition(".")[0]] if here else [])))

    async def _note_settings(self, path: Path, revision: Revision) -> None:
        now = await asyncio.to_thread(_text, path, _access(revision))
        before = self._before[path] or ""
        if path.name == "conftest.py":
            if any(name in before + now for name in _CONFTEST):
                self._weaken(path, f"It changed since {revision.name}, and it decides which examples run, and how.")
            return
        old, new = (_settings(text, path) for text in (before, now))
        names = [name for name in _OF_EXAMPLES if getattr(old, name) != getattr(new, name)]
        if names:
            self._weaken(path, f"It changed settings of the examples since {revision.name}: {', '.join(names)}.")

    def _weaken(self, path: Path, what: str) -> None:
        self._weakened[Weakened(path, what)] = None

    async def compare(self, file: SourceFile, folder: Path, *, every_function: bool) -> FileChanges:
        """Compare a file with the commit. The file must be in the result of `differing`."""
        before = self._before.get(file.path)
        found = await aside(file_changes, before, file.text, file.path, folder, self._reaches, every_function)
        for target in found.gone:
            what = f"{target.name} was removed with {_counted(target)}, or its docstring was."
            self._gone.append((Weakened(file.path, what), target, found.defined))
        return found

    async def check(
        self, checks: Checks, task: Task, change: Change, *, covers: bool = False, tested: bool = False
    ) -> tuple[Outcome, ChangeResult]:
        """Check a docstring. Also run its earlier examples and its earlier code.

        `covers` and `tested` mean the same as in `Checks.check`.
        """
        outcome = await checks.check(task, change.now.unreadable, once=True, covers=covers, tested=tested)
        if outcome.status is Status.ERROR:
            return outcome, ChangeResult(change.why, change.altered)
        if change.before is None and (outcome.status in _FAILED or _passes(outcome)):
            self._new.append(task.target)
        lost = await self._lost(checks, task, change, outcome, tested=tested)
        has_failed = outcome.status in _FAILED
        failed_before = False
        if change.before is not None and (has_failed or lost) and await self._has_same_data(task.project.folder):
            earlier = await self._earlier(checks, task, change.before, tested=tested)
            failed_before = _is_no_worse(outcome, lost, earlier)
        fails = has_failed and not (failed_before and change.why is Why.REACHED)
        fails = fails or bool(self.keeps and lost and not failed_before)
        found = ChangeResult(change.why, change.altered, lost, failed_before, fails)
        told = notes(found, self._name)
        return replace(outcome, notes=(*outcome.notes, *told)), found

    async def _lost(
        self, checks: Checks, task: Task, change: Change, outcome: Outcome, *, tested: bool
    ) -> tuple[Example, ...]:
        """Run the earlier examples on the current code. Return the examples that fail.

        If the earlier examples no longer prove the function, return all earlier examples that show an output.
        """
        if change.before is None or not (change.altered or outcome.status is Status.UNVERIFIED):
            return ()
        target = replace(task.target, examples=change.before.examples)
        found = await checks.check(Task(target, task.settings, task.project), once=True)
        is_proof = found.status is not Status.UNVERIFIED
        if not is_proof and (await self._earlier(checks, task, change.before, tested=tested)).status is found.status:
            return ()
        return not_passed(found) if is_proof else tuple(each for each in found.target.examples if each.has_want)

    async def _has_same_data(self, folder: Path) -> bool:
        """Return whether all files other than Python files are unchanged.

        The earlier code may need their earlier contents.
        """
        async with self._reading:
            if folder not in self._same_data:
                self._same_data[folder] = await asyncio.to_thread(_is_same_data, await self._revision(folder), folder)
        return self._same_data[folder]

    async def _texts(self, folder: Path) -> dict[Path, str | None]:
        """Return the commit's texts of all Python files in `folder` that differ. The text of a new file is None."""
        revision = await self._revision(folder)
        files = await asyncio.to_thread(lambda: list(python_files(folder)))
        differ, absent, _ = await asyncio.to_thread(_compared, revision, folder, files, {".py"})
        places = {path: revision.place(path) for path in differ} | await _gone(revision, absent)
        contents = await revision.texts(dict.fromkeys(places.values()))
        return {path: _decoded(path, contents.get(place)) for path, place in places.items()}

    async def _earlier(self, checks: Checks, task: Task, before: Target, *, tested: bool) -> Outcome:
        """Check the earlier version of a docstring, in the commit's version of the project.

        Files that are new since the commit are hidden, because the earlier code could import such a file.
        """
        folder, settings = task.project.folder, task.settings
        async with self._reading:
            if folder not in self._projects:
                self._projects[folder] = await self._texts(folder)
        texts = self._projects[folder]
        new = tuple(f"/{glob.escape(below(folder, path).as_posix())}" for path, text in texts.items() if text is None)
        project = Project(folder, {path: text for path, text in texts.items() if text is not None})
        return await checks.check(Task(before, replace(settings, hide=(*settings.hide, *new)), project), tested=tested)


def not_passed(outcome: Outcome) -> tuple[Example, ...]:
    """Return the examples that did not pass. Skipped examples without an output are not included."""
    passed = _passed(outcome)
    examples = (each for each in outcome.target.examples if each.has_want or not each.skipped)
    return tuple(each for each in examples if each not in passed)


def notes(found: ChangeResult, since: str) -> list[str]:
    """Return sentences for the user about a change."""
    altered, told = found.altered, []
    parts = [(altered.removed, "removed"), (altered.edited, "edited")]
    counts = ", ".join(f"{counted(len(examples), 'example')} {what}" for examples, what in parts if examples)
    if counts or altered.preceded:
        told.append(f"Since {since}: {counts or 'an example was put before the others'}.")
    if found.lost:
        told.append(
            f"The code does not pass {counted(len(found.lost), 'example')} of {since}: {_brief(found.lost[0])}."
        )
    if found.failed_before:
        told.append("The earlier code does not pass either." if found.lost else "It failed before as well.")
    return told


def _decoded(path: Path, data: bytes | None) -> str | None:
    with suppress(TargetError):
        return None if data is None else decoded(path, data).text
    return None


def _counted(target: Target) -> str:
    return counted(sum(not each.skipped for each in target.examples), "example")


def _inside(revision: Revision, top: Path) -> list[str]:
    """Return the paths of the commit's files in the folder `top`. `top` may also be a file."""
    is_folder = _folder(top) == top
    below = revision.place(top / "_").removesuffix("_") if is_folder else revision.place(top)
    return [place for place in revision.files if (place.startswith(below) if is_folder else place == below)]


def _is_same_data(revision: Revision, folder: Path) -> bool:
    data = (place for place in _inside(revision, folder) if Path(place).suffix != ".py")
    return not any(revision.differs(revision.folder / place) for place in data)


def _folder(top: Path) -> Path:
    return top if os.path.isdir(top) else top.parent  # noqa: PTH112  # is_dir() may raise


def _brief(example: Example) -> str:
    return f"line {example.line + 1}, `{example.source.strip().splitlines()[0][:60]}`"


def _compared(
    revision: Revision, top: Path, files: Sequence[Path], suffixes: Collection[str]
) -> tuple[list[Path], dict[Path, str], list[Path]]:
    """Compare files with the commit. Return three collections of paths.

    The first contains the `files` that differ. The second contains files of the commit that differ or are missing, but
    are not in `files`. The third contains files with settings that differ.
    """
    known = {revision.place(each): each for each in files}
    differ = [each for each in files if revision.submodule(each) is None and revision.differs(each)]
    absent = {
        path: place
        for place in _inside(revision, top)
        if place not in known and Path(place).suffix in suffixes
        if revision.differs(path := revision.folder / place)
    }
    folders = {above for each in (top / "_", *differ, *absent) for above in _above(each, revision)}
    settings = sorted(folder / name for folder in folders for name in ("pyproject.toml", "conftest.py"))
    return differ, absent, [each for each in settings if revision.differs(each)]


async def _gone(revision: Revision, absent: dict[Path, str]) -> dict[Path, str]:
    """Return the files in `absent`, except files that git did not check out (sparse checkout)."""
    left = await revision.not_checked_out() if absent else frozenset()
    return await asyncio.to_thread(_without, absent, left) if left else absent


def _without(absent: Mapping[Path, str], left: Collection[str]) -> dict[Path, str]:
    return {path: place for path, place in absent.items() if place not in left or os.path.lexists(path)}


def _above(path: Path, revision: Revision) -> Iterable[Path]:
    parts = Path(revision.place(path)).parts[:-1]
    return (revision.folder.joinpath(*parts[:count]) for count in range(len(parts) + 1))


def _access(revision: Revision) -> Access:
    return Access([revision.folder], Wishes(show=("pyproject.toml",)))  # read the settings, even next to a secret


def _text(path: Path, access: Access) -> str:
    with suppress(OSError):
        return access.read(path, most=LONGEST).decode("utf-8", "replace")
    return ""


def _settings(text: str, path: Path) -> Settings:
    with suppress(ValueError, RecursionError):
        return from_tables(Settings(), tables_in(text), path)
    return Settings()


def _is_no_worse(now: Outcome, lost: Iterable[Example], before: Outcome) -> bool:
    """Return whether every example that fails now also failed before."""
    if before.status not in _FAILED:
        return False
    return {(each.source, each.want) for each in lost} | _failing(now) <= _failing(before)


def _passes(outcome: Outcome) -> bool:
    return _passed(outcome).issuperset(outcome.target.examples)


def _passed(outcome: Outcome) -> set[Example]:
    return {each.example for each in (outcome.verdict.results if outcome.verdict else ()) if each.matched}


def _failing(outcome: Outcome) -> set[tuple[str, str]]:
    """Return what failed: examples by source and expected output, and tests by name.

    Any other failure is identified by its kind and message.
    """
    verdict = outcome.verdict
    if outcome.status not in _FAILED or verdict is None:
        return set()
    passed = {each.example for each in verdict.results if each.matched or each.skipped}
    failing = {(each.source, each.want) for each in outcome.target.examples if each not in passed and not each.skipped}
    failing |= {("", test.name) for test in verdict.tests if test.status is ProjectTestStatus.FAILED}
    failure = verdict.failure
    if failure is not None and failure.example is None:
        failing.add((failure.kind.value, failure.message))
    return failing
