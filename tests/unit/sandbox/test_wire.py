"""The connection to a worker accepts only answers to questions."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import Module, Reached
from adacoder.sandbox.child.tracing import MOST_KEPT, TRACE_LIMIT
from adacoder.sandbox.child.worker import pack, unpack
from adacoder.sandbox.program import Program
from adacoder.sandbox.wire import (
    MESSAGE_LIMIT,
    Answer,
    Channel,
    HungUpError,
    Imported,
    ProtocolError,
    Raised,
    RanTest,
    SyntaxBroken,
    WorkerLine,
    channel_pair,
)
from adacoder.traces import Executed, Trace

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
    """The other end of a connection, which the test controls."""

    def __init__(self, stack: ExitStack) -> None:
        ours, theirs = channel_pair()
        self.connection = stack.enter_context(theirs)
        self.file = stack.enter_context(theirs.makefile("rwb", buffering=0))
        self.line = WorkerLine(Channel(stack.enter_context(ours)))

    async def heard(self) -> list[str]:
        """Return the next command."""
        size = int.from_bytes(await asyncio.to_thread(self.file.read, 4), "little")
        return unpack(await asyncio.to_thread(self.file.read, size))

    def say(self, *texts: str) -> None:
        self.connection.sendall(pack(texts))


@pytest.fixture
def worker() -> Iterator[Worker]:
    with ExitStack() as stack:
        yield Worker(stack)


async def asked(worker: Worker) -> tuple[asyncio.Task[Answer], str]:
    """Start a question. Return the question and its nonce."""
    asking = asyncio.create_task(worker.line.run("1 + 1\n"))
    command, nonce, source, by_value = await worker.heard()
    assert (command, source, by_value) == ("run", "1 + 1\n", "")
    return asking, nonce


async def test_an_answer(worker: Worker) -> None:
    asking, nonce = await asked(worker)
    worker.say("done", nonce, "yes", "", "3 4", "3>4", "out", "2\n", "2", "int")
    reached = Reached(frozenset({3, 4}), frozenset({(3, 4)}))
    assert await asking == Answer("out", "2\n", None, "2", "int", True, "", reached)
    asking, other = await asked(worker)
    assert other != nonce
    error = "E: no", "KeyError Exception", "12", "example", "OSError: no"
    worker.say("raised", other, "no", "`f` is `g`", "", "", "out", *error)
    raised = Raised("E: no", frozenset({"KeyError", "Exception"}), 12, "example", "OSError: no")
    assert await asking == Answer("out", raised=raised, ran=False, instead="`f` is `g`")


DONE = ("", "", "", "", "", "2\n", "", "")
"""A valid answer, without its nonce."""


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["done"],
        ["done", "0000000000000000", *DONE],
        ["done", "NONCE"],
        ["done", "NONCE", "2\n"],
        ["done", "NONCE", *DONE, "more"],
        ["passed", "NONCE", *DONE],
        ["loaded", "NONCE", ""],
        ["done", "NONCE", "", "", "-1", *DONE[3:]],
        ["done", "NONCE", "", "", "", "3", *DONE[4:]],
        ["done", "NONCE", "", "", "", "3>4>5", *DONE[4:]],
        ["raised", "NONCE", "", "", "", "", "", "E", "", "-1", "", ""],
        ["raised", "NONCE", "", "", "", "", "", "E", "", "9" * 5000, "", ""],
        ["raised", "NONCE", "", "", "", "", "", "E", "", "²", "", ""],
        ["done", "NONCE\ud800", *DONE],
    ],
)
async def test_what_is_no_answer(texts: list[str], worker: Worker) -> None:
    asking, nonce = await asked(worker)
    worker.say(*(text.replace("NONCE", nonce) for text in texts))
    with pytest.raises(ProtocolError):
        await asking


TESTED = ("t.py::test_a", "failed", "1500", "yes", "E: no", "OSError", "why", "source", "12:/x/mod.py")
"""A valid result of a test, without its nonce."""


async def asked_to_test(
    worker: Worker, found: list[RanTest]
) -> tuple[asyncio.Task[tuple[str, Reached, frozenset[str]]], str]:
    program = replace(PROGRAM, tests=("t.py::test_a",), by_function=True)
    testing = asyncio.create_task(worker.line.test(program, "/x", found.append))
    command, nonce, *fields = await worker.heard()
    assert (command, fields) == ("test", ["/x", "functions", "t.py::test_a"])
    return testing, nonce


async def test_results_of_tests_are_told_before_the_answer(worker: Worker) -> None:
    found: list[RanTest] = []
    testing, nonce = await asked_to_test(worker, found)
    worker.say("tested", nonce, *TESTED)
    worker.say("finished", nonce, "trouble", "3 4", "3>4", "/x/mod.py")
    reached = Reached(frozenset({3, 4}), frozenset({(3, 4)}))
    assert await testing == ("trouble", reached, frozenset({"/x/mod.py"}))
    raised = Raised("E: no", frozenset({"OSError"}), None, "")
    ran = frozenset({("/x/mod.py", 12)})
    assert found == [RanTest("t.py::test_a", "failed", 1.5, True, raised, "why", "source", ran)]


@pytest.mark.parametrize(
    "texts",
    [
        ["finished", "NONCE", "", ""],
        ["finished", "NONCE", "", "x", ""],
        ["finished", "0000000000000000", "", "", ""],
        ["done", "NONCE", ""],
        ["tested", "0000000000000000", *TESTED],
        ["tested", "NONCE", *TESTED[:7]],
        ["tested", "NONCE", "t", "failed", "-1", *TESTED[3:]],
        ["tested", "NONCE", *TESTED[:8], "x:/x/mod.py"],
    ],
)
async def test_what_is_no_result_of_a_test(texts: list[str], worker: Worker) -> None:
    testing, nonce = await asked_to_test(worker, [])
    worker.say(*(text.replace("NONCE", nonce) for text in texts))
    with pytest.raises(ProtocolError):
        await testing


async def test_the_results_of_tests_are_limited_together(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adacoder.sandbox.wire._MOST_OF_TESTS", 3 * (len(TESTED) + sum(map(len, TESTED))))
    found: list[RanTest] = []
    testing, nonce = await asked_to_test(worker, found)
    for _ in range(4):
        worker.say("tested", nonce, *TESTED)
    with pytest.raises(ProtocolError, match="too much"):
        await testing
    assert len(found) == 3


async def asked_to_trace(worker: Worker, found: list[Trace]) -> tuple[asyncio.Task[Answer], str]:
    tracing = asyncio.create_task(worker.line.trace("f(1)\n", tell=found.append))
    command, nonce, *fields = await worker.heard()
    assert (command, fields) == ("trace", ["f(1)\n", ""])
    return tracing, nonce


async def test_a_trace_is_told_before_the_answer(worker: Worker) -> None:
    found: list[Trace] = []
    tracing, nonce = await asked_to_trace(worker, found)
    texts = ["1 3\n\n\nx=1\ny='a=b'", "1 4\n\nKeyError('x')", "1 4\n2\n"]
    worker.say("traced", nonce, "yes", "7", "2", *texts)
    first = Executed(1, 3, (("x", "1"), ("y", "'a=b'")))
    raised, gave = Executed(1, 4, raised="KeyError('x')"), Executed(1, 4, gave="2")
    async with asyncio.timeout(10):
        while not found:  # noqa: ASYNC110  # a callback fills it
            await asyncio.sleep(0.01)
    assert found == [Trace((first, raised), (gave,), 7, ended=True)]
    assert not tracing.done()
    worker.say("done", nonce, *DONE)
    assert await tracing == Answer(shown="2\n")


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["done", "NONCE", *DONE],
        ["traced", "NONCE"],
        ["traced", "NONCE", "yes", "0"],
        ["traced", "0000000000000000", "yes", "0", "0"],
        ["traced", "NONCE", "yes", "-1", "0"],
        ["traced", "NONCE", "yes", "0", "x"],
        ["traced", "NONCE", "yes", "0", "1", "1 3"],
        ["traced", "NONCE", "yes", "0", "1", "1\n\n"],
        ["traced", "NONCE", "yes", "0", "1", "1 x\n\n"],
        ["traced", "NONCE", "yes", "0", "1", *["1 3\n\n"] * (MOST_KEPT + 1)],
        ["traced", "NONCE", "yes", "0", "1", "1 3\n\n\nx=" + "x" * TRACE_LIMIT],
    ],
)
async def test_what_is_no_trace(texts: list[str], worker: Worker) -> None:
    found: list[Trace] = []
    tracing, nonce = await asked_to_trace(worker, found)
    worker.say(*(text.replace("NONCE", nonce) for text in texts))
    with pytest.raises(ProtocolError):
        await tracing
    assert found == []


async def test_a_trace_that_nobody_asked_for_is_no_answer(worker: Worker) -> None:
    asking, nonce = await asked(worker)
    worker.say("traced", nonce, "yes", "0", "0")
    with pytest.raises(ProtocolError):
        await asking


async def test_bytes_between_the_answers_betray_themselves(worker: Worker) -> None:
    asking, nonce = await asked(worker)
    worker.say("done", nonce, *DONE)
    worker.say("done", nonce, *DONE)
    assert await asking == Answer(shown="2\n")
    with pytest.raises(ProtocolError, match="out of turn"):
        await worker.line.end(PROGRAM)


@pytest.mark.parametrize("size", [MESSAGE_LIMIT + 1, 0xFFFFFFFF])
async def test_an_answer_that_is_too_long_is_not_even_read(size: int, worker: Worker) -> None:
    asking, _ = await asked(worker)
    worker.connection.sendall(size.to_bytes(4, "little"))
    with pytest.raises(ProtocolError, match="too long"):
        await asking


@pytest.mark.parametrize("suspects", [(), ("a",)])
async def test_bytes_after_the_last_answer_betray_themselves(suspects: tuple[str, ...], worker: Worker) -> None:
    asking, nonce = await asked(worker)
    worker.say("done", nonce, *DONE)
    assert await asking == Answer(shown="2\n")
    worker.connection.sendall(b"\0" * 4)
    with pytest.raises(ProtocolError):
        await asyncio.wait_for(worker.line.end(replace(PROGRAM, suspects=suspects)), 0.2)


@pytest.mark.parametrize("suspects", [(), ("a",)])
async def test_who_dies_after_the_last_answer_has_not_spoken_out_of_turn(
    suspects: tuple[str, ...], worker: Worker
) -> None:
    asking, nonce = await asked(worker)
    worker.say("done", nonce, *DONE)
    assert await asking == Answer(shown="2\n")
    worker.connection.shutdown(socket.SHUT_RDWR)
    with pytest.raises(HungUpError):
        await worker.line.end(replace(PROGRAM, suspects=suspects))


async def test_the_kernel_says_who_sent_the_first_message(worker: Worker) -> None:
    worker.say("ready")
    await worker.line.ready()
    assert worker.line.channel.sender == os.getpid()


async def test_an_answer_of_too_many_texts_is_no_answer(worker: Worker) -> None:
    asking, _ = await asked(worker)
    worker.connection.sendall((1 << 20).to_bytes(4, "little"))
    flood = asyncio.create_task(asyncio.to_thread(worker.connection.sendall, bytes(1 << 20)))
    with pytest.raises(ProtocolError, match="garbled"):
        await asking
    await flood


async def test_a_worker_that_hangs_up(worker: Worker) -> None:
    asking, nonce = await asked(worker)
    worker.connection.sendall(pack(["done", nonce, "", "2\n", "", ""])[:-1])
    worker.connection.shutdown(socket.SHUT_RDWR)
    with pytest.raises(HungUpError):
        await asking
    with pytest.raises(HungUpError):
        await worker.line.run("x" * 1_000_000)


async def test_only_suspects_can_be_missing(worker: Worker) -> None:
    ending = asyncio.create_task(worker.line.end(PROGRAM))
    _, nonce = await worker.heard()
    worker.say("ended", nonce, "len b c")
    assert await ending == ("b",)


async def test_a_long_program_goes_through_a_narrow_pipe(worker: Worker) -> None:
    overlays = {Path("/x/o.py"): "other"}
    program = Program(PROGRAM.module, "x" * 1_000_000, "f", 1, 1, (), overlays, document=Path("/x/page.md"))
    loading = asyncio.create_task(worker.line.load(program, 3))
    size = int.from_bytes(await asyncio.to_thread(worker.file.read, 4), "little")
    body = b""
    while len(body) < size:
        body += await asyncio.to_thread(worker.file.read, size - len(body))
    command, nonce, *fields = unpack(body)
    assert command == "load"
    assert fields == [
        *("3", "mod", "/x/mod.py", "f", "1", "1", "", "", "", "", "/x/page.md", str(PROGRAM.module.root)),
        *(program.text, "/x/o.py", "other"),
    ]
    worker.say("loaded", nonce, "", "1", "")
    assert await loading == Imported((), reachable=Reached(frozenset({1})))


async def test_what_was_asked_ahead_is_not_asked_again(worker: Worker) -> None:
    await worker.line.ask_ahead(PROGRAM, 3, (), is_only=True)
    command, nonce, *_ = await worker.heard()
    assert command == "load"
    loading = asyncio.create_task(worker.line.load(PROGRAM, 3))
    worker.say("loaded", nonce, "", "", "")
    assert await loading == Imported(())


async def test_what_was_too_long_to_be_asked_ahead_is_asked_in_its_turn(worker: Worker) -> None:
    sources = [f"'{number}{'x' * 20_000}'\n" for number in range(4)]
    await worker.line.ask_ahead(PROGRAM, 3, [(source, "") for source in sources], is_only=True)
    _, nonce, *_ = await worker.heard()
    worker.say("loaded", nonce, "", "", "")
    await worker.line.load(PROGRAM, 3)
    for number, source in enumerate(sources):
        running = asyncio.create_task(worker.line.run(source))
        command, nonce, asked, _ = await worker.heard()
        assert (command, asked) == ("run", source)
        worker.say("done", nonce, "yes", "", "", "", str(number), "", "", "")
        assert (await running).printed == str(number)


@pytest.mark.parametrize("sources", [["f(1)\n"] * 9, ["1\n"] * 7_000, ["f(1)\n", f"'{'é' * 150_000}'\n", "f(2)\n"]])
async def test_questions_ahead_do_not_block_a_worker_with_long_answers(worker: Worker, sources: list[str]) -> None:
    await worker.line.ask_runs_ahead([(source, "") for source in sources])
    nonces: list[str] = []

    def answer() -> None:
        stream = worker.connection.makefile("rb")
        for source in sources[:3]:
            size = int.from_bytes(stream.read(4), "little")
            command, nonce, *asked = unpack(stream.read(size))
            assert (command, asked) == ("run", [source, ""])
            nonces.append(nonce)
            worker.say("done", nonce, "yes", "", "", "", "x" * 300_000 if len(nonces) == 1 else source, "", "", "")

    answering = asyncio.create_task(asyncio.to_thread(answer))
    printed = [(await worker.line.run(source)).printed for source in sources[:3]]
    await answering
    assert printed == ["x" * 300_000, *sources[1:3]]
    assert len(set(nonces)) == 3


async def test_a_text_that_does_not_compile_is_sent_again_with_its_statements(worker: Worker) -> None:
    program = Program(PROGRAM.module, "a = 1\nb = (\n2)\n\ndef f():\n    pass\n", "f", 5, 6)
    loading = asyncio.create_task(worker.line.load(program, 3))
    _, nonce, *fields = await worker.heard()
    assert fields[9] == ""
    worker.say("unparsed", nonce)
    _, nonce, *fields = await worker.heard()
    assert fields[9] == "1 2 5"
    worker.say("broken", nonce, "5", "SyntaxError: no")
    assert await loading == SyntaxBroken(5, "SyntaxError: no", in_candidate=True)


async def test_a_channel_that_its_owner_closed_is_hung_up() -> None:
    ours, theirs = channel_pair()
    channel = Channel(ours)
    with theirs:
        await channel.send("heard")
        assert theirs.recv(64) == pack(["heard"])
        ours.close()
        with pytest.raises(HungUpError):
            await channel.send("unheard")
        with pytest.raises(HungUpError):
            await channel.receive()
