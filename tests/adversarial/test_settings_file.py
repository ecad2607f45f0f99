"""A foreign pyproject.toml is read only within limits, which protect AdaCoder's process."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from adacoder.lsp.connection.client import Configuration
from adacoder.privacy.access import Access, AccessDenied
from adacoder.settings import Settings, from_project

if TYPE_CHECKING:
    from collections.abc import Callable

    from adacoder.lsp.connection.client import Client

_LIMITS = {resource.RLIMIT_CPU: 20, resource.RLIMIT_AS: 400 << 20, resource.RLIMIT_CORE: 0}
_READ = """
import json, sys
from pathlib import Path
from adacoder.settings import Settings, from_project
settings = from_project(Settings(), Path(sys.argv[1]), print)
print(json.dumps(settings.max_iterations))
"""
_OURS = "[tool.adacoder]\nmaxIterations = 3\n"
_SIZE = 200_000


def _limit() -> None:
    for kind, most in _LIMITS.items():
        resource.setrlimit(kind, (most, most))


def _read_within_limits(folder: Path) -> tuple[int | None, list[str]]:
    """Read a project's settings in a process with little memory and time. Return `max_iterations` and the notices."""
    finished = subprocess.run(
        [sys.executable, "-c", _READ, str(folder)],
        env={"PYTHONPATH": os.pathsep.join(place for place in sys.path if place)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=_limit,
    )
    assert finished.returncode == 0, finished.stderr[-2000:]
    *notices, last = finished.stdout.splitlines()
    return json.loads(last), notices


EXHAUSTING = {
    "a dotted key": "a." * (_SIZE // 2) + "a = 1\n",
    "a dotted key with spaces": "a\t. " * (_SIZE // 4) + "a = 1\n",
    "quoted keys": '"a".' * (_SIZE // 4) + "a = 1\n",
    "quoted keys with points": "'.'." * (_SIZE // 4) + "a = 1\n",
    "empty keys": '"".' * (_SIZE // 3) + '"" = 1\n',
    "a table": "[" + "a." * (_SIZE // 2) + "a]\n",
    "a list of tables": "[[" + "a." * (_SIZE // 2) + "a]]\n",
    "an inline table": "a = {" + "a." * (_SIZE // 2) + "a = 1}\n",
    "inline tables in each other": "a = " + "{a = " * (_SIZE // 5),
    "lists in each other": "a = " + "[" * (_SIZE // 2) + "]" * (_SIZE // 2) + "\n",
    "behind a text of lines": 'a = ["""x"""", {' + "a." * (_SIZE // 2) + "a = 1}]\n",
    "behind five quotes": 'a = ["""x""""", {' + "a." * (_SIZE // 2) + "a = 1}]\n",
    "behind a comment with quotes": '# """\n' + "a." * (_SIZE // 2) + "a = 1\n",
    "behind an escaped quote": 'a = "\\""\n' + "a." * (_SIZE // 2) + "a = 1\n",
    "behind a text without escapes": "a = '\\'\n" + "a." * (_SIZE // 2) + "a = 1\n",
    "with other line ends": 'a = "x"\r\n' + "a." * (_SIZE // 2) + "a = 1\r\n",
    "a number of 5,000 digits": "a = " + "1" * 5000 + "\n",
    "a number with underscores": "a = 1" + "_1" * 5000 + "\n",
    "a long number of ours": "[tool.adacoder]\ntimeout = 0x" + "f" * 100_000 + "\n",
    "a long number for a text": "[tool.adacoder]\nkeepAlive = 0o" + "7" * 100_000 + "\n",
    "a long number for a model": "[tool.adacoder]\nmodel = [0b" + "1" * 100_000 + "]\n",
    "too great a number": "[tool.adacoder]\ntimeout = 1e999999\n",
    "no number": "[tool.adacoder]\ntimeout = nan\n",
    "a date": "[tool.adacoder]\ntimeout = 1979-05-27T07:32:00Z\n",
    "many keys": "[tool.adacoder]\n" + "".join(f"k{number} = 1\n" for number in range(10_000)),
    "a long key": "[tool.adacoder]\n" + "k" * _SIZE + " = 1\n",
    "a long value": "[tool.adacoder]\nmodel = [[" + "1, " * (_SIZE // 4) + "]]\n",
    "many models": "[tool.adacoder]\nmodel = [" + "'m', " * (_SIZE // 5) + "]\n",
    "NUL": "\0" * _SIZE,
    "a byte order mark": "\ufeff[tool.adacoder]\n",
}


@pytest.mark.parametrize("text", EXHAUSTING.values(), ids=EXHAUSTING)
def test_what_would_exhaust_us_is_ignored_with_one_notice(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(text.encode())
    found, notices = _read_within_limits(tmp_path)
    assert found == Settings().max_iterations
    assert len(notices) == 1, notices
    assert len(notices[0]) < 500
    assert "ignored" in notices[0]


HONEST = {
    "as short as can be": _OURS,
    "long": "".join(f'[tool.a{number}]\nb = ["1.0.0", "2.0.0"]\n' for number in range(5000)) + _OURS,
    "with numbers on a line": "a = [" + "1.0, " * 500 + "]\n" + _OURS,
    "with keys of some parts": "a.b.c.d.e.f.g.h = 1\n" + _OURS,
    "with a text full of points": 'a = "' + "." * 10_000 + '"\n' + _OURS,
    "with a text of lines full of points": "a = '''\n" + "a.b.c.d.\n" * 100 + "." * 500 + "'''\n" + _OURS,
    "with points in a comment": "# " + "." * 500 + "\n" + _OURS,
    "with brackets in a text": 'a = "' + "[" * 500 + '"\n' + _OURS,
    "with lists and tables": "a = [[1, [2, {b = {c = [3]}}]], {d = 4}]\n" + _OURS,
    "with Windows' line ends": _OURS.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_what_projects_write_is_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(text.encode())
    assert _read_within_limits(tmp_path) == (3, [])


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(4 << 30)


FILES: dict[str, Callable[[Path], object]] = {
    "a sparse file of 4 GiB": _sparse,
    "a file that is too long": lambda path: path.write_bytes(b"#" * (600 << 10)),
    "a pipe": os.mkfifo,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to a pipe": lambda path: (os.mkfifo(path.with_name("p")), path.symlink_to("p")),
    "a link to nothing": lambda path: path.symlink_to("/nowhere"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a folder": Path.mkdir,
    "no UTF-8": lambda path: path.write_bytes(b"a = '\xff'\n"),
}


@pytest.mark.parametrize("make", FILES.values(), ids=FILES)
def test_what_is_no_small_file_is_ignored_with_one_notice(make: Callable[[Path], object], tmp_path: Path) -> None:
    outer, inner = tmp_path, tmp_path / "inner"
    inner.mkdir()
    (outer / "pyproject.toml").write_text(_OURS, encoding="utf-8")
    make(inner / "pyproject.toml")
    found, notices = _read_within_limits(inner)
    assert found == Settings().max_iterations
    assert len(notices) == 1, notices


def test_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(_OURS, encoding="utf-8")
    (tmp_path / "pyproject.toml").symlink_to("settings.toml")
    assert _read_within_limits(tmp_path) == (3, [])


def test_no_project_is_looked_for_above_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(_OURS, encoding="utf-8")
    inner = tmp_path / "workspace" / "package"
    inner.mkdir(parents=True)
    assert from_project(Settings(), inner, pytest.fail, top=inner.parent) == Settings()
    assert from_project(Settings(), inner, pytest.fail, top=tmp_path).max_iterations == 3


@pytest.mark.parametrize("trusted", [False, True])
async def test_nothing_of_a_workspace_is_opened_that_is_not_trusted(
    tmp_path: Path, trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    def watched(base: Settings, folder: Path, notice: object, **_: object) -> Settings:
        opened.append(folder)
        return base

    monkeypatch.setattr("adacoder.settings.from_project", watched)
    client = SimpleNamespace(has=lambda capability: False, notice=pytest.fail)
    configured = Configuration(cast("Client", client))
    configured.begin({"trusted": trusted})
    assert (await configured.settings(tmp_path)).trusted is trusted
    assert opened == ([tmp_path] if trusted else [])


def test_a_password_in_the_file_hides_it_from_others_and_not_from_its_settings(tmp_path: Path) -> None:
    password = "S3cr3t" + "-Pass"
    text = f'[tool.adacoder]\nmaxIterations = 3\n[tool.migrate]\nurl = "postgresql://app:{password}@localhost/app"\n'
    path = tmp_path / "pyproject.toml"
    path.write_text(text, encoding="utf-8")
    assert from_project(Settings(), tmp_path, pytest.fail, top=tmp_path).max_iterations == 3
    with pytest.raises(AccessDenied):
        Access([tmp_path]).read(path, most=1000)
    # a link to a private file is refused, even with this name
    path.rename(tmp_path / ".env")
    path.symlink_to(tmp_path / ".env")
    notices: list[str] = []
    assert from_project(Settings(), tmp_path, notices.append, top=tmp_path) == Settings()
    assert password not in "".join(notices)
