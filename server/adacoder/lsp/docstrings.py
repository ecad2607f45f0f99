"""The skeleton of a docstring for a function that has none, by a command: no editor needs to know more than that."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from adacoder.domain import TargetError
from adacoder.lsp.edits import edit_of
from adacoder.lsp.snapshot import find, take

if TYPE_CHECKING:
    from adacoder.domain import Edit
    from adacoder.lsp.client import Client
    from adacoder.lsp.snapshot import FunctionPlace, Snapshot

log = logging.getLogger(__name__)

_EDITING = 60.0
"""Seconds a client has to make the edit."""


def docstring_for(snapshot: Snapshot, place: FunctionPlace) -> tuple[str, Edit]:
    """The name of the function at `place`, and the edit that writes the skeleton of a docstring into it.

    Raises:
        TargetError: there is none without a docstring that could be a target.
    """
    from adacoder.source.locate import undocumented
    from adacoder.source.skeleton import skeleton

    is_same_text = place.version in (None, snapshot.version)
    line = place.line if is_same_text else None
    if line is None and place.qualname is None:
        raise TargetError("The text has changed since AdaCoder was asked: ask again.")
    qualname = place.qualname if line is None else None
    definition = undocumented(snapshot.text, snapshot.path, line=line, qualname=qualname)
    if definition is None:
        target = find(snapshot, place)  # says why, if there is none
        raise TargetError(f"'{target.name}' has a docstring already.")
    return definition.name, skeleton(definition)


async def insert_docstring(client: Client, snapshot: Snapshot, name: str, edit: Edit) -> None:
    """Have the editor make the edit, and tell the person if it did not."""
    await client.protocol.rested()
    if not take(client.workspace, snapshot.uri).same_as(snapshot):
        client.show(f"The text of '{name}' has changed since AdaCoder was asked: ask again.", warning=True)
        return
    workspace_edit = edit_of(client, snapshot, (edit,))
    params = types.ApplyWorkspaceEditParams(label=f"AdaCoder: docstring of {name}", edit=workspace_edit)
    try:
        answer = await client.protocol.ask(types.WORKSPACE_APPLY_EDIT, params, seconds=_EDITING, at_once=True)
    except (TimeoutError, JsonRpcException) as error:
        log.warning("The editor did not say that it made the edit: %r", error)
        answer = None
    if answer is None or not answer.applied:
        client.show(f"The editor did not write the docstring of '{name}': ask again.", warning=True)
