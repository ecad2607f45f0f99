"""A code-server with a home, settings, extensions and an environment of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from editors.vscode.tools import command

PATIENCE = 120.0
"""Seconds after which a waiting test gives up. Expected events come much sooner."""
_STARTS = 5
"""Number of times that code-server is started. It exits if its own child takes longer than 10 seconds to answer."""
_USER_SETTINGS = {
    "chat.commandCenter.enabled": False,
    "editor.accessibilitySupport": "off",
    "editor.minimap.enabled": False,
    "editor.stickyScroll.enabled": False,
    "editor.wordBasedSuggestions": "off",
    "extensions.autoCheckUpdates": False,
    "extensions.ignoreRecommendations": True,
    "files.autoSave": "off",
    "git.enabled": False,
    "remote.autoForwardPorts": False,
    "security.workspace.trust.banner": "never",
    "security.workspace.trust.startupPrompt": "never",
    "telemetry.telemetryLevel": "off",
    "window.commandCenter": False,
    "workbench.editor.empty.hint": "hidden",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}


def wait_until(holds: Any, what: str, seconds: float = PATIENCE) -> None:
    """Wait for something outside the browser. Raise an AssertionError if it does not happen."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not within {seconds:.0f} seconds: {what}"
        time.sleep(0.1)


@dataclass
class CodeServer:
    """A running code-server."""

    root: Path
    """Folder of all its files."""
    environment: Mapping[str, str]
    settings: dict[str, object] = field(default_factory=dict)
    """Settings of the machine, such as programs and addresses."""
    process: subprocess.Popen[bytes] | None = None
    address: str = ""

    @property
    def _log(self) -> Path:
        return self.root / "code-server.log"

    @property
    def logs(self) -> Path:
        """The folder of logs of the workbench and of extensions."""
        return self.root / "user" / "logs"

    def set(self, **settings: object) -> None:
        """Change settings of the machine, also while it runs. None resets a setting. `__` stands for a dot."""
        for name, value in settings.items():
            self.settings[name.replace("__", ".")] = value
        shown = {name: value for name, value in self.settings.items() if value is not None}
        _write(self.root / "user" / "Machine" / "settings.json", shown)

    def start(self, tools: Path, *vsix: Path) -> None:
        """Install extensions, and run."""
        _write(self.root / "user" / "User" / "settings.json", _USER_SETTINGS)
        self.set()
        options = ("--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check")
        with self._log.open("ab") as log:
            how = {**self._how(), "stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            for extension in vsix:
                done = subprocess.run(self._command(tools, "--install-extension", str(extension)), check=False, **how)
                assert done.returncode == 0, self._log.read_text(encoding="utf-8")
            command = self._command(tools, *options, "--disable-getting-started-override")
            for _ in range(_STARTS):
                self.process = subprocess.Popen(command, **how)
                wait_until(lambda: self._listens() or self._timed_out(), "code-server listens")
                if self.address:
                    return
        raise AssertionError(self._log.read_text(encoding="utf-8"))

    def _timed_out(self) -> bool:
        """Return whether it exited because its child was slow. Raise an AssertionError for any other reason."""
        assert self.process is not None
        if self.process.poll() is None:
            return False
        said = self._log.read_text(encoding="utf-8")
        assert said.rstrip().endswith("error timed out"), said
        return True

    def _listens(self) -> bool:
        said = self._log.read_text(encoding="utf-8")
        found = re.search(r"HTTP server listening on (http://\S+?)/?\s", said)
        self.address = found[1] if found else ""
        return found is not None

    def _command(self, tools: Path, *arguments: str) -> Sequence[str]:
        places = ("--user-data-dir", "user", "--extensions-dir", "extensions", "--config", "config.yaml")
        return [*command(tools), *places, *arguments]

    def _how(self) -> dict[str, Any]:
        """Return an environment with only the places of programs and the tests' shared cache."""
        own = {f"XDG_{kind}_HOME": str(self.root / "home") for kind in ("CONFIG", "DATA", "STATE")}
        rest = {"HOME": str(self.root / "home"), "EXTENSIONS_GALLERY": "{}", **self.environment}
        inherited = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "XDG_CACHE_HOME")}
        return {"cwd": self.root, "env": {**inherited, **own, **rest}}

    def processes(self, *words: str) -> list[int]:
        """Return the processes below it whose command line contains all of these words."""
        assert self.process is not None
        everything = list(_all_processes())
        below, before = {self.process.pid}, 0
        # numbers start again at some point, so a child's number may be lower than its parent's
        while len(below) > before:
            before = len(below)
            below |= {pid for pid, parent, _ in everything if parent in below}
        return [pid for pid, _, command in everything if pid in below and all(word in command for word in words)]

    def stop(self) -> None:
        """End it and all processes below it."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def _all_processes() -> Iterator[tuple[int, int, list[str]]]:
    """Number, parent and command line."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            status = (place / "stat").read_text(encoding="utf-8")
            command = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        yield int(place.name), int(status.rpartition(")")[2].split()[1]), command


@contextmanager
def code_server(
    root: Path, tools: Path, vsix: Sequence[Path], environment: Mapping[str, str], settings: Mapping[str, object]
) -> Iterator[CodeServer]:
    """Run a code-server with extensions for the duration of the block."""
    server = CodeServer(root, environment, dict(settings))
    try:
        server.start(tools, *vsix)
        yield server
    finally:
        server.stop()


def _write(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, indent=1), encoding="utf-8")
