"""Find the project of a file: its folder, its pyproject.toml, and its own Python files."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from adacoder.domain import Module
from adacoder.messages import counted
from adacoder.privacy.access import leads_out
from adacoder.pytext import starts_logical_line

BUILD_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
"""Names of files with which pip can install a folder."""
MARKS = (*BUILD_FILES, ".git")
"""Files and folders that mark a project folder. One is enough."""
FOREIGN = frozenset({"__pycache__", "node_modules", "site-packages", "dist-packages"})
"""Names of folders with installed or generated files.

These folders are not searched for secrets. So never add a name that a user may give to a folder.
"""
_OUTPUT = frozenset({"venv", "build", "dist"})
"""Names of folders that tools create. With an `__init__.py`, such a folder still belongs to the project."""
_NOT_OWN = FOREIGN | _OUTPUT | {"vendor", "vendored", "_vendor", "third_party"}
"""Names of folders with code that does not belong to the project."""
NOTEBOOK = ".ipynb"
"""Suffix of notebooks. It stays in the module name, so that a notebook never hides a module with the same name."""
PAGES = frozenset({".md", ".rst"})
"""Suffixes of pages of documentation."""
_ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")
_MOST_FOLDERS = 2000
"""Maximum number of folders that `nearest_files` searches."""
_MOST_COUNTED = 20_000
"""Maximum number of entries that are read to count the Python files of a skipped folder."""
_RELATIVE_IMPORT = re.compile(r"from[ \t]*(?P<dots>\.+)[ \t]*[\w.]*[ \t]+import\b")


@dataclass(frozen=True, slots=True)
class Project:
    """The workspace of a request, with the open files."""

    folder: Path
    """Absolute path of the workspace folder."""
    overlays: Mapping[Path, str] = field(default_factory=dict)
    """Texts of the files that are open in the editor. They replace the files on disk."""


def project_around(folder: Path) -> Path | None:
    """Return the nearest project folder at or above `folder`, or None."""
    return next(filter(_is_project, (folder, *folder.parents)), None)


def folder_of(path: Path, text: str) -> Path:
    """Return the project folder of a file.

    Outside of all projects, return the folder from which the file's module is imported.
    """
    found = project_around(path.parent)
    if found is None:
        return module_of(path, text, Path(path.anchor)).root
    # A link in an outer project may lead to this folder. Then return the outer project, so that the file counts as
    # outside.
    above = [folder for folder in found.parents if _is_project(folder) and not is_wide(folder)]
    return next((folder for folder in above if leads_out(found, folder)), found)


def pyproject_file(folder: Path, top: Path | None = None) -> Path | None:
    """Find the nearest pyproject.toml at or above `folder`, but not above `top`. Return None if there is none.

    The path may be a folder or a link, so the caller must check it.
    """
    folders = [folder, *folder.parents]
    if top in folders:
        folders = folders[: folders.index(top) + 1]
    return next((path for each in folders if os.path.lexists(path := each / "pyproject.toml")), None)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, link or folder that `python_files` left out."""

    path: Path
    why: str
    """Short description, such as `12 files` or `a link`."""


def python_files(
    folder: Path,
    tell: Callable[[str], object] = str,
    *,
    skip: Callable[[Skipped], object] | None = None,
    seen: set[Path] | None = None,
    most: float = inf,
    suffixes: Collection[str] = (".py",),
) -> Iterator[Path]:
    """Yield the project's own Python files below `folder`.

    The files of a folder come before its subfolders, in sorted order. So `check` imports each package less often. Links
    are left out, and so are hidden, installed, vendored and built folders.

    Args:
        folder: the folder to search.
        tell: receives a message about each folder that cannot be read.
        skip: receives each skipped entry that may contain Python files.
        seen: folders to leave out. The searched folders are added.
        most: the search ends when `seen` has this many folders.
        suffixes: the suffixes of the files to yield.
    """
    seen = set() if seen is None else seen
    pending = [iter([(True, folder)])]  # without recursion, because folders can be nested deeper than Python's stack
    while pending:
        is_folder, path = next(pending[-1], (False, None))
        if path is None:
            pending.pop()
        elif not is_folder:
            yield path
        elif path not in seen and len(seen) < most:
            seen.add(path)
            try:
                pending.append(iter(sorted(_own_entries(path, skip, suffixes))))
            except OSError as error:
                tell(f"{path} cannot be read ({error.strerror}): check its permissions.")


def nearest_files(own: Path, workspace: Path) -> Iterator[Path]:
    """Yield the Python files of `workspace`, the nearest to `own` first. The file `own` is left out.

    At most `_MOST_FOLDERS` folders are searched.
    """
    seen = set[Path]()
    for top in [folder for folder in own.parents if folder.is_relative_to(workspace)] or [own.parent]:
        for path in sorted(python_files(top, seen=seen, most=_MOST_FOLDERS), key=lambda path: len(path.parts)):
            if path != own:
                yield path


def _own_entries(
    folder: Path, skip: Callable[[Skipped], object] | None, suffixes: Collection[str]
) -> Iterator[tuple[bool, Path]]:
    """Yield the project's own entries of `folder` as pairs: True for a folder, and the path."""
    with os.scandir(folder) as entries:
        for entry in entries:
            path = folder / entry.name
            is_link = entry.is_symlink()
            is_folder = not is_link and entry.is_dir()
            is_file = not is_link and path.suffix in suffixes and entry.is_file() and not entry.name.startswith(".")
            if is_file or (is_folder and _is_own(path)):
                yield is_folder, path
            elif skip is not None and (why := _why_skipped(path, is_link=is_link, is_folder=is_folder)):
                skip(Skipped(path, why))


def _is_own(folder: Path) -> bool:
    """Return whether a folder belongs to the project. The folder must not be a link."""
    name = folder.name
    if name.startswith(".") or _is_environment(folder):
        return False
    return name not in _NOT_OWN or (name in _OUTPUT and _exists(folder / "__init__.py"))


def is_never_own(parts: Iterable[str]) -> bool:
    """Return whether `python_files` always skips a path, because of a name in the path."""
    return any(part.startswith(".") or part in _NOT_OWN - _OUTPUT for part in parts)


def _is_environment(folder: Path) -> bool:
    return any(_exists(folder / mark) for mark in _ENVIRONMENT_MARKS)


def _why_skipped(path: Path, *, is_link: bool, is_folder: bool) -> str | None:
    """Describe a skipped entry to the user. Return None if it contains no Python file."""
    is_python = path.suffix == ".py"
    if is_link:
        return "a link" if is_python or os.path.isdir(path) else None  # noqa: PTH112  # is_dir() may raise
    if not is_folder:
        return "hidden, or not a regular file" if is_python else None
    files, is_all = _count(path)
    if not files:
        return None if is_all else "too large to search"
    kind = "a virtual environment, " if _is_environment(path) else ""
    return f"{kind}{'' if is_all else 'over '}{counted(files, 'file')}"


def _count(top: Path) -> tuple[int, bool]:
    """Count the Python files below a folder. The second value is False if the count is incomplete."""
    files = looked = 0
    waiting = [top]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    looked += 1
                    if looked > _MOST_COUNTED:
                        return files, False
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    elif entry.name.endswith(".py"):
                        files += 1
        except OSError:
            continue
    return files, True


def is_page(path: Path) -> bool:
    """Return whether a file is a page of documentation (Markdown or reStructuredText)."""
    return path.suffix in PAGES


def is_wide(folder: Path) -> bool:
    """Return whether a folder is too wide to be one project, even if it has a `.git` or a pyproject.toml.

    The home folder is too wide, and so are the folder for temporary files, shared folders such as `~/.config`, and
    their parents.
    """
    shared = (*(home() / name for name in (".local/share", ".config", ".cache")), _temporary())
    folder = Path(os.path.realpath(folder))
    return any(place.is_relative_to(folder) for place in shared if place is not None)


def home() -> Path:
    """Return the real path of the user's home folder."""
    return Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111  # Path.home() fails for a user without one


def _temporary() -> Path | None:
    try:
        return Path(os.path.realpath(tempfile.gettempdir()))
    except OSError:
        return None


def module_of(path: Path, text: str, workspace: Path) -> Module:
    """Return the import name of the file at `path`, and the directory from which it is imported.

    A directory with an `__init__.py` is a package. Inside the workspace, a directory without this file is a package in
    three cases: a relative import in `text` needs it, `text` imports from it by name, or the module would otherwise
    hide a standard module. For example, `jaraco/functools/__init__.py` is `jaraco.functools`, not `functools`.
    """
    path, workspace = path.absolute(), workspace.absolute()
    folder = path.parent
    if path.suffix == NOTEBOOK:  # Jupyter imports from the folder of the notebook
        return Module(path, importable(path.name, folder), folder, workspace)
    root = _outside_packages(folder)
    levels = _levels(text, at_least=_depth(folder, root))
    while _depth(folder, root) < levels and root not in (workspace, root.parent):
        root = _outside_packages(root.parent)
    while root not in (workspace, root.parent) and _is_namespace(path, text, root):
        root = _outside_packages(root.parent)
    packages = list(folder.relative_to(root).parts)
    stem = [] if path.stem == "__init__" else [importable(path.stem, root.joinpath(*packages))]
    return Module(path, ".".join(packages + stem) or folder.name, root, workspace)


def _is_namespace(path: Path, text: str, root: Path) -> bool:
    """Return whether the folder `root` is a package without an `__init__.py` (PEP 420)."""
    if not root.name.isidentifier():
        return False
    if path.relative_to(root).parts[0].removesuffix(".py") in sys.stdlib_module_names:
        return True
    if root.name not in text or _exists(root / root.name):
        return False
    imports = re.finditer(rf"(?:from|import)[ \t]+{root.name}\.\w", text)
    return any(starts_logical_line(text, match.start()) for match in imports)


def _outside_packages(folder: Path) -> Path:
    """Return the nearest directory at or above `folder` that has no `__init__.py`."""
    while (folder / "__init__.py").is_file() and "." not in folder.name:
        folder = folder.parent
    return folder


def _depth(folder: Path, root: Path) -> int:
    return len(folder.parts) - len(root.parts)


def _levels(text: str, at_least: int) -> int:
    """Return how many packages up the relative imports in `text` reach, but at least `at_least`."""
    imports = sorted(_RELATIVE_IMPORT.finditer(text), key=lambda match: len(match["dots"]), reverse=True)
    deeper = (match for match in imports if len(match["dots"]) > at_least)
    # Ignore imports in strings: they do not start a logical line.
    return next((len(match["dots"]) for match in deeper if starts_logical_line(text, match.start())), at_least)


def importable(stem: str, folder: Path) -> str:
    """Return `stem` if it is a valid module name. Otherwise return a similar name without a file in `folder`.

    For example, `my-script` becomes `my_script`. `__main__` is changed too, because Python would run such a module as a
    program.
    """
    if stem.isidentifier() and stem != "__main__":
        return stem
    name = re.sub(r"\W", "_", stem)
    name = f"_{name}" if not name.isidentifier() or name == "__main__" else name
    while (folder / f"{name}.py").exists():
        name += "_"
    return name


def below(folder: Path, path: Path) -> Path:
    """Return `path` relative to `folder`. A path outside of `folder` is returned unchanged."""
    return path.relative_to(folder) if path.is_relative_to(folder) else path


def _is_project(folder: Path) -> bool:
    return any(_exists(folder / mark) for mark in MARKS)


def _exists(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110  # Path.exists() raises in folders that we may not search
