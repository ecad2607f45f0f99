"""Recorded requests can be replayed with the real evaluator: with the same bytes, and on another machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest

from adacoder.domain import JSON, Outcome, Reply, Status
from adacoder.models import backends
from adacoder.models.base import ChatModel
from adacoder.models.errors import ModelError
from adacoder.models.recording.format import RecordedConversation, read
from adacoder.models.window import Window
from adacoder.project import Project
from adacoder.service import Service
from adacoder.settings import Settings
from adacoder.source.locate import locate
from adacoder.task import Task, current
from support.recordings import telling

pytestmark = pytest.mark.isolation

PLACES = '''"""Where things are."""

import os
import tempfile

PASSWORD = "hunter2"
URL = "https://zelda:secret@example.org"


def describe(max, things):
    """The greatest of `things`.

    >>> describe(max, [1, 2])
    2
    >>> describe(min, [1, 2])
    1
    """
'''
TELLING = """```python
def describe(max, things):
    def inner():
        pass
    return inner, os.getcwd(), __file__
```"""
FAILING = """```python
def describe(max, things):
    return open(__file__ + ".txt").read()
```"""
GOOD = """```python
def describe(max, things):
    return max(things)
```"""
PLAN = "1. Call `max`."
ROUNDS = (TELLING, PLAN, FAILING, PLAN, GOOD)


async def request(
    folder: Path,
    settings: Settings,
    scripts: Mapping[str, ChatModel] | None = None,
    *,
    text: str = PLACES,
    fixes: bool = False,
) -> Outcome:
    """Make a request with a new service in a new workspace."""
    module = folder / "pkg" / "places.py"
    module.parent.mkdir(parents=True, exist_ok=True)
    module.write_text(text, encoding="utf-8")
    target = locate(text, module, folder, qualname="describe")

    async def opened(name: str) -> ChatModel:
        return (scripts or {})[name]

    service = Service()
    with patch.dict(backends.BACKENDS, script=lambda *_: SimpleNamespace(open_model=opened)):
        try:
            start = current(target) if fixes else None
            return await service.run(Task(target, settings, Project(folder), start=start))
        finally:
            await service.close()


def recording(path: Path, *models: str, **more: Any) -> Settings:
    return Settings(models=models or ("script:a",), strategy="adacoder", record=path, **more)


def end_of(conversation: RecordedConversation) -> Mapping[str, JSON]:
    assert conversation.outcome is not None
    return conversation.outcome


async def test_the_same_request_is_recorded_and_replayed_to_the_same_bytes(tmp_path: Path) -> None:
    first, second, again = (tmp_path / name for name in ("first", "second", "again"))
    models = telling(ROUNDS), telling(ROUNDS)
    outcome = await request(tmp_path / "here", recording(first), {"a": models[0]})
    await request(tmp_path / "elsewhere" / "deep", recording(second), {"a": models[1]})
    replayed = await request(tmp_path / "there", recording(again, f"replay:{first}", context_tokens=8192))
    assert outcome.status is replayed.status is Status.VERIFIED
    assert outcome.rounds == replayed.rounds == 3
    texts = [[ask.text for ask in model.asked] for model in models]
    assert texts[0] != texts[1]  # otherwise there would be nothing to redact
    assert first.read_bytes() == second.read_bytes() == again.read_bytes()


async def test_a_recording_tells_all_that_the_request_was(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    settings = recording(path, max_iterations=2, seed=7, instructions="Be brief.", temperature=0.5)
    outcome = await request(tmp_path / "ws", settings, {"a": telling(ROUNDS, Window(4096, 1.15))})
    one = read(path)
    assert (one.model, one.window) == ("ollama:m", Window(4096, 1.15))
    assert [exchange.reply.text for exchange in one.exchanges if isinstance(exchange.reply, Reply)][1:] == [*ROUNDS[1:]]
    about = dict(one.about)
    text = "\n".join(str(line) for line in cast("list[str]", about.pop("text")))
    assert text == PLACES.replace("hunter2", "…").replace("https://zelda:secret@example.org", "…")
    assert about.pop("python")
    assert about.pop("platform")
    assert about == {
        "target": {"path": "pkg/places.py", "qualname": "describe"},
        "rung": 1,
        "module": "places",
        "start": None,
        "settings": {
            "strategy": "adacoder",
            "max_iterations": 2,
            "timeout": 10.0,
            "isolation": "seatbelt",
            "context_tokens": 8192,
            "temperature": 0.5,
            "seed": 7,
            "instructions": "Be brief.",
        },
    }
    end = end_of(one)
    assert (end["status"], end["reason"], end["rounds"], end["failure"]) == ("verified", None, 3, None)
    assert outcome.candidate is not None
    assert "\n".join(cast("list[str]", end["candidate"])) == outcome.candidate.text


async def test_nothing_of_home_server_and_key_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home" / "zelda"
    workspace = home / "castle" / "shop"
    workspace.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("OLLAMA_HOST", "http://gpu.hyrule.example:11434")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-triforce-0123456789")
    path = tmp_path / "talk"
    secrets = f"'{home}/x', 'gpu.hyrule.example:11434', 'sk-triforce-0123456789'"
    replies = (TELLING, FAILING, f"```python\ndef describe(max, things):\n    return {secrets}\n```")
    error = ModelError(f"No server answers at http://gpu.hyrule.example:11434, see {home}/log.")
    model = telling([replies[0], PLAN, replies[1], PLAN, replies[2], error])
    text = PLACES.replace("The greatest", f"Zelda's greatest (see {workspace}/readme.txt)")
    outcome = await request(workspace, recording(path), {"a": model}, text=text)
    assert outcome.status is Status.FAILED
    told = "\n".join(ask.text for ask in model.asked)
    assert all(word in told for word in (str(workspace), f"{home}/x", "hyrule", "triforce"))  # control
    content = path.read_text(encoding="utf-8")
    assert "zelda" not in content
    assert "hyrule" not in content
    assert "triforce" not in content
    assert str(tmp_path) not in content
    assert "<user>'s greatest" in content  # the user's name, in lower or upper case
    assert "<workspace>/pkg/places.py.txt" in content


async def test_a_recording_replays_for_another_user_elsewhere_with_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "talk"
    homes = [tmp_path / "home" / name for name in ("zelda", "link")]
    of_replay = Settings(models=(f"replay:{path}",), strategy="adacoder", context_tokens=2048, seed=3)
    models: list[Settings] = [recording(path), of_replay]
    outcomes = []
    for home, settings in zip(homes, models, strict=True):
        home.mkdir(parents=True)
        monkeypatch.setenv("HOME", str(home))
        script = telling(ROUNDS, Window(6000, 1.3))
        text = PLACES.replace("The greatest", f"As in {home}/x: the greatest")
        outcomes.append(await request(home / home.name / "shop", settings, {"a": script}, text=text))
    assert [(one.status, one.rounds) for one in outcomes] == [(Status.VERIFIED, 3)] * 2
    assert outcomes[0].candidate == outcomes[1].candidate
    changed = await request(homes[1] / "other", models[1], text=text.replace("greatest", "largest"))
    assert changed.status is Status.ERROR
    assert "\n+" in str(changed.reason)
    assert "largest" in str(changed.reason)


async def test_a_fix_tells_where_it_began(tmp_path: Path) -> None:
    path, again = tmp_path / "talk", tmp_path / "again"
    text = f"{PLACES}    return things[0]\n"
    await request(tmp_path / "ws", recording(path), {"a": telling([PLAN, GOOD])}, text=text, fixes=True)
    one = read(path)
    assert str(one.about["start"]).endswith("return things[0]', '']")
    replayed = await request(tmp_path / "ws", recording(again, f"replay:{path}"), text=text, fixes=True)
    assert replayed.status is Status.VERIFIED
    assert again.read_bytes() == path.read_bytes()


async def test_each_rung_of_a_ladder_is_a_conversation(tmp_path: Path) -> None:
    path, again = tmp_path / "talk", tmp_path / "again"
    gone = ModelError("No such model.")
    scripts = {"a": telling([], gone), "b": telling([FAILING]), "c": telling([TELLING, PLAN, GOOD])}
    settings = recording(path, "script:a", "script:b", "script:c", rounds_per_model=1)
    outcome = await request(tmp_path / "ws", settings, scripts)
    conversations = [read(tmp_path / name) for name in ("talk", "talk-2", "talk-3")]
    assert [(one.about["rung"], len(one.exchanges)) for one in conversations] == [(1, 0), (2, 1), (3, 3)]
    assert [end_of(one)["status"] for one in conversations] == ["error", "failed", "verified"]
    assert end_of(conversations[0])["reason"] == "No such model."
    replays = [f"replay:{tmp_path / name}" for name in ("talk", "talk-2", "talk-3")]
    replayed = await request(tmp_path / "ws", recording(again, *replays, rounds_per_model=1))
    assert replayed.status is outcome.status is Status.VERIFIED
    assert outcome.notes == (f"The conversation is in the new file {path}-3.", "No such model.")
    assert replayed.notes == (f"The conversation is in the new file {again}-3.", "No such model.")
    for number in ("", "-2", "-3"):
        assert (tmp_path / f"again{number}").read_bytes() == (tmp_path / f"talk{number}").read_bytes()


async def test_what_came_is_not_lost_where_its_end_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    with patch("adacoder.models.recording.recorder.outcome_json", side_effect=lambda _: path.unlink() or {}):
        outcome = await request(tmp_path / "ws", recording(path), {"a": telling([GOOD])})
    assert outcome.status is Status.VERIFIED
    assert outcome.edits
    (note,) = outcome.notes
    assert note.startswith(f"The conversation cannot be recorded in {path} (No such file or directory)")


def everything_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


async def test_without_record_nothing_is_stored_anywhere(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    for folder in (home, cwd):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.chdir(cwd)
    module = home / "shop" / "pkg" / "places.py"
    module.parent.mkdir(parents=True)
    module.touch()
    before = everything_in(tmp_path)
    outcome = await request(home / "shop", Settings(models=("script:a",), strategy="adacoder"), {"a": telling(ROUNDS)})
    assert outcome.status is Status.VERIFIED
    assert everything_in(tmp_path) == before
    await request(home / "shop", recording(cwd / "talk"), {"a": telling(ROUNDS)})
    assert everything_in(tmp_path) == before | {cwd / "talk"}  # control: it is found
