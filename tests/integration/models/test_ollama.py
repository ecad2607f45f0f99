"""Requests to Ollama, and behaviour that only Ollama has."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from adacoder.domain import Ended, Message
from adacoder.models.errors import BadReply, CloudDisabled, CloudRefused, NoChat, OnlyThought
from adacoder.models.ollama import OllamaServer
from adacoder.models.server import Deadlines, Thinking
from support.serving import (
    CODE,
    CODER,
    KINDS,
    MESSAGES,
    ServerKind,
    ask,
    every_ollama,
    fate,
    model_at,
    sentence,
    settings_of,
    talking,
)
from support.standins.ollama import Model, StandIn, count_tokens
from support.standins.server import Ending, Script

THINKER = Model("qwen3:8b", ("completion", "thinking"))
ALWAYS_THINKER = Model("gpt-oss:20b", ("completion", "thinking"), family="gptoss")
OLD = KINDS["ollama 0.24"]


def having(*models: Model) -> dict[str, object]:
    """Return arguments for a stand-in that has these models and the usual one."""
    return {"models": (Model(CODER), *models)}


@every_ollama
async def test_what_is_sent_is_the_same_from_call_to_call(kind: ServerKind) -> None:
    async with talking(kind, [CODE, CODE], seed=7, temperature=0.5, keep_alive="3m") as (server, model):
        await ask(model, max_tokens=100)
        await ask(model, MESSAGES[1:], max_tokens=200)
        first, second = server.requests
        assert first["messages"] == [{"role": one.role, "content": one.content} for one in MESSAGES]
        assert first["options"] == {"num_ctx": 8192, "num_predict": 100, "temperature": 0.5, "seed": 7}
        assert second["options"] == {"num_ctx": 8192, "num_predict": 200, "temperature": 0.5, "seed": 7}
        assert all(body["stream"] is True and body["keep_alive"] == "3m" for body in server.requests)
        assert server.events == ["request 1", "load 1", "first byte 1", "done 1", "request 2", "first byte 2", "done 2"]
        assert [request.path for request in server.seen].count("/api/show") == 1


async def test_no_option_is_sent_that_is_not_needed() -> None:
    async with talking(OLD, [CODE]) as (server, model):
        await ask(model, max_tokens=100)
        assert server.requests[0]["options"] == {"num_ctx": 8192, "num_predict": 100, "temperature": 0.2}


async def test_only_the_named_server_is_asked_and_only_for_what_is_needed() -> None:
    async with talking(OLD, [CODE]) as (server, model):
        await ask(model)
        assert [(one.method, one.path) for one in server.seen] == [
            ("POST", "/api/show"),
            ("GET", "/api/ps"),
            ("POST", "/api/chat"),
        ]


@every_ollama
async def test_another_window_makes_the_server_load_the_model_anew(kind: ServerKind) -> None:
    """Loading takes long, so AdaCoder asks for the same window in all requests."""
    async with talking(kind, [CODE] * 4) as (server, model):
        await ask(model)
        same = model_at(server.host, kind=kind)
        other = model_at(server.host, kind=kind, context_tokens=4096)
        for one in (same, other, model):
            await ask(one)
            await one.close()
        assert [event for event in server.events if event.startswith("load")] == ["load 1", "load 3", "load 4"]


@every_ollama
async def test_loading_is_told(kind: ServerKind) -> None:
    heard: list[str] = []
    async with talking(kind, [Script(CODE, load=0.02), CODE], on_wait=heard.append) as (server, model):
        await ask(model)
        assert heard == [f"loading {CODER}"]
        other = model_at(server.host, kind=kind, on_wait=heard.append)
        await ask(other)
        await other.close()
        assert heard == [f"loading {CODER}"]


@every_ollama
@pytest.mark.parametrize("window", [4096, 16384, 32768])
async def test_loading_anew_for_another_window_is_told(kind: ServerKind, window: int) -> None:
    heard: list[str] = []
    async with talking(kind, [CODE] * 3, context_tokens=window) as (server, first):
        await ask(first)
        other = model_at(server.host, CODER.upper(), kind=kind, on_wait=heard.append)
        await ask(other)
        assert heard == [f"loading {CODER.upper()}"]
        assert "load 2" in server.events
        await ask(other)
        await other.close()
        same = model_at(server.host, kind=kind, on_wait=heard.append)
        server.replies = [CODE]
        server._answered = 0
        await ask(same)
        await same.close()
        assert heard == [f"loading {CODER.upper()}"]
        assert "load 4" not in server.events


@every_ollama
async def test_while_it_loads_the_wait_says_so(kind: ServerKind) -> None:
    heard: list[str] = []
    slow = Deadlines(sign=0.01)
    async with talking(kind, [Script(CODE, load=0.2)] * 2, deadlines=slow, on_wait=heard.append) as (_, model):
        await ask(model)
        assert any(said.startswith("waiting for") and said.endswith(f" s, loading {CODER}") for said in heard)
        heard.clear()
        await ask(model)
        assert heard
        assert not any("loading" in said for said in heard)


@every_ollama
@pytest.mark.parametrize(
    ("template", "renderer", "hears"),
    [
        ("{{ .Prompt }}", "", False),
        ("[INST] {{ .Prompt }} [/INST]", "", False),
        ("{{ .Prompt }}", "qwen3-coder", True),
        ("{{ .System }}{{ .Prompt }}", "", True),
    ],
)
async def test_the_system_text_reaches_a_model_whatever_its_template(
    kind: ServerKind, template: str, renderer: str, hears: bool
) -> None:
    bare = {"models": (Model(CODER, template=template, renderer=renderer),)}
    async with talking(kind, [CODE] * 2, stand_in=bare) as (server, model):
        for messages in (MESSAGES, (*MESSAGES, Message("assistant", CODE), Message("user", "Again."))):
            reply = await ask(model, messages)
            sent = server.requests[-1]["messages"]
            assert isinstance(sent, list)
            roles, contents = zip(*((one["role"], one["content"]) for one in sent), strict=True)
            assert ("system" in roles) is hears
            assert "\n\n".join(contents) == "\n\n".join(message.content for message in messages)
            assert reply.tokens.prompt == count_tokens(server.requests[-1])


@pytest.mark.parametrize("status", [404, 403, 429, 503])
async def test_what_does_not_tell_what_is_loaded_is_asked_all_the_same(status: int) -> None:
    heard: list[str] = []
    plain = {"instead": {"/api/ps": Script(status=status, body="not here")}}
    async with talking(OLD, [CODE], stand_in=plain, on_wait=heard.append) as (_, model):
        assert (await ask(model)).text == CODE
        assert heard == []


@every_ollama
async def test_where_the_time_went(kind: ServerKind) -> None:
    async with talking(kind, [Script(CODE, token=9, load=0.02), Script(CODE, token=9)]) as (server, model):
        async with server._slot:
            asking = asyncio.create_task(ask(model))
            await server.until("request 1")
        first, second = (await asking).time, (await ask(model)).time
        assert first is not None
        assert first.queue > 0
        read = count_tokens(server.requests[0])
        assert (first.load, first.prompt, first.generation) == pytest.approx((0.52, read / 1000, 0.03))
        assert second is not None
        assert (second.queue, second.load, second.prompt, second.generation) == pytest.approx((0, 0, 0.001, 0.03))


@every_ollama
async def test_where_the_model_is_set_up_to_stop_it_still_does(kind: ServerKind) -> None:
    """Stop texts in a request replace the model's own, so a request repeats them."""
    set_up = {"models": (Model(CODER, stop=("<|im_end|>", '"quoted"')),)}
    text = f"{CODE}<|im_end|>\nuser: "
    async with talking(kind, [text] * 3, stand_in=set_up) as (server, model):
        assert (await ask(model)).text == CODE
        assert "stop" not in server.requests[0]["options"]
        assert (await ask(model, stop=("\nassert",))).text == CODE
        assert server.requests[1]["options"]["stop"] == ["<|im_end|>", '"quoted"', "\nassert"]
        server.models = (Model(CODER),)
        assert (await ask(model)).text == text


@every_ollama
async def test_a_model_that_can_think_is_told_not_to(kind: ServerKind) -> None:
    thoughtful = Script(CODE, thinking="Hm, let me see.")
    async with talking(kind, [thoughtful], THINKER.name, having(THINKER)) as (server, model):
        reply = await ask(model)
        assert server.requests[0]["think"] is False
        assert reply.text == CODE


@every_ollama
async def test_a_model_that_cannot_think_hears_nothing_of_it(kind: ServerKind) -> None:
    async with talking(kind, [CODE]) as (server, model):
        await ask(model)
        assert "think" not in server.requests[0]


@every_ollama
async def test_a_model_that_always_thinks_is_told_to_think_little_and_gets_more_tokens(kind: ServerKind) -> None:
    thoughtful = Script(CODE, thinking="Hm, let me see.", token=5)
    async with talking(kind, [thoughtful], ALWAYS_THINKER.name, having(ALWAYS_THINKER)) as (server, model):
        reply = await ask(model, max_tokens=6)
        assert server.requests[0]["think"] == "low"
        assert server.requests[0]["options"]["num_predict"] == 6 + 2048
        assert (reply.text, reply.tokens.completion) == (CODE, 9)


@every_ollama
async def test_a_model_that_always_thinks_is_not_stopped_in_its_thoughts(kind: ServerKind) -> None:
    async with talking(kind, [CODE] * 2, ALWAYS_THINKER.name, having(ALWAYS_THINKER)) as (server, model):
        await ask(model, stop=("\nassert",))
        assert "stop" not in server.requests[0]["options"]
        usual = model_at(server.host, kind=kind)
        await ask(usual, stop=("\nassert",))
        await usual.close()
        assert server.requests[1]["options"]["stop"] == ["\nassert"]


@every_ollama
async def test_thoughts_that_use_up_all_tokens_are_no_reply(kind: ServerKind) -> None:
    endless = Script(CODE, thinking="Hm, let me see. " * 1000, token=5)
    async with talking(kind, [endless, CODE], ALWAYS_THINKER.name, having(ALWAYS_THINKER)) as (server, model):
        with pytest.raises(OnlyThought) as caught:
            await ask(model, max_tokens=6)
        assert sentence(caught.value, server) == (
            "The model 'gpt-oss:20b' spent all its tokens on thinking and wrote no reply:"
            " raise --context-tokens, or choose a model that does not think with --model."
        )
        assert fate(server, 1) == ["request", "first byte", "done"]
        assert (await ask(model)).text == CODE


@every_ollama
async def test_thoughts_are_no_part_of_the_reply(kind: ServerKind) -> None:
    """The server has not reported that the model can think."""

    class Thoughtful(StandIn):
        def _reply(self, script: Script, model: Model, *rest: Any) -> Any:
            return super()._reply(script, replace(model, capabilities=THINKER.capabilities), *rest)

    grown: list[str] = []

    def enough(text: str) -> bool:
        grown.append(text)
        return False

    async with talking(replace(kind, stand_in=Thoughtful), [Script(CODE, thinking="return None?", token=100)]) as (
        server,
        model,
    ):
        reply = await ask(model, enough=enough)
        assert "think" not in server.requests[0]
        assert reply.text == CODE
        assert grown == [CODE]
        assert reply.tokens.completion == 2


@every_ollama
@pytest.mark.parametrize("reason", ["load", "unload"])
async def test_a_server_that_only_loads_the_model_has_not_answered(kind: ServerKind, reason: str) -> None:
    async with talking(kind, [Script("", done_reason=reason), CODE]) as (server, model):
        with pytest.raises(BadReply, match=rf"\(it did not answer, but only {reason}ed the model\)"):
            await ask(model)
        assert fate(server, 1) == ["request", "first byte", "done"]
        assert (await ask(model)).text == CODE


@pytest.mark.parametrize("version", ["0.24.0", "0.33.0", "0.34.0"])
async def test_a_reply_that_the_guard_against_repetition_ends_is_one_that_broke_off(version: str) -> None:
    few, many = (Script("a = 1\n" + "b = 2\n" * times, token=6) for times in (30, 101))
    async with talking(OLD, [few, many, CODE], stand_in={"version": version}) as (server, model):
        whole, cut, another = await ask(model), await ask(model), await ask(model, MESSAGES[1:])
    assert (whole.text, whole.ended) == (few.text, Ended.STOP)
    assert (cut.ended, cut.tokens.estimated) == (Ended.LENGTH, True)
    assert many.text.startswith(cut.text)
    assert cut.text.count("b = 2") in (31, 100)
    assert fate(server, 2)[-1] == ("error" if version == "0.34.0" else "eof")
    assert another.text == CODE
    cool, again, warm = (settings_of(request)["temperature"] for request in server.requests)
    assert cool == again == pytest.approx(0.2)
    assert warm == pytest.approx(0.5)


async def test_it_gets_no_warmer_than_that_and_never_cooler() -> None:
    circles = Script("word w " * 40, token=7)
    for asked, got in (0.2, [0.2, 0.5, 0.8, 1.0, 1.0]), (1.5, [1.5] * 5):
        async with talking(OLD, lambda _: circles, temperature=asked) as (server, model):
            for number in range(5):
                await ask(model, (*MESSAGES, Message("user", str(number))))
        assert [settings_of(request)["temperature"] for request in server.requests] == pytest.approx(got)


@every_ollama
@pytest.mark.parametrize(
    ("script", "ended"),
    [
        (Script("\n \n\n" * 20, token=1), Ended.LENGTH),
        (Script("", thinking="so " * 40, token=3), Ended.LENGTH),
        (Script("a" * 30, token=1, ending=Ending.EOF), Ended.LENGTH),
        (Script("a" * 29, token=1, ending=Ending.EOF), None),
        (Script("a" * 31 + "b", token=1, ending=Ending.EOF), None),
        (Script("a" * 31, token=1, ending=Ending.BREAK), None),
    ],
)
async def test_only_parts_alike_at_its_end_make_it_one(kind: ServerKind, script: Script, ended: Ended | None) -> None:
    async with talking(kind, [script, CODE], ALWAYS_THINKER.name, having(ALWAYS_THINKER)) as (_, model):
        if ended is None:
            with pytest.raises(BadReply, match="broke off"):
                await ask(model)
        else:
            assert (await ask(model)).ended is ended
        assert (await ask(model)).text == CODE


TROUBLE = {
    "a repeat guard that trips before anything was sent": (
        Script(status=500, error="prediction aborted, token repeat limit reached"),
        "(prediction aborted, token repeat limit reached)",
    ),
    "another kind of JSON": (Script(body="[1, 2]\n"), "(it does not answer like an Ollama server)"),
    "a message of another shape": (
        Script(body='{"message": {"content": 3}, "done": false}\n'),
        "(it does not answer like an Ollama server)",
    ),
    "a blank line": (Script(body="\n\n"), "(it does not answer like an Ollama server)"),
    "a page": (Script(body="<html>Welcome to the router</html>"), "(it does not answer like an Ollama server)"),
    "JSON without an end": (Script(body="[" * 200_000), "(it does not answer like an Ollama server)"),
    "a path that it does not have": (
        Script(status=404, body="404 page not found"),
        "is not an Ollama server: name the address of one",
    ),
    "a method that it does not allow": (
        Script(status=405, body="405 method not allowed"),
        "The server at HOST is not an Ollama server: name the address of one with --host or OLLAMA_HOST.",
    ),
    "an ability that the model lacks": (
        Script(status=400, error=f'"{CODER}" does not support thinking'),
        f'("{CODER}" does not support thinking)',
    ),
    "an option it does not know how to read": (
        Script(status=500, error='option "num_ctx" must be of type integer'),
        '(option "num_ctx" must be of type integer)',
    ),
}


@every_ollama
@pytest.mark.parametrize(("script", "says"), TROUBLE.values(), ids=TROUBLE.keys())
async def test_trouble_is_told_in_a_sentence(kind: ServerKind, script: Script, says: str) -> None:
    async with talking(kind, [script, CODE]) as (server, model):
        with pytest.raises(BadReply) as caught:
            await ask(model)
        assert says in sentence(caught.value, server)
        assert fate(server, 1) == ["request", "refused"]
        assert (await ask(model)).text == CODE


@every_ollama
async def test_how_long_to_keep_the_model_is_the_servers_to_understand(kind: ServerKind) -> None:
    async with talking(kind, [CODE], keep_alive="5 minutes") as (server, model):
        with pytest.raises(BadReply, match=r'\(time: .*"5 minutes"\)'):
            await ask(model)
        await server.until_asked("/api/chat")
        assert fate(server, 1) == ["request", "refused"]
        for keep_alive in ("-1m", "0", "90s", "1h30m"):
            other = model_at(server.host, kind=kind, keep_alive=keep_alive)
            server.replies = lambda _: CODE
            assert (await ask(other)).text == CODE
            await other.close()


@every_ollama
async def test_a_model_that_only_embeds_texts_is_not_asked(kind: ServerKind) -> None:
    embedder = Model("nomic-embed-text:latest", ("embedding",))
    async with talking(kind, [CODE], "nomic-embed-text", having(embedder)) as (server, model):
        with pytest.raises(NoChat) as caught:
            await ask(model)
        assert sentence(caught.value, server) == (
            "The model 'nomic-embed-text' cannot answer chats: choose another with --model."
        )
        assert server.requests == []
        other = model_at(server.host, kind=kind)
        assert (await ask(other)).text == CODE
        await other.close()


@every_ollama
@pytest.mark.parametrize("name", ["gpt-oss:120b-cloud", "kimi-k2:cloud", "Kimi-K2:CLOUD", "renamed:latest"])
async def test_a_cloud_model_is_refused_unless_allowed(kind: ServerKind, name: str) -> None:
    away = having(Model(name, remote_host="https://ollama.com:443"))
    async with talking(kind, [CODE], name, away) as (server, model):
        with pytest.raises(CloudRefused, match=r"--allow-cloud"):
            await ask(model)
        assert server.requests == []
        allowed = model_at(server.host, name, kind=kind, allow_cloud=True)
        assert (await ask(allowed)).text == CODE
        await allowed.close()


@every_ollama
async def test_a_server_that_does_not_pass_requests_on(kind: ServerKind) -> None:
    away = {**having(Model("renamed:latest", remote_host="https://ollama.com:443")), "cloud": False}
    async with talking(kind, [CODE], "renamed", away, allow_cloud=True) as (server, model):
        with pytest.raises(CloudDisabled) as caught:
            await ask(model)
        assert sentence(caught.value, server) == (
            "The model 'renamed' runs on Ollama's servers, which your server has switched off:"
            " choose a local model with --model, or start the server without OLLAMA_NO_CLOUD."
        )
        assert fate(server, 1) == ["request", "refused"]
        at_home = model_at(server.host, kind=kind)
        assert (await ask(at_home)).text == CODE
        await at_home.close()


async def test_a_proxy_stands_between_this_machine_and_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_API_KEY", "secret")
    async with StandIn([CODE]) as proxy:
        monkeypatch.setenv("http_proxy", proxy.host)
        model = model_at("http://models.test:11434")
        assert (await ask(model)).text == CODE
        await model.close()
        assert {request.headers["host"] for request in proxy.seen} == {"models.test:11434"}
        # a key is not sent over a network that others can read, either
        assert not any("authorization" in request.headers for request in proxy.seen)
        await proxy.until_idle()


async def test_the_key_goes_only_to_a_host_that_was_named(
    ollama_is_at: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "secret")
    async with talking(OLD, [CODE, CODE]) as (server, model):
        await ask(model)
        assert {request.headers.get("authorization") for request in server.seen} == {"Bearer secret"}

        server.seen.clear()
        ollama_is_at(server.port)
        monkeypatch.delenv("OLLAMA_HOST", raising=False)
        unnamed = model_at(None)
        await ask(unnamed)
        await unnamed.close()
        assert [request.path for request in server.seen] == ["/api/show", "/api/ps", "/api/chat"]
        assert not any("authorization" in request.headers for request in server.seen)


@every_ollama
async def test_lines_end_where_json_says(kind: ServerKind) -> None:
    """Ollama sends U+0085 unescaped. The library would end a line there."""
    text = "a\x85b"
    async with talking(kind, [text]) as (server, model):
        assert (await ask(model)).text == text
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        server.replies = lambda _: text
        body = b'{"model":"%b","messages":[{"role":"user","content":"f"}]}' % CODER.encode()
        writer.write(b"POST /api/chat HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        received = await reader.readuntil(b"0\r\n\r\n")
        writer.close()
        await writer.wait_closed()
        assert text.encode() in received


@every_ollama
async def test_a_server_tells_its_version_and_its_models(kind: ServerKind) -> None:
    async with kind.stand_in(**having(THINKER, ALWAYS_THINKER)) as stand_in:
        server = OllamaServer(stand_in.host)
        assert await server.version() == stand_in.version
        assert [tag["name"] for tag in await server.tags()] == [CODER, THINKER.name, ALWAYS_THINKER.name]
        assert (await server.facts(THINKER.name)).thinking is Thinking.UNLESS_TOLD
        assert (await server.facts(ALWAYS_THINKER.name)).thinking is Thinking.ALWAYS
        assert (await server.facts(CODER)).thinking is Thinking.NEVER
        assert await server.running() == []
        await server.aclose()
        await stand_in.until_idle()


async def test_the_end_of_a_stream_is_the_end_whatever_follows() -> None:
    last = '{"model":"m","message":{"role":"assistant","content":"one"},"done":true,"done_reason":"stop"}\n'
    async with talking(OLD, [Script(body=f"{last}<html>")]) as (_, model):
        reply = await ask(model, (Message("user", "Write f."),))
        assert (reply.text, reply.ended, reply.tokens.estimated) == ("one", Ended.STOP, True)


def test_nothing_heavy_is_imported_before_the_first_request() -> None:
    script = (
        "import sys, adacoder.models.backends, adacoder.models.catalog\n"
        "from adacoder.models.ollama import OllamaServer\n"
        "OllamaServer(None)\n"
        "print(sorted({'ollama', 'httpx', 'pydantic'} & set(sys.modules)), 'json' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["[]", "True"]


FRESH = """
import asyncio, sys
from adacoder.domain import Message
from adacoder.models.backend import Session
from adacoder.models.backends import open_model
from adacoder.models.base import Ask
from adacoder.settings import Settings

async def main():
    model = await open_model("qwen2.5-coder:7b", Settings(host=sys.argv[1]), Session(), lambda said: None)
    print((await model.reply(Ask((Message("user", "Write f."),), max_tokens=100))).text, end="")
    await model.close()

asyncio.run(main())
"""


@pytest.mark.parametrize(
    "environment",
    [
        {"ALL_PROXY": "socks5://127.0.0.1:9"},
        {"SSL_CERT_FILE": "/nowhere/certificates.pem"},
        {"OLLAMA_HOST": "::1"},
        {"OLLAMA_HOST": "'127.0.0.1:11434'"},
    ],
    ids=str,
)
def test_what_the_package_does_not_understand_of_the_environment_does_no_harm(environment: dict[str, str]) -> None:
    """Importing the library creates a client, and must not fail in any environment."""
    with StandIn([CODE]).in_thread() as server:
        run = subprocess.run(
            [sys.executable, "-c", FRESH, server.host], env=environment, capture_output=True, text=True, check=False
        )
    assert (run.stdout, run.stderr) == (CODE, "")
