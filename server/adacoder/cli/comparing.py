"""`adacoder compare`: show where functions behave differently from an earlier version of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from adacoder import report
from adacoder.agents.behaviour import NoInputs
from adacoder.checks import Checks
from adacoder.cli import COULD_NOT_RUN
from adacoder.cli.choices import Choices, Told
from adacoder.cli.output import shown_path
from adacoder.cli.place import Place, chosen
from adacoder.cli.terminal import complain, console
from adacoder.domain import AdaCoderError, BehaviourDiff, Target, TargetError
from adacoder.privacy.access import Access
from adacoder.project import Project, folder_of
from adacoder.report.differences import brief, differences_json, outputs, same_on
from adacoder.revisions import read_at
from adacoder.settings import Settings
from adacoder.source.locate import counterpart
from adacoder.source.text import SourceFile, read
from adacoder.task import Task

DIFFERENT = 1
"""Exit code if a function behaves differently."""
_MOST_SHOWN = 5
"""Maximum number of differences to print for a function."""


class Comparing:
    """One run of `adacoder compare`."""

    def __init__(self, against: str, values: Mapping[str, object], *, as_json: bool) -> None:
        """Args:
        against: the file or commit with the earlier version.
        values: maps fields of Settings to the values of options; None means that the option is not given.
        as_json: True to print a line of JSON for each function.
        """
        self._against = against
        self._choices = Choices(values, Told())
        self._as_json = as_json
        self._out = console()
        self._checks = Checks()
        self._codes: list[int] = []
        self._is_empty = True

    async def carry_out(self, place: Place) -> int:
        """Compare the function at `place`, or every function with examples in a file. Return the exit code."""
        try:
            file = read(place.path)
            folder = folder_of(file.path, file.text)
            settings = self._choices.settings(folder)
            before = await self._before(file, folder, settings)
            places = [place]
            if place.is_whole_file:
                places = chosen(file, folder, lambda one: bool(one.target.examples or one.target.of_class))
                if not places:
                    raise TargetError(f"There is no function with examples in {place.path}.")
            for each in places:
                await self._compare(each.find(file, folder), before, folder, settings, is_named=not place.is_whole_file)
            if self._is_empty and max(self._codes) == 0:
                raise TargetError(
                    f"Nothing in {place.path} could be compared: name another version than {self._against}."
                )
            return max(self._codes)
        except AdaCoderError as error:
            complain(str(error))
            return COULD_NOT_RUN
        finally:
            await self._checks.close()

    async def _before(self, file: SourceFile, folder: Path, settings: Settings) -> str:
        """Return the earlier text of `file`.

        Raises:
            AdaCoderError: the earlier text cannot be read.
        """
        path = _file(self._against)
        if path is None:
            return (await read_at(self._against, file.path)).text
        Access((folder, path.parent), settings.wishes).require(path)  # the user chose this file, so any folder will do
        return read(path).text

    async def _compare(self, target: Target, before: str, folder: Path, settings: Settings, *, is_named: bool) -> None:
        """Compare one function with its earlier version, and show the result.

        The earlier text of the file runs in place of its current text, so both versions import the same other modules.
        """
        name = f"{shown_path(target.module.path)}::{target.qualname}"
        try:
            then = counterpart(target, before, folder)
            if then is None:
                message = f"'{target.qualname}' is not in {self._against}, so there is nothing to compare it with."
                raise NoInputs(message)
            found = await self._checks.compare(Task(target, settings, Project(folder)), then)
        except AdaCoderError as error:
            complain(str(error))
            if self._as_json:
                print(json.dumps({"version": report.VERSION, "function": name, "reason": str(error)}))
            self._codes.append(0 if isinstance(error, NoInputs) and not is_named else COULD_NOT_RUN)
            return
        self._is_empty = False
        if self._as_json:
            print(json.dumps({"version": report.VERSION, "function": name, **differences_json(found), "reason": None}))
        else:
            self._show(found, name)
        self._codes.append(DIFFERENT if found.differs else 0)

    def _show(self, found: BehaviourDiff, name: str) -> None:
        style = "bold yellow" if found.differs else "bold green"
        self._out.print(f"{name}: same as in {self._against} {same_on(found)}.", style=style)
        for each in found.differs[:_MOST_SHOWN]:
            here, there = outputs(each)
            for line in (brief(each.call), f"  was {there}", f"  now {here}"):
                self._out.print(f"  {line}")
        if more := len(found.differs[_MOST_SHOWN:]):
            self._out.print(f"  {more} more differ: --json lists all.")
        for why, count in found.left_out.items():
            self._out.print(f"  Not compared: {count} that {why}.", style="dim")


def _file(against: str) -> Path | None:
    path = Path(os.path.abspath(against))  # noqa: PTH100  # resolve() would follow the links
    return path if os.path.isfile(path) else None  # noqa: PTH113  # Path.is_file() may raise
