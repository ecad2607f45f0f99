"""The project around a file: its folder, its pyproject.toml and its Python files."""

from __future__ import annotations

from pathlib import Path

import pytest

from adacoder.project import MARKS, folder_of, nearest_files, pyproject_file, python_files


@pytest.mark.parametrize("mark", MARKS)
def test_the_nearest_folder_with_a_mark_is_the_project(mark: str, tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    (inner / "pkg").mkdir(parents=True)
    (tmp_path / "outer" / "pyproject.toml").touch()
    assert folder_of(inner / "pkg" / "m.py", "") == tmp_path / "outer"
    (inner / mark).touch()
    assert folder_of(inner / "pkg" / "m.py", "") == inner


def test_without_a_mark_it_is_the_folder_that_the_module_is_imported_from(tmp_path: Path) -> None:
    package = tmp_path / "pkg" / "sub"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    assert folder_of(package / "m.py", "") == tmp_path
    assert folder_of(tmp_path / "m.py", "") == tmp_path


def test_a_project_behind_a_link_out_of_another_is_no_part_of_that(tmp_path: Path) -> None:
    elsewhere, project = tmp_path / "elsewhere", tmp_path / "project"
    for folder in (elsewhere, project, project / "inside"):
        folder.mkdir()
        (folder / "setup.py").touch()
    (project / "linked").symlink_to(elsewhere)
    assert folder_of(project / "linked" / "m.py", "") == project
    assert folder_of(project / "inside" / "m.py", "") == project / "inside"


def test_the_nearest_pyproject_is_looked_for_up_to_the_top(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    assert pyproject_file(deep, tmp_path) == tmp_path / "pyproject.toml"
    assert pyproject_file(deep, tmp_path / "a") is None
    (deep / "pyproject.toml").symlink_to("nowhere")  # whatever it is, this file hides the one above
    assert pyproject_file(deep, tmp_path) == deep / "pyproject.toml"


NOT_OWN = (".hidden", "venv", "node_modules", "site-packages", "dist-packages", "__pycache__", "build", "vendor")


def a_tree(folder: Path) -> None:
    for path in ("z.py", "pkg/a.py", "pkg/sub/b.py", "other/c.py", *(f"{name}/x.py" for name in NOT_OWN)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    (folder / "pkg" / "data.txt").touch()
    (folder / "pkg" / "link.py").symlink_to("a.py")
    (folder / "linked").symlink_to("pkg")
    for name, mark in (("env", "pyvenv.cfg"), ("conda", "conda-meta")):
        (folder / name / "lib").mkdir(parents=True)
        (folder / name / "lib" / "x.py").touch()
        (folder / name / mark).touch()


def test_only_the_projects_own_files_are_walked(tmp_path: Path) -> None:
    a_tree(tmp_path)
    found = [path.relative_to(tmp_path).as_posix() for path in python_files(tmp_path)]
    assert found == ["z.py", "other/c.py", "pkg/a.py", "pkg/sub/b.py"]


def test_the_nearest_files_come_first_and_each_once(tmp_path: Path) -> None:
    a_tree(tmp_path)
    found = nearest_files(tmp_path / "pkg" / "a.py", tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in found] == ["pkg/sub/b.py", "z.py", "other/c.py"]
    alone = nearest_files(tmp_path / "pkg" / "a.py", tmp_path / "other")
    assert [path.name for path in alone] == ["b.py"], "of a file outside, only its own folder is looked at"
