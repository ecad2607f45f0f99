"""Visible and hidden parts of the file system. No code of the user runs here."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from adacoder.domain import Module
from adacoder.privacy import tree
from adacoder.project import is_wide
from adacoder.sandbox.environment import visible_paths
from adacoder.sandbox.environment.interpreter import Interpreter, describe
from adacoder.sandbox.environment.visible_paths import VisiblePaths, find_visible
from adacoder.sandbox.unavailable import SandboxError

SECRET = (
    *(".env", "sub/.env", "packages/a/.env.local", "deploy/id_rsa", "deploy/prod.env", "a/b/c/d/e/.env"),
    *(".netrc", "x/.pypirc", "x/.npmrc", "x/.git-credentials", "x/server.pem", "x/SERVER.KEY", "x/pass.kdbx"),
    *("x/.docker/config.json", "x/secrets.toml", "x/.streamlit/secrets.toml", "x/credentials.json"),
)
SECRET_FOLDERS = (".git", "vendor/lib/.git", "x/.aws", "x/.ssh", "x/.gnupg", "x/.kube", "x/.config/gcloud")
HARMLESS = (
    *(".env.example", "sub/.env.template", "sub/.env.sample", "x/.env.example.local", "environment.txt"),
    *("secrets.py", "pkg/credentials.py", "x/config.json", "x/id_rsa.pub", "x/keys.txt", "x/monkey", "x/cacert.pem"),
    *("node_modules/left/.npmrc", "lib/python3.11/site-packages/certifi/ca.pem", ".venv/lib/python3.11/test/k.pem"),
)
LONG = 1000.0
"""A number of seconds that no test takes."""


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that sets limits for the search for private files."""

    def set_limits(**limits: int) -> None:
        monkeypatch.setattr(visible_paths, "hidden", partial(tree.hidden, limits=tree.SearchLimits(**limits)))

    return set_limits


@pytest.fixture
def here() -> Interpreter:
    return replace(describe(Path(sys.executable)), added=(), parts=(), packages=())


def fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")


def view(here: Interpreter, folder: Path, age: float = 0.0) -> VisiblePaths:
    return find_visible(here, folder, Module(folder / "mod.py", "mod", folder), age=age)


def hidden(here: Interpreter, folder: Path, age: float = 0.0) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in view(here, folder, age).hidden}


def test_secrets_are_found_at_any_depth_and_nothing_else_is(tmp_path: Path, here: Interpreter) -> None:
    fill(tmp_path, *SECRET, *HARMLESS, *(f"{folder}/config" for folder in SECRET_FOLDERS))
    assert hidden(here, tmp_path) == {*SECRET, *SECRET_FOLDERS}


def test_the_git_of_a_submodule_is_a_file(tmp_path: Path, here: Interpreter) -> None:
    fill(tmp_path, "sub/.git", "sub/mod.py")
    assert hidden(here, tmp_path) == {"sub/.git"}


def test_a_secret_that_comes_or_goes_is_noticed_and_no_other_change_matters(tmp_path: Path, here: Interpreter) -> None:
    fill(tmp_path, "sub/deep/mod.py")
    before = view(here, tmp_path)
    fill(tmp_path, "sub/deep/other.py")
    assert view(here, tmp_path) == before
    fill(tmp_path, "sub/deep/.env", "new/.git/HEAD")
    after = view(here, tmp_path)
    assert after != before
    assert after.hidden == (tmp_path / "new/.git", tmp_path / "sub/deep/.env")
    (tmp_path / "sub/deep/.env").unlink()
    (tmp_path / "new").rename(tmp_path / "moved")
    assert view(here, tmp_path).hidden == (tmp_path / "moved/.git",)


def test_for_a_moment_it_is_not_looked_for_again_below_the_top(tmp_path: Path, here: Interpreter) -> None:
    fill(tmp_path, "sub/mod.py")
    view(here, tmp_path, LONG)  # new findings are checked a second time
    first = view(here, tmp_path, LONG)
    fill(tmp_path, "sub/.env")
    assert view(here, tmp_path, LONG) is first
    os.utime(tmp_path)  # a new file in the top folder would change its time as well
    assert view(here, tmp_path, LONG).hidden == (tmp_path / "sub/.env",)


def test_what_is_gone_is_not_hidden_any_more_not_even_for_a_moment(tmp_path: Path, here: Interpreter) -> None:
    fill(tmp_path, "sub/.env", "sub/.netrc")
    assert hidden(here, tmp_path, LONG) == {"sub/.env", "sub/.netrc"}
    (tmp_path / "sub/.env").unlink()
    assert hidden(here, tmp_path, LONG) == {"sub/.netrc"}


def test_a_link_hides_what_it_leads_to(tmp_path: Path, here: Interpreter) -> None:
    folder, elsewhere = tmp_path / "ws", tmp_path / "elsewhere"
    fill(folder, "config/prod.txt", "config/open.py", "hold/keys/a")
    fill(elsewhere, "secret.txt", ".env")
    (folder / "sub").mkdir()
    (folder / "sub/.env").symlink_to(folder / "config/prod.txt")
    (folder / "sub/key.pem").symlink_to(folder / "config/open.py")
    (folder / "sub/.ssh").symlink_to(folder / "hold/keys")
    (folder / ".netrc").symlink_to(elsewhere / "secret.txt")
    (folder / "gone.key").symlink_to("nothing")
    (folder / "loop.key").symlink_to("loop.key")
    (folder / "outside").symlink_to(elsewhere)
    (folder / "around").symlink_to(folder)
    assert hidden(here, folder) == {"config/prod.txt", "hold/keys"}


def test_a_workspace_that_is_reached_by_a_link(tmp_path: Path, here: Interpreter) -> None:
    fill(tmp_path / "real", "prod.txt", "sub/.env")
    (tmp_path / "real/.env").symlink_to("prod.txt")
    (tmp_path / "ws").symlink_to(tmp_path / "real")
    assert hidden(here, tmp_path / "ws") == {"prod.txt", "sub/.env"}


def test_doors_to_programs_outside_are_hidden(
    tmp_path: Path, here: Interpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, "run/mod.py")
    os.mkfifo(tmp_path / "run/pipe")
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("run/agent")
        assert hidden(here, tmp_path) == {"run/pipe", "run/agent"}


def test_other_projects_of_an_editable_install_are_searched_too(tmp_path: Path, here: Interpreter) -> None:
    folder, sibling = tmp_path / "ws", tmp_path / "sibling"
    fill(folder, "mod.py")
    fill(sibling, "pkg/__init__.py", "pkg/.env")
    with_sibling = replace(here, folders=(*here.folders, sibling), added=(sibling,))
    assert view(here, folder).hidden == ()
    assert view(with_sibling, folder).hidden == (sibling / "pkg/.env",)


def test_a_folder_of_data_is_hidden_as_a_whole(tmp_path: Path, here: Interpreter, limit: Callable[..., None]) -> None:
    limit(in_folder=5)
    fill(tmp_path, *(f"few/{number}" for number in range(5)), *(f"data/{number}" for number in range(6)))
    assert hidden(here, tmp_path) == {"data"}


def test_of_what_is_too_large_to_search_only_the_module_s_own_is_shown(
    tmp_path: Path, here: Interpreter, limit: Callable[..., None]
) -> None:
    limit(entries=10)
    fill(tmp_path, "pkg/__init__.py", "pkg/sub/.env", *(f"many/{number}/x" for number in range(10)))
    module = Module(tmp_path / "pkg/__init__.py", "pkg", tmp_path)
    found = find_visible(here, tmp_path, module, age=0.0)
    assert found.shown == (tmp_path / "pkg",)
    assert found.hidden == (tmp_path / "pkg/sub/.env",)
    limit(entries=2)
    with pytest.raises(SandboxError, match=r"pkg is too large to search"):
        find_visible(here, tmp_path, module, age=0.0)


def test_of_what_is_too_large_no_link_is_shown(tmp_path: Path, here: Interpreter, limit: Callable[..., None]) -> None:
    limit(entries=3)
    folder = tmp_path / "ws"
    fill(folder, "mod.py", "own.py", *(f"many/{number}" for number in range(5)))
    fill(tmp_path, "elsewhere/key.txt")
    (folder / "linked.py").symlink_to(tmp_path / "elsewhere/key.txt")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    for name in ("mod", "linked"):
        found = find_visible(here, folder, Module(folder / "mod.py", name, folder), age=0.0)
        assert found.shown == (folder / "mod.py", folder / "own.py")


def test_what_cannot_be_read_is_passed_over(tmp_path: Path, here: Interpreter, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, "locked/inner/x", "open/.env")
    scan = os.scandir

    def scandir(path: str) -> Iterator[os.DirEntry[str]]:
        """Fail as for a user who is not root. Root may read anything."""
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert hidden(here, tmp_path) == {"open/.env"}
    assert view(here, tmp_path / "nowhere").hidden == ()


def test_folders_that_programs_share_are_no_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    for name in ("", ".local", ".local/share", ".config", ".cache", ".."):
        assert is_wide(tmp_path / "me" / name)
    for name in ("project", ".local/share/project", ".cache/project"):
        assert not is_wide(tmp_path / "me" / name)
