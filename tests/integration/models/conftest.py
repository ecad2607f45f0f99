"""What tests change about this machine, and about limits that a test could not reach."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from adacoder.models import address, served


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that lowers limits of a reply. They have the names of `models/served.py`."""

    def lower(**limits: int) -> None:
        for name, value in limits.items():
            monkeypatch.setattr(served, f"_{name.upper()}", value)

    return lower


@pytest.fixture
def ollama_is_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that changes Ollama's default port, because a real Ollama may listen at its own."""
    return lambda port: monkeypatch.setattr(address, "_OLLAMA_PORT", port)


@pytest.fixture
async def resolve_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Awaitable[object]]], None]:
    """Return a function that replaces the look-up of names in the event loop."""
    return lambda resolve: monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
