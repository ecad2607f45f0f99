"""Isolation by macOS' own sandbox, sandbox-exec(1).

This mechanism is experimental, and was never tried on macOS. AdaCoder uses it only if `probe` has proved that it works.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import Isolation, Level
from adacoder.sandbox.environment.real_paths import unmoved
from adacoder.sandbox.environment.visible_paths import VisiblePaths, tools
from adacoder.sandbox.isolation import DEVICES, Stage, limits
from adacoder.sandbox.isolation.scratch import scratch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PROGRAM = "/usr/bin/sandbox-exec"
_SYSTEM = ("/usr/lib", "/usr/share", "/usr/bin", "/bin", "/System", "/Library/Frameworks", "/private/var/db/timezone")


@dataclass(frozen=True, slots=True)
class Seatbelt:
    """The mechanism that uses sandbox-exec."""

    @property
    def isolation(self) -> Isolation:
        """Isolation of files, network and processes by a single mechanism."""
        return Isolation(Level.SEATBELT, ("sandbox-exec", "rlimits"))

    @contextmanager
    def stage(self, visible: VisiblePaths, slots: int = 1) -> Iterator[Stage]:
        """Implement `Mechanism.stage`."""
        with scratch() as folder:
            wrapper = (PROGRAM, "-p", "\n".join(_profile(visible, folder)))
            yield Stage(wrapper, tuple(limits(folder, slots)), folder, on_disk=True)


def _profile(visible: VisiblePaths, folder: str) -> Iterator[str]:
    """Yield the lines of the sandbox profile. If several rules match, the last one decides."""
    shown = dict.fromkeys(
        [*map(Path, _SYSTEM), *tools(), *unmoved(visible.interpreter.folders), *visible.shown, Path(folder)]
    )
    yield "(version 1)"
    yield "(deny default)"
    yield "(allow process-fork)"  # The template forks evaluations. A limit keeps evaluations from forking.
    yield "(allow process-exec*)"  # Code can run only programs that it can read.
    yield "(allow signal (target self) (target children))"
    yield "(allow sysctl-read)"
    yield '(allow file-read-metadata (subpath "/"))'
    yield f"(allow file-read* {_places(list(shown))})"
    if visible.hidden:
        yield f"(deny file-read* {_places(visible.hidden)})"
    yield f"(allow file-write* {_places([Path(folder)])})"
    yield f"(allow file-read* file-write-data {' '.join(f'(literal {_quoted(device)})' for device in DEVICES)})"


def _places(paths: Iterable[Path]) -> str:
    return " ".join(f"(subpath {_quoted(str(path.resolve()))})" for path in paths)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
