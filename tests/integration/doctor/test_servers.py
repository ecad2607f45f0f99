"""Findings of `doctor` about servers that report little, about other names of models, and about the measured speed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adacoder.settings import Settings
from support.commandline import MODEL
from support.examining import UNREACHABLE, examined, finding
from support.standins.ollama import Model, StandIn
from support.standins.openai import Engine
from support.standins.openai import Model as OpenAIModel
from support.standins.openai import StandIn as OpenAIStandIn
from support.standins.server import Script

NUMBERS = ", ".join(map(str, range(61, 201)))


def of(standin: OpenAIStandIn, model: str = MODEL, **values: Any) -> Settings:
    """Return settings for a model of an OpenAI-compatible server."""
    url: dict[str, Any] = {"base_url": standin.host, **values}
    return Settings(models=(f"openai:{model}",), host=UNREACHABLE, **url)


@pytest.mark.parametrize(
    ("engine", "window", "ok", "text"),
    [
        (Engine.VLLM, 4096, True, "4,096 tokens, its limit; --context-tokens would allow 8,192"),
        (Engine.VLLM, 8192, True, "8,192 tokens"),
        (Engine.LLAMA_CPP, 32768, True, "8,192 tokens, of at most 32,768"),
        (Engine.LLAMA_CPP_PYTHON, 2048, None, "8,192 tokens, as set; the server does not report its own limit"),
        (Engine.LM_STUDIO, 2048, None, "8,192 tokens, as set; the server does not report its own limit"),
        (Engine.ROUTER, 4096, None, "8,192 tokens, as set; the server does not report its own limit"),
    ],
)
async def test_a_window_counts_only_where_it_is_told(
    engine: Engine, window: int, ok: bool | None, text: str, tmp_path: Path
) -> None:
    async with OpenAIStandIn(models=[OpenAIModel(MODEL, window)], engine=engine) as standin:
        found = await finding("Context", of(standin), tmp_path)
    assert (found.ok, found.text, found.advice) == (ok, text, "")


async def test_what_a_model_was_trained_with_bounds_a_window_that_is_not_told(tmp_path: Path) -> None:
    models = [OpenAIModel(MODEL, 0, trained_with) for trained_with in (2048, 32768)]
    texts = []
    for model in models:
        async with OpenAIStandIn(models=[model], engine=Engine.LLAMA_CPP) as standin:
            texts.append((await finding("Context", of(standin), tmp_path)).text)
    assert texts[0].startswith("2,048 tokens, its limit")
    assert texts[1].endswith("the server does not report its own limit")


async def test_a_router_tells_the_window_once_the_model_is_loaded(tmp_path: Path) -> None:
    async with OpenAIStandIn([NUMBERS], models=[OpenAIModel(MODEL, 4096)], engine=Engine.ROUTER) as standin:
        findings = await examined(of(standin), tmp_path, probes_speed=True)
        after = await finding("Context", of(standin), tmp_path)
    assert findings[-1].ok
    assert after.text.startswith("4,096 tokens, its limit")


@pytest.mark.parametrize("engine", [Engine.VLLM, Engine.LLAMA_CPP, Engine.LLAMA_CPP_PYTHON])
@pytest.mark.parametrize("path", ["/v2", "", "/api/v1", "/v1/models"])
async def test_a_path_with_nothing_there(engine: Engine, path: str, tmp_path: Path) -> None:
    async with OpenAIStandIn(engine=engine) as standin:
        wrong = standin.host.removesuffix("/v1") + path
        found = await examined(of(standin, base_url=wrong), tmp_path)
    assert (found[-1].name, found[-1].ok) == ("Server", False)
    assert "name the address of one with --base-url (most end in /v1)" in found[-1].advice


async def test_a_server_that_keeps_no_list_is_one_all_the_same(tmp_path: Path) -> None:
    missing = {"/v1/models": Script(status=404, body='{"detail":"Not Found"}')}
    async with OpenAIStandIn([NUMBERS], instead=missing, engine=Engine.LLAMA_CPP_PYTHON) as standin:
        found = {each.name: each for each in await examined(of(standin), tmp_path, probes_speed=True)}
        assert len(standin.requests) == 1, "only the probe is a chat"
    assert found["Server"].ok
    assert found["Model"].text == f"{MODEL}, as named; the server does not list its models"
    assert found["Speed"].ok


async def test_a_server_in_clear_that_is_asked_over_https(tmp_path: Path) -> None:
    async with OpenAIStandIn() as openai, StandIn() as ollama:
        over_tls = openai.host.replace("http:", "https:"), ollama.host.replace("http:", "https:")
        server = (await examined(of(openai, base_url=over_tls[0]), tmp_path))[-1]
        store = (await examined(Settings(host=over_tls[1]), tmp_path))[-1]
        assert (await finding("Server", of(openai), tmp_path)).ok
    assert (server.name, server.ok, store.name, store.ok) == ("Server", False, "Ollama", False)
    assert f"speaks http, not https: write {openai.host} with --base-url" in server.advice
    assert f"speaks http, not https: write {ollama.host} with --host" in store.advice


@pytest.mark.parametrize("probes", [False, True])
async def test_a_router_has_only_what_is_in_its_list(probes: bool, tmp_path: Path) -> None:
    models = [OpenAIModel("one", aliases=("uno",)), OpenAIModel("text-embedding-3"), OpenAIModel("two")]
    async with OpenAIStandIn([NUMBERS] * 2, models=models, engine=Engine.ROUTER) as standin:
        missing = (await examined(of(standin, "nope"), tmp_path, probes_speed=probes))[-1]
        assert standin.requests == []
        for name in ("one", "uno"):
            assert (await finding("Model", of(standin, name), tmp_path)).ok
    assert (missing.name, missing.ok) == ("Model", False)
    assert "has no model 'nope'" in missing.advice
    assert "(openai:one, openai:two)" in missing.advice


@pytest.mark.parametrize("engine", [Engine.LLAMA_CPP, Engine.LM_STUDIO, Engine.LLAMA_CPP_PYTHON])
async def test_a_server_that_may_answer_for_a_name_that_it_does_not_list(engine: Engine, tmp_path: Path) -> None:
    async with OpenAIStandIn(models=[OpenAIModel("one")], engine=engine) as standin:
        other = await finding("Model", of(standin, "other"), tmp_path)
        listed = await finding("Model", of(standin, "one"), tmp_path)
    assert (other.ok, other.text) == (None, "other, as named, is not in the server's list")
    assert "choose an available one with --model (openai:one)" in other.advice
    assert (listed.ok, listed.advice) == (True, "")


@pytest.mark.parametrize(
    "name", ["QWEN2.5-Coder:7B", "qwen2.5-coder:7B", "library/qwen2.5-coder:7b", "registry.ollama.ai/library/" + MODEL]
)
async def test_a_model_by_another_of_its_names(name: str, tmp_path: Path) -> None:
    async with StandIn([NUMBERS]) as standin:
        settings = Settings(models=(name,), host=standin.host)
        await examined(settings, tmp_path, probes_speed=True)
        found = {each.name: each for each in await examined(settings, tmp_path)}
    assert found["Model"].text.startswith(f"{name}, as named: 7.6B, Q4_K_M, 4.7 GB;")
    assert found["Loaded"].text.startswith("yes")


async def test_a_name_that_no_model_can_have(tmp_path: Path) -> None:
    async with StandIn() as standin:
        found = await finding("Model", Settings(models=("a b",), host=standin.host), tmp_path)
    assert found.ok is False
    assert found.advice == (
        "'a b' is not the name of a model: write it as `ollama list` shows it,"
        f" or choose an available one with --model ({MODEL})."
    )


async def test_only_models_that_can_chat_are_offered(tmp_path: Path) -> None:
    embedders = [
        Model(name, ("embedding",)) for name in ("embeddinggemma:300m", "paraphrase:latest", "qwen3:0.6b-embed")
    ]
    async with StandIn(models=[*embedders, Model("llama3.2:3b"), Model("starcoder2:3b")]) as standin:
        for name in ("embeddinggemma:1b", "parafrase", "gemma9"):
            found = await finding("Model", Settings(models=(name,), host=standin.host), tmp_path)
            assert found.advice.endswith("choose an available one with --model (llama3.2:3b).")
    async with StandIn(models=embedders) as standin:
        found = await finding("Model", Settings(models=("gemma9",), host=standin.host), tmp_path)
        assert found.advice.endswith("run `ollama pull gemma9`.")


@pytest.mark.parametrize(
    ("template", "renderer", "hears"),
    [
        ("{{ .Prompt }}", "", False),
        ("### Instruction:\n{{ .Prompt }}\n### Response:\n", "", False),
        ("{{ .Prompt }}", "qwen3-coder", True),
        ("{{ .System }} {{ .Prompt }}", "", True),
        ("{{ if .System }}<|sys|>{{ .System }}{{ end }}{{ .Prompt }}", "", True),
        ("{{- range .Messages }}{{ .Content }}{{ end }}", "", True),
        ("{%- for message in messages %}{{ message['content'] }}{% endfor %}", "", True),
        ("", "", True),
    ],
)
async def test_a_template_without_a_place_for_the_system_text(
    template: str, renderer: str, hears: bool, tmp_path: Path
) -> None:
    async with StandIn(models=[Model(MODEL, template=template, renderer=renderer)]) as standin:
        found = await finding("Model", Settings(host=standin.host), tmp_path)
    assert (found.ok, "TEMPLATE" in found.advice) == ((True, False) if hears else (None, True))


async def test_what_the_probe_loads_no_request_has_to(tmp_path: Path) -> None:
    async with StandIn(lambda _: NUMBERS) as standin:
        settings = Settings(host=standin.host)
        unprobed = await finding("Loaded", settings, tmp_path)
        probed = await finding("Loaded", settings, tmp_path, probes_speed=True)
        again = await finding("Loaded", settings, tmp_path, probes_speed=True)
        other = Settings(host=standin.host, context_tokens=4096)
        anew = await finding("Loaded", other, tmp_path, probes_speed=True)
    assert unprobed.text == "not now: the first request loads it"
    assert probed.text == "not now: measuring its speed loads it"
    assert again.text.endswith("on the CPU")
    assert anew.text.endswith("on the CPU; with a window of 8,192 tokens, so measuring its speed loads it again")
