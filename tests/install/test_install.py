"""The built wheel and sdist, installed by each tool under each Python, and used without a network: `nox -s install`.

Root also installs as an ordinary user, under those Pythons that everybody may run. Only root can take the network away.
"""

from __future__ import annotations

import atexit
import functools
import getpass
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from adacoder import __version__
from support.commandline import SOLVED, WRONG
from support.evaluating import other_pythons
from support.paths import ROOT

pytestmark = pytest.mark.rest  # it downloads all dependencies for each person

IS_ROOT = os.geteuid() == 0
LOOPBACK_UP = """
import fcntl, os, socket, struct, sys
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
os.execvp(sys.argv[1], sys.argv[1:])
"""
OFFLINE = ("unshare", "--net", sys.executable, "-c", LOOPBACK_UP) if IS_ROOT else ()
SYSTEM = Path("/usr/bin/python3")
WAYS = ("pip", "pip-sdist", "uv", "pipx", "uvx")


@dataclass(frozen=True)
class Person:
    """A user with an empty home, who installs and runs programs."""

    name: str
    home: Path

    def __call__(self, *command: str | Path, offline: bool = False, code: int = 0) -> str:
        """Run a program in the home. Return what it printed."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PYTHON"))}
        kept["PATH"] = "/usr/local/bin:/usr/bin:/bin:/usr/sbin"
        person = (*(OFFLINE if offline else ()), *_as(self.name), "env", f"HOME={self.home}")
        command = (*person, *command)
        done = subprocess.run(command, cwd=self.home, env=kept, capture_output=True, text=True, check=False)
        assert done.returncode == code, (command, done.stdout, done.stderr)
        return done.stdout


def _as(name: str) -> tuple[str, ...]:
    return () if name == getpass.getuser() else ("runuser", "-u", name, "--")


def _cases() -> list[tuple[str, Path]]:
    own = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
    names = (getpass.getuser(), *(["nobody"] if IS_ROOT else []))
    return [(name, path) for name in names for path in (own, *other_pythons(), SYSTEM) if _has_venv(name, path)]


def _has_venv(name: str, python: Path) -> bool:
    """Say whether this person may run this Python, and whether it is 3.11 or later and can make environments."""
    question = "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))"
    command = [*_as(name), "env", str(python), "-c", question]  # `env` fails quietly if there is no such program
    return subprocess.run(command, cwd="/", capture_output=True, check=False).returncode == 0


@functools.cache
def person(name: str) -> Person:
    """Make a person who has uv and pipx, from PyPI."""
    home = Path(tempfile.mkdtemp(prefix="adacoder-install-")).resolve()
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    home.chmod(0o755)
    if _as(name):
        subprocess.run(["chown", name, home], check=True)
    someone = Person(name, home)
    someone(next(python for each, python in _cases() if each == name), "-m", "venv", "tools")
    someone("tools/bin/pip", "install", "--quiet", "uv", "pipx")
    return someone


@functools.cache
def built() -> tuple[Path, Path]:
    """Build the wheel and the sdist where everybody may read them."""
    builder = person(getpass.getuser())
    builder("tools/bin/uv", "build", "--quiet", "--out-dir", "dist", ROOT)
    (wheel,), (sdist,) = (tuple(builder.home.glob(f"dist/*{end}")) for end in (".whl", ".tar.gz"))
    return wheel, sdist


def installed(someone: Person, way: str, python: Path) -> tuple[str | Path, ...]:
    """Install AdaCoder. Return the command that runs it without a network."""
    wheel, sdist = built()
    tools, place = someone.home / "tools/bin", someone.home / f"{way}-{str(python).replace('/', '-')}"
    in_place = [f"{name}={place}" for name in ("UV_TOOL_DIR", "PIPX_HOME")]
    in_place += [f"{name}={place}/bin" for name in ("UV_TOOL_BIN_DIR", "PIPX_BIN_DIR")]
    match way:
        case "uv":
            someone("env", *in_place, tools / "uv", "tool", "install", "--quiet", "--python", python, wheel)
            return (place / "bin/adacoder",)
        case "pipx":
            someone("env", *in_place, tools / "pipx", "install", "--quiet", "--python", python, wheel)
            return (place / "bin/adacoder",)
        case "uvx":
            command = ("--quiet", "--python", python, "--from", wheel, "adacoder")
            someone(tools / "uvx", *command, "--version")
            return (tools / "uvx", "--offline", *command)
        case _:
            someone(python, "-m", "venv", place)
            someone(place / "bin/pip", "install", "--quiet", sdist if way == "pip-sdist" else wheel)
            return (place / "bin/adacoder",)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "python"), _cases(), ids=lambda value: str(value).strip("/").replace("/", "-"))
def test_it_works_without_a_network(name: str, python: Path, way: str) -> None:
    someone = person(name)
    command = installed(someone, way, python)
    assert someone(*command, "--version", offline=True) == f"adacoder {__version__}\n"
    assert "Verified 'timestamp': 4/4 examples passed" in someone(*command, "demo", offline=True)
    for text, code, said in ((SOLVED, 0, "Verified 'hypotenuse'"), (WRONG, 1, "Not verified: 'hypotenuse'")):
        someone("sh", "-c", 'printf %s "$1" >shapes.py', "sh", text)
        assert said in someone(*command, "check", "shapes.py", offline=True, code=code)


@pytest.mark.skipif(not IS_ROOT, reason="only root can take the network away")
def test_there_is_no_network() -> None:
    root = person("root")
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5)"
        root("tools/bin/python", "-c", connect)
        root("tools/bin/python", "-c", connect, offline=True, code=1)
