"""The real path and the content of a file decide whether it may be read for a workspace."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adacoder.domain import AdaCoderError, Module
from adacoder.privacy.access import Access, AccessDenied, leads_out, read_regular
from adacoder.privacy.private_names import Wishes
from adacoder.settings import Settings, from_project
from adacoder.source.importing.project_files import text_of

MOST = 1000


def fill(folder: Path, *names: str, text: str = "x = 1\n") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    fill(tmp_path, "ws/mod.py", "ws/pkg/inner.py", "ws/.env", "ws/secrets/db", "ws/.git/hooks/x.py", "out/other.py")
    return tmp_path / "ws"


def test_what_belongs_to_the_workspace_is_read(ws: Path) -> None:
    access = Access([ws])
    (ws / "link.py").symlink_to("pkg/inner.py")
    (ws / "folder").symlink_to("pkg")
    (ws.parent / "around").symlink_to("ws")
    for name in ("mod.py", "pkg/inner.py", "link.py", "folder/inner.py", "../around/mod.py", "pkg/../mod.py"):
        assert access.read(ws / name, most=MOST) == b"x = 1\n"
        assert access.refusal(ws / name) is None
    assert access.refusal(ws / "new.py") is None  # open in an editor, and not saved yet
    assert Access([ws.parent / "around"]).read(ws / "mod.py", most=MOST)


@pytest.mark.parametrize(
    "target",
    [
        *(
            "../out/other.py",
            ".env",
            "secrets/db",
            ".git/hooks/x.py",
            "../ws/.env",
            "/etc/passwd",
            "/proc/self/environ",
        ),
        *("/dev/zero", "/proc/self/root/etc/passwd", "/proc/self/cwd", "nowhere/else.py", "link.py"),
    ],
)
def test_a_link_is_what_it_leads_to(ws: Path, target: str) -> None:
    access = Access([ws])
    (ws / "link.py").symlink_to(target)
    with pytest.raises(OSError):  # noqa: PT011  # whatever is in its place
        access.read(ws / "link.py", most=MOST)
    assert text_of(ws / "link.py", access) is None


def test_nothing_is_waited_for(ws: Path) -> None:
    os.mkfifo(ws / "pipe.py")
    (ws / "to_pipe.py").symlink_to("pipe.py")
    (ws / "device.py").symlink_to("/dev/tty")
    for name in ("pipe.py", "to_pipe.py", "device.py", "pkg"):
        with pytest.raises(OSError):  # noqa: PT011
            Access([ws, Path("/dev")]).read(ws / name, most=MOST)
        with pytest.raises(OSError):  # noqa: PT011
            read_regular(ws / name, most=MOST)


def test_what_is_too_long_is_not_read(ws: Path) -> None:
    with (ws / "long.py").open("wb") as file:
        file.truncate(1 << 32)
    with pytest.raises(AccessDenied, match="longer than"):
        Access([ws]).read(ws / "long.py", most=MOST)
    assert Access([ws]).read(ws / "mod.py", most=6) == b"x = 1\n"


def test_the_file_that_is_opened_is_the_one_that_was_asked_about(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replacing the file or its folder between the check and the opening reveals nothing."""
    fill(ws.parent, "out/inner.py", text="Windermere7")
    swaps = {
        "mod.py": lambda: ((ws / "mod.py").unlink(), (ws / "mod.py").symlink_to("../out/inner.py")),
        "pkg/inner.py": lambda: ((ws / "pkg").rename(ws / "was"), (ws / "pkg").symlink_to("../out")),
    }
    opening = os.open
    for name, swap in swaps.items():

        def swapped(path: str, flags: int, swap: Callable[[], object] = swap, **options: Any) -> int:
            swap()
            return opening(path, flags, **options)

        assert Access([ws]).read(ws / name, most=MOST) == b"x = 1\n"
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", swapped)
            with pytest.raises(OSError):  # noqa: PT011
                Access([ws]).read(ws / name, most=MOST)


def test_what_python_cannot_import_is_looked_into(ws: Path) -> None:
    key = f"-----BEGIN PRIVATE KEY-----\n{'MIIEvQIBADANBgkq' * 4}\n-----END PRIVATE KEY-----\n"
    fill(ws, "notes.txt", "keys.py", text=key)
    (ws / "link.py").symlink_to("notes.txt")
    assert text_of(ws / "link.py", Access([ws])) is None
    assert text_of(ws / "keys.py", Access([ws])) == key
    assert text_of(ws / "link.py", Access([ws], Wishes(show=("notes.txt",)))) == key


def test_a_package_that_is_larger_than_the_workspace_belongs_to_it(tmp_path: Path) -> None:
    fill(tmp_path, "pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/mod.py", "pkg/other.py", "beside.py")
    access = Access.around(Module(tmp_path / "pkg/sub/mod.py", "pkg.sub.mod", tmp_path), tmp_path / "pkg/sub")
    assert access.refusal(tmp_path / "pkg/other.py") is None
    assert access.refusal(tmp_path / "beside.py")


def test_where_the_workspace_itself_lies_is_no_matter(tmp_path: Path) -> None:
    fill(tmp_path, ".config/gh/secrets/project/mod.py", ".config/gh/secrets/project/.env")
    folder = tmp_path / ".config/gh/secrets/project"
    assert Access([folder]).refusal(folder / "mod.py") is None
    assert Access([folder]).refusal(folder / ".env")


def test_what_is_said_tells_what_to_do(ws: Path) -> None:
    (ws / "out.py").symlink_to("../out/other.py")
    (ws / "env.py").symlink_to(".env")
    with pytest.raises(AdaCoderError, match=r"out.py leads out of the workspace, to .*other.py: name that file"):
        Access([ws]).require(ws / "out.py")
    with pytest.raises(
        AdaCoderError, match=r"env.py is not read, because .*\.env is private \(its name\): list it in --show if"
    ):
        Access([ws]).require(ws / "env.py")
    Access([ws]).require(ws / "mod.py")


def test_settings_are_read_of_the_project_alone(tmp_path: Path) -> None:
    table = "[tool.adacoder]\nmaxIterations = 3\n"
    fill(tmp_path, "out/pyproject.toml", "ws/common/pyproject.toml", text=table)
    notices: list[str] = []
    for target, most in (("common/pyproject.toml", 3), ("../out/pyproject.toml", None), ("/dev/zero", None)):
        link = tmp_path / "ws/pyproject.toml"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        notices.clear()
        settings = from_project(Settings(), tmp_path / "ws", notices.append)
        assert settings.max_iterations == most
        assert bool(notices) is (not target.startswith("common"))


def test_what_is_called_a_file_of_the_workspace_and_lies_elsewhere(ws: Path) -> None:
    (ws / "out.talk").symlink_to("../out/new.talk")
    (ws / "in.talk").symlink_to("pkg/new.talk")
    (ws / "folder").symlink_to("../out")
    assert leads_out(ws / "out.talk", ws)
    assert leads_out(ws / "folder/x.talk", ws)
    assert not leads_out(ws / "in.talk", ws)
    assert not leads_out(ws.parent / "x.talk", ws), "the user named a place outside"
