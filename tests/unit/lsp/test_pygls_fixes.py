"""The effect of each workaround in `pygls_fixes`. `test_upstream.py` shows that pygls still needs them."""

from __future__ import annotations

import pytest
from lsprotocol import types

from adacoder.lsp.snapshot import Document
from adacoder.lsp.stdio import create
from unit.lsp.peer import Peer, turns

URI = "file:///a.py"
NOTEBOOK = "file:///a.ipynb"


@pytest.fixture
async def fresh() -> Peer:
    return Peer(create())


@pytest.fixture
async def peer(fresh: Peer) -> Peer:
    fresh.initialize()
    return fresh


async def test_a_malformed_request_is_answered(peer: Peer) -> None:
    peer.receive(id=1, method="textDocument/hover", params={"textDocument": 3})
    assert peer.error(1) == types.ErrorCodes.InvalidParams.value


async def test_a_malformed_answer_ends_the_wait(peer: Peer) -> None:
    params = types.ApplyWorkspaceEditParams(types.WorkspaceEdit())
    pending = peer.server.protocol.send_request(types.WORKSPACE_APPLY_EDIT, params)
    assert not pending.done()
    peer.receive(id=peer.sent[-1]["id"], result=3)
    assert pending.done()


async def test_requests_out_of_turn_are_refused(fresh: Peer) -> None:
    fresh.receive(id=1, method="shutdown")
    await turns()
    assert fresh.error(1) == types.ErrorCodes.ServerNotInitialized.value
    fresh.initialize()
    for number in (2, 3):
        fresh.receive(id=number, method="shutdown")
        await turns()
    assert [fresh.error(number) for number in (2, 3)] == [0, types.ErrorCodes.InvalidRequest.value]


async def test_shutdown_with_requests_in_flight(peer: Peer) -> None:
    for number in range(3):
        peer.receive(id=number, method="workspace/executeCommand", params={"command": "test.wait"})
    peer.receive(id="end", method="shutdown")
    await turns()
    assert peer.error("end") == 0


async def test_exit_does_not_raise(peer: Peer) -> None:
    peer.receive(method="exit")
    assert peer.server.protocol.stopping.is_set()  # type: ignore[attr-defined]


async def test_a_notification_leaves_nothing_behind(peer: Peer) -> None:
    document = {"uri": URI, "version": 1}
    opened = {"textDocument": {**document, "languageId": "python", "text": ""}}
    peer.receive(method="textDocument/didOpen", params=opened)
    change = {"textDocument": document, "contentChanges": [{"text": "x"}]}
    peer.receive(method="textDocument/didChange", params=change)
    assert peer.server.workspace.get_text_document(URI).source == "x"
    assert len(peer.server.protocol._request_futures) == 0
    await turns()


async def test_a_client_cannot_answer_its_own_request(peer: Peer) -> None:
    peer.receive(id=1, method="workspace/executeCommand", params={"command": "test.wait"})
    await turns()
    peer.receive(id=1, result="mine")
    await turns()
    assert peer.error(1) is None
    peer.receive(method="$/cancelRequest", params={"id": 1})
    await turns()
    assert peer.error(1) == types.LSPErrorCodes.RequestCancelled.value, "the control"


@pytest.mark.parametrize(
    ("method", "change"),
    [
        ("textDocument/didChange", {"textDocument": {"uri": URI, "version": 1}, "contentChanges": [{"text": "x"}]}),
        ("notebookDocument/didChange", {"notebookDocument": {"uri": NOTEBOOK, "version": 1}, "change": {}}),
    ],
)
async def test_a_change_of_a_closed_document_is_ignored(peer: Peer, method: str, change: dict[str, object]) -> None:
    peer.receive(method=method, params=change)
    await turns()
    assert peer.boxes == []


async def test_a_cell_that_is_closed_and_opened_in_one_change_stays(peer: Peer) -> None:
    cell = {"uri": f"{NOTEBOOK}#1", "languageId": "python", "version": 1, "text": "x"}
    cells = [{"kind": 2, "document": cell["uri"]}]
    notebook = {"uri": NOTEBOOK, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
    opened = {"notebookDocument": notebook, "cellTextDocuments": [cell]}
    peer.receive(method="notebookDocument/didOpen", params=opened)
    array = {"start": 0, "deleteCount": 1, "cells": cells}
    structure = {"array": array, "didOpen": [cell], "didClose": [{"uri": cell["uri"]}]}
    change = {"notebookDocument": {"uri": NOTEBOOK, "version": 2}, "change": {"cells": {"structure": structure}}}
    peer.receive(method="notebookDocument/didChange", params=change)
    await turns()
    assert cell["uri"] in peer.server.workspace.text_documents


@pytest.mark.parametrize("end", ["\f", "\x1c", "\u2028"])
def test_only_the_protocols_line_ends_end_a_line(end: str) -> None:
    assert Document(URI, f"a{end}b\nc").lines == [f"a{end}b\n", "c"]
