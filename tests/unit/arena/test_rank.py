"""Rank arms of known strength by successive halving, with a simulated clock."""

from __future__ import annotations

import asyncio
import random

import pytest

from adacoder.arena.rank import Arm, Ranking, Result, rank

FUNCTIONS = [f"f{number}" for number in range(32)]


class World:
    """Combinations of a model and a workflow that solve a given share of functions, in a given number of seconds."""

    def __init__(self, arms: dict[str, tuple[float, float]]) -> None:
        self.arms = {Arm(name, "adacoder"): told for name, told in arms.items()}
        self.now = 0.0
        self.asked: dict[str, int] = dict.fromkeys(arms, 0)

    async def evaluate(self, arm: Arm, function: str) -> Result | None:
        share, seconds = self.arms[arm]
        self.now += seconds
        self.asked[arm.model] += 1
        right = random.Random(f"{arm}{function}").random() < share
        return Result(right, verified=True, seconds=seconds, tokens=100)

    def ranked(self, seconds: float, functions: list[str] = FUNCTIONS) -> Ranking:
        ranking = rank(list(self.arms), functions, self.evaluate, seconds, lambda: self.now)
        return asyncio.run(ranking)


def test_the_best_wins_and_the_bad_cost_little() -> None:
    world = World({"best": (0.95, 1.0), "good": (0.6, 1.0), **{f"bad{number}": (0.1, 1.0) for number in range(6)}})
    ranking = world.ranked(10_000)
    assert ranking.best is not None
    assert ranking.best.arm.model == "best"
    assert ranking.is_complete
    assert world.asked["best"] == len(FUNCTIONS)
    assert sorted(world.asked.values())[:4] == [8] * 4
    assert sum(world.asked.values()) <= 8 * len(FUNCTIONS) / 2


def test_it_ends_in_time() -> None:
    world = World({"one": (0.9, 1.0), "two": (0.5, 1.0), "three": (0.2, 1.0)})
    ranking = world.ranked(12)
    assert world.now <= 12 + 3  # the simulated clock stands still during waits, so work that started in time also ends
    assert not ranking.is_complete
    assert ranking.best is not None


def test_a_slow_arm_is_dropped_as_too_slow() -> None:
    world = World({"slow": (1.0, 100.0), "one": (0.9, 1.0), "two": (0.5, 1.0), "three": (0.4, 1.0)})
    ranking = world.ranked(120)
    slow = next(each for each in ranking.standings if each.arm.model == "slow")
    assert slow.dropped == "too slow"
    assert ranking.best is not None
    assert ranking.best.arm.model == "one"


def test_a_fast_arm_does_not_win_by_what_others_could_not_begin() -> None:
    world = World({"fast": (0.4, 1.0), "right": (1.0, 4.0)})
    ranking = world.ranked(48)
    assert world.asked["fast"] > world.asked["right"]
    assert ranking.best is not None
    assert ranking.best.arm.model == "right"


def test_what_a_server_spoiled_speaks_against_nobody() -> None:
    world = World({"one": (1.0, 1.0), "two": (0.1, 1.0)})

    async def evaluate(arm: Arm, function: str) -> Result | None:
        found = await world.evaluate(arm, function)
        return None if function in ("f0", "f1") else found

    ranking = asyncio.run(rank(list(world.arms), FUNCTIONS, evaluate, 10_000, lambda: world.now))
    assert ranking.best is not None
    assert (ranking.best.arm.model, len(ranking.best.counted)) == ("one", len(FUNCTIONS) - 2)


def test_a_cell_that_never_ends_is_given_up_in_time() -> None:
    async def evaluate(arm: Arm, function: str) -> Result | None:
        if arm.model == "hangs":
            await asyncio.Event().wait()
        return Result(True, verified=True, seconds=0.0, tokens=1)

    async def ranked() -> Ranking:
        clock = asyncio.get_running_loop().time
        return await rank([Arm("hangs", "s"), Arm("answers", "s")], FUNCTIONS, evaluate, 0.2, clock)

    ranking = asyncio.run(ranked())
    assert ranking.best is not None
    assert ranking.best.arm.model == "answers"


def test_the_sentence_tells_a_clear_winner_from_chance() -> None:
    clear = World({"one": (1.0, 1.0), "two": (0.0, 1.0)}).ranked(10_000).sentence
    assert "one with adacoder: 32 of 32 functions right (89% to 100%)" in clear
    assert "chance alone seldom does that" in clear
    unclear = World({"one": (0.5, 1.0), "two": (0.5, 1.0)}).ranked(10_000).sentence
    assert "which may be chance" in unclear
    assert "only more functions can tell" in unclear
    assert "more time may tell" in World({"one": (0.5, 1.0), "two": (0.5, 1.0)}).ranked(12).sentence


@pytest.mark.parametrize("arms", [{}, {"one": (0.0, 1.0)}])
def test_nobody_wins_without_a_right_function(arms: dict[str, tuple[float, float]]) -> None:
    ranking = World(arms).ranked(100)
    assert ranking.best is None
    assert ranking.sentence.startswith("No model wrote a right function")


def test_one_arm_tries_all() -> None:
    ranking = World({"one": (1.0, 1.0)}).ranked(1000)
    assert ranking.best is not None
    assert len(ranking.best.counted) == len(FUNCTIONS)
    assert "Next is" not in ranking.sentence


def test_a_tie_is_told_as_one() -> None:
    sentence = World({"one": (1.0, 1.0), "two": (1.0, 2.0)}).ranked(10_000).sentence
    assert "Next is two with adacoder: of the 32 that both tried it got as many right" in sentence
