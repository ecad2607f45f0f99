"""Open the files that an agent names. The files must be below one folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from logging import getLogger
from pathlib import Path

from adacoder.domain import AdaCoderError, TargetError
from adacoder.mcp.answers import Refusal
from adacoder.privacy.access import Access, AccessDenied
from adacoder.project import Project, folder_of
from adacoder.settings import Settings, from_project, merge
from adacoder.source.locate import Documented, documented_at, names_near, undocumented
from adacoder.source.text import LONGEST, SourceFile, decoded

log = getLogger(__name__)

_PYTHON = frozenset({"", ".py", ".pyw"})
_MOST_NOTICES = 100
"""Maximum number of warnings that are remembered, so as not to log them twice."""


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that the agent has named."""

    file: SourceFile
    folder: Path
    """The folder of the file's project."""
    settings: Settings

    @property
    def project(self) -> Project:
        """The project of the file."""
        return Project(self.folder)

    def find(self, name: str) -> Documented:
        """Return the docstring of the function or class `name`.

        Raises:
            Refusal: the function or class does not exist, or has no docstring.
        """
        try:
            return documented_at(self.file.text, self.file.path, self.folder, None, name)
        except TargetError:
            if undocumented(self.file.text, self.file.path, qualname=name) is not None:
                raise Refusal(
                    "no_such_function", f"'{name}' has no docstring.", "Give it a docstring that has >>> examples."
                ) from None
            near = names_near(self.file.text, name)
            then = "Call again with a name from functions_nearby." if near else "Call check_examples without a name."
            raise Refusal("no_such_function", f"The file has no function '{name}'.", then, near) from None


class Workplace:
    """The folder in which an agent works, and the settings for it."""

    def __init__(self, root: Path, *values: Mapping[str, object]) -> None:
        """Set the folder to `root`, which must be a real path.

        `values` are settings that override the project's settings. If there are several, the last has priority.
        """
        self.root = root
        self._values = values
        self._notice = lru_cache(_MOST_NOTICES)(log.warning)  # each call repeats the warnings

    def open(self, path: str) -> OpenFile:
        """Read a Python file.

        Raises:
            Refusal: the path is outside of the root, is private, or is not a Python file.
        """
        real = self.inside(path)
        if real.suffix not in _PYTHON:
            raise Refusal("not_python", f"'{path}' is not a .py file.", "Call again with the path of a .py file.")
        try:
            # This follows no links, so a link to the outside cannot replace the file.
            file = decoded(real, self._access().read(real, most=LONGEST))
        except (AccessDenied, TargetError, OSError):
            message = f"'{path}' is not a readable file with Python text."
            raise Refusal("not_python", message, "Call again with the path of a .py file.") from None
        folder = folder_of(real, file.text)
        return OpenFile(file, folder, self._settings(folder))

    def inside(self, path: str) -> Path:
        """Return the real path of a file or folder that may be read.

        Raises:
            Refusal: the agent may not read the file or folder.
        """
        try:
            real = Path(os.path.realpath(self.root / path))
            self._access().require(real)
        except (ValueError, OSError, AdaCoderError):
            message = f"'{path}' is outside of the root, or it is private."
            raise Refusal("outside_root", message, "Call again with a path below the root.") from None
        return real

    def _access(self) -> Access:
        return Access((self.root,), self._settings(self.root).wishes)

    def _settings(self, folder: Path) -> Settings:
        settings = from_project(Settings(), folder, self._notice)
        for values in self._values:
            settings = merge(settings, values, self._notice)
        return settings
