"""The examination of the installation, from AdaCoder itself to the speed of each model."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adacoder.cli.demo import RECORDING, fixture
from adacoder.doctor import Finding, examine
from adacoder.domain import Level
from adacoder.models import address as addresses
from adacoder.models import backend
from adacoder.settings import Settings
from support.commandline import MODEL
from support.examining import UNREACHABLE, examined, finding
from support.levels import needs_full
from support.standins.ollama import Ending, Model, Script, StandIn
from support.standins.openai import Engine
from support.standins.openai import Model as OpenAIModel
from support.standins.openai import StandIn as OpenAIStandIn

NUMBERS = ", ".join(map(str, range(61, 201)))
GIGABYTE = 10**9
pytestmark = pytest.mark.usefixtures("machine")


def answers(_: object) -> str:
    """Return a reply to the request to count."""
    return NUMBERS


def loaded(**entry: object) -> Script:
    """Return an answer of `/api/ps`."""
    return Script(body=json.dumps({"models": [{"name": MODEL, **entry}]}))


def names(findings: Sequence[Finding]) -> list[str]:
    return [each.name for each in findings]


@needs_full
async def test_where_all_works_nothing_is_to_be_done(tmp_path: Path) -> None:
    async with StandIn(answers) as standin:
        findings = await examined(Settings(host=standin.host), tmp_path, probes_speed=True)
        await standin.until_idle()
    ours = ["AdaCoder", "Project", "Isolation", "Interpreter", "Private"]
    assert names(findings) == [*ours, "Ollama", "Model", "Context", "Loaded", "Speed"]
    assert {each.ok for each in findings} == {True, None}
    assert {each.advice for each in findings} == {""}
    assert {each.model for each in findings} == {None, f"ollama:{MODEL}"}


@needs_full
async def test_isolation_says_what_was_proved(tmp_path: Path) -> None:
    found = await finding("Isolation", Settings(host=UNREACHABLE), tmp_path)
    assert found.ok
    assert found.text.startswith("full (bubblewrap, landlock, seccomp, rlimits)")


@pytest.mark.isolation(Level.LSM)
async def test_without_bubblewrap_it_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for least, ok in (Level.LSM, True), (Level.FULL, False):
        found = await finding("Isolation", Settings(host=UNREACHABLE, isolation=least), tmp_path)
        assert found.ok is ok
        assert found.text.startswith("lsm (landlock, seccomp, rlimits)")
        assert "apt install bubblewrap" in found.advice


async def test_the_interpreter_is_the_projects_own_if_it_has_one(tmp_path: Path) -> None:
    ours = await finding("Interpreter", Settings(host=UNREACHABLE), tmp_path)
    missing = await finding("Interpreter", Settings(host=UNREACHABLE, interpreter=tmp_path / "python"), tmp_path)
    assert (ours.ok, missing.ok) == (True, False)
    assert sys.executable in ours.text
    assert str(tmp_path / "python") in missing.advice


async def test_the_project_and_what_it_may_not_set(tmp_path: Path) -> None:
    settings = Settings(host=UNREACHABLE)
    table = '[tool.adacoder]\nmodel = "m"\nmaxIterations = 3\nhost = "x"\n'
    (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
    found = await finding("Project", settings, tmp_path)
    assert found.ok is None
    assert found.text == f"{tmp_path / 'pyproject.toml'} sets model, maxIterations"
    assert "adacoder.host" in found.advice


async def test_the_server_tells_its_version_and_what_it_has(tmp_path: Path) -> None:
    async with StandIn(models=[Model("llama3:8b"), Model(MODEL)]) as standin:
        found = await finding("Ollama", Settings(host=standin.host), tmp_path)
    assert found.ok
    assert found.text == f"0.24.0 at {standin.host}, with 2 models: {MODEL}, llama3:8b"


async def test_of_many_models_the_best_are_named(tmp_path: Path) -> None:
    async with StandIn(
        models=[Model(f"llama3:{size}b", parameter_size=f"{size}B") for size in range(1, 31)]
    ) as standin:
        found = await finding("Ollama", Settings(host=standin.host), tmp_path)
    assert "with 30 models: llama3:30b, llama3:29b, " in found.text
    assert found.text.endswith(", …")


@pytest.mark.parametrize("host", [UNREACHABLE, "http://", "ftp://here", "x" * 300])
async def test_without_a_server_it_says_so_in_a_sentence(host: str, tmp_path: Path) -> None:
    findings = await examined(Settings(host=host), tmp_path, probes_speed=True)
    assert names(findings)[-1] == "Ollama"
    assert findings[-1].ok is False
    assert findings[-1].advice.endswith(".")


async def test_without_a_server_it_says_how_to_start_one(tmp_path: Path) -> None:
    assert "ollama serve" in (await finding("Ollama", Settings(host=UNREACHABLE), tmp_path)).advice


async def test_a_public_server_is_not_asked_unless_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "_HOME", ())  # now this machine counts as a remote one
    async with StandIn(answers) as standin:
        refused = await finding("Ollama", Settings(host=standin.host), tmp_path)
        assert standin.seen == []
        allowed = await finding("Ollama", Settings(host=standin.host, allow_cloud=True), tmp_path)
    assert refused.ok is False
    assert "allow it with --allow-cloud" in refused.advice
    assert allowed.ok


@pytest.mark.parametrize("answer", [Script(body="<html>"), Script(body="[]"), Script(status=404, body="no such page")])
async def test_a_server_that_is_no_ollama(answer: Script, tmp_path: Path) -> None:
    async with StandIn(instead=dict.fromkeys(("/api/tags", "/api/version", "/api/ps"), answer)) as standin:
        findings = await examined(Settings(host=standin.host), tmp_path)
        await standin.until_idle()
    assert (findings[-1].name, findings[-1].ok) == ("Ollama", False)
    assert standin.host in findings[-1].advice


async def test_a_server_that_does_not_answer_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_PATIENCE", 0.05)
    async with StandIn(instead={"/api/tags": Script(load=60)}) as standin:
        findings = await examined(Settings(host=standin.host), tmp_path)
        await standin.until_idle()
    assert (findings[-1].name, findings[-1].ok) == ("Ollama", False)


@pytest.mark.isolation
async def test_an_old_server_tells_less_and_works(tmp_path: Path) -> None:
    missing = Script(status=404, body="404 page not found")
    old = {"/api/ps": missing, "/api/version": missing, "/api/show": Script(body='{"modelfile": ""}')}
    async with StandIn(answers, instead=old) as standin:
        findings = await examined(Settings(host=standin.host), tmp_path, probes_speed=True)
    told = {each.name: each for each in findings}
    assert {each.ok for each in findings} == {True, None}
    assert "of unknown version" in told["Ollama"].text
    assert told["Context"].text == "8,192 tokens"
    assert "Loaded" not in told
    assert told["Speed"].ok


@pytest.mark.parametrize(
    ("installed", "named", "ok", "words"),
    [
        ([MODEL, "llama3:8b"], None, True, f"{MODEL}, the best installed code model: "),
        ([MODEL, "llama3:8b"], "llama3:8b", True, "llama3:8b, as named: "),
        ([MODEL], f"ollama:{MODEL}", True, f"{MODEL}, as named: "),
        (["llama3:latest"], "llama3", True, "llama3, as named: 7.6B, Q4_K_M, 4.7 GB; answers at once"),
        ([MODEL], "llama3:8b", False, "llama3:8b, as named, is not installed"),
        (["nomic-embed-text:latest"], None, False, "no code model is installed"),
        ([], None, False, "no code model is installed"),
        ([], "llama3", False, "llama3, as named, is not installed"),
    ],
)
async def test_the_model_is_the_one_that_would_be_used(
    installed: list[str], named: str | None, ok: bool, words: str, tmp_path: Path
) -> None:
    async with StandIn(models=[Model(name) for name in installed]) as standin:
        found = await finding("Model", Settings(models=(named,) if named else (), host=standin.host), tmp_path)
    assert (found.ok, words in found.text) == (ok, True), found
    assert ("ollama pull" in found.advice) == (not ok)


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("qwen2.5-coder", "qwen2.5-coder:7b, qwen2.5-coder:3b"),
        ("qwen2.5-coder:32b", "qwen2.5-coder:7b, qwen2.5-coder:3b"),
        ("QWEN2.5-coder:1b", "qwen2.5-coder:7b, qwen2.5-coder:3b"),
        ("lama3.2:3b", "llama3.2:latest"),
        ("something else", "qwen2.5-coder:7b, qwen2.5-coder:3b, llama3.2:latest"),
    ],
)
async def test_a_name_that_is_nearly_right(named: str, meant: str, tmp_path: Path) -> None:
    installed = ["qwen2.5-coder:7b", "qwen2.5-coder:3b", "llama3.2:latest"]
    async with StandIn(models=[Model(name) for name in installed]) as standin:
        found = await finding("Model", Settings(models=(named,), host=standin.host), tmp_path)
    assert found.ok is False
    assert f"choose an available one with --model ({meant})" in found.advice


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Model(MODEL), "answers at once"),
        (Model(MODEL, ("completion", "thinking")), "could think first, which AdaCoder switches off"),
        (Model(MODEL, ("completion", "thinking"), family="gptoss"), "always thinks first"),
    ],
)
async def test_what_a_model_can_do(model: Model, words: str, tmp_path: Path) -> None:
    async with StandIn(models=[model]) as standin:
        found = await finding("Model", Settings(host=standin.host), tmp_path)
    assert words in found.text


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Model("qwen3-coder:480b-cloud"), "--allow-cloud"),
        (Model("big:latest", remote_host="https://ollama.com"), "--allow-cloud"),
        (Model("embedder:latest", ("embedding",)), "cannot answer chats"),
    ],
)
async def test_a_model_that_is_refused(model: Model, words: str, tmp_path: Path) -> None:
    async with StandIn(answers, models=[model]) as standin:
        settings = Settings(models=(model.name,), host=standin.host)
        findings = await examined(settings, tmp_path, probes_speed=True)
        allowed = await finding("Model", replace(settings, allow_cloud=True), tmp_path)
        assert standin.requests == []
    assert (findings[-1].name, findings[-1].ok) == ("Model", False)
    assert words in findings[-1].advice
    assert allowed.ok is ("--allow-cloud" in words)


async def test_a_base_model_is_taken_with_a_warning(tmp_path: Path) -> None:
    async with StandIn(models=[Model("qwen2.5-coder:7b-base")]) as standin:
        found = await finding("Model", Settings(models=("qwen2.5-coder:7b-base",), host=standin.host), tmp_path)
    assert found.ok
    assert "base model" in found.advice


@pytest.mark.parametrize(("on_gpu", "warns"), [(0, True), (40, True), (100, False)])
async def test_a_model_that_is_too_large_for_the_machine(on_gpu: int, warns: bool, tmp_path: Path) -> None:
    tags = Script(body=json.dumps({"models": [{"name": MODEL, "size": 20 * GIGABYTE}]}))
    instead = {"/api/tags": tags, "/api/ps": loaded(size=100, size_vram=on_gpu)}
    async with StandIn(instead=instead) as standin:
        found = await finding("Model", Settings(host=standin.host), tmp_path)
    assert found.ok
    assert ("memory (16.0 GB)" in found.advice) is warns


@pytest.mark.parametrize(
    ("asked", "limit", "text"),
    [
        (8192, 32768, "8,192 tokens, of at most 32,768"),
        (8192, 8192, "8,192 tokens"),
        (8192, 2048, "2,048 tokens, its limit; --context-tokens would allow 8,192"),
    ],
)
async def test_the_context_that_it_sees(asked: int, limit: int, text: str, tmp_path: Path) -> None:
    async with StandIn(models=[Model(MODEL, context_length=limit)]) as standin:
        found = await finding("Context", Settings(host=standin.host, context_tokens=asked), tmp_path)
    assert found.text == text


def later(time: timedelta) -> str:
    return (datetime.now(UTC) + time).isoformat()


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"context_length": 8192}, "yes"),
        (
            {"context_length": 4096},
            "yes, with a window of 4,096 tokens, so the first request loads it again",
        ),
        (
            {"context_length": 4 * 8192},
            "yes, with a window of 32,768 tokens, so the first request loads it again",
        ),
        ({"name": MODEL.upper(), "context_length": 8192}, "yes"),
        (
            {"expires_at": timedelta(minutes=4), "size": 10, "size_vram": 10},
            "yes, for 4 more minutes; on the GPU",
        ),
        (
            {"expires_at": timedelta(minutes=1), "size": 10, "size_vram": 0},
            "yes, for 1 more minute; on the CPU",
        ),
        (
            {"expires_at": timedelta(days=100_000), "size": 10, "size_vram": 4},
            "yes, for good; 40% of it on the GPU, the rest on the CPU",
        ),
        ({"expires_at": "0001-01-01T00:00:00Z"}, "yes, not for long"),
        ({"name": "other:1b"}, "not now: the first request loads it"),
    ],
)
async def test_whether_it_is_loaded(entry: dict[str, object], text: str, tmp_path: Path) -> None:
    told = {name: later(value) if isinstance(value, timedelta) else value for name, value in entry.items()}
    async with StandIn(instead={"/api/ps": loaded(**told)}) as standin:
        found = await finding("Loaded", Settings(host=standin.host), tmp_path)
    assert (found.ok, found.text, found.advice) == (None, text, "")


async def test_a_window_that_the_model_cannot_exceed_is_the_one_asked_for(tmp_path: Path) -> None:
    models = [Model(MODEL, context_length=4096)]
    async with StandIn(models=models, instead={"/api/ps": loaded(context_length=4096)}) as standin:
        assert (await finding("Loaded", Settings(host=standin.host), tmp_path)).text == "yes"


async def test_the_speed_is_measured_as_a_request_is_made(tmp_path: Path) -> None:
    settings = Settings(context_tokens=4096, keep_alive="3m")
    async with StandIn(answers) as standin:
        settings = replace(settings, host=standin.host)
        first = await finding("Speed", settings, tmp_path, probes_speed=True)
        second = await finding("Speed", settings, tmp_path, probes_speed=True)
        await standin.until_idle()
    assert first.ok
    assert first.text.endswith("tokens/s, writes 98 tokens/s: about 3.0 s a reply")
    for request in standin.requests:
        options = request["options"]
        assert isinstance(options, dict)
        assert (options["num_ctx"], options["num_predict"], request["keep_alive"]) == (4096, 64, "3m")
    begins = [str(request["messages"])[:50] for request in standin.requests]
    assert begins[0] != begins[1], "nothing of it may have been read before"
    assert second.ok
    assert standin.events.count("load 1") == 1
    assert "load 2" not in standin.events


async def test_without_a_probe_no_model_is_asked(tmp_path: Path) -> None:
    async with StandIn(answers) as standin:
        assert "Speed" not in names(await examined(Settings(host=standin.host), tmp_path))
        assert standin.requests == []


@pytest.mark.parametrize(
    ("timing", "text"),
    [
        ({"load_duration": 12e9}, "loaded in 12 s; reads 200 tokens/s, writes 5.0 tokens/s: about 45 s a reply"),
        (
            {"total_duration": 60e9},
            "waited 47 s for others; reads 200 tokens/s, writes 5.0 tokens/s: about 45 s a reply",
        ),
        ({"prompt_eval_duration": 0, "eval_duration": 0}, "it answers"),
        ({"eval_duration": 0.6e9}, "reads 200 tokens/s, writes 100 tokens/s: about 7.0 s a reply"),
        ({"eval_count": 16, "eval_duration": 3e9}, "reads 200 tokens/s, writes 5.0 tokens/s: about 45 s a reply"),
        ({"eval_count": 15, "eval_duration": 3e9}, "reads 200 tokens/s"),
    ],
)
async def test_where_the_time_went(timing: dict[str, float], text: str, tmp_path: Path) -> None:
    measured = {
        "prompt_eval_count": 200,
        "prompt_eval_duration": 1e9,
        "eval_count": 61,
        "eval_duration": 12e9,
        **timing,
    }
    end = {"message": {"role": "assistant", "content": "61"}, "done": True, "done_reason": "length", **measured}
    answer = json.dumps({key: int(value) if isinstance(value, float) else value for key, value in end.items()})
    async with StandIn([Script(body=f"{answer}\n")]) as standin:
        found = await finding("Speed", Settings(host=standin.host), tmp_path, probes_speed=True)
    assert (found.ok, found.text) == (True, text)
    assert ("smaller model" in found.advice) is ("45 s" in text)


async def test_what_does_not_fit_on_the_gpu_is_said(tmp_path: Path) -> None:
    for share, advice in (100, ""), (0, ""), (40, "Only 40% of it fits on the GPU"):
        async with StandIn(answers, instead={"/api/ps": loaded(size=100, size_vram=share)}) as standin:
            found = await finding("Speed", Settings(host=standin.host), tmp_path, probes_speed=True)
        assert found.advice.startswith(advice)
        assert bool(found.advice) is bool(advice)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (Script(status=500, error="model requires more system memory (8 GiB)"), "not enough memory"),
        (Script("61", ending=Ending.EOF), "broke off"),
        (Script(status=401, error="unauthorized"), "denies access"),
    ],
)
async def test_a_model_that_gives_no_reply(script: Script, words: str, tmp_path: Path) -> None:
    async with StandIn([script]) as standin:
        found = await finding("Speed", Settings(host=standin.host), tmp_path, probes_speed=True)
        await standin.until_idle()
    assert found.ok is False
    assert words in found.advice


async def test_a_model_that_takes_too_long_may_still_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_MEASURING", 0.3)
    async with StandIn([Script("61", ending=Ending.STALL)]) as standin:
        found = await finding("Speed", Settings(host=standin.host), tmp_path, probes_speed=True)
        await standin.until_idle()
    assert found.ok is None
    assert "choose a smaller one with --model" in found.advice


async def test_a_user_who_waits_less_is_heeded(tmp_path: Path) -> None:
    async with StandIn([Script(ending=Ending.STALL)]) as standin:
        settings = Settings(host=standin.host, first_token_timeout=0.05)
        found = await finding("Speed", settings, tmp_path, probes_speed=True)
    assert found.ok is False
    assert "has sent nothing for 0.05 s" in found.advice


async def test_the_examination_can_be_cancelled_and_leaves_no_connection(tmp_path: Path) -> None:
    async with StandIn([Script("61", ending=Ending.STALL)]) as standin:
        work = asyncio.create_task(examined(Settings(host=standin.host), tmp_path, probes_speed=True))
        await standin.until("first byte 1")
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        await standin.until("disconnected 1")
        await standin.until_idle()


async def test_it_tells_what_it_waits_for(tmp_path: Path) -> None:
    waits: list[str] = []
    async with StandIn(answers) as standin:
        findings = examine(Settings(host=standin.host), tmp_path, on_wait=waits.append)
        assert [each.name async for each in findings][-1] == "Speed"
    assert waits[-1] == f"loading {MODEL}"
    assert len(waits) > 2


async def test_a_recorded_conversation_needs_no_server(tmp_path: Path) -> None:
    settings = Settings(models=(f"replay:{fixture() / RECORDING}",), host=UNREACHABLE)
    good = await examined(settings, tmp_path, probes_speed=True)
    assert names(good)[-1] == "Model"
    assert good[-1].ok
    assert good[-1].text.endswith(", with replies written by hand")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no-such-file", "is not a recorded conversation"),
        ("~nobody-of-that-name/talk", "is not a recorded conversation"),
        ("", "write replay:FILE with --model"),
    ],
)
async def test_a_recorded_conversation_that_is_not_there(name: str, words: str, tmp_path: Path) -> None:
    bad = await finding("Model", Settings(models=(f"replay:{name}",)), tmp_path)
    assert bad.ok is False
    assert words in bad.advice


async def test_an_openai_compatible_server(tmp_path: Path) -> None:
    models = [OpenAIModel("qwen", 4096)]
    async with OpenAIStandIn(answers, models=models) as standin:
        settings = Settings(models=("openai:qwen",), base_url=standin.host, host=UNREACHABLE)
        findings = await examined(settings, tmp_path, probes_speed=True)
        await standin.until_idle()
    assert [(each.name, each.ok) for each in findings[-4:]] == [
        ("Server", True),
        ("Model", True),
        ("Context", True),
        ("Speed", True),
    ]
    assert standin.host in findings[-4].text
    assert findings[-2].text.startswith("4,096 tokens")
    assert {each.model for each in findings[-3:]} == {"openai:qwen"}


@pytest.mark.parametrize(
    ("base_url", "model", "name", "words"),
    [
        (None, "qwen", "Server", "--base-url"),
        ("ftp://here", "qwen", "Server", "not an address"),
        ("http://127.0.0.1:1/v1", "qwen", "Server", "No OpenAI-compatible server answers"),
        ("the stand-in", "other", "Model", "has no model 'other'"),
    ],
)
async def test_an_openai_compatible_server_that_will_not_do(
    base_url: str | None, model: str, name: str, words: str, tmp_path: Path
) -> None:
    async with OpenAIStandIn(models=[OpenAIModel("qwen")], engine=Engine.VLLM) as standin:
        url = standin.host if base_url == "the stand-in" else base_url
        settings = Settings(models=(f"openai:{model}",), base_url=url, host=UNREACHABLE)
        findings = await examined(settings, tmp_path, probes_speed=True)
        await standin.until_idle()
    assert (findings[-1].name, findings[-1].ok) == (name, False)
    assert words in findings[-1].advice


async def test_each_model_of_a_ladder_is_looked_at(tmp_path: Path) -> None:
    models = [Model("qwen2.5-coder:1.5b"), Model(MODEL)]
    async with StandIn(answers, models=models) as standin:
        settings = Settings(models=("qwen2.5-coder:1.5b", MODEL), host=standin.host)
        findings = await examined(settings, tmp_path, probes_speed=True)
    of_each = ["Model", "Context", "Loaded", "Speed"]
    assert names(findings)[5:] == ["Ollama", *of_each, *of_each]
    assert [each.model for each in findings if each.name == "Speed"] == ["ollama:qwen2.5-coder:1.5b", f"ollama:{MODEL}"]
    assert "number 2 of 2" in findings[-4].text


@pytest.mark.isolation
@pytest.mark.parametrize(
    ("ladder", "works"),
    [
        ((MODEL, "no:1b"), True),
        (("no:1b", MODEL), True),
        (("openai:x", MODEL), True),
        (("no:1b", "openai:x"), False),
        (("no:1b", f"replay:{fixture() / RECORDING}"), True),
    ],
)
async def test_of_a_ladder_one_model_is_enough(ladder: tuple[str, ...], works: bool, tmp_path: Path) -> None:
    async with StandIn(answers) as standin:
        findings = await examined(Settings(models=ladder, host=standin.host), tmp_path, probes_speed=True)
    assert all(each.ok is not False for each in findings) is works
    assert any(each.advice for each in findings)


@pytest.mark.isolation
@pytest.mark.parametrize("fails", [(1,), (2,), (1, 2)])
async def test_of_a_ladder_one_model_that_replies_is_enough(fails: tuple[int, ...], tmp_path: Path) -> None:
    scripts = [Script(status=500, error="it crashed") if number in fails else Script(NUMBERS) for number in (1, 2)]
    async with StandIn(scripts, models=[Model(MODEL), Model("llama3:8b")]) as standin:
        settings = Settings(models=(MODEL, "llama3:8b"), host=standin.host)
        findings = await examined(settings, tmp_path, probes_speed=True)
    assert all(each.ok is not False for each in findings) is (len(fails) == 1)
    assert len([each for each in findings if "it crashed" in each.advice]) == len(fails)
