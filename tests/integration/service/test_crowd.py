"""Fifty simultaneous requests to one service, with the real evaluator, end as if they were alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from adacoder.domain import Outcome, Status
from adacoder.journal import Journal, Waiting
from adacoder.project import Project
from adacoder.service import Service
from adacoder.settings import Settings
from adacoder.source.locate import locate
from adacoder.task import Task
from support.standins.ollama import Body, StandIn

pytestmark = pytest.mark.isolation

CROWD = 50
GIVEN_UP = frozenset({7, 23, 49})
STUB = '''def times{number}(x):
    """{number} times x.

    >>> times{number}(2)
    {result}
    """
'''


def answer(body: Body) -> str:
    """Return the function in the prompt's last paragraph, so that mixed-up requests are noticed."""
    messages = body["messages"]
    assert isinstance(messages, list)
    number = messages[-1]["content"].rpartition("`times")[2].partition("`")[0]
    return f"```python\ndef times{number}(x):\n    return {number} * x\n```"


async def test_each_of_fifty_requests_gets_its_own_function(tmp_path: Path) -> None:
    path = tmp_path / "tables.py"
    text = "\n\n".join(STUB.format(number=number, result=2 * number) for number in range(CROWD))
    path.write_text(text, encoding="utf-8")
    service, heard = Service(), list[str]()

    async def request(number: int, settings: Settings) -> Outcome:
        target = locate(text, path, tmp_path, qualname=f"times{number}")
        listener = Journal(lambda event: heard.append(event.message) if isinstance(event, Waiting) else None)
        return await service.run(Task(target, settings, Project(tmp_path), listener))

    async with StandIn(answer) as server:
        settings = Settings(models=("qwen2.5-coder:7b",), host=server.host)
        async with server._slot:  # the server is busy with another request
            tasks = [asyncio.create_task(request(number, settings)) for number in range(CROWD)]
            await server.until("request 1")
            asked = answer(server.requests[0])  # the first of the fifty requests, in any order
            given_up = {number for number in GIVEN_UP if f"times{number}(" not in asked}
            for number in given_up:
                tasks[number].cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        await server.until_idle()
    await service.close()

    for number, outcome in enumerate(outcomes):
        if number in given_up:
            assert isinstance(outcome, asyncio.CancelledError)
        else:
            assert isinstance(outcome, Outcome)
            assert outcome.status is Status.VERIFIED, outcome.reason
            assert outcome.candidate is not None
            assert f"return {number} * x" in outcome.candidate.function
    assert len(server.requests) == CROWD - len(given_up)
    assert [event for event in server.events if event.startswith("load")] == ["load 1"]
    assert any(said.startswith("waiting for the model, ") for said in heard)
