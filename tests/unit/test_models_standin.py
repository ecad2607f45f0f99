"""The stand-in itself: what tests of other processes rely on."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path

import pytest

from standin_ollama import Ending, Model, Script, StandIn, read_replies

TESTS = Path(__file__).parents[1]


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
        ("POST", "/api/chat", {**CHAT, "think": True}, 400, "does not support thinking"),
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
    command = [sys.executable, "-m", "standin_ollama", "--replies", str(replies), "--model", "own:1b"]
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
