"""Store the results of a comparison, one row per cell.

A file of rows has one JSON object per line, and new rows are appended. Every row is written to disk at once, so a
killed run loses only the cells that were running.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeAlias, cast, get_args, get_origin, get_type_hints

from adacoder.domain import JSON, AdaCoderError, Tokens
from adacoder.foreign_json import read_json
from adacoder.privacy.access import opened_regular

VERSION = 1
"""Version of the row format. It increases if a member is removed or changes its meaning, but not for a new member."""

_NO_VERSION = 1000
"""Smallest number that cannot be a version. A row with such a number is damaged."""
_LONGEST_LINE = 16 << 20
"""Maximum length of a row, in bytes."""
_LARGEST = 1 << 53
"""Maximum value of a number in a row. Sums and means of such numbers stay finite."""
_BEGIN = b'{"version":'
"""The first bytes of every row."""
_GZIP = b"\x1f\x8b"
"""The first bytes of a gzip file (RFC 1952)."""

Key: TypeAlias = tuple[str, str, str, str, str, int, str, int | None]
"""Identifies a cell: dataset, checksum, task, model, strategy, sample, settings, seed."""


class RowsError(AdaCoderError):
    """A file of rows cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Verdict of the hidden tests. It never quotes a test."""

    how: str
    """`passed`, `failed`, `timeout` or `refused`."""
    kind: str | None = None
    """Kind of failure, a value of `domain.FailureKind`."""


@dataclass(frozen=True, slots=True)
class RowAttempt:
    """An evaluated candidate."""

    round: int
    call: int
    """Number of model calls in the request before the attempt."""
    agent: str
    """Agent that wrote the candidate, or `debug_specialist` after a repair by rules."""
    failure: str | None = None
    """Kind of failure of the shown examples; None if all passed."""
    examples: tuple[int, int] = (0, 0)
    """Number of shown examples that passed, and number of shown examples."""
    right: bool | None = None
    """True if the hidden tests passed; None if they did not run."""
    repaired: bool = False
    """True if repair rules made this candidate from the previous attempt's candidate."""
    rules: tuple[str, ...] = ()
    lines: int = 0
    """Number of lines of code, without blank lines."""
    code: str | None = None
    """Digest of the code; None if unknown."""
    message: str | None = None
    """Digest of the failure message."""
    error: str | None = None
    """Exception type of the failure, such as `TypeError`."""
    branch: tuple[str, ...] = ()
    """Names of the branches of a search that contain the attempt, outermost first."""
    is_empty: bool = False
    """True if the function's body has only docstrings, `pass`, `...` or `return`."""
    written: int | None = None
    """Number of tokens that models wrote in the request before the attempt. Rows from older versions have None."""


@dataclass(frozen=True, slots=True)
class DesignedTests:
    """Results of the tests that a model wrote."""

    designed: int
    right_on_canonical: int | None = None
    """Number of tests that the canonical solution passes."""
    lines_covered: float | None = None
    """Share of the canonical solution's lines that the tests reach."""
    lines_covered_by_first: float | None = None
    """Share of the canonical solution's lines that the first five tests reach."""

    def __post_init__(self) -> None:
        if (self.right_on_canonical or 0) > self.designed:
            raise ValueError(self.right_on_canonical)


@dataclass(frozen=True, slots=True)
class SecondProgram:
    """Comparison of a verified candidate with a second program.

    The canonical solution decides which outputs are right, in place of a user.
    """

    inputs: int
    """Number of inputs for which both programs ran."""
    agreed: int
    questions: int
    """Number of questions that the user would get."""
    right: bool | None
    """True if the program that the canonical solution's answers select passes the hidden tests."""

    def __post_init__(self) -> None:
        if self.agreed > self.inputs:
            raise ValueError(self.agreed)


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one cell."""

    task: str
    dataset: str
    checksum: str
    model: str
    strategy: str
    sample: int
    settings: str
    """Digest of the settings that can change the result."""
    seed: int | None
    status: str
    """Status of the request, a value of `domain.Status`."""
    right: bool | None
    """True if the final candidate passed the hidden tests. None if there is no final candidate or no verdict."""
    reason: str | None = None
    judged: Judged | None = None
    candidate: str | None = None
    rounds: int = 0
    calls: int = 0
    tokens: Tokens = field(default=Tokens())
    """Tokens of all model calls."""
    seconds: float = 0.0
    server_seconds: float = 0.0
    attempts: tuple[RowAttempt, ...] = ()
    tests: DesignedTests | None = None
    level: int | None = None
    """Level that the strategy reached. Most strategies have no levels."""
    programs: int = 0
    journal: str | None = None
    """Path of the journal, relative to the file of rows."""
    failure_of: str | None = None
    """`server` or `model` if a failure of the server or of the model ended the request."""
    adacoder: str = ""
    python: str = ""
    at: str = ""
    """Time in UTC, such as `2026-11-23T19:00:00Z`."""
    difficulty: str = ""
    """Difficulty of the task in its dataset."""
    second: SecondProgram | None = None
    """Comparison with a second program, if the setting `crossCheck` is on."""
    values: tuple[tuple[str, str], ...] = ()
    """Names and values of settings, without long texts. An empty value stands for None."""
    version: int = field(default=VERSION, kw_only=True)

    @property
    def key(self) -> Key:
        """Identity of the cell."""
        return (
            *(self.dataset, self.checksum, self.task, self.model, self.strategy),
            *(self.sample, self.settings, self.seed),
        )

    def value(self, name: str) -> str:
        """Return a member or setting as text. The text is empty if the row does not have this member or setting."""
        return str(getattr(self, name) if hasattr(self, name) else dict(self.values).get(name, ""))

    def line(self) -> str:
        """Return the row as a line of JSON."""
        told = asdict(self)
        return json.dumps({"version": told.pop("version"), **told}, separators=(",", ":")) + "\n"


def parse(line: str) -> Row | None:
    """Read a row from a line. Return None if the line is not a valid row.

    Raises:
        RowsError: a newer version wrote the row.
    """
    try:
        told = read_json(line)
        version = told.get("version") if isinstance(told, dict) else None
        if isinstance(version, int) and VERSION < version < _NO_VERSION:
            raise RowsError(
                f"A row has version {version}, this AdaCoder reads up to {VERSION}: update it to read that row."
            )
        row: Row = checked(Row, told)
    except (TypeError, ValueError):
        return None
    return row


def checked(kind: Any, told: JSON) -> Any:
    """Validate JSON data, and return the data as the type `kind`.

    Raises:
        TypeError: the data have another type, or lack a member.
        ValueError: a number is negative or too large, or a share is larger than its whole.
    """
    if hasattr(kind, "__dataclass_fields__"):
        hints, members = _hints(kind), _object(told)
        return kind(**{name: checked(hints[name], each) for name, each in members.items() if name in hints})
    if get_origin(kind) is tuple:
        of, values = get_args(kind), tuple(_list(told))
        of = of[:1] * len(values) if of[-1] is ... else of
        return tuple(checked(each, value) for each, value in zip(of, values, strict=True))
    if get_args(kind):  # an optional member
        return None if told is None else checked(get_args(kind)[0], told)
    if type(told) is not kind and not (kind is float and type(told) is int):
        raise TypeError(told)
    if isinstance(told, str):
        return told.encode("utf-8", "replace").decode()  # replaces lone surrogates, which cannot be written
    if not 0 <= told <= _LARGEST:  # type: ignore[operator]  # a number, or a boolean
        raise ValueError(told)
    return told


_hints = cache(get_type_hints)


def _object(told: JSON) -> dict[str, JSON]:
    if not isinstance(told, dict):
        raise TypeError(told)
    return told


def _list(told: JSON) -> list[JSON]:
    if not isinstance(told, list):
        raise TypeError(told)
    return told


@dataclass
class RowsReader:
    """Reads rows from files, and counts unreadable lines."""

    unread: int = 0
    """Number of lines that are not rows."""
    first: str = ""
    """File and line of the first line that is not a row."""
    newer: list[str] = field(default_factory=list)
    """Messages about rows that a newer version of AdaCoder wrote."""

    def rows(self, path: Path) -> Iterator[Row]:
        """Yield the rows of a file, which may be compressed with gzip.

        Raises:
            RowsError: the file cannot be read.
        """
        try:
            with opened_regular(path) as file, _decompressed(file) as text:
                for number, line in enumerate(_lines(text), 1):
                    if (row := self._row(line, path, number)) is not None:
                        yield row
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise RowsError(f"{path} is compressed and damaged: copy it again, or name another file.") from error
        except OSError as error:
            raise RowsError(f"The rows in {path} cannot be read: {error.strerror or error}.") from error

    def _row(self, line: bytes, path: Path, number: int) -> Row | None:
        try:
            row = parse(line.decode("utf-8", "replace")) if len(line) <= _LONGEST_LINE else None
        except RowsError as error:
            if str(error) not in self.newer:
                self.newer.append(str(error))
            return None
        if row is None:
            self.unread += 1
            self.first = self.first or f"line {number} of {path}"
        return row

    @property
    def troubles(self) -> tuple[str, ...]:
        """Messages about lines that could not be read."""
        if not self.unread:
            return (*self.newer,)
        first = self.first[:1].upper() + self.first[1:]
        if self.unread == 1:
            return (*self.newer, f"{first} is not a row of the arena, and was left out.")
        return (
            *self.newer,
            f"{self.unread:,} lines are not rows of the arena, and were left out. The first is {self.first}.",
        )


def _decompressed(file: IO[bytes]) -> IO[bytes]:
    begin = file.read(len(_GZIP))
    file.seek(0)
    return cast(IO[bytes], gzip.open(file)) if begin == _GZIP else file


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file.

    A line of more than `_LONGEST_LINE` bytes is cut to one byte more than this limit. Callers treat such a line as
    invalid.
    """
    while line := file.readline(_LONGEST_LINE + 1):
        yield line
        while len(line) > _LONGEST_LINE and not line.endswith(b"\n"):
            line = file.readline(_LONGEST_LINE + 1)


class RowsFile:
    """A file of rows. One run at a time can append rows."""

    def __init__(self, path: Path) -> None:
        """Open the file. An incomplete last line is removed, because a killed run may have left such a line.

        Raises:
            RowsError: the file cannot be written, or another run writes to it.
        """
        self.path = path
        self.reading = RowsReader()
        self._turn = asyncio.Lock()
        self._writing: set[asyncio.Task[None]] = set()
        if path.exists() and not path.is_file():
            raise RowsError(f"The rows cannot be written to {path}: it is not a regular file.")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = path.open("a+b", buffering=0)
        except OSError as error:
            raise RowsError(f"The rows cannot be written to {path}: {error.strerror}.") from error
        try:
            _lock(self._file, path)
            self._repair()
        except BaseException:
            self._file.close()
            raise
        self.done: set[Key] = {row.key for row in self.reading.rows(path)}
        """Cells that have a row."""

    def _repair(self) -> None:
        """Remove the last line if it is incomplete.

        Raises:
            RowsError: the file does not contain rows.
        """
        length = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        begin = self._file.read(len(_BEGIN))
        if not _BEGIN.startswith(begin):
            raise RowsError(f"{self.path} is not a file of rows, and was not changed: name another file.")
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

    async def add(self, row: Row) -> None:
        """Append a row, and wait until the row is on disk. The write continues even if the caller is cancelled.

        Raises:
            RowsError: the row could not be written. The file is unchanged.
        """
        if row.key in self.done:
            raise ValueError(f"{row.key} has a row")
        self.done.add(row.key)
        writing = asyncio.create_task(self._written(row))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        try:
            await asyncio.shield(writing)
        except RowsError:
            self.done.discard(row.key)
            raise

    async def _written(self, row: Row) -> None:
        async with self._turn:
            try:
                await asyncio.to_thread(self._write, row.line().encode())
            except OSError as error:
                raise RowsError(f"The rows cannot be written to {self.path}: {error.strerror}.") from error

    def _write(self, text: bytes) -> None:
        """Write the text, and flush the file to disk. After an error, remove the incomplete line."""
        length = self._file.seek(0, os.SEEK_END)
        try:
            rest = memoryview(text)
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
            os.fsync(self._file.fileno())
        except OSError:
            with suppress(OSError):
                self._file.truncate(length)
            raise

    async def close(self) -> None:
        """Close the file after all rows are written."""
        await asyncio.gather(*self._writing, return_exceptions=True)
        self._file.close()


def _lock(file: IO[bytes], path: Path) -> None:
    """Lock an open file against other runs. On Windows, do nothing."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RowsError(f"Another run writes its rows to {path}: wait for its end, or name another file.") from None
    except OSError as error:
        raise RowsError(f"{path} cannot be locked: {error.strerror}.") from error
