"""The registry of published workflows. Each family has its own file, so that it can be read next to its paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from adacoder.messages import AdaCoderError
from adacoder.strategies import adacoder, agentcoder, direct
from adacoder.strategies.auto import AUTO
from adacoder.strategies.codetree import CODETREES, STRATEGY_LIST
from adacoder.strategies.lpw import LPW
from adacoder.strategies.mapcoder import MAPCODER
from adacoder.strategies.revising import INTERVENOR, LDB, REFLEXION, SELF_DEBUGGING
from adacoder.strategies.self_collaboration import SELF_COLLABORATION
from adacoder.strategies.semag import SEMAGS
from adacoder.task import Mode

if TYPE_CHECKING:
    from adacoder.settings import Settings
    from adacoder.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Strategy] = {
    each.name: each
    for each in (
        *(adacoder.ADACODER, adacoder.NO_PLANNER, adacoder.NO_DEBUGGER, adacoder.NEITHER),
        adacoder.PAPER_RULES,
        *(AUTO, direct.DIRECT, direct.COT, direct.SELF_PLANNING, direct.RESAMPLE, STRATEGY_LIST),
        *(SELF_DEBUGGING, REFLEXION, INTERVENOR, SELF_COLLABORATION),
        *(agentcoder.AGENTCODER, agentcoder.PROGRAMMER_ONLY, agentcoder.NOTHING_RUN),
        *(agentcoder.EXECUTOR_ONLY, agentcoder.ONE_AGENT),
        *(MAPCODER, *CODETREES, *SEMAGS, LDB, LPW),
    )
}
"""All strategies by name, including ablations."""
FAMILIES = tuple(name for name in STRATEGIES if ":" not in name)
"""Names of the families for editors to offer. An ablation is named `FAMILY:VARIANT`, such as `codetree:bfs`."""
LISTED = f"{', '.join(FAMILIES)}, or an ablation that `adacoder strategies --all` lists"
"""The names of all strategies, joined for messages."""


def strategy_named(name: str) -> Strategy:
    """Return the strategy that a user named.

    Raises:
        AdaCoderError: there is no such strategy.
    """
    if name in STRATEGIES:
        return STRATEGIES[name]
    raise AdaCoderError(f"There is no strategy '{name}': choose from {LISTED}.")


def most_rounds(mode: Mode, settings: Settings) -> int:
    """Return the maximum number of rounds of a request.

    If the request may ask several models in turn, their rounds are added up. Unknown strategies, and modes without
    rounds such as check, count as 1.
    """
    strategy = STRATEGIES.get(settings.strategy)
    if strategy is None or mode not in (Mode.GENERATE, Mode.FIX, Mode.ANOTHER):
        return 1
    models = settings.rounds_by_model(is_started=mode is Mode.FIX)
    return sum(strategy.spends(most).rounds for _, most in models)


def calls(strategy: Strategy) -> str:
    """Return the number of model calls in the best and the worst case, such as `1 to 11`, or `1` if both are equal."""
    least, most = strategy.best_calls, strategy.spends(None).calls
    return str(most) if least == most else f"{least} to {most}"


COLUMNS = ("name", "paper", "agents", "calls", "t", "feedback", "tests", "selection")
"""Columns of the table of strategies. `t` is the paper's limit on iterations. The function `calls` fills the column
`calls`.
"""


def rows(*, has_ablations: bool = False) -> list[dict[str, str]]:
    """Return a row for each family. With `has_ablations`, ablations have rows, too.

    The keys of a row are `COLUMNS` and `summary`.
    """
    return [
        {
            "name": each.name,
            "paper": each.paper,
            "agents": ", ".join(dict.fromkeys(role.agent.replace("_", " ") for role in each.roles)),
            "calls": calls(each),
            "t": "–" if each.iterations is None else str(each.iterations),
            "feedback": each.feedback,
            "tests": each.tests,
            "selection": each.selection,
            "summary": f"{each.summary[0].upper()}{each.summary[1:]}.",
        }
        for name, each in STRATEGIES.items()
        if has_ablations or name in FAMILIES
    ]
