"""Run as a separate process that checks docstrings for `pytest --adacoder`. `pytest_items` starts it.

Requests and answers are JSON objects, one per line. An answer has the `number` of its request, because answers may
come in another order. This process runs in pytest's interpreter, so examples see the packages that the tests see.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from adacoder import report
from adacoder.cli import COULD_NOT_RUN
from adacoder.cli.checking import Checking, Unit
from adacoder.cli.findings import View, told
from adacoder.cli.place import Place
from adacoder.domain import AdaCoderError, Level, Outcome, Status, TargetError
from adacoder.programs import run
from adacoder.pytext import Lines, parsed
from adacoder.sandbox.probe import probe
from adacoder.settings import Settings
from adacoder.source.conftests import Ignored
from adacoder.visible import Visible, visible


def serve(descriptor: str) -> None:
    """Answer requests on a socket until it is closed."""
    sys.stderr = Visible(sys.stderr)
    connection = socket.socket(fileno=int(descriptor))
    connection.set_inheritable(False)
    run(ChecksForPytest().serve(connection))


class ChecksForPytest(Checking):
    """Reads files and checks docstrings as `adacoder check` does."""

    def __init__(self) -> None:
        super().__init__({"interpreter": sys.executable}, View(), allows_empty=True)
        self._docstrings: list[Unit] = []

    async def serve(self, connection: socket.socket) -> None:
        """Answer requests until the connection is closed. Several requests are answered at a time."""
        reader, writer = await asyncio.open_connection(sock=connection)
        running: set[asyncio.Task[None]] = set()
        try:
            async with asyncio.TaskGroup() as group:
                with suppress(ConnectionError):
                    while line := await reader.readline():
                        running.add(task := group.create_task(self._answer(json.loads(line), writer)))
                        task.add_done_callback(running.discard)
                for task in [*running]:
                    task.cancel()
            self._name_left()  # printed to stderr, after pytest's own summary
        finally:
            await self._checks.close()
            writer.close()

    async def _answer(self, question: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        try:
            match question:
                case {"path": str(path), "named": bool(is_named)}:
                    answer = await self._read(Path(path), is_named=is_named)
                case {"check": int(number)}:
                    answer = _told((await self._check(self._docstrings[number])).outcome)
                case _:
                    answer = await _isolation()
        except AdaCoderError as error:
            answer = {"error": visible(str(error))}
        writer.write(f"{json.dumps({'number': question['number'], **answer})}\n".encode())

    async def _read(self, path: Path, *, is_named: bool) -> dict[str, object]:
        """Return the name, 0-based line and number of each docstring with examples in a file."""
        if not (is_named or await self._is_wanted(path, path.parent)):
            return {"skipped": visible(self._excluded[path])}
        units = await self._in_file(path, Place(path))
        if units and parsed(text := units[0].documented.target.text) is None:
            await self._must_parse({path: text}, units[0].folder)
        first = len(self._docstrings)
        self._docstrings += units
        names = Counter[str]()
        docstrings = []
        for number, target in enumerate((unit.documented.target for unit in units), start=first):
            line = Lines(target.text).line_at(target.docstring_span.start)
            docstrings.append((_item_name(target.qualname, names), line, number))
        return {"docstrings": docstrings}

    async def _ignored_in(self, folder: Path, top: Path, settings: Settings) -> list[Ignored]:
        del folder, top, settings
        return []  # pytest itself applies `collect_ignore`

    def _could_not_read(self, message: str, path: Path | None = None, code: int = COULD_NOT_RUN) -> None:
        raise TargetError(message)


async def _isolation() -> dict[str, object]:
    """Return the level of isolation. Store it, so that later runs start faster.

    Raises:
        AdaCoderError: nothing can isolate code.
    """
    proof = await probe(keeps=True)
    if proof.isolation.level is Level.NONE:
        remedy = proof.remedy or "leave out --adacoder"
        raise AdaCoderError(f"Nothing on this machine can isolate code ({proof.reason}): {remedy}.")
    return {"isolation": proof.isolation.level}


def _item_name(qualname: str, names: Counter[str]) -> str:
    """Return a name for a docstring that is unique among pytest's items of the file.

    `names` counts the docstrings of the same name. A suffix in brackets tells them apart, and tells a docstring of
    `test_…` from the test itself. With the bare name, pytest selects all of them.
    """
    names[qualname] += 1
    if names[qualname] > 1:
        return f"{qualname}[{names[qualname]}]"
    return f"{qualname}[docstring]" if qualname.startswith("test") else qualname


def _told(outcome: Outcome) -> dict[str, object]:
    """Return a docstring's result for the answer, with the reason for a skip or a failure."""
    summary = report.summary(outcome)
    if outcome.status is Status.VERIFIED:
        return {"summary": visible(summary)}
    if outcome.status is Status.UNVERIFIED:
        return {"summary": visible(summary), "skipped": visible(outcome.reason or "")}
    return {"error": visible("\n".join([*told(outcome), summary]))}
