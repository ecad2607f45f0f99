"""Requests for the models, and for the doctor's findings."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from integration.lsp.client import PATIENCE, Client, ResponseError
from integration.lsp.texts import STUB, thinking, told_of
from support import layouts
from support.standins.ollama import Ending, Model, Script, StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

NUMBERS = ", ".join(map(str, range(61, 120)))
STALLED = Script("61", ending=Ending.STALL)


def named(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer's findings, by name."""
    return {each["name"]: each for each in answer["findings"]}


async def test_models(editor: Client) -> None:
    models = [
        Model("qwen3:8b", ("completion", "thinking"), parameter_size="8.2B"),
        Model("embed:latest", ("embedding",)),
    ]
    async with StandIn(models=models) as standin:
        editor.settings = told_of(standin)
        answer = await editor.execute("models")
    assert answer["reason"] is None
    assert answer["models"][0] == {
        "name": "qwen3:8b",
        "billions": 8.2,
        "cloud": False,
        "bytes": 4_700_000_000,
        "fits": answer["models"][0]["fits"],
        "quantization": "Q4_K_M",
        "chats": True,
        "thinks": "unless told",
        "contextTokens": 32768,
        "loaded": False,
        "loadedContextTokens": None,
    }
    assert [model["chats"] for model in answer["models"]] == [True, False]
    answer = await editor.execute("models")
    assert answer["models"] == []
    assert "No Ollama server answers" in answer["reason"]


async def test_what_is_not_told_of_a_model_is_null(editor: Client) -> None:
    missing = Script(status=404, body="404 page not found")
    async with StandIn(instead={"/api/ps": missing, "/api/show": missing}) as standin:
        editor.settings = told_of(standin)
        (model,) = (await editor.execute("models"))["models"]
    assert (model["chats"], model["thinks"], model["contextTokens"]) == (None, None, None)
    assert (model["name"], model["loaded"]) == ("qwen2.5-coder:7b", False)


async def test_doctor(editor: Client) -> None:
    async with StandIn([NUMBERS]) as standin:
        editor.settings = told_of(standin)
        answer = await editor.execute("doctor")
    assert (answer["ok"], answer["reason"]) == (True, None)
    findings = named(answer)
    assert findings["Model"]["ok"] is findings["Isolation"]["ok"] is findings["Speed"]["ok"] is True
    answer = await editor.execute("doctor")
    assert answer["ok"] is False
    assert named(answer)["Ollama"]["ok"] is False
    assert "ollama serve" in named(answer)["Ollama"]["advice"]


async def test_while_a_model_is_measured_there_is_progress(editor: Client) -> None:
    async with StandIn([NUMBERS]) as standin:
        editor.settings = told_of(standin)
        await editor.execute("doctor")
    shown = [each["value"]["kind"] for each in editor.all("$/progress")]
    assert (shown[0], shown[-1]) == ("begin", "end")
    assert "report" in shown


async def test_without_a_probe_no_model_is_asked(editor: Client) -> None:
    async with StandIn() as standin:
        editor.settings = told_of(standin)
        answer = await editor.execute("doctor", {"probe": False})
        assert standin.requests == []
    assert answer["ok"]
    assert "Speed" not in named(answer)
    assert editor.all("$/progress") == []


async def test_the_doctor_looks_at_the_folder_of_a_document(editor: Client) -> None:
    other = "qwen2.5-coder:1.5b"
    project = editor.folder / "part"
    project.mkdir()
    (project / "pyproject.toml").write_text(f'[tool.adacoder]\nmodel = "{other}"\n', encoding="utf-8")
    uri = await editor.write("part/names.py", STUB)
    async with StandIn(models=[Model("qwen2.5-coder:7b"), Model(other)]) as standin:
        editor.settings = {"ollama": {"host": standin.host}}
        abouts: list[dict[str, str]] = [{}, {"uri": uri}, {"uri": "untitled:Untitled-1"}]
        answers = [await editor.execute("doctor", {"probe": False, **about}) for about in abouts]
    best = "ollama:qwen2.5-coder:7b"
    assert [named(each)["Model"]["model"] for each in answers] == [best, f"ollama:{other}", best]


async def test_while_a_job_is_at_work_no_model_is_measured(editor: Client) -> None:
    async with StandIn() as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        async with thinking(standin):
            await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
            await standin.until("request 1")
            answer = await editor.execute("doctor")
            await editor.execute("cancel")
        assert len(standin.requests) == 1
    assert answer["ok"]
    assert "Speed" not in named(answer)


async def test_who_cancels_the_progress_gets_what_was_found(editor: Client) -> None:
    async with StandIn([STALLED]) as standin:
        editor.settings = told_of(standin)
        command = {"command": "adacoder.server.doctor", "arguments": []}
        _, answer = await editor.begin("workspace/executeCommand", command)
        await standin.until("first byte 1")
        (created,) = editor.all("window/workDoneProgress/create")
        await editor.notify("window/workDoneProgress/cancel", created)
        findings = named(await asyncio.wait_for(answer, PATIENCE))
        await standin.until_idle()
    assert findings["Model"]["ok"] is True
    assert "Speed" not in findings


async def test_cancelling_the_command_leaves_nothing_behind(editor: Client) -> None:
    async with StandIn([STALLED]) as standin:
        editor.settings = told_of(standin)
        command = {"command": "adacoder.server.doctor", "arguments": []}
        number, answer = await editor.begin("workspace/executeCommand", command)
        await standin.until("first byte 1")
        await editor.cancel(number)
        with pytest.raises(ResponseError, match="-32800"):
            await asyncio.wait_for(answer, PATIENCE)
        await standin.until_idle()
    await editor.until(lambda: editor.all("$/progress")[-1]["value"]["kind"] == "end")


@pytest.mark.parametrize("probe", ["no", 1, None])
async def test_what_the_doctor_cannot_read_is_told(editor: Client, probe: object) -> None:
    answer = await editor.execute("doctor", {"probe": probe})
    assert answer == {"version": 1, "ok": False, "findings": [], "reason": "'probe' must be true or false."}


async def test_status_names_the_python_of_a_document(editor: Client) -> None:
    assert await editor.execute("status") == {"version": 1, "jobs": []}
    (editor.folder / "part").mkdir()
    uri = await editor.write("part/words.py", STUB)
    own = (await editor.execute("status", {"uri": uri}))["interpreter"]
    assert own["ok"] is True
    assert "it is AdaCoder's own" in own["text"]
    layouts.environment(editor.folder / "part/.venv")
    found = (await editor.execute("status", {"uri": uri}))["interpreter"]
    assert found["text"] == f"{editor.folder / 'part/.venv/bin/python'}: it belongs to the project's .venv"
    nothing = (await editor.execute("status", {"uri": f"{uri}.gone"}))["interpreter"]
    assert nothing["ok"] is None
