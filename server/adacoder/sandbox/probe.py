"""Finds out what can isolate code here, by trying: a mechanism counts if code that tries to break out cannot.

Every attempt that must fail has a twin that must succeed, so that a canary that could do nothing at all is no
proof.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import Isolation, Level, Module
from adacoder.sandbox.errors import SandboxError
from adacoder.sandbox.interpreter import describe
from adacoder.sandbox.isolation.bubblewrap import Bubblewrap, Features
from adacoder.sandbox.isolation.none import Unconfined
from adacoder.sandbox.process import Order, Process
from adacoder.sandbox.program import Program
from adacoder.sandbox.space import Space
from adacoder.sandbox.wire import Answer, HungUpError, Imported, Line, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.sandbox.isolation import Mechanism

_PROBE_SECONDS = 20
_CANARY = """
import _socket


def write(path):
    try:
        with open(path, "w") as file:
            file.write("written")
    except OSError:
        return "denied"
    with open(path) as file:
        return file.read()


def connect(port):
    try:
        _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM).connect(("127.0.0.1", port))
    except OSError:
        return "denied"
    return "connected"
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """What works here."""

    isolation: Isolation
    mechanism: Mechanism
    reason: str
    """Why it is no better than it is; empty at the best level."""

    @property
    def remedy(self) -> str:
        """What would let code be isolated here, as an imperative without a full stop; empty if nothing would."""
        if self.isolation.level is not Level.NONE:
            return ""
        if sys.platform == "win32":
            return "run AdaCoder inside WSL2"
        if sys.platform != "linux":
            return ""
        if shutil.which("bwrap") is None:
            return "install bubblewrap (`sudo apt install bubblewrap`, `sudo dnf install bubblewrap`)"
        return "let bubblewrap create user namespaces (`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`)"


async def probe() -> Finding:
    """What can isolate code here. It is tried once; again only if another `bwrap` comes first in PATH."""
    program = shutil.which("bwrap") if sys.platform == "linux" else None
    if program not in _known:
        _known[program] = await _try_all(program)
    return _known[program]


_known: dict[str | None, Finding] = {}


async def _try_all(program: str | None) -> Finding:
    if sys.platform != "linux":
        return _nothing(f"nothing is known that works on {sys.platform}")
    if program is None:
        return _nothing("bubblewrap is not installed")
    reasons = []
    for mechanism in _variants(program, await _help(program)):
        try:
            await _prove(mechanism)
        except (SandboxError, HungUpError, ProtocolError, TimeoutError) as error:
            reasons.append(str(error) or "it took too long")
        else:
            return Finding(mechanism.isolation, mechanism, "")
    return _nothing(f"bubblewrap does not work here: {reasons[0].rstrip('.')}")


def _nothing(reason: str) -> Finding:
    mechanism = Unconfined()
    return Finding(mechanism.isolation, mechanism, reason)


async def _help(program: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *(program, "--help"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    return (await process.communicate())[0].decode(errors="replace")


def _variants(program: str, described: str) -> list[Bubblewrap]:
    """What to try, the strictest first. The help says which features there are, not which may be used."""
    path = Path(program).absolute()
    size = "--size" in described
    userns = [True, False] if "--disable-userns" in described else [False]
    return [
        Bubblewrap(path, Features(proc, disable_userns, size)) for disable_userns in userns for proc in (True, False)
    ]


@dataclass(frozen=True, slots=True)
class _Bait:
    """What the canary must not get at, though anyone here can."""

    folder: Path
    """Shown to the canary."""
    file: Path
    port: int
    """On which a server listens."""

    def is_untouched(self) -> bool:
        return self.file.read_text(encoding="utf-8") == "untouched"


@contextmanager
def _bait() -> Iterator[_Bait]:
    with (
        tempfile.TemporaryDirectory(prefix="adacoder-probe-") as name,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        folder = Path(name)
        file = folder / "outside"
        file.write_text("untouched", encoding="utf-8")
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        yield _Bait(folder, file, port)


async def _prove(mechanism: Mechanism) -> None:
    """Let a canary try to break out of `mechanism`.

    Raises:
        SandboxError: it did, or it could not do what must be possible.
        HungUpError, ProtocolError, TimeoutError: it did not get so far.
    """
    with _bait() as bait:
        shown = Space(describe(Path(sys.executable)), (bait.folder,), ())
        process = await Process.boot(Order(mechanism, shown, _PROBE_SECONDS))
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await _release_canary(process.line, bait)
        finally:
            await process.end()
        if not bait.is_untouched():
            raise SandboxError("it let a file outside be written")


async def _release_canary(line: Line, bait: _Bait) -> None:
    module = Module(bait.folder / "canary.py", "canary", bait.folder)
    loaded = await line.load(Program(module, _CANARY, "write", 1, 1), str(bait.folder))
    if not isinstance(loaded, Imported) or loaded.raised is not None:
        raise SandboxError("Python cannot import a module in it")
    expected = {
        "write('in-the-scratch-folder')": "written",
        f"write({str(bait.file)!r})": "denied",
        f"connect({bait.port})": "denied",
    }
    for attempt, outcome in expected.items():
        answer = await line.run(attempt)
        if answer != Answer(f"{outcome!r}\n"):
            raise SandboxError(f"{attempt} gave {answer.output.strip() or 'an error'}, not {outcome!r}")
