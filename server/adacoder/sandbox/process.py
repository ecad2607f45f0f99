"""The server's side of a template and its evaluations: starts, confines and ends their processes, and talks to them."""

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

from adacoder.sandbox.child.launcher import children
from adacoder.sandbox.environment.imports_ahead import Ahead
from adacoder.sandbox.environment.visible_paths import LAUNCHER, OUR_PYTHON, TEMPLATE, VisiblePaths
from adacoder.sandbox.held import computed, memory, shares_memory, threads, waited
from adacoder.sandbox.isolation import LIMITS, MOST_THREADS, SCRATCH_SIZE
from adacoder.sandbox.isolation.scratch import is_overfull
from adacoder.sandbox.isolation.seccomp import OWN_PID
from adacoder.sandbox.unavailable import SandboxError
from adacoder.sandbox.wire import Channel, HungUpError, ProtocolError, WorkerLine, channel_pair, readable

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Iterator

    from adacoder.sandbox.isolation import Mechanism, Stage

    Begin: TypeAlias = Callable[[WorkerLine], Awaitable[None]]
    """Callback that sends the first message of an evaluation."""

Permit: TypeAlias = "asyncio.Future[bool]"

BOOT_SECONDS = 20.0
"""Seconds for an interpreter to start. The limit is generous, because a slow machine is not the candidate's fault."""
WARM_SECONDS = 10.0
"""Seconds for one import in a template."""
FORK_SECONDS = 5.0
"""Seconds for a new process to lock itself down."""
_MOST_FILES = 5000
"""Maximum number of files that a template may have imported; even the largest libraries have fewer."""
_REAP_SECONDS = 5.0
"""Seconds for removing the files that an evaluation left in its scratch folder."""
_DYING_SECONDS = 1.0
"""Seconds for a process that closed its connection to end by itself."""
_WATCHED_SECONDS = 0.03
"""Seconds between two checks of a template that imports something."""
_LOOKING_SECONDS = 0.001
"""Seconds between two checks for remaining processes."""
_COMPLAINT_LENGTH = 200
_STATM, _RULESETS = 4, 10
"""Descriptors that the launcher leaves open for the template."""


@dataclass(frozen=True)
class Recipe:
    """The conditions that a template is made for. Templates are found by this key."""

    mechanism: Mechanism
    visible: VisiblePaths
    workspace: Path
    root: Path
    """As `Module.root`: the folder that the module is imported from."""
    ahead: Ahead = field(default_factory=Ahead)
    permitted: Permit | None = field(default=None, compare=False)
    """Result of the proof of isolation, if the proof was still running."""
    group: int = 1
    """Number of slots of each forked process, including its descendants. It is more than one for importers."""

    @cached_property
    def _hash(self) -> int:
        return hash((self.mechanism, self.visible, self.workspace, self.root, self.ahead, self.group))

    def __hash__(self) -> int:
        """Return a hash that is computed once: every evaluation needs it, and it covers many paths."""
        return self._hash

    @cached_property
    def common(self) -> Recipe:
        """This recipe with the fewest imports."""
        return replace(self, ahead=Ahead(own=self.ahead.own, files=self.ahead.files))

    def serves(self, other: Recipe) -> bool:
        """Return whether a template of this recipe can evaluate programs of the `other` recipe.

        The template must not have imported more than `other` imports.
        """
        return self.common == other.common and set(self.ahead.statements) <= set(other.ahead.statements)


@dataclass(slots=True, eq=False)
class Evaluation:
    """A locked-down process that a template forked for one evaluation."""

    slot: int
    line: WorkerLine
    _connection: socket.socket
    _handle: int | None
    """The pidfd of the process; None on systems without pidfds."""

    @property
    def alive(self) -> bool:
        """True if the process has not ended."""
        return not self.line.channel.hung_up

    async def ended(self) -> bool:
        """Return True if the process ends by itself soon after it closed the connection.

        Hostile code may continue without one.

        Also return True if the system does not show the end of a process.
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
        """Return the number of the process's threads; 0 if unknown."""
        return 0 if self.pid is None else threads(self.pid)

    def waited(self) -> float:
        """Return the seconds that the process spent waiting for a processor; 0 if unknown."""
        return 0.0 if self.pid is None else waited(self.pid)

    def computed(self) -> float:
        """Return the processor time in seconds that the process used; 0 if unknown."""
        return 0.0 if self.pid is None else computed(self.pid)

    @property
    def pid(self) -> int | None:
        """The process id in the server's namespace; None if unknown."""
        return self.line.channel.sender

    def memory(self) -> int:
        """Return the bytes of memory that the process holds; 0 if unknown."""
        return 0 if self.pid is None else memory(self.pid)

    def kill(self) -> None:
        """Kill the process. The template still has to reap it."""
        if self._handle is None:
            self._connection.close()
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def kill_group(self) -> None:
        """Kill the process and the process group that it leads. Call this before the template reaps it."""
        if self._handle is None or self.line.channel.sender is None:
            return
        with suppress(ProcessLookupError):  # if the first call fails, the number may belong to another group
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            os.killpg(self.line.channel.sender, signal.SIGKILL)

    def close(self) -> None:
        """Close the connection after the process was killed.

        This is separate from `kill` because it takes some time.
        """
        self._connection.close()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class TemplateProcess:
    """A warm interpreter in its confinement. The code that boots it must also `end` it."""

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
        """True if the template failed at a task, so that it can no longer be used."""
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
    async def boot(cls, recipe: Recipe, slots: int) -> TemplateProcess:
        """Start an interpreter that has not imported any module of the project yet.

        `slots`: maximum number of concurrent evaluations.

        Raises:
            SandboxError: the interpreter does not start.
        """
        try:
            with ExitStack() as staging, ExitStack() as cleanup:
                stage = staging.enter_context(recipe.mechanism.stage(recipe.visible, slots))
                connection, far_end = channel_pair()
                cleanup.enter_context(connection)
                cleanup.enter_context(far_end)
                template = cls(recipe, stage, slots, staging.pop_all(), cleanup.pop_all(), connection)
        except OSError as error:
            raise SandboxError(f"The sandbox cannot be created: {error}.") from error
        try:
            await template._start(far_end)
            if recipe.permitted is not None and not await asyncio.shield(recipe.permitted):
                raise ProtocolError("it is not isolated")
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
        """True if the template's process has ended."""
        return self._channel.hung_up

    @property
    def alive(self) -> bool:
        """True if the template can be used."""
        return not self.broken and not self.gone

    @property
    def holds(self) -> bool:
        """True if no private file was found that its processes can see."""
        return self._stage.holds()

    @property
    def is_current(self) -> bool:
        """True if its processes see the same files as a new template's processes would."""
        return self._stage.holds() and self._stage.is_current()

    @property
    def pid(self) -> int | None:
        """The process id in the server's namespace; None if unknown."""
        return self._channel.sender

    @property
    def scratch_on_disk(self) -> Path | None:
        """Folder on disk in which evaluation N writes to folder N; None if it is in memory and limited."""
        return Path(self._stage.scratch) if self._stage.on_disk else None

    def resident(self) -> int:
        """Return the bytes of memory that the template occupies; 0 if unknown."""
        with suppress(OSError):
            pages = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]
            return int(pages) * os.sysconf("SC_PAGESIZE")
        return 0

    async def warm(self, statement: str) -> bool:
        """Run an import, so that evaluations need not. If it fails, the evaluations run into the same error.

        Return True if evaluations can share all effects of the import. Otherwise, the template must not be used.

        Raises:
            SandboxError: the template broke.
        """
        watching = asyncio.create_task(self._watch())
        try:
            is_good = await self._ask(WARM_SECONDS, "warm", statement) == ["warmed", "good"]
        finally:
            watching.cancel()
        return is_good and (self.pid is None or shares_memory(self.pid) is False)

    async def _watch(self) -> None:
        """End the template if an import takes too much memory, fills the disk, or starts too many threads.

        No evaluation runs at that time.
        """
        scratch, pid = self.scratch_on_disk, self.pid
        while pid is not None:
            await asyncio.sleep(_WATCHED_SECONDS)
            is_full = scratch is not None and await asyncio.to_thread(is_overfull, str(scratch), pid)
            if is_full or memory(pid) > LIMITS["DATA"] or threads(pid) > MOST_THREADS:
                self.broken = True
                self._lifeline.close()
                return

    async def compile(self, file: Path) -> None:
        """Compile a file of the project ahead. The code is used as long as the file's text is the same.

        Raises:
            SandboxError: the template broke.
        """
        if await self._ask(WARM_SECONDS, "compile", str(file)) != ["compiled"]:
            raise self._broke("its answer has an unknown form")

    async def settle(self) -> tuple[Path, ...]:
        """Prepare for forking, after all imports. Return the imported files.

        If one of them changes, the template must be replaced.

        Raises:
            SandboxError: the template broke.
        """
        match await self._ask(WARM_SECONDS, "settle"):
            case ["settled", *files] if len(files) <= _MOST_FILES:
                return tuple(map(Path, files))
        raise self._broke("its answer has an unknown form")

    async def fork(self, kind: str = "evaluation") -> Evaluation:
        """Fork a locked-down process of a kind listed in `template.py`. `reap` must follow.

        Raises:
            SandboxError: no process can be started.
        """
        slot = await self._slots.get()
        try:
            return await forked(self._channel, self._turn, slot, kind)
        except BaseException:
            self.broken = True
            raise

    async def reap(self, evaluation: Evaluation) -> tuple[int, bool]:
        """Make sure that nothing is left of an evaluation that was killed.

        Return the exit status of the evaluation, or minus the signal that killed it. Also return whether it was killed
        for too many files.

        Raises:
            SandboxError: something may be left, and the template broke.
        """
        evaluation.close()
        match await self._ask(_REAP_SECONDS, "reap", str(evaluation.slot)):
            case ["reaped", status, clean, overfull]:
                if clean:
                    self._slots.put_nowait(evaluation.slot)
                else:
                    self.broken = True
                return _status(status), bool(overfull)
        raise self._broke("its answer has an unknown form")

    def orphans(self, group: int | None) -> list[int]:
        """Return the processes of a group whose parents have ended. The template's own parent adopts such processes."""
        parent = None if self.pid is None else parent_of(self.pid)
        return [pid for pid in children(parent) if pid != self.pid and _group_of(pid) == group] if parent else []

    async def sweep(self, group: int | None) -> bool:
        """Kill the orphans of a group. Return True if they are gone.

        A process may have forked just before it was killed, so this repeats until it finds no orphan.
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
        """Kill the template with all its descendants, and wait until no process is left.

        This also works if the template has already ended. A cancellation during this time is delayed until the end.
        """
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
        """Start the launcher, and close the server's copies of the launcher's descriptors."""
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
                raise ProtocolError(f"it cannot be confined ({why})")
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
                self.broken = True  # its answer may still arrive
                raise

    def _broke(self, why: str) -> SandboxError:
        self.broken = True
        return SandboxError(f"The sandbox broke: {why}.")

    def _complaint(self) -> str:
        """Return the last line that the interpreter wrote to standard error."""
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
    """Make the process at the other end of `parent` fork a locked-down process.

    `turn` makes questions to the parent wait for each other.

    `kind`: as in `template.py`. `begin`: sends the new process's first message while the process is still being made.

    Raises:
        SandboxError: no process can be started.
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
            connection.close()  # this also ends the process
        raise


def _handle_of(pid: int | None, parent: int | None) -> int | None:
    """Return the pidfd of a process that another process forked.

    Raises:
        ProtocolError: the process is not a child of `parent`.
    """
    if pid is None:
        return None
    try:
        handle = os.pidfd_open(pid)
    except OSError as error:
        raise ProtocolError("it is gone") from error
    # After `pidfd_open`, because the pid may have been reused before it.
    if parent_of(pid) != parent:
        os.close(handle)
        raise ProtocolError("it is not a process of the template")
    return handle


def parent_of(pid: int) -> int | None:
    """Return the parent of a process; None if the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123  # called before each evaluation
            stat = file.read()
    except OSError:
        return None
    return int(stat.rpartition(b")")[2].split()[1])  # proc(5): the name in parentheses may contain anything


def _group_of(pid: int) -> int | None:
    """Return the process group of a process; None if the process has ended."""
    with suppress(ProcessLookupError):
        return os.getpgid(pid)
    return None


@contextmanager
def _opened(pid: int) -> Iterator[int]:
    """Yield the pidfd of a process."""
    handle = os.pidfd_open(pid)
    try:
        yield handle
    finally:
        os.close(handle)


def _pipe(cleanup: ExitStack) -> tuple[FileIO, FileIO]:
    """Return a pipe whose read end does not block."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    return cleanup.enter_context(FileIO(read, "rb")), cleanup.enter_context(FileIO(write, "wb"))


def _status(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return -signal.SIGKILL
