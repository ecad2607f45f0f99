"""Find out which isolation works on this machine.

A *mechanism* is a way to isolate code. In each mechanism, a test program, the *canary*, tries forbidden actions. The
mechanism works if they all fail. For each forbidden action, the canary also tries a similar allowed action, which must
succeed. Otherwise a canary that cannot do anything would seem isolated.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sys
import time
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from adacoder.domain import JSON, Isolation, Level, Module
from adacoder.programs import output_of
from adacoder.sandbox import probe_record
from adacoder.sandbox.environment.interpreter import described
from adacoder.sandbox.environment.visible_paths import VisiblePaths
from adacoder.sandbox.isolation.bubblewrap import Bubblewrap, Features
from adacoder.sandbox.isolation.locks import Locks, locks
from adacoder.sandbox.isolation.lsm import Landlocked
from adacoder.sandbox.isolation.none import Unconfined
from adacoder.sandbox.isolation.scratch import SHORT, scratch
from adacoder.sandbox.isolation.seatbelt import Seatbelt
from adacoder.sandbox.isolation.system_programs import environment, program_of_others, program_of_system
from adacoder.sandbox.probe_record import Basis
from adacoder.sandbox.process import Evaluation, Permit, Recipe, TemplateProcess
from adacoder.sandbox.program import Program
from adacoder.sandbox.unavailable import SandboxError
from adacoder.sandbox.wire import HungUpError, Imported, ProtocolError, WorkerLine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from adacoder.sandbox.isolation import Mechanism

_PROFILE = "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict"
"""The AppArmor profile that lets bubblewrap create user namespaces."""
_PROBE_SECONDS = 20
FAILED_SECONDS = 600.0
"""Seconds after which AdaCoder tries a failed mechanism again, although a weaker mechanism works."""
_BUBBLEWRAP = "bwrap"
_CANARY = """
import _socket
import os


def write(path):
    try:
        with open(path, "w") as file:
            file.write("written")
    except OSError:
        return "denied"
    with open(path) as file:
        return file.read()


def empty(path):
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_TRUNC))
    except OSError:
        return "denied"
    return "emptied"


def chmod(path):
    try:
        os.chmod(path, 0o600)
    except OSError:
        return "denied"
    return "changed"


def read(path):
    try:
        with open(path) as file:
            return file.read() or "denied"
    except OSError:
        return "denied"


def exists(path):
    return os.path.exists(path)


def connect(family, address):
    try:
        _socket.socket(family, _socket.SOCK_STREAM).connect(address)
    except OSError:
        return "denied"
    return "connected"


def pair():
    one, other = _socket.socketpair()
    return one.send(b"ab")


def signal(pid):
    try:
        os.kill(pid, 0)
    except OSError:
        return "denied"
    return "sent"


def fork():
    try:
        if not os.fork():
            os._exit(0)
    except OSError:
        return "denied"
    return "forked"
"""


_OF_AGENT = re.compile(r"CODEX_(?!HOME\b)\w+|CLAUDECODE|GEMINI_CLI|QWEN_CODE_\w+|OPENCODE|AI_AGENT")
"""Matches environment variables that coding agents set in their shells."""
_Question: TypeAlias = "tuple[Level, str | None, bool, asyncio.AbstractEventLoop]"
Meanwhile: TypeAlias = "Callable[[Mechanism, Permit], object]"
"""A callback that gets the mechanism under test and a future. The future's result is True if the mechanism isolates
code.
"""


@dataclass(frozen=True, slots=True)
class Proof:
    """The isolation that a test has proven on this machine."""

    isolation: Isolation
    mechanism: Mechanism
    reason: str
    """Reason why the isolation is below the requested level, or empty."""
    remedy: str = ""
    """Instruction for getting better isolation, without a full stop, or empty."""
    is_recorded: bool = False
    """True if the proof is from an earlier start of AdaCoder, and its conditions still hold."""


def in_shell_of_agent() -> bool:
    """Return whether a coding agent has started this process. The agent's own sandbox may forbid isolation."""
    return any(map(_OF_AGENT.fullmatch, os.environ))


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(eq=False)
class Prober:
    """Finds the isolation that works on this machine, and caches the result."""

    program: Callable[[str], Path | None] = program_of_system
    """Finds a system program by name."""
    locks: Callable[[], Locks | None] = locks
    basis: Basis = field(default_factory=Basis)
    since_boot: Callable[[], float] = _since_boot
    begun_seconds: float = 0.005
    """Seconds from the start of a test to the call of `meanwhile`."""
    known_seconds: float = 30.0
    """Seconds after which a proof expires if a better proof may be possible."""
    _known: dict[tuple[Level, str | None], tuple[Proof, float, JSON]] = field(default_factory=dict, init=False)
    """For each level and PATH: the proof, the time at which the proof expires, and the record that must still be
    written.
    """
    _under_way: dict[_Question, asyncio.Task[tuple[Proof, JSON]]] = field(default_factory=dict, init=False)

    async def probe(
        self, best: Level = Level.FULL, *, anew: bool = False, keeps: bool = False, meanwhile: Meanwhile | None = None
    ) -> Proof:
        """Find the strongest mechanism that isolates code here, up to the level `best`.

        A result of the level `best` is cached until PATH changes. A weaker result expires soon, because the user may
        install missing software.

        Args:
            best: the strongest level to try.
            anew: True to ignore the cache and the record of earlier starts.
            keeps: True to store the proof for later starts.
            meanwhile: called during the test of the first mechanism.
        """
        key = best, os.environ.get("PATH"), anew, asyncio.get_running_loop()
        known = None if anew else self._known.get(key[:2])
        if known is None or not (known[0].isolation.level is best or time.monotonic() < known[1]):
            if key not in self._under_way:
                self._under_way[key] = asyncio.create_task(self._find(best, meanwhile or _nothing_else, anew=anew))
            try:
                found, record = await asyncio.shield(self._under_way[key])
            finally:
                if key in self._under_way and self._under_way[key].done():
                    del self._under_way[key]
            before = self._known.get(key[:2])
            if found.isolation.level is Level.NONE and before and before[0].isolation.level is not Level.NONE:
                # The failure is probably temporary, so return the earlier proof. This is safe, because a mechanism
                # never runs code that it cannot confine.
                if anew:
                    return found
                found, _, record = before
            known = self._known[key[:2]] = found, time.monotonic() + self.known_seconds, record
        found, until, record = known
        if keeps and record is not None:
            probe_record.write(record)
            self._known[key[:2]] = found, until, None
        return found

    async def _find(self, best: Level, meanwhile: Meanwhile, *, anew: bool) -> tuple[Proof, JSON]:
        """Return the proof of an earlier start and None, if the proof still holds. Otherwise return a new proof and its
        record.
        """
        program, system = self.program(_BUBBLEWRAP), self.locks()
        conditions = probe_record.conditions(program, system, self.basis) if best is Level.FULL else None
        if not anew and conditions is not None:
            found = self._recorded_proof(probe_record.read(), conditions, program, system)
            if found is not None:
                return found, None
        found = await self._try_all(best, program, system, meanwhile)
        if conditions is None or found.isolation.level is Level.NONE:
            return found, None
        # If a stronger mechanism has failed, the proof is not final, because the failure may be temporary.
        is_final = program is None or found.isolation.level is best
        features: JSON = list(astuple(found.mechanism.features)) if isinstance(found.mechanism, Bubblewrap) else None
        until = None if is_final else self.since_boot() + FAILED_SECONDS
        return found, {"conditions": conditions, "features": features, "reason": found.reason, "until": until}

    def _recorded_proof(
        self, record: JSON, conditions: JSON, program: Path | None, system: Locks | None
    ) -> Proof | None:
        """Return the proof in a record, or None if the record is outdated or malformed."""
        mechanism: Mechanism
        match record:
            case {"conditions": before, "features": features, "reason": str(reason), "until": None | float() as until}:
                pass
            case _:
                return None
        is_due = until is not None and not 0 < until - self.since_boot() <= FAILED_SECONDS
        if before != conditions or is_due or system is None:
            return None
        match features:
            case [bool(proc), bool(disable_userns), bool(size)] if program is not None:
                mechanism = Bubblewrap(str(program), Features(proc, disable_userns, size), system)
            case None if system.landlock:
                mechanism = Landlocked(system)
            case _:
                return None
        return _proof(mechanism, reason, program, system, is_recorded=True)

    async def _try_all(self, best: Level, program: Path | None, system: Locks | None, meanwhile: Meanwhile) -> Proof:
        if best is Level.NONE:
            return _proof(Unconfined(), "no isolation was requested", program, system)
        reasons = []
        loop = asyncio.get_running_loop()
        async for mechanism in _mechanisms(best, program, system):
            if isinstance(mechanism, str):
                reasons.append(mechanism)
                continue
            is_proved: Permit = loop.create_future()
            begin = loop.call_later(self.begun_seconds, meanwhile, mechanism, is_proved)
            meanwhile = _nothing_else  # Call `meanwhile` only once, because the next mechanism is likely to fail.
            try:
                await _prove(mechanism)
                is_proved.set_result(True)
                return _proof(mechanism, reasons[0] if reasons else "", program, system)
            except (SandboxError, HungUpError, ProtocolError, OSError) as error:  # TimeoutError is an OSError
                by = mechanism.isolation.by[0]
                why = getattr(error, "strerror", None) or str(error) or "it took too long"
                reasons.append(f"{by} does not work here: {why.rstrip('.')}")
            finally:
                begin.cancel()
                if not is_proved.done():
                    is_proved.set_result(False)
        return _proof(Unconfined(), "; ".join(dict.fromkeys(reasons)), program, system)


PROBER = Prober()
probe = PROBER.probe


def _nothing_else(mechanism: Mechanism, is_proved: Permit) -> None:
    """Do nothing. This is the default for `meanwhile`."""


def _proof(
    mechanism: Mechanism, reason: str, program: Path | None, system: Locks | None, *, is_recorded: bool = False
) -> Proof:
    if mechanism.isolation.level is Level.NONE and in_shell_of_agent():
        remedy = (
            "call the tool `check_examples` of `adacoder mcp`, which runs outside this shell, or ask the user to run "
            "`adacoder doctor`"
        )
    elif sys.platform == "win32":
        remedy = "run AdaCoder inside WSL2"
    elif mechanism.isolation.level is Level.FULL or sys.platform != "linux" or system is None:
        remedy = ""
    elif program is None:
        remedy = "install bubblewrap (`sudo apt install bubblewrap`, `sudo dnf install bubblewrap`)"
    else:
        remedy = (
            "let bubblewrap create user namespaces (on Ubuntu 24.04: `sudo apt install apparmor-profiles`, "
            f"`sudo cp {_PROFILE} /etc/apparmor.d/`, `sudo systemctl reload apparmor`)"
        )
    return Proof(mechanism.isolation, mechanism, reason, remedy, is_recorded)


async def _mechanisms(best: Level, bwrap: Path | None, known: Locks | None) -> AsyncIterator[Mechanism | str]:
    """Yield the mechanisms to test, strictest first. If a mechanism cannot be tested, yield the reason instead."""
    if sys.platform == "darwin":
        yield Seatbelt()
        return
    if sys.platform != "linux":
        yield f"no isolation is known for {sys.platform}"
        return
    if known is None:
        yield f"there are no system call filters for {os.uname().machine}"
        return
    if best is Level.FULL:
        if bwrap is None:
            other = program_of_others(_BUBBLEWRAP)
            yield f"{other} is not the system's own, so it is not used" if other else "bubblewrap is not installed"
        else:
            # The machine may forbid some features of bubblewrap, so try several sets of features.
            try:
                printed, _ = await output_of(str(bwrap), "--help", env=environment(), cwd=Path("/"), errors=True)
                described = printed.decode(errors="replace")
            except OSError as error:
                described = ""
                yield f"bubblewrap does not start: {error}"
            for disable_userns in [True, False] if "--disable-userns" in described else [False]:
                for proc in (True, False):
                    features = Features(proc, disable_userns, "--size" in described)
                    yield Bubblewrap(str(bwrap), features, known)
    if known.landlock:
        yield Landlocked(known)
    else:
        yield "this kernel has no Landlock"


@dataclass(frozen=True, slots=True)
class _Bait:
    """Targets of the canary. Without isolation, the canary could reach all targets, so a failed attempt proves
    isolation.
    """

    folder: Path
    """Folder that the canary can see."""
    outside: Path
    """File that the canary can see but must not write."""
    secret: Path
    """Hidden file."""
    beyond: Path
    """Hidden folder."""
    port: int
    """TCP port of a listening server."""
    socket: str
    """Path of a listening Unix socket."""

    def is_untouched(self) -> bool:
        return self.outside.read_text(encoding="utf-8") == "untouched" and self.outside.stat().st_mode & 0o777 == 0o640


@contextmanager
def _bait() -> Iterator[_Bait]:
    with (
        scratch() as name,
        scratch() as beyond,
        scratch(SHORT) as sockets,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
    ):
        folder = Path(name)
        port = server.getsockname()[1]
        bait = _Bait(folder, folder / "outside", folder / ".secret", Path(beyond), port, f"{sockets}/socket")
        bait.outside.write_text("untouched", encoding="utf-8")
        bait.outside.chmod(0o640)
        bait.secret.write_text("secret", encoding="utf-8")
        local.bind(bait.socket)
        local.listen()
        for family, address in (socket.AF_INET, ("127.0.0.1", bait.port)), (socket.AF_UNIX, bait.socket):
            with socket.socket(family) as client:
                client.connect(address)
        yield bait


async def _prove(mechanism: Mechanism) -> None:
    """Let the canary try to break out of `mechanism`.

    Raises:
        SandboxError: the canary broke out, or failed at an allowed action.
        HungUpError, ProtocolError, TimeoutError: the canary did not finish.
    """
    with _bait() as bait:
        shown = VisiblePaths(described(Path(sys.executable)), (bait.folder, Path(bait.socket).parent), (bait.secret,))
        template = await TemplateProcess.boot(Recipe(mechanism, shown, bait.folder, bait.folder), slots=2)
        evaluations: list[Evaluation] = []
        try:
            await template.settle()
            evaluations += [await template.fork(), await template.fork()]
            async with asyncio.timeout(_PROBE_SECONDS):
                await _release_canary(evaluations[0].line, bait, template)
        finally:
            for evaluation in evaluations:
                evaluation.kill()
                evaluation.close()
            await template.end()
        if not bait.is_untouched():
            raise SandboxError("it let code change a file outside")


async def _release_canary(line: WorkerLine, bait: _Bait, template: TemplateProcess) -> None:
    isolation = template.recipe.mechanism.isolation
    module = Module(bait.folder / "canary.py", "canary", bait.folder)
    loaded = await line.load(Program(module, _CANARY, "write", 1, 1), _PROBE_SECONDS)
    if not isinstance(loaded, Imported) or loaded.raised is not None:
        raise SandboxError("Python cannot import a module in it")
    seen = isolation.level is not Level.FULL  # Without namespaces, code can see the names of hidden files.
    expected = {
        f"exists({str(bait.outside)!r})": True,
        f"exists({str(bait.beyond)!r})": seen,
        f"os.getppid() == {template.pid}": seen and template.pid is not None,
        "write('own')": "written",
        f"write({str(bait.outside)!r})": "denied",
        # Without Landlock, evaluations that run at once can write to each other's folders.
        "write('../../1/another')": "denied" if "landlock" in isolation.by else "written",
        f"empty({str(bait.outside)!r})": "denied",
        f"chmod({str(bait.outside)!r})": "denied",
        f"read({str(bait.outside)!r})": "untouched",
        f"read({str(bait.secret)!r})": "denied",
        "pair()": 2,
        f"connect(_socket.AF_INET, ('127.0.0.1', {bait.port}))": "denied",
        f"connect(_socket.AF_UNIX, {bait.socket!r})": "denied",
        "signal(os.getpid())": "sent",
        "signal(os.getppid())": "denied",
        "fork()": "denied",
    }
    for attempt, outcome in expected.items():
        answer = await line.run(attempt)
        if answer.raised is not None or answer.shown != f"{outcome!r}\n":
            raise SandboxError(f"{attempt} gave {answer.shown.strip() or 'an error'}, not {outcome!r}")
