"""Start, confine and end the processes of a template and its evaluations, and exchange messages with them.

A *template* is a warm, confined interpreter that forks one process for each evaluation.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import nlargest
from io import FileIO
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from adacoder.programs import starting
from adacoder.sandbox.child.launcher import children
from adacoder.sandbox.environment.imports_ahead import Ahead
from adacoder.sandbox.environment.visible_paths import LAUNCHER, OUR_PYTHON, RUN, TEMPLATE, VisiblePaths, tools
from adacoder.sandbox.held import computed, memory, shares_memory, threads, waits
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
    """A callback that sends the first message of an evaluation."""

Permit: TypeAlias = "asyncio.Future[bool]"

BOOT_SECONDS = 20.0
"""Timeout for the start of an interpreter. The timeout is long, because a slow machine is not the candidate's fault."""
_MOST_STARTS = 3
"""Maximum number of attempts to start an interpreter. An attempt may fail if a hidden file is replaced during the
start.
"""
WARM_SECONDS = 10.0
"""Timeout for one import in a template."""
FORK_SECONDS = 5.0
"""Timeout for forking a process and locking it down."""
_MOST_FILES = 5000
"""Maximum number of files that a template may have imported. Even large libraries have fewer."""
_REAP_SECONDS = 5.0
"""Timeout for removing the files of an evaluation."""
_DYING_SECONDS = 1.0
"""Timeout for the end of a process that has closed its connection."""
_WATCHED_SECONDS = 0.03
"""Seconds between two checks of a template's memory, files and threads during an import."""
_MOST_WAITING = 2
"""Number of threads whose waits for a processor count, longest waits first. One thread is not enough, because a thread
often waits for another thread.
"""
_LOOKING_SECONDS = 0.001
"""Seconds between two searches for processes that are left."""
_COMPLAINT_LENGTH = 200
_STATM, _RULESETS = 4, 10
"""Descriptors that the launcher leaves open for the template, see `child/launcher.py`."""


@dataclass(frozen=True)
class Recipe:
    """Describes a template. Programs with equal recipes can use the same template."""

    mechanism: Mechanism
    visible: VisiblePaths
    workspace: Path
    root: Path
    """The folder that the module is imported from, as in `Module.root`."""
    ahead: Ahead = field(default_factory=Ahead)
    permitted: Permit | None = field(default=None, compare=False)
    """A future whose result is True if isolation is proven. None if isolation was proven before."""
    env: tuple[str, ...] = ()
    """Environment variables that the template sets after its start, as `NAME=VALUE`."""
    group: int = 1
    """Number of slots for a forked process and its descendants. Only importers need more than one.

    A slot is a subfolder of the scratch folder. One process may write to it.
    """

    @cached_property
    def _hash(self) -> int:
        return hash((self.mechanism, self.visible, self.workspace, self.root, self.ahead, self.env, self.group))

    def __hash__(self) -> int:
        """Return the cached hash. Every evaluation needs the hash, and hashing many paths is slow."""
        return self._hash

    @cached_property
    def common(self) -> Recipe:
        """A copy of this recipe that imports only common modules."""
        return replace(self, ahead=Ahead(own=self.ahead.own, files=self.ahead.files))

    def serves(self, other: Recipe) -> bool:
        """Return whether a template of this recipe can run programs of the `other` recipe.

        `other` must have all imports of this recipe. Otherwise, the recipes must be equal.
        """
        return self.common == other.common and set(self.ahead.statements) <= set(other.ahead.statements)


@dataclass(slots=True, eq=False)
class Evaluation:
    """A locked-down process that a template forked for one evaluation."""

    slot: int
    line: WorkerLine
    _connection: socket.socket
    _handle: int | None
    """Descriptor of the process (pidfd), or None if the system has no pidfds."""
    _waits: dict[str, float] = field(default_factory=dict)
    """The longest waits of threads for a processor, in seconds, by thread id."""
    _before: tuple[float, float] = 0.0, 0.0
    """Seconds of waiting, and seconds of processor time, in earlier docstrings."""

    def count_anew(self) -> None:
        """Reset `waited` and `computed` before the next docstring."""
        waited, computed = self._before
        self._before = waited + self.waited(), computed + self.computed()

    @property
    def alive(self) -> bool:
        """True if the connection to the process is open."""
        return not self.line.channel.hung_up

    async def ended(self) -> bool:
        """Wait until a process that closed its connection has ended.

        Return False if the process still runs after a moment, as only hostile code does. If the system has no pidfds,
        return True at once.
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
        """Return the seconds that the process has waited for a processor; 0 if unknown.

        Only the longest waits of a few threads count. Otherwise code could extend its own timeout: in each second, 100
        threads that share a processor wait 99 seconds together.
        """
        if self.pid is not None:
            for thread, seconds in waits(self.pid).items():
                self._waits[thread] = max(seconds, self._waits.get(thread, 0.0))
            self._waits = dict(nlargest(_MOST_WAITING, self._waits.items(), key=itemgetter(1)))
        return sum(self._waits.values()) - self._before[0]

    def computed(self) -> float:
        """Return the seconds of processor time that the process used; 0 if unknown."""
        return self.computed_in_all() - self._before[1]

    def computed_in_all(self) -> float:
        """Return the seconds of processor time, including earlier docstrings; 0 if unknown."""
        return 0.0 if self.pid is None else computed(self.pid)

    @property
    def pid(self) -> int | None:
        """The process id as the server sees it; None if unknown."""
        return self.line.channel.sender

    def memory(self) -> int:
        """Return the bytes of memory that the process holds; 0 if unknown."""
        return 0 if self.pid is None else memory(self.pid)

    def kill(self) -> None:
        """Kill the process. The template must then reap it."""
        if self._handle is None:
            self._connection.close()
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def kill_group(self) -> None:
        """Kill the process and its process group. Call this method before the process is reaped."""
        if self._handle is None or self.line.channel.sender is None:
            return
        with suppress(ProcessLookupError):  # If the process is gone, another group may have the same id.
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            os.killpg(self.line.channel.sender, signal.SIGKILL)

    def close(self) -> None:
        """Close the connection to a killed process. This takes some time, so `kill` does not do it."""
        self._connection.close()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class TemplateProcess:
    """A warm, confined interpreter. A caller of `boot` must also call `end`."""

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
        """True if the template has failed, and can no longer be used."""
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
        """Start an interpreter without any imports. `slots` is the maximum number of concurrent evaluations.

        If a hidden file was replaced during the start, bubblewrap may fail, so the start is repeated.

        Raises:
            SandboxError: the interpreter does not start.
        """
        await asyncio.to_thread(tools)  # Run `tools` in a thread, because it may compile files.
        for left in reversed(range(_MOST_STARTS)):
            template, far_end = cls._staged(recipe, slots)
            try:
                await template._begin(far_end)  # noqa: SLF001  # an instance of this class
            except SandboxError:
                disturbed = not template.holds
                await template.end()
                if not (left and disturbed):
                    raise
            except BaseException:
                await template.end()
                raise
            else:
                return template
        raise AssertionError  # The last attempt always returns or raises.

    @classmethod
    def _staged(cls, recipe: Recipe, slots: int) -> tuple[TemplateProcess, socket.socket]:
        try:
            with ExitStack() as staging, ExitStack() as cleanup:
                stage = staging.enter_context(recipe.mechanism.stage(recipe.visible, slots))
                connection, far_end = channel_pair()
                cleanup.enter_context(connection)
                cleanup.enter_context(far_end)
                return cls(recipe, stage, slots, staging.pop_all(), cleanup.pop_all(), connection), far_end
        except OSError as error:
            raise SandboxError(f"The sandbox cannot be created: {error}.") from error

    async def _begin(self, far_end: socket.socket) -> None:
        """Start the interpreter. After an error, the caller must call `end`."""
        permitted = self.recipe.permitted
        try:
            await self._start(far_end)
            if permitted is not None and not await asyncio.shield(permitted):
                raise ProtocolError("it is not isolated")
            async with asyncio.timeout(BOOT_SECONDS):
                await self._set_up()
        except (OSError, HungUpError, ProtocolError) as error:  # TimeoutError is an OSError
            late = f"it took longer than {BOOT_SECONDS:g} s"
            reason = self._complaint() or (late if isinstance(error, TimeoutError) else str(error))
            raise SandboxError(
                f"The interpreter {self.recipe.visible.interpreter.path} does not start: {reason}."
            ) from error

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
        """True if no known private file is visible to the template's processes."""
        return self._stage.holds()

    @property
    def is_current(self) -> bool:
        """True if a new template would see the same files as this template."""
        return self._stage.holds() and self._stage.is_current()

    @property
    def pid(self) -> int | None:
        """The process id as the server sees it; None if unknown."""
        return self._channel.sender

    @property
    def scratch_on_disk(self) -> Path | None:
        """The scratch folder, with a subfolder N for each slot N. None if the folder is in memory, where its size is
        limited.
        """
        return Path(self._stage.scratch) if self._stage.on_disk else None

    def resident(self) -> int:
        """Return the bytes of memory that the template occupies; 0 if unknown."""
        with suppress(OSError):
            pages = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]
            return int(pages) * os.sysconf("SC_PAGESIZE")
        return 0

    async def warm(self, statement: str, seconds: float) -> bool:
        """Run an import in the template within `seconds`. Errors of the import are ignored.

        Return True if evaluations can share all effects of the import. If the result is False, the template must not be
        used.

        Raises:
            SandboxError: the template broke.
        """
        watching = asyncio.create_task(self._watch())
        try:
            is_good = await self._ask(seconds, "warm", statement) == ["warmed", "good"]
        finally:
            watching.cancel()
        return is_good and (self.pid is None or shares_memory(self.pid) is False)

    async def _watch(self) -> None:
        """End the template if an import uses too much memory or disk space, or too many threads."""
        scratch, pid = self.scratch_on_disk, self.pid
        while pid is not None:
            await asyncio.sleep(_WATCHED_SECONDS)
            is_full = scratch is not None and await asyncio.to_thread(is_overfull, str(scratch), pid)
            if is_full or memory(pid) > LIMITS["DATA"] or threads(pid) > MOST_THREADS:
                self.broken = True
                self._lifeline.close()
                return

    async def compile(self, file: Path) -> None:
        """Compile a file of the project in the template. Evaluations use the compiled code until the file changes.

        Raises:
            SandboxError: the template broke.
        """
        if await self._ask(WARM_SECONDS, "compile", str(file)) != ["compiled"]:
            raise self._broke("its answer has an unknown form")

    async def settle(self) -> tuple[Path, ...]:
        """Prepare for forking after all imports. Return the imported files.

        When an imported file changes, the template must be replaced.

        Raises:
            SandboxError: the template broke.
        """
        match await self._ask(WARM_SECONDS, "settle"):
            case ["settled", *files] if len(files) <= _MOST_FILES:
                return tuple(map(Path, files))
        raise self._broke("its answer has an unknown form")

    async def fork(self, kind: str = "evaluation") -> Evaluation:
        """Fork a locked-down process, which the caller must `reap` later. `template.py` describes `kind`.

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
        """Make sure that a killed evaluation leaves no processes and files behind.

        Return the exit status of the evaluation, or the negative number of the signal that killed it. Also return True
        if the evaluation had written too many files.

        Raises:
            SandboxError: something may be left. The template is broken.
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
        """Return the processes of a group whose parents have ended.

        The supervisor, which is the template's parent, has adopted these processes.
        """
        parent = None if self.pid is None else parent_of(self.pid)
        return [pid for pid in children(parent) if pid != self.pid and _group_of(pid) == group] if parent else []

    async def sweep(self, group: int | None) -> bool:
        """Kill orphans of a group until none are left, because each may have forked. Return False after a timeout."""
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
        """Kill the template and its descendants, and wait until all have ended.

        A cancelled call waits as well. The template may already have ended.
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
            await asyncio.to_thread(self._staging.close)  # Removing the files of hostile code may take long.

    async def _start(self, far_end: socket.socket) -> None:
        """Start the launcher, and close the descriptors that only the launcher needs."""
        spawning = starting(self._spawn(far_end))
        try:
            self._process = await asyncio.shield(spawning)
        except asyncio.CancelledError:
            with suppress(OSError):
                self._process = await spawning  # Now `end` can wait for the process.
            raise
        finally:
            far_end.close()
            self._complain.close()
            self._lifeline_end.close()

    async def _spawn(self, far_end: socket.socket) -> asyncio.subprocess.Process:
        stage, interpreter = self._stage, self.recipe.visible.interpreter.path
        return await asyncio.create_subprocess_exec(
            *(str(OUR_PYTHON), "-I", "-S", *RUN, str(LAUNCHER), str(self._lifeline_end.fileno())),
            *(*stage.wrapper, "--"),
            *(*stage.confinement, f"statm={_STATM}", f"rulesets={_RULESETS}", f"group={self.recipe.group}", "--"),
            *(str(interpreter), "-I", "-B", *RUN, str(TEMPLATE)),
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
            *(str(recipe.root), str(recipe.workspace), " ".join(recipe.ahead.own), "\0".join(recipe.env)),
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
                self.broken = True  # The next request could otherwise get the answer to this request.
                raise

    def _broke(self, why: str) -> SandboxError:
        self.broken = True
        return SandboxError(f"The sandbox broke: {why}.")

    def _complaint(self) -> str:
        """Return the last line that the interpreter wrote to standard error, shortened."""
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
    """Make a process fork a locked-down process.

    `parent` is the connection to the process that forks. `turn` is a lock for requests over this connection.
    `template.py` describes `kind`. `begin` sends the first message while the new process is still starting, which saves
    time.

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
            connection.close()  # Closing the connection also ends the process.
        raise


def _handle_of(pid: int | None, parent: int | None) -> int | None:
    """Return the pidfd of a process forked by `parent`.

    Raises:
        ProtocolError: the process has ended, or is not a child of `parent`.
    """
    if pid is None:
        return None
    try:
        handle = os.pidfd_open(pid)
    except OSError as error:
        raise ProtocolError("it is gone") from error
    # Check the parent after `pidfd_open`, because another process could have got the same id before.
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
    return int(stat.rpartition(b")")[2].split()[1])  # The name in parentheses may be anything, see proc(5).


def _group_of(pid: int) -> int | None:
    """Return the process group of a process; None if the process has ended."""
    with suppress(ProcessLookupError):
        return os.getpgid(pid)
    return None


@contextmanager
def _opened(pid: int) -> Iterator[int]:
    """Open the pidfd of a process for a `with` block."""
    handle = os.pidfd_open(pid)
    try:
        yield handle
    finally:
        os.close(handle)


def _pipe(cleanup: ExitStack) -> tuple[FileIO, FileIO]:
    """Return the read end and the write end of a pipe. Reading does not block."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    return cleanup.enter_context(FileIO(read, "rb")), cleanup.enter_context(FileIO(write, "wb"))


def _status(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return -signal.SIGKILL
