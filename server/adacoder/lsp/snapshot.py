"""The client's documents: their URIs, the server's copies of open documents, and snapshots.

A document can change while a job runs, so the job reads only its snapshot: the text at one moment. To find out whether
the result still holds, the job takes a new snapshot.
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
"""Scheme of the URIs of texts that were never saved."""


class Uri(str):
    """A URI as the client spells it. Different spellings of a URI, such as `%20` for a space, are equal.

    A dictionary also treats all spellings as the same key.
    """

    __slots__ = ()

    # `unquote` may return a Uri again. The methods of `str` are called explicitly, to prevent an endless recursion.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and str.__eq__(unquote(self), unquote(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(unquote(self))


def is_file(uri: str) -> bool:
    """Return whether a document is a file. Other documents exist only in the editor."""
    return uri.startswith("file:")


def renamed(uri: Uri, old: str, new: str) -> Uri | None:
    """Return the new URI of a file after `old`, the file itself or a folder, got the URI `new`; None if it stays."""
    if uri == old:
        return Uri(new)
    return Uri(new + uri[len(old) :]) if uri.startswith(f"{old}/") else None


class Document(TextDocument):
    """The server's copy of an open document, with lines split as the protocol specifies.

    In LSP, only `\\n`, `\\r\\n` and `\\r` end a line. But pygls 2.1.1 uses `str.splitlines`, for which a form feed,
    U+2028 and six other characters end a line as well. Many files of Python's own library have a form feed. pygls would
    make a change below a form feed in the wrong line, and the copy would differ from the editor's text. pygls also
    builds the whole text again at every change. This class stores lines, and updates only the changed lines.
    """

    changed_at = -math.inf
    """Time of the latest change, from `time.monotonic()`."""
    _cut: list[str] | None = None
    """The text as lines with their terminators; None before the text is split.

    The last line has no terminator and may be empty.
    """

    @property
    def source(self) -> str:
        """The whole text with its original line endings."""
        if self._source is None and self._cut is not None:
            self._source = "".join(self._cut)
        return super().source

    @property
    def lines(self) -> list[str]:
        """The text as lines with their terminators."""
        if self._cut is None:
            self._cut = _lines(self.source)
        return self._cut

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Apply a change, and note its time."""
        super().apply_change(change)
        self.changed_at = time.monotonic()

    def _apply_full_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        self._source, self._cut = change.text, None

    def _apply_incremental_change(self, change: types.TextDocumentContentChangePartial) -> None:
        lines = self.lines
        # If a range is reversed, swap its ends, as VS Code does.
        ends = self._place(lines, change.range.start), self._place(lines, change.range.end)
        (start_line, start), (end_line, end) = sorted(ends)
        # Include one more line before and after the change: a `\r` before it and a `\n` after it may now form one line
        # end.
        first, last = max(start_line - 1, 0), min(end_line + 2, len(lines))
        before = "".join(lines[first:start_line]) + lines[start_line][:start]
        after = lines[end_line][end:] + "".join(lines[end_line + 1 : last])
        fresh = _lines(before + change.text + after)
        if last < len(lines):
            fresh.pop()  # the last line is empty, because the line before it has a terminator
        lines[first:last] = fresh
        self._source = None

    def _place(self, lines: Sequence[str], position: types.Position) -> tuple[int, int]:
        """Return the line of a position and its index in the line. A position beyond an end is moved to that end."""
        if position.line >= len(lines):
            return len(lines) - 1, len(lines[-1])
        line = lines[position.line]
        return position.line, offset_at(Lines(line), 0, position.character, encoding_of(self))


def last_change(workspace: Workspace) -> float:
    """Return the time of the latest change of an open document, from `time.monotonic()`."""
    return max(
        (getattr(each, "changed_at", -math.inf) for each in workspace.text_documents.values()), default=-math.inf
    )


def encoding_of(owner: TextDocument | Workspace) -> PositionEncoding:
    """Return the unit in which the client counts characters."""
    return types.PositionEncodingKind(owner.position_codec.encoding).value


def _lines(text: str) -> list[str]:
    return [text[start:end] for start, end in pairwise([*Lines(text).starts, len(text)])]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The text of a Python document or page at one moment, with the texts of all other open Python files.

    A cell of a notebook is a document. Its module is the text of the cells above and of the cell itself. Targets and
    edits belong to the module, and lines that come from the client belong to the document.
    """

    uri: Uri
    path: Path
    text: str
    """The text of the document."""
    version: int | None
    """The client's version of the text; None if the file is not open."""
    folder: Path
    """The workspace folder of the file, or else the folder of its project."""
    overlays: Mapping[Path, str]
    """The texts of the other open Python files, by path."""
    notebook: Uri | None = None
    """The notebook of a cell; None if the document is not a cell."""
    cells: tuple[str, ...] = ()
    """The texts of the notebook's Python cells above the cell, in order."""

    @property
    def code(self) -> str:
        """The text of the document as Python, with the same offsets. IPython's own syntax does not run."""
        return self.text if self.notebook is None else python_of(self.text)

    @property
    def module_text(self) -> str:
        """The text of the module."""
        return self.code if self.notebook is None else above(self.cells) + self.code

    @property
    def start(self) -> int:
        """The offset of the document in the text of the module."""
        return length_above(self.cells)

    @property
    def scope(self) -> Uri:
        """The document whose settings apply."""
        return self.notebook or self.uri

    @property
    def is_file(self) -> bool:
        """True if the document is a file, although perhaps with unsaved changes."""
        return is_file(self.uri)

    @property
    def project(self) -> Project:
        """The project of the file. The texts of open files replace the texts on disk."""
        return Project(self.folder, self.overlays)

    def same_as(self, other: Snapshot) -> bool:
        """Return whether a Verdict for one snapshot also holds for the other."""
        mine, theirs = ((each.text, each.cells, each.overlays) for each in (self, other))
        return mine == theirs

    def find(self, *, line: int | None = None, qualname: str | None = None) -> Target:
        """Return the function around a line, or the function with a name.

        Raises:
            TargetError: the function does not exist, or cannot be a target.
        """
        from adacoder.source.locate import locate

        return self._in_module(locate(self.code, self.path, self.folder, line=line, qualname=qualname))

    def again(self, target: Target) -> Target | None:
        """Find a function of an earlier snapshot. None if its source has changed."""
        from adacoder.source.locate import locate_again

        found = locate_again(alone(target), self.code, self.folder)
        return None if found is None else self._in_module(found)

    def functions(self) -> tuple[Documented, ...]:
        """Return all functions of the document that can be targets, in order.

        Raises:
            TargetError: the code in the file never runs.
        """
        from adacoder.source.locate import functions

        found = functions(self.code, self.path, self.folder)
        return tuple(replace(each, target=self._in_module(each.target)) for each in found)

    def documented(self) -> Iterator[Documented]:
        """Yield the docstrings of the document that doctest would read. A page with examples is one docstring.

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
        """Return the page.

        Raises:
            TargetError: it has no examples, or doctest cannot read them.
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
        TargetError: the document is not a file, an open untitled text in Python or a Python cell of an open notebook,
            or cannot be read.
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
    """Return the path of a document. A cell has the path of its notebook.

    An untitled text or notebook gets the path that it would have in the first workspace folder, or else in an empty
    folder. No file has to be there. Return None if the document has no path, because it is closed or is not Python.
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
    """Return the texts of the Python cells above a cell. Some clients also send cells with prose."""
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
    """Return an empty folder that only this user can access. It is removed when the server ends."""
    from adacoder.sandbox.isolation.scratch import scratch

    opened = ExitStack()
    atexit.register(opened.close)
    return Path(opened.enter_context(scratch()))


def uri_at(workspace: Workspace, path: Path) -> Uri:
    """Return the URI of the file at `path`, as the client spells it if the file is open."""
    opened = (Uri(uri) for uri in workspace.text_documents if _path(uri) == path)
    return next(opened, Uri(path.as_uri()))


def _workspace_folder(workspace: Workspace, path: Path, text: str) -> Path:
    """Return the innermost workspace folder around `path`, else the folder of its project."""
    around = [folder for folder in _folders(workspace) if path.is_relative_to(folder)]
    return max(around, key=lambda folder: len(folder.parts)) if around else folder_of(path, text)


def first_folder(workspace: Workspace) -> Path:
    """Return the folder for requests that name no document: the first workspace folder, or the current directory."""
    return next(iter(_folders(workspace)), Path.cwd())


def _folders(workspace: Workspace) -> list[Path]:
    """Return the workspace folders on disk. Add the root folder, because some editors send only a root."""
    folders = [_path(folder.uri) for folder in workspace.folders.values()]
    if workspace.root_path is not None:
        folders.append(Path(workspace.root_path))
    return [folder for folder in folders if folder is not None]


def _path(uri: str) -> Path | None:
    path = to_fs_path(uri)
    return None if path is None else Path(path)
