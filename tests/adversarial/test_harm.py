"""Each attack does its harm in a disposable sandbox, in which nothing isolates it from its harness.

Otherwise it would prove nothing that the attack does no harm elsewhere.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable

import pytest

from adversarial.attack import Attack, Harm, Harness
from adversarial.attacks import ATTACKS, BENIGN, TABLE
from adversarial.outer import let_loose

_disposable = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap makes the disposable sandbox")

_SHOWN = [attack for attack in ATTACKS if not attack.unshown and attack.machine in ("", platform.machine())]

_ON_VERDICT = [attack for attack in TABLE["reports"] if attack.harm is Harm.PASSED and not attack.knows_want]


@_disposable
@pytest.mark.parametrize("attack", _SHOWN, ids=lambda attack: attack.name)
async def test_an_attack_does_harm_where_nothing_stops_it(attack: Attack) -> None:
    assert attack.harm in await let_loose(attack, attack.harness)


@_disposable
@pytest.mark.parametrize("harness", Harness, ids=str)
async def test_a_benign_function_does_no_harm_and_passes(harness: Harness) -> None:
    assert await let_loose(BENIGN, harness) - {Harm.LITTERED} == {Harm.PASSED}


@_disposable
@pytest.mark.parametrize("attack", _ON_VERDICT, ids=lambda attack: attack.name)
async def test_without_isolation_no_verdict_is_forged_either(attack: Attack) -> None:
    assert Harm.PASSED not in await let_loose(attack, Harness.UNCONFINED)


def test_the_table_is_large_and_keeps_its_rules(record_property: Callable[[str, object], None]) -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert len(_SHOWN) >= 90
    for attack in ATTACKS:
        assert attack.ends
        assert "passed" not in attack.ends or attack.knows_want or attack.harm is not Harm.PASSED
    counts = ", ".join(f"{len(attacks)} {name}" for name, attacks in TABLE.items())
    knowing = sum(attack.knows_want for attack in _SHOWN)
    record_property("figure", f"attacks that do harm without isolation: {len(_SHOWN)} ({counts}); know want: {knowing}")
