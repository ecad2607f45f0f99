"""Limits and ports that tests of models change."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from adacoder.models import address, served


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that lowers limits of `models/served.py`, given by name."""

    def lower(**limits: int) -> None:
        for name, value in limits.items():
            monkeypatch.setattr(served, f"_{name.upper()}", value)

    return lower


@pytest.fixture
def ollama_is_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that changes Ollama's default port, because a real Ollama may use it."""
    return lambda port: monkeypatch.setattr(address, "_OLLAMA_PORT", port)
