"""The choice of a model and a strategy, recommendations, and downloads."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adacoder.models import catalog
from adacoder.strategies import FAMILIES
from integration.lsp.client import PATIENCE, Client, ResponseError
from integration.lsp.texts import told_of
from support.standins.ollama import Ending, Script, StandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

CODER = "qwen2.5-coder:1.5b"
STALLED = Script(token=1000, ending=Ending.STALL)


def pulling(editor: Client, model: str) -> Any:
    """Start the download of a model."""
    return editor.begin(
        "workspace/executeCommand", {"command": "adacoder.server.pull", "arguments": [{"model": model}]}
    )


def shown(editor: Client) -> list[str]:
    """Return the progress messages."""
    return [each["value"]["message"] for each in editor.all("$/progress") if each["value"]["kind"] == "report"]


async def test_models_worth_having_are_told_with_what_fits(editor: Client) -> None:
    async with StandIn() as standin:
        editor.settings = told_of(standin)
        answer = await editor.execute("models")
    worth = answer["recommended"]
    assert {each["name"]: each["installed"] for each in worth}["qwen2.5-coder:7b"] is True
    assert {each["name"]: each["installed"] for each in worth}[CODER] is False
    assert [each["fits"] for each in worth] == sorted((each["fits"] for each in worth), reverse=True)
    assert worth[-1]["fits"] is ((catalog.memory() or 0) * 2 / 3 >= worth[-1]["bytes"])


async def test_a_model_is_downloaded_with_progress_and_is_there(editor: Client) -> None:
    async with StandIn(library={CODER: Script(token=1000)}) as standin:
        editor.settings = told_of(standin)
        assert await editor.execute("pull", {"model": f"ollama:{CODER}"}) == {
            "version": 1,
            "pulled": True,
            "reason": None,
        }
        answer = await editor.execute("models")
    assert CODER in [model["name"] for model in answer["models"]]
    kinds = [each["value"]["kind"] for each in editor.all("$/progress")]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert shown(editor)[0] == "pulling manifest"


async def test_how_far_a_download_is_can_be_seen_and_who_cancels_it_ends_it_on_the_server(editor: Client) -> None:
    async with StandIn(library={CODER: STALLED}) as standin:
        editor.settings = told_of(standin)
        _, answer = await pulling(editor, CODER)
        await standin.until(f"pulling {CODER}")
        await editor.until(lambda: "21% of 4.7 GB" in shown(editor))
        (created,) = editor.all("window/workDoneProgress/create")
        await editor.notify("window/workDoneProgress/cancel", created)
        told = await asyncio.wait_for(answer, PATIENCE)
        await standin.until_idle()
    assert (told["pulled"], told["reason"]) == (False, f"The download of '{CODER}' was cancelled.")


async def test_cancelling_the_command_ends_the_download(editor: Client) -> None:
    async with StandIn(library={CODER: STALLED}) as standin:
        editor.settings = told_of(standin)
        number, answer = await pulling(editor, CODER)
        await standin.until(f"pulling {CODER}")
        await editor.cancel(number)
        with pytest.raises(ResponseError, match="-32800"):
            await asyncio.wait_for(answer, PATIENCE)
        await standin.until_idle()


@pytest.mark.parametrize(
    ("model", "library", "told"),
    [
        ("none:1b", {}, "Ollama's library has no model 'none:1b'"),
        (CODER, {CODER: Script(ending=Ending.ERROR, error="no space left on device")}, "(no space left on device)"),
        (CODER, {CODER: Script(ending=Ending.EOF)}, "(it ended the download early)"),
        ("qwen3-coder:480b-cloud", {}, "runs on Ollama's servers"),
        ("", {}, "'model' must name a model."),
        (7, {}, "'model' must name a model."),
    ],
)
async def test_why_a_model_is_not_downloaded(
    editor: Client, model: object, library: dict[str, Script], told: str
) -> None:
    async with StandIn(library=library) as standin:
        editor.settings = told_of(standin)
        answer = await editor.execute("pull", {"model": model})
    assert answer["pulled"] is False
    assert told in answer["reason"]


async def test_without_a_server_nothing_is_downloaded(editor: Client) -> None:
    async with StandIn() as standin:
        editor.settings = told_of(standin)
    answer = await editor.execute("pull", {"model": CODER})
    assert (answer["pulled"], "No Ollama server answers" in answer["reason"]) == (False, True)


async def test_the_strategies_are_those_of_the_registry(editor: Client) -> None:
    strategies = (await editor.execute("strategies"))["strategies"]
    assert [each["name"] for each in strategies] == list(FAMILIES)
    assert strategies[0]["calls"]
