"""Several models, of which each is asked only if the previous one failed, with the real evaluator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adacoder import report
from adacoder.domain import Candidate, Outcome, Status, Target
from adacoder.journal import Journal, Listener, Waiting
from adacoder.project import Project
from adacoder.service import Service, from_reply
from adacoder.settings import Settings
from adacoder.source.locate import locate
from adacoder.strategies import most_rounds
from adacoder.task import Mode, Task, current
from support.commandline import GOOD_REPLY, PLAN, STUB, WRONG_REPLY
from support.recordings import room_for
from support.standins.ollama import Body, Model, StandIn

pytestmark = pytest.mark.isolation

HALF = "```python\ndef hypotenuse(a, b):\n    return float(2 * b - a)\n```"
"""A reply that is right only for the first example."""
SMALL, LARGE = "small:1b", "large:70b"


def answering(**replies: Sequence[str]) -> Callable[[Body], str]:
    """Return the replies of each model in order, by the first part of its name."""
    left = {name: list(texts) for name, texts in replies.items()}
    return lambda body: left[str(body["model"]).partition(":")[0]].pop(0)


class Ladder:
    """A workspace with one function to write, a service, and a server with both models."""

    def __init__(self, folder: Path, server: StandIn, service: Service) -> None:
        self.server = server
        self.target = self._target(folder)
        self._folder = folder
        self._service = service
        self._settings = Settings(models=(SMALL, LARGE), host=server.host, strategy="adacoder")

    @staticmethod
    def _target(folder: Path) -> Target:
        path = folder / "shapes.py"
        path.write_text(STUB, encoding="utf-8")
        return locate(STUB, path, folder, qualname="hypotenuse")

    async def run(self, *listeners: Listener, start: Candidate | None = None, **changed: Any) -> Outcome:
        settings = replace(self._settings, **changed)
        return await self._service.run(Task(self.target, settings, Project(self._folder), Journal(*listeners), start))

    async def suggest(self) -> Outcome:
        return await self._service.suggest(Task(self.target, self._settings, Project(self._folder), Journal()))

    @property
    def asked(self) -> list[str]:
        """Return the model of each request."""
        return [str(body["model"]) for body in self.server.requests]


@asynccontextmanager
async def ladder(
    folder: Path, models: Sequence[str] = (SMALL, LARGE), **replies: Sequence[str]
) -> AsyncIterator[Ladder]:
    service = Service()
    try:
        async with StandIn(answering(**replies), models=[Model(name) for name in models]) as server:
            yield Ladder(folder, server, service)
            await server.until_idle()
    finally:
        await service.close()


async def test_the_next_model_is_asked_after_so_many_failed_rounds(tmp_path: Path) -> None:
    async with ladder(tmp_path, small=[WRONG_REPLY, PLAN, HALF], large=[GOOD_REPLY]) as desk:
        outcome = await desk.run()
        assert (outcome.status, outcome.model, outcome.rounds) == (Status.VERIFIED, f"ollama:{LARGE}", 3)
        assert desk.asked == [SMALL, SMALL, SMALL, LARGE]
        assert [step.round for step in outcome.steps if step.action == "write"] == [1, 2, 3]
        assert LARGE in report.summary(outcome)


@pytest.mark.parametrize(
    ("rounds", "asked"),
    [(1, [SMALL, LARGE]), (2, [SMALL, SMALL, SMALL, LARGE]), (3, [SMALL] * 5 + [LARGE])],
)
async def test_how_many_rounds_is_a_setting(tmp_path: Path, rounds: int, asked: list[str]) -> None:
    async with ladder(tmp_path, small=[WRONG_REPLY, PLAN, WRONG_REPLY, PLAN, WRONG_REPLY], large=[GOOD_REPLY]) as desk:
        outcome = await desk.run(rounds_per_model=rounds)
        assert (outcome.status, desk.asked) == (Status.VERIFIED, asked)


async def test_a_model_that_succeeds_is_the_last_to_be_asked(tmp_path: Path) -> None:
    async with ladder(tmp_path, small=[GOOD_REPLY], large=[]) as desk:
        outcome = await desk.run()
        assert (outcome.status, outcome.model, desk.asked) == (Status.VERIFIED, f"ollama:{SMALL}", [SMALL])


@pytest.mark.parametrize(
    ("first", "asked"), [("I know none.", [SMALL, LARGE]), ("```\n>>> hypotenuse(8, 15)\n17.0\n```", [SMALL])]
)
async def test_the_next_model_is_asked_for_examples_where_one_suggests_none(
    tmp_path: Path, first: str, asked: list[str]
) -> None:
    async with ladder(tmp_path, small=[first], large=["```\n>>> hypotenuse(6, 8)\n10.0\n```"]) as desk:
        outcome = await desk.suggest()
        assert (outcome.status, len(outcome.edits), desk.asked) == (Status.UNVERIFIED, 1, asked)
        assert outcome.model == f"ollama:{asked[-1]}"


async def test_the_last_model_may_use_all_rounds(tmp_path: Path) -> None:
    async with ladder(
        tmp_path, small=[WRONG_REPLY], large=[WRONG_REPLY, PLAN, HALF, PLAN, WRONG_REPLY, PLAN, GOOD_REPLY]
    ) as desk:
        outcome = await desk.run(rounds_per_model=1, max_iterations=3)
        assert (outcome.status, outcome.rounds) == (Status.VERIFIED, 5)


async def test_the_candidate_that_got_furthest_is_told_with_its_own_model(tmp_path: Path) -> None:
    async with ladder(tmp_path, small=[HALF], large=[WRONG_REPLY]) as desk:
        outcome = await desk.run(rounds_per_model=1, max_iterations=0)
        assert (outcome.status, outcome.model, outcome.rounds) == (Status.PARTIAL, f"ollama:{SMALL}", 2)
        assert "2 * b - a" in str(outcome.candidate)
        assert desk.asked == [SMALL, LARGE]


async def test_a_model_that_is_not_there_is_passed_over_and_named(tmp_path: Path) -> None:
    async with ladder(tmp_path, models=[LARGE], large=[GOOD_REPLY]) as desk:
        outcome = await desk.run()
        assert (outcome.status, outcome.model) == (Status.VERIFIED, f"ollama:{LARGE}")
        (note,) = outcome.notes
        assert f"has no model '{SMALL}'" in note
        assert note in report.summary(outcome)
        assert report.to_json(outcome, tmp_path)["notes"] == [note]


async def test_where_no_model_can_be_asked_each_is_named(tmp_path: Path) -> None:
    async with ladder(tmp_path, models=[]) as desk:
        outcome = await desk.run()
        assert outcome.status is Status.ERROR
        assert f"has no model '{SMALL}'" in str(outcome.reason)
        assert f"has no model '{LARGE}'" in str(outcome.reason)


async def test_each_model_plans_from_what_fix_begins_with(tmp_path: Path) -> None:
    async with ladder(tmp_path, small=[PLAN, WRONG_REPLY], large=[PLAN, GOOD_REPLY]) as desk:
        outcome = await desk.run(start=current(desk.target), rounds_per_model=1)
        assert (outcome.status, outcome.model) == (Status.VERIFIED, f"ollama:{LARGE}")
        assert desk.asked == [SMALL, SMALL, LARGE, LARGE]


async def test_apply_climbs_nothing(tmp_path: Path) -> None:
    async with ladder(tmp_path) as desk:
        outcome = await desk.run(start=from_reply(WRONG_REPLY, desk.target), max_iterations=0)
        assert (outcome.status, outcome.rounds, desk.asked) == (Status.FAILED, 1, [])


@pytest.mark.parametrize(
    ("start", "rounds", "most", "in_all"),
    [(None, 2, 1, 4), (None, 1, 0, 2), (WRONG_REPLY, 1, 1, 4), (WRONG_REPLY, 2, 0, 1)],
)
async def test_the_rounds_announced_are_those_it_takes_where_all_fail(
    tmp_path: Path, start: str | None, rounds: int, most: int, in_all: int
) -> None:
    async with ladder(tmp_path) as desk:
        desk.server.replies = lambda _: WRONG_REPLY
        settings = Settings(models=(SMALL, LARGE), strategy="adacoder", rounds_per_model=rounds, max_iterations=most)
        candidate = None if start is None else from_reply(start, desk.target)
        outcome = await desk.run(start=candidate, rounds_per_model=rounds, max_iterations=most)
        assert outcome.rounds == most_rounds(Mode.GENERATE if start is None else Mode.FIX, settings) == in_all


@pytest.mark.parametrize(("room", "asked"), [(100, []), (2000, [SMALL]), (30_000, [SMALL] * 3 + [LARGE])])
async def test_no_other_model_is_asked_where_the_conversation_cannot_be_recorded(
    tmp_path: Path, room: int, asked: list[str]
) -> None:
    async with ladder(tmp_path, small=[WRONG_REPLY, PLAN, HALF], large=[GOOD_REPLY]) as desk:
        with room_for(room):
            outcome = await desk.run(record=tmp_path / "talk")
        assert desk.asked == asked
        is_whole = LARGE in asked
        assert outcome.status is (Status.VERIFIED if is_whole else Status.ERROR)
        assert report.summary(outcome).count("cannot be recorded") == (not is_whole)


async def test_a_model_that_is_not_there_takes_no_round_and_is_told_at_once(tmp_path: Path) -> None:
    heard: list[str] = []
    async with ladder(tmp_path, models=[LARGE], large=[GOOD_REPLY]) as desk:
        outcome = await desk.run(lambda event: heard.append(event.message) if isinstance(event, Waiting) else None)
        assert outcome.rounds == 1
        assert [step.round for step in outcome.steps if step.action == "write"] == [1]
        assert any(f"has no model '{SMALL}'" in message for message in heard)
