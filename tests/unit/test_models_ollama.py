"""Ollama over real HTTP: what is sent, what comes back, and that nothing goes on afterwards."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adacoder.domain import Ended, Message
from adacoder.models.base import CloudRefused
from adacoder.models.ollama import OllamaServer
from adacoder.models.served import ServedModel, Thinking
from serving import model_at
from standin_ollama import Ending, Model, Replies, Script, StandIn, count_tokens

MESSAGES = (Message("system", "You write Python."), Message("user", "Write f."))
CODE = "def f(x):\n    return x + 1\n"
CODER = "qwen2.5-coder:7b"
THINKER = Model("qwen3:8b", ("completion", "thinking"))


def never(text: str) -> bool:
    return False


@asynccontextmanager
async def talking(
    replies: Replies, name: str = CODER, **settings: object
) -> AsyncIterator[tuple[StandIn, ServedModel]]:
    """A stand-in and a model of it; in the end no connection may be open."""
    async with StandIn(replies, models=(Model(CODER), THINKER)) as server:
        model = model_at(server.host, name, **settings)
        try:
            yield server, model
        finally:
            await model.close()
        await server.until_idle()


async def test_a_reply_comes_whole_with_the_servers_counts() -> None:
    async with talking([Script(CODE, token=9)]) as (server, model):
        reply = await model.reply(MESSAGES, enough=never, max_tokens=100)
        assert reply.text == CODE
        assert reply.ended is Ended.STOP
        assert (reply.tokens.prompt, reply.tokens.completion) == (count_tokens(server.requests[0]), 3)
        assert not reply.tokens.estimated
        assert server.events == ["request 1", "load 1", "first byte 1", "done 1"]
        assert model.name == f"ollama:{CODER}"


async def test_what_is_sent_is_the_same_from_call_to_call() -> None:
    async with talking([CODE, CODE], seed=7, temperature=0.5, keep_alive="3m") as (server, model):
        await model.reply(MESSAGES, enough=never, max_tokens=100)
        await model.reply(MESSAGES[1:], enough=never, max_tokens=200)
        first, second = server.requests
        assert first["messages"] == [{"role": one.role, "content": one.content} for one in MESSAGES]
        assert first["options"] == {"num_ctx": 8192, "num_predict": 100, "temperature": 0.5, "seed": 7}
        assert second["options"] == {"num_ctx": 8192, "num_predict": 200, "temperature": 0.5, "seed": 7}
        assert all(body["stream"] is True and body["keep_alive"] == "3m" for body in server.requests)
        assert [event for event in server.events if event.startswith("load")] == ["load 1"]
        assert [request.path for request in server.seen].count("/api/show") == 1


async def test_no_seed_is_sent_where_none_is_set() -> None:
    async with talking([CODE]) as (server, model):
        await model.reply(MESSAGES, enough=never, max_tokens=100)
        assert server.requests[0]["options"] == {"num_ctx": 8192, "num_predict": 100, "temperature": 0.2}


async def test_a_model_that_can_think_is_told_not_to() -> None:
    async with talking([Script(CODE, thinking="Hm, let me see.")], name=THINKER.name) as (server, model):
        reply = await model.reply(MESSAGES, enough=never, max_tokens=100)
        assert server.requests[0]["think"] is False
        assert reply.text == CODE


async def test_a_model_that_cannot_think_hears_nothing_of_it() -> None:
    async with talking([CODE]) as (server, model):
        await model.reply(MESSAGES, enough=never, max_tokens=100)
        assert "think" not in server.requests[0]


async def test_thoughts_are_no_part_of_the_reply() -> None:
    """A server that thinks all the same, without saying that it can."""

    class Thoughtful(StandIn):
        async def _stream(self, script, model, body, number, writer):  # type: ignore[no-untyped-def]  # as the base
            await super()._stream(script, THINKER, body, number, writer)

    grown: list[str] = []
    async with Thoughtful([Script(CODE, thinking="return None?", token=100)]) as server:
        model = model_at(server.host)

        def enough(text: str) -> bool:
            grown.append(text)
            return False

        reply = await model.reply(MESSAGES, enough=enough, max_tokens=100)
        await model.close()
        assert "think" not in server.requests[0]
    assert reply.text == CODE
    assert grown == [CODE]
    assert reply.tokens.completion == 2


async def test_enough_ends_the_generation_at_once() -> None:
    endless = Script(CODE * 1000, token=len(CODE), pause=0.01)
    async with talking([endless, CODE]) as (server, model):
        grown: list[str] = []

        def enough(text: str) -> bool:
            grown.append(text)
            return text.count("def") == 3

        reply = await model.reply(MESSAGES, enough=enough, max_tokens=5000)
        assert reply.text == CODE * 3
        assert grown == [CODE, CODE * 2, CODE * 3]
        assert reply.ended is Ended.STOPPED_EARLY
        assert reply.tokens.estimated
        assert reply.tokens.prompt > 0
        assert reply.tokens.completion > 0
        await server.until("disconnected 1")
        assert (await model.reply(MESSAGES, enough=never, max_tokens=100)).text == CODE
        assert server.events.index("disconnected 1") < server.events.index("first byte 2")
        assert "done 1" not in server.events


@pytest.mark.parametrize(
    ("script", "when"),
    [
        (Script(CODE, load=3600), "load 1"),
        (Script(CODE, ending=Ending.STALL), "first byte 1"),
        (Script(CODE * 1000, pause=0.01), "first byte 1"),
    ],
    ids=["while it loads", "while it is silent", "while it writes"],
)
async def test_cancelling_closes_the_connection(script: Script, when: str) -> None:
    async with talking([script]) as (server, model):
        asking = asyncio.create_task(model.reply(MESSAGES, enough=never, max_tokens=5000))
        await server.until(when)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await server.until("disconnected 1")


async def test_cancelling_leaves_the_servers_queue() -> None:
    async with talking([Script(CODE, ending=Ending.STALL), CODE]) as (server, model):
        other = model_at(server.host)
        first = asyncio.create_task(model.reply(MESSAGES, enough=never, max_tokens=100))
        await server.until("first byte 1")
        second = asyncio.create_task(other.reply(MESSAGES, enough=never, max_tokens=100))
        await server.until("request 2")
        second.cancel()
        await server.until("disconnected 2")
        assert "first byte 2" not in server.events
        first.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        await other.close()


async def test_an_error_of_the_watcher_goes_through_and_closes_the_connection() -> None:
    async with talking([Script(CODE * 1000, pause=0.01)]) as (server, model):
        with pytest.raises(ZeroDivisionError):
            await model.reply(MESSAGES, enough=lambda text: 1 // 0 == 1, max_tokens=5000)
        await server.until("disconnected 1")


async def test_a_reply_that_reaches_its_limit_says_so() -> None:
    async with talking([Script(CODE, token=9)] * 2) as (_, model):
        cut = await model.reply(MESSAGES, enough=never, max_tokens=2)
        assert (cut.text, cut.ended, cut.tokens.completion) == (CODE[:18], Ended.LENGTH, 2)
        assert (await model.reply(MESSAGES, enough=never, max_tokens=3)).ended is Ended.STOP


async def test_counts_that_are_left_out_are_estimated() -> None:
    async with talking([Script(CODE, prompt_tokens=0)]) as (_, model):
        reply = await model.reply(MESSAGES, enough=never, max_tokens=100)
        assert reply.tokens.estimated
        assert reply.tokens.prompt > 0
        assert reply.ended is Ended.STOP


async def test_an_empty_reply_is_a_reply() -> None:
    async with talking([""]) as (_, model):
        reply = await model.reply(MESSAGES, enough=never, max_tokens=100)
        assert (reply.text, reply.ended) == ("", Ended.STOP)


@pytest.mark.parametrize("packet", [None, 1, 2, 7], ids=["lines", "1 byte", "2 bytes", "7 bytes"])
async def test_text_arrives_as_it_was_written_however_it_is_cut(packet: int | None) -> None:
    text = "a = '\x85'  # NEL, \u2028 and \u2029, \x0b\x0c\x1c\r\n# größer <&> 漢字 \U0001f40d\n"
    async with talking([Script(text, token=5, packet=packet)]) as (_, model):
        assert (await model.reply(MESSAGES, enough=never, max_tokens=100)).text == text


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.sampled_from("ab\n\x85\u2028\u2029\xc2é…")), packet=st.integers(1, 5))
async def test_no_character_breaks_the_stream(text: str, packet: int) -> None:
    async with talking([Script(text, token=3, packet=packet)]) as (_, model):
        assert (await model.reply(MESSAGES, enough=never, max_tokens=100)).text == text


async def test_a_prompt_with_a_lone_surrogate_is_sent_all_the_same() -> None:
    async with talking([CODE]) as (server, model):
        await model.reply((Message("user", "a\ud800b"),), enough=never, max_tokens=100)
        assert server.requests[0]["messages"] == [{"role": "user", "content": "a?b"}]


async def test_a_proxy_does_not_come_between_this_machine_and_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with talking([CODE]) as (_, model):
        assert (await model.reply(MESSAGES, enough=never, max_tokens=100)).text == CODE


async def test_the_key_goes_only_to_a_host_that_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "secret")
    async with talking([CODE, CODE]) as (server, model):
        await model.reply(MESSAGES, enough=never, max_tokens=100)
        assert {request.headers.get("authorization") for request in server.seen} == {"Bearer secret"}

        server.seen.clear()
        monkeypatch.setattr("adacoder.models.address._OLLAMA_PORT", server.port)
        monkeypatch.delenv("OLLAMA_HOST", raising=False)
        unnamed = model_at(None)
        await unnamed.reply(MESSAGES, enough=never, max_tokens=100)
        await unnamed.close()
        assert [request.path for request in server.seen] == ["/api/show", "/api/chat"]
        assert not any("authorization" in request.headers for request in server.seen)


async def test_only_the_named_server_is_asked_and_only_for_what_is_needed() -> None:
    async with talking([CODE]) as (server, model):
        await model.reply(MESSAGES, enough=never, max_tokens=100)
        assert [(one.method, one.path) for one in server.seen] == [
            ("POST", "/api/show"),
            ("POST", "/api/chat"),
        ]


@pytest.mark.parametrize("name", ["gpt-oss:120b-cloud", "kimi-k2:cloud", "renamed:latest"])
async def test_a_cloud_model_is_refused_unless_allowed(name: str) -> None:
    models = (Model(name, remote_host="https://ollama.com:443"),)
    async with StandIn([CODE], models=models) as server:
        model = model_at(server.host, name)
        with pytest.raises(CloudRefused, match=r"adacoder\.allowCloud"):
            await model.reply(MESSAGES, enough=never, max_tokens=100)
        await model.close()
        assert server.requests == []

        allowed = model_at(server.host, name, allow_cloud=True)
        assert (await allowed.reply(MESSAGES, enough=never, max_tokens=100)).text == CODE
        await allowed.close()


async def test_a_server_tells_its_version_and_its_models() -> None:
    async with StandIn(models=(Model(CODER), THINKER), version="0.33.0") as stand_in:
        server = OllamaServer(stand_in.host)
        assert await server.version() == "0.33.0"
        assert [tag["name"] for tag in await server.tags()] == [CODER, THINKER.name]
        assert (await server.facts(THINKER.name)).thinking is Thinking.UNLESS_TOLD
        assert (await server.facts(CODER)).thinking is Thinking.NEVER
        await server.aclose()
        await stand_in.until_idle()


def test_nothing_heavy_is_imported_before_the_first_request() -> None:
    script = (
        "import sys, adacoder.models.backends, adacoder.models.catalog\n"
        "from adacoder.models.ollama import OllamaServer\n"
        "OllamaServer(None)\n"
        "print(sorted({'ollama', 'openai', 'httpx', 'pydantic'} & set(sys.modules)), 'json' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["[]", "True"]
