"""Behaviour of the stand-in that other tests rely on."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from adacoder.domain import Ended
from adacoder.models.errors import Stalled
from adacoder.models.ollama import OllamaServer
from adacoder.models.server import Deadlines
from support.paths import TESTS
from support.serving import CODER, ask, model_at
from support.standins.ollama import Model, Script, StandIn, read_replies
from support.standins.server import Ending


def get(host: str, method: str, path: str, body: object = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection(host.removeprefix("http://"), timeout=20)
    try:
        connection.request(method, path, json.dumps(body) if body else None)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


CHAT = {"model": "qwen2.5-coder:7b", "messages": [{"role": "user", "content": "Write f."}]}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("GET", "/", None, 200, "Ollama is running"),
        ("GET", "/api/version", None, 200, '{"version":"0.24.0"}'),
        ("GET", "/api/tags", None, 200, '"name":"qwen2.5-coder:7b"'),
        ("POST", "/api/show", {"model": "qwen2.5-coder:7b"}, 200, '"capabilities":["completion"]'),
        ("POST", "/api/show", {"model": "none"}, 404, "model 'none' not found"),
        ("POST", "/api/chat", {"model": "none"}, 404, "model 'none' not found"),
        ("POST", "/api/chat", None, 400, "missing request body"),
        ("POST", "/api/chat", {"messages": []}, 400, "model is required"),
        ("POST", "/api/chat", {**CHAT, "think": True}, 400, "does not support thinking"),
        ("POST", "/api/chat", {**CHAT, "think": "low"}, 400, "does not support thinking"),
        ("POST", "/api/chat", {**CHAT, "think": False}, 200, '"done":true'),
        ("POST", "/api/chat", {**CHAT, "tools": [{}]}, 400, "library/qwen2.5-coder:7b does not support tools"),
        (
            "POST",
            "/api/chat",
            {**CHAT, "options": {"num_ctx": "8"}},
            500,
            'option \\"num_ctx\\" must be of type integer',
        ),
        ("POST", "/api/chat", {**CHAT, "options": {"no_such": 8}}, 200, '"done":true'),
        ("POST", "/api/chat", {**CHAT, "keep_alive": "5 minutes"}, 400, "time: "),
        ("POST", "/api/chat", {**CHAT, "stream": False}, 200, '"content":"def f(): ..."},"done":true'),
        ("POST", "/api/chat", CHAT, 200, '"done":true,"done_reason":"stop"'),
        ("GET", "/api/chat", None, 405, "405 method not allowed"),
        ("GET", "/api/other", None, 404, "404 page not found"),
    ],
)
def test_it_speaks_as_ollama_does(method: str, path: str, body: object, status: int, says: str) -> None:
    with StandIn(["def f(): ..."]).in_thread() as server:
        got, text = get(server.host, method, path, body)
    assert got == status
    assert says in text


def test_what_is_loaded_shows_after_the_first_chat() -> None:
    with StandIn(["def f(): ..."]).in_thread() as server:
        assert get(server.host, "GET", "/api/ps")[1] == '{"models":[]}'
        get(server.host, "POST", "/api/chat", {**CHAT, "options": {"num_ctx": 2048}})
        assert '"context_length":2048' in get(server.host, "GET", "/api/ps")[1]


def test_a_chat_without_messages_loads_and_unloads() -> None:
    empty = {"model": "qwen2.5-coder:7b", "messages": [], "options": {"num_ctx": 2048}}
    with StandIn().in_thread() as server:
        assert '"done":true,"done_reason":"load"' in get(server.host, "POST", "/api/chat", empty)[1]
        assert '"context_length":2048' in get(server.host, "GET", "/api/ps")[1]
        unload = {**empty, "keep_alive": 0}
        assert '"done":true,"done_reason":"unload"' in get(server.host, "POST", "/api/chat", unload)[1]
        assert get(server.host, "GET", "/api/ps")[1] == '{"models":[]}'
        assert server.events == ["request 1", "load 1", "request 2"]


@pytest.mark.parametrize(
    ("script", "status", "says"),
    [
        (Script("def f", ending=Ending.EOF), 200, '"content":"def f"},"done":false'),
        (Script("def f", ending=Ending.ERROR, error="unexpected EOF"), 500, '{"error":"unexpected EOF"}'),
        (Script("a" * 32, token=1), 200, f'"content":"{"a" * 31}"}},"done":false'),
        (Script("a" * 31, token=1), 200, '"done":true'),
        (Script("a " + "a" * 30, token=1), 200, '"done":true'),
        (Script("b " + "\n " * 16, token=1), 200, '"done":false'),
    ],
)
def test_how_a_reply_that_is_no_stream_ends(script: Script, status: int, says: str) -> None:
    with StandIn([script]).in_thread() as server:
        got, text = get(server.host, "POST", "/api/chat", {**CHAT, "stream": False})
    assert (got, says in text) == (status, True)


MANY = [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": "old " * 50},
    {"role": "assistant", "content": "older " * 20},
    {"role": "user", "content": "new " * 10},
]
LONG = [{"role": "user", "content": "word " * 200}]
REFUSED = "exceeds the available context size (64 tokens)"


@pytest.mark.parametrize(
    ("version", "messages", "asks", "status", "says"),
    [
        # The part that fits is read: the system message, 24 tokens of the assistant and 14 of the user.
        ("0.24.0", MANY[:1] + MANY[2:], {}, 200, '"prompt_eval_count":43'),
        ("0.24.0", MANY, {}, 200, '"prompt_eval_count":43'),
        ("0.33.0", MANY, {}, 200, '"prompt_eval_count":43'),
        ("0.24.0", LONG, {}, 200, '"prompt_eval_count":64'),
        ("0.33.0", LONG, {}, 200, '"prompt_eval_count":34'),
        ("0.24.0", LONG, {"truncate": False}, 400, "the input length exceeds the context length"),
        ("0.33.0", LONG, {"truncate": False}, 400, REFUSED),
        ("0.24.0", LONG, {"shift": False}, 200, '"prompt_eval_count":64'),
        ("0.33.0", LONG, {"shift": False}, 400, "the prompt is longer than the context length currently available"),
    ],
)
def test_how_a_prompt_is_cut(
    version: str, messages: list[object], asks: dict[str, object], status: int, says: str
) -> None:
    with StandIn(["ok"], version=version).in_thread() as server:
        chat = {**CHAT, "messages": messages, "options": {"num_ctx": 64}, **asks}
        got, text = get(server.host, "POST", "/api/chat", chat)
    assert (got, says in text) == (status, True), text


@pytest.mark.parametrize(("version", "status"), [("0.24.0", 200), ("0.33.0", 400)])
def test_a_model_without_a_template_of_ollamas_refuses_in_its_engines_words(version: str, status: int) -> None:
    models = (Model("qwen2.5-coder:7b", jinja=True),)
    with StandIn(["ok"], models=models, version=version).in_thread() as server:
        got, text = get(server.host, "POST", "/api/chat", {**CHAT, "messages": LONG, "options": {"num_ctx": 64}})
    assert got == status
    if status == 400:
        assert REFUSED in json.loads(json.loads(text)["error"])["error"]["message"]


def test_a_model_goes_on_beyond_its_window_unless_it_is_told_not_to() -> None:
    chat = {**CHAT, "options": {"num_ctx": 16}}
    with StandIn(lambda _: Script("ab" * 20, token=1)).in_thread() as server:
        goes_on = get(server.host, "POST", "/api/chat", chat)[1]
        ends = get(server.host, "POST", "/api/chat", {**chat, "shift": False})[1]
    assert '"done_reason":"stop"' in goes_on
    assert '"eval_count":40' in goes_on
    assert '"done_reason":"length"' in ends
    assert '"eval_count":9' in ends


def test_zeros_are_left_out() -> None:
    with StandIn(lambda _: Script("", prompt_tokens=0)).in_thread() as server:
        get(server.host, "POST", "/api/chat", CHAT)
        text = get(server.host, "POST", "/api/chat", CHAT)[1]
    assert '"done":true' in text
    assert '"prompt_eval_duration"' in text
    assert not any(name in text for name in ("load_duration", "eval_count", '"eval_duration"'))


def test_line_ends_of_other_scripts_are_escaped_but_one() -> None:
    with StandIn(["\x85\u2028\u2029<&>"]).in_thread() as server:
        text = get(server.host, "POST", "/api/chat", CHAT)[1]
    assert "\x85\\u2028\\u2029\\u003c\\u0026\\u003e" in text


def test_a_request_that_names_where_to_stop_replaces_what_the_model_says() -> None:
    models = (Model("qwen2.5-coder:7b", stop=("B",)),)
    with StandIn(lambda _: Script("aBcDe", token=1), models=models).in_thread() as server:
        shown = get(server.host, "POST", "/api/show", CHAT)[1]
        own = get(server.host, "POST", "/api/chat", CHAT)[1]
        named = get(server.host, "POST", "/api/chat", {**CHAT, "options": {"stop": ["D"]}})[1]
    assert json.loads(shown)["parameters"].split() == ["stop", '"B"']
    assert '"content":"a"' in own
    assert '"content":"B"' not in own
    assert '"content":"c"' in named
    assert '"content":"D"' not in named


def test_a_reply_too_many_is_an_error_that_says_so() -> None:
    with StandIn(["one"]).in_thread() as server:
        assert get(server.host, "POST", "/api/chat", CHAT)[0] == 200
        status, text = get(server.host, "POST", "/api/chat", CHAT)
    assert (status, "the stand-in has no reply number 2" in text) == (500, True)


def test_replies_may_follow_from_the_request() -> None:
    models = (Model("a:latest"), Model("b:latest"))
    with StandIn(lambda body: f"I am {body['model']}", models=models).in_thread() as server:
        assert "I am b" in get(server.host, "POST", "/api/chat", {**CHAT, "model": "b"})[1]


def test_thinking_takes_its_tokens_from_the_reply() -> None:
    script = Script("text", thinking="thought", token=4)
    thinker = Model("qwen2.5-coder:7b", ("completion", "thinking"))
    with StandIn([script] * 2, models=(thinker,)).in_thread() as server:
        limited = {**CHAT, "options": {"num_predict": 2}}
        thinking = get(server.host, "POST", "/api/chat", limited)[1]
        plain = get(server.host, "POST", "/api/chat", {**limited, "think": False})[1]
    assert '"thinking":"thou"' in thinking
    assert '"content":"text"' not in thinking
    assert '"done_reason":"length"' in thinking
    assert '"content":"text"' in plain


def test_it_serves_other_processes(tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    replies.write_text('"def f(): ..."\n\n{"text": "def", "ending": "eof", "token": 3}\n')
    assert read_replies(replies) == ["def f(): ...", Script("def", ending=Ending.EOF, token=3)]
    command = [sys.executable, "-m", "support.standins.ollama", "--replies", str(replies), "--model", "own:1b"]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            host = process.stdout.readline().strip()
            assert '"name":"own:1b"' in get(host, "GET", "/api/tags")[1]
            chat = {**CHAT, "model": "own:1b"}
            assert '"done":true' in get(host, "POST", "/api/chat", chat)[1]
            assert '"done":true' not in get(host, "POST", "/api/chat", chat)[1]
        finally:
            process.terminate()


async def test_when_a_model_goes_is_set_as_its_last_request_goes() -> None:
    async with StandIn(lambda _: Script("x = 1\n" * 30, token=6, pause=0.02)) as standin:
        server, models = OllamaServer(standin.host), [model_at(standin.host) for _ in range(2)]

        async def until() -> datetime | None:
            loaded = await server.loaded(CODER)
            return loaded.until if loaded else None

        first = asyncio.create_task(ask(models[0]))
        await standin.until("first byte 1")
        assert await until() != await until()  # the model was never idle
        await first
        await standin.until_idle()
        idle = await until()
        assert idle == await until() is not None
        talking = [asyncio.create_task(ask(model)) for model in models]
        await standin.until("first byte 2")
        await standin.until("request 3")
        assert await until() == idle
        talking[0].cancel()
        await standin.until("first byte 3")
        assert await until() == idle
        talking[1].cancel()
        await standin.until("disconnected 3")
        assert await until() not in (idle, None)
        await server.aclose()
        for model in models:
            await model.close()


async def test_unloading_ends_no_reply_and_takes_nothing_from_who_waits() -> None:
    async with StandIn(lambda _: Script("x = 1\n" * 20, token=6, pause=0.02)) as standin:
        server, models = OllamaServer(standin.host), [model_at(standin.host) for _ in range(2)]
        talking = [asyncio.create_task(ask(model)) for model in models]
        await standin.until("first byte 1")
        await standin.until("request 2")
        await server.unload(CODER)
        assert await server.loaded(CODER)
        assert [(await each).text for each in talking] == ["x = 1\n" * 20] * 2
        assert await server.loaded(CODER) is None
        await server.aclose()
        for model in models:
            await model.close()


@pytest.mark.parametrize("wedges", [True, False])
async def test_an_abandoned_stream_may_hold_the_slot_until_the_model_is_unloaded(*, wedges: bool) -> None:
    replies = Script("x = 1\n" * 20, token=6, pause=0.02)
    patient = Deadlines(first=3.0)  # too short a limit for AdaCoder to look for the cause of the delay
    async with StandIn(lambda _: replies, wedges=lambda: wedges) as standin:
        server, model = OllamaServer(standin.host), model_at(standin.host, deadlines=patient)
        assert (await ask(model, enough=lambda _: True)).ended is Ended.STOPPED_EARLY
        if wedges:
            with pytest.raises(Stalled):
                await ask(model)
            assert await server.loaded(CODER)
            await server.unload(CODER)
            assert await server.loaded(CODER) is None
        assert (await ask(model)).text == replies.text
        await model.close()
        await server.aclose()
