"""No attack passes, does harm, leaves a process or affects the next evaluation. Each benign twin passes.

`test_harm.py` shows that the same attacks do harm without isolation.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from adversarial.attacks import ATTACKS
from adversarial.isolated import assert_it_came_to_nothing, let_loose, set_up

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from adacoder.domain import Level
    from adversarial.attack import Attack
    from adversarial.scene import Scene
    from support.evaluating import Workspace

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="module")]

_ALONE = [
    attack
    for attack in ATTACKS
    if attack.machine in ("", platform.machine()) and not (attack.files or attack.environment)
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(level: Level, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Scene, Workspace]]:
    """A scene and an evaluator that many attacks use in turn."""
    async with set_up(tmp_path_factory.mktemp("scene"), level) as both:
        yield both


@pytest.mark.parametrize("attack", _ALONE, ids=lambda attack: attack.name)
async def test_an_attack_comes_to_nothing(attack: Attack, shared: tuple[Scene, Workspace]) -> None:
    place, opened = shared
    place = place.furnish(attack)
    ending, told = await let_loose(attack, place, opened)
    await assert_it_came_to_nothing(attack, ending, told, place, opened)
