"""One server for all tests that need no server of their own, because its start takes longest."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from integration.lsp.client import Client

_cases = itertools.count(1)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    async with Client.started(tmp_path_factory.mktemp("workspace"), is_forked=False) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def editor(shared: Client) -> AsyncIterator[Client]:
    """An editor with a server that has already worked, and a folder of its own in the workspace."""
    workspace: Path = shared.folder
    shared.folder = workspace / f"case{next(_cases)}"
    shared.folder.mkdir()
    shared.settings = {}
    shared.received.clear()
    shared.answers.clear()
    yield shared
    await shared.execute("cancel")
    await shared.idle()
    for uri in list(shared.documents):
        await shared.close(uri)
    shared.folder = workspace
