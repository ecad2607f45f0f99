"""Each remedy in `pygls_fixes` is still needed: plain pygls shows the fault, and the server does not.

If a release of pygls corrects a fault, its test fails. Then the remedy goes. `test_upstream.py` runs the scripts of
`docs/upstream`, which show further faults.
"""

from __future__ import annotations

from typing import TypeAlias

import pytest
from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from adacoder.lsp.snapshot import Document
from adacoder.lsp.stdio import create
from unit.lsp.peer import Peer, turns

URI = "file:///a.py"
NOTEBOOK = "file:///a.ipynb"


@pytest.fixture
async def plain() -> Peer:
    return Peer(LanguageServer("plain", "1"))


@pytest.fixture
async def ours() -> Peer:
    return Peer(create())


Peers: TypeAlias = tuple[Peer, Peer]


@pytest.fixture
async def peers(plain: Peer, ours: Peer) -> Peers:
    """Return a plain server and ours, both initialized."""
    for peer in (plain, ours):
        peer.initialize()
    return plain, ours


async def test_a_malformed_request_is_answered(peers: Peers) -> None:
    """pygls#438."""
    for peer in peers:
        peer.receive(id=1, method="textDocument/hover", params={"textDocument": 3})
    plain, ours = peers
    assert (plain.error(1), ours.error(1)) == (None, types.ErrorCodes.InvalidParams.value)


async def test_a_malformed_answer_ends_the_wait(peers: Peers) -> None:
    """pygls#438."""
    pending = []
    for peer in peers:
        params = types.ApplyWorkspaceEditParams(types.WorkspaceEdit())
        pending.append(peer.server.protocol.send_request(types.WORKSPACE_APPLY_EDIT, params))
        peer.receive(id=peer.sent[-1]["id"], result=3)
    assert [each.done() for each in pending] == [False, True]


async def test_requests_out_of_turn_are_refused(plain: Peer, ours: Peer) -> None:
    """pygls#605."""
    for peer in (plain, ours):
        peer.receive(id=1, method="workspace/executeCommand", params={"command": "no.such"})
        peer.initialize()
        peer.receive(id=2, method="shutdown")
        await turns()
        peer.receive(id=3, method="shutdown")
        await turns()
    assert (plain.error(2), ours.error(2)) == (0, 0), "the control"
    assert (plain.error(3), ours.error(3)) == (None, types.ErrorCodes.InvalidRequest.value)


async def test_a_request_before_initialize_is_refused(plain: Peer, ours: Peer) -> None:
    """pygls#605."""
    for peer in (plain, ours):
        peer.receive(id=1, method="shutdown")
        await turns()
    assert (plain.error(1), ours.error(1)) == (0, types.ErrorCodes.ServerNotInitialized.value)


async def test_shutdown_with_requests_in_flight(peers: Peers) -> None:
    """pygls#606."""
    for peer in peers:
        for number in range(3):
            peer.receive(id=number, method="workspace/executeCommand", params={"command": "test.wait"})
        peer.receive(id="end", method="shutdown")
        await turns()
    plain, ours = peers
    assert (plain.error("end"), ours.error("end")) == (types.ErrorCodes.InternalError.value, 0)


async def test_exit_does_not_raise(peers: Peers) -> None:
    """Not reported yet."""
    plain, ours = peers
    with pytest.raises(SystemExit):
        plain.receive(method="exit")
    ours.receive(method="exit")
    assert ours.server.protocol.stopping.is_set()  # type: ignore[attr-defined]


async def test_a_notification_leaves_nothing_behind(peers: Peers) -> None:
    """Not reported yet."""
    document = {"uri": URI, "version": 1}
    for peer in peers:
        peer.receive(
            method="textDocument/didOpen",
            params={"textDocument": {**document, "languageId": "python", "text": ""}},
        )
        for _ in range(5):
            change = {"textDocument": document, "contentChanges": [{"text": "x"}]}
            peer.receive(method="textDocument/didChange", params=change)
        assert peer.server.workspace.get_text_document(URI).source == "x"
    plain, ours = peers
    assert len(plain.server.protocol._request_futures) >= 6
    assert len(ours.server.protocol._request_futures) == 0
    await turns()


async def test_a_client_cannot_answer_its_own_request(peers: Peers) -> None:
    """Not reported yet."""
    for peer in peers:
        peer.receive(id=1, method="workspace/executeCommand", params={"command": "test.wait"})
        await turns()
        peer.receive(id=1, result="mine")
        await turns()
    assert [peer.error(1) for peer in peers] == [0, None]


async def test_a_change_of_a_closed_document_is_ignored(peers: Peers) -> None:
    """Not reported yet."""
    for peer in peers:
        change = {"textDocument": {"uri": URI, "version": 1}, "contentChanges": [{"text": "x"}]}
        peer.receive(method="textDocument/didChange", params=change)
        await turns()
    plain, ours = peers
    assert (len(plain.boxes) > 0, len(ours.boxes) > 0) == (True, False)


async def test_a_change_of_a_closed_notebook_is_ignored(peers: Peers) -> None:
    """Not reported yet."""
    for peer in peers:
        change = {"notebookDocument": {"uri": NOTEBOOK, "version": 1}, "change": {}}
        peer.receive(method="notebookDocument/didChange", params=change)
        await turns()
    plain, ours = peers
    assert (len(plain.boxes) > 0, len(ours.boxes) > 0) == (True, False)


async def test_a_cell_that_is_closed_and_opened_in_one_change_stays(peers: Peers) -> None:
    """Not reported yet."""
    cell = {"uri": f"{NOTEBOOK}#1", "languageId": "python", "version": 1, "text": "x"}
    cells = [{"kind": 2, "document": cell["uri"]}]
    for peer in peers:
        notebook = {"uri": NOTEBOOK, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
        opened = {"notebookDocument": notebook, "cellTextDocuments": [cell]}
        peer.receive(method="notebookDocument/didOpen", params=opened)
        array = {"start": 0, "deleteCount": 1, "cells": cells}
        structure = {"array": array, "didOpen": [cell], "didClose": [{"uri": cell["uri"]}]}
        change = {"notebookDocument": {"uri": NOTEBOOK, "version": 2}, "change": {"cells": {"structure": structure}}}
        peer.receive(method="notebookDocument/didChange", params=change)
        await turns()
    assert [cell["uri"] in peer.server.workspace.text_documents for peer in peers] == [False, True]


@pytest.mark.parametrize("end", ["\f", "\x1c", "\u2028"])
def test_only_the_protocols_line_ends_end_a_line(end: str) -> None:
    """Not reported yet."""
    text = f"a{end}b\nc"
    assert len(TextDocument(URI, text).lines) == 3
    assert Document(URI, text).lines == [f"a{end}b\n", "c"]
