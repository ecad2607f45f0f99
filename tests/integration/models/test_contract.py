"""Requirements for every model server: the content of requests and answers, and no work after the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import Ended, Message
from adacoder.models.base import Ask, Leases
from adacoder.models.errors import ContextOverflow, TooSlow
from adacoder.models.served import ServedModel
from adacoder.models.server import Deadlines
from support.serving import (
    CODE,
    CODER,
    MESSAGES,
    ServerKind,
    ask,
    every_kind,
    fate,
    model_at,
    sentence,
    settings_of,
    talking,
    words,
)
from support.standins.ollama import count_tokens
from support.standins.server import Ending, Script

pytestmark = every_kind


async def test_a_reply_comes_whole_with_the_servers_counts(kind: ServerKind) -> None:
    async with talking(kind, [Script(CODE, token=9)]) as (server, model):
        reply = await ask(model)
        assert reply.text == CODE
        assert reply.ended is Ended.STOP
        assert (reply.tokens.prompt, reply.tokens.completion) == (count_tokens(server.requests[0]), 3)
        assert not reply.tokens.estimated
        assert reply.time is not None
        assert fate(server, 1) == ["request", "first byte", "done"]
        assert model.name == f"{kind.prefix}:{CODER}"


async def test_a_request_asks_the_same_way_each_time(kind: ServerKind) -> None:
    """A server may load the model again if an option changes, and reads the prompt again if its beginning changes."""
    async with talking(kind, [CODE] * 3, seed=7) as (server, model):
        for last in ("Write it.", "Write it after this plan.", "Plan."):
            await ask(model, (*MESSAGES, Message("user", last)))
        first, *others = server.requests
        for other in others:
            assert settings_of(other) == settings_of(first)
            assert other["messages"][:-1] == first["messages"][:-1]
        assert first["messages"] == [
            *({"role": one.role, "content": one.content} for one in MESSAGES),
            {"role": "user", "content": "Write it."},
        ]
        assert [event for event in server.events if event.startswith("load")] in ([], ["load 1"])
        assert [request.path for request in server.seen].count(kind.facts_path) == 1


async def test_what_the_server_had_read_before_is_counted_as_cached(kind: ServerKind) -> None:
    shared, rest = "word " * 300, "other " * 40
    async with talking(kind, [CODE] * 3) as (_, model):
        first = await ask(model, (Message("user", shared + rest),))
        second = await ask(model, (Message("user", shared + "new " * 40),))
        third = await ask(model, (Message("user", f"Otherwise. {shared}"),))
        assert first.tokens.cached == 0
        assert 250 <= second.tokens.cached <= 304
        assert third.tokens.cached <= 4  # the tokens of the template before the first word


async def test_the_prompt_of_a_reply_that_is_ended_early_is_measured_by_what_was_counted(kind: ServerKind) -> None:
    def prompt(last: str) -> tuple[Message, ...]:
        return (Message("user", "statement " * 300 + last),)

    async with talking(kind, [CODE * 3] * 3) as (server, model):
        unknown = await ask(model, prompt("a"), enough=lambda text: "def" in text)
        counted = await ask(model, prompt("b"))
        known = await ask(model, prompt("c"), enough=lambda text: "def" in text)
        assert (unknown.tokens.estimated, counted.tokens.estimated, known.tokens.estimated) == (True, False, True)
        assert counted.tokens.prompt == count_tokens(server.requests[1])
        # the planned number and the usual number would be far off
        assert known.tokens.prompt == pytest.approx(counted.tokens.prompt, rel=0.01)
        assert unknown.tokens.prompt > 1.5 * counted.tokens.prompt


async def test_enough_ends_the_generation_at_once(kind: ServerKind) -> None:
    endless = Script(CODE * 1000, token=len(CODE), pause=0.01)
    async with talking(kind, [endless, CODE]) as (server, model):
        grown: list[str] = []

        def enough(text: str) -> bool:
            grown.append(text)
            return text.count("def") == 3

        reply = await ask(model, enough=enough, max_tokens=5000)
        assert reply.text == CODE * 3
        assert grown == [CODE, CODE * 2, CODE * 3]
        assert reply.ended is Ended.STOPPED_EARLY
        assert reply.tokens.estimated
        assert reply.tokens.prompt > 0
        assert reply.tokens.completion > 0
        await server.until("disconnected 1")
        assert (await ask(model)).text == CODE
        assert server.events.index("disconnected 1") < server.events.index("first byte 2")
        assert fate(server, 1) == ["request", "first byte", "disconnected"]


async def test_an_error_of_the_watcher_goes_through_and_closes_the_connection(kind: ServerKind) -> None:
    async with talking(kind, [Script(CODE * 1000, pause=0.01), CODE]) as (server, model):
        with pytest.raises(ZeroDivisionError):
            await ask(model, enough=lambda text: 1 // 0 == 1, max_tokens=5000)
        await server.until("disconnected 1")
        assert (await ask(model)).text == CODE


CUT_SHORT = {
    "while it loads": (Script(CODE, load=3600), "request 1", ["request", "disconnected"]),
    "while it is silent": (
        Script(CODE, ending=Ending.STALL),
        "first byte 1",
        ["request", "first byte", "disconnected"],
    ),
    "while it writes": (Script(CODE * 1000, pause=0.01), "first byte 1", ["request", "first byte", "disconnected"]),
    "while it has too much to do": (Script(status=503, error="server busy"), "refused 1", ["request", "refused"]),
}


@pytest.mark.parametrize(("script", "when", "events"), CUT_SHORT.values(), ids=CUT_SHORT.keys())
async def test_cancelling_closes_the_connection(kind: ServerKind, script: Script, when: str, events: list[str]) -> None:
    async with talking(kind, [script, CODE], deadlines=Deadlines(busy=(3600,))) as (server, model):
        asking = asyncio.create_task(model.reply(Ask(MESSAGES, max_tokens=5000)))
        await server.until(when)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await server.until(f"{events[-1]} 1")
        assert fate(server, 1) == events
        assert (await ask(model)).text == CODE


async def test_nothing_stays_open_however_often_it_is_cancelled(kind: ServerKind) -> None:
    """Closing a connection takes time, and can itself be cancelled."""
    async with talking(kind, [Script(CODE, ending=Ending.STALL)]) as (server, model):
        asking = asyncio.create_task(ask(model))
        await server.until("first byte 1")
        for _ in range(3):
            asking.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await asking
        closing = asyncio.create_task(model.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        await server.until_idle()


async def test_whenever_it_is_cancelled_nothing_is_left_behind(kind: ServerKind) -> None:
    leases = Leases()

    async def request(model: ServedModel) -> None:
        async with leases.lease(model.lease_key, pytest.fail):
            await ask(model)

    async with kind.stand_in(lambda _: Script(CODE, ending=Ending.STALL)) as server:
        for steps in range(60):
            model = model_at(server.host, kind=kind)
            asking = asyncio.create_task(request(model))
            for _ in range(steps):
                await asyncio.sleep(0)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await model.close()
            await server.until_idle()


async def test_cancelling_before_the_model_is_asked(kind: ServerKind) -> None:
    silent = {"instead": {kind.facts_path: Script(load=3600)}}
    async with talking(kind, [CODE], stand_in=silent) as (server, model):
        asking = asyncio.create_task(ask(model))
        await server.until_asked(kind.facts_path)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await server.until_idle()
        server.instead = {}
        assert (await ask(model)).text == CODE
        assert len(server.requests) == 1


async def test_cancelling_leaves_the_servers_queue(kind: ServerKind) -> None:
    async with talking(kind, [Script(CODE, ending=Ending.STALL), CODE]) as (server, model):
        others = model_at(server.host, kind=kind), model_at(server.host, kind=kind)
        first = asyncio.create_task(ask(model))
        await server.until("first byte 1")
        second = asyncio.create_task(ask(others[0]))
        await server.until("request 2")
        third = asyncio.create_task(ask(others[1]))
        await server.until("request 3")
        second.cancel()
        await server.until("disconnected 2")
        first.cancel()
        assert (await third).text == CODE
        assert fate(server, 1) == ["request", "first byte", "disconnected"]
        assert fate(server, 2) == ["request", "disconnected"]
        assert fate(server, 3) == ["request", "first byte", "done"]
        await asyncio.gather(first, second, *(other.close() for other in others), return_exceptions=True)


async def test_a_reply_that_reaches_its_limit_says_so(kind: ServerKind) -> None:
    async with talking(kind, [Script(CODE, token=9)] * 2) as (_, model):
        cut = await ask(model, max_tokens=2)
        assert (cut.text, cut.ended, cut.tokens.completion) == (CODE[:18], Ended.LENGTH, 2)
        assert (await ask(model, max_tokens=3)).ended is Ended.STOP


async def test_a_reply_ends_before_a_text_to_stop_at(kind: ServerKind) -> None:
    async with talking(kind, [f"{CODE}```\nThis adds one."] * 2) as (server, model):
        reply = await ask(model, stop=("\n```\n", "```"))
        assert (reply.text, reply.ended) == (CODE[:-1], Ended.STOP)
        assert settings_of(server.requests[0])["stop"] == ["\n```\n", "```"]
        assert (await ask(model)).text == f"{CODE}```\nThis adds one."
        assert "stop" not in settings_of(server.requests[1])


async def test_a_reply_that_a_server_ended_has_its_counts_with_the_text_it_was_ended_at(kind: ServerKind) -> None:
    async with talking(kind, [Script(f"{CODE}```\nThis adds one.", token=4)] * 2) as (_, model):
        reply = await ask(model, stop=("\n```\n",))
        assert (reply.tokens.estimated, reply.tokens.completion) == (False, -(-len(f"{CODE}```\n") // 4))
        assert (await ask(model, enough=lambda text: "```\n" in text)).tokens.estimated


async def test_more_of_the_same_reply_may_be_asked_for(kind: ServerKind) -> None:
    async with talking(kind, [CODE] * 3, seed=7, temperature=0) as (server, model):
        await ask(model, stop=("\n```\n",))
        await ask(model)
        await ask(model)
        sent = [settings_of(body) for body in server.requests]
        assert [(body["seed"], body["temperature"]) for body in sent] == [(7, 0), (7, 0), (8, 0.2)]


async def test_what_is_asked_again_word_for_word_may_be_answered_otherwise(kind: ServerKind) -> None:
    async with talking(kind, [CODE] * 4, seed=7, temperature=0) as (server, model):
        for messages in (MESSAGES, MESSAGES, MESSAGES[1:], MESSAGES):
            await ask(model, messages)
        sent = [settings_of(body) for body in server.requests]
        assert [body["seed"] for body in sent] == [7, 8, 7, 9]
        assert [body["temperature"] for body in sent] == [0, 0.2, 0, 0.2]


async def test_no_seed_is_sent_where_none_is_set(kind: ServerKind) -> None:
    async with talking(kind, [CODE] * 2) as (server, model):
        await ask(model)
        await ask(model)
        assert not any("seed" in settings_of(body) for body in server.requests)


async def test_counts_that_are_left_out_are_estimated(kind: ServerKind) -> None:
    async with talking(kind, [Script(CODE, prompt_tokens=0)]) as (_, model):
        reply = await ask(model)
        assert reply.tokens.estimated
        assert reply.tokens.prompt > 0
        assert reply.ended is Ended.STOP


async def test_an_empty_reply_is_a_reply(kind: ServerKind) -> None:
    async with talking(kind, [""]) as (_, model):
        reply = await ask(model)
        assert (reply.text, reply.ended) == ("", Ended.STOP)


@pytest.mark.parametrize("packet", [None, 1, 2, 7], ids=["lines", "1 byte", "2 bytes", "7 bytes"])
async def test_text_arrives_as_it_was_written_however_it_is_cut(kind: ServerKind, packet: int | None) -> None:
    text = "a = '\x85'  # NEL, \u2028 and \u2029, \x0b\x0c\x1c\r\n# größer <&> 漢字 \U0001f40d\n"
    async with talking(kind, [Script(text, token=5, packet=packet)]) as (_, model):
        assert (await ask(model)).text == text


@given(text=st.text(st.sampled_from("ab\n\x85\u2028\u2029\xc2é…")), packet=st.integers(1, 5))
async def test_no_character_breaks_the_stream(kind: ServerKind, text: str, packet: int) -> None:
    async with talking(kind, [Script(text, token=3, packet=packet)]) as (_, model):
        assert (await ask(model)).text == text


async def test_a_prompt_with_a_lone_surrogate_is_sent_all_the_same(kind: ServerKind) -> None:
    async with talking(kind, [CODE]) as (server, model):
        await ask(model, (Message("user", "a\ud800b"),))
        assert server.requests[0]["messages"] == [{"role": "user", "content": "a\ufffdb"}]


async def test_thoughts_in_the_text_come_as_they_are(kind: ServerKind) -> None:
    """If a server does not separate thoughts from the text, AdaCoder separates them later."""
    text = f"<think>\nHm.\n</think>\n{CODE}"
    async with talking(kind, [text]) as (_, model):
        assert (await ask(model)).text == text


async def test_a_slow_server_is_not_a_silent_one(kind: ServerKind) -> None:
    slow = Script("def f(): ...", token=4, load=0.05, pause=0.05)
    async with talking(kind, [slow], deadlines=Deadlines(first=10, next=10)) as (server, model):
        assert (await ask(model)).text == slow.text
        assert fate(server, 1) == ["request", "first byte", "done"]


async def test_a_server_with_too_much_to_do_is_asked_again(kind: ServerKind) -> None:
    busy = Script(status=503, error="server busy, please try again.  maximum pending requests exceeded")
    heard: list[str] = []
    patient: dict[str, Any] = {"deadlines": Deadlines(busy=(0.01, 0.02, 0.03)), "on_wait": heard.append}
    async with talking(kind, [busy, busy, CODE], seed=7, **patient) as (server, model):
        assert (await ask(model)).text == CODE
        assert [fate(server, number) for number in (1, 2, 3)] == [
            ["request", "refused"],
            ["request", "refused"],
            ["request", "first byte", "done"],
        ]
        assert server.requests[0] == server.requests[1] == server.requests[2]
        assert [said for said in heard if not said.startswith("loading")] == [
            "the server has too many requests waiting, asking again in 0.01 s",
            "the server has too many requests waiting, asking again in 0.02 s",
        ]


@pytest.mark.parametrize(
    "script",
    [Script(CODE, load=3600), Script(CODE, ending=Ending.STALL), Script(CODE * 1000, pause=0.01)],
    ids=["while it loads", "while it is silent", "while it writes"],
)
async def test_a_reply_that_takes_longer_than_the_user_allows(kind: ServerKind, script: Script) -> None:
    async with talking(kind, [CODE, script, CODE], deadlines=Deadlines(whole=0.5)) as (server, model):
        await model.window()  # its library is imported here
        await ask(model)
        with pytest.raises(TooSlow) as caught:
            await ask(model, max_tokens=5000)
        assert sentence(caught.value, server) == (
            f"The reply of '{CODER}' was not complete after 0.5 s: raise --reply-timeout,"
            " or choose a smaller model with --model."
        )
        await server.until("disconnected 2")
        assert (await ask(model)).text == CODE


async def test_a_time_out_of_the_watcher_is_its_own(kind: ServerKind) -> None:
    def enough(text: str) -> bool:
        raise TimeoutError

    async with talking(kind, [CODE]) as (_, model):
        with pytest.raises(TimeoutError):
            await ask(model, enough=enough)


async def test_a_prompt_that_certainly_does_not_fit_is_not_sent(kind: ServerKind) -> None:
    async with talking(kind, [CODE], context_tokens=1024) as (server, model):
        with pytest.raises(ContextOverflow):
            await ask(model, words(1025))
        assert server.requests == []
        assert (await ask(model, words(500))).text == CODE


async def test_a_prompt_of_which_messages_might_be_dropped_is_not_sent(kind: ServerKind) -> None:
    """A server may silently drop some of many messages, without a change in its counts."""
    chat = (MESSAGES[0], *(Message(role, "word " * 100) for role in ("user", "assistant", "user")))
    async with talking(kind, [CODE], context_tokens=310) as (server, model):
        with pytest.raises(ContextOverflow):
            await ask(model, chat)
        assert server.requests == []
        assert (await ask(model, (chat[0], chat[-1]))).text == CODE


async def test_a_prompt_that_only_might_not_fit_accuses_nobody(kind: ServerKind) -> None:
    async with talking(kind, [CODE], context_tokens=1024) as (_, model):
        assert (await ask(model, (Message("user", "x" * 9000),))).tokens.prompt == 5


async def test_a_proxy_does_not_come_between_this_machine_and_itself(
    kind: ServerKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with talking(kind, [CODE]) as (_, model):
        assert (await ask(model)).text == CODE
