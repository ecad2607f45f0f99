"""The line to a worker takes nothing for an answer that nobody asked for."""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import Module
from adacoder.sandbox.program import Program
from adacoder.sandbox.wire import MESSAGE_LIMIT, Answer, HungUpError, Line, ProtocolError, Raised
from adacoder.sandbox.worker import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = Program(Module(Path("/x/mod.py"), "mod", Path("/x")), "text", "f", 1, 1, ("a", "b"))


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=40), max_size=8))
def test_a_message_comes_back_as_it_was(texts: list[str]) -> None:
    packed = pack(texts)
    assert int.from_bytes(packed[:4], "little") == len(packed) - 4
    assert unpack(packed[4:]) == texts


@given(st.binary(max_size=60))
def test_garbage_is_refused_or_is_a_message(body: bytes) -> None:
    try:
        texts = unpack(body)
    except ValueError:
        return
    assert pack(texts)[4:] == body


class Worker:
    """The other end of a line, in the hands of the test."""

    def __init__(self, stack: ExitStack) -> None:
        commands, to_worker = os.pipe()
        from_worker, results = os.pipe()
        for descriptor in (to_worker, from_worker):
            os.set_blocking(descriptor, False)
        self.commands = stack.enter_context(FileIO(commands, "rb"))
        self.results = stack.enter_context(FileIO(results, "wb"))
        ours = stack.enter_context(FileIO(to_worker, "wb")), stack.enter_context(FileIO(from_worker, "rb"))
        self.line = Line(*ours)

    async def heard(self) -> list[str]:
        """The next command."""
        size = int.from_bytes(await asyncio.to_thread(self.commands.read, 4), "little")
        return unpack(await asyncio.to_thread(self.commands.read, size))

    def say(self, *texts: str) -> None:
        self.results.write(pack(texts))


@pytest.fixture
def worker() -> Iterator[Worker]:
    with ExitStack() as stack:
        yield Worker(stack)


async def asked(worker: Worker) -> tuple[asyncio.Task[Answer], str]:
    """A question that waits for its answer, and its nonce."""
    asking = asyncio.create_task(worker.line.run("1 + 1\n"))
    command, nonce, source = await worker.heard()
    assert (command, source) == ("run", "1 + 1\n")
    return asking, nonce


async def test_an_answer(worker: Worker) -> None:
    asking, nonce = await asked(worker)
    worker.say("done", nonce, "2\n")
    assert await asking == Answer("2\n")
    asking, other = await asked(worker)
    assert other != nonce
    worker.say("raised", other, "out", "E: no", "OSError Exception", "12", "example")
    raised = Raised("E: no", frozenset({"OSError", "Exception"}), 12, "example")
    assert await asking == Answer("out", raised)


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["done"],
        ["done", "0000000000000000", "2\n"],
        ["done", "NONCE"],
        ["done", "NONCE", "2\n", "more"],
        ["passed", "NONCE", "2\n"],
        ["loaded", "NONCE", ""],
        ["raised", "NONCE", "", "E", "", "-1", ""],
        ["raised", "NONCE", "", "E", "", "9" * 5000, ""],
        ["raised", "NONCE", "", "E", "", "²", ""],
        ["done", "NONCE\ud800", "2\n"],
    ],
)
async def test_what_is_no_answer(texts: list[str], worker: Worker) -> None:
    asking, nonce = await asked(worker)
    worker.say(*(text.replace("NONCE", nonce) for text in texts))
    with pytest.raises(ProtocolError):
        await asking


async def test_bytes_between_the_answers_betray_themselves(worker: Worker) -> None:
    asking, nonce = await asked(worker)
    worker.say("done", nonce, "2\n")
    worker.say("done", nonce, "2\n")
    assert await asking == Answer("2\n")
    with pytest.raises(ProtocolError, match="out of turn"):
        await worker.line.end(PROGRAM)


@pytest.mark.parametrize("size", [MESSAGE_LIMIT + 1, 0xFFFFFFFF])
async def test_an_answer_that_is_too_long_is_not_even_read(size: int, worker: Worker) -> None:
    asking, _ = await asked(worker)
    worker.results.write(size.to_bytes(4, "little"))
    with pytest.raises(ProtocolError, match="too long"):
        await asking


async def test_a_worker_that_hangs_up(worker: Worker) -> None:
    asking, nonce = await asked(worker)
    worker.results.write(pack(["done", nonce, "2\n"])[:-1])
    worker.results.close()
    with pytest.raises(HungUpError):
        await asking
    worker.commands.close()
    with pytest.raises(HungUpError):
        await worker.line.run("x" * 1_000_000)


async def test_only_suspects_can_be_missing(worker: Worker) -> None:
    ending = asyncio.create_task(worker.line.end(PROGRAM))
    _, nonce = await worker.heard()
    worker.say("ended", nonce, "len b c")
    assert await ending == ("b",)


async def test_a_long_program_goes_through_a_narrow_pipe(worker: Worker) -> None:
    program = Program(PROGRAM.module, "x" * 1_000_000, "f", 1, 1, (), {Path("/x/o.py"): "other"})
    loading = asyncio.create_task(worker.line.load(program, "/x"))
    size = int.from_bytes(await asyncio.to_thread(worker.commands.read, 4), "little")
    body = b""
    while len(body) < size:
        body += await asyncio.to_thread(worker.commands.read, size - len(body))
    command, nonce, *fields = unpack(body)
    assert command == "load"
    assert fields == [
        "mod", "/x/mod.py", "/x", "/x", "f", "1", "1", "", program.text, "/x/o.py", "other",
    ]  # fmt: skip
    worker.say("loaded", nonce, "")
    assert not (await loading).missing  # type: ignore[union-attr]  # it was loaded
