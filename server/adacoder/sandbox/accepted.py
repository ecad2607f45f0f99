"""Runs code with what isolates here, if that is as strong as it must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from adacoder.domain import Level
from adacoder.sandbox.errors import IsolationRefused, SandboxError
from adacoder.sandbox.probe import probe

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from adacoder.sandbox.probe import Finding

T = TypeVar("T")

ACCEPT_THE_RISK = "accept the risk with `--isolation none`"


async def isolated(run: Callable[[Finding], Awaitable[T]], least: Level, best: Level = Level.FULL) -> T:
    """What `run` gives with the strongest isolation here, no weaker than `least` and no stronger than `best`.

    Raises:
        IsolationRefused: what works here is weaker.
        SandboxError: as `run`. If what isolates was proved at an earlier start only, it is proved anew before that.
    """
    finding = await probe(best)
    if finding.is_kept:
        try:
            return await run(_accepted(finding, least))
        except SandboxError:
            finding = await probe(best, anew=True)
    return await run(_accepted(finding, least))


def _accepted(finding: Finding, least: Level) -> Finding:
    """`finding`, if it is as strong as it must be; raises IsolationRefused if not."""
    level = finding.isolation.level
    if level.is_at_least(least):
        return finding
    remedies = ", or ".join(filter(None, [finding.remedy, ACCEPT_THE_RISK]))
    if level is Level.NONE:
        what = "Nothing here can isolate the code that a model wrote"
    else:
        what = f"Code can only be isolated at the level '{level}' here, and '{least}' is the least accepted"
        remedies = ", or ".join(filter(None, [finding.remedy, f"accept it with `--isolation {level}`"]))
    raise IsolationRefused(f"{what} ({finding.reason}): {remedies}.")
