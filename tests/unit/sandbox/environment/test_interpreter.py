"""The interpreter is found without running any program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from adacoder.sandbox.environment.choice import look_up
from adacoder.sandbox.environment.interpreter import describe, find
from adacoder.sandbox.unavailable import SandboxError


def installation(folder: Path) -> Path:
    """Make files that look like an installed Python. Return the executable."""
    (folder / "lib/python3.11/site-packages").mkdir(parents=True)
    (folder / "lib/python3.11/os.py").touch()
    (folder / "bin").mkdir()
    executable = folder / "bin/python3.11"
    executable.write_bytes(b"\x7fELF")
    executable.chmod(0o755)
    (folder / "bin/python3").symlink_to("python3.11")
    return executable


def environment(folder: Path, base: Path) -> Path:
    """Make a virtual environment based on `base`. Return its `bin/python`."""
    (folder / "lib/python3.11/site-packages").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "pyvenv.cfg").write_text(f"home = {base}/bin\nversion = 3.11\n", encoding="utf-8")
    (folder / "bin/python").symlink_to(base / "bin/python3")
    return folder / "bin/python"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    installation(tmp_path / "opt/python")
    return tmp_path / "opt/python"


def test_the_setting_comes_first(tmp_path: Path, base: Path) -> None:
    workspace = tmp_path / "ws"
    environment(workspace / ".venv", base)
    assert find(base / "bin/python3", workspace, workspace).path == base / "bin/python3"
    relative = find(Path(".venv/bin/python"), workspace, workspace)
    assert relative.path == workspace / ".venv/bin/python"


def test_the_nearest_environment_up_to_the_workspace(tmp_path: Path, base: Path) -> None:
    workspace = tmp_path / "ws"
    deep = workspace / "a/b"
    deep.mkdir(parents=True)
    environment(tmp_path / ".venv", base)
    assert find(None, deep, workspace).path == Path(sys.executable)
    environment(workspace / "venv", base)
    assert find(None, deep, workspace).path == workspace / "venv/bin/python"
    environment(workspace / "a/.venv", base)
    assert find(None, deep, workspace).path == workspace / "a/.venv/bin/python"
    assert find(None, tmp_path / "elsewhere", workspace).path == workspace / "venv/bin/python"


def test_a_setting_that_leads_nowhere(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(SandboxError, match=r"no Python interpreter at .*correct --interpreter"):
            find(path, tmp_path, tmp_path)


def test_a_bare_name_is_a_command_in_path(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(base / "bin"))
    assert find(Path("python3.11"), tmp_path, tmp_path).path == base / "bin/python3.11"
    with pytest.raises(SandboxError, match=r"no Python interpreter 'python3.99' on PATH: correct --interpreter"):
        find(Path("python3.99"), tmp_path, tmp_path)


def test_the_message_says_what_was_typed_and_where(tmp_path: Path, base: Path) -> None:
    assert look_up("opt/python/bin/python3", tmp_path) == base / "bin/python3"
    with pytest.raises(SandboxError) as refusal:
        look_up("no/python", tmp_path)
    where = f"no/python ({tmp_path}/no/python)"
    assert str(refusal.value) == f"There is no Python interpreter at {where}: correct --interpreter."


@pytest.mark.parametrize("name", ["nul\0", "n/\0", "", "a" * 5000])
def test_a_name_that_no_file_can_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="There is no Python interpreter"):
        look_up(name, tmp_path)


def test_a_script_is_no_interpreter(tmp_path: Path) -> None:
    shim = tmp_path / "python"
    shim.write_text("#!/bin/sh\n", encoding="utf-8")
    shim.chmod(0o755)
    with pytest.raises(SandboxError, match="is a script"):
        find(shim, tmp_path, tmp_path)


def test_an_environment_whose_base_is_gone(tmp_path: Path) -> None:
    environment(tmp_path / ".venv", tmp_path / "gone")
    with pytest.raises(SandboxError, match=r"recreate the virtual environment"):
        find(None, tmp_path, tmp_path)


def added(python: Path, *lines: object) -> set[Path]:
    """Return the folders from which an interpreter imports because of `lines` in a `.pth` file."""
    pth = python.parents[1] / "lib/python3.11/site-packages/x.pth"
    pth.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return set(describe(python).added)


def project(folder: Path) -> Path:
    """Make a folder with a package that can be installed in editable mode."""
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg/__init__.py").touch()
    return folder


def test_what_must_be_visible(tmp_path: Path, base: Path) -> None:
    alias = tmp_path / "opt/alias"
    alias.symlink_to(base)
    python = environment(tmp_path / "env", alias)
    (tmp_path / "env/notes.txt").touch()
    editable = project(tmp_path / "editable")
    lines = f"{editable}\nimport os; os.abort()\n# {tmp_path}\n/\n{tmp_path}/missing\n"
    (tmp_path / "env/lib/python3.11/site-packages/x.pth").write_text(lines, encoding="utf-8")
    found = describe(python)
    of_environment = {tmp_path / "env" / name for name in ("bin", "lib", "pyvenv.cfg")}
    assert set(found.folders) == {*of_environment, base / "bin", base / "lib", editable}
    assert found.added == (editable,)
    assert set(found.links) == {
        (python, str(alias / "bin/python3")),
        (alias, str(base)),
        (base / "bin/python3", "python3.11"),
    }


def test_a_pth_file_cannot_show_what_is_private(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "me"
    monkeypatch.setenv("HOME", str(home))
    python = environment(tmp_path / "env", base)
    sibling, hidden, scripts = project(home / "project"), project(home / ".ssh"), home / "scripts"
    diary = home / "diary"
    for folder in (diary, scripts):
        folder.mkdir()
    (home / "pyproject.toml").touch()
    (diary / "today.txt").touch()
    (scripts / "backup.py").touch()
    mixed = home / "mixed"
    mixed.mkdir()
    (mixed / "tool.py").touch()
    (mixed / "notes.txt").touch()
    (home / "everything.py").touch()
    (home / "alias").symlink_to(hidden)
    lines = (
        hidden,
        home / "alias",
        home,
        home / "..",
        diary,
        mixed,
        scripts,
        sibling,
        "/etc",
        "/var/run",
        "/",
        "../../..",
    )
    assert added(python, *lines) == {sibling, scripts}


def test_the_source_folder_of_a_project_may_hold_only_a_namespace(tmp_path: Path, base: Path) -> None:
    python = environment(tmp_path / "env", base)
    source = tmp_path / "other/src"
    (source / "space/pkg").mkdir(parents=True)
    assert added(python, source) == set()
    (tmp_path / "other/pyproject.toml").touch()
    assert added(python, source) == {source}


def test_hostile_configuration_neither_hangs_nor_breaks(tmp_path: Path, base: Path) -> None:
    python = environment(tmp_path / "env", base)
    packages = tmp_path / "env/lib/python3.11/site-packages"
    os.mkfifo(packages / "a.pth")
    (packages / "b.pth").symlink_to("/dev/zero")
    (packages / "c.pth").symlink_to("c.pth")
    (packages / "d.pth").mkdir()
    (packages / "e.pth").write_bytes(b"\xff\xfe\0/\0\n" * 10 + b"x" * (1 << 20))
    (tmp_path / "loop").symlink_to("loop")
    good = project(tmp_path / "good")
    assert added(python, tmp_path / "loop", good) == {good}
    (tmp_path / "env/pyvenv.cfg").write_bytes(b"home = \0\n\xff\nhome\n")
    assert tmp_path / "env/bin" in describe(python).folders


def test_an_executable_in_the_home_folder_does_not_show_all_of_it(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "me"
    (home / "bin").mkdir(parents=True)
    (home / "lib/python3").mkdir(parents=True)
    (home / "lib/python3/os.py").touch()
    monkeypatch.setenv("HOME", str(home))
    link = home / "bin/python"
    link.symlink_to(base / "bin/python3.11")
    found = describe(link)
    assert found.folders == (base / "bin", base / "lib")
    assert found.links == ((link, str(base / "bin/python3.11")),)


def test_a_python_installed_right_into_the_home_folder_shows_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    executable = installation(tmp_path / "me/.local")
    (tmp_path / "me/.local/share/keyrings").mkdir(parents=True)
    assert describe(executable).folders == (executable, tmp_path / "me/.local/lib/python3.11")


def test_a_folder_is_no_installation_because_its_name_says_so(tmp_path: Path, base: Path) -> None:
    python = environment(tmp_path / "env", base)
    other = tmp_path / "other"
    (other / "lib/python3.11").mkdir(parents=True)
    (other / "bin").mkdir()
    (other / "share").mkdir()
    (tmp_path / "env/pyvenv.cfg").write_text(f"home = {other}/bin\n", encoding="utf-8")
    assert not any(folder.is_relative_to(other) for folder in describe(python).folders)
    (other / "lib/python3.11/os.py").symlink_to("/etc/hostname")
    assert not any(folder.is_relative_to(other) for folder in describe(python).folders)
    (other / "lib/python3.11/os.py").unlink()
    (other / "lib/python3.11/os.py").touch()
    assert {other / "bin", other / "lib", other / "share"} <= set(describe(python).folders)


@pytest.mark.parametrize("home", ["../opt/python/bin", "~/bin", "", "/proc/self/cwd", "/", "/" * 5000, "/\0"])
def test_what_cannot_be_the_home_of_an_environment(home: str, tmp_path: Path, base: Path) -> None:
    python = environment(tmp_path / "env", base)
    expected = describe(python).folders
    (tmp_path / "env/pyvenv.cfg").write_text(f"home = {home}\n", encoding="utf-8")
    assert describe(python).folders == expected


def test_a_project_that_is_installed_in_place_is_named_by_what_pip_wrote(tmp_path: Path, base: Path) -> None:
    python = environment(tmp_path / "env", base)
    sibling = project(tmp_path / "with space")
    told = tmp_path / "env/lib/python3.11/site-packages/x-1.0.dist-info/direct_url.json"
    told.parent.mkdir()
    for text, expected in {
        f'{{"url": "file://{tmp_path}/with%20space", "dir_info": {{"editable": true}}}}': (sibling,),
        f'{{"url": "file://{tmp_path}/with%20space", "dir_info": {{}}}}': (),
        f'{{"url": "https://{tmp_path}/with%20space", "dir_info": {{"editable": true}}}}': (),
        "[" * 50_000: (),
        '{"url"': (),
        "": (),
    }.items():
        told.write_text(text, encoding="utf-8")
        assert describe(python).added == expected
    told.unlink()
    os.mkfifo(told)
    assert describe(python).added == ()


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(SandboxError):
        find(tmp_path / "a", tmp_path, tmp_path)


def test_equal_interpreters_are_one_key(tmp_path: Path, base: Path) -> None:
    python = environment(tmp_path / "env", base)
    assert len({describe(python), describe(python)}) == 1
