"""Find the project around a file: its marker files, its folder, its pyproject.toml and its own Python files."""

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
"""Files that make a folder installable with pip."""
MARKS = (*BUILD_FILES, ".git")
"""Entries that mark a folder as a project. Any of them is enough."""
FOREIGN = frozenset({"__pycache__", "node_modules", "site-packages", "dist-packages"})
"""Names of folders with installed or generated files. They are not searched for secrets, so folders that may have the
user's own files must not be listed here.
"""
_OUTPUT = frozenset({"venv", "build", "dist"})
"""Names of folders that tools usually create. Such a folder is the project's own if it has an `__init__.py`."""
_NOT_OWN = FOREIGN | _OUTPUT | {"vendor", "vendored", "_vendor", "third_party"}
"""Names of folders without the project's own code."""
NOTEBOOK = ".ipynb"
"""Suffix of notebooks. A notebook is a module whose name has the suffix, so it hides no module of its own name."""
PAGES = frozenset({".md", ".rst"})
"""Suffixes of pages."""
_ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")
_MOST_FOLDERS = 2000
"""Maximum number of folders listed by `nearest_files`."""
_MOST_COUNTED = 20_000
"""Maximum number of entries to examine when the Python files in a skipped folder are counted."""
_RELATIVE_IMPORT = re.compile(r"from[ \t]*(?P<dots>\.+)[ \t]*[\w.]*[ \t]+import\b")


@dataclass(frozen=True, slots=True)
class Project:
    """The workspace of a request, with the texts of its open files."""

    folder: Path
    """The workspace folder, as an absolute path."""
    overlays: Mapping[Path, str] = field(default_factory=dict)
    """The texts of files that are open in the editor, by path. They replace the texts on disk."""


def project_around(folder: Path) -> Path | None:
    """Return the nearest folder at or above `folder` that has any of the `MARKS`; None if there is none."""
    return next(filter(_is_project, (folder, *folder.parents)), None)


def folder_of(path: Path, text: str) -> Path:
    """Return the project folder of a file.

    It is the nearest folder with any of the `MARKS`, else the folder from which the file's module is imported.
    """
    found = project_around(path.parent)
    if found is None:
        return module_of(path, text, Path(path.anchor)).root
    # If a link on the path leads out of an outer project, return the outer project, so that the file counts as outside.
    # Users can name the file by its real path instead.
    above = [folder for folder in found.parents if _is_project(folder) and not is_wide(folder)]
    return next((folder for folder in above if leads_out(found, folder)), found)


def pyproject_file(folder: Path, top: Path | None = None) -> Path | None:
    """Return the nearest entry named pyproject.toml at or above `folder`, but not above `top`; None if there is none.

    The entry may be something else than a regular file.
    """
    folders = [folder, *folder.parents]
    if top in folders:
        folders = folders[: folders.index(top) + 1]
    return next((path for each in folders if os.path.lexists(path := each / "pyproject.toml")), None)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, link or folder that `python_files` leaves out."""

    path: Path
    why: str
    """A noun phrase that describes the entry, such as `12 files`."""


def python_files(
    folder: Path,
    tell: Callable[[str], object] = str,
    *,
    skip: Callable[[Skipped], object] | None = None,
    seen: set[Path] | None = None,
    most: float = inf,
    suffixes: Collection[str] = (".py",),
) -> Iterator[Path]:
    """Yield the project's own Python files below `folder`. In each folder, sorted files come before sorted folders.

    So the files of a package come together, and `check` imports the package less often.

    Links are skipped, and so are folders that are hidden, installed, vendored or built.

    Args:
        folder: the folder to search.
        tell: receives a message for each folder that cannot be read.
        skip: receives the skipped entries that are, or may have, Python files.
        seen: folders to leave out. Each folder that is searched is added.
        most: the search ends when `seen` has this number of folders.
        suffixes: the suffixes of the files to yield.
    """
    seen = set() if seen is None else seen
    pending = [iter([(True, folder)])]  # folders can be nested more deeply than generators
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
    """Yield the Python files of `workspace` except `own`: first from the folder of `own`, then from each parent folder.

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
    """Yield the project's own folders and files directly in `folder`. The first item is True for a folder."""
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
    """Return whether `folder` has the project's own code. `folder` must not be a link."""
    name = folder.name
    if name.startswith(".") or _is_environment(folder):
        return False
    return name not in _NOT_OWN or (name in _OUTPUT and _exists(folder / "__init__.py"))


def is_never_own(parts: Iterable[str]) -> bool:
    """Return whether `python_files` skips a path because of a name in it, whatever the folders hold."""
    return any(part.startswith(".") or part in _NOT_OWN - _OUTPUT for part in parts)


def _is_environment(folder: Path) -> bool:
    return any(_exists(folder / mark) for mark in _ENVIRONMENT_MARKS)


def _why_skipped(path: Path, *, is_link: bool, is_folder: bool) -> str | None:
    """Return a description of a skipped entry; None if it has no Python file, so that there is nothing to report."""
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
    """Return the number of Python files below a folder, and True if the whole folder was examined."""
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
    """Return whether a file is a page: a text with prose, in Markdown or reStructuredText."""
    return path.suffix in PAGES


def is_wide(folder: Path) -> bool:
    """Return whether a folder is too wide to be one project, even if it has a marker file.

    That holds for the home folder, for its folders that programs share, such as `.config`, for the folder of temporary
    files, and for all their parents.
    """
    shared = (*(home() / name for name in (".local/share", ".config", ".cache")), _temporary())
    folder = Path(os.path.realpath(folder))
    return any(place.is_relative_to(folder) for place in shared if place is not None)


def home() -> Path:
    """Return the user's home folder, with links resolved."""
    return Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111  # Path.home() fails for a user without one


def _temporary() -> Path | None:
    try:
        return Path(os.path.realpath(tempfile.gettempdir()))
    except OSError:
        return None


def module_of(path: Path, text: str, workspace: Path) -> Module:
    """Return the name under which the file at `path` is imported, and the directory from which it is imported.

    Directories with an `__init__.py` are packages. Further parent directories, up to the workspace, count as packages
    if the relative imports in `text` have too many dots otherwise. They also count as packages (PEP 420) if `text`
    imports from them, or if the module would hide a module of the standard library: `jaraco/functools/__init__.py` is
    `jaraco.functools`, not `functools`.
    """
    path, workspace = path.absolute(), workspace.absolute()
    folder = path.parent
    if path.suffix == NOTEBOOK:  # Jupyter imports from the notebook's own folder
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
    """Return whether the folder `root` of a file is a package without an `__init__.py`."""
    if not root.name.isidentifier():
        return False
    if path.relative_to(root).parts[0].removesuffix(".py") in sys.stdlib_module_names:
        return True
    if root.name not in text or _exists(root / root.name):
        return False
    imports = re.finditer(rf"(?:from|import)[ \t]+{root.name}\.\w", text)
    return any(starts_logical_line(text, match.start()) for match in imports)


def _outside_packages(folder: Path) -> Path:
    """Return the nearest directory at or above `folder` that is not a package."""
    while (folder / "__init__.py").is_file() and "." not in folder.name:
        folder = folder.parent
    return folder


def _depth(folder: Path, root: Path) -> int:
    return len(folder.parts) - len(root.parts)


def _levels(text: str, at_least: int) -> int:
    """Return the number of enclosing packages that the relative imports in `text` need; `at_least` if fewer."""
    imports = sorted(_RELATIVE_IMPORT.finditer(text), key=lambda match: len(match["dots"]), reverse=True)
    deeper = (match for match in imports if len(match["dots"]) > at_least)
    # An import in a string does not start a logical line, so it does not count.
    return next((len(match["dots"]) for match in deeper if starts_logical_line(text, match.start())), at_least)


def importable(stem: str, folder: Path) -> str:
    """Return `stem` if it is a valid module name, else a similar name that no file in `folder` has.

    For example, `my-script` becomes `my_script`. `__main__` also gets another name, because a module with the name
    `__main__` runs as a program.
    """
    if stem.isidentifier() and stem != "__main__":
        return stem
    name = re.sub(r"\W", "_", stem)
    name = f"_{name}" if not name.isidentifier() or name == "__main__" else name
    while (folder / f"{name}.py").exists():
        name += "_"
    return name


def below(folder: Path, path: Path) -> Path:
    """Return `path` relative to `folder` if it is below `folder`, else return it unchanged."""
    return path.relative_to(folder) if path.is_relative_to(folder) else path


def _is_project(folder: Path) -> bool:
    return any(_exists(folder / mark) for mark in MARKS)


def _exists(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110  # Path.exists() raises in folders that we may not search
