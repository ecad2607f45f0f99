"""The surroundings of a document: its folder, and the other open files."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from adacoder.domain import TargetError
from adacoder.lsp.connection.pygls_fixes import Workspace
from adacoder.lsp.snapshot import Uri, first_folder, renamed, take


def workspace(*folders: Path, root: Path | None = None) -> Workspace:
    named = [types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders]
    return Workspace(None if root is None else root.as_uri(), workspace_folders=named)


def opened(there: Workspace, path: Path, text: str = "", version: int = 1) -> Uri:
    uri = Uri(path.as_uri())
    there.put_text_document(types.TextDocumentItem(uri, "python", version, text))
    return uri


def test_the_innermost_workspace_folder(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    there = workspace(tmp_path, inner, tmp_path / "a")
    assert take(there, opened(there, inner / "c" / "m.py")).folder == inner
    assert take(there, opened(there, tmp_path / "m.py")).folder == tmp_path
    assert first_folder(there) == tmp_path


def test_the_root_of_an_editor_that_knows_no_folders(tmp_path: Path) -> None:
    there = workspace(root=tmp_path)
    assert take(there, opened(there, tmp_path / "a" / "m.py")).folder == tmp_path
    assert first_folder(there) == tmp_path


def test_outside_of_the_workspace_the_nearest_project(tmp_path: Path) -> None:
    there = workspace(tmp_path / "elsewhere")
    project = tmp_path / "project"
    (project / "pkg" / "sub").mkdir(parents=True)
    (project / "pyproject.toml").touch()
    assert take(there, opened(there, project / "pkg" / "sub" / "m.py")).folder == project


def test_without_a_project_the_folder_it_is_imported_from(tmp_path: Path) -> None:
    package = tmp_path / "pkg" / "sub"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    there = workspace()
    assert take(there, opened(there, package / "m.py")).folder == tmp_path
    assert first_folder(there) == Path.cwd()


def test_other_open_files_lie_over_those_on_disk(tmp_path: Path) -> None:
    there = workspace(tmp_path)
    uri = opened(there, tmp_path / "mein ö.py", "own", version=0)
    opened(there, tmp_path / "other.py", "other")
    opened(there, tmp_path / "notes.txt", "no Python")
    there.put_text_document(types.TextDocumentItem("untitled:x.py", "python", 1, "no file"))
    found = take(there, uri)
    assert (found.path, found.text, found.version) == (tmp_path / "mein ö.py", "own", 0)
    assert found.overlays == {tmp_path / "other.py": "other"}


def test_a_snapshot_stays_what_it_was(tmp_path: Path) -> None:
    there = workspace(tmp_path)
    uri, other = opened(there, tmp_path / "m.py", "one"), opened(there, tmp_path / "n.py", "two")
    before = take(there, uri)
    assert take(there, uri).same_as(before)
    change = types.TextDocumentContentChangeWholeDocument(text="three")
    there.update_text_document(types.VersionedTextDocumentIdentifier(2, other), change)
    assert before.overlays == {tmp_path / "n.py": "two"}
    assert not take(there, uri).same_as(before)


def test_a_file_that_is_not_open_is_read_as_python_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes("# coding: latin-1\r\nx = 'é'\r\n".encode("latin-1"))
    found = take(workspace(tmp_path), Uri(path.as_uri()))
    assert (found.text, found.version) == ("# coding: latin-1\r\nx = 'é'\r\n", None)
    with pytest.raises(TargetError, match="no file"):
        take(workspace(tmp_path), Uri((tmp_path / "gone.py").as_uri()))


@pytest.mark.parametrize(
    ("uri", "new"),
    [("file:///w/a.py", "file:///w/b.py"), ("file:///w/a.py/c.py", "file:///w/b.py/c.py"), ("file:///w/a.pyi", None)],
)
def test_a_file_follows_its_folder(uri: str, new: str | None) -> None:
    assert renamed(Uri(uri), "file:///w/a.py", "file:///w/b.py") == new
