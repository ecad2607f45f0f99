"""Estimated durations of replies that were ended early. Ollama reports none for these."""

from __future__ import annotations

import pytest

from adacoder.domain import Ended, Reply
from adacoder.models.served import ServedModel
from adacoder.models.window import Calibration
from support.serving import CODE, ServerKind, ask, every_ollama, model_at, talking, words
from support.standins.server import Script

pytestmark = every_ollama


async def stopped(model: ServedModel) -> Reply:
    reply = await ask(model, words(300), enough=lambda text: "def" in text)
    assert reply.ended is Ended.STOPPED_EARLY
    return reply


async def test_loading_is_not_taken_for_reading(kind: ServerKind) -> None:
    slow = Script(CODE * 3, load=0.3)
    async with talking(kind, [slow, slow]) as (_, model):
        loading, loaded = await stopped(model), await stopped(model)
        assert loading.time is not None
        assert loaded.time is not None
        assert (loading.time.load >= 0.3, loading.time.prompt) == (True, 0.0)
        assert (loaded.time.load, loaded.time.prompt >= 0.3) == (0.0, True)
        assert (loading.tokens.cached, loading.tokens.estimated) == (0, True)


async def test_of_the_time_until_a_loaded_model_answers_its_usual_pace_is_taken_for_reading(kind: ServerKind) -> None:
    calibration = Calibration()
    async with talking(kind, [CODE, Script(CODE * 3, load=0.6)], calibration=calibration) as (server, model):
        read = await ask(model, words(300))
        assert read.time is not None
        await model.close()
        server._loaded.clear()
        other = model_at(server.host, kind=kind, calibration=calibration)
        loading = await stopped(other)
        await other.close()
        assert loading.time is not None
        assert loading.time.prompt == pytest.approx(read.time.prompt, rel=0.05)
        assert loading.time.load >= 0.2
        assert loading.tokens.cached == 0
