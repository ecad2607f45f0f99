"""Every way a server can fail, and the one sentence that a user then reads."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from adacoder.domain import AdaCoderError, Message, Reply
from adacoder.models.base import (
    BadHost,
    BadReply,
    Busy,
    ContextOverflow,
    Denied,
    ModelError,
    ModelMissing,
    NoModel,
    NotRunning,
    OutOfMemory,
    Stalled,
)
from adacoder.models.served import Deadlines
from serving import model_at
from standin_ollama import PATIENCE, Ending, Model, Script, StandIn

CODER = "qwen2.5-coder:7b"
QUESTION = (Message("user", "Write f."),)


async def ask(
    host: str | None,
    messages: tuple[Message, ...] = QUESTION,
    *,
    name: str = CODER,
    context_tokens: int = 8192,
    deadlines: Deadlines | None = None,
    stop_early: bool = False,
) -> Reply:
    at_once = replace(deadlines or Deadlines(), busy=())
    model = model_at(host, name, context_tokens=context_tokens, deadlines=at_once)
    try:
        async with asyncio.timeout(PATIENCE):
            return await model.reply(messages, enough=lambda text: stop_early, max_tokens=512)
    finally:
        await model.close()


def sentence(error: BaseException, host: str) -> str:
    """What the error says, with HOST for the stand-in's address; one line that ends as a sentence does."""
    text = str(error)
    assert isinstance(error, AdaCoderError)
    assert re.fullmatch(r"['A-Z].*\.", text), text
    return text.replace(host, "HOST")


TROUBLE = {
    "a stream that ends without a final part": (
        Script("def f", ending=Ending.EOF),
        BadReply,
        (
            "The server at HOST gave no usable reply (the reply broke off before it was done): try again,"
            " and see its log if it happens again."
        ),
    ),
    "a stream that ends before its first part": (
        Script("", ending=Ending.EOF),
        BadReply,
        "(the reply broke off before it was done)",
    ),
    "an error in the middle of a stream": (
        Script("def f", ending=Ending.ERROR),
        BadReply,
        "(an error was encountered while running the model: unexpected EOF)",
    ),
    "a connection that is closed in the middle": (
        Script("def f", ending=Ending.BREAK),
        BadReply,
        "(the connection broke off)",
    ),
    "a connection that is reset": (
        Script("def f", ending=Ending.RESET),
        BadReply,
        "(the connection broke off)",
    ),
    "a page instead of a stream": (
        Script(body="<html>Welcome to the router</html>"),
        BadReply,
        "(it does not speak as an Ollama server does)",
    ),
    "another kind of JSON": (Script(body="[1, 2]\n"), BadReply, "(it does not speak as an Ollama server does)"),
    "a message of another shape": (
        Script(body='{"message": {"content": 3}, "done": false}\n'),
        BadReply,
        "(it does not speak as an Ollama server does)",
    ),
    "a blank line": (Script(body="\n\n"), BadReply, "(it does not speak as an Ollama server does)"),
    "a repeat guard that trips": (
        Script(status=500, error="prediction aborted, token repeat limit reached"),
        BadReply,
        "(prediction aborted, token repeat limit reached)",
    ),
    "an option it does not know how to read": (
        Script(status=500, error='option "num_ctx" must be of type integer'),
        BadReply,
        '(option "num_ctx" must be of type integer)',
    ),
    "an error without words": (Script(status=500, body=""), BadReply, "(HTTP 500)"),
    "an error of several lines": (
        Script(status=500, error="one\n  two\n" + "x" * 400),
        BadReply,
        f"(one two {'x' * 192}…)",
    ),
    "a redirect": (
        Script(status=308, body=""),
        BadReply,
        "(it only names another address; name that one instead)",
    ),
    "too many requests": (
        Script(status=503, error="server busy, please try again.  maximum pending requests exceeded"),
        Busy,
        "The server at HOST has too many requests waiting: try again when it has worked them off.",
    ),
    "a rate limit": (Script(status=429, error="rate limit"), Busy, "has too many requests waiting"),
    "no credentials": (
        Script(status=401, error="unauthorized"),
        Denied,
        "The server at HOST denies access (HTTP 401): set OLLAMA_API_KEY,",
    ),
    "a Host header it does not like": (Script(status=403, body=""), Denied, "denies access (HTTP 403)"),
    "a model larger than the memory": (
        Script(status=500, error="model requires more system memory (5.6 GiB) than is available (3.9 GiB)"),
        OutOfMemory,
        (
            f"There is not enough memory to run '{CODER}' (model requires more system memory (5.6 GiB)"
            " than is available (3.9 GiB)): choose a smaller model with --model,"
            " or lower adacoder.contextTokens."
        ),
    ),
    "a runner that was killed": (
        Script("def", ending=Ending.ERROR, error="llama runner process has terminated: signal: killed"),
        OutOfMemory,
        "choose a smaller model with --model",
    ),
    "a prompt that it refuses as too long": (
        Script(status=400, error="the input length exceeds the context length"),
        ContextOverflow,
        (
            f"The prompt does not fit into the context window of '{CODER}': raise adacoder.contextTokens,"
            " or choose a model with a larger window."
        ),
    ),
    "a prompt that the engine below refuses as too long": (
        Script(status=400, error='{"error":{"code":400,"type":"exceed_context_size_error"}}'),
        ContextOverflow,
        "raise adacoder.contextTokens",
    ),
}


@pytest.mark.parametrize(("script", "kind", "says"), TROUBLE.values(), ids=TROUBLE.keys())
async def test_trouble_is_told_in_a_sentence(script: Script, kind: type[ModelError], says: str) -> None:
    async with StandIn([script, "def f(): ..."]) as server:
        with pytest.raises(ModelError) as caught:
            await ask(server.host)
        assert type(caught.value) is kind
        assert says in sentence(caught.value, server.host)
        await server.until_idle()
        assert (await ask(server.host)).text == "def f(): ..."
        await server.until_idle()


async def test_no_server() -> None:
    async with StandIn(["def f(): ..."]) as server:
        host = server.host
        assert (await ask(host)).text == "def f(): ..."
    with pytest.raises(NotRunning) as caught:
        await ask(host)
    assert sentence(caught.value, host) == (
        "No Ollama server answers at HOST: start it with `ollama serve`, or name another with --host or OLLAMA_HOST."
    )


def test_no_server_at_the_default_address() -> None:
    assert str(NotRunning("http://127.0.0.1:11434")).startswith(
        "No Ollama server answers at http://127.0.0.1:11434: start it with `ollama serve`"
    )


@pytest.mark.parametrize("host", ["http://[::1", "localhost:99999", "ftp://localhost", "a b", "http://u:p@host"])
async def test_what_is_no_address(host: str) -> None:
    with pytest.raises(BadHost) as caught:
        await ask(host)
    assert sentence(caught.value, host) == (
        "'HOST' is no address of a model server: write HOST:PORT or http://HOST:PORT (or https)."
    )


async def test_a_server_that_is_no_ollama() -> None:
    async with StandIn(instead={"/api/show": Script(status=404, body="404 page not found")}) as server:
        with pytest.raises(BadReply, match=r"\(404 page not found\)"):
            await ask(server.host)


async def test_a_model_that_is_not_installed() -> None:
    models = (Model("llama3.2:3b"), Model("gemma3:4b"))
    async with StandIn(["def f(): ..."], models=models) as server:
        with pytest.raises(ModelMissing) as caught:
            await ask(server.host)
        assert sentence(caught.value, server.host) == (
            f"The server at HOST has no model '{CODER}': run `ollama pull {CODER}`,"
            " or choose one that is there with --model (llama3.2:3b, gemma3:4b)."
        )
        assert server.requests == []
        assert (await ask(server.host, name="gemma3:4b")).text == "def f(): ..."


async def test_no_model_installed_at_all() -> None:
    async with StandIn(models=()) as server:
        with pytest.raises(ModelMissing) as caught:
            await ask(server.host)
        assert sentence(caught.value, server.host).endswith(f"run `ollama pull {CODER}`.")


def test_no_model_named() -> None:
    assert "run `ollama pull qwen2.5-coder:7b`" in sentence(NoModel("http://h:1"), "http://h:1")


@pytest.mark.parametrize(
    ("replies", "instead", "seconds"),
    [
        ([Script("def", load=3600)], {}, 0.5),
        ([Script("def", ending=Ending.STALL)], {}, 0.4),
        ([], {"/api/show": Script(load=3600)}, 0.4),
    ],
    ids=["before the first token", "between two tokens", "before the model is asked"],
)
async def test_silence(replies: list[str | Script], instead: Mapping[str, Script], seconds: float) -> None:
    async with StandIn(replies, instead=instead) as server:
        with pytest.raises(Stalled) as caught:
            await ask(server.host, deadlines=Deadlines(first=0.5, next=0.4))
        assert sentence(caught.value, server.host) == (
            f"The server at HOST has sent nothing for {seconds} seconds:"
            " see what it is doing with `ollama ps`, or choose a smaller model with --model."
        )
        await server.until_idle()


async def test_a_slow_server_is_not_a_silent_one() -> None:
    slow = Script("def f(): ...", token=4, load=0.05, pause=0.05)
    async with StandIn([slow]) as server:
        reply = await ask(server.host, deadlines=Deadlines(first=10, next=10))
        assert reply.text == slow.text


def words(count: int) -> tuple[Message, ...]:
    """A prompt that the stand-in counts as `count` tokens and 4 for the template around it."""
    return (Message("user", "word " * count),)


@pytest.mark.parametrize("stop_early", [False, True], ids=["read to its end", "stopped early"])
@pytest.mark.parametrize("version", ["0.24.0", "0.33.0"])
async def test_a_prompt_that_was_cut_silently(version: str, stop_early: bool) -> None:
    async with StandIn(["def f(): ..."] * 2, version=version) as server:
        fits = await ask(server.host, words(1010), context_tokens=1024, stop_early=stop_early)
        assert fits.text
        with pytest.raises(ContextOverflow, match=r"raise adacoder\.contextTokens"):
            await ask(server.host, words(1022), context_tokens=1024, stop_early=stop_early)
        assert len(server.requests) == 2


async def test_a_prompt_that_certainly_does_not_fit_is_not_sent() -> None:
    async with StandIn(["def f(): ..."]) as server:
        with pytest.raises(ContextOverflow):
            await ask(server.host, words(1025), context_tokens=1024)
        assert server.requests == []


async def test_a_window_that_the_model_does_not_have() -> None:
    async with StandIn(["def f(): ..."] * 2, models=(Model(CODER, context_length=2048),)) as server:
        assert (await ask(server.host, words(2000))).text == "def f(): ..."
        with pytest.raises(ContextOverflow, match="choose a model with a larger window"):
            await ask(server.host, words(2046))


async def test_a_prompt_that_only_might_not_fit_accuses_nobody() -> None:
    async with StandIn(["def f(): ..."]) as server:
        reply = await ask(server.host, (Message("user", "x" * 9000),), context_tokens=1024)
        assert reply.tokens.prompt == 5
