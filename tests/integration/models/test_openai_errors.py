"""Error messages of OpenAI-compatible engines, each in its own wording."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adacoder.models.errors import (
    BadReply,
    Busy,
    ContextOverflow,
    Denied,
    ModelError,
    ModelMissing,
)
from support.engines import chatting, model_of, trouble
from support.serving import CODE, CODER, ask, sentence, words
from support.standins.openai import Engine, Model, StandIn
from support.standins.server import Script

ERRORS: dict[str, tuple[int, object, type[ModelError], str]] = {
    "vLLM, of a prompt that is too long": (
        400,
        {
            "error": {
                "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            }
        },
        ContextOverflow,
        "raise --context-tokens",
    ),
    "an older vLLM": (
        400,
        {"object": "error", "message": "This model's maximum context length is 4096 tokens.", "code": 400},
        ContextOverflow,
        "raise --context-tokens",
    ),
    "SGLang": (
        400,
        {"object": "error", "message": "The input (9000 tokens) is longer than the model's context length (8192)."},
        ContextOverflow,
        "raise --context-tokens",
    ),
    "llama.cpp": (
        400,
        {"error": {"code": 400, "message": "the request is too long", "type": "exceed_context_size_error"}},
        ContextOverflow,
        "raise --context-tokens",
    ),
    "what OpenAI calls it": (
        400,
        {"error": {"message": "Too long.", "type": "invalid_request_error", "code": "context_length_exceeded"}},
        ContextOverflow,
        "raise --context-tokens",
    ),
    "vLLM, of a model that it lost": (
        404,
        {"error": {"message": f"The model `{CODER}` does not exist.", "type": "NotFoundError", "code": 404}},
        ModelMissing,
        f"The server at HOST has no model '{CODER}': serve it there, or choose an available one with --model (",
    ),
    "llama.cpp, of a model that it cannot find": (
        400,
        {"error": {"code": 400, "message": f"model '{CODER}' not found", "type": "invalid_request_error"}},
        ModelMissing,
        "serve it there",
    ),
    "LM Studio, of no model": (
        404,
        {"error": {"message": "No models loaded. Please load a model in the developer page.", "param": "model"}},
        ModelMissing,
        "serve it there",
    ),
    "what OpenAI calls a missing model": (
        400,
        {"error": {"message": "No.", "type": "invalid_request_error", "code": "model_not_found"}},
        ModelMissing,
        "serve it there",
    ),
    "a rate limit": (429, {"error": {"message": "Slow down."}}, Busy, "has too many requests waiting"),
    "vLLM, without a key": (
        401,
        {"error": "Unauthorized"},
        Denied,
        "The server at HOST denies access (HTTP 401): set OPENAI_API_KEY,",
    ),
    "a gateway": (403, "<html>Forbidden</html>", Denied, "denies access (HTTP 403)"),
    "FastAPI, of a request it does not understand": (
        422,
        {"detail": "stream_options: Extra inputs are not permitted"},
        BadReply,
        "(stream_options: Extra inputs are not permitted)",
    ),
    "LM Studio, in one word": (400, {"error": "Crashed."}, BadReply, "(Crashed)"),
    "plain text": (500, "Internal Server Error", BadReply, "(Internal Server Error)"),
    "a list": (500, ["no"], BadReply, "(['no'])"),
    "nothing": (500, "", BadReply, "(HTTP 500)"),
}


@pytest.mark.parametrize(("status", "body", "kind", "says"), ERRORS.values(), ids=ERRORS.keys())
async def test_errors(status: int, body: object, kind: type[ModelError], says: str) -> None:
    script = Script(status=status, body=body if isinstance(body, str) else json.dumps(body))
    async with chatting(lambda _: script) as (server, model):
        error = await trouble(model)
        assert type(error) is kind
        assert says in sentence(error, server)


async def test_a_prompt_of_which_only_the_stream_says_that_it_is_too_long() -> None:
    small: dict[str, Any] = {"models": (Model(CODER, 64),), "engine": Engine.LM_STUDIO}
    async with chatting([CODE] * 2, **small) as (_, model):
        assert isinstance(await trouble(model, words(100)), ContextOverflow)
        assert (await ask(model, words(10))).text == CODE


@pytest.mark.parametrize(
    "answer",
    ["[]", '"models"', '{"data": "none"}', '{"error": "Unexpected endpoint."}', "<html>Welcome to the router</html>"],
)
async def test_a_list_of_models_that_is_none(answer: str) -> None:
    async with chatting([CODE], instead={"/v1/models": Script(body=answer)}) as (server, model):
        assert isinstance(await trouble(model), BadReply)
        assert server.requests == []


@pytest.mark.parametrize(
    "event", ["[]", "3", '{"choices": 3}', '{"choices": [3]}', '{"choices": [{"delta": []}]}', "{"]
)
async def test_events_of_another_shape(event: str) -> None:
    class Odd(StandIn):
        def _reply(self, *_: Any, **__: Any) -> Any:
            return [f"data: {event}\n\n"], {}

    async with Odd([CODE]) as server:
        model = model_of(server.host)
        error = await trouble(model)
        await model.close()
        assert isinstance(error, BadReply)
