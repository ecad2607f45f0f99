"""Tasks from a folder of the user's own code: every function whose examples pass as it stands, with its body removed.

The first half of the examples that were seen to run the function are shown, and what comes after them in its docstring
is hidden: examples may use what those before them made, so the order is kept. Hidden examples are blanked wherever they
stand in docstrings of the module and of the project's other modules, for the model and the sandbox alike. Tests and
documents of the project, which may hold them in any form, are hidden as a whole. The project's own tests are no judges.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from adacoder.agents.prompt import bodiless
from adacoder.arena.tasks import ArenaTask, Examples, TasksError, TaskSet
from adacoder.aside import aside
from adacoder.checks import Checks
from adacoder.domain import AdaCoderError, Candidate, Edit, Example, Outcome, Span, Status, Target, TargetError
from adacoder.project import Project, below, python_files
from adacoder.pytext import Lines, string_literals
from adacoder.settings import Settings
from adacoder.source.locate import documented, functions, locate, may_have_examples
from adacoder.source.splice import splice
from adacoder.source.text import SourceFile, apply_edits, read
from adacoder.task import Task, current

HIDES = ("test", "tests", "test_*.py", "*_test.py", "conftest.py", "docs", "*.md", "*.rst")
"""Files that may hold hidden examples in any form, as of the setting `hide`."""
_LEAST = 2
"""Examples that a function needs: one to show, one to hide."""
_LEAST_TELLING = 4
"""Characters of an example that tell it from others, such as `sl`."""
_SPACE = re.compile(r"\s+")
_QUOTES = re.compile(r"[A-Za-z]*(\"\"\"|'''|\"|')")


@dataclass(frozen=True, slots=True)
class _Found:
    """A function whose examples pass."""

    target: Target
    shown: int
    """Number of examples of its docstring that are shown."""


async def tasks_of(folder: Path, settings: Settings) -> TaskSet:
    """The tasks in a folder.

    Raises:
        TasksError: there are none.
    """
    settings = hiding(settings)
    troubles: list[str] = []
    files = await asyncio.to_thread(_files, folder, troubles)
    checks = Checks()
    try:
        found = [each for file in files for each in await _passing(checks, file, folder, settings)]
    finally:
        await checks.close()
    texts = {file.path: file.text for file in files}
    made = await asyncio.gather(*(aside(_task, each, folder, texts) for each in found))
    tasks = [task for task in made if isinstance(task, ArenaTask)]
    if not tasks:
        raise TasksError(
            f"No function in {folder} can be a task: what is needed are two examples in its docstring that run it and"
            " pass as it stands, so that one can be shown and one hidden."
        )
    checksum = hashlib.sha256("\0".join(texts.values()).encode("utf-8", "surrogatepass")).hexdigest()
    left_out = (*troubles, *(why for why in made if isinstance(why, str)))
    return TaskSet(f"own:{folder.name}", f"sha256:{checksum}", tasks, left_out)


def hiding(settings: Settings) -> Settings:
    """`settings` under which what may hold hidden examples is not seen."""
    return replace(settings, hide=tuple(dict.fromkeys((*settings.hide, *HIDES))))


def _files(folder: Path, troubles: list[str]) -> list[SourceFile]:
    """The project's own Python files; `troubles` hears of what cannot be read."""
    found = []
    for path in python_files(folder, lambda why: troubles.append(str(why))):
        try:
            found.append(read(path))
        except AdaCoderError as error:
            troubles.append(str(error))
    return found


async def _passing(checks: Checks, file: SourceFile, folder: Path, settings: Settings) -> list[_Found]:
    """The functions of a file whose examples pass, and are enough."""
    if not may_have_examples(file.text):
        return []
    try:
        documents = await aside(functions, file.text, file.path, folder)
    except TargetError:
        return []
    targets = [
        replace(each.target, of_class=())
        for each in documents
        if not each.target.is_stub and len(each.target.examples) >= _LEAST
    ]
    asked = (checks.check(Task(target, settings, Project(folder)), once=True) for target in targets)
    outcomes: list[Outcome] = await asyncio.gather(*asked)
    pairs = ((outcome, _shown(outcome)) for outcome in outcomes)
    return [_Found(outcome.target, shown) for outcome, shown in pairs if shown]


def _shown(outcome: Outcome) -> int:
    """How many examples of a docstring are shown; 0 if it cannot be a task."""
    if outcome.status is not Status.VERIFIED or outcome.verdict is None:
        return 0
    proving = [result.example for result in outcome.verdict.proving]
    if len(proving) < _LEAST:
        return 0
    last = proving[(len(proving) + 1) // 2 - 1]
    return outcome.target.examples.index(last) + 1


def _task(found: _Found, folder: Path, texts: dict[Path, str]) -> ArenaTask | str:
    """The task; or why there is none."""
    target, path = found.target, found.target.module.path
    name = f"{below(folder, path).as_posix()}::{target.qualname}"
    hidden = target.examples[found.shown :]
    sources = {bare for example in hidden if len(bare := _bare(example.source)) >= _LEAST_TELLING}
    try:
        text = apply_edits(target.text, _blanks(target.text, target.docstring_span, _taken(hidden)))
        whole = locate(text, path, folder, qualname=target.qualname)
        stub = Candidate(f"{bodiless(whole)}\n    raise NotImplementedError")
        text = _without(splice(whole, stub).text, path, folder, sources, of=target.qualname)
        blanked = replace(locate(text, path, folder, qualname=target.qualname), of_class=())
    except AdaCoderError as error:
        return f"{name}: {error}"
    if [_said(each) for each in blanked.examples] != [_said(each) for each in target.examples[: found.shown]]:
        return f"{name}: its examples cannot be told apart"
    others = {
        other: changed
        for other, before in texts.items()
        if other != path and (changed := _without(before, other, folder, sources)) != before
    }
    project = Project(folder, {**others, path: text})
    return ArenaTask(name, blanked, project, current(target), Examples(target.examples))


def _said(example: Example) -> tuple[str, str]:
    return example.source, example.want


def _without(text: str, path: Path, folder: Path, sources: set[str], of: str = "") -> str:
    """A module's text without the examples in its docstrings that say what `sources` do, but for those `of` a function
    that has been blanked."""
    if not may_have_examples(text):
        return text
    edits: list[Edit] = []
    for one in documented(text, path, folder):
        target = one.target
        telling = [each for each in target.examples if any(source in _bare(each.source) for source in sources)]
        if target.qualname != of:
            edits += _blanks(text, target.docstring_span, _taken(telling) | _quoting(text, target, sources))
    return apply_edits(text, edits)


def _quoting(text: str, target: Target, sources: set[str]) -> set[int]:
    """The lines of a docstring in which one of `sources` stands."""
    lines = Lines(text)
    first, last = (lines.line_at(at) for at in (target.docstring_span.start, target.docstring_span.end))
    return {number for number in range(first, last + 1) if any(source in _bare(lines[number]) for source in sources)}


def _bare(source: str) -> str:
    return _SPACE.sub("", source)


def _taken(examples: Iterable[Example]) -> set[int]:
    """The lines of examples."""
    return {
        number
        for example in examples
        for number in range(example.line, example.line + example.source.count("\n") + example.want.count("\n"))
    }


def _blanks(text: str, docstring: Span, taken: set[int]) -> list[Edit]:
    """Edits that blank lines of a docstring; no line goes."""
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
    """What stands between the quotes of a docstring."""
    for literal in string_literals(text, docstring.start, docstring.end):
        opening = _QUOTES.match(text, literal.start)
        if opening is not None:
            yield Span(opening.end(), literal.end - len(opening[1]))
