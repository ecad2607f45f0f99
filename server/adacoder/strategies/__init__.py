"""The published workflows, each one file that reads like its paper's pseudocode; and the registry of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from adacoder.strategies.adacoder import ADACODER
from adacoder.strategies.direct import DIRECT

if TYPE_CHECKING:
    from adacoder.settings import Settings
    from adacoder.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Strategy] = {each.name: each for each in (ADACODER, DIRECT)}
"""By name. The command line's help, an editor's settings and the docs list these."""


def most_rounds(settings: Settings, *, is_started: bool) -> int:
    """How many rounds a request takes at most, on all models of its ladder; 1 if there is no such strategy."""
    strategy = STRATEGIES.get(settings.strategy)
    if strategy is None:
        return 1
    return sum(strategy.budget(most).rounds for _, most in settings.rungs(is_started=is_started))
