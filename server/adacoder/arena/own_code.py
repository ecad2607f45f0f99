"""Turn the user's own code into tasks. Each function with passing examples becomes an empty function.

The model sees the first half of the examples. The other examples, and the project's tests that run the function, judge
the result. A task needs two examples that run the function, or one example and one test.

Hidden examples are blanked in all docstrings and comments. Files that contain hidden examples are hidden from the model
and the sandbox.
"""

from __future__ import annotations

import asyncio
import glob
import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adacoder.agents.project_tests import ProjectTests, running
from adacoder.agents.prompt import bodiless
from adacoder.arena.tasks import ArenaTask, Examples, TasksError, TaskSet
from adacoder.aside import aside
from adacoder.checks import Checks
from adacoder.domain import (
    AdaCoderError,
    Candidate,
    Edit,
    Example,
    Outcome,
    ProjectTestStatus,
    Span,
    Status,
    Target,
    TargetError,
)
from adacoder.privacy.access import Access
from adacoder.project import FOREIGN, Project, below, python_files
from adacoder.pytext import Lines, string_interiors, string_literals
from adacoder.sandbox.environment.interpreter import find
from adacoder.sandbox.host import Host
from adacoder.settings import Settings
from adacoder.settings.pytest_files import files_with_tests
from adacoder.source.locate import documented, functions, locate, may_have_examples
from adacoder.source.splice import splice
from adacoder.source.text import SourceFile, apply_edits, read
from adacoder.task import Task, current

HIDES = ("test", "tests", "test_*.py", "*_test.py", "conftest.py", "docs", "*.md", "*.rst")
"""Patterns of files that may contain hidden examples, written as in the setting `hide`."""
_MOST_TESTS = 20
"""Maximum number of the project's tests that judge a function."""
_LEAST_TELLING = 4
"""Minimum length of a hidden example to search for in other files. Shorter texts are too common."""
_MOST_BYTES = 1 << 20
"""Maximum size of a file to search for hidden examples, in bytes."""
_MARK = re.compile(r"^[ \t]*(?:>>>|\.\.\.)", re.MULTILINE)
_SPACE = re.compile(r"\s+")
_QUOTES = re.compile(r"[A-Za-z]*(\"\"\"|'''|\"|')")


@dataclass(frozen=True, slots=True)
class _PassingFunction:
    target: Target
    proving: tuple[Example, ...]
    """Examples that were observed to run the function."""
    tests: tuple[str, ...] = ()
    """Names of the project's tests that run the function."""

    @property
    def shown(self) -> int:
        """Number of examples that the model may see, counted from the beginning of the docstring."""
        return self.target.examples.index(self.proving[(len(self.proving) + 1) // 2 - 1]) + 1

    @property
    def hidden(self) -> tuple[Example, ...]:
        """Examples that the model must not see."""
        return self.target.examples[self.shown :]


@dataclass(frozen=True, slots=True)
class _Read:
    """Parts of a module that all of its tasks use."""

    text: str
    docstrings: tuple[Target, ...]
    comments: tuple[Span, ...]
    """Comments that are alone on their lines."""


async def tasks_of(folder: Path, settings: Settings) -> TaskSet:
    """Find the tasks in a folder.

    Raises:
        TasksError: there are no tasks.
    """
    troubles: list[str] = []
    files = await asyncio.to_thread(_files, folder, troubles)
    checks, hiding = Checks(), replace(settings, hide=(*settings.hide, *HIDES))
    try:
        found = [each for file in files for each in await _passing(checks, file, folder, hiding)]
    finally:
        await checks.close()
    tests = await _tests([each.target for each in found], [file.path for file in files], folder, settings, troubles)
    paired = (replace(each, tests=mine) for each, mine in zip(found, tests, strict=True))
    found = [each for each in paired if each.tests or len(each.proving) > 1]
    modules = {file.path: await aside(_read, file, folder) for file in files}
    hide = (*HIDES, *await asyncio.to_thread(_telling, folder, modules.keys(), _sources(found)))
    made = [await aside(_task, each, folder, modules, hide) for each in found]
    tasks = [task for task in made if isinstance(task, ArenaTask)]
    if not tasks:
        raise TasksError(
            f"No function in {folder} qualifies. A task needs two passing docstring examples (one shown, one hidden),"
            " or one and a pytest test that calls it."
        )
    judges = "\0".join(name for each in found for name in each.tests)
    texts = "\0".join((*(file.text for file in files), judges))
    checksum = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()
    left_out = (*troubles, *(why for why in made if isinstance(why, str)))
    return TaskSet(f"own:{folder.name}", f"sha256:{checksum}", tasks, left_out)


async def _tests(
    targets: Sequence[Target], files: Iterable[Path], folder: Path, settings: Settings, troubles: list[str]
) -> list[tuple[str, ...]]:
    """Return the names of each target's passing tests. Messages about tests that cannot run are added to `troubles`."""
    if not targets:
        return []
    first = targets[0]
    interpreter = await asyncio.to_thread(find, settings.interpreter, first.module.path.parent, folder)
    host = Host(interpreter, folder, least=settings.isolation, wishes=settings.wishes, env=settings.env)
    project, access = ProjectTests(host, folder), Access((folder,), settings.wishes)
    try:
        observed = [
            await project.observe(path, {}, access, first.module) for path in filter(files_with_tests(folder), files)
        ]
    finally:
        await host.close()
    troubles += dict.fromkeys(each.trouble for each in observed if each.trouble)
    passing = [test for each in observed for test in each.tests if test.status is ProjectTestStatus.PASSED]
    return [tuple(test.name for test in running(target, passing)[:_MOST_TESTS]) for target in targets]


def _files(folder: Path, troubles: list[str]) -> list[SourceFile]:
    """Read the project's Python files. Messages about unreadable files are added to `troubles`."""
    found = []
    for path in python_files(folder, lambda why: troubles.append(str(why))):
        try:
            found.append(read(path))
        except AdaCoderError as error:
            troubles.append(str(error))
    return found


def _read(file: SourceFile, folder: Path) -> _Read:
    docstrings = documented(file.text, file.path, folder) if may_have_examples(file.text) else ()
    return _Read(file.text, tuple(each.target for each in docstrings), tuple(_comments(file.text)))


def _comments(text: str) -> Iterator[Span]:
    lines, strings = Lines(text), string_interiors(text)
    for number in range(len(lines)):
        line = lines[number]
        if line.lstrip().startswith("#") and number not in strings:
            start = lines.starts[number] + line.index("#")
            yield Span(start, lines.end(number))


def _telling(folder: Path, known: Collection[Path], sources: set[str]) -> list[str]:
    """Return patterns for files that contain any of the `sources`. Files in `known` are not searched."""
    found: list[Path] = []
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in FOREIGN)
        paths = (Path(top, name) for name in sorted(names))
        found += [path.relative_to(folder) for path in paths if path not in known and _holds(path, sources)]
    return [f"./{glob.escape(path.as_posix())}" for path in found]


def _holds(path: Path, sources: set[str]) -> bool:
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return False
        text = _bare(_MARK.sub("", path.read_bytes().decode("utf-8", "replace")))
    except OSError:
        return False
    return any(source in text for source in sources)


async def _passing(checks: Checks, file: SourceFile, folder: Path, settings: Settings) -> list[_PassingFunction]:
    if not may_have_examples(file.text):
        return []
    try:
        documents = await aside(functions, file.text, file.path, folder)
    except TargetError:
        return []
    targets = [
        replace(each.target, of_class=()) for each in documents if not each.target.is_stub and each.target.examples
    ]
    asked = (checks.check(Task(target, settings, Project(folder)), once=True) for target in targets)
    outcomes: list[Outcome] = await asyncio.gather(*asked)
    pairs = ((outcome, _proving(outcome)) for outcome in outcomes)
    return [_PassingFunction(outcome.target, proving) for outcome, proving in pairs if proving]


def _proving(outcome: Outcome) -> tuple[Example, ...]:
    """Return the examples that ran the function, or nothing if an example failed."""
    if outcome.status is not Status.VERIFIED or outcome.verdict is None:
        return ()
    return tuple(result.example for result in outcome.verdict.proving)


def _sources(found: Iterable[_PassingFunction]) -> set[str]:
    """Return the sources of hidden examples, without whitespace. Sources shorter than `_LEAST_TELLING` are left out."""
    bare = (_bare(example.source) for each in found for example in each.hidden)
    return {source for source in bare if len(source) >= _LEAST_TELLING}


def _task(
    found: _PassingFunction, folder: Path, modules: Mapping[Path, _Read], hide: tuple[str, ...]
) -> ArenaTask | str:
    """Return the task, or the reason why the function cannot become a task."""
    target, path = found.target, found.target.module.path
    name = f"{below(folder, path).as_posix()}::{target.qualname}"
    sources = _sources([found])
    try:
        edits = _blanks(target.text, target.docstring_span, _taken(found.hidden))
        whole = locate(
            apply_edits(target.text, [*edits, *_without(modules[path], sources, of=target)]),
            path,
            folder,
            qualname=target.qualname,
        )
        stub = Candidate(f"{bodiless(whole)}\n    raise NotImplementedError")
        text = splice(whole, stub).text
        blanked = replace(locate(text, path, folder, qualname=target.qualname), of_class=())
    except AdaCoderError as error:
        return f"{name}: {error}"
    if [_said(each) for each in blanked.examples] != [_said(each) for each in target.examples[: found.shown]]:
        return f"{name}: its examples cannot be separated"
    edited = ((other, module.text, _without(module, sources)) for other, module in modules.items() if other != path)
    others = {other: apply_edits(before, edits) for other, before, edits in edited if edits}
    project = Project(folder, {**others, path: text})
    return ArenaTask(name, blanked, project, current(target), Examples(target.examples, found.tests), hide)


def _said(example: Example) -> tuple[str, str]:
    return example.source, example.want


def _without(module: _Read, sources: set[str], of: Target | None = None) -> list[Edit]:
    """Return edits that blank `sources` in comments and docstrings, except for the docstring of `of`."""
    if not sources:
        return []
    edits: list[Edit] = []
    for one in module.docstrings:
        if of is None or one.docstring_span != of.docstring_span:
            telling = [each for each in one.examples if any(source in _bare(each.source) for source in sources)]
            taken = _taken(telling) | _quoting(module.text, one, sources)
            edits += _blanks(module.text, one.docstring_span, taken)
    said = (span for span in module.comments if any(source in _bare(span.of(module.text)) for source in sources))
    return [*edits, *(Edit(span.start, span.end, "#") for span in said)]


def _quoting(text: str, target: Target, sources: set[str]) -> set[int]:
    """Return the line numbers of a docstring's lines that contain any of the `sources`."""
    if not any(source in _bare(target.docstring_span.of(text)) for source in sources):
        return set()
    lines = Lines(text)
    first, last = (lines.line_at(at) for at in (target.docstring_span.start, target.docstring_span.end))
    return {number for number in range(first, last + 1) if any(source in _bare(lines[number]) for source in sources)}


def _bare(source: str) -> str:
    return _SPACE.sub("", source)


def _taken(examples: Iterable[Example]) -> set[int]:
    """Return the numbers of all lines of the examples."""
    return {
        number
        for example in examples
        for number in range(example.line, example.line + example.source.count("\n") + example.want.count("\n"))
    }


def _blanks(text: str, docstring: Span, taken: set[int]) -> list[Edit]:
    """Return edits that empty lines of a docstring. The empty lines remain, so that line numbers do not change."""
    if not taken:
        return []
    lines = Lines(text)
    inside = [*_interiors(text, docstring)]
    edits = []
    for number in sorted(taken):
        start, end = lines.starts[number], lines.end(number)
        for span in inside:
            first, last = max(start, span.start), min(end, span.end)
            if first < last:
                edits.append(Edit(first, last, ""))
    return edits


def _interiors(text: str, docstring: Span) -> Iterator[Span]:
    """Yield the text between the quotes for each string literal of a docstring."""
    for literal in string_literals(text, docstring.start, docstring.end):
        opening = _QUOTES.match(text, literal.start)
        if opening is not None:
            yield Span(opening.end(), literal.end - len(opening[1]))
