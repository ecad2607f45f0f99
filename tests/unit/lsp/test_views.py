"""The decorator of handlers that concern one document. It reads the parameters before it calls the handler."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from lsprotocol import types
from pygls.workspace import Workspace

from adacoder.lsp.showing import views
from adacoder.lsp.showing.views import on_document

if TYPE_CHECKING:
    from adacoder.lsp.language_server import AdaCoderServer
    from adacoder.lsp.snapshot import Snapshot, Uri

URI = "file:///project/names.py"


@pytest.mark.parametrize("wanted", [True, False])
async def test_a_document_that_is_not_wanted_costs_no_snapshot(wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    def take(_: Workspace, uri: Uri) -> Snapshot:
        taken.append(uri)
        return cast("Snapshot", SimpleNamespace(uri=uri, path=Path("/project/names.py")))

    async def is_wanted(_: AdaCoderServer, uri: Uri) -> bool:
        return wanted and uri == URI

    @on_document(wanted=is_wanted)
    async def handler(_: AdaCoderServer, params: Any, snapshot: Snapshot) -> str:
        return f"{params.position.line} of {snapshot.uri}"

    monkeypatch.setattr(views, "take", take)
    params = types.HoverParams(types.TextDocumentIdentifier(URI), types.Position(3, 0))
    server = cast("AdaCoderServer", SimpleNamespace(workspace=None))
    assert await handler(server, params) == (f"3 of {URI}" if wanted else None)
    assert taken == ([URI] if wanted else [])
