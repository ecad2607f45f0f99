"""What is installed, and what is chosen of it."""

from __future__ import annotations

import pytest

from adacoder.models.base import BadReply, NotRunning
from adacoder.models.catalog import choose, installed, version
from standin_ollama import Model, Script, StandIn


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["qwen2.5-coder:7b"], "qwen2.5-coder:7b"),
        (["qwen2.5-coder:1.5b", "qwen2.5-coder:7b", "qwen2.5-coder:3b"], "qwen2.5-coder:7b"),
        (["llama3.1:8b", "qwen2.5-coder:7b"], "qwen2.5-coder:7b"),
        (["codellama:13b", "qwen2.5-coder:3b"], "qwen2.5-coder:3b"),
        (["deepseek-coder-v2:16b", "qwen2.5-coder:0.5b"], "deepseek-coder-v2:16b"),
        (["qwen2.5-coder:32b", "qwen3-coder:30b"], "qwen2.5-coder:32b"),
        (["qwen2.5-coder:7b-base", "llama3.2:3b"], "llama3.2:3b"),
        (["codellama:13b-python", "codellama:7b-instruct"], "codellama:7b-instruct"),
        (["codegemma:7b-code", "codegemma:2b"], "codegemma:2b"),
        (["starcoder2:15b", "starcoder2:15b-instruct"], "starcoder2:15b-instruct"),
        (["granite-code:8b"], "granite-code:8b"),
        (["team/qwen2.5-coder:7b", "mistral:7b"], "team/qwen2.5-coder:7b"),
        (["own-model:7b"], "own-model:7b"),
        (["own-model:7b", "llama3.2:3b"], "llama3.2:3b"),
        (["qwen3-coder:480b-cloud", "qwen2.5-coder:1.5b"], "qwen2.5-coder:1.5b"),
        (["qwen3-coder:480b-cloud"], None),
        (["nomic-embed-text:latest", "all-minilm:22m", "bge-m3:567m", "mxbai-embed-large:335m"], None),
        (["qwen2.5-coder:7b-base", "starcoder2:3b"], None),
        ([], None),
    ],
)
async def test_the_best_code_model_is_chosen(names: list[str], chosen: str | None) -> None:
    async with StandIn(models=[Model(name, parameter_size="") for name in names]) as server:
        best = choose(await installed(server.host))
        assert (best.name if best else None) == chosen
        await server.until_idle()


async def test_the_size_that_a_server_states_counts() -> None:
    models = (Model("qwen2.5-coder:small", parameter_size="494.03M"), Model("qwen2.5-coder:latest"))
    async with StandIn(models=models) as server:
        assert [round(model.billions, 2) for model in await installed(server.host)] == [0.49, 7.6]


async def test_a_model_that_runs_elsewhere_is_known_by_its_host() -> None:
    models = (Model("big:latest", remote_host="https://ollama.com"), Model("small:latest"))
    async with StandIn(models=models) as server:
        assert [model.cloud for model in await installed(server.host)] == [True, False]


async def test_a_server_tells_its_version() -> None:
    async with StandIn(version="0.33.0") as server:
        assert await version(server.host) == "0.33.0"
        await server.until_idle()


async def test_what_is_no_ollama_is_told() -> None:
    async with StandIn(instead={"/api/tags": Script(body="<html>")}) as server:
        with pytest.raises(BadReply):
            await installed(server.host)
    with pytest.raises(NotRunning):
        await version(server.host)
