"""Invalid data from a server leads to a clear message or the right reply, in little memory. The next request works."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, repeat
from typing import TypeAlias

import pytest

from adacoder.domain import Ended, Reply
from adacoder.models import waiting
from adacoder.models.base import Ask
from adacoder.models.errors import BadReply, CannotConnect, ModelError, ModelMissing, Stalled, TooSlow
from adacoder.models.served import ServedModel
from adacoder.models.server import Deadlines
from support.serving import CODE, CODER, MESSAGES, ServerKind, ask, every_kind, model_at, sentence, talking
from support.standins.server import Script

pytestmark = every_kind
Limit: TypeAlias = Callable[..., None]


@pytest.fixture
def limit_part(monkeypatch: pytest.MonkeyPatch) -> Limit:
    """Return a function that limits the size of a part in bytes."""
    return lambda most: monkeypatch.setattr("adacoder.models.response_guard._LARGEST_PART", most)


def head(kind: ServerKind, *lines: str, status: str = "200 OK") -> bytes:
    """Return the beginning of a streamed response."""
    stream = "application/x-ndjson" if kind.prefix == "ollama" else "text/event-stream"
    return "\r\n".join([f"HTTP/1.1 {status}", *(lines or [f"Content-Type: {stream}"]), "", ""]).encode()


def part(kind: ServerKind, text: str, name: str = "content") -> bytes:
    """Return one part of a stream."""
    if kind.prefix == "ollama":
        message = {"role": "assistant", "content": "", "thinking" if name == "thought" else name: text}
        return json.dumps({"message": message, "done": False}).encode() + b"\n"
    delta = {"reasoning_content" if name == "thought" else name: text}
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


def end(
    kind: ServerKind, prompt: object = 40, completion: object = 3, time: object = None, cached: object = None
) -> bytes:
    """Return the end of a stream, with counts and all durations."""
    if kind.prefix == "ollama":
        counts = {"prompt_eval_count": prompt, "eval_count": completion}
        times = dict.fromkeys(("total_duration", "load_duration", "prompt_eval_duration", "eval_duration"), time)
        message = {"role": "assistant", "content": ""}
        return json.dumps({"message": message, "done": True, "done_reason": "stop", **counts, **times}).encode() + b"\n"
    details = {"cached_tokens": cached}
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "prompt_tokens_details": details}
    timings = dict.fromkeys(("prompt_ms", "predicted_ms"), time)
    chunk = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage, "timings": timings}
    return b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"


def raw(*pieces: bytes, then: Iterable[bytes] = (), pause: float = 0.0) -> Script:
    return Script(raw=chain(pieces, then), pause=pause)


async def test_a_raw_stream_is_read_as_any_other(kind: ServerKind) -> None:
    async with talking(kind, [raw(head(kind), part(kind, "x = "), part(kind, "1"), end(kind))]) as (_, model):
        reply = await ask(model)
        assert (reply.text, reply.ended) == ("x = 1", Ended.STOP)
        assert (reply.tokens.prompt, reply.tokens.completion) == (40, 3)


def _whole(kind: ServerKind) -> bytes:
    return part(kind, "x") + end(kind)


def _beside(kind: ServerKind, line: str) -> bytes:
    """Return the beginning of a stream with one more line."""
    return head(kind).replace(b"\r\n\r\n", f"\r\n{line}\r\n\r\n".encode())


NO_REPLY: Mapping[str, Callable[[ServerKind], Script]] = {
    "headers without end": lambda _: raw(b"HTTP/1.1 200 OK\r\n", then=repeat(b"X-A: " + b"y" * 1000 + b"\r\n")),
    "a line without end": lambda kind: raw(head(kind), then=repeat(b"x" * 4096)),
    "an event without end": lambda kind: raw(head(kind), then=repeat(b"data: " + b"x" * 1000 + b"\r\n")),
    "an error without end": lambda kind: raw(head(kind, status="500 No"), then=repeat(b"x\n\n" * 1000)),
    "a page without end": lambda kind: raw(head(kind, "Content-Type: text/html"), then=repeat(b"<p>\n\n" * 1000)),
    "a compressed stream": lambda kind: raw(_beside(kind, "Content-Encoding: gzip"), gzip.compress(_whole(kind))),
    "too short a length": lambda kind: raw(_beside(kind, "Content-Length: 9"), _whole(kind)),
    "a length below zero": lambda kind: raw(_beside(kind, "Content-Length: -1"), _whole(kind)),
    "chunks that are none": lambda kind: raw(_beside(kind, "Transfer-Encoding: chunked"), b"zz\r\n", _whole(kind)),
    "the beginning of HTTP/2": lambda _: raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "another protocol": lambda _: raw(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "no content": lambda _: raw(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "no text": lambda kind: raw(head(kind, "Content-Type: text/html", "Content-Length: 3"), b"\xff\xfe\x00"),
}


@pytest.mark.parametrize("script", NO_REPLY.values(), ids=NO_REPLY.keys())
async def test_what_is_no_reply(kind: ServerKind, script: Callable[[ServerKind], Script], limit_part: Limit) -> None:
    limit_part(50_000)
    async with talking(kind, [script(kind), CODE]) as (server, model):
        with pytest.raises(BadReply) as caught:
            await ask(model)
        assert "gave no usable reply" in sentence(caught.value, server)
        await server.until_idle()
        assert (await ask(model)).text == CODE


def message(kind: ServerKind, **said: object) -> bytes:
    """Return a part of a stream with this content."""
    if kind.prefix == "ollama":
        told = {
            "message": {"role": "assistant", **said},
            "done": False,
            "eval_count": 7,
            "logprobs": [{"token": "x", "logprob": -0.1}],
        }
        return json.dumps(told).encode() + b"\n"
    return (
        b"data: "
        + json.dumps({"choices": [{"index": 0, "delta": said}], "usage": {"prompt_tokens": 9}}).encode()
        + b"\n\n"
    )


CALL = {"function": {"name": "f", "arguments": {}}}
NO_PROGRESS: Mapping[str, Callable[[ServerKind], bytes]] = {
    "no text": lambda kind: message(kind, content=""),
    "no thought": lambda kind: message(kind, **{"thinking" if kind.prefix == "ollama" else "reasoning": ""}),
    "calls of tools": lambda kind: message(kind, content="", tool_calls=[CALL] if kind.prefix == "ollama" else []),
    "a role": lambda kind: message(kind, role="assistant"),
    "more and more": lambda kind: message(kind, content="", more="x" * 1000),
}


@pytest.mark.parametrize("empty", NO_PROGRESS.values(), ids=NO_PROGRESS.keys())
@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("many", [False, True])
async def test_parts_without_text_or_thought_are_no_progress(
    kind: ServerKind, empty: Callable[[ServerKind], bytes], *, begins: bool, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts without text do not reset a timeout, and their number is limited. A reply may contain some of them."""
    monkeypatch.setattr(waiting, "_MOST_EMPTY", 300 if many else 2000)
    nothing, first = empty(kind), [part(kind, "x")] * begins
    deadlines = Deadlines() if many else Deadlines(first=0.7, next=0.5)
    endless = raw(head(kind), *first, then=repeat(nothing), pause=0.0 if many else 0.01)
    good = raw(head(kind), nothing * 20, part(kind, "x"), nothing * 20, part(kind, "y"), end(kind))
    async with talking(kind, [endless, good], deadlines=deadlines) as (server, model):
        with pytest.raises(BadReply if many else Stalled, match="are empty" if many else "nothing"):
            await ask(model)
        unhurried = model_at(server.host, kind=kind)
        assert (await ask(unhurried)).text == "xy"
        await unhurried.close()


@pytest.mark.parametrize("text", ["\n", " ", "\u200b", "x"])
async def test_a_reply_that_drips_ends(kind: ServerKind, text: str, limit: Limit) -> None:
    limit(longest_writing=1)
    async with talking(kind, [Script(text * 60, token=1, pause=0.1)] * 2, deadlines=Deadlines(next=0.5)) as (_, model):
        with pytest.raises(TooSlow, match=r"was not complete after 0\.5 s"):
            await ask(model)
    patient = Deadlines(next=5.0, whole=60.0)
    async with talking(kind, [Script("xy" * 4, token=1, pause=0.1)], deadlines=patient) as (_, model):
        assert (await ask(model)).text == "xy" * 4


async def test_a_reply_of_more_parts_than_tokens_were_asked_for_ends(kind: ServerKind, limit: Limit) -> None:
    limit(more_parts=10)
    for name in ("content", "thought"):
        endless = raw(head(kind), then=(part(kind, f"{number % 10}", name) for number in range(10**6)))
        async with talking(kind, [endless]) as (_, model):
            with pytest.raises(BadReply, match="does not end"):
                await ask(model, max_tokens=16)


@pytest.mark.parametrize("kind_of_answer", ["application/json", "application/x-ndjson", "text/event-stream"])
async def test_facts_without_end(kind: ServerKind, kind_of_answer: str, limit_part: Limit) -> None:
    limit_part(50_000)
    endless = raw(head(kind, f"Content-Type: {kind_of_answer}"), then=repeat(b"{}\n\n" * 1000))
    async with talking(kind, [CODE], stand_in={"instead": {kind.facts_path: endless}}) as (server, model):
        with pytest.raises(BadReply):
            await ask(model)
        await server.until_idle()
        server.instead = {}
        assert (await ask(model)).text == CODE


async def test_many_parts_may_take_more_than_one(kind: ServerKind, limit_part: Limit) -> None:
    limit_part(5000)
    text = "x = 1\n" * 500
    for packet in (None, 1000):
        async with talking(kind, [Script(text, packet=packet)]) as (_, model):
            assert (await ask(model, max_tokens=4096)).text == text


@pytest.mark.parametrize("name", ["thought", "content"])
async def test_parts_without_end(kind: ServerKind, name: str, limit: Limit) -> None:
    limit(most_characters=2000)
    endless = raw(head(kind), then=repeat(part(kind, "word", name)))
    async with talking(kind, [endless, CODE]) as (server, model):
        with pytest.raises(BadReply, match=r"\(the reply does not end\)"):
            await ask(model)
        await server.until_idle()
        assert (await ask(model)).text == CODE


@pytest.mark.parametrize("number", [-5, 10**400, 2**60], ids=["below zero", "of 400 digits", "of a quintillion"])
async def test_numbers_that_cannot_be_true(kind: ServerKind, number: int) -> None:
    absurd = raw(head(kind), part(kind, CODE), end(kind, number, number, number))
    async with talking(kind, [absurd, CODE]) as (_, model):
        _is_sound(await ask(model))
        _is_sound(await ask(model))


def _is_sound(reply: Reply) -> None:
    assert reply.text == CODE
    assert 0 < reply.tokens.prompt < 1000
    assert 0 < reply.tokens.completion < 1000
    assert 0 <= reply.tokens.cached <= reply.tokens.prompt
    assert reply.time is not None
    times = (reply.time.queue, reply.time.load, reply.time.prompt, reply.time.generation)
    assert all(math.isfinite(time) and time >= 0 for time in times)


@pytest.mark.parametrize("window", [-5, 0, True, 10**400, "many", None, [1]], ids=repr)
async def test_a_window_that_cannot_be_true(kind: ServerKind, window: object) -> None:
    facts = {
        "capabilities": ["completion"],
        "model_info": {"any.context_length": window},
        "data": [{"id": CODER, "max_model_len": window, "meta": {"n_ctx": window}}],
    }
    told = {"instead": {kind.facts_path: Script(body=json.dumps(facts))}}
    async with talking(kind, [CODE], stand_in=told) as (_, model):
        assert (await model.window()).tokens == 8192
        assert (await ask(model)).text == CODE


async def test_a_character_that_a_server_cut_in_two(kind: ServerKind) -> None:
    """In JavaScript, a string can end in half a character. Python cannot encode it."""
    halves = raw(head(kind), part(kind, "a\ud83d"), part(kind, "\udc0db\ud83d"), end(kind))
    seen: list[str] = []
    async with talking(kind, [halves]) as (_, model):
        reply = await ask(model, enough=lambda text: seen.append(text) is not None)
        assert reply.text == "a\U0001f40db\ufffd"
        assert seen == ["a\ufffd", "a\U0001f40db\ufffd"]


async def test_an_encoding_that_json_does_not_have(kind: ServerKind) -> None:
    stream = head(kind).replace(b"\r\n\r\n", b"; charset=iso-8859-1\r\n\r\n")
    text = '"gr\u00f6\u00dfer\u0085"'
    spoken = part(kind, text).replace(json.dumps(text).encode(), json.dumps(text, ensure_ascii=False).encode())
    async with talking(kind, [raw(stream, spoken, end(kind))]) as (_, model):
        assert (await ask(model)).text == text


async def test_a_stream_that_says_it_is_not_compressed(kind: ServerKind) -> None:
    spoken = part(kind, "a\x85").replace(rb"\u0085", "\x85".encode())
    stream = head(kind).replace(b"\r\n\r\n", b"\r\nContent-Encoding: identity\r\n\r\n")
    async with talking(kind, [raw(stream, spoken, end(kind))]) as (server, model):
        assert (await ask(model)).text == "a\x85"
        assert {request.headers["accept-encoding"] for request in server.seen} == {"identity"}


async def test_what_follows_the_end_does_not_count(kind: ServerKind) -> None:
    more = raw(head(kind), part(kind, CODE), end(kind), part(kind, "more"), b"\xff\xfe", end(kind))
    async with talking(kind, [more, CODE]) as (_, model):
        assert (await ask(model)).text == CODE
        assert (await ask(model)).text == CODE


async def test_hints_before_the_response(kind: ServerKind) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    async with talking(kind, [raw(early, head(kind), part(kind, CODE), end(kind))]) as (_, model):
        assert (await ask(model)).text == CODE


async def test_an_error_shows_nothing_that_a_terminal_would_obey(kind: ServerKind) -> None:
    error = json.dumps({"error": "a\x1b[31mb\x07\u202ec\u2028d\ud800e"})
    async with talking(kind, [raw(head(kind, status="500 No"), error.encode())]) as (server, model):
        with pytest.raises(BadReply) as caught:
            await ask(model)
        assert sentence(caught.value, server).isprintable()


async def test_of_many_models_that_are_there_some_are_named(kind: ServerKind) -> None:
    names = ["a\x1b[2J\nb", *(f"model-{number}:7b" for number in range(100))]
    models = tuple(kind.model(name) for name in names)
    async with talking(kind, [CODE], "another", {"models": models}) as (server, model):
        with pytest.raises(ModelMissing) as caught:
            await ask(model)
        text = sentence(caught.value, server)
        assert text.isprintable()
        assert "model-9:7b," in text
        assert text.count("model-") <= 12


async def test_a_server_that_closes_a_connection_as_it_is_used_again(kind: ServerKind) -> None:
    async with talking(kind, [CODE] * 3, stand_in={"requests_a_connection": 1}) as (server, model):
        for _ in range(3):
            assert (await ask(model)).text == CODE
        await server.until_idle()


async def test_a_redirect_is_not_followed_and_a_key_not_taken_there(
    kind: ServerKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kind.kind.key, "secret")
    async with kind.stand_in([CODE]) as elsewhere:
        for status in (301, 307):
            there = elsewhere.host.replace("127.0.0.1", "localhost")
            moved = raw(f"HTTP/1.1 {status} Moved\r\nLocation: {there}\r\nContent-Length: 0\r\n\r\n".encode())
            async with talking(kind, [moved]) as (server, model):
                with pytest.raises(BadReply, match="it redirects to another address"):
                    await ask(model)
                assert server.seen[-1].headers["authorization"] == "Bearer secret"
        assert elsewhere.seen == []


async def test_a_whole_reply_is_what_comes_before_the_chat_as_well(kind: ServerKind) -> None:
    silent = {"instead": {kind.facts_path: Script(load=3600)}}
    async with talking(kind, [CODE], stand_in=silent, deadlines=Deadlines(whole=0.5)) as (server, model):
        with pytest.raises(TooSlow):
            await ask(model)
        await server.until_idle()


@pytest.mark.parametrize("cached", [10**6, -5, "many"])
async def test_no_more_was_read_before_than_was_read(kind: ServerKind, cached: object) -> None:
    async with talking(kind, [raw(head(kind), part(kind, CODE), end(kind, cached=cached))]) as (_, model):
        assert 0 <= (await ask(model)).tokens.cached <= 40


ELSEWHERE = "https://192.0.2.1:8000/v1"
"""An address that nobody uses (RFC 5737)."""
ENVIRONMENTS = {
    "a proxy of another kind": {"ALL_PROXY": "foo://proxy:1080"},
    "a proxy that no library is there for": {"ALL_PROXY": "socks5://proxy:1080"},
    "no list of hosts": {"HTTP_PROXY": "http://proxy:1", "NO_PROXY": "[::1"},
    "certificates that are not there": {"SSL_CERT_FILE": "/nowhere/certificates.pem"},
}


@pytest.fixture
def _every_host_is_private(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every name as one of a private host, without looking it up."""

    async def yes(_: object) -> bool:
        return True

    monkeypatch.setattr("adacoder.models.address.Address.is_private", yes)


@pytest.fixture
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.usefixtures("_clean_environment", "_every_host_is_private")
@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())
async def test_an_environment_that_cannot_be_followed(
    kind: ServerKind, environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    model = model_at(ELSEWHERE, kind=kind)
    with pytest.raises(CannotConnect) as caught:
        await ask(model)
    text = sentence(caught.value, ELSEWHERE)
    assert text.startswith("No connection to HOST is possible (")
    assert text.endswith(
        "): check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR"
        f" and {kind.kind.key} in the environment."
    )
    await model.close()


@pytest.mark.usefixtures("_clean_environment")
@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())
async def test_of_this_machine_it_need_not_be_followed(
    kind: ServerKind, environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    async with talking(kind, [CODE]) as (_, model):
        assert (await ask(model)).text == CODE


@pytest.mark.parametrize("key", ["k\u00e9y", "a\nb"])
async def test_a_key_that_cannot_be_sent(kind: ServerKind, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kind.kind.key, key)
    async with talking(kind, [CODE]) as (server, model):
        with pytest.raises(CannotConnect) as caught:
            await ask(model)
        assert key not in sentence(caught.value, server)
        assert kind.kind.key in str(caught.value)
        assert server.seen == []
        monkeypatch.setenv(kind.kind.key, " key\n")
        assert (await ask(model)).text == CODE
        assert {request.headers["authorization"] for request in server.seen} == {"Bearer key"}


@pytest.mark.usefixtures("_every_host_is_private")
@pytest.mark.parametrize("host", ["http://256.1.1.1:8000", "http://x/\x00", "http://\uff11\uff12\uff17.0.0.1"])
async def test_an_address_that_only_looks_like_one(kind: ServerKind, host: str) -> None:
    model: ServedModel = model_at(host, kind=kind)
    with pytest.raises(ModelError, match=f"is not an address of an {kind.kind.name} server"):
        await model.reply(Ask(MESSAGES, max_tokens=8))
    await model.close()
