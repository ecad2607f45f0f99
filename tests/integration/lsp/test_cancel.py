"""A cancelled job leaves nothing behind, at whatever moment and in whatever way it is cancelled."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from integration.lsp.client import PATIENCE, Client, ResponseError
from integration.lsp.texts import BODY, ENDLESS, GOOD, STUB, UNENDING, thinking, told_of
from support.standins.ollama import Script, StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

WARNING = 2
CANCELLED = "Cancelled 'initials'; nothing was changed."


async def start(editor: Client, standin: StandIn, **settings: Any) -> tuple[str, str]:
    """Start to generate `initials`. Return the document's URI and the job's id."""
    editor.settings = told_of(standin, **settings)
    uri = await editor.write("names.py", STUB)
    answer = await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
    return uri, answer["jobId"]


async def evaluation(editor: Client) -> int:
    """Return the running evaluation's process, which is the one that uses the processor."""
    used = {pid: processor_seconds(pid) for pid in editor.descendants()}
    async with asyncio.timeout(PATIENCE):
        while True:
            for pid in editor.descendants():
                if processor_seconds(pid) - used.get(pid, 0.0) > 0.3:
                    return pid
            await asyncio.sleep(0.02)


async def ended(editor: Client, pid: int) -> None:
    """Wait until the server's descendant `pid` has ended."""
    async with asyncio.timeout(PATIENCE):
        while pid in editor.descendants():  # noqa: ASYNC110  # the system's processes set no Event
            await asyncio.sleep(0.02)


def processor_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("how", ["progress", "command", "command with its id"])
async def test_while_the_model_writes(editor: Client, how: str) -> None:
    async with StandIn([UNENDING]) as standin:
        uri, job = await start(editor, standin)
        await standin.until("first byte 1")
        if how == "progress":
            (created,) = editor.all("window/workDoneProgress/create")
            await editor.notify("window/workDoneProgress/cancel", created)
        else:
            arguments = [{"jobId": job}] if "id" in how else []
            assert await editor.execute("cancel", *arguments) == {"version": 1, "cancelled": [job]}
        await standin.until("disconnected 1")
        await standin.until_idle()
        assert await editor.told() == (WARNING, CANCELLED)
    assert editor.all("$/progress")[-1]["value"] == {"kind": "end"}
    assert editor.all("workspace/applyEdit") == []
    assert editor.text(uri) == STUB
    assert (await editor.execute("journal", {"jobId": job}))["status"] == "cancelled"


async def test_by_the_request_itself(editor: Client) -> None:
    async with StandIn([UNENDING]) as standin:
        editor.settings = told_of(standin)
        await editor.write("names.py", STUB)
        number, answer = await editor.begin("adacoder/run", editor.run_params("names.py", "initials"))
        await standin.until("first byte 1")
        await editor.cancel(number)
        with pytest.raises(ResponseError, match="-32800"):
            await asyncio.wait_for(answer, PATIENCE)
        # an answer comes only after the end of the job
        assert await editor.execute("status") == {"version": 1, "jobs": []}
        await standin.until("disconnected 1")
        await standin.until_idle()
    assert editor.messages == []
    assert editor.all("workspace/applyEdit") == []


async def test_a_run_can_be_cancelled_by_the_command_too(editor: Client) -> None:
    async with StandIn([UNENDING]) as standin:
        editor.settings = told_of(standin)
        await editor.write("names.py", STUB)
        _, answer = await editor.begin("adacoder/run", editor.run_params("names.py", "initials"))
        await standin.until("first byte 1")
        await editor.execute("cancel")
        with pytest.raises(ResponseError, match="-32800"):
            await asyncio.wait_for(answer, PATIENCE)


async def test_while_the_examples_run(editor: Client) -> None:
    async with StandIn([ENDLESS]) as standin:
        uri, _ = await start(editor, standin, timeout=300)
        await editor.until(lambda: "running the examples" in str(editor.all("$/progress")))
        running = await evaluation(editor)
        await editor.execute("cancel")
        assert await editor.told() == (WARNING, CANCELLED)
        await ended(editor, running)
    assert editor.text(uri) == STUB


async def test_while_waiting_for_the_model(editor: Client) -> None:
    async with StandIn([UNENDING, GOOD]) as standin:
        editor.settings = told_of(standin)
        other = await editor.write("other.py", STUB)
        await editor.execute("generate", {"uri": other, "qualifiedName": "initials"})
        await standin.until("first byte 1")
        _, job = await start(editor, standin)
        await editor.until(lambda: "waiting for the model" in str(editor.all("$/progress")))
        assert await editor.execute("cancel", {"jobId": job}) == {"version": 1, "cancelled": [job]}
        assert await asyncio.wait_for(_first_message(editor), PATIENCE) == (WARNING, CANCELLED)
        assert len((await editor.execute("status"))["jobs"]) == 1
        assert [event for event in standin.events if "disconnected" in event] == []


async def _first_message(editor: Client) -> tuple[int, str]:
    await editor.until(lambda: editor.messages)
    return editor.messages[0]


@pytest.mark.parametrize("method", ["workspace/configuration", "window/workDoneProgress/create"])
async def test_while_the_editor_is_asked(editor: Client, method: str) -> None:
    """The editor's late answer is then ignored. pygls alone would show an error message."""
    go = asyncio.Event()

    async def late(params: object) -> Any:
        await go.wait()
        return [editor.settings] if method == "workspace/configuration" else None

    editor.answers[method] = late
    async with StandIn([UNENDING]) as standin:
        await start(editor, standin)
        await editor.until(lambda: editor.all(method))
        await editor.execute("cancel")
        assert await editor.told() == (WARNING, CANCELLED)
        go.set()
        await editor.execute("status")
        assert editor.messages == [(WARNING, CANCELLED)]
        assert standin.requests == [] or method == "window/workDoneProgress/create", "for that no job waits"


@pytest.mark.parametrize("way", ["command", "request"])
async def test_too_late_to_cancel(editor: Client, way: str) -> None:
    """After the edit was sent, the message "nothing was changed" would be wrong."""
    go = asyncio.Event()

    async def slow(params: Any) -> Any:
        await go.wait()
        return await editor._apply(params)

    editor.answers["workspace/applyEdit"] = slow
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        number, answer = await editor.begin("adacoder/run", editor.run_params("names.py", "initials"))
        await editor.until(lambda: editor.all("workspace/applyEdit"))
        if way == "request":
            await editor.cancel(number)
        else:
            assert await editor.execute("cancel") == {"version": 1, "cancelled": []}
        await editor.execute("status")
        go.set()
        result = await asyncio.wait_for(answer, PATIENCE)
    assert (result["status"], result["applied"]) == ("verified", True)
    assert editor.text(uri) == STUB + BODY


async def test_a_cancelled_command_that_waits_stops_waiting(editor: Client) -> None:
    """pygls does not stop the handler of a cancelled `workspace/executeCommand`."""
    async with StandIn() as standin:
        standin.instead = {"/api/tags": Script(load=10 * PATIENCE)}
        editor.settings = told_of(standin)
        command = {"command": "adacoder.server.models", "arguments": []}
        number, answer = await editor.begin("workspace/executeCommand", command)
        async with asyncio.timeout(PATIENCE):
            while not standin.seen:  # noqa: ASYNC110  # it only reports chats
                await asyncio.sleep(0.01)
        await editor.cancel(number)
        with pytest.raises(ResponseError, match="-32800"):
            await asyncio.wait_for(answer, PATIENCE)
        await standin.until_idle()


async def test_the_next_job_finds_everything_as_before(editor: Client) -> None:
    async with StandIn([UNENDING, GOOD]) as standin:
        uri, _ = await start(editor, standin)
        await standin.until("first byte 1")
        await editor.execute("cancel")
        await editor.idle()
        async with thinking(standin):
            await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
            await standin.until("request 2")
        await editor.until(lambda: len(editor.messages) == 2)
    assert editor.text(uri) == STUB + BODY
