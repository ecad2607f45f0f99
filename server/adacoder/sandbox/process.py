"""The server's side of a template: started, confined, spoken to, and gone; and of the evaluations it forks."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from adacoder.sandbox.descriptors import readable
from adacoder.sandbox.errors import SandboxError
from adacoder.sandbox.held import memory, shares_memory
from adacoder.sandbox.imports import Ahead
from adacoder.sandbox.isolation import LIMITS, SCRATCH_SIZE
from adacoder.sandbox.isolation.scratch import is_overfull
from adacoder.sandbox.isolation.seccomp import OWN_PID
from adacoder.sandbox.launcher import children
from adacoder.sandbox.visible_paths import LAUNCHER, OUR_PYTHON, TEMPLATE, VisiblePaths
from adacoder.sandbox.wire import Channel, HungUpError, ProtocolError, WorkerLine, channel_pair

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Iterator

    from adacoder.sandbox.isolation import Mechanism, Stage

    Begin: TypeAlias = Callable[[WorkerLine], Awaitable[None]]
    """Sends the first message of an evaluation."""

Permit: TypeAlias = "asyncio.Future[bool]"

BOOT_SECONDS = 20.0
"""Seconds for an interpreter to start; generous, since a slow machine is not the candidate's fault."""
WARM_SECONDS = 10.0
"""Seconds for one import in a template."""
FORK_SECONDS = 5.0
"""Seconds for a new process to be locked down."""
_MOST_FILES = 5000
"""Files that a template may have imported; more than the largest of libraries have."""
_REAP_SECONDS = 5.0
"""Seconds to remove what an evaluation left in its scratch folder."""
_DYING_SECONDS = 1.0
"""Seconds for a process that hung up to end by itself."""
_WATCHED_SECONDS = 0.03
"""Seconds between two looks at a template that imports something."""
_LOOKING_SECONDS = 0.001
"""Seconds between two looks at what is left."""
_COMPLAINT_LENGTH = 200
_STATM, _RULESETS = 4, 10
"""Descriptors that the launcher leaves open for the template."""


@dataclass(frozen=True)
class Recipe:
    """Key of a template: the conditions that it is made for."""

    mechanism: Mechanism
    visible: VisiblePaths
    workspace: Path
    root: Path
    """As `Module.root`."""
    ahead: Ahead = field(default_factory=Ahead)
    permitted: Permit | None = field(default=None, compare=False)
    """Result of the proof, where its mechanism is not proved yet."""
    group: int = 1
    """Slots of each process that it forks, with its descendants: an importer has more than one."""

    @cached_property
    def _hash(self) -> int:
        return hash((self.mechanism, self.visible, self.workspace, self.root, self.ahead, self.group))

    def __hash__(self) -> int:
        """Computed once: it is asked for each evaluation, and holds many paths."""
        return self._hash

    @cached_property
    def common(self) -> Recipe:
        """The one that imports the least."""
        return replace(self, ahead=Ahead(own=self.ahead.own, files=self.ahead.files))

    def serves(self, other: Recipe) -> bool:
        """True if a template of this recipe also serves evaluations of the other: it has nothing that they lack."""
        return self.common == other.common and set(self.ahead.statements) <= set(other.ahead.statements)


@dataclass(slots=True, eq=False)
class Evaluation:
    """A process that a template forked for one evaluation, and that is locked down."""

    slot: int
    line: WorkerLine
    _connection: socket.socket
    _handle: int | None
    """A pidfd; None where the system has no such thing."""

    @property
    def alive(self) -> bool:
        """True if it has not ended."""
        return not self.line.channel.hung_up

    async def ended(self) -> bool:
        """True if it ends by itself, soon after it hung up; hostile code may go on without a line to us.

        Where the system does not tell, it is taken for granted.
        """
        if self._handle is None:
            return True
        try:
            async with asyncio.timeout(_DYING_SECONDS):
                await readable(self._handle)
        except TimeoutError:
            return False
        return True

    def threads(self) -> int:
        """Number of its threads; 0 where the system does not tell."""
        try:
            return os.stat(f"/proc/{self.line.channel.sender}/task").st_nlink - 2  # noqa: PTH116  # before each verdict
        except OSError:
            return 0

    @property
    def pid(self) -> int | None:
        """Its process, in our numbering; None where the system does not tell."""
        return self.line.channel.sender

    def memory(self) -> int:
        """Bytes of memory that it holds; 0 where the system does not tell."""
        return 0 if self.pid is None else memory(self.pid)

    def kill(self) -> None:
        """End it, whatever it does; the template still has to reap it."""
        if self._handle is None:
            self._connection.close()
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def kill_group(self) -> None:
        """End it with its process group, which it leads. Call this before the template reaps it."""
        if self._handle is None or self.line.channel.sender is None:
            return
        with suppress(ProcessLookupError):  # if the first call fails, the number may belong to another group
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            os.killpg(self.line.channel.sender, signal.SIGKILL)

    def close(self) -> None:
        """Give up the line to it, once it was killed; not at once, since that takes its time."""
        self._connection.close()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class Template:
    """A warm interpreter in its confinement. Whoever boots it must `end` it."""

    def __init__(
        self,
        recipe: Recipe,
        stage: Stage,
        slots: int,
        staging: ExitStack,
        cleanup: ExitStack,
        connection: socket.socket,
    ) -> None:
        self.recipe = recipe
        self.broken = False
        """True if it failed at what a template must do, so that it can serve no longer."""
        self._stage = stage
        self._staging = staging
        self._cleanup = cleanup
        self._channel = Channel(connection)
        self._complaints, self._complain = _pipe(cleanup)
        self._lifeline_end, self._lifeline = _pipe(cleanup)
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._slots: asyncio.Queue[int] = asyncio.Queue()
        self._slots_in_all = slots
        for slot in range(0, slots, recipe.group):
            self._slots.put_nowait(slot)

    @classmethod
    async def boot(cls, recipe: Recipe, slots: int) -> Template:
        """Start an interpreter; it has imported nothing of the project yet.

        `slots`: how many evaluations there may be at a time.

        Raises:
            SandboxError: it does not start.
        """
        try:
            with ExitStack() as staging, ExitStack() as cleanup:
                stage = staging.enter_context(recipe.mechanism.stage(recipe.visible, slots))
                connection, far_end = channel_pair()
                cleanup.enter_context(connection)
                cleanup.enter_context(far_end)
                template = cls(recipe, stage, slots, staging.pop_all(), cleanup.pop_all(), connection)
        except OSError as error:
            raise SandboxError(f"The sandbox cannot be made: {error}.") from error
        try:
            await template._start(far_end)
            if recipe.permitted is not None and not await asyncio.shield(recipe.permitted):
                raise ProtocolError("what was to isolate it does not")
            async with asyncio.timeout(BOOT_SECONDS):
                await template._set_up()
        except (OSError, HungUpError, ProtocolError) as error:  # TimeoutError is an OSError
            late = f"it took longer than {BOOT_SECONDS:g} s"
            reason = template._complaint() or (late if isinstance(error, TimeoutError) else str(error))
            await template.end()
            raise SandboxError(
                f"The interpreter {recipe.visible.interpreter.path} does not start: {reason}."
            ) from error
        except BaseException:
            await template.end()
            raise
        return template

    @property
    def gone(self) -> bool:
        """True if it has ended."""
        return self._channel.hung_up

    @property
    def alive(self) -> bool:
        """True if it can serve."""
        return not self.broken and not self.gone

    @property
    def holds(self) -> bool:
        """True if no private file came to light that its processes see."""
        return self._stage.holds()

    @property
    def is_current(self) -> bool:
        """True if its processes see what those of a new one would."""
        return self._stage.holds() and self._stage.is_current()

    @property
    def pid(self) -> int | None:
        """Its process, in our numbering; None where the system does not tell."""
        return self._channel.sender

    @property
    def scratch_on_disk(self) -> Path | None:
        """The folder on disk in which evaluation N writes to folder N; None if it is in memory, and bounded."""
        return Path(self._stage.scratch) if self._stage.on_disk else None

    def resident(self) -> int:
        """The memory it occupies, in bytes; 0 where the system does not tell."""
        with suppress(OSError):
            pages = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]
            return int(pages) * os.sysconf("SC_PAGESIZE")
        return 0

    async def warm(self, statement: str) -> bool:
        """Run an import, so that evaluations need not; if it fails that is left for them.

        Returns whether all that came with it can be shared. If not, the template must not be used.

        Raises:
            SandboxError: it broke.
        """
        watching = asyncio.create_task(self._watch())
        try:
            is_good = await self._ask(WARM_SECONDS, "warm", statement) == ["warmed", "good"]
        finally:
            watching.cancel()
        return is_good and (self.pid is None or shares_memory(self.pid) is False)

    async def _watch(self) -> None:
        """End it if an import takes too much memory, or fills the disk; no evaluation runs meanwhile."""
        scratch, pid = self.scratch_on_disk, self.pid
        while pid is not None:
            await asyncio.sleep(_WATCHED_SECONDS)
            is_full = scratch is not None and await asyncio.to_thread(is_overfull, str(scratch), pid)
            if is_full or memory(pid) > LIMITS["DATA"]:
                self.broken = True
                self._lifeline.close()
                return

    async def compile(self, file: Path) -> None:
        """Compile a file of the project ahead; it is used as long as the file's text is the same.

        Raises:
            SandboxError: it broke.
        """
        if await self._ask(WARM_SECONDS, "compile", str(file)) != ["compiled"]:
            raise self._broke("it gave no answer that has a known form")

    async def settle(self) -> tuple[Path, ...]:
        """Make ready to fork; all is imported. Returns the files of it: it is to be made anew when one changes.

        Raises:
            SandboxError: it broke.
        """
        match await self._ask(WARM_SECONDS, "settle"):
            case ["settled", *files] if len(files) <= _MOST_FILES:
                return tuple(map(Path, files))
        raise self._broke("it gave no answer that has a known form")

    async def fork(self, kind: str = "evaluation", begin: Begin | None = None) -> Evaluation:
        """A process of one of the kinds that `template.py` knows, locked down; `reap` must follow.

        `begin`: as of `forked`.

        Raises:
            SandboxError: it cannot be had.
        """
        slot = await self._slots.get()
        try:
            return await forked(self._channel, self._turn, slot, kind, begin=begin)
        except BaseException:
            self.broken = True
            raise

    async def reap(self, evaluation: Evaluation) -> tuple[int, bool]:
        """Make sure that nothing is left of an evaluation that was killed.

        Returns its exit status, or minus the signal that killed it; and whether that was for too many files.

        Raises:
            SandboxError: something may be left; it broke.
        """
        evaluation.close()
        match await self._ask(_REAP_SECONDS, "reap", str(evaluation.slot)):
            case ["reaped", status, clean, overfull]:
                if clean:
                    self._slots.put_nowait(evaluation.slot)
                else:
                    self.broken = True
                return _status(status), bool(overfull)
        raise self._broke("it gave no answer that has a known form")

    def orphans(self, group: int | None) -> list[int]:
        """Processes of a group whose parents have ended. They fall to the template's own parent."""
        parent = None if self.pid is None else parent_of(self.pid)
        return [pid for pid in children(parent) if pid != self.pid and _group_of(pid) == group] if parent else []

    async def sweep(self, group: int | None) -> bool:
        """Kill the orphans of a group, and return whether nothing is left of them.

        A process may have forked just before it was killed, so this looks again until there is no orphan.
        """
        try:
            async with asyncio.timeout(_DYING_SECONDS):
                while orphans := self.orphans(group):
                    for orphan in orphans:
                        with suppress(OSError), _opened(orphan) as handle:
                            if _group_of(orphan) == group:
                                signal.pidfd_send_signal(handle, signal.SIGKILL)
                    await asyncio.sleep(_LOOKING_SECONDS)
        except TimeoutError:
            return False
        return True

    async def end(self) -> None:
        """Kill it with all that came of it, and wait until nothing is left; also when it has ended, or this is
        cancelled meanwhile."""
        self.broken = True
        self._lifeline.close()
        ending = asyncio.ensure_future(self._end())
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            await ending
            raise

    async def _end(self) -> None:
        try:
            with self._cleanup:
                if self._process is not None:
                    await self._process.wait()
        finally:
            await asyncio.to_thread(self._staging.close)  # hostile code may have left much to remove

    async def _start(self, far_end: socket.socket) -> None:
        """Start the launcher, and close what is its alone."""
        spawning = asyncio.ensure_future(self._spawn(far_end))
        try:
            self._process = await asyncio.shield(spawning)
        except asyncio.CancelledError:
            with suppress(OSError):
                self._process = await spawning  # `end` waits for it
            raise
        finally:
            far_end.close()
            self._complain.close()
            self._lifeline_end.close()

    async def _spawn(self, far_end: socket.socket) -> asyncio.subprocess.Process:
        stage, interpreter = self._stage, self.recipe.visible.interpreter.path
        return await asyncio.create_subprocess_exec(
            *(str(OUR_PYTHON), "-I", "-S", str(LAUNCHER), str(self._lifeline_end.fileno())),
            *(*stage.wrapper, "--"),
            *(*stage.confinement, f"statm={_STATM}", f"rulesets={_RULESETS}", f"group={self.recipe.group}", "--"),
            *(str(interpreter), "-I", "-B", str(TEMPLATE)),
            stdin=far_end.fileno(),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=self._complain,
            pass_fds=(self._lifeline_end.fileno(), *stage.descriptors),
            env=stage.environment,
            cwd="/",
            start_new_session=True,
        )

    async def _set_up(self) -> None:
        recipe, stage = self.recipe, self._stage
        await self._channel.send(
            "setup",
            *(str(_STATM), str(_RULESETS), str(_RULESETS + self._slots_in_all), str(recipe.group), stage.scratch),
            *(str(stage.most_files), str(SCRATCH_SIZE), stage.program.hex(), stage.importing.hex(), str(OWN_PID)),
            *(str(recipe.root), str(recipe.workspace), " ".join(recipe.ahead.own)),
            *map(str, recipe.visible.interpreter.installed),
        )
        match await self._channel.receive():
            case ["ready"]:
                if self.pid is not None and shares_memory(self.pid):
                    raise ProtocolError("its start-up code leaves memory that evaluations would share")
                return
            case ["unable", why]:
                raise ProtocolError(f"it lacks what confines it ({why})")
        raise ProtocolError("it did not announce itself")

    async def _ask(self, seconds: float, *command: str) -> list[str]:
        async with self._turn:
            try:
                async with asyncio.timeout(seconds):
                    await self._channel.send(*command)
                    return await self._channel.receive()
            except (TimeoutError, HungUpError, ProtocolError) as error:
                raise self._broke(str(error) or "it took too long") from error
            except asyncio.CancelledError:
                self.broken = True  # its answer is still to come
                raise

    def _broke(self, why: str) -> SandboxError:
        self.broken = True
        return SandboxError(f"The sandbox broke: {why}.")

    def _complaint(self) -> str:
        """The last line that was written to standard error."""
        written = self._complaints.read(1 << 16) or b""
        lines = [line for line in written.decode(errors="replace").splitlines() if line.strip()]
        return "".join(filter(str.isprintable, lines[-1]))[:_COMPLAINT_LENGTH].rstrip(".") if lines else ""


async def forked(
    parent: Channel,
    turn: asyncio.Lock,
    slot: int,
    *kind: str,
    begin: Begin | None = None,
) -> Evaluation:
    """A process that the one at the other end of `parent` forks, locked down; `turn` keeps questions to that apart.

    `kind`: as `template.py` has it. `begin` sends what it is to read first, while it is made.

    Raises:
        SandboxError: it cannot be had.
    """
    connection: socket.socket | None = None
    try:
        connection, far_end = channel_pair()
        with far_end:
            async with turn:
                await parent.send("fork", str(slot), *kind, descriptor=far_end.fileno())
        channel = Channel(connection)
        line = WorkerLine(channel)
        async with asyncio.timeout(FORK_SECONDS):
            if begin:
                await begin(line)
            await line.ready()
        return Evaluation(slot, line, connection, _handle_of(channel.sender, parent.sender))
    except (OSError, HungUpError, ProtocolError) as error:
        if connection is not None:
            connection.close()
        raise SandboxError(f"The sandbox cannot start a process: {str(error) or 'it took too long'}.") from error
    except BaseException:
        if connection is not None:
            connection.close()  # which ends it
        raise


def _handle_of(pid: int | None, parent: int | None) -> int | None:
    """A pidfd for a process that another forked.

    Raises:
        ProtocolError: that forked no such process.
    """
    if pid is None:
        return None
    try:
        handle = os.pidfd_open(pid)
    except OSError as error:
        raise ProtocolError("it is gone") from error
    # Only now that it cannot be another that got the same number since.
    if parent_of(pid) != parent:
        os.close(handle)
        raise ProtocolError("it is none of the template's")
    return handle


def parent_of(pid: int) -> int | None:
    """The process that another came of; None if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123  # before each evaluation
            stat = file.read()
    except OSError:
        return None
    return int(stat.rpartition(b")")[2].split()[1])  # proc(5): the name in parentheses may hold anything


def _group_of(pid: int) -> int | None:
    """The process group of a process; None if it has ended."""
    with suppress(ProcessLookupError):
        return os.getpgid(pid)
    return None


@contextmanager
def _opened(pid: int) -> Iterator[int]:
    """A pidfd."""
    handle = os.pidfd_open(pid)
    try:
        yield handle
    finally:
        os.close(handle)


def _pipe(cleanup: ExitStack) -> tuple[FileIO, FileIO]:
    """A pipe; what is read from it does not block."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    return cleanup.enter_context(FileIO(read, "rb")), cleanup.enter_context(FileIO(write, "wb"))


def _status(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return -signal.SIGKILL
