"""What of the file system a confined interpreter may see, independent of the mechanism that confines it."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adacoder.domain import Module
    from adacoder.sandbox.interpreter import Interpreter

_SECRET_FILES = (
    ".env*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "id_rsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git",  # in a worktree it is a file
    ".git-credentials",
)
_SECRET_FOLDERS = frozenset({".git", ".hg", ".svn", ".ssh", ".gnupg", ".aws"})


LAUNCHER = Path(__file__).with_name("launcher.py")
WORKER = Path(__file__).with_name("worker.py")
OUR_PYTHON = Path(sys.executable).resolve()
"""Runs the launcher, which needs nothing of the virtual environment that AdaCoder may be installed in."""
TOOLS = tuple(
    dict.fromkeys(
        place
        for path in (Path(sys.base_prefix), Path(sys.base_exec_prefix), OUR_PYTHON, LAUNCHER, WORKER)
        for place in (path, path.resolve())
    )
)
"""What AdaCoder itself runs inside."""


@dataclass(frozen=True, slots=True)
class Space:
    """What a confined process may read of the user's files. It may write none of them."""

    interpreter: Interpreter
    shown: tuple[Path, ...]
    """Folders and files of the project, absolute."""
    hidden: tuple[Path, ...]
    """Folders and files within `shown` that hold secrets."""


def space(interpreter: Interpreter, workspace: Path, module: Module) -> Space:
    """What `module`, which belongs to `workspace`, may see when `interpreter` runs it."""
    shown: list[Path] = []
    hidden: list[Path] = []
    for folder in dict.fromkeys((workspace, module.root)):
        parts = _own_parts(module) if is_wide(folder) else [folder]
        shown += parts
        hidden += [secret for part in parts if part.is_dir() for secret in _secrets(part)]
    return Space(interpreter, tuple(dict.fromkeys(shown)), tuple(dict.fromkeys(hidden)))


def is_wide(folder: Path) -> bool:
    """Whether `folder` holds more than a project: the home folder, that of temporary files, or one above."""
    folder = folder.resolve()
    personal = (Path.home().resolve(), Path(tempfile.gettempdir()).resolve())
    return any(folder == place or folder in place.parents for place in personal)


def _own_parts(module: Module) -> list[Path]:
    """What a module needs of a root that is too wide to be shown: its package, or the modules beside it."""
    package = module.root / module.name.partition(".")[0]
    if package.is_dir():
        return [package]
    return sorted(path for path in module.root.glob("[!.]*.py") if path.is_file())


def _secrets(folder: Path) -> list[Path]:
    found = []
    for entry in sorted(folder.iterdir()):
        is_folder = entry.is_dir()
        named_so = (
            entry.name in _SECRET_FOLDERS
            if is_folder
            else any(fnmatch(entry.name, pattern) for pattern in _SECRET_FILES)
        )
        # A link that leads out of the folder leads nowhere for those who see only the folder.
        if named_so and entry.exists() and entry.resolve().is_relative_to(folder.resolve()):
            found.append(folder / entry.resolve().relative_to(folder.resolve()))
    return found
