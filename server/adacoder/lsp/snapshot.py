"""Represent the client's documents: their URIs, the copies of open documents, and snapshots.

A snapshot is a copy of a text. A job works on a snapshot, because the document can change while the job runs. Before
the job inserts its result, it compares the snapshot with the current text.
"""

from __future__ import annotations

import atexit
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.uris import to_fs_path, uri_scheme
from pygls.workspace import TextDocument, Workspace

from adacoder.domain import PAGE, Target, TargetError
from adacoder.project import NOTEBOOK, Project, folder_of
from adacoder.pytext import Lines
from adacoder.source.notebook import above, alone, foreign_magic, in_module, length_above, python_of
from adacoder.source.text import PositionEncoding, must_be_short, offset_at, read

if TYPE_CHECKING:
    from adacoder.source.locate import Documented


_UNTITLED = "untitled"
"""URI scheme of documents that were never saved."""


class Uri(str):
    """A URI as the client spells it. Equal to other spellings of the same URI, such as `%20` for a space."""

    __slots__ = ()

    # Compare with the methods of `str`. `unquote` may return a Uri, and `==` between Uris would never end.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and str.__eq__(unquote(self), unquote(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(unquote(self))


def is_file(uri: str) -> bool:
    """Return whether a document is a file. Other documents, such as untitled texts, exist only in the editor."""
    return uri.startswith("file:")


def renamed(uri: Uri, old: str, new: str) -> Uri | None:
    """Return the new URI of a file after the file or folder `old` was renamed to `new`. Return None for other files."""
    if uri == old:
        return Uri(new)
    return Uri(new + uri[len(old) :]) if uri.startswith(f"{old}/") else None


class Document(TextDocument):
    """The server's copy of an open document, with the line ends of LSP.

    In LSP, only `\\n`, `\\r\\n` and `\\r` end a line. pygls 2.1.1 uses `str.splitlines`, which also splits at form
    feeds and seven other characters. So pygls would apply changes to a wrong line, and the copy would differ from the
    editor's text.

    pygls also rebuilds the whole text at every change. This class updates only the changed lines.
    """

    changed_at = -math.inf
    """Time of the latest change, as from `time.monotonic()`."""
    _cut: list[str] | None = None
    """The lines with their line ends. None until the lines are needed.

    The last line has no line end and may be empty.
    """

    @property
    def source(self) -> str:
        """The whole text, with its original line ends."""
        if self._source is None and self._cut is not None:
            self._source = "".join(self._cut)
        return super().source

    @property
    def lines(self) -> list[str]:
        """The lines with their line ends."""
        if self._cut is None:
            self._cut = _lines(self.source)
        return self._cut

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Apply a change, and note the time."""
        super().apply_change(change)
        self.changed_at = time.monotonic()

    def _apply_full_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        self._source, self._cut = change.text, None

    def _apply_incremental_change(self, change: types.TextDocumentContentChangePartial) -> None:
        lines = self.lines
        # Swap the ends of a reversed range. VS Code does the same.
        ends = self._place(lines, change.range.start), self._place(lines, change.range.end)
        (start_line, start), (end_line, end) = sorted(ends)
        # Split the neighbouring lines again, because `\r` before the change and `\n` after it may now form one line
        # end.
        first, last = max(start_line - 1, 0), min(end_line + 2, len(lines))
        before = "".join(lines[first:start_line]) + lines[start_line][:start]
        after = lines[end_line][end:] + "".join(lines[end_line + 1 : last])
        fresh = _lines(before + change.text + after)
        if last < len(lines):
            fresh.pop()  # the last line is empty, because the text before it ends with a line end
        lines[first:last] = fresh
        self._source = None

    def _place(self, lines: Sequence[str], position: types.Position) -> tuple[int, int]:
        """Return the line number and the index in the line.

        A position beyond the end stands for the end of the line or text.
        """
        if position.line >= len(lines):
            return len(lines) - 1, len(lines[-1])
        line = lines[position.line]
        return position.line, offset_at(Lines(line), 0, position.character, encoding_of(self))


def last_change(workspace: Workspace) -> float:
    """Return the time of the latest change in all open documents, as from `time.monotonic()`."""
    return max(
        (getattr(each, "changed_at", -math.inf) for each in workspace.text_documents.values()), default=-math.inf
    )


def encoding_of(owner: TextDocument | Workspace) -> PositionEncoding:
    """Return the encoding in which the client counts characters."""
    return types.PositionEncodingKind(owner.position_codec.encoding).value


def _lines(text: str) -> list[str]:
    return [text[start:end] for start, end in pairwise([*Lines(text).starts, len(text)])]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The text of a Python document or page at one moment, with the texts of the other open Python files.

    In a notebook, each cell is a document. A cell's module consists of the cells above and the cell itself. Positions
    in targets and edits count from the start of the module. Line numbers from the client count from the start of the
    document.
    """

    uri: Uri
    path: Path
    text: str
    version: int | None
    """The client's version number of the text. None if the file is not open."""
    folder: Path
    """The workspace folder that contains the file, or else the folder of the file's project."""
    overlays: Mapping[Path, str]
    """Texts of the other open Python files, by path."""
    notebook: Uri | None = None
    """The notebook, if the document is a cell."""
    cells: tuple[str, ...] = ()
    """Texts of the Python cells above this cell."""

    @property
    def code(self) -> str:
        """The document as Python code. IPython commands are replaced by Python code of the same length."""
        return self.text if self.notebook is None else python_of(self.text)

    @property
    def module_text(self) -> str:
        """The text of the module. For a cell, this includes the cells above."""
        return self.code if self.notebook is None else above(self.cells) + self.code

    @property
    def start(self) -> int:
        """Offset of the document in the module."""
        return length_above(self.cells)

    @property
    def scope(self) -> Uri:
        """The document to which the settings apply. For a cell, this is the notebook."""
        return self.notebook or self.uri

    @property
    def is_file(self) -> bool:
        """True if the document is a file. It may have unsaved changes."""
        return is_file(self.uri)

    @property
    def project(self) -> Project:
        """The project of the file. The texts of open files replace the files on disk."""
        return Project(self.folder, self.overlays)

    def same_as(self, other: Snapshot) -> bool:
        """Return whether a Verdict about this snapshot also applies to `other`."""
        mine, theirs = ((each.text, each.cells, each.overlays) for each in (self, other))
        return mine == theirs

    def is_saved(self) -> bool:
        """Return whether the texts of this snapshot are equal to the files on disk."""
        return all(_is_on_disk(path, text) for path, text in {**self.overlays, self.path: self.text}.items())

    def find(self, *, line: int | None = None, qualname: str | None = None) -> Target:
        """Return the function at `line`, or the function named `qualname`.

        Raises:
            TargetError: the function does not exist, or cannot be a target.
        """
        from adacoder.source.locate import locate

        return self._in_module(locate(self.code, self.path, self.folder, line=line, qualname=qualname))

    def again(self, target: Target) -> Target | None:
        """Find a function of an earlier snapshot in this snapshot. Return None if the function's source has changed."""
        from adacoder.source.locate import locate_again

        found = locate_again(alone(target), self.code, self.folder)
        return None if found is None else self._in_module(found)

    def functions(self) -> tuple[Documented, ...]:
        """Return all functions that can be targets, in the order of the document.

        Raises:
            TargetError: the code in the file never runs.
        """
        from adacoder.source.locate import functions

        found = functions(self.code, self.path, self.folder)
        return tuple(replace(each, target=self._in_module(each.target)) for each in found)

    def documented(self) -> Iterator[Documented]:
        """Yield the docstrings in which doctest would look for examples. A page with examples counts as one docstring.

        Raises:
            TargetError: the code in the file never runs.
        """
        from adacoder.source.pages import docstrings

        for each in docstrings(self.code, self.path, self.folder):
            if not (self.cells and each.target.qualname == PAGE):  # only the first cell has the module's docstring
                yield replace(each, target=self._in_module(each.target))

    def _in_module(self, target: Target) -> Target:
        return target if self.notebook is None else in_module(target, self.cells)

    def page(self) -> Target:
        """Return the page of documentation as a target.

        Raises:
            TargetError: the page has no examples, or doctest cannot read the examples.
        """
        found = next(self.documented(), None)
        if found is None:
            raise TargetError(f"{self.path} has no example: write one, such as `>>> f(2)` above its output.")
        if found.unreadable is not None:
            raise found.unreadable
        return found.target


def take(workspace: Workspace, uri: Uri) -> Snapshot:
    """Take a snapshot of the document `uri`. A file that is not open is read from disk.

    Raises:
        TargetError: the document cannot be read, or is neither a file, nor an open untitled Python text, nor a Python
            cell.
    """
    document = workspace.text_documents.get(uri)
    notebook = workspace.get_notebook_document(cell_uri=uri)
    path = path_of(workspace, uri)
    if path is None:
        raise TargetError(_why_not(uri, document))
    if document is None:
        text, version = read(path).text, None
    else:
        text, version = document.source, document.version
        must_be_short(path, len(text))
    overlays = {
        other_path: other.source
        for other in workspace.text_documents.values()
        if (other_path := _path(other.uri)) not in (None, path) and other_path.suffix == ".py"
    }
    folder = _workspace_folder(workspace, path, text)
    if notebook is None:
        return Snapshot(uri, path, text, version, folder, overlays)
    if (magic := foreign_magic(text)) is not None:
        raise TargetError(f"This cell begins with {magic}, so it is not Python: go to a cell in Python.")
    cells = _cells_above(workspace, notebook, uri)
    must_be_short(path, sum(map(len, cells)) + len(text))
    return Snapshot(uri, path, text, version, folder, overlays, Uri(notebook.uri), cells)


def path_of(workspace: Workspace, uri: Uri) -> Path | None:
    """Return the path of a document, or None if the document is closed or is not Python.

    A cell has the path of its notebook. An untitled document gets the path of a file that does not exist.
    """
    document, notebook = workspace.text_documents.get(uri), workspace.get_notebook_document(cell_uri=uri)
    if notebook is None and is_file(uri):
        return _path(uri)
    named = uri if notebook is None else notebook.uri
    if document is None or document.language_id != "python" or (notebook is None and uri_scheme(uri) != _UNTITLED):
        return None
    path = _path(named) or Path(unquote(urlsplit(named).path))
    name = f"{path.name.removesuffix(NOTEBOOK)}{NOTEBOOK}" if notebook else path.name or _UNTITLED
    if path.is_absolute():
        return path.with_name(name)
    folders = _folders(workspace)
    return (folders[0] if folders else _empty_folder()) / name


def _why_not(uri: Uri, document: TextDocument | None) -> str:
    """Return the reason why a document has no path."""
    if uri_scheme(uri) == _UNTITLED:
        name = Path(unquote(urlsplit(uri).path)).name
        if document is None:
            return f"The untitled text '{name}' is not open: open it in the editor."
        return f"'{name}' is not Python: choose Python as its language, or save it as a .py file."
    if "notebook" not in (uri_scheme(uri) or ""):
        return "This text is not a file that Python can import: save it as a .py file first."
    if document is None:
        return "The cell was deleted, or its notebook was closed: open the notebook again."
    return "The editor sends this cell without its notebook, or not as Python: save the function in a .py file."


def _cells_above(workspace: Workspace, notebook: types.NotebookDocument, uri: Uri) -> tuple[str, ...]:
    """Return the texts of the Python cells above a cell.

    Cells with prose, which some clients also send, are skipped.
    """
    found: list[str] = []
    for cell in notebook.cells:
        if uri == cell.document:
            break
        document = workspace.text_documents.get(Uri(cell.document))
        if cell.kind is types.NotebookCellKind.Code and document is not None and document.language_id == "python":
            found.append(document.source)
    return tuple(found)


@cache
def _empty_folder() -> Path:
    """Create an empty folder that only this user can access. It is deleted when the server ends."""
    from adacoder.sandbox.isolation.scratch import scratch

    opened = ExitStack()
    atexit.register(opened.close)
    return Path(opened.enter_context(scratch()))


def uri_at(workspace: Workspace, path: Path) -> Uri:
    """Return the URI of a file. For an open file, return the URI in the client's spelling."""
    opened = (Uri(uri) for uri in workspace.text_documents if _path(uri) == path)
    return next(opened, Uri(path.as_uri()))


def _workspace_folder(workspace: Workspace, path: Path, text: str) -> Path:
    """Return the innermost workspace folder that contains `path`, or else the folder of the project."""
    around = [folder for folder in _folders(workspace) if path.is_relative_to(folder)]
    return max(around, key=lambda folder: len(folder.parts)) if around else folder_of(path, text)


def first_folder(workspace: Workspace) -> Path:
    """Return the first workspace folder, or else the current directory.

    Requests that name no document use this folder.
    """
    return next(iter(_folders(workspace)), Path.cwd())


def _folders(workspace: Workspace) -> list[Path]:
    """Return the workspace folders on disk. Some editors only send a root folder, which is included."""
    folders = [_path(folder.uri) for folder in workspace.folders.values()]
    if workspace.root_path is not None:
        folders.append(Path(workspace.root_path))
    return [folder for folder in folders if folder is not None]


def _is_on_disk(path: Path, text: str) -> bool:
    try:
        return read(path).text == text
    except TargetError:
        return False


def _path(uri: str) -> Path | None:
    path = to_fs_path(uri)
    return None if path is None else Path(path)
