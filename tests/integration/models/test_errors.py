"""Messages to the user if Ollama or a model is not available."""

from __future__ import annotations

import pytest

from adacoder.models.errors import BadHost, ModelMissing, NoModel, NotRunning, OtherServer
from support.serving import CODE, CODER, KINDS, ServerKind, ask, every_ollama, model_at, sentence, talking
from support.standins.ollama import Model
from support.standins.server import Script

OLD = KINDS["ollama 0.24"]


def test_no_server_at_the_default_address() -> None:
    assert str(NotRunning("http://127.0.0.1:11434")).startswith(
        "No Ollama server answers at http://127.0.0.1:11434: start it with `ollama serve`"
    )


@pytest.mark.parametrize("host", ["http://[::1", "localhost:99999", "ftp://localhost", "a b", "http://u:p@host"])
async def test_what_is_no_address(host: str) -> None:
    with pytest.raises(BadHost) as caught:
        await ask(model_at(host))
    assert sentence(caught.value, host) == (
        "'HOST' is not an address of an Ollama server: write HOST:PORT or http://HOST:PORT (or https)."
    )


async def test_a_server_that_is_no_ollama() -> None:
    other = {"instead": {"/api/show": Script(status=404, body="404 page not found")}}
    async with talking(OLD, [CODE], stand_in=other) as (server, model):
        with pytest.raises(OtherServer, match=r"is not an Ollama server: name the address of one with --host"):
            await ask(model)
        await server.until_asked("/api/show")
        server.instead = {}
        assert (await ask(model)).text == CODE


@every_ollama
async def test_a_model_that_is_not_installed(kind: ServerKind) -> None:
    others = {"models": (Model("llama3.2:3b"), Model("gemma3:4b"))}
    async with talking(kind, [CODE], stand_in=others) as (server, model):
        with pytest.raises(ModelMissing) as caught:
            await ask(model)
        assert sentence(caught.value, server) == (
            f"The server at HOST has no model '{CODER}': run `ollama pull {CODER}`,"
            " or choose an available one with --model (llama3.2:3b, gemma3:4b)."
        )
        assert server.requests == []
        installed = model_at(server.host, "gemma3:4b", kind=kind)
        assert (await ask(installed)).text == CODE
        await installed.close()


@every_ollama
async def test_a_model_that_is_removed_meanwhile(kind: ServerKind) -> None:
    async with talking(kind, [CODE]) as (server, model):
        await ask(model)
        server.models = ()
        with pytest.raises(ModelMissing, match=f"run `ollama pull {CODER}`"):
            await ask(model)


@every_ollama
async def test_no_model_installed_at_all(kind: ServerKind) -> None:
    async with talking(kind, [CODE], stand_in={"models": ()}) as (server, model):
        with pytest.raises(ModelMissing) as caught:
            await ask(model)
        assert sentence(caught.value, server).endswith(f"run `ollama pull {CODER}`.")


def test_no_model_named() -> None:
    assert "run `ollama pull qwen2.5-coder:7b`" in sentence(NoModel("http://h:1"), "http://h:1")
