"""The table of attacks, ordered by aim."""

from __future__ import annotations

from adversarial.attack import Attack, Harm
from adversarial.attacks import (
    companions,
    crashes,
    files,
    kernel,
    memory,
    network,
    processes,
    reports,
    secrets,
    signals,
    state,
    time,
)

TABLE: dict[str, tuple[Attack, ...]] = {
    "time": time.ATTACKS,
    "memory": memory.ATTACKS,
    "processes": processes.ATTACKS,
    "signals": signals.ATTACKS,
    "files": files.ATTACKS,
    "secrets": secrets.ATTACKS,
    "network": network.ATTACKS,
    "kernel": kernel.ATTACKS,
    "reports": reports.ATTACKS,
    "state": state.ATTACKS,
    "crashes": crashes.ATTACKS,
    "companions": companions.ATTACKS,
}

BENIGN = Attack("nothing", "return x + 1", ("passed",), Harm.POISONED)
"""A harmless program."""

ATTACKS: tuple[Attack, ...] = tuple(attack for attacks in TABLE.values() for attack in attacks)
