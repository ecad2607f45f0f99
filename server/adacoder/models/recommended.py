"""Models that AdaCoder recommends to users of Ollama who have none installed."""

from __future__ import annotations

from dataclasses import dataclass

from adacoder.models.address import address
from adacoder.models.catalog import fits, memory

_LIBRARY = (
    # models for code that reply without thinking first
    ("qwen3-coder:30b", 19_000_000_000),
    ("qwen2.5-coder:14b", 9_000_000_000),
    ("qwen2.5-coder:7b", 4_700_000_000),
    ("qwen2.5-coder:3b", 1_900_000_000),
    ("qwen2.5-coder:1.5b", 986_000_000),
)
"""Names and download sizes in bytes, best first. Sizes are rounded as in `ollama list`."""


@dataclass(frozen=True, slots=True)
class Recommended:
    """A model to download."""

    name: str
    size: int
    """Bytes to download. The model needs at least as much memory."""
    fits: bool | None
    """True if this machine has enough memory. None if this is unknown, or if another machine runs the model."""


def recommended(host: str | None) -> list[Recommended]:
    """Return recommended models for the server at `host`, best first. Models that need too much memory come last.

    Raises:
        BadHost: `host` is not an address.
    """
    most = memory() if address(host).loopback else None
    models = [Recommended(name, size, fits(size, most)) for name, size in _LIBRARY]
    return sorted(models, key=lambda model: model.fits is False)
