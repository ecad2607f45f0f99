"""A snapshot of one document and its surroundings.

Open documents change while a job runs. So a job reads only its snapshot, and takes a new one to see if its result still
holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pygls.uris import to_fs_path, uri_scheme

from adacoder.domain import Target, TargetError
from adacoder.project import folder_of

if TYPE_CHECKING:
    from pygls.workspace import Workspace

    from adacoder.lsp.from_proto import FunctionPlace
    from adacoder.lsp.uri import Uri


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A Python file and the texts of all other open Python files."""

    uri: Uri
    path: Path
    text: str
    version: int | None
    """The client's version of the text. None if the file is not open."""
    folder: Path
    """Its workspace folder, or the folder of its project."""
    overlays: Mapping[Path, str]
    """The texts of the other open Python files, by path."""

    def same_as(self, other: Snapshot) -> bool:
        """True if a Verdict on one holds for the other."""
        return self.text == other.text and self.overlays == other.overlays


def take(workspace: Workspace, uri: Uri) -> Snapshot:
    """Take a snapshot of the document `uri`. A file that is not open is read from disk.

    Raises:
        TargetError: it is not a file, or cannot be read.
    """
    path = _path(uri)
    if path is None:
        kind = "A notebook cell" if "notebook" in (uri_scheme(uri) or "") else "This text"
        raise TargetError(f"{kind} is not a file that Python can import: save it as a .py file first.")
    document = workspace.text_documents.get(uri)
    if document is None:
        from adacoder.source.text import read

        text, version = read(path).text, None
    else:
        from adacoder.source.text import must_be_short

        text, version = document.source, document.version
        must_be_short(path, len(text))
    overlays = {
        other_path: other.source
        for other in workspace.text_documents.values()
        if (other_path := _path(other.uri)) not in (None, path) and other_path.suffix == ".py"
    }
    return Snapshot(uri, path, text, version, _workspace_folder(workspace, path, text), overlays)


def _workspace_folder(workspace: Workspace, path: Path, text: str) -> Path:
    """The innermost workspace folder around `path`, else the folder of its project."""
    around = [folder for folder in _folders(workspace) if path.is_relative_to(folder)]
    return max(around, key=lambda folder: len(folder.parts)) if around else folder_of(path, text)


def first_folder(workspace: Workspace) -> Path:
    """The folder for requests that name no document."""
    return next(iter(_folders(workspace)), Path.cwd())


def _folders(workspace: Workspace) -> list[Path]:
    """The workspace folders on disk, and the root of editors that know only one."""
    folders = [_path(folder.uri) for folder in workspace.folders.values()]
    if workspace.root_path is not None:
        folders.append(Path(workspace.root_path))
    return [folder for folder in folders if folder is not None]


def find(snapshot: Snapshot, place: FunctionPlace) -> Target:
    """The function that `place` refers to. A line is valid only in the text it was taken from, a name in any text.

    Raises:
        TargetError: the function does not exist, or cannot be a target.
    """
    from adacoder.source.locate import locate

    is_same_text = place.version is None or place.version == snapshot.version
    if place.line is not None and (place.qualname is None or place.version is not None) and is_same_text:
        return locate(snapshot.text, snapshot.path, snapshot.folder, line=place.line)
    if place.qualname is not None:
        return locate(snapshot.text, snapshot.path, snapshot.folder, qualname=place.qualname)
    raise TargetError("The text has changed since AdaCoder was asked: ask again.")


def _path(uri: str) -> Path | None:
    path = to_fs_path(uri)
    return None if path is None else Path(path)
