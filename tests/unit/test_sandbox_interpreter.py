"""The interpreter is found without running anything."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from adacoder.sandbox.errors import SandboxError
from adacoder.sandbox.interpreter import describe, find


def installation(folder: Path) -> Path:
    """Something that looks like an installed Python; its executable."""
    (folder / "lib/python3.11/site-packages").mkdir(parents=True)
    (folder / "bin").mkdir()
    executable = folder / "bin/python3.11"
    executable.write_bytes(b"\x7fELF")
    executable.chmod(0o755)
    (folder / "bin/python3").symlink_to("python3.11")
    return executable


def environment(folder: Path, base: Path) -> Path:
    """A virtual environment on `base`; its `bin/python`."""
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
        with pytest.raises(SandboxError, match=r"no Python interpreter at .*'adacoder.interpreter'"):
            find(path, tmp_path, tmp_path)


def test_a_script_is_no_interpreter(tmp_path: Path) -> None:
    shim = tmp_path / "python"
    shim.write_text("#!/bin/sh\n", encoding="utf-8")
    shim.chmod(0o755)
    with pytest.raises(SandboxError, match="is a script"):
        find(shim, tmp_path, tmp_path)


def test_an_environment_whose_base_is_gone(tmp_path: Path) -> None:
    environment(tmp_path / ".venv", tmp_path / "gone")
    with pytest.raises(SandboxError, match=r"Create the virtual environment .* anew"):
        find(None, tmp_path, tmp_path)


def test_what_must_be_visible(tmp_path: Path, base: Path) -> None:
    alias = tmp_path / "opt/alias"
    alias.symlink_to(base)
    python = environment(tmp_path / "env", alias)
    added = tmp_path / "editable"
    added.mkdir()
    lines = f"{added}\nimport os; os.abort()\n# {tmp_path}\n/\n{tmp_path}/missing\n"
    (tmp_path / "env/lib/python3.11/site-packages/x.pth").write_text(lines, encoding="utf-8")
    found = describe(python)
    assert set(found.folders) == {tmp_path / "env", alias, base, added}
    assert found.links == ((python, str(alias / "bin/python3")), (alias / "bin/python3", "python3.11"))


def test_a_pth_file_cannot_show_what_is_private(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "me"
    (home / ".ssh").mkdir(parents=True)
    (home / "project").mkdir()
    monkeypatch.setenv("HOME", str(home))
    python = environment(tmp_path / "env", base)
    lines = f"{home / '.ssh'}\n{home}\n{home / 'project'}\n"
    (tmp_path / "env/lib/python3.11/site-packages/x.pth").write_text(lines, encoding="utf-8")
    assert set(describe(python).folders) == {tmp_path / "env", base, home / "project"}


def test_an_executable_in_the_home_folder_does_not_show_all_of_it(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "me"
    (home / "bin").mkdir(parents=True)
    (home / "lib/python3").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    link = home / "bin/python"
    link.symlink_to(base / "bin/python3.11")
    found = describe(link)
    assert found.folders == (base,)
    assert found.links == ((link, str(base / "bin/python3.11")),)


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(SandboxError):
        find(tmp_path / "a", tmp_path, tmp_path)


def test_equal_interpreters_are_one_key(tmp_path: Path, base: Path) -> None:
    python = environment(tmp_path / "env", base)
    assert len({describe(python), describe(python)}) == 1
