"""Open models on a stand-in for OpenAI-compatible servers, which can imitate several engines."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from adacoder.domain import Message
from adacoder.models.errors import ModelError
from adacoder.models.served import ServedModel
from adacoder.models.server import Deadlines
from support.serving import CODER, KINDS, MESSAGES, ask, model_at, talking
from support.standins.openai import Model
from support.standins.server import Replies

KIND = KINDS["openai"]
THINKER = Model("qwen3:8b", thinks=True)
AT_ONCE = Deadlines(connect=5.0, busy=())


def model_of(url: str) -> ServedModel:
    return model_at(url, kind=KIND, deadlines=AT_ONCE)


def chatting(
    replies: Replies, name: str = CODER, **stand_in: Any
) -> AbstractAsyncContextManager[tuple[Any, ServedModel]]:
    """Start a stand-in with two models, of which one thinks. Yield the stand-in and its model `name`."""
    stand_in = {"models": (Model(CODER), THINKER), **stand_in}
    return talking(KIND, replies, name, stand_in, deadlines=AT_ONCE)


async def trouble(model: ServedModel, messages: tuple[Message, ...] = MESSAGES) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(model, messages)
    return caught.value
