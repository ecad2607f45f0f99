"""Hostile modules, packages and interpreters do no harm, whatever code runs with them.

These tests are like `test_attacks.py`, but each attack is present before the candidate, so it gets its own evaluator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adacoder.sandbox.environment.interpreter import find
from adacoder.sandbox.unavailable import SandboxError
from adversarial.attack import Harm
from adversarial.attacks import ATTACKS
from adversarial.isolated import assert_it_came_to_nothing, let_loose, set_up
from support.evaluating import workspace

if TYPE_CHECKING:
    from adacoder.domain import Level
    from adversarial.attack import Attack, Ending
    from adversarial.scene import Scene

pytestmark = pytest.mark.isolation

_BOOT_SECONDS = 3.0
"""Seconds after which an interpreter that does not start is given up."""


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.files], ids=lambda attack: attack.name)
async def test_a_hostile_module_comes_to_nothing(
    attack: Attack, level: Level, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with set_up(tmp_path_factory.mktemp("scene"), level) as (bare, opened):
        place = bare.furnish(attack)
        for _ in range(3):  # a warm interpreter may contain the attack's files
            ending, told = await let_loose(attack, place, opened)
        await assert_it_came_to_nothing(attack, ending, told, place, opened)


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.environment], ids=lambda attack: attack.name)
async def test_a_hostile_environment_comes_to_nothing(
    attack: Attack, level: Level, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    if attack.harm is Harm.HUNG:
        monkeypatch.setattr("adacoder.sandbox.process.BOOT_SECONDS", _BOOT_SECONDS)
    async with set_up(tmp_path_factory.mktemp("scene"), level) as (bare, opened):
        place = bare.furnish(attack)
        ending, told = await _let_loose_in_environment(attack, place, level)
        await assert_it_came_to_nothing(attack, ending, told, place, opened)


async def _let_loose_in_environment(attack: Attack, place: Scene, level: Level) -> tuple[Ending, str]:
    """Run the attack with the interpreter of its own environment."""
    try:
        interpreter = find(place.python, place.workspace, place.workspace)
    except SandboxError as error:
        return "refused", str(error)
    async with workspace(place.workspace, level, interpreter, best=level) as hostile:
        return await let_loose(attack, place, hostile)
