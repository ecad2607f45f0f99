"""Prompts that do not fit into the window, as the versions of Ollama handle them."""

from __future__ import annotations

import pytest

from adacoder.domain import Message
from adacoder.models.errors import ContextOverflow
from adacoder.models.window import Calibration
from support.serving import (
    CODE,
    CODER,
    MESSAGES,
    ServerKind,
    ask,
    every_ollama,
    fate,
    model_at,
    sentence,
    talking,
    words,
)
from support.standins.ollama import Model, count_tokens
from support.standins.server import Script

pytestmark = every_ollama
STREAMED = ["request", "first byte", "done"]


@pytest.mark.parametrize("stop_early", [False, True], ids=["read to its end", "stopped early"])
async def test_a_prompt_that_was_cut_silently(kind: ServerKind, stop_early: bool) -> None:
    async with talking(kind, [CODE] * 3, context_tokens=1024) as (server, model):
        assert (await ask(model, words(1010), enough=lambda _: stop_early)).text
        with pytest.raises(ContextOverflow) as caught:
            await ask(model, words(1022), enough=lambda _: stop_early)
        assert sentence(caught.value, server) == (
            f"The prompt does not fit into the context window of '{CODER}': raise --context-tokens,"
            " or choose a model with a larger window."
        )
        assert fate(server, 2) == STREAMED  # the server shows the cut only at the end of a reply
        assert (await ask(model, words(500))).text == CODE


async def test_a_prompt_that_a_model_with_its_own_template_does_not_get(kind: ServerKind) -> None:
    """From Ollama 0.30 on, the engine refuses the prompt. Ollama's error contains the engine's JSON as text."""
    jinja = {"models": (Model(CODER, jinja=True),)}
    async with talking(kind, [CODE] * 3, stand_in=jinja, context_tokens=1024) as (server, model):
        with pytest.raises(ContextOverflow):
            await ask(model, words(1022))
        is_old = server.version == "0.24.0"
        assert fate(server, 1) == (STREAMED if is_old else ["request", "refused"])
        assert (await ask(model, words(500))).text == CODE


async def test_what_a_calibration_learned_of_cut_prompts(kind: ServerKind) -> None:
    """A calibration learns nothing from cut prompts. Otherwise it would expect the next cut."""
    calibration = Calibration()
    async with talking(kind, [CODE] * 3, context_tokens=1024, calibration=calibration) as (_, model):
        await ask(model, words(900))
        learned = calibration.ratio
        with pytest.raises(ContextOverflow):
            await ask(model, words(1022))
        assert calibration.ratio == learned


async def test_a_window_that_the_model_does_not_have(kind: ServerKind) -> None:
    small = {"models": (Model(CODER, context_length=2048),)}
    async with talking(kind, [CODE] * 2, stand_in=small) as (server, model):
        assert (await model.window()).tokens == 2048
        assert (await ask(model, words(2000))).text == CODE
        assert server.requests[0]["options"]["num_ctx"] == 2048
        with pytest.raises(ContextOverflow, match="the model supports no larger window"):
            await ask(model, words(2046))


async def test_a_server_that_has_a_smaller_window_than_it_was_asked_for(kind: ServerKind) -> None:
    async with talking(kind, [CODE] * 2, stand_in={"window": 4096}, context_tokens=16384) as (_, model):
        assert (await ask(model, words(4000))).text == CODE
        with pytest.raises(ContextOverflow):
            await ask(model, words(9000))


async def test_a_server_that_has_a_larger_window_than_it_was_asked_for(kind: ServerKind) -> None:
    """The server saw the whole prompt, which had more tokens than estimated."""
    larger = {"window": 32768}
    counted = Script(CODE, prompt_tokens=1500)
    async with talking(kind, [counted, CODE], stand_in=larger, context_tokens=1024) as (_, model):
        reply = await ask(model, (Message("user", "漢字" * 300),))
        assert (reply.text, reply.tokens.prompt) == (CODE, 1500)


async def test_a_reply_that_goes_on_beyond_the_window_lost_the_prompt(kind: ServerKind) -> None:
    long = Script("a b c d " * 300, token=2)
    async with talking(kind, [long, CODE], context_tokens=1024) as (server, model):
        with pytest.raises(ContextOverflow):
            await ask(model, words(900), max_tokens=2000)
        assert fate(server, 1) == STREAMED
        assert (await ask(model, words(900))).text == CODE


async def test_a_model_that_cannot_go_on_beyond_the_window_ends_there(kind: ServerKind) -> None:
    long = Script("a b c d " * 300, token=2)
    stiff = {"models": (Model(CODER, shifts=False),)}
    async with talking(kind, [long, CODE], stand_in=stiff, context_tokens=1024) as (_, model):
        reply = await ask(model, words(900), max_tokens=2000)
        assert reply.ended.value == "length"
        assert reply.tokens.prompt + reply.tokens.completion == 1024


async def test_a_reply_that_fills_what_is_left_of_the_window_is_a_reply(kind: ServerKind) -> None:
    """The model does not read its own last token again, so this token need not fit into the window."""
    exact, one_too_many = (Script(("a b " * 61)[: 2 * count], token=2) for count in (121, 122))
    async with talking(kind, [exact, one_too_many], context_tokens=1024) as (_, model):
        reply = await ask(model, words(900))
        assert (reply.ended.value, reply.tokens.prompt + reply.tokens.completion) == ("stop", 1025)
        with pytest.raises(ContextOverflow):
            await ask(model, words(900))


async def test_two_requests_with_one_calibration_judge_alike(kind: ServerKind) -> None:
    """If a model is known to count far fewer tokens than estimated, a low count does not mean a cut prompt."""
    calibration = Calibration()
    # 3000 tokens as estimated, 1030 as counted: without the calibration, this looks like half of a window of 2048
    wordy = (Message("user", "internationalisation " * 600),)
    few = Script(CODE, prompt_tokens=1030)
    usual = Script(CODE, prompt_tokens=1060)
    async with talking(kind, [usual, few], calibration=calibration) as (server, model):
        assert (await ask(model, wordy)).text == CODE
        other = model_at(server.host, kind=kind, calibration=calibration)
        assert (await ask(other, wordy)).text == CODE
        await other.close()
    async with talking(kind, [few]) as (_, model):
        with pytest.raises(ContextOverflow):
            await ask(model, wordy)


async def test_the_prompts_of_one_request_have_their_beginning_in_common(kind: ServerKind) -> None:
    """The slot still has the last prompt except its last message."""
    shared = (*MESSAGES, Message("user", "context " * 200))
    async with talking(kind, [CODE] * 3) as (server, model):
        times = [(await ask(model, (*shared, Message("user", f"{'plan ' * 20}{number}")))).time for number in range(3)]
        cold, *warm = (time.prompt for time in times if time is not None)
        assert [cold, *warm] == pytest.approx([count_tokens(server.requests[0]) / 1000, 0.001, 0.001])
