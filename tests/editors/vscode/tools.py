"""What the tests of the workbench need besides the project: code-server, and what drives Chromium.

    python tests/editors/vscode/tools.py

installs them once into a folder of the user's cache. The last lines that it prints are that folder, and the one of the
driver's Python modules. Without something that only the system can bring it says so, in one sentence.
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
from pathlib import Path

CODE_SERVER = "4.100.3"
"""VS Code 1.100.3, for Node.js 20."""
NODE = "v20."
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
"""Programs, and the Debian packages that have them."""
_NATIVE = ("node-pty", "@vscode/spdlog", "native-watchdog")
"""What is compiled of VS Code's server; of all else that could be, it has a prebuilt one or gets along without."""


def folder() -> Path:
    """The folder that all is installed in."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adacoder-workbench"


def entry(root: Path) -> Path:
    """What Node.js runs as code-server."""
    return root / f"code-server-{CODE_SERVER}" / "node_modules/code-server/out/node/entry.js"


def driver(root: Path) -> Path:
    """The folder of Python modules that drive Chromium."""
    return root / f"playwright-{PLAYWRIGHT}"


def what_is_missing() -> str | None:
    """What the system has to bring, as a sentence; None: it has all."""
    lacking = [package for program, package in _PROGRAMS.items() if shutil.which(program) is None]
    if lacking:
        return f"The workbench needs more of the system: apt-get install {' '.join(lacking)}."
    node = shutil.which("node")
    version = _output(node, "--version") if node else "none"
    if node is None or not version.startswith(NODE):
        return f"code-server {CODE_SERVER} needs Node.js 20, with its headers; there is {version}."
    if not (_prefix(node) / "include/node/node.h").exists():
        return f"code-server is compiled in part: it needs Node.js's headers in {_prefix(node)}/include/node."
    return None


def install(root: Path) -> None:
    """Install what is not there yet. Of two who do it at once, one waits for the other."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _once(entry(root).parents[4], _install_code_server)
        _once(driver(root), _install_playwright)


def _once(place: Path, make: Callable[[Path], None]) -> None:
    """Have `make` fill a folder that becomes `place` when it is whole."""
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
    _run(place, sys.executable, "-m", "pip", "install", "-q", "--target", str(place), f"playwright=={PLAYWRIGHT}")


def _install_code_server(place: Path) -> None:
    """As its own installation does, but for scripts that download programs from elsewhere than npm."""
    (place / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    _npm(place, "install", "--ignore-scripts", f"code-server@{CODE_SERVER}")
    _npm(place, "rebuild", "argon2")
    code = place / "node_modules/code-server/lib/vscode"
    _npm(code, "install", "--ignore-scripts", "--omit=dev")
    for module in _NATIVE:
        _npm(code, "rebuild", module)
    search = code / "node_modules/@vscode/ripgrep/bin"
    search.mkdir(exist_ok=True)
    (search / "rg").symlink_to(str(shutil.which("rg")))
    (code / "bin/remote-cli/code-server").symlink_to("code-linux.sh")
    (code / "bin/helpers/browser.sh").symlink_to("browser-linux.sh")
    _npm(code / "extensions", "install", "--ignore-scripts", "--omit=dev")
    _run(code / "extensions", "node", "postinstall.mjs")


def _npm(place: Path, *arguments: str) -> None:
    quiet = {"npm_config_fund": "false", "npm_config_audit": "false", "npm_config_loglevel": "error"}
    settings = {**quiet, "npm_config_yes": "true", "npm_config_nodedir": str(_prefix(str(shutil.which("node"))))}
    _run(place, "npm", *arguments, env=settings)


def _prefix(node: str) -> Path:
    return Path(node).resolve().parents[1]


def _run(place: Path, *command: str, env: Mapping[str, str] | None = None) -> None:
    print("+", *command, flush=True)
    subprocess.run(command, cwd=place, env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL, check=True)


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    if missing := what_is_missing():
        print(missing)
        sys.exit(1)
    install(folder())
    print(folder(), driver(folder()), sep="\n")
