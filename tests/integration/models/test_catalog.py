"""Installed and loaded models, their abilities, and the choice among them."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from adacoder.models import catalog
from adacoder.models.catalog import best, described, find, installed, running, version
from adacoder.models.errors import BadReply, NotRunning
from adacoder.models.server import Thinking
from support.standins.ollama import Model, Script, StandIn

GIGABYTE = 10**9


def tags(*models: tuple[str, float]) -> Script:
    """Return an answer of `/api/tags` with these names and sizes in GB."""
    entries = [{"name": name, "size": int(size * GIGABYTE), "details": {}} for name, size in models]
    return Script(body=json.dumps({"models": entries}))


def processes(*models: dict[str, object]) -> Script:
    """Return an answer of `/api/ps`."""
    return Script(body=json.dumps({"models": models}))


def shown(standin: StandIn) -> list[object]:
    """Return the models that requests to a server have named."""
    return [request.body["model"] for request in standin.seen if request.path == "/api/show"]


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["qwen2.5-coder:7b"], "qwen2.5-coder:7b"),
        (["qwen2.5-coder:1.5b", "qwen2.5-coder:7b", "qwen2.5-coder:3b"], "qwen2.5-coder:7b"),
        (["llama3.1:8b", "qwen2.5-coder:7b"], "qwen2.5-coder:7b"),
        (["llama3.3:70b", "qwen2.5-coder:14b"], "qwen2.5-coder:14b"),
        (["codellama:13b", "qwen2.5-coder:14b"], "qwen2.5-coder:14b"),
        (["codestral:22b", "qwen2.5-coder:3b"], "codestral:22b"),
        (["deepseek-coder-v2:16b", "qwen2.5-coder:0.5b"], "deepseek-coder-v2:16b"),
        (["qwen2.5-coder:14b", "qwen3-coder:30b"], "qwen3-coder:30b"),
        (["devstral:24b", "llama3.3:70b"], "devstral:24b"),
        (["gpt-oss:20b", "qwen2.5-coder:7b"], "qwen2.5-coder:7b"),
        (["qwen2.5-coder:7b-base", "llama3.2:3b"], "llama3.2:3b"),
        (["codellama:13b-python", "codellama:7b-instruct"], "codellama:7b-instruct"),
        (["codegemma:7b-code", "codegemma:2b"], "codegemma:2b"),
        (["starcoder2:15b", "starcoder2:15b-instruct"], "starcoder2:15b-instruct"),
        (["granite-code:8b"], "granite-code:8b"),
        (["team/qwen2.5-coder:7b", "mistral:7b"], "team/qwen2.5-coder:7b"),
        (["own-model:7b"], "own-model:7b"),
        (["own-model:7b", "llama3.2:3b"], "own-model:7b"),
        (["qwen2.5-coder:7b-instruct-q8_0", "qwen2.5-coder:7b"], "qwen2.5-coder:7b-instruct-q8_0"),
        (["qwen3-coder:480b-cloud", "qwen2.5-coder:1.5b"], "qwen2.5-coder:1.5b"),
        (["qwen3-coder:480b-cloud"], None),
        (["nomic-embed-text:latest", "all-minilm:22m", "bge-m3:567m", "mxbai-embed-large:335m"], None),
        (["qwen2.5-coder:7b-base", "starcoder2:3b"], None),
        ([], None),
    ],
)
async def test_the_best_code_model_is_chosen(names: list[str], chosen: str | None) -> None:
    async with StandIn(models=[Model(name, parameter_size="") for name in names]) as server:
        found = await best(server.host)
        assert (found.name if found else None) == chosen
        await server.until_idle()


@pytest.mark.parametrize(
    ("models", "chosen"),
    [
        ([("qwen2.5-coder:32b", 19.9), ("qwen2.5-coder:7b", 4.7)], "qwen2.5-coder:7b"),
        ([("qwen2.5-coder:32b", 19.9), ("llama3.2:3b", 2.0)], "llama3.2:3b"),
        ([("qwen2.5-coder:14b", 9.0), ("qwen2.5-coder:7b", 4.7)], "qwen2.5-coder:14b"),
        ([("llama3.3:70b", 42.5), ("qwen2.5-coder:32b", 19.9)], "qwen2.5-coder:32b"),
    ],
)
@pytest.mark.usefixtures("machine")
async def test_what_fits_into_memory_comes_first(models: list[tuple[str, float]], chosen: str) -> None:
    named = [Model(name) for name, _ in models]
    async with StandIn(models=named, instead={"/api/tags": tags(*models)}) as server:
        found = await best(server.host)
    assert found is not None
    assert found.name == chosen


@pytest.mark.parametrize(
    ("elsewhere", "memory", "is_too_large"),
    [(False, 16 * GIGABYTE, True), (True, 16 * GIGABYTE, False), (False, None, False)],
)
@pytest.mark.usefixtures("machine")
async def test_only_this_machines_memory_counts_for_what_runs_on_it(
    elsewhere: bool, is_too_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with StandIn(instead={"/api/tags": tags(("qwen2.5-coder:32b", 19.9))}) as server:
        monkeypatch.setenv("HTTP_PROXY", server.host)
        (model,) = await installed("http://gpu.example:11434" if elsewhere else server.host)
    assert model.is_too_large is is_too_large


def test_memory_is_told_in_bytes_if_at_all() -> None:
    assert (catalog.memory() or GIGABYTE) > GIGABYTE // 10


async def test_a_model_that_cannot_chat_is_not_chosen_whatever_its_name() -> None:
    models = (Model("qwen2.5-coder:32b", ("embedding",), parameter_size="32B"), Model("qwen2.5-coder:7b"))
    async with StandIn(models=models) as server:
        found = await best(server.host)
        assert shown(server) == ["qwen2.5-coder:32b", "qwen2.5-coder:7b"]
    assert found is not None
    assert found.name == "qwen2.5-coder:7b"


async def test_no_more_models_are_asked_about_than_needed() -> None:
    models = [Model(f"qwen2.5-coder:{size}b", parameter_size=f"{size}B") for size in (3, 14, 7)]
    async with StandIn(models=models) as server:
        await best(server.host)
        assert shown(server) == ["qwen2.5-coder:14b"]


async def test_a_model_that_cannot_be_asked_about_is_not_chosen() -> None:
    async with StandIn(instead={"/api/show": Script(status=500, body='{"error": "no such file"}')}) as server:
        assert await best(server.host) is None


async def test_what_a_server_states_counts() -> None:
    models = (Model("qwen2.5-coder:small", parameter_size="494.03M"), Model("qwen2.5-coder:latest"))
    async with StandIn(models=models) as server:
        found = await installed(server.host)
    assert [round(model.billions, 2) for model in found] == [0.49, 7.6]
    assert {(model.size, model.quantization) for model in found} == {(4_700_000_000, "Q4_K_M")}


async def test_what_a_server_states_badly_does_not_count() -> None:
    entries = [{"name": "one:7b", "size": "large", "details": []}, {"name": "two"}, 3, {"name": "three", "size": True}]
    async with StandIn(instead={"/api/tags": Script(body=json.dumps({"models": entries}))}) as server:
        found = await installed(server.host)
    assert [(model.name, model.billions, model.size) for model in found] == [
        ("one:7b", 7.0, 0),
        ("two", 0.0, 0),
        ("three", 0.0, 0),
    ]


async def test_numbers_that_cannot_be_true_do_not_count() -> None:
    entries = [
        {"name": f"one:{'9' * 400}b", "size": 10**400, "details": {"parameter_size": "9" * 400 + "B"}},
        {"name": "two", "size": -5},
    ]
    loaded = processes({"name": "one", "size": 5, "size_vram": 10**400, "context_length": -1})
    lists = {"/api/tags": Script(body=json.dumps({"models": entries})), "/api/ps": loaded}
    async with StandIn(instead=lists) as server:
        found = await installed(server.host)
        (one,) = await running(server.host) or ()
    assert [model.size for model in found] == [0, 0]
    assert all(math.isfinite(model.billions) for model in found)
    assert (one.window, one.on_gpu) == (None, 0.0)


async def test_a_model_that_runs_elsewhere_is_known_by_its_host() -> None:
    models = (Model("big:latest", remote_host="https://ollama.com"), Model("small:latest"))
    async with StandIn(models=models) as server:
        assert [model.cloud for model in await installed(server.host)] == [True, False]


async def test_what_is_loaded() -> None:
    entries = processes(
        {
            "name": "qwen2.5-coder:7b",
            "size": 1000,
            "size_vram": 400,
            "context_length": 8192,
            "expires_at": "2026-01-01T12:00:00.123456789+02:00",
        },
        {"name": "llama3:latest", "size": 0, "size_vram": 0, "expires_at": "soon"},
    )
    async with StandIn(instead={"/api/ps": entries}) as server:
        first, second = await running(server.host) or ()
    assert (first.name, first.window, first.on_gpu) == ("qwen2.5-coder:7b", 8192, 0.4)
    assert first.until == datetime(2026, 1, 1, 10, 0, 0, 123456, UTC)
    assert (second.window, second.on_gpu, second.until) == (None, None, None)
    assert find("llama3", [first, second]) == second
    assert find("qwen2.5-coder", [first, second]) is None


@pytest.mark.parametrize("answer", [Script(status=404, body="404 page not found"), Script(body="[]")])
async def test_a_server_that_does_not_tell_what_is_loaded(answer: Script) -> None:
    async with StandIn(instead={"/api/ps": answer}) as server:
        assert await running(server.host) is None
        assert [each.running for each in await described(server.host)] == [None]
    async with StandIn() as server:
        assert await running(server.host) == ()


async def test_all_that_is_told_of_each_model() -> None:
    models = [
        Model("qwen3:8b", ("completion", "thinking"), context_length=40960),
        Model("nomic-embed-text:latest", ("embedding",), context_length=2048),
        *(Model(f"llama3:{number}b") for number in range(20)),
    ]
    entries = processes({"name": "qwen3:8b", "context_length": 4096})
    async with StandIn(models=models, instead={"/api/ps": entries}) as server:
        found = await described(server.host)
        await server.until_idle()
    assert [each.model.name for each in found] == [model.name for model in models]
    thinker, embedder, *others = found
    assert thinker.facts is not None
    assert (thinker.facts.chats, thinker.facts.thinking, thinker.facts.window) == (True, Thinking.UNLESS_TOLD, 40960)
    assert thinker.running is not None
    assert thinker.running.window == 4096
    assert embedder.facts is not None
    assert (embedder.facts.chats, embedder.running) == (False, None)
    assert all(each.facts is not None and each.facts.chats for each in others)


async def test_what_is_not_told_of_a_model_is_left_open() -> None:
    async with StandIn(instead={"/api/show": Script(status=500, body='{"error": "no such file"}')}) as server:
        (found,) = await described(server.host)
    assert found.facts is None
    async with StandIn(instead={"/api/show": Script(body="{}")}) as server:
        (found,) = await described(server.host)
    assert found.facts is not None
    assert (found.facts.chats, found.facts.window) == (True, None)


async def test_a_server_tells_its_version() -> None:
    async with StandIn(version="0.33.0") as server:
        assert await version(server.host) == "0.33.0"
        await server.until_idle()


async def test_what_is_no_ollama_is_told() -> None:
    async with StandIn(instead={"/api/tags": Script(body="<html>")}) as server:
        questions: tuple[Callable[[str | None], Awaitable[object]], ...] = (installed, described, best)
        for question in questions:
            with pytest.raises(BadReply):
                await question(server.host)
    for question in (*questions, running, version):
        with pytest.raises(NotRunning):
            await question("127.0.0.1:1")


async def test_of_many_models_few_are_looked_at_and_fewer_asked_about() -> None:
    silent = Script(status=500, body="broken")
    many = [(f"model{number}:7b", 1.0) for number in range(1000)]
    async with StandIn(instead={"/api/tags": tags(*many), "/api/show": silent}) as server:
        found = await installed(server.host)
        assert (len(found), found.others) == (500, 500)
        assert found[0].name == "model0:7b"
        assert await best(server.host) is None
        assert len(shown(server)) <= 50
        listed = await described(server.host)
        assert (len(listed), listed.others) == (500, 500)
        assert len(shown(server)) <= 550


async def test_a_model_with_an_endless_name_is_not_looked_at() -> None:
    listed = tags(("x" * 1_000_000, 1.0), ("qwen2.5-coder:7b", 4.7))
    told = Script(body=json.dumps({"version": "1" * 1_000_000}))
    async with StandIn(instead={"/api/tags": listed, "/api/version": told}) as server:
        found = await installed(server.host)
        assert [model.name for model in found] == ["qwen2.5-coder:7b"]
        assert found.others == 1
        assert len(await version(server.host)) <= 1000
