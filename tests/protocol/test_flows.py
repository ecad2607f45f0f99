"""Run every flow in every client."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from protocol.desks import PROFILES, Desk, desk
from protocol.flows import FLOWS
from support.sampling import sampled

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

SAMPLE = ("vscode", "neovim-0.11", "eglot", "minimal")
_cases = itertools.count(1)


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=sampled(PROFILES, SAMPLE))
async def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    async with desk(request.param, tmp_path_factory.mktemp("workspace")) as opened:
        yield opened


@pytest.mark.parametrize("flow", FLOWS)
async def test_a_flow_in_a_client(client: Desk, flow: str) -> None:
    editor, workspace = client.editor, client.editor.folder
    editor.folder = Path(workspace / f"case{next(_cases)}")
    editor.folder.mkdir()
    editor.received.clear()
    client.standin.seen.clear()
    client.standin.events.clear()
    client.answer()
    await client.configured()
    try:
        await FLOWS[flow](client)
    finally:
        await editor.execute("cancel")
        await editor.idle()
        for uri in list(editor.documents):
            await editor.close(uri)
        editor.folder = workspace
