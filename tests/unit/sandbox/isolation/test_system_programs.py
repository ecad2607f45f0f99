"""Only programs that nobody but root can change run outside isolation."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from adacoder.sandbox.isolation import system_programs
from adacoder.sandbox.isolation.system_programs import program_of_others, program_of_system

FOLDER, FILE = stat.S_IFDIR | 0o755, stat.S_IFREG | 0o755
SYSTEM = "/usr/bin" + os.pathsep + "/bin"


@pytest.fixture
def owned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[Path, tuple[int, int]]:
    """Make a system with a program `tool`, and give some files unusual owners and modes."""
    found: dict[Path, tuple[int, int]] = {}
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "tool").write_text("", encoding="utf-8")
    (folder / "tool").chmod(0o755)

    def lstat(path: Path) -> SimpleNamespace:
        owner, mode = found.get(path, (0, FILE if path.name == "tool" else FOLDER))
        return SimpleNamespace(st_uid=owner, st_mode=mode)

    monkeypatch.setattr(system_programs, "_FOLDERS", (str(folder),))
    monkeypatch.setattr(Path, "lstat", lstat)
    monkeypatch.setenv("PATH", f"/nowhere{os.pathsep}{folder}/")
    return found


def test_the_systems_own_is_taken(owned: dict[Path, tuple[int, int]], tmp_path: Path) -> None:
    assert program_of_system("tool") == tmp_path / "bin" / "tool"
    assert program_of_others("tool") is None
    assert program_of_system("other") is None


@pytest.mark.parametrize("place", ["bin/tool", "bin", ""], ids=["file", "folder", "folder above"])
@pytest.mark.parametrize(
    ("owner", "mode"), [(1000, 0o755), (0, 0o775), (0, 0o757), (0, 0o1777), (65534, 0o755)], ids=str
)
def test_what_others_can_change_is_not(
    place: str, owner: int, mode: int, owned: dict[Path, tuple[int, int]], tmp_path: Path
) -> None:
    kind = stat.S_IFREG if place == "bin/tool" else stat.S_IFDIR
    owned[tmp_path / place] = owner, kind | mode
    assert program_of_system("tool") is None
    assert program_of_others("tool") == f"{tmp_path}/bin/tool"


def test_a_store_whose_builders_share_a_sticky_folder_is_the_systems(
    owned: dict[Path, tuple[int, int]], tmp_path: Path
) -> None:
    owned[tmp_path] = 0, stat.S_IFDIR | 0o1775
    assert program_of_system("tool") is not None
    owned[tmp_path / "bin" / "tool"] = 0, stat.S_IFREG | 0o1775
    assert program_of_system("tool") is None


def test_links_are_followed_to_what_they_lead_to(owned: dict[Path, tuple[int, int]], tmp_path: Path) -> None:
    real = tmp_path / "store" / "tool"
    real.parent.mkdir()
    (tmp_path / "bin" / "tool").rename(real)
    (tmp_path / "bin" / "tool").symlink_to(real)
    assert program_of_system("tool") == real
    owned[real.parent] = 1000, FOLDER
    assert program_of_system("tool") is None


def test_where_root_is_unknown_his_files_are_those_of_nobody(
    owned: dict[Path, tuple[int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"/proc/sys/kernel/overflowuid": "65534\n", "/proc/self/uid_map": "1000 1000 1\n"}
    monkeypatch.setattr(Path, "read_text", lambda path, encoding: texts[str(path)])
    owned[tmp_path / "bin"] = 65534, FOLDER
    assert program_of_system("tool") is not None
    texts["/proc/self/uid_map"] = "0 0 4294967295\n"
    assert program_of_system("tool") is None


@pytest.mark.parametrize("entries", ["", ".", "bin", os.pathsep, "/", "/usr/bin/../lib", "/usr/bin/python3"])
def test_path_can_hide_but_not_bring(entries: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", entries)
    assert program_of_system("sh") is None
    monkeypatch.setenv("PATH", f"{entries}{os.pathsep}{SYSTEM}")
    assert program_of_system("sh") == Path(os.path.realpath("/bin/sh"))


def test_without_path_the_systems_default_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    assert program_of_system("sh") == Path(os.path.realpath(shutil.which("sh") or ""))


def test_what_is_no_program_is_none(owned: dict[Path, tuple[int, int]], tmp_path: Path) -> None:
    (tmp_path / "bin" / "tool").chmod(0o644)
    assert program_of_system("tool") is None
    (tmp_path / "bin" / "tool").unlink()
    (tmp_path / "bin" / "tool").mkdir()
    assert program_of_system("tool") is None
    (tmp_path / "bin" / "tool").rmdir()
    (tmp_path / "bin" / "tool").symlink_to("tool")
    assert program_of_system("tool") is None
