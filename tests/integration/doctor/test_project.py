"""Findings of `doctor` about the project. Their number is limited."""

from __future__ import annotations

import json
from pathlib import Path

from adacoder import doctor
from adacoder.doctor import Finding
from adacoder.settings import Settings
from support.examining import UNREACHABLE, examined, finding
from support.standins.ollama import Model, Script, StandIn


async def test_it_says_what_is_private_and_why(tmp_path: Path) -> None:
    (tmp_path / "mod.py").touch()
    found = await finding("Private", Settings(host=UNREACHABLE), tmp_path)
    assert found.text == "no private files found"
    (tmp_path / ".env").touch()
    (tmp_path / "notes.txt").write_text(f"token: ghp_{'a1B2' * 9}", encoding="utf-8")
    found = await finding("Private", Settings(host=UNREACHABLE, hide=("mod.py",)), tmp_path)
    assert found.ok is None
    assert found.text == (
        "3 places are hidden from models and from running code: .env (its name), mod.py (the setting 'hide' names"
        " it), notes.txt (it holds a token of GitHub)"
    )
    for number in range(50):
        (tmp_path / f"{number}.pem").touch()
    found = await finding("Private", Settings(host=UNREACHABLE, show=(".env",)), tmp_path)
    assert found.text.startswith("51 places are hidden")
    assert found.text.endswith(", and 31 more")
    assert ".env" not in found.text


async def test_of_a_server_with_very_many_models_a_few_are_named(tmp_path: Path) -> None:
    models = [{"name": f"qwen2.5-coder{number}:7b"} for number in range(4_000)]
    async with StandIn(instead={"/api/tags": Script(body=json.dumps({"models": models}))}) as standin:
        findings = await examined(Settings(host=standin.host, models=("qwen2.5-coder:8b",)), tmp_path)
        asked = [request for request in standin.seen if request.path == "/api/show"]
    (server,) = [each for each in findings if each.name == "Ollama"]
    (model,) = [each for each in findings if each.name == "Model"]
    assert server.text.endswith("…; 3500 more were not examined")
    assert model.ok is False
    assert len(asked) < 20  # the files that are suggested instead are also examined
    assert all(len(each.text) < 1000 and len(each.advice) < 1000 for each in findings)


async def test_no_text_of_a_finding_is_without_end(tmp_path: Path) -> None:
    keys = "".join(f"key{number} = 1\n" for number in range(100))
    (tmp_path / "pyproject.toml").write_text(f"[tool.adacoder]\n{keys}", encoding="utf-8")
    findings = await examined(Settings(host=UNREACHABLE, models=("m" * 10**6,)), tmp_path)
    assert all(len(text or "") < 2100 for each in findings for text in (each.text, each.advice, each.model))
    assert "key0 is not a setting" in findings[1].advice
    assert Finding("n", None, "short").text == "short"


async def test_of_a_long_ladder_the_first_models_are_looked_at(tmp_path: Path) -> None:
    async with StandIn(models=[Model(f"m{number}:7b") for number in range(99)]) as standin:
        settings = Settings(host=standin.host, models=tuple(f"m{number}:7b" for number in range(99)))
        findings = await examined(settings, tmp_path)
    models = [each for each in findings if each.name == "Model"]
    assert len(models) == 11
    assert models[-1].text == "89 more models of the ladder, not examined"


async def test_that_the_project_holds_adacoder_is_said(tmp_path: Path) -> None:
    there = Path(doctor.__file__).parents[1]
    for folder, said in (there, True), (tmp_path, False):
        found = await finding("AdaCoder", Settings(host=UNREACHABLE), folder)
        assert ("anyone who can change the project can change AdaCoder" in found.text) is said
