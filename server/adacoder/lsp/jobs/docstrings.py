"""Write a docstring skeleton for a function without one. Editors need nothing but the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adacoder.domain import TargetError
from adacoder.lsp.jobs.edits import NotInsertedError, edit_of, refusal
from adacoder.lsp.snapshot import find, take

if TYPE_CHECKING:
    from adacoder.domain import Edit
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.from_proto import FunctionPlace
    from adacoder.lsp.snapshot import Snapshot


def docstring_for(snapshot: Snapshot, place: FunctionPlace) -> tuple[str, Edit]:
    """The name of the function at `place`, and the edit that inserts a docstring skeleton.

    Raises:
        TargetError: no function there lacks a docstring and could be a target, or the text has changed.
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
        target = find(snapshot, place)  # raises if there is none
        raise TargetError(f"'{target.name}' has a docstring already.")
    return definition.name, skeleton(definition)


async def insert_docstring(client: Client, snapshot: Snapshot, name: str, edit: Edit) -> None:
    """Have the editor make the edit. Show a message if it did not."""
    await client.protocol.rested()
    if not take(client.workspace, snapshot.uri).same_as(snapshot):
        client.show(f"The text of '{name}' has changed since AdaCoder was asked: ask again.", warning=True)
        return
    try:
        why_not = await refusal(client, f"docstring of {name}", edit_of(client, snapshot, (edit,)))
    except NotInsertedError as why:
        why_not = str(why)
    if why_not is not None:
        client.show(f"Not inserted: a docstring for '{name}': {why_not}.", warning=True)
