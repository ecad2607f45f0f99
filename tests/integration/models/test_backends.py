"""Open models by their ids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adacoder.cli.demo import RECORDING, fixture
from adacoder.domain import Message
from adacoder.models import address as addresses
from adacoder.models import backends
from adacoder.models.backend import Backend, Session
from adacoder.models.base import Ask, ChatModel
from adacoder.models.errors import LeavesNetwork, ModelError, Nameless, NoModel, NotRunning, Stalled
from adacoder.models.examination import Examination, Finding
from adacoder.models.recording.format import BadRecording, read
from adacoder.models.recording.recorder import CannotRecord
from adacoder.settings import Settings
from support.examining import UNREACHABLE, examined
from support.standins.ollama import Model, Script, StandIn

QUESTION = (Message("user", "Write f."),)


async def open_model(model_id: str | None, settings: Settings) -> ChatModel:
    return await backends.open_model(model_id, settings, Session(), lambda _: None)


def never(text: str) -> bool:
    return False


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("model_id", "name"),
    [
        ("qwen2.5-coder:7b", "ollama:qwen2.5-coder:7b"),
        ("ollama:qwen2.5-coder:7b", "ollama:qwen2.5-coder:7b"),
        ("qwen2.5-coder", "ollama:qwen2.5-coder"),
        ("hf.co/team/model:Q4_K_M", "ollama:hf.co/team/model:Q4_K_M"),
    ],
)
async def test_a_name_is_one_of_ollamas(model_id: str, name: str) -> None:
    model = await open_model(model_id, Settings())
    assert model.name == name
    await model.close()


@pytest.mark.parametrize("model_id", [None, "", "ollama:"])
async def test_without_a_name_the_best_installed_model_is_used(model_id: str | None) -> None:
    models = (Model("llama3.2:3b"), Model("qwen2.5-coder:7b"))
    async with StandIn(["def f(): ..."], models=models) as server:
        model = await open_model(model_id, Settings(host=server.host))
        assert model.name == "ollama:qwen2.5-coder:7b"
        assert (await model.reply(Ask(QUESTION, max_tokens=100))).text == "def f(): ..."
        await model.close()
        await server.until_idle()


@pytest.mark.parametrize(("model_id", "write"), [("openai:", "openai:NAME"), ("replay:", "replay:FILE")])
async def test_a_kind_alone_names_no_model(model_id: str, write: str) -> None:
    with pytest.raises(Nameless) as caught:
        await open_model(model_id, Settings(base_url="localhost/v1"))
    assert str(caught.value) == f"'{model_id}' needs the name of a model: write {write} with --model."


async def test_without_a_name_and_without_a_model_the_pull_is_named() -> None:
    async with StandIn(models=(Model("nomic-embed-text:latest"),)) as server:
        with pytest.raises(NoModel, match=r"`ollama pull qwen2\.5-coder:7b`"):
            await open_model(None, Settings(host=server.host))
    with pytest.raises(NotRunning):
        await open_model(None, Settings(host=server.host))


async def test_without_a_name_a_user_who_waits_less_is_heeded() -> None:
    async with StandIn(instead={"/api/tags": Script(load=3600)}) as server:
        with pytest.raises(Stalled, match=r"has sent nothing for 0\.4 s:"):
            await open_model(None, Settings(host=server.host, token_timeout=0.4))
        await server.until_idle()


async def test_code_stays_in_the_users_network_unless_it_may_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    async with StandIn(["def f(): ..."]) as server:
        with monkeypatch.context() as patched:
            patched.setattr(addresses, "_HOME", ())  # now this machine counts as a remote one
            with pytest.raises(LeavesNetwork):
                await open_model(None, Settings(host=server.host))
            with pytest.raises(LeavesNetwork) as caught:
                await open_model("qwen2.5-coder:7b", Settings(host=server.host))
            assert str(caught.value) == (
                f"The server at {server.host} is outside your network, so your code would"
                " leave it: name a private server with --host or OLLAMA_HOST, or allow it with --allow-cloud."
            )
            assert server.seen == []
            allowed = await open_model("qwen2.5-coder:7b", Settings(host=server.host, allow_cloud=True))
            await allowed.close()
        model = await open_model("qwen2.5-coder:7b", Settings(host=server.host))
        assert (await model.reply(Ask(QUESTION, max_tokens=64))).text == "def f(): ..."
        await model.close()


async def test_the_settings_reach_the_server() -> None:
    async with StandIn(["def f(): ..."]) as server:
        settings = Settings(host=server.host, context_tokens=4096, temperature=0.7, seed=5, keep_alive="1h")
        model = await open_model("qwen2.5-coder:7b", settings)
        await model.reply(Ask(QUESTION, max_tokens=64))
        await model.close()
        (body,) = server.requests
        assert body["options"] == {"num_ctx": 4096, "num_predict": 64, "temperature": 0.7, "seed": 5}
        assert body["keep_alive"] == "1h"


async def test_a_recording_is_opened_by_its_path_and_made_where_the_settings_say(tmp_path: Path) -> None:
    path = tmp_path / "a:b.jsonl"
    async with StandIn(["def f(): ..."]) as server:
        model = await open_model("qwen2.5-coder:7b", Settings(host=server.host, record=path))
        said = await model.reply(Ask(QUESTION, max_tokens=64))
        await model.close()
    conversation = read(path)
    assert conversation.model == "ollama:qwen2.5-coder:7b"
    assert server.host not in path.read_text("utf-8")
    replay = await open_model(f"replay:{path}", Settings())
    assert replay.name == f"replay:{path}"
    replied = await replay.reply(Ask(QUESTION, max_tokens=64))
    assert (replied.text, replied.ended) == (said.text, said.ended)
    assert replied.tokens == replace(said.tokens, cached=0)
    assert replied.time is None


async def test_what_cannot_be_recorded_in_leaves_no_connection_open(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    async with StandIn(["def f(): ..."]) as server:
        with pytest.raises(CannotRecord, match="it is not a regular file"):
            await open_model("qwen2.5-coder:7b", Settings(host=server.host, record=path))
        await server.until_idle()
        assert server.requests == []
    assert files_in(path) == []


async def test_nothing_is_stored_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with StandIn(["def f(): ..."]) as server:
        model = await open_model("qwen2.5-coder:7b", Settings(host=server.host))
        await model.reply(Ask(QUESTION, max_tokens=64))
        await model.close()
    assert files_in(tmp_path) == []


async def test_a_recording_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadRecording, match="No such file") as caught:
        await open_model(f"replay:{tmp_path / 'none'}", Settings())
    assert isinstance(caught.value, ModelError)


@pytest.mark.parametrize("name", ["~nobody-of-this-name/talk", "a\0b", "a\ud800b", "x" * 5000])
async def test_a_recording_whose_name_means_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadRecording):
        await open_model(f"replay:{name}", Settings())


class Canned(Backend):
    """A kind of backend that always opens the same recording."""

    async def open_model(self, name: str) -> ChatModel:
        return await backends.open_model(f"replay:{fixture() / RECORDING}", self.settings, self.session, self.on_wait)

    async def examine(self, name: str, how: str, *, probes_speed: bool) -> Examination:
        return Examination((Finding("Model", True, f"canned {name}, {how}", model=f"canned:{name}"),))


@pytest.mark.isolation
async def test_a_new_kind_is_a_backend_and_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(models=("canned:x",), host=UNREACHABLE)
    assert (await examined(settings, tmp_path))[-1].name == "Ollama", "another name is one of Ollama's"
    monkeypatch.setitem(backends.BACKENDS, "canned", Canned)
    assert (await examined(settings, tmp_path))[-1].text == "canned x, as named"
    model = await open_model("canned:x", settings)
    assert model.name.startswith("replay:")
    await model.close()
