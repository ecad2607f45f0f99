"""Import the modules that evaluations share, and fork the evaluations.

This file runs confined in the user's interpreter, so it uses only the standard library of Python 3.8 and later.

A process that runs this file is a *template*. It imports the installed modules that the modules under test surely
import, but no modules of the project. For each evaluation, it forks a process, which locks itself down further and
continues in `worker.py`.

Commands are messages as in `worker.py`. They arrive on descriptor 0, which this file moves to CHANNEL:

    setup STATM SLOTS GROUPS GROUP SCRATCH MOST_FILES MOST_BYTES FILTER IMPORTING OWN_PID ROOT WORKSPACE OWN
          ENV [INSTALLED]…
      → ready                                    once; the fields are explained below
      → unable MESSAGE
    warm STATEMENT                               an import to run
      → warmed GOOD                              GOOD is empty if evaluations cannot share the effects of the import;
                                                 the template must then not be used
    compile PATH                                 compile a file of the project, but do not import it
      → compiled                                 even if it failed
    settle                                       all imports are done
      → settled [PATH]…                          files of the imported modules
    fork SLOT KIND [NAME PATH]                   the message carries a descriptor, the new process's CHANNEL; if an
                                                 earlier docstring's process still has the slot, it is reaped, and the
                                                 answer of `reap` is sent first; NAME and PATH are those of a
                                                 docstring's module
    reap SLOT                                    for a process that was killed
      → reaped STATUS CLEAN OVERFULL             STATUS is as in `os.waitstatus_to_exitcode`; CLEAN is empty if anything
                                                 is left; OVERFULL is not empty if the template killed the process,
                                                 because it wrote too many files

The fields of `setup` are:

* STATM, SLOTS and GROUPS are descriptors that the launcher left open. STATM is the template's own `/proc/self/statm`.
  SLOTS is the Landlock ruleset of slot 0, and the other slots follow. GROUPS is the ruleset of the first group of
  slots, and the other groups follow. Each group has GROUP slots.
* SCRATCH is a folder. An evaluation may write to its subfolder SLOT. The template kills an evaluation that has more
  than MOST_FILES files or MOST_BYTES bytes there. MOST_FILES is 0 if the server counts them instead.
* FILTER is the seccomp program of an evaluation, in hex. OWN_PID is its placeholder for the process's own id. IMPORTING
  is the seccomp program of an importer.
* ROOT is the folder from which the project's modules are imported, and WORKSPACE is the project's folder.
* OWN has the names of the project's top-level modules and packages, separated by spaces.
* ENV has the environment variables to set, as `NAME=VALUE`, separated by NUL characters.
* The template imports modules only from the INSTALLED folders.

KIND is the kind of the forked process:

    evaluation           continues in `worker.py`
    importer             imports a top-level module or package; it has the first slot of a group, and knows the commands
                         of a template and `import`
    desk                 is forked from an importer, and has a slot of the importer's group; it knows the same commands,
                         and handles one module at a time
    docstring            is forked from a desk; it evaluates examples in the module that the desk has imported (see
                         `standing.py`)
"""

from __future__ import annotations

import _socket
import _thread
import gc
import os
import resource
import select
import struct
import sys
from importlib.machinery import SourceFileLoader
from os.path import dirname, isdir, join, lexists, normpath, realpath
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from adacoder.sandbox.child import finders, standing, worker
else:
    # Load these modules without entries in `sys.modules`, because the user's modules may have the same names.
    worker = type(sys)("worker")
    worker.__file__ = join(dirname(realpath(__file__)), "worker.py")
    SourceFileLoader("worker", worker.__file__).exec_module(worker)
    finders = worker.finders
    standing = type(sys)("standing")
    standing.worker = worker
    SourceFileLoader("standing", join(dirname(realpath(__file__)), "standing.py")).exec_module(standing)

_chmod, _utime = os.chmod, os.utime

MOST_DESCRIPTORS = 256
"""Maximum number of open descriptors in the template."""
OPEN_FILES = 64
"""Maximum number of open files of an evaluation. A call of `poll` can watch no more descriptors than this."""
FILES_CHECKED_SECONDS = 0.1
"""Seconds between two counts of the files of running evaluations."""


class Parent:
    """A process from which evaluations are forked, such as the template."""

    def __init__(self, fields: Sequence[str]) -> None:
        statm, slots, groups, group, self._scratch, most_files, most_bytes, program, importing, own_pid, *fields = (
            fields
        )
        root, workspace, own, env, *installed = fields
        for each in filter(None, env.split("\0")):
            name, _, os.environ[name] = each.partition("=")
        named = [normpath(join(workspace, each)) for each in os.environ.get("PYTHONPATH", "").split(":") if each]
        inside = [each for each in named if each.startswith(join(workspace, ""))]
        folders = [folder for folder in dict.fromkeys([root, *inside, workspace]) if isdir(folder)]
        if program:
            os.chmod, os.utime = through_descriptor(os.chmod), through_descriptor(os.utime)
            replace_shared_memory(folders)  # Import `mmap` before `sys.path` contains the project's folder.
            replace_semaphores()
        sys.path[:] = folders + [folder for folder in sys.path if folder not in folders]
        self.installed = finders.InstalledFiles(installed, folders)
        self._barrier = finders.Barrier(own.split(), self.installed)
        self._barrier.clear()
        self._most_files, self._most_bytes = int(most_files), int(most_bytes)
        self._lock = Lock(int(statm), bytes.fromhex(program), bytes.fromhex(importing), int(own_pid))
        if self._most_files:
            self._lock.hide_memory()
        self._slots, self._groups, self._group = int(slots), int(groups), int(group)
        self._folder = ""
        self._standing: standing.Standing | None = None
        """The modules imported by an importer, also in processes forked from the importer. None in other processes."""
        self._children: dict[str, int] = {}
        self._overfull: set[str] = set()
        self._counted = monotonic()
        self._descriptors = [select.poll() for _ in range(0, MOST_DESCRIPTORS, OPEN_FILES)]
        for number in range(worker.CHANNEL, MOST_DESCRIPTORS):
            self._descriptors[number // OPEN_FILES].register(number, 0)
        self._channel = _socket.socket(fileno=worker.CHANNEL)

    def serve(self) -> list[str]:
        """Carry out the server's commands.

        In the process of a new evaluation, return the first command for the evaluation.
        """
        worker.send("ready")
        while True:
            self._wait()
            size, ancillary, _, _ = self._channel.recvmsg(4, _socket.CMSG_SPACE(4))
            if not size:
                os._exit(0)
            command, *fields = worker.unpack(worker.receive_bytes(int.from_bytes(size, "little")))
            if command == "warm":
                worker.send("warmed", "good" if self._warm(fields[0]) else "")
            elif command == "compile":
                finders.compile_ahead(fields[0])
                worker.send("compiled")
            elif command == "settle":
                worker.send("settled", *self._settle())
            elif command == "import" and self._standing is not None:
                worker.send(*self._import(self._standing, *fields))
            elif command == "reap":
                self._kill(fields[0])
                worker.send("reaped", *self._reap(fields[0]))
            elif self._fork(*fields, ancillary=ancillary):
                worker.send("ready")
                if fields[1] not in ("importer", "desk"):
                    return worker.receive()

    def module(self, fields: list[str]) -> worker.ModuleUnderTest:
        """Return the module under test. `fields` are the fields of `load`."""
        if self._standing is not None:
            return standing.StandingModule(fields, self._standing)
        return worker.ModuleUnderTest(fields, self.installed.holds)

    def _wait(self) -> None:
        """Wait for a command. Meanwhile, end evaluations that wrote too much."""
        watch = select.poll()
        watch.register(worker.CHANNEL, select.POLLIN)
        counting = self._most_files and self._children
        while not watch.poll(FILES_CHECKED_SECONDS * 1000 if counting else None):
            self._end_overfull()
        # Count the files here as well, because the loop does not run if commands arrive often.
        if counting and monotonic() > self._counted + FILES_CHECKED_SECONDS:
            self._end_overfull()

    def _end_overfull(self) -> None:
        """End evaluations that wrote too much.

        Each evaluation's folder is a file system, so the kernel counts the files in the folder.
        """
        self._counted = monotonic()
        for slot in self._children:
            for number, place in enumerate(self._places(slot)):
                state = os.statvfs(place)
                bytes_ = (state.f_blocks - state.f_bfree) * state.f_frsize
                # An importer counts the files of its desks. If a hostile importer does not, it is killed here at twice
                # the limit. The importer's own folder comes first.
                share = 2 if number else 1
                if state.f_files - state.f_ffree > self._most_files * share or bytes_ > self._most_bytes * share:
                    self._overfull.add(slot)
                    self._kill(slot)

    def _places(self, slot: str) -> list[str]:
        """Return the folders that the process in a slot and its descendants may write to."""
        return [join(self._scratch, str(int(slot) + number)) for number in range(self._group)]

    def _warm(self, statement: str) -> bool:
        """Run an import. Return True if evaluations can share its effects.

        Errors are ignored, because each evaluation gets and reports the same error. If a package fails after some of
        its modules were imported, the effects cannot be shared, because a second import of the package would behave
        differently.
        """
        before, known = self._surroundings(), {*sys.modules}
        sys.meta_path.insert(0, self._barrier)
        try:
            exec(compile(statement, "<ahead>", "exec", 0, True), {})  # noqa: S102  # an import of installed modules
        except BaseException:  # noqa: S110  # The evaluation gets the same error.
            pass
        sys.meta_path.remove(self._barrier)
        worker.regain()
        is_whole = all(name.rpartition(".")[0] in sys.modules for name in {*sys.modules} - known if "." in name)
        return is_whole and not self._barrier.hit and self._surroundings() == before

    def _surroundings(self) -> tuple[object, ...]:
        """Return the process's state that an import may change, except `sys.modules`.

        Evaluations cannot share changes of this state.
        """
        found = [descriptor for some in self._descriptors for descriptor in some.poll(0)]
        closed = [number for number, events in found if events & select.POLLNVAL]
        threads = _thread._count()  # noqa: SLF001  # `threading` calls it as well, but may not be imported.
        return threads, closed, dict(os.environ), list(sys.path), list(sys.meta_path), os.getcwd()

    def _settle(self) -> list[str]:
        """Prepare for forking. Return the answer to `settle`."""
        gc.collect()
        gc.freeze()  # The collector does not write to frozen objects, so evaluations can share their memory.
        gc.disable()  # Evaluations enable the collector again before they run code of the user.
        self._lock.allow_for_memory()
        if "tempfile" in sys.modules:
            sys.modules["tempfile"].tempdir = None  # type: ignore[attr-defined]  # Each process has its own folder.
        return list(filter(None, map(finders.file_of, list(sys.modules.values()))))

    def _fork(self, slot: str, kind: str, *module: str, ancillary: Sequence[tuple[int, int, bytes]]) -> bool:
        """Fork a process. Return True in the child process, which is then locked down, and False in the parent process.

        `module` is the name and path of a docstring's module.
        """
        (channel,) = [int.from_bytes(data[:4], sys.byteorder) for _, _, data in ancillary]
        if slot in self._children:
            worker.send("reaped", *self._reap(slot))
        if module and self._standing is not None:
            self._standing.prepare(*module)
        child = os.fork()
        if child:
            self._children[slot] = child
            os.close(channel)
            return False
        os.dup2(channel, worker.CHANNEL)
        # Open new files, because an inherited file would share its flags with the parent process.
        for number in range(worker.CHANNEL):
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        self._children.clear()
        if kind == "docstring":  # A docstring's process keeps the folder and the restrictions of its desk.
            os.closerange(worker.CHANNEL + 1, MOST_DESCRIPTORS)
            self._lock.close(kind)
            return True
        # Only this process knows the folder's random name, so no other process can reach the folder.
        self._folder = join(self._scratch, slot, os.urandom(16).hex())
        os.mkdir(self._folder, 0o700)
        os.chdir(self._folder)
        os.environ["HOME"] = os.environ["TMPDIR"] = self._folder
        first = last = ruleset = self._slots + int(slot)
        if kind == "importer":
            if sys.platform == "linux":
                os.setpgid(0, 0)  # Later, the seccomp filter keeps all descendants in this group.
            last, ruleset = first + self._group - 1, self._groups + int(slot) // self._group
            self._standing, self._group = standing.Standing(self.installed.holds, self._look), 1
        else:
            self._most_files = 0
        os.closerange(worker.CHANNEL + 1, first)
        os.closerange(last + 1, ruleset)
        os.closerange(max(last, ruleset) + 1, MOST_DESCRIPTORS)
        self._lock.close(kind, ruleset)
        return True

    def _import(self, modules: standing.Standing, nonce: str, *fields: str) -> list[str]:
        """Import an unchanged module. Return the answer to `import`."""
        before = self._look()
        gc.enable()
        how = modules.import_(*fields)
        worker.regain()
        caches = ["caches"] if standing.remove_caches() else []
        after = self._look()
        gc.freeze()
        return [how, nonce, *(what for what in before if before[what] != after[what]), *caches]

    def _look(self) -> dict[str, object]:
        return standing.surroundings(self._surroundings(), self._folder)

    def _kill(self, slot: str) -> None:
        try:
            os.kill(self._children[slot], 9)
        except OSError:  # The process may have been killed from outside, for example.
            pass

    def _reap(self, slot: str) -> tuple[str, str, str]:
        """Wait for the end of a process, and remove its files. Return STATUS, CLEAN and OVERFULL for the answer."""
        _, status = os.waitpid(self._children.pop(slot), 0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        overfull = slot in self._overfull
        self._overfull.discard(slot)
        clean = min(map(self._renew, self._places(slot)))
        if dirname(self._folder) == join(self._scratch, slot):  # A desk shares its folder with its children.
            os.mkdir(self._folder, 0o700)
            os.chdir(self._folder)
        return str(code), "clean" if clean else "", "overfull" if overfull else ""

    def _renew(self, place: str) -> bool:
        """Empty the folder of a slot, and reset its mode and times. Return True if the folder is now empty."""
        clean = worker.empty(place)
        try:
            _chmod(place, 0o700)
            _utime(place, (0, 0))
        except OSError:  # An importer is not allowed to change attributes.
            pass
        return clean


class Lock:
    """Locks down forked processes. The template prepares the slow steps."""

    def __init__(self, statm: int, program: bytes, importing: bytes, own_pid: int) -> None:
        self._statm = statm
        self._limits: list[tuple[int, int]] = [(resource.RLIMIT_NOFILE, OPEN_FILES)]
        if sys.platform != "linux":
            self._limits.append((resource.RLIMIT_NPROC, 0))  # On other systems, this limit does not count threads.
            return
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        self._prctl = library.prctl
        self._prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong]
        self._syscall = library.syscall
        self._syscall.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_long]
        self._errno = ctypes.get_errno
        self._filters = {
            kind: (ctypes.create_string_buffer(filter_, len(filter_)), own_pids(filter_, own_pid))
            for kind, filter_ in (("importer", importing), ("desk", b""), ("evaluation", program))
        }
        self._address, self._has_filters = ctypes.addressof, bool(program)

    def hide_memory(self) -> None:
        """Keep other processes in the sandbox's namespace from reading this process's memory.

        Call this method only if there is a namespace. Without a namespace, Landlock protects the memory, and the server
        must still be able to read the process's mappings.
        """
        self._do(self._prctl(4, 0, None, 0, 0))  # PR_SET_DUMPABLE

    def allow_for_memory(self) -> None:
        """Set the memory limits of evaluations by the size of the template.

        The limit of data is 1 GiB, or 0.5 GiB more than the template's data, whichever is larger. The limit of address
        space is 2 GiB, or 1 GiB more than the template's address space.
        """
        try:
            size, _, _, _, _, data, _ = map(int, os.pread(self._statm, 256, 0).split())
        except OSError:  # Keep the launcher's limits if there is no /proc.
            return
        page = resource.getpagesize()
        self._limits = [
            (resource.RLIMIT_NOFILE, 64),
            (resource.RLIMIT_DATA, max(1 << 30, data * page + (1 << 29))),
            (resource.RLIMIT_AS, max(2 << 30, size * page + (1 << 30))),
        ]

    def close(self, kind: str, ruleset: int = -1) -> None:
        """Lock this process down for good. Apply the Landlock ruleset if its descriptor `ruleset` is open.

        Raises:
            OSError: a lock cannot be applied.
        """
        for resource_, limit in self._limits:
            worker.lower_limit(resource_, limit)
        if sys.platform != "linux":
            return
        self._do(self._prctl(1, 9, None, 0, 0))  # PR_SET_PDEATHSIG, SIGKILL
        if kind == "desk":
            self._do(self._prctl(36, 1, None, 0, 0))  # PR_SET_CHILD_SUBREAPER: adopt orphans
        if self._has_filters and _is_open(ruleset):
            self._do(self._syscall(446, ruleset, 0))  # landlock_restrict_self
            os.close(ruleset)
        program, own_pids = self._filters.get(kind, self._filters["evaluation"])
        if program:
            for place in own_pids:
                struct.pack_into("=i", program, place, os.getpid())
            header = struct.pack("HP", len(program) // 8, self._address(program))
            self._do(self._prctl(22, 2, header, 0, 0))  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER

    def _do(self, result: int) -> None:
        if result:
            raise OSError(self._errno(), "a lock does not close")


def own_pids(program: bytes, placeholder: int) -> list[int]:
    """Return the offsets of `placeholder` in a seccomp program. The process's own id later replaces the placeholder."""
    sought = struct.pack("=i", placeholder)
    return [at for at in range(4, len(program), 8) if program[at : at + 4] == sought]


def through_descriptor(change: Callable[..., None]) -> Callable[..., None]:
    """Make `os.chmod` or `os.utime` open the file first, because isolation denies changes by path."""

    def changed(
        path: object, *values: object, dir_fd: int | None = None, follow_symlinks: bool = True, **named: object
    ) -> None:
        if isinstance(path, int):
            return change(path, *values, **named)
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | (0 if follow_symlinks else os.O_NOFOLLOW)
        descriptor = os.open(path, flags, dir_fd=dir_fd)  # type: ignore[arg-type]  # `os.open` raises for other types
        try:
            change(descriptor, *values, **named)
        except OSError as error:
            error.filename = path
            raise
        finally:
            os.close(descriptor)

    from functools import partial

    # Before Python 3.11, pathlib stores these functions in a class, where a Python function would become a method.
    function = partial(changed)
    function.__name__, function.__doc__ = change.__name__, change.__doc__  # type: ignore[attr-defined]
    return function


def replace_shared_memory(folders: Sequence[str]) -> None:
    """Replace functions that make shared memory without a file, because isolation denies such memory.

    The replacements work within one process. `mmap.mmap(-1, …)` makes private memory, and `os.memfd_create` makes an
    unnamed file. `mmap` is not replaced if one of `folders` has a module named `mmap`.
    """

    def memfd_create(name: str, flags: int = 0) -> int:
        os.fsencode(name)  # Raise TypeError for a wrong type, as the original does.
        return os.open(os.environ["TMPDIR"], os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o600)

    if hasattr(os, "memfd_create"):
        os.memfd_create = memfd_create
    if any(lexists(join(folder, name)) for folder in folders for name in ("mmap", "mmap.py")):
        return
    import mmap

    class Mapping(mmap.mmap):
        __slots__ = ()

        def __new__(
            cls,
            fileno: int,
            length: int,
            flags: int = mmap.MAP_SHARED,
            prot: int = mmap.PROT_READ | mmap.PROT_WRITE,
            access: int = mmap.ACCESS_DEFAULT,
            **named: int,
        ) -> Mapping:
            if fileno == -1 and flags & mmap.MAP_SHARED and access != mmap.ACCESS_COPY:
                prot = mmap.PROT_READ if access == mmap.ACCESS_READ else prot
                flags, access = flags & ~mmap.MAP_SHARED | mmap.MAP_PRIVATE, mmap.ACCESS_DEFAULT
            return super().__new__(cls, fileno, length, flags, prot, access, **named)

    Mapping.__name__ = Mapping.__qualname__ = "mmap"
    Mapping.__module__ = "mmap"
    mmap.mmap = Mapping  # type: ignore[misc, assignment]  # All later imports get this class.


def replace_semaphores() -> None:
    """Replace the semaphores of `multiprocessing`, because isolation denies them.

    The replacements work only within one process. Isolation denies a second process anyway.
    """
    try:
        import _multiprocessing  # type: ignore[import-not-found]  # typeshed leaves out private names
    except ImportError:
        return
    most = _multiprocessing.SemLock.SEM_VALUE_MAX

    class SemLock:
        SEM_VALUE_MAX = most
        handle = 0
        name = None  # A named semaphore would start a second process, which removes the semaphore at the end.

        def __init__(self, kind: int, value: int, maxvalue: int, name: str, unlink: bool) -> None:
            from threading import Condition

            self.kind, self.maxvalue = kind, maxvalue
            self._value, self._held, self._owner = value, 0, 0
            self._changed = Condition()

        def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
            # The thread that holds this kind of lock may acquire the lock again.
            if self.kind == 0 and self._is_mine():
                self._held += 1
                return True
            with self._changed:
                if not self._changed.wait_for(lambda: self._value > 0, timeout if block else 0):
                    return False
                self._value -= 1
                self._held += 1
                self._owner = _thread.get_ident()
                return True

        def release(self) -> None:
            if self.kind == 0 and not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            with self._changed:
                if self._value >= self.maxvalue:
                    raise ValueError("semaphore or lock released too many times")
                self._held -= 1
                if self.kind == 0 and self._held:
                    return
                self._value += 1
                self._changed.notify()

        def __enter__(self) -> bool:
            return self.acquire()

        def __exit__(self, *_: object) -> None:
            self.release()

        def _count(self) -> int:
            return self._held

        def _is_mine(self) -> bool:
            return self._held > 0 and self._owner == _thread.get_ident()

        def _get_value(self) -> int:
            return self._value

        def _is_zero(self) -> bool:
            return self._value == 0

    SemLock.__qualname__, SemLock.__module__ = "SemLock", "_multiprocessing"
    _multiprocessing.SemLock = SemLock


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def main() -> NoReturn:
    """Run a template, and evaluate one module in each forked process."""
    try:
        os.dup2(0, worker.CHANNEL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        # Before this line, errors go to the server, which reports why an interpreter does not start.
        os.dup2(1, 2)
        sys.modules["__main__"] = type(sys)("__main__")  # Candidates see this empty module as `__main__`.
        _, *fields = worker.receive()
        try:
            parent = Parent(fields)
        except (ImportError, OSError) as error:
            worker.send("unable", str(error))
        else:
            worker.evaluate(parent.serve(), parent.module)
    except MemoryError:
        os._exit(worker.OUT_OF_MEMORY)
    finally:
        os._exit(1)  # Do not run exit handlers of a candidate.
