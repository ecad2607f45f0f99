"""One desk for all requests of a test module: to start the processes that run candidates is what takes longest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adacoder.models import catalog
from support.scripted import Desk


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one_desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    """Tests clear it before they use it, in the event loop of their module."""
    desk = Desk(tmp_path_factory.mktemp("desk"))
    yield desk
    await desk.service.close()


@pytest.fixture
def memory() -> int | None:
    """Return the bytes of memory of the machine that `machine` simulates."""
    return 16 * 10**9


@pytest.fixture
def machine(memory: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a machine with this memory."""
    monkeypatch.setattr(catalog, "memory", lambda: memory)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which all temporary files of this process are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder
