"""Failures of requests to any server: the user's message, the events at the server, and a working next request."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from adacoder.models.errors import (
    OLLAMA,
    BadReply,
    Busy,
    ContextOverflow,
    Denied,
    Loading,
    ModelError,
    NotRunning,
    OutOfMemory,
    Stalled,
)
from adacoder.models.server import Deadlines
from support.serving import CODE, CODER, ServerKind, ask, every_kind, fate, model_at, sentence, talking
from support.standins.server import Ending, Script

pytestmark = every_kind

STREAMED = ["request", "first byte"]
AT_ONCE = Deadlines(busy=())


class Trouble(NamedTuple):
    """A failure, and its consequences."""

    script: Script
    error: type[ModelError]
    says: str
    """A part of the message. KIND and KEY stand for the server's names."""
    events: list[str]
    """The stand-in's events. Servers differ in `first byte`."""


TROUBLE = {
    "a stream that ends without a final part": Trouble(
        Script("def f", ending=Ending.EOF),
        BadReply,
        "The server at HOST gave no usable reply (the reply broke off before it was done): try again,"
        " and see its log if it happens again.",
        [*STREAMED, "eof"],
    ),
    "a stream that ends before its first token": Trouble(
        Script("", ending=Ending.EOF), BadReply, "(the reply broke off before it was done)", ["request", "eof"]
    ),
    "an error in the middle of a stream": Trouble(
        Script("def f", ending=Ending.ERROR),
        BadReply,
        "(an error was encountered while running the model: unexpected EOF)",
        [*STREAMED, "error"],
    ),
    "an error instead of the first token": Trouble(
        Script("", ending=Ending.ERROR, error="llama runner process no longer running"),
        BadReply,
        "(llama runner process no longer running)",
        [*STREAMED, "error"],
    ),
    "a connection that is closed in the middle": Trouble(
        Script("def f", ending=Ending.BREAK), BadReply, "(the connection broke off)", [*STREAMED, "break"]
    ),
    "a connection that is closed before anything came": Trouble(
        Script("", ending=Ending.BREAK), BadReply, "(the connection broke off)", ["request", "break"]
    ),
    "a connection that is reset": Trouble(
        Script("def f", ending=Ending.RESET), BadReply, "(the connection broke off)", [*STREAMED, "reset"]
    ),
    "a connection that is reset before anything came": Trouble(
        Script("", ending=Ending.RESET), BadReply, "(the connection broke off)", ["request", "reset"]
    ),
    "a page instead of a stream": Trouble(
        Script(body="<html>Welcome to the router</html>"),
        BadReply,
        "(it does not answer like an KIND server)",
        ["request", "refused"],
    ),
    "an error without words": Trouble(Script(status=500, body=""), BadReply, "(HTTP 500)", ["request", "refused"]),
    "an error of several lines": Trouble(
        Script(status=500, error="one\n  two\n" + "x" * 400),
        BadReply,
        f"(one two {'x' * 192}…)",
        ["request", "refused"],
    ),
    "a redirect": Trouble(
        Script(status=308, body=""),
        BadReply,
        "(it redirects to another address: name that address instead)",
        ["request", "refused"],
    ),
    "a request that was given up in the queue": Trouble(
        Script(status=499, error="request canceled"), BadReply, "(request canceled)", ["request", "refused"]
    ),
    "too many requests": Trouble(
        Script(status=503, error="server busy, please try again.  maximum pending requests exceeded"),
        Busy,
        "The server at HOST has too many requests waiting: try again later.",
        ["request", "refused"],
    ),
    "a rate limit": Trouble(
        Script(status=429, error="rate limit"), Busy, "has too many requests waiting", ["request", "refused"]
    ),
    "no credentials": Trouble(
        Script(status=401, error="unauthorized"),
        Denied,
        "The server at HOST denies access (HTTP 401): set KEY,",
        ["request", "refused"],
    ),
    "a server that denies without words": Trouble(
        Script(status=403, body=""), Denied, "denies access (HTTP 403)", ["request", "refused"]
    ),
    "a server further on that does not answer": Trouble(
        Script(status=502, error="unreachable"), BadReply, "(unreachable)", ["request", "refused"]
    ),
    "a model larger than the memory": Trouble(
        Script(status=500, error="model requires more system memory (5.6 GiB) than is available (3.9 GiB)"),
        OutOfMemory,
        f"There is not enough memory to run '{CODER}' (model requires more system memory (5.6 GiB)"
        " than is available (3.9 GiB)): choose a smaller model with --model, or lower --context-tokens.",
        ["request", "refused"],
    ),
    "a model that was killed": Trouble(
        Script("def", ending=Ending.ERROR, error="llama runner process has terminated: signal: killed"),
        OutOfMemory,
        "choose a smaller model with --model",
        [*STREAMED, "error"],
    ),
    "a prompt that it refuses as too long": Trouble(
        Script(status=400, error="the input length exceeds the context length"),
        ContextOverflow,
        f"The prompt does not fit into the context window of '{CODER}': raise --context-tokens,"
        " or choose a model with a larger window.",
        ["request", "refused"],
    ),
    "a prompt that turns out to be too long in the stream": Trouble(
        Script("def", ending=Ending.ERROR, error="context size has been exceeded"),
        ContextOverflow,
        "raise --context-tokens",
        [*STREAMED, "error"],
    ),
}


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE.keys())
async def test_trouble_is_told_in_a_sentence(kind: ServerKind, trouble: Trouble) -> None:
    async with talking(kind, [trouble.script, CODE], deadlines=AT_ONCE) as (server, model):
        with pytest.raises(ModelError) as caught:
            await ask(model)
        assert type(caught.value) is trouble.error
        says = trouble.says.replace("KIND", kind.kind.name).replace("KEY", kind.kind.key)
        assert says in sentence(caught.value, server)
        saw = fate(server, 1)
        assert saw == trouble.events or [what for what in saw if what != "first byte"] == trouble.events
        assert len(server.requests) == 1
        await model.close()
        await server.until_idle()
        assert (await ask(model)).text == CODE
        assert fate(server, 2) == ["request", "first byte", "done"]


async def test_trouble_in_the_middle_leaves_no_connection_behind(kind: ServerKind) -> None:
    """After a failure, no connection stays open, even before the model is closed. A client may keep one for reuse."""
    broken = [Script("def f", ending=ending) for ending in (Ending.EOF, Ending.ERROR, Ending.BREAK, Ending.RESET)]
    async with talking(kind, [*broken * 3, CODE]) as (server, model):
        for _ in broken * 3:
            with pytest.raises(BadReply):
                await ask(model)
        assert (await ask(model)).text == CODE
        assert server.connections <= 2


SILENCE = {
    "before the first token": (Script("def", load=3600), 0.4, ["request", "disconnected"]),
    "between two tokens": (Script("def", ending=Ending.STALL), 0.3, ["request", "first byte", "disconnected"]),
}


@pytest.mark.parametrize(("script", "seconds", "events"), SILENCE.values(), ids=SILENCE.keys())
async def test_silence(kind: ServerKind, script: Script, seconds: float, events: list[str]) -> None:
    # Ask the patient model first, so that the impatient one need not wait for an import or a connection.
    async with talking(kind, [CODE, script, CODE]) as (server, patient):
        await ask(patient)
        first = 0.4 if events[1] == "disconnected" else 10.0
        model = model_at(server.host, kind=kind, deadlines=Deadlines(first=first, next=0.3))
        await model.window()
        with pytest.raises(Stalled) as caught:
            await ask(model)
        option = "--first-token-timeout" if events[1] == "disconnected" else "--token-timeout"
        unload = f" unload the model with `ollama stop {CODER}` if it is loaded and not in use,"
        assert sentence(caught.value, server) == (
            f"The server at HOST has sent nothing for {seconds:g} s: {kind.kind.look},{unload * (kind.kind is OLLAMA)}"
            f" wait longer with {option}, or choose a smaller model with --model."
        )
        await server.until("disconnected 2")
        assert fate(server, 2) == events
        await model.close()
        assert (await ask(patient)).text == CODE


async def test_silence_before_the_model_is_asked(kind: ServerKind) -> None:
    silent = {"instead": {kind.facts_path: Script(load=3600)}}
    async with talking(kind, [CODE], stand_in=silent, deadlines=Deadlines(next=0.4)) as (server, model):
        with pytest.raises(Stalled, match=r"has sent nothing for 0\.4 s:"):
            await ask(model)
        await server.until_idle()
        assert server.requests == []


async def test_a_server_that_stays_busy(kind: ServerKind) -> None:
    busy = Script(status=503, error="server busy, please try again.  maximum pending requests exceeded")
    async with talking(kind, [busy] * 3 + [CODE], deadlines=Deadlines(busy=(0.01, 0.01))) as (server, model):
        with pytest.raises(Busy) as caught:
            await ask(model)
        assert sentence(caught.value, server) == ("The server at HOST has too many requests waiting: try again later.")
        assert [fate(server, number) for number in (1, 2, 3)] == [["request", "refused"]] * 3
        assert (await ask(model)).text == CODE


async def test_no_server(kind: ServerKind) -> None:
    async with kind.stand_in([CODE]) as server:
        host = server.host
        model = model_at(host, kind=kind)
        assert (await ask(model)).text == CODE
        await model.close()
    with pytest.raises(NotRunning) as caught:
        await ask(model)
    assert sentence(caught.value, host) == f"No {kind.kind.name} server answers at HOST: {kind.kind.start}."
    await model.close()


@pytest.mark.parametrize("ending", [Ending.BREAK, Ending.RESET])
async def test_a_connection_that_breaks_off_before_the_model_is_asked(kind: ServerKind, ending: Ending) -> None:
    broken = {"instead": {kind.facts_path: Script(ending=ending)}}
    async with talking(kind, [CODE], stand_in=broken) as (server, model):
        with pytest.raises(BadReply, match=r"\(the connection broke off\)"):
            await ask(model)
        await server.until_idle()
        server.instead = {}
        assert (await ask(model)).text == CODE


DEEP = "[" * 200_000


@pytest.mark.parametrize("body", ["<html>", "[]", "[1]", '""', "7", DEEP], ids=lambda body: body[:6])
async def test_an_answer_of_another_shape(kind: ServerKind, body: str) -> None:
    other = {"instead": {kind.facts_path: Script(body=body)}}
    async with talking(kind, [CODE], stand_in=other) as (server, model):
        with pytest.raises(BadReply) as caught:
            await ask(model)
        assert "gave no usable reply" in sentence(caught.value, server)
        assert server.requests == []


LOADING = Script(status=503, error="Loading model")


async def test_a_server_that_still_loads_is_waited_for(kind: ServerKind) -> None:
    heard: list[str] = []
    soon = Deadlines(busy=(), sign=0.01)
    async with talking(kind, [LOADING, LOADING, CODE], deadlines=soon, on_wait=heard.append) as (server, model):
        assert (await ask(model)).text == CODE
        assert [fate(server, number) for number in (1, 2)] == [["request", "refused"]] * 2
        assert f"loading {CODER}" in heard


async def test_a_server_that_loads_for_too_long(kind: ServerKind) -> None:
    async with talking(kind, [LOADING, LOADING, CODE], deadlines=Deadlines(first=1.0, busy=(), sign=1.0)) as (
        server,
        model,
    ):
        with pytest.raises(Loading) as caught:
            await ask(model)
        assert sentence(caught.value, server) == ("The server at HOST is still loading its model: try again later.")
        assert (await ask(model)).text == CODE


async def test_a_reply_that_does_not_end(kind: ServerKind, limit: Callable[..., None]) -> None:
    limit(most_characters=100)
    async with talking(kind, [Script("x" * 1000, token=10), CODE]) as (server, model):
        with pytest.raises(BadReply, match=r"\(the reply does not end\)"):
            await ask(model)
        await server.until("disconnected 1")
        assert (await ask(model)).text == CODE
