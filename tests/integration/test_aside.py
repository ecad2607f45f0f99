"""Work in a thread or in another process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from adacoder import programs
from adacoder.aside import BrokenError, aside, in_a_process
from adacoder.domain import TargetError
from adacoder.source.examples import examples


def runs(pid: int) -> bool:
    """Return True if the process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def refuse(reason: str) -> None:
    raise TargetError(reason)


async def test_a_thread_does_it_where_nothing_else_is_said() -> None:
    assert await aside(os.getpid) == os.getpid()
    assert await aside(threading.get_ident) != threading.get_ident()
    with pytest.raises(TargetError, match="not this"):
        await aside(refuse, "not this")


async def test_a_process_does_it() -> None:
    async with in_a_process():
        first = await aside(os.getpid)
        assert first != os.getpid()
        assert await aside(int, "12") == 12
        assert await aside(os.getpid) == first, "the same process, whose caches stay"
    assert not runs(first)


async def test_what_it_raises_is_raised_here() -> None:
    async with in_a_process():
        with pytest.raises(TypeError, match="NoneType") as raised:
            await aside(cast("Any", examples), None, 0, "f")
        assert any("examples.py" in note for note in raised.value.__notes__), "where it was raised can be seen"
        assert await aside(int, "12") == 12


async def test_all_that_begins_in_the_block_has_the_process() -> None:
    async def pid() -> int:
        return await aside(os.getpid)

    async with in_a_process():
        first, second = await asyncio.gather(asyncio.create_task(pid()), asyncio.create_task(pid()))
    assert first == second != os.getpid()
    assert await pid() == os.getpid()


async def read_by_another(pipe: Path) -> int:
    """Start a process that reads a pipe. Return the other end of the pipe."""
    async with asyncio.timeout(20):
        while True:
            with suppress(OSError):
                return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            await asyncio.sleep(0.01)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


async def test_cancelling_stops_the_work(pipe: Path) -> None:
    async with in_a_process():
        first = await aside(os.getpid)
        working = asyncio.create_task(aside(Path.read_bytes, pipe))
        waiting = asyncio.create_task(aside(os.getpid))
        end = await read_by_another(pipe)
        assert runs(first)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert not runs(first)
        assert await waiting != first, "whoever waited is served by another process"
    os.close(end)


async def test_who_only_waits_stops_nobody(pipe: Path) -> None:
    async with in_a_process():
        first = await aside(os.getpid)
        working = asyncio.create_task(aside(Path.read_bytes, pipe))
        waiting = asyncio.create_task(aside(os.getpid))
        end = await read_by_another(pipe)
        waiting.cancel()
        os.close(end)
        await asyncio.gather(working, waiting, return_exceptions=True)
        assert await aside(os.getpid) == first


async def test_cancelling_while_it_starts_leaves_nothing() -> None:
    async with in_a_process():
        starting = asyncio.create_task(aside(os.getpid))
        await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert await aside(int, "12") == 12


async def test_a_process_that_dies_is_told_of_and_replaced() -> None:
    async with in_a_process():
        with pytest.raises(BrokenError, match="_exit"):
            await aside(os._exit, 1)
        assert await aside(int, "12") == 12


async def test_it_ends_with_who_asks() -> None:
    """The child ends even if its parent is killed, and so cannot end it."""
    program = (
        "import asyncio, os\n"
        "from adacoder.aside import aside, in_a_process\n"
        "async def main():\n"
        "    async with in_a_process():\n"
        "        print(await aside(os.getpid), flush=True)\n"
        "        await asyncio.sleep(3600)\n"
        "asyncio.run(main())\n"
    )
    asking = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    assert asking.stdout is not None
    pid = int(await asking.stdout.readline())
    assert runs(pid)
    asking.send_signal(signal.SIGKILL)
    await asking.wait()
    async with asyncio.timeout(20):
        while runs(pid):  # noqa: ASYNC110  # it is not our child
            await asyncio.sleep(0.01)


async def test_modules_come_from_where_ours_do_and_from_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    async with in_a_process():
        assert await aside(int, "12") == 12


async def test_what_is_printed_is_no_answer() -> None:
    async with in_a_process():
        assert await aside(print, "hello") is None
        assert await aside(int, "12") == 12


@pytest.mark.parametrize("steps", range(6))
def test_the_loop_ends_although_the_process_is_being_started(steps: int) -> None:
    def run() -> None:
        async def main() -> None:
            async with in_a_process():
                task = asyncio.create_task(aside(int, "12"))
                for _ in range(steps):
                    await asyncio.sleep(0)
            await asyncio.gather(task, return_exceptions=True)

        programs.run(main())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
