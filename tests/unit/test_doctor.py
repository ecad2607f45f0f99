"""The examination of what works here, and `adacoder doctor`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from adacoder.cli.demo import RECORDING, fixture
from adacoder.doctor import Finding, examine
from adacoder.domain import Level
from adacoder.settings import Settings
from commandline import MODEL, Desk, new_desk
from standin_ollama import Model, StandIn

desk = pytest.fixture(new_desk)
UNREACHABLE = "127.0.0.1:1"


async def finding(name: str, settings: Settings, folder: Path) -> Finding:
    (found,) = [each for each in await examine(settings, folder) if each.name == name]
    return found


@pytest.mark.isolation
async def test_where_all_works_nothing_is_to_be_done(tmp_path: Path) -> None:
    async with StandIn() as standin:
        findings = await examine(Settings(host=standin.host), tmp_path)
    assert [each.name for each in findings] == [
        "AdaCoder",
        "Isolation",
        "Interpreter",
        "Ollama",
        "Model",
        "Project",
    ]
    assert {each.ok for each in findings} == {True, None}
    assert {each.advice for each in findings} == {""}


@pytest.mark.isolation
async def test_isolation_says_what_was_proved(tmp_path: Path) -> None:
    found = await finding("Isolation", Settings(host=UNREACHABLE), tmp_path)
    assert found.ok
    assert found.text.startswith("full (bubblewrap, landlock, seccomp, rlimits)")


@pytest.mark.isolation
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


async def test_without_a_server_it_says_how_to_start_one(tmp_path: Path) -> None:
    found = await finding("Ollama", Settings(host=UNREACHABLE), tmp_path)
    assert found.ok is False
    assert "ollama serve" in found.advice


async def test_the_server_tells_its_version(tmp_path: Path) -> None:
    async with StandIn(version="0.24.0") as standin:
        found = await finding("Ollama", Settings(host=standin.host), tmp_path)
    assert found.ok
    assert found.text == f"0.24.0 at {standin.host}"


@pytest.mark.parametrize(
    ("installed", "named", "ok", "words"),
    [
        ([MODEL, "llama3:8b"], None, True, f"{MODEL}, the best that is installed"),
        ([MODEL, "llama3:8b"], "llama3:8b", True, "llama3:8b, as named"),
        ([MODEL], f"ollama:{MODEL}", True, f"{MODEL}, as named"),
        (["llama3:latest"], "llama3", True, "llama3, as named"),
        ([MODEL], "llama3:8b", False, f"installed: {MODEL}"),
        (["nomic-embed-text:latest"], None, False, "installed: nomic-embed-text:latest"),
        ([], None, False, "installed: none"),
    ],
)
async def test_the_model_is_the_one_that_would_be_used(
    installed: list[str], named: str | None, ok: bool, words: str, tmp_path: Path
) -> None:
    async with StandIn(models=[Model(name) for name in installed]) as standin:
        found = await finding("Model", Settings(models=(named,) if named else (), host=standin.host), tmp_path)
    assert (found.ok, words in found.text) == (ok, True)
    assert ("ollama pull" in found.advice) == (not ok)


async def test_a_recorded_conversation_needs_no_server(tmp_path: Path) -> None:
    settings = Settings(models=(f"replay:{fixture() / RECORDING}",), host=UNREACHABLE)
    good = await examine(settings, tmp_path)
    bad = await finding("Model", Settings(models=(f"replay:{tmp_path / 'no'}",)), tmp_path)
    assert "Ollama" not in [each.name for each in good]
    assert [each.ok for each in good if each.name == "Model"] == [True]
    assert bad.ok is False


async def test_the_project_and_what_it_may_not_set(tmp_path: Path) -> None:
    settings = Settings(host=UNREACHABLE)
    (tmp_path / "pyproject.toml").write_text('[tool.adacoder]\nmodel = "m"\nhost = "x"\n', encoding="utf-8")
    found = await finding("Project", settings, tmp_path)
    assert found.ok is None
    assert found.text == f"{tmp_path / 'pyproject.toml'} sets model"
    assert "adacoder.host" in found.advice


@pytest.mark.isolation
def test_doctor_prints_a_mark_and_advice(desk: Desk) -> None:
    ran = desk.run("doctor")
    assert ran.code == 2
    assert "✓ Isolation" in ran.out
    assert "✗ Ollama" in ran.out
    assert "→ No Ollama server answers" in ran.out
    assert ran.error_lines == ["AdaCoder cannot generate here yet, for want of: ollama."]


@pytest.mark.isolation
def test_doctor_ends_well_where_it_can_generate(desk: Desk) -> None:
    with StandIn().in_thread() as standin:
        ran = desk.run("doctor", "--host", standin.host)
        missing = desk.run("doctor", "--host", standin.host, "--model", "other:1b")
    assert (ran.code, ran.err) == (0, "")
    assert "✗" not in ran.out
    assert missing.code == 2
    assert "ollama pull other:1b" in missing.out


@pytest.mark.isolation
def test_doctor_prints_json(desk: Desk) -> None:
    with StandIn().in_thread() as standin:
        ran = desk.run("doctor", "--json", "--host", standin.host)
    (result,) = ran.objects
    assert (ran.code, result["ok"]) == (0, True)
    assert {"name": "Ollama", "ok": True, "text": f"0.24.0 at {standin.host}", "advice": ""} in result["findings"]
