"""Return findings of `doctor`: all, or the one with a given name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adacoder.doctor import Finding, examine

if TYPE_CHECKING:
    from pathlib import Path

    from adacoder.settings import Settings

UNREACHABLE = "127.0.0.1:1"


async def examined(settings: Settings, folder: Path, *, probes_speed: bool = False) -> list[Finding]:
    return [each async for each in examine(settings, folder, probes_speed=probes_speed)]


async def finding(name: str, settings: Settings, folder: Path, *, probes_speed: bool = False) -> Finding:
    (found,) = [each for each in await examined(settings, folder, probes_speed=probes_speed) if each.name == name]
    return found
