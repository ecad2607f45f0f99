"""Evaluate functions in a workspace on disk, for tests of the sandbox."""

from __future__ import annotations

import asyncio
import doctest
import os
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

from adacoder.domain import Example, Level, Module, Verdict
from adacoder.pytext import Lines, definitions, normalize
from adacoder.sandbox.environment.interpreter import Interpreter, find
from adacoder.sandbox.host import Host, Program
from adacoder.sandbox.pool import TemplatePool
from adacoder.sandbox.probe import PROBER, Prober
from adacoder.traces import Executed, Trace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping


@dataclass(frozen=True)
class Workspace:
    """A folder of modules whose functions can be evaluated."""

    folder: Path
    least: Level = Level.SEATBELT
    """The weakest isolation that evaluations accept. They use the strongest that works here, up to `best`."""
    interpreter: Interpreter | None = None
    best: Level = Level.FULL
    templates: TemplatePool | None = None
    prober: Prober = PROBER
    hosts: list[Host] = field(default_factory=list)

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")

    def host(self) -> Host:
        if not self.hosts:
            interpreter = self.interpreter or find(None, self.folder, self.folder)
            least = self.least if self.best.is_at_least(self.least) else self.best
            self.hosts.append(
                Host(
                    interpreter,
                    self.folder,
                    least=least,
                    best=self.best,
                    templates=self.templates,
                    prober=self.prober,
                )
            )
        return self.hosts[0]

    async def evaluate(
        self,
        text: str,
        *,
        of: str = "f",
        file: str = "mod.py",
        root: str = ".",
        suspects: tuple[str, ...] = (),
        overlays: Mapping[str, str] | None = None,
        timeout: float = 10.0,  # noqa: ASYNC109  # the evaluation's own timeout
    ) -> Verdict:
        """Evaluate the function `of` and return the verdict. `text` is the unsaved text of its module `file`."""
        text = dedent(text)
        what = program(self.folder / file, self.folder / root, text, of, suspects)
        changed = {self.folder / name: dedent(other) for name, other in (overlays or {}).items()}
        what = Program(what.module, what.text, what.qualname, what.first_line, what.last_line, suspects, changed)
        return await self.host().evaluate(what, examples(text, of), timeout=timeout)


@asynccontextmanager
async def workspace(
    folder: Path,
    least: Level = Level.SEATBELT,
    interpreter: Interpreter | None = None,
    best: Level = Level.FULL,
    templates: TemplatePool | None = None,
    prober: Prober = PROBER,
) -> AsyncIterator[Workspace]:
    opened = Workspace(folder, least, interpreter, best, templates, prober)
    try:
        yield opened
    finally:
        for host in opened.hosts:
            await host.close()


def program(path: Path, root: Path, text: str, of: str, suspects: tuple[str, ...] = ()) -> Program:
    root = root.resolve()
    parts = list(path.relative_to(root).with_suffix("").parts)
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    (function,) = [found for found in definitions(text) if found.qualname == of]
    lines = Lines(text)
    first, last = lines.line_at(function.span.start) + 1, lines.line_at(function.span.end) + 1
    return Program(Module(path, name, root), text, of, first, last, suspects)


def examples(text: str, of: str = "f") -> tuple[Example, ...]:
    """Return the examples in the docstring of the function `of`."""
    function = next(found for found in definitions(text) if found.qualname == of)
    docstring = function.docstring
    if docstring is None:
        return ()
    start = Lines(text).line_at(docstring.start)
    return tuple(
        Example(
            found.source,
            found.want,
            start + found.lineno,
            sum(flag for flag, on in found.options.items() if on),
            found.exc_msg,
        )
        for found in doctest.DocTestParser().get_examples(normalize(docstring.of(text)).strip("\"'rR"))
    )


def other_pythons() -> list[Path]:
    """Return the executables of other Python versions, from 3.8 on. They are on PATH or next to this Python."""
    found = {}
    folders = [Path(name) for name in os.environ.get("PATH", "").split(os.pathsep) if name]
    beside = sorted(Path(sys.base_prefix).parent.glob("*/bin"))
    for minor in range(8, 30):
        for folder in (*folders, *beside):
            path = folder / f"python3.{minor}"
            if minor != sys.version_info.minor and minor not in found and path.is_file():
                with path.open("rb") as file:
                    if file.read(2) != b"#!":
                        found[minor] = path
    return list(found.values())


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds. Fail after 30 seconds."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  # The condition is about other processes, which set no Event.
            await asyncio.sleep(0.01)


async def until_called(name: str) -> None:
    """Wait until a descendant of this process has named itself `name` with PR_SET_NAME (see prctl(2))."""

    def is_there() -> bool:
        parents = dict(_parents())
        inside = {os.getpid()}
        while more := {pid for pid, parent in parents.items() if parent in inside} - inside:
            inside |= more
        return any(_name_of(pid) == name for pid in inside)

    await until(is_there)


def _parents() -> Iterator[tuple[int, int]]:
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield int(process.name), parent_of(int(process.name))


def _name_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    return ""


def threads_of(pid: int) -> int:
    with suppress(OSError):
        return sum(1 for _ in Path(f"/proc/{pid}/task").iterdir())
    return 0


def processes_in(folder: Path) -> list[int]:
    """Return the processes that run in `folder` or whose sandbox shows `folder`, with all their descendants."""
    parents: dict[int, int] = {}
    found: set[int] = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(process.name)] = parent_of(int(process.name))
            if _shows(process, folder):
                found.add(int(process.name))
        except OSError:
            continue
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found)


def _shows(process: Path, folder: Path) -> bool:
    told = {argument.rpartition(b"=")[2] for argument in (process / "cmdline").read_bytes().split(b"\0")}
    if os.fsencode(folder) in told:
        return True
    mounts = (process / "mountinfo").read_text(encoding="utf-8", errors="replace")
    return f" {folder} " in mounts or (process / "cwd").readlink().is_relative_to(folder)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])


async def traced(ws: Workspace, text: str, of: str = "f", timeout: float = 30) -> Trace:  # noqa: ASYNC109  # as `evaluate`
    text = dedent(text)
    what = program(ws.folder / "mod.py", ws.folder, text, of)
    return await ws.host().trace(what, examples(text, of), timeout=timeout)


def told(trace: Trace, text: str) -> list[str]:
    """Format a trace. Each entry has the number of the call, the line of code, and the new values."""
    lines = dedent(text).splitlines()
    return [f"{each.call} {lines[each.line - 1].strip()}{_came(each)}" for each in trace.executed]


def _came(each: Executed) -> str:
    came = [f"{name} = {value}" for name, value in each.values]
    came += [f"gave {each.gave}"] if each.gave else []
    came += [f"raised {each.raised}"] if each.raised else []
    return "".join(f"  # {', '.join(came)}" if came else "")
