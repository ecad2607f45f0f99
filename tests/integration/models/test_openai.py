"""OpenAI-compatible servers over real HTTP: requests, and the engines' own messages.

`test_contract*.py` have the tests that all model servers share.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import httpx
import pytest

from adacoder.domain import Ended, Message
from adacoder.models import address
from adacoder.models.backend import Session
from adacoder.models.backends import open_model
from adacoder.models.base import Ask, ChatModel
from adacoder.models.errors import (
    OPENAI,
    CannotConnect,
    LeavesNetwork,
    ModelError,
    ModelMissing,
    NoTls,
    NotRunning,
    OnlyThought,
    OtherScheme,
    OtherServer,
)
from adacoder.models.http import client_settings, translated_failures
from adacoder.models.openai import OpenAIServer
from adacoder.models.server import Deadlines, Running
from adacoder.settings import Settings
from support.engines import KIND, THINKER, chatting, model_of, trouble
from support.serving import CODE, CODER, MESSAGES, ask, model_at, sentence
from support.standins.ollama import count_tokens
from support.standins.openai import Engine, Model, StandIn
from support.standins.server import Script

KEY = "sk-secret"
ResolveBy: TypeAlias = Callable[[Callable[..., Awaitable[object]]], None]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


async def opened(url: str | None, *, allow_cloud: bool = False) -> ChatModel:
    """Open a model."""
    settings = Settings(base_url=url, allow_cloud=allow_cloud)
    return await open_model(f"openai:{CODER}", settings, Session(), lambda _: None)


async def test_what_is_asked_for() -> None:
    async with chatting([CODE]) as (server, model):
        await ask(model, max_tokens=100, stop=("1", "2", "3", "4", "5"))
        assert server.requests == [
            {
                "model": CODER,
                "messages": [{"role": one.role, "content": one.content} for one in MESSAGES],
                "stream": True,
                "stream_options": {"include_usage": True},
                "max_tokens": 100,
                "temperature": 0.2,
                "stop": ["1", "2", "3", "4"],
                "chat_template_kwargs": {"enable_thinking": False},
            }
        ]


async def test_no_more_is_told_of_this_machine_or_an_account_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "admin-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Api-Key: custom-secret")
    async with chatting([CODE]) as (server, model):
        await ask(model)
        assert [request.path for request in server.seen] == ["/v1/models", "/v1/chat/completions"]
        for request in server.seen:
            needed = {"host", "accept", "accept-encoding", "connection", "user-agent"}
            assert request.headers.keys() - {"content-type", "content-length"} == needed


@pytest.mark.parametrize(
    ("url", "is_sent"),
    [("http://127.0.0.1:{port}/v1", True), ("http://gpu:{port}/v1", False)],
    ids=["this machine", "in clear over a network"],
)
async def test_where_the_key_goes(
    url: str, is_sent: bool, resolve_by: ResolveBy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    resolve_by(to_this_machine("gpu"))
    async with StandIn([CODE]) as server:
        model = model_of(url.format(port=server.port))
        await ask(model)
        await model.close()
        assert [request.headers.get("authorization") for request in server.seen] == (
            [f"Bearer {KEY}"] * 2 if is_sent else [None] * 2
        )


async def test_no_cookie_of_a_server_is_sent_back() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, headers={"Set-Cookie": "id=track; Path=/"})

    settings = client_settings(address.base_url("http://127.0.0.1:8080/v1"), None, 1.0)
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer), **settings) as client:
        for _ in range(2):
            await client.get("http://127.0.0.1:8080/v1/models")
        assert client.cookies["id"] == "track"
    assert [request.headers.get("cookie") for request in seen] == [None, None]


def to_this_machine(*names: str) -> Callable[..., Awaitable[object]]:
    ask = asyncio.get_running_loop().getaddrinfo

    async def resolve(host: str | bytes, port: int, **hints: int) -> object:
        name = host.decode() if isinstance(host, bytes) else host
        return await ask("127.0.0.1" if name in names else name, port, **hints)

    return resolve


async def test_no_proxy_stands_between_this_machine_and_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    async with StandIn([CODE]) as server, StandIn([CODE]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.host.removesuffix("/v1"))
        near, far = model_of(server.host), model_of("http://10.1.2.3:8000/v1")
        for model in (near, far):
            await ask(model)
            await model.close()
        assert len(server.requests) == len(proxy.requests) == 1
        assert proxy.seen[0].headers["host"] == "10.1.2.3:8000"


async def test_a_public_address_is_not_asked_for_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    async with StandIn([CODE]) as server:
        with monkeypatch.context() as patched:
            patched.setattr(address, "_HOME", ())  # now this machine counts as a remote one
            with pytest.raises(LeavesNetwork) as caught:
                await opened(server.host)
            assert server.seen == []
            allowed = await opened(server.host, allow_cloud=True)
            assert (await allowed.window()).tokens == 8192
            await allowed.close()
        assert str(caught.value) == (
            f"The server at {server.host} is outside your network, so your code would"
            " leave it: name a private server with --base-url (most end in /v1), or allow it with --allow-cloud."
        )
        near = await opened(server.host)
        assert (await near.reply(Ask(MESSAGES, max_tokens=64))).text == CODE
        await near.close()


@pytest.mark.parametrize("host", ["8.8.8.8", "[2001:4860:4860::8888]"])
async def test_a_public_number_is_refused(host: str) -> None:
    with pytest.raises(LeavesNetwork):
        await opened(f"https://{host}/v1")


@pytest.mark.parametrize("name", ["nothing", "a..b", "x" * 64])
async def test_a_name_without_meaning(name: str, resolve_by: ResolveBy) -> None:
    ask_system = asyncio.get_running_loop().getaddrinfo

    async def resolve(host: str, port: int, **hints: int) -> object:
        if host == "nothing":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        # such a name cannot be encoded, so it is never looked up
        return await ask_system(host, port, **hints)

    resolve_by(resolve)
    url = f"http://{name}:8000/v1"
    with pytest.raises(NotRunning) as caught:
        await opened(url)
    assert sentence(caught.value, url) == (
        "No OpenAI-compatible server answers at HOST: start it, or name another with --base-url."
    )


async def test_a_name_of_which_nobody_tells_the_meaning(resolve_by: ResolveBy) -> None:
    async def resolve(host: str, port: int, **hints: int) -> object:
        return await asyncio.Event().wait()

    resolve_by(resolve)
    with pytest.raises(NotRunning):
        await address.require_private(address.base_url("http://gpu:8000/v1"), OPENAI, seconds=0.05)


async def test_no_address_is_guessed() -> None:
    with pytest.raises(ModelError, match="No OpenAI-compatible server is named"):
        await opened(None)
    near = await opened("localhost/v1")
    assert near.name == f"openai:{CODER}"


async def test_redirects_are_not_followed() -> None:
    class Redirecting(StandIn):
        async def _answer(self, request: Any, number: int, writer: Any) -> None:
            head = f"HTTP/1.1 307 -\r\nLocation: {elsewhere.host}{request.path}\r\nContent-Length: 0\r\n\r\n"
            writer.write(head.encode())
            await writer.drain()

    async with StandIn([CODE]) as elsewhere, Redirecting() as server:
        model = model_of(server.host)
        assert "it redirects to another address: name that address instead" in str(await trouble(model))
        await model.close()
        assert elsewhere.seen == []


CONTACTS = """
import asyncio, json, sys

contacts = []
def hook(event, arguments):
    if event == "socket.connect":
        contacts.append(arguments[1][:2])
    elif event == "socket.getaddrinfo":
        contacts.append(arguments[:2])
sys.addaudithook(hook)

from adacoder.domain import Ended, Message
from adacoder.models.backend import Session
from adacoder.models.backends import open_model
from adacoder.models.base import Ask
from adacoder.settings import Settings

async def main():
    settings = Settings(base_url=sys.argv[1])
    model = await open_model("openai:qwen2.5-coder:7b", settings, Session(), lambda said: None)
    before = sorted({"httpx", "pydantic", "ollama"} & sys.modules.keys())
    reply = await model.reply(Ask((Message("user", "Write f."),), max_tokens=100))
    await model.close()
    after = sorted({"httpx", "ollama"} & sys.modules.keys())
    print(json.dumps([reply.text, contacts, before, after]))

asyncio.run(main())
"""


def test_nothing_else_is_contacted_and_nothing_is_imported_before_it_is_needed() -> None:
    with StandIn([CODE]).in_thread() as server:
        ran = subprocess.run(
            [sys.executable, "-c", CONTACTS, server.host],
            env={"OPENAI_BASE_URL": "http://192.0.2.1/v1", "OPENAI_API_KEY": KEY},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        text, contacts, before, after = json.loads(ran.stdout)
        assert text == CODE
        assert {tuple(contact) for contact in contacts} == {("127.0.0.1", server.port)}
        assert before == []
        assert after == ["httpx"]


@pytest.mark.parametrize(
    ("engine", "models", "name", "window"),
    [
        (Engine.VLLM, (Model(CODER, 4096), Model("other", 2048)), CODER, 4096),
        (Engine.VLLM, (Model(CODER, 4096), Model("adapter", parent=CODER)), "adapter", 4096),
        (Engine.VLLM, (Model(CODER, 4096), Model("adapter", parent="gone")), "adapter", None),
        (Engine.LLAMA_CPP, (Model(CODER, 4096),), CODER, 4096),
        (Engine.LLAMA_CPP, (Model("qwen.gguf", 4096, aliases=(CODER,)), Model("other", 2048)), CODER, 4096),
        (Engine.LLAMA_CPP, (Model("qwen.gguf", 4096),), "whatever", 4096),
        (Engine.LLAMA_CPP, (Model(CODER, 0, 8192), Model("other", 2048)), CODER, 8192),
        (Engine.LLAMA_CPP, (Model(CODER, 4096), Model("other", 2048)), "whatever", None),
        (Engine.LM_STUDIO, (Model(CODER, 4096),), CODER, None),
        (Engine.LM_STUDIO, (Model(CODER, 4096),), "whatever", None),
    ],
)
async def test_the_window(engine: Engine, models: tuple[Model, ...], name: str, window: int | None) -> None:
    async with StandIn(models=models, engine=engine) as server:
        asked = OpenAIServer(server.host)
        assert (await asked.facts(name)).window == window
        assert await asked.loaded(name) == Running(name)
        await asked.aclose()


async def test_a_window_smaller_than_the_setting_is_kept_to() -> None:
    async with chatting([CODE], models=(Model(CODER, 2048),)) as (_, model):
        assert (await model.window()).tokens == 2048


async def test_a_server_that_insists_on_names_is_not_asked_for_another() -> None:
    models = (Model("llama3.2:3b"), Model("gemma3:4b"))
    async with chatting([CODE], "whatever", models=models) as (server, model):
        error = await trouble(model)
        assert isinstance(error, ModelMissing)
        assert str(error) == (
            f"The server at {server.host} has no model 'whatever': serve it there,"
            " or choose an available one with --model (openai:llama3.2:3b, openai:gemma3:4b)."
        )
        assert server.requests == []


@pytest.mark.parametrize("engine", [Engine.LLAMA_CPP, Engine.LM_STUDIO])
async def test_a_server_that_answers_for_any_name_is_asked(engine: Engine) -> None:
    async with chatting([CODE], "whatever", models=(Model("one"),), engine=engine) as (_, model):
        assert (await ask(model)).text == CODE


async def test_a_server_that_only_then_finds_that_it_has_no_such_model() -> None:
    models = (Model("one"), Model("two"))
    async with chatting([CODE], "whatever", models=models, engine=Engine.LM_STUDIO) as (_, model):
        error = await trouble(model)
        assert isinstance(error, ModelMissing)
        assert "has no model 'whatever'" in str(error)
        assert "(openai:one, openai:two)" in str(error)


async def test_a_server_without_a_list_of_models() -> None:
    unlisted = {"/v1/models": Script(status=404, body='{"detail":"Not Found"}')}
    async with chatting([CODE], instead=unlisted) as (_, model):
        assert (await model.window()).tokens == 8192
        assert (await ask(model)).text == CODE


@pytest.mark.parametrize("engine", Engine)
async def test_an_address_without_its_path(engine: Engine) -> None:
    async with StandIn([CODE], engine=engine) as server:
        model = model_of(server.host.removesuffix("/v1"))
        error = await trouble(model)
        await model.close()
        assert isinstance(error, OtherServer)
        assert str(error).endswith(
            " is not an OpenAI-compatible server: name the address of one with --base-url (most end in /v1)."
        )


async def test_a_router_tells_what_it_has_to_load() -> None:
    heard: list[str] = []
    async with StandIn([CODE] * 2, engine=Engine.ROUTER, models=(Model(CODER), Model("other"))) as server:
        for _ in range(2):
            model = model_at(server.host, kind=KIND, on_wait=heard.append)
            assert (await ask(model)).text == CODE
            await model.close()
    assert heard == [f"loading {CODER}"]


@pytest.mark.parametrize(
    "said",
    ["Client sent an HTTP request to an HTTPS server.", "The plain HTTP request was sent to HTTPS port"],
)
async def test_a_server_over_tls_that_is_asked_in_clear(said: str) -> None:
    async with chatting([CODE], instead={"/v1/models": Script(status=400, body=said)}) as (server, model):
        error = await trouble(model)
        assert isinstance(error, OtherScheme)
        tls = server.host.replace("http:", "https:")
        assert f"speaks https, not http: write {tls} with --base-url" in sentence(error, "HOST")
        server.instead = {}
        assert (await ask(model)).text == CODE


async def test_certificates_that_do_not_convince_are_told() -> None:
    said = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate"
    with pytest.raises(CannotConnect, match="SSL_CERT_FILE"), translated_failures("https://gpu:8000/v1", OPENAI):
        raise httpx.ConnectError(said)
    with pytest.raises(NotRunning), translated_failures("https://gpu:8000/v1", OPENAI):
        raise httpx.ConnectError("All connection attempts failed")


@pytest.mark.parametrize("engine", Engine)
async def test_a_model_that_can_think_is_told_not_to(engine: Engine) -> None:
    async with chatting([Script(CODE, thinking="Hm.")], THINKER.name, engine=engine) as (server, model):
        grown: list[str] = []
        await ask(model, enough=lambda text: bool(grown.append(text)))
        assert server.requests[0]["chat_template_kwargs"] == {"enable_thinking": False}
        assert all("Hm" not in text for text in grown)


@pytest.mark.parametrize("reasoning", ["reasoning_content", "reasoning"])
async def test_thoughts_are_no_part_of_the_reply(reasoning: str) -> None:
    thoughtful = Script(CODE, thinking="return None?", token=100)
    refused = ("chat_template_kwargs",)
    async with chatting([thoughtful], THINKER.name, reasoning=reasoning, unknown=refused) as (_, model):
        grown: list[str] = []
        reply = await ask(model, enough=lambda text: bool(grown.append(text)))
        assert grown == [CODE]
        assert reply.text == CODE
        assert reply.tokens.completion == 2


async def test_nothing_but_thoughts() -> None:
    endless = Script(CODE, thinking="Hm. " * 5000)
    async with chatting([endless], THINKER.name, unknown=("chat_template_kwargs",)) as (_, model):
        assert isinstance(await trouble(model), OnlyThought)


async def test_what_a_server_refuses_to_hear_is_not_said_again() -> None:
    async with chatting([CODE, CODE], unknown=("chat_template_kwargs",)) as (server, model):
        for _ in range(2):
            assert (await ask(model)).text == CODE
        assert ["chat_template_kwargs" in body for body in server.requests] == [True, False, False]


async def test_a_request_that_is_refused_for_another_reason_is_asked_without_only_once() -> None:
    async with chatting([CODE], unknown=("temperature",)) as (server, model):
        for _ in range(2):
            assert "(Unrecognized request argument supplied: temperature)" in str(await trouble(model))
        assert ["chat_template_kwargs" in body for body in server.requests] == [True, False, True, False]


async def test_a_model_that_cannot_leave_it_is_told_to_think_less() -> None:
    async with chatting([CODE], "gpt-oss-20b", models=(Model("gpt-oss-20b"),)) as (server, model):
        await ask(model)
        asked = server.requests[0]
        assert asked["reasoning_effort"] == "low"
        assert asked["chat_template_kwargs"] == {"reasoning_effort": "low"}
        assert asked["max_tokens"] > 512  # thoughts need more tokens


async def test_llama_cpp_tells_what_it_had_read_before_and_how_long_it_took() -> None:
    again = (*MESSAGES, Message("assistant", CODE), Message("user", "Write g."))
    async with chatting([Script(CODE, token=9)] * 2, engine=Engine.LLAMA_CPP) as (_, model):
        first = await ask(model)
        second = await ask(model, again)
    assert first.time is not None
    assert second.time is not None
    assert (first.tokens.cached, second.tokens.cached) == (0, first.tokens.prompt)
    assert first.time.prompt == pytest.approx(first.tokens.prompt / 1000)
    assert second.time.prompt == pytest.approx((second.tokens.prompt - first.tokens.prompt) / 1000)
    assert first.time.generation == pytest.approx(0.03)


def ended_after(count: int) -> Callable[[str], bool]:
    """Return a function that accepts a reply with this many lines."""
    return lambda text: text.count("\n") >= count


LONG = Script(CODE * 50, token=len(CODE))


async def test_a_reply_that_is_ended_early_has_the_counts_that_llama_cpp_tells_on_the_way() -> None:
    again = (*MESSAGES, Message("assistant", CODE), Message("user", "Write g."))
    async with chatting([LONG, LONG, CODE], engine=Engine.LLAMA_CPP) as (server, model):
        first = await ask(model, enough=ended_after(6))
        second = await ask(model, again, enough=ended_after(2))
        whole = await ask(model, again)
        assert (first.ended, second.ended) == (Ended.STOPPED_EARLY, Ended.STOPPED_EARLY)
        assert [count_tokens(body) for body in server.requests] == [
            reply.tokens.prompt for reply in (first, second, whole)
        ]
        assert (first.tokens.completion, second.tokens.completion) == (3, 1)
        assert (first.tokens.cached, second.tokens.cached) == (0, first.tokens.prompt)
        assert not any(reply.tokens.estimated for reply in (first, second, whole))
        assert second.time is not None
        assert second.time.prompt == pytest.approx((second.tokens.prompt - first.tokens.prompt) / 1000)


@pytest.mark.parametrize("unknown", [("timings_per_token",), ("timings_per_token", "chat_template_kwargs")])
async def test_a_server_that_does_not_want_to_count_on_the_way_is_asked_without(unknown: tuple[str, ...]) -> None:
    async with chatting([LONG, CODE], engine=Engine.LLAMA_CPP, unknown=unknown) as (server, model):
        stopped = await ask(model, enough=ended_after(2))
        assert stopped.text == CODE
        assert stopped.tokens.estimated
        assert not (await ask(model)).tokens.estimated
        told = [
            [name for name in ("timings_per_token", "chat_template_kwargs") if name in body] for body in server.requests
        ]
        with_both, with_one = ["timings_per_token", "chat_template_kwargs"], ["chat_template_kwargs"]
        assert told == ([with_both, with_one, with_one] if len(unknown) == 1 else [with_both, with_one, [], []])


@pytest.mark.parametrize("engine", [Engine.VLLM, Engine.LM_STUDIO, Engine.LLAMA_CPP_PYTHON])
async def test_only_llama_cpp_is_asked_to_count_on_the_way(engine: Engine) -> None:
    async with chatting([CODE], engine=engine) as (server, model):
        await ask(model)
        assert "timings_per_token" not in server.requests[0]


async def test_a_prompt_that_may_be_too_long_is_ended_early_where_its_counts_are_there() -> None:
    """For CJK texts, most models count far fewer tokens than AdaCoder's upper limit."""
    chinese = (Message("user", "計算" * 40),)
    for engine, ended in ((Engine.LLAMA_CPP, Ended.STOPPED_EARLY), (Engine.VLLM, Ended.STOP)):
        async with chatting([Script(CODE * 3, token=len(CODE))], engine=engine, models=(Model(CODER, 200),)) as (
            _,
            model,
        ):
            reply = await ask(model, chinese, enough=ended_after(2), max_tokens=50)
            assert reply.ended is ended


async def test_the_time_that_a_server_does_not_tell_is_taken() -> None:
    async with chatting([CODE]) as (_, model):
        reply = await ask(model)
        assert reply.time is not None
        assert reply.time.prompt > 0


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        ("abort", "(it gave up, for the reason 'abort')"),
        ("content_filter", "(it gave up, for the reason 'content_filter')"),
        ("", "(the reply broke off before it was done)"),
    ],
)
async def test_a_reply_that_is_not_whole(reason: str, says: str) -> None:
    async with chatting([Script(CODE, done_reason=reason), Script(CODE, done_reason="eos")]) as (_, model):
        assert says in str(await trouble(model))
        assert (await ask(model)).text == CODE


async def test_a_server_in_clear_that_waits_for_more_of_a_tls_greeting() -> None:
    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(wait, "127.0.0.1", 0)
    host = f"127.0.0.1:{silent.sockets[0].getsockname()[1]}"
    model = model_at(f"https://{host}/v1", kind=KIND, deadlines=Deadlines(connect=0.5))
    error = await trouble(model)
    assert isinstance(error, NoTls)
    assert f"does not answer https: if it speaks http, write http://{host}/v1 with" in str(error)
    await model.close()
    silent.close()
    plain = model_at("https://127.0.0.1:1/v1", kind=KIND, deadlines=Deadlines(connect=0.5))
    assert not isinstance(await trouble(plain), NoTls)
    await plain.close()


def _streamed(events: str) -> Script:
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    return Script(raw=[head.encode(), events.encode()])


@pytest.mark.parametrize("ending", ["data: [DONE]\n\n", "data: [DONE]", ""])
async def test_events_without_data_and_a_last_event_without_an_empty_line(ending: str) -> None:
    chunks = [{"delta": {"content": CODE}}, {"delta": {}, "finish_reason": "stop"}]
    first, last = (f"data: {json.dumps({'choices': [chunk]})}" for chunk in chunks)
    sent = f"data:\n\n{first}\n\ndata: \n\n{last}" + (f"\n\n{ending}" if ending else "")
    async with chatting(lambda _: _streamed(sent)) as (_, model):
        reply = await ask(model)
    assert (reply.text, reply.ended) == (CODE, Ended.STOP)


async def test_an_error_in_a_stream_that_says_nothing() -> None:
    async with chatting(lambda _: _streamed('data: {"error": {"message": ""}}\n\n')) as (_, model):
        error = await trouble(model)
    assert "(it reported an error without a message)" in str(error)
