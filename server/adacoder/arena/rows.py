"""Rows: what became of each cell of a comparison. The rows are the truth; tables, plots and reports are views of them.

A file of rows has one JSON object a line and only grows. Each row is on the disk before its cell counts as done, so a
run that is killed loses at most the cells that were under way, and the next run does just those.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeVar

from adacoder.domain import AdaCoderError

T = TypeVar("T")

VERSION = 1
"""Of the form of a row: it grows when a member changes its meaning or goes, not when one is added."""

_BEGIN = b'{"version":'
"""Of each row."""

Key: TypeAlias = tuple[str, str, str, str, str, int, str, int | None]
"""Identity of a cell: dataset, checksum, task, model, strategy, sample, settings, seed."""


class RowsError(AdaCoderError):
    """A file of rows cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of all calls of a cell."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """The hidden judge's word on a candidate: never a text of a hidden test."""

    how: str
    """`passed`, `failed`, `timeout` or `refused`."""
    kind: str | None = None
    """Kind of the failure, as of `domain.FailureKind`."""


@dataclass(frozen=True, slots=True)
class RowAttempt:
    """A candidate that the strategy had evaluated, in this order."""

    round: int
    call: int
    """Number of calls of the model before it."""
    agent: str
    """Who wrote it: the last agent that asked the model, or `debug_specialist`."""
    failure: str | None = None
    """Kind of the failure on the shown examples; None: all of them passed."""
    examples: tuple[int, int] = (0, 0)
    """Shown examples that passed, and how many there are."""
    right: bool | None = None
    """The hidden judge's word; None where it was not asked."""
    repaired: bool = False
    """True if rules made it of the candidate before it."""
    rules: tuple[str, ...] = ()
    lines: int = 0
    """Lines of the candidate's code."""
    code: str | None = None
    """Digest of the candidate's code; None: not known."""
    message: str | None = None
    """Digest of what the failure says."""
    is_empty: bool = False
    """True if the function does nothing: its body is a docstring, `pass` or `...`."""


@dataclass(frozen=True, slots=True)
class DesignedTests:
    """What became of the tests that a Test Designer wrote."""

    designed: int
    right_on_canonical: int | None = None
    """How many of them the canonical solution passes."""
    lines_covered: float | None = None
    """Share of the canonical solution's lines that they reach."""
    lines_covered_by_first: float | None = None
    """Share that the first five reach."""


@dataclass(frozen=True, slots=True)
class Row:
    """One cell: a task, a model, a strategy and a sample."""

    task: str
    dataset: str
    checksum: str
    model: str
    strategy: str
    sample: int
    settings: str
    """Digest of the settings that count."""
    seed: int | None
    status: str
    """As of `domain.Status`."""
    right: bool | None
    """The hidden judge's word on the outcome's candidate; None: there is none, or it was not judged."""
    reason: str | None = None
    judged: Judged | None = None
    candidate: str | None = None
    rounds: int = 0
    calls: int = 0
    tokens: Spent = Spent()
    seconds: float = 0.0
    server_seconds: float = 0.0
    attempts: tuple[RowAttempt, ...] = ()
    tests: DesignedTests | None = None
    level: int | None = None
    """The level at which a strategy with levels ended."""
    programs: int = 0
    journal: str | None = None
    """File of the cell's journal, relative to the rows' file."""
    failure_of: str | None = None
    """`server` or `model`, where no outcome came of it."""
    adacoder: str = ""
    python: str = ""
    at: str = ""
    """UTC, as `2026-11-23T19:00:00Z`."""
    version: int = field(default=VERSION, kw_only=True)

    @property
    def key(self) -> Key:
        """Identity of its cell."""
        return (
            *(self.dataset, self.checksum, self.task, self.model, self.strategy),
            *(self.sample, self.settings, self.seed),
        )

    def line(self) -> str:
        """The row as a line of its file."""
        told = asdict(self)
        return json.dumps({"version": told.pop("version"), **told}, separators=(",", ":")) + "\n"


def parse(line: str) -> Row | None:
    """The row in a line; None for what is none, such as a torn line.

    Raises:
        RowsError: a newer version wrote it.
    """
    try:
        told = json.loads(line)
    except ValueError:
        return None
    if not isinstance(told, dict):
        return None
    version = told.get("version")
    if isinstance(version, int) and version > VERSION:
        raise RowsError(
            f"A row has version {version}, this AdaCoder reads up to {VERSION}: update it to read that row."
        )
    try:
        row = _made(Row, told)
        return Row(
            **row
            | {
                "judged": _maybe(Judged, told.get("judged")),
                "tokens": Spent(**_made(Spent, told.get("tokens") or {})),
                "attempts": tuple(_attempt(each) for each in told.get("attempts") or ()),
                "tests": _maybe(DesignedTests, told.get("tests")),
            }
        )
    except (TypeError, ValueError, AttributeError):
        return None


def _made(form: type[Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """The members of `told` that `form` knows."""
    return {each.name: told[each.name] for each in fields(form) if each.name in told}


def _maybe(form: type[T], told: Mapping[str, Any] | None) -> T | None:
    return None if told is None else form(**_made(form, told))


def _attempt(told: Mapping[str, Any]) -> RowAttempt:
    made = _made(RowAttempt, told)
    passed, of = made.get("examples", (0, 0))
    return RowAttempt(**made | {"examples": (passed, of), "rules": tuple(made.get("rules", ()))})


@dataclass
class Reading:
    """Reads files of rows, one row at a time, and keeps count of what could not be read."""

    unread: int = 0
    """Lines that are no rows."""
    newer: list[str] = field(default_factory=list)
    """A sentence for each kind of row that only a newer version can read."""

    def rows(self, path: Path) -> Iterator[Row]:
        """The rows of a file, in its order.

        Raises:
            RowsError: it cannot be read.
        """
        try:
            with path.open(encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    if (row := self._row(line)) is not None:
                        yield row
        except OSError as error:
            raise RowsError(f"The rows in {path} cannot be read: {error.strerror}.") from error

    def _row(self, line: str) -> Row | None:
        try:
            row = parse(line)
        except RowsError as error:
            if str(error) not in self.newer:
                self.newer.append(str(error))
            return None
        self.unread += row is None
        return row

    @property
    def troubles(self) -> tuple[str, ...]:
        """What could not be read, in sentences."""
        torn = (f"{self.unread} lines of rows could not be read, and were left out.",) if self.unread else ()
        return (*self.newer, *torn)


def merged(paths: Iterable[Path], reading: Reading | None = None) -> Iterator[Row]:
    """The rows of several runs, each cell once: the first row of a cell counts."""
    reading = reading or Reading()
    seen: set[Key] = set()
    for path in paths:
        for row in reading.rows(path):
            if row.key not in seen:
                seen.add(row.key)
                yield row


class RowsFile:
    """A file of rows that a run adds to; no other run can meanwhile."""

    def __init__(self, path: Path) -> None:
        """Open the file, and repair its end if a kill tore the last line.

        Raises:
            RowsError: it cannot be written, or another run writes to it.
        """
        self.path = path
        self.reading = Reading()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = path.open("a+b", buffering=0)
        except OSError as error:
            raise RowsError(f"The rows cannot be written to {path}: {error.strerror}.") from error
        try:
            _lock(self._file, path)
            self._length = self._repaired()
        except BaseException:
            self._file.close()
            raise
        self.done: set[Key] = {row.key for row in self.reading.rows(path)}
        """The cells that have a row."""

    def _repaired(self) -> int:
        """Cut off a last line that no newline ends; returns the length of the rest.

        Raises:
            RowsError: the file holds something else.
        """
        length = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        begin = self._file.read(len(_BEGIN))
        if not _BEGIN.startswith(begin):
            raise RowsError(f"{self.path} holds something else than rows, and is left as it is: name another file.")
        end, step = length, 1 << 16
        while end:
            start = max(0, end - step)
            self._file.seek(start)
            newline = self._file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < length:
            self._file.truncate(end)
        return end

    async def add(self, row: Row) -> None:
        """Add a row; when this returns it is on the disk. Rows that are added meanwhile go there together.

        Raises:
            RowsError: it could not be written; then the file is as before.
        """
        if row.key in self.done:
            raise ValueError(f"{row.key} has a row")
        self.done.add(row.key)
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((row.line(), written))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all())
        try:
            await asyncio.shield(written)
        except RowsError:
            self.done.discard(row.key)
            raise

    async def _write_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await asyncio.to_thread(self._write, "".join(line for line, _ in batch).encode())
            except OSError as error:
                refused = RowsError(f"The rows cannot be written to {self.path}: {error.strerror}.")
                for _, written in batch:
                    written.set_exception(refused)
                    written.exception()  # whoever waited may be gone
            else:
                for _, written in batch:
                    if not written.done():
                        written.set_result(None)
        self._writing = None

    def _write(self, text: bytes) -> None:
        """Write and sync; what was written in part is taken back."""
        try:
            rest = memoryview(text)
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
            os.fsync(self._file.fileno())
        except OSError:
            with suppress(OSError):
                self._file.truncate(self._length)
            raise
        self._length += len(text)

    async def close(self) -> None:
        """Close it, after the last row is on the disk."""
        if self._writing is not None:
            await self._writing
        self._file.close()


def _lock(file: IO[bytes], path: Path) -> None:
    """Keep other runs off a file for as long as it is open."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RowsError(f"Another run writes its rows to {path}: wait for its end, or name another file.") from None
    except OSError as error:
        raise RowsError(f"{path} cannot be locked: {error.strerror}.") from error
