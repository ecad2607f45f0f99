"""A loaded model that stays silent: blocked by an abandoned stream, busy, or slow."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle
from typing import Any

import pytest

from adacoder.domain import Ended, Message, Reply
from adacoder.models.errors import BadReply, Stalled, TooSlow
from adacoder.models.served import ServedModel
from adacoder.models.server import Deadlines
from adacoder.models.waiting import Reloaded
from adacoder.models.window import Calibration
from adacoder.replies.repetition import is_repetition
from support.serving import CODE, CODER, KINDS, MESSAGES, ServerKind, ask, every_ollama, model_at, words
from support.standins.ollama import StandIn
from support.standins.server import Body, Ending, Script

QUICK = Deadlines(first=30.0, loaded=0.3, sign=0.1)
"""Short deadlines, after which the user learns why the model is silent."""
LONG = Script("".join(f"x{number} = 1\n" for number in range(50)), token=7, pause=0.01)
SILENT = Script(load=3600)
BUSY = "others use the model"
CANCELLED = "a prompt that was cancelled may still be read"


class Known(Calibration):
    """A calibration with a known speed of the server, `seconds_a_token`."""

    def __init__(self, seconds_a_token: float) -> None:
        super().__init__()
        self._known = seconds_a_token

    @property
    def seconds_a_token(self) -> float:
        return self._known


def unloads(server: StandIn) -> int:
    """Return the number of requests to unload a model."""
    return sum(body["messages"] == [] and body["keep_alive"] == 0 for body in server.requests)


@dataclass
class Window:
    """A model as a window of an editor or another program uses it, and its messages about waits."""

    model: ServedModel
    told: list[str] = field(default_factory=list)

    @property
    def has_mended(self) -> bool:
        return Reloaded.note(CODER) in self.told

    def was_told(self, words: str) -> bool:
        return any(words in text for text in self.told)

    async def give_up(self, messages: tuple[Message, ...] = MESSAGES) -> Reply:
        """Ask for a reply, and close the stream after its first part."""
        return await ask(self.model, messages, enough=lambda _: True)


@asynccontextmanager
async def windows(server: StandIn, count: int, kind: ServerKind, **opened: Any) -> AsyncIterator[list[Window]]:
    """Open `count` windows that share a server. Check that no connection stays open."""
    made: list[Window] = []
    for _ in range(count):
        told: list[str] = []
        model = model_at(server.host, **{"deadlines": QUICK, "kind": kind, "on_wait": told.append, **opened})
        made.append(Window(model, told))
    try:
        yield made
    finally:
        for window in made:
            await window.model.close()
    await server.until_idle()


def once() -> Callable[[], bool]:
    """Only the first abandoned stream blocks the model."""
    answers = iter([True])
    return lambda: next(answers, False)


@every_ollama
@pytest.mark.parametrize("keep_alive", ["10m", "-1"])
async def test_a_wedged_model_is_unloaded_and_asked_again(kind: ServerKind, keep_alive: str) -> None:
    async with (
        kind.stand_in(lambda _: LONG, wedges=once()) as server,
        windows(server, 1, kind, keep_alive=keep_alive) as (window,),
    ):
        assert (await window.give_up()).ended is Ended.STOPPED_EARLY
        reply = await ask(window.model)
        assert (reply.text, reply.ended) == (LONG.text, Ended.STOP)
        assert reply.time is not None
        assert reply.time.queue > QUICK.loaded
        assert window.told.count(Reloaded.note(CODER)) == unloads(server) == 1


@every_ollama
async def test_nothing_is_unloaded_that_answers(kind: ServerKind) -> None:
    async with kind.stand_in(lambda _: LONG) as server, windows(server, 1, kind) as (window,):
        assert (await window.give_up()).ended is Ended.STOPPED_EARLY
        reply = await ask(window.model)
        assert reply.text == LONG.text
        assert not window.has_mended
        assert [event for event in server.events if event.startswith("load")] == ["load 1"]
        assert unloads(server) == 0


async def test_a_model_that_does_not_stay_mends_itself() -> None:
    kind = KINDS["ollama 0.24"]
    async with (
        kind.stand_in(lambda _: LONG, wedges=once()) as server,
        windows(server, 1, kind, keep_alive="0") as (window,),
    ):
        await window.give_up()
        assert (await ask(window.model)).text == LONG.text
        assert (window.has_mended, unloads(server)) == (False, 0)


@every_ollama
async def test_each_of_two_windows_behind_one_wedge_gets_its_reply(kind: ServerKind) -> None:
    async with kind.stand_in(lambda _: LONG, wedges=once()) as server, windows(server, 2, kind) as (one, other):
        await one.give_up()
        replies = await asyncio.gather(ask(one.model), ask(other.model, MESSAGES[1:]))
        assert [reply.text for reply in replies] == [LONG.text] * 2
        assert 1 <= unloads(server) <= 2
        assert max(one.told.count(Reloaded.note(CODER)), other.told.count(Reloaded.note(CODER))) == 1


@every_ollama
async def test_a_model_is_not_unloaded_while_another_program_reads_its_reply(kind: ServerKind) -> None:
    slow = Script("def other(): ...\n" * 8, token=7, pause=0.1)
    async with (
        kind.stand_in(lambda body: slow if len(body["messages"]) == 2 else CODE) as server,
        windows(server, 2, kind) as (one, other),
    ):
        first = asyncio.create_task(ask(one.model))
        await server.until("first byte 1")
        second = await ask(other.model, MESSAGES[1:])
        assert [(await first).text, second.text] == [slow.text, CODE]
        assert other.was_told(BUSY)
        assert unloads(server) == 0


@every_ollama
async def test_a_reply_that_another_program_had_just_before_proves_nothing(kind: ServerKind) -> None:
    """The end of another program's reply shows that the slot is free, although our prompt is still being read.

    This looks like a blocked model, but happens only once.
    """
    before, ours = Script("word " * 4, token=5, pause=0.08), Script(CODE, reading=0.25)

    def answer(body: Body) -> Script:
        return before if len(body["messages"]) == 2 else ours

    async with kind.stand_in(answer) as server, windows(server, 2, kind) as (one, other):
        await ask(one.model)
        first = asyncio.create_task(ask(one.model))
        await server.until("first byte 2")
        assert (await ask(other.model, MESSAGES[1:])).text == CODE
        assert (await first).text == before.text
        assert unloads(server) == 0


@every_ollama
@pytest.mark.parametrize("seconds_a_token", [0.02, 0.0001])
async def test_a_slow_machine_has_the_time_that_it_takes_to_read(kind: ServerKind, seconds_a_token: float) -> None:
    """With a known speed, AdaCoder knows how long reading takes, and can tell a slow model from a blocked one."""
    calibration = Known(seconds_a_token)
    is_slow = seconds_a_token > 0.01
    silent = Script(CODE, reading=2.0) if is_slow else SILENT
    answers = iter([Script(CODE), silent, silent, Script(CODE)])
    async with (
        kind.stand_in(lambda _: next(answers)) as server,
        windows(server, 1, kind, calibration=calibration) as (window,),
    ):
        await ask(window.model)
        assert (await ask(window.model, words(60))).text == CODE
        assert unloads(server) == (0 if is_slow else 1)
        assert len(server.requests) == (2 if is_slow else 5)


async def test_a_prompt_that_was_cancelled_and_is_read_on_is_waited_for() -> None:
    kind = KINDS["ollama 0.24"]
    reading = Script(CODE, reading=1.6)
    async with (
        kind.stand_in(lambda body: reading if len(body["messages"]) == 1 else CODE) as server,
        windows(server, 2, kind, deadlines=Deadlines(first=30.0, loaded=0.8, sign=0.1)) as (one, other),
    ):
        await ask(one.model)
        cancelled = asyncio.create_task(ask(one.model, words(200)))
        await server.until("request 2")
        cancelled.cancel()
        await server.until("disconnected 2")
        assert (await ask(other.model)).text == CODE
        assert other.was_told(CANCELLED)
        assert not other.was_told(BUSY)
        assert unloads(server) == 0


async def test_what_was_read_before_it_was_cancelled_need_not_be_read_again() -> None:
    for name, version in KINDS.items():
        if not name.startswith("ollama"):
            continue
        async with (
            version.stand_in([CODE, *[Script(CODE, reading=1.5)] * 2]) as server,
            windows(server, 1, version, deadlines=Deadlines()) as (window,),
        ):
            await ask(window.model)
            cancelled = asyncio.create_task(ask(window.model, words(200)))
            await server.until("request 2")
            await asyncio.sleep(0.8)
            cancelled.cancel()
            await server.until("disconnected 2")
            reply = await ask(window.model, words(200))
            assert reply.time is not None
            assert reply.time.prompt < 1.2


@every_ollama
async def test_a_model_that_must_be_loaded_has_all_the_time(kind: ServerKind) -> None:
    async with kind.stand_in([Script(CODE, load=1.5)]) as server, windows(server, 1, kind) as (window,):
        assert (await ask(window.model)).text == CODE
        assert window.told[0] == f"loading {CODER}"
        assert len(server.requests) == 1


@every_ollama
async def test_a_model_that_stays_silent_is_told_in_the_end(kind: ServerKind) -> None:
    impatient = Deadlines(first=2.0, loaded=0.3)
    answers = iter([CODE])
    async with (
        kind.stand_in(lambda _: next(answers, SILENT)) as server,
        windows(server, 1, kind, deadlines=impatient) as (window,),
    ):
        await ask(window.model)
        with pytest.raises(Stalled, match=rf"has sent nothing for 2 s: .* `ollama stop {CODER}`"):
            await ask(window.model)
        assert unloads(server) == 1


@pytest.mark.parametrize("status", [200, 404])
async def test_where_nothing_is_told_of_loaded_models_none_is_unloaded(status: int) -> None:
    kind = KINDS["ollama 0.24"]
    entry = f'{{"models": [{{"name": "{CODER}"}}]}}'
    answers = iter([CODE])
    async with (
        kind.stand_in(
            lambda _: next(answers, SILENT), instead={"/api/ps": Script(status=status, body=entry)}
        ) as server,
        windows(server, 1, kind, deadlines=Deadlines(first=1.0, loaded=0.2)) as (window,),
    ):
        await ask(window.model)
        with pytest.raises(Stalled):
            await ask(window.model)
        assert (unloads(server), len(server.requests)) == (0, 2)


ENDLESS = Script("".join(f"x{number} = 1\n" for number in range(800)), token=7)
STOPS = Script("x = 1\n", token=2, ending=Ending.STALL)


async def enough(window: Window) -> None:
    await window.give_up()


async def repetition(window: Window) -> None:
    await ask(window.model, words(500), enough=is_repetition, max_tokens=4096)


async def cancelled(window: Window) -> None:
    begun = asyncio.Event()

    def watch(_: str) -> bool:
        begun.set()
        return False

    asking = asyncio.create_task(ask(window.model, enough=watch))
    await begun.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def refused(error: type[Exception], window: Window) -> None:
    with pytest.raises(error):
        await ask(window.model, max_tokens=4096)


@every_ollama
@pytest.mark.parametrize(
    ("script", "close"),
    [
        pytest.param(LONG, enough, id="enough came"),
        pytest.param(Script("again\n" * 4000, token=7, pause=0.0001), repetition, id="it repeats itself"),
        pytest.param(LONG, cancelled, id="cancelled"),
        pytest.param(ENDLESS, partial(refused, BadReply), id="too long"),
        pytest.param(STOPS, partial(refused, Stalled), id="no next token"),
        pytest.param(replace(LONG, pause=0.3), partial(refused, TooSlow), id="no end"),
    ],
)
async def test_however_a_stream_was_closed_the_next_request_is_answered_soon(
    kind: ServerKind, script: Script, close: Callable[[Window], Awaitable[None]], limit: Callable[..., None]
) -> None:
    """Every closed stream blocks a model of 7 billion parameters, whose speed is not known yet."""
    limit(longest_writing=3, most_characters=4000)
    scripts = iter([script])
    deadlines = Deadlines(loaded=0.3, next=0.6, sign=0.1)
    async with (
        kind.stand_in(lambda _: next(scripts, Script(CODE)), wedges=lambda: True, memory=4_700_000_000) as server,
        windows(server, 1, kind, deadlines=deadlines) as (window,),
    ):
        await close(window)
        assert (await ask(window.model, words(600))).text == CODE
        assert window.told.count(Reloaded.note(CODER)) == unloads(server) == 1


def as_long(least: int, text: str) -> bool:
    return len(text) >= least


@every_ollama
async def test_of_replies_that_are_ended_at_random_none_is_lost(kind: ServerKind, one_in: Callable[[int], int]) -> None:
    chance, which = random.Random(13), cycle([False, False, True, False, False])
    reply = Script("".join(f"x{number} = 1\n" for number in range(10, 40)), token=8, pause=0.003)
    async with (
        kind.stand_in(lambda _: reply, wedges=lambda: next(which)) as server,
        windows(server, 1, kind) as (window,),
    ):
        for _ in range(0, 25, one_in(2)):
            characters = chance.randrange(1, len(reply.text))
            got = await ask(window.model, enough=partial(as_long, characters))
            assert len(got.text) >= characters
            assert reply.text.startswith(got.text)
        assert window.told.count(Reloaded.note(CODER)) == unloads(server) > 0
