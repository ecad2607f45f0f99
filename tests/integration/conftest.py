"""Share one workspace among all requests of a test module, because starting the processes takes longest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adacoder.models import catalog
from support.scripted import Desk


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one_desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    """A workspace for all tests of a module, in the module's event loop. Tests reset it before they use it."""
    desk = Desk(tmp_path_factory.mktemp("desk"))
    yield desk
    await desk.service.close()


@pytest.fixture
def memory() -> int | None:
    """Memory in bytes of the machine that `machine` simulates."""
    return 16 * 10**9


@pytest.fixture
def machine(memory: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a machine with this memory."""
    monkeypatch.setattr(catalog, "memory", lambda: memory)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for all temporary files of this process."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder
