"""No evaluation sees another one, harms it, or leaves anything for it.

The other one may be prepared, running or later. At level `none`, where nothing separates evaluations, the same attempts
must succeed.
"""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from adacoder.domain import FailureKind, Level
from adversarial.beside import neighbours
from support.evaluating import until_called

pytestmark = pytest.mark.isolation
CALLED = "LIBC.prctl(15, b'beacon', 0, 0, 0)\n"
"""Code that renames the process to "beacon", so that a test sees when the evaluation has come this far."""

POISONS = {
    "modes": "return each(lambda place: os.chmod(place, 0o711))",
    "modes of what a link leads to": """
        for number, place in enumerate(near()):
            os.symlink(os.path.abspath(place), f"link{number}")
        return each(lambda place: os.chmod(place, 0o711), *os.listdir("."))
    """,
    "modes by system call": "return each(lambda place: call(CHMOD, os.fsencode(place), 0o711))",
    "modes by a folder's descriptor": """
        here = os.open(".", os.O_RDONLY)
        return each(lambda place: call(FCHMODAT, here, os.fsencode(place), 0o711))
    """,
    "modes by a new system call": "return each(lambda place: call(FCHMODAT2, -100, os.fsencode(place), 0o711, 0))",
    "modes of open folders": "return each(lambda place: os.fchmod(descriptor(place), 0o711))",
    "modes by a path to a descriptor": """
        held = [os.open(place, os.O_PATH) for place in near()[:40]]
        return each(lambda number: os.chmod(f"/proc/self/fd/{number}", 0o711), *held)
    """,
    "modes of nothing but a descriptor": """
        held = [os.open(place, os.O_PATH) for place in near()[:40]]
        return each(lambda number: call(FCHMODAT2, number, b"", 0o711, 0x1000), *held)
    """,
    "the sticky bit": "return each(lambda place: os.chmod(place, 0o1777))",
    "times": "return each(lambda place: os.utime(place, (12345, 12345)))",
    "times by a folder's descriptor": """
        here, times = os.open(".", os.O_RDONLY), struct.pack("4l", 12345, 0, 12345, 0)
        return each(lambda place: call(UTIMENSAT, here, os.fsencode(place), times, 0))
    """,
    "times of nothing but a descriptor": """
        held, times = [os.open(place, os.O_PATH) for place in near()[:40]], struct.pack("4l", 12345, 0, 12345, 0)
        return each(lambda number: call(UTIMENSAT, number, b"", times, 0x1000), *held)
    """,
    "attributes": "return each(lambda place: os.setxattr(place, 'user.left', b'1'))",
    "attributes by system call": """
        return each(lambda place: call(SETXATTR, os.fsencode(place), b"user.left", b"1", 1, 0))
    """,
    "attributes of open folders": "return each(lambda place: os.setxattr(descriptor(place), 'user.left', b'1'))",
    "lists of who may do what": """
        entries = [(1, 7, -1), (4, 7, -1), (16, 7, -1), (2, 7, 12), (32, 0, -1)]
        entries = b"".join(struct.pack("<HHi", *entry) for entry in sorted(entries))
        acl = struct.pack("<I", 2) + entries
        names = ["system.posix_acl_access", "system.posix_acl_default"]
        return sum(each(lambda place: os.setxattr(place, name, acl)) for name in names)
    """,
    "owners": "return each(lambda place: os.chown(place, os.getuid(), os.getgid()))",
    "flags": """
        no_dump = struct.pack("l", 0x40)
        return each(lambda place: fcntl.ioctl(descriptor(place), 0x40086602, no_dump))
    """,
    "flags by a new system call": """
        no_dump = struct.pack("Q4I", 0x80, 0, 0, 0, 0)
        return each(lambda place: call(FILE_SETATTR, -100, os.fsencode(place), no_dump, 24, 0))
    """,
    "new files": "return each(lambda place: open(place + '/left', 'w').close())",
    "new folders": "return each(lambda place: os.mkdir(place + '/left'))",
    "links": "return each(lambda place: os.symlink('/', place + '/left'))",
    "folders that are gone": "return each(os.rmdir)",
    "folders elsewhere": "return each(lambda place: os.rename(place, 'moved'))",
}
"""Actions on all folders nearby, by name."""
SELDOM = (
    *("modes by system call", "modes by a new system call", "modes of nothing but a descriptor"),
    *("attributes", "attributes by system call", "attributes of open folders", "lists of who may do what"),
    *("flags", "flags by a new system call", "folders that are gone", "folders elsewhere"),
)
"""Actions that some machines or file systems do not allow, or that need other folders."""
OWN_NAMES = 5
"""Number of names in the parent of the evaluation's folder. The parent is the evaluation's own, and is cleared
afterwards.
"""


@pytest.mark.parametrize("name", POISONS)
async def test_what_is_done_to_folders_reaches_no_other_evaluation(name: str, level: Level, tmp_path: Path) -> None:
    async with neighbours(tmp_path, level) as beside:
        before = await beside.told("return look()")
        slow = f"own = os.getcwd()\n{CALLED}time.sleep(0.5)\nos.chdir(own)\nreturn look()"
        runs = asyncio.create_task(beside.told(slow))
        await until_called("beacon")
        changed = await beside.told(POISONS[name])
        assert int(changed) <= OWN_NAMES
        assert await runs == before
        for _ in range(5):
            assert await beside.told("return look()") == before


@pytest.mark.parametrize("name", [name for name in POISONS if name not in SELDOM])
async def test_what_is_done_to_folders_is_done_where_nothing_keeps_them_apart(name: str, tmp_path: Path) -> None:
    async with neighbours(tmp_path, Level.NONE) as beside:
        assert int(await beside.told(POISONS[name])) >= 1


SIGHTS = {
    "its files by any path": "return [place for place in near() if os.path.exists(place + '/beacon')]",
    "a list of folders": """
        found = []
        for place in near():
            try:
                found += [name for name in os.listdir(place) if len(name) == 32]
            except OSError:
                pass
        return [name for name in found if name != os.path.basename(os.getcwd())]
    """,
    "its name among processes": """
        found = []
        for pid in processes():
            try:
                with open(f"/proc/{pid}/comm") as file:
                    found += [pid] if file.read() == "beacon\\n" and pid != os.getpid() else []
            except OSError:
                pass
        return found
    """,
    "its folder": """
        found = []
        for pid in processes():
            try:
                found.append(os.readlink(f"/proc/{pid}/cwd"))
            except OSError:
                pass
        return [path for path in found if path != os.getcwd() and "beacon" in str(os.listdir(path))]
    """,
    "what it does": """
        try:
            watch = LIBC.inotify_init()
            assert watch >= 0
            for place in near():
                LIBC.inotify_add_watch(watch, os.fsencode(place), 0x100)
            return os.read(watch, 4096)
        except (OSError, AssertionError):
            return []
    """,
}
BEACON = """
    open("beacon", "w").close()
    os.mkdir("inner")
    open("inner/beacon", "w").close()
    LIBC.prctl(15, b"beacon", 0, 0, 0)
    time.sleep(2)
    return 2
"""


@pytest.mark.parametrize("name", SIGHTS)
async def test_who_runs_beside_it_is_not_seen(name: str, level: Level, tmp_path: Path) -> None:
    async with neighbours(tmp_path, level) as beside:
        await beside.told("return 2")
        runs = asyncio.create_task(beside.told(BEACON))
        await until_called("beacon")
        assert await beside.told(SIGHTS[name]) == "[]"
        assert await runs == "2"


@pytest.mark.parametrize("name", ["its name among processes", "a list of folders"])
async def test_who_runs_beside_it_can_be_seen_where_nothing_keeps_them_apart(name: str, tmp_path: Path) -> None:
    async with neighbours(tmp_path, Level.NONE) as beside:
        await beside.told("return 2")
        runs = asyncio.create_task(beside.told(BEACON))
        await until_called("beacon")
        assert await beside.told(SIGHTS[name]) != "[]"
        assert await runs == "2"


FLOODS = {
    "files": "for number in range(1 << 30): open(str(number), 'w').close()",
    "folders": "for number in range(1 << 30): os.mkdir(str(number))",
    "symbolic links": "for number in range(1 << 30): os.symlink('/', str(number))",
    "hard links": "open('own', 'w').close()\nfor number in range(1 << 30): os.link('own', str(number))",
    "long names": "for number in range(1 << 30): open(f'{number:0>250}', 'w').close()",
    "files in many folders": """
        for number in range(1 << 30):
            os.makedirs(f"{number}/a/b/c")
            open(f"{number}/a/b/c/file", "w").close()
    """,
    "one folder in another": "for _ in range(1 << 30):\n    os.mkdir('d')\n    os.chdir('d')",
    "the folder above": "for number in range(1 << 30): open(f'../{number}', 'w').close()",
}


SLOW = "one folder in another"
"""The flood that becomes slower the deeper it is."""


@pytest.mark.parametrize("name", FLOODS)
async def test_a_flood_ends_who_let_it_loose_and_nobody_else(name: str, level: Level, tmp_path: Path) -> None:
    async with neighbours(tmp_path, level) as beside:
        writes = "for number in range(60):\n    open(str(number), 'w').write('own')\n    time.sleep(0.02)\n"
        honest = f"{CALLED}{writes}return 2"
        assert await beside.told("return 2") == "2"
        runs = [asyncio.create_task(beside.told(honest))]
        await until_called("beacon")
        failure = (await beside.evaluate(FLOODS[name], 20.0 if name != SLOW else 3.0)).failure
        assert failure is not None
        if name != SLOW or failure.kind is not FailureKind.TIMED_OUT:
            assert failure.kind is FailureKind.KILLED
            assert "wrote more files than an evaluation may" in failure.message
        assert await runs[0] == "2"
        assert await beside.told(honest) == "2"


async def test_files_without_a_name_count_too(tmp_path: Path, level: Level) -> None:
    """On disk, such files count only towards the limits on file sizes and descriptors."""
    flood = """
        held = []
        for number in range(60):
            held.append(open(str(number), "wb"))
            held[-1].write(bytes(2 << 20))
            os.remove(str(number))
        return 2
    """
    write = "open({!r}, 'wb').write(bytes(8 << 20))\n"
    large = write.format("large") + f"{CALLED}time.sleep(0.5)\n" + write.format("more") + "return 2"
    async with neighbours(tmp_path, level) as beside:
        runs = asyncio.create_task(beside.told(large))
        await until_called("beacon")
        verdict = await beside.evaluate(flood)
        assert verdict.failure is not None
        if level is Level.FULL:
            assert verdict.failure.kind is FailureKind.EXCEPTION
            assert "No space left on device" in verdict.failure.message
        assert await runs == "2"
        assert await beside.told(large) == "2"


async def test_who_fills_its_own_folder_leaves_room_for_others(tmp_path: Path, level: Level) -> None:
    fill = """
        try:
            for number in range(99):
                open(str(number), "wb").write(bytes(4 << 20))
        finally:
            time.sleep(1)
    """
    large = f"{CALLED}time.sleep(0.6)\nopen('large', 'wb').write(bytes(8 << 20))\nreturn 2"
    async with neighbours(tmp_path, level) as beside:
        runs = asyncio.create_task(beside.told(large))
        await until_called("beacon")
        failure = (await beside.evaluate(fill)).failure
        assert failure is not None
        assert failure.kind in (FailureKind.EXCEPTION, FailureKind.KILLED)
        assert await runs == "2"


async def test_nobody_closes_a_device_to_others(level: Level, tmp_path: Path) -> None:
    """No evaluation may change root's device nodes. Control: it may open them."""
    ways = (
        "os.chmod('/dev/full', 0o600)",
        "os.fchmod(os.open('/dev/full', os.O_RDONLY), 0o600)",
        "os.fchmod(os.open('/dev/full', os.O_WRONLY), 0o600)",
        "os.utime(os.open('/dev/full', os.O_RDONLY), (1, 1))",
    )
    before = os.stat("/dev/full")  # noqa: PTH116  # a device
    try:
        async with neighbours(tmp_path, level) as beside:
            for way in ways:
                body = f"try:\n    {way}\nexcept OSError as error:\n    return error.errno\nreturn 'done'"
                assert await beside.told(body) in (str(errno.EPERM), str(errno.EACCES))
            assert await beside.told("return len(os.read(os.open('/dev/full', os.O_RDONLY), 2))") == "2"
        after = os.stat("/dev/full")  # noqa: PTH116  # a device
        assert (after.st_mode, after.st_mtime) == (before.st_mode, before.st_mtime)
    finally:
        if os.geteuid() == 0:
            os.chmod("/dev/full", before.st_mode & 0o777)  # noqa: PTH101  # a device
