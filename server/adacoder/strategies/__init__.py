"""Registry of the published workflows. Each family has its own file, meant to be read next to its paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from adacoder.strategies import adacoder, agentcoder, direct
from adacoder.strategies.auto import AUTO
from adacoder.strategies.codetree import CODETREES
from adacoder.strategies.intervenor import INTERVENOR
from adacoder.strategies.ldb import LDB
from adacoder.strategies.lpw import LPW
from adacoder.strategies.mapcoder import MAPCODER
from adacoder.strategies.reflexion import REFLEXION
from adacoder.strategies.self_collaboration import SELF_COLLABORATION
from adacoder.strategies.self_debugging import SELF_DEBUGGING
from adacoder.strategies.self_planning import SELF_PLANNING
from adacoder.strategies.semag import SEMAGS
from adacoder.strategies.strategy_list import STRATEGY_LIST
from adacoder.task import Mode

if TYPE_CHECKING:
    from adacoder.settings import Settings
    from adacoder.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Strategy] = {
    each.name: each
    for each in (
        *(adacoder.ADACODER, adacoder.NO_PLANNER, adacoder.NO_DEBUGGER, adacoder.NEITHER),
        adacoder.PAPER_RULES,
        *(AUTO, direct.DIRECT, direct.COT, SELF_PLANNING, direct.RESAMPLE, STRATEGY_LIST),
        *(SELF_DEBUGGING, REFLEXION, INTERVENOR, SELF_COLLABORATION),
        *(agentcoder.AGENTCODER, agentcoder.PROGRAMMER_ONLY, agentcoder.NOTHING_RUN),
        *(agentcoder.EXECUTOR_ONLY, agentcoder.ONE_AGENT),
        *(MAPCODER, *CODETREES, *SEMAGS, LDB, LPW),
    )
}
"""All strategies by name, as listed in an editor's settings, the docs and `adacoder strategies`."""
FAMILIES = tuple(
    name for name in STRATEGIES if not any(name.startswith(f"{other}-") for other in STRATEGIES if other != name)
)
"""All names except variants such as `codetree-bfs`."""
LISTED = f"{', '.join(FAMILIES)} and the variants that `adacoder strategies` lists"
"""The available names as a phrase."""


def most_rounds(mode: Mode, settings: Settings) -> int:
    """Maximum number of rounds of a request, summed over all models of its ladder.

    It is 1 for an unknown strategy, and for modes other than generate, fix and another.
    """
    strategy = STRATEGIES.get(settings.strategy)
    if strategy is None or mode not in (Mode.GENERATE, Mode.FIX, Mode.ANOTHER):
        return 1
    models = settings.rounds_by_model(is_started=mode is Mode.FIX)
    return sum(strategy.spends(most).rounds for _, most in models)
