"""Models that are worth having where none is installed yet, as Ollama's library has them."""

from __future__ import annotations

from dataclasses import dataclass

from adacoder.models.address import address
from adacoder.models.catalog import fits, memory

_LIBRARY = (
    # By the worth that `catalog` gives a family; of those that think before each reply there is none.
    ("qwen3-coder:30b", 19_000_000_000),
    ("qwen2.5-coder:14b", 9_000_000_000),
    ("qwen2.5-coder:7b", 4_700_000_000),
    ("qwen2.5-coder:3b", 1_900_000_000),
    ("qwen2.5-coder:1.5b", 986_000_000),
)
"""Name and bytes to download, the best first. The sizes are those that `ollama list` shows, rounded as there."""


@dataclass(frozen=True, slots=True)
class Recommended:
    """A model to download."""

    name: str
    size: int
    """Bytes to download, the minimum in memory."""
    fits: bool | None
    """True if this machine's memory is enough; None: it runs elsewhere, or that is not known."""


def recommended(host: str | None) -> list[Recommended]:
    """Models worth having on the server at `host`: those that fit first, then the best first.

    Raises:
        BadHost: it is no address.
    """
    most = memory() if address(host).loopback else None
    models = [Recommended(name, size, fits(size, most)) for name, size in _LIBRARY]
    return sorted(models, key=lambda model: model.fits is False)
