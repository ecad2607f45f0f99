"""A worker's process: confined, started, spoken to, and gone."""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from io import FileIO
from typing import TYPE_CHECKING

from adacoder.sandbox.errors import SandboxError
from adacoder.sandbox.space import LAUNCHER, OUR_PYTHON, WORKER, Space
from adacoder.sandbox.wire import HungUpError, Line, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from adacoder.sandbox.isolation import Mechanism, Stage

BOOT_SECONDS = 20.0
"""How long an interpreter may take to start; generous, since a slow machine is not the candidate's fault."""
_DYING_SECONDS = 1.0
"""How long a process that hung up may take to end by itself."""
_COMPLAINT_LENGTH = 200

_LIMITS = {
    "AS": 2 << 30,  # address space; more than what it may fill, since libraries reserve much that they never use
    "DATA": 1 << 30,
    "FSIZE": 16 << 20,
    "NOFILE": 64,
    "CORE": 0,
    "MEMLOCK": 0,
    "MSGQUEUE": 0,
    "SIGPENDING": 64,
}
"""`resource.RLIMIT_*`, in bytes or counts. Not NPROC: the kernel counts all processes of the user for it."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a process is started for: one that is started ahead serves an equal order, and no other."""

    mechanism: Mechanism
    space: Space
    cpu_seconds: int
    """Processor time it may use, its start included; waiting costs nothing of it."""


class Process:
    """One worker in its confinement. Whoever boots it must `end` it."""

    def __init__(self, stage: Stage, line: Line, complaints: FileIO) -> None:
        self.line = line
        self._stage = stage
        self._complaints = complaints
        self._cleanup = ExitStack()
        self._process: asyncio.subprocess.Process | None = None

    @classmethod
    async def boot(cls, order: Order) -> Process:
        """Start an interpreter; it has imported nothing of the project yet.

        Raises:
            SandboxError: it does not start.
        """
        with ExitStack() as cleanup, ExitStack() as theirs:
            stage = cleanup.enter_context(order.mechanism.stage(order.space))
            commands, to_worker = _pipe(theirs, cleanup)
            results, from_worker = _pipe(theirs, cleanup, upwards=True)
            complain, complaints = _pipe(theirs, cleanup, upwards=True)
            booted = cls(stage, Line(to_worker, from_worker), complaints)
            booted._cleanup = cleanup.pop_all()
            try:
                await booted._start(_spawn(order, stage, commands, results, complain))
                stage.started()
                theirs.close()
                async with asyncio.timeout(BOOT_SECONDS):
                    await booted.line.ready()
            except (OSError, HungUpError, ProtocolError) as error:  # TimeoutError is an OSError
                late = f"it took longer than {BOOT_SECONDS:g} s"
                reason = booted._complaint() or (late if isinstance(error, TimeoutError) else str(error))
                await booted.end()
                interpreter = order.space.interpreter.path
                raise SandboxError(f"The interpreter {interpreter} does not start: {reason}.") from error
            except BaseException:
                await booted.end()
                raise
        return booted

    async def _start(self, spawning: Coroutine[None, None, asyncio.subprocess.Process]) -> None:
        """Wait for the process to be made, even when cancelled: `end` must know it to kill all of it."""
        task = asyncio.ensure_future(spawning)
        try:
            self._process = await asyncio.shield(task)
        except asyncio.CancelledError:
            with suppress(OSError):
                self._process = await task
            raise

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process is not None and self._process.returncode is None and not self.line.hung_up

    async def status(self) -> int | None:
        """How it ended, after it hung up: its exit status, or minus the signal that killed it.

        None if it goes on without a line to us, as nothing but hostile code does.
        """
        if self._process is None:
            return None
        try:
            async with asyncio.timeout(_DYING_SECONDS):
                status = await self._process.wait()
        except TimeoutError:
            return None
        return 128 - status if status > 128 else status  # bubblewrap tells of signals as a shell does

    async def end(self) -> None:
        """Kill it with all its descendants, and wait until nothing is left; also for one that has ended."""
        with self._cleanup:
            if self._process is not None:
                await self._stage.kill(self._process.pid, ended=self._process.returncode is not None)
                await self._process.wait()

    def _complaint(self) -> str:
        """The last line that was written to standard error."""
        written = self._complaints.read(1 << 16) or b""
        lines = [line for line in written.decode(errors="replace").splitlines() if line.strip()]
        return "".join(filter(str.isprintable, lines[-1]))[:_COMPLAINT_LENGTH].rstrip(".") if lines else ""


async def _spawn(
    order: Order, stage: Stage, commands: FileIO, results: FileIO, complain: FileIO
) -> asyncio.subprocess.Process:
    limits = _LIMITS | {"CPU": order.cpu_seconds}
    return await asyncio.create_subprocess_exec(
        *stage.command,
        *(str(OUR_PYTHON), "-I", "-S", str(LAUNCHER)),
        *(str(commands.fileno()), str(results.fileno())),
        *(f"{name}={value}" for name, value in limits.items()),
        *("--", str(order.space.interpreter.path), "-I", "-B", str(WORKER)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=complain,
        pass_fds=(commands.fileno(), results.fileno(), *stage.descriptors),
        env=dict(stage.environment),
        cwd=stage.folder,
        start_new_session=True,
    )


def _pipe(theirs: ExitStack, ours: ExitStack, *, upwards: bool = False) -> tuple[FileIO, FileIO]:
    """A pipe to the worker, or `upwards` from it: its end and ours, which does not block."""
    read, write = os.pipe()
    near, far = (read, write) if upwards else (write, read)
    os.set_blocking(near, False)
    modes = {read: "rb", write: "wb"}
    return theirs.enter_context(FileIO(far, modes[far])), ours.enter_context(FileIO(near, modes[near]))
