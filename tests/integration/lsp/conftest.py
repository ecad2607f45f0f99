"""Share one server among tests that need no server of their own, because its start takes longest."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from integration.lsp.client import Client


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    async with Client.started(tmp_path_factory.mktemp("workspace"), is_forked=False) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def editor(shared: Client) -> AsyncIterator[Client]:
    """An editor whose server has already worked, with a new folder in the workspace."""
    async with shared.case():
        shared.settings = {}
        yield shared
