"""Combine the settings of a command: defaults, then the project's settings, then the command's options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from adacoder.cli.terminal import complain
from adacoder.settings import Settings, from_project, merge


class Told:
    """Prints each message to stderr only once, even if it concerns several functions."""

    def __init__(self) -> None:
        self._messages: set[str] = set()

    def __call__(self, message: str) -> None:
        """Print `message`, unless it was printed before."""
        if message not in self._messages:
            self._messages.add(message)
            complain(message)


class Choices:
    """The Settings for one run of a command. Each workspace of the run may have its own."""

    def __init__(self, values: Mapping[str, object], tell: Told) -> None:
        """`values` maps fields of Settings to the values of options. None means that the option is not given."""
        self._given = {name: value for name, value in values.items() if name != "record"}
        record = values.get("record")
        self._record = record if isinstance(record, Path) else None
        self._tell = tell
        self._known: dict[Path, Settings] = {}

    def settings(self, folder: Path) -> Settings:
        """Return the Settings for files of the workspace `folder`."""
        if folder not in self._known:
            of_project = from_project(Settings(record=self._record), folder, self._tell)
            self._known[folder] = merge(of_project, self._given, self._tell)
        return self._known[folder]
