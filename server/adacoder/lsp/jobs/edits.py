"""Have the editor make edits: an Outcome's, or those that write a docstring skeleton.

A candidate's evidence must hold for the current text. If anything has changed, the candidate is evaluated again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

from adacoder.aside import aside
from adacoder.domain import AdaCoderError, Edit, Outcome, Status, Target, TargetError
from adacoder.lsp.connection.mirror import encoding_of
from adacoder.lsp.jobs.results import edits_of, reach_of
from adacoder.lsp.snapshot import Snapshot, find, take
from adacoder.lsp.to_proto import text_edits

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.from_proto import FunctionPlace

_EDITING = 60.0
"""Seconds to wait for a client to make an edit. Some clients ask the user first."""
_ATTEMPTS = 3
"""Attempts to make an edit while the text keeps changing."""

Recheck = Callable[[Snapshot, Target], Awaitable[Outcome]]
"""Evaluates a job's candidate again, in another text."""


_HELD = frozenset({Status.VERIFIED, Status.PARTIAL, Status.UNVERIFIED})


class NotInsertedError(AdaCoderError):
    """An edit was not made. The message gives the reason as a clause: `'f' was edited meanwhile`."""


@dataclass(frozen=True, slots=True)
class OutcomeInText:
    """An Outcome and the snapshot that it holds for."""

    outcome: Outcome
    snapshot: Snapshot


class Insertion:
    """Inserts one job's Outcome into the text in the editor."""

    def __init__(self, client: Client, recheck: Recheck) -> None:
        self._client = client
        self._recheck = recheck
        self.is_sent = False
        """True while the edit is on its way and cannot be recalled."""

    async def insert(self, finding: OutcomeInText) -> OutcomeInText:
        """Make the Outcome's edits in the editor. Return the Outcome for the text that was edited.

        Raises:
            NotInsertedError: nothing was inserted, or the editor did not answer.
        """
        name = finding.outcome.target.name
        for _ in range(_ATTEMPTS):
            await self._client.protocol.rested()
            finding = await self._brought_up_to_date(finding)  # no waiting from here until the edit is sent
            self.is_sent = True
            try:
                why_not = await refusal(self._client, name, finding.snapshot, finding.outcome.edits)
            finally:
                self.is_sent = False
            if why_not is None:
                return finding
            if self._taken(finding).same_as(finding.snapshot):
                break  # the text has not changed: the editor has another reason
        raise NotInsertedError(why_not or "")

    async def _brought_up_to_date(self, finding: OutcomeInText) -> OutcomeInText:
        """The Outcome for the current text, evaluated again if anything that it depends on has changed."""
        for _ in range(_ATTEMPTS):
            now = self._taken(finding)
            if now.same_as(finding.snapshot):
                return replace(finding, snapshot=now)
            finding = await self._found_again(finding, now)
        raise NotInsertedError("the text changes faster than the examples run")

    def _taken(self, finding: OutcomeInText) -> Snapshot:
        try:
            return take(self._client.workspace, finding.snapshot.uri)
        except TargetError as error:
            raise NotInsertedError(str(error).removesuffix(".")) from error

    async def _found_again(self, finding: OutcomeInText, now: Snapshot) -> OutcomeInText:
        from adacoder.source.locate import locate_again

        outcome = finding.outcome
        name = outcome.target.name
        target = await aside(locate_again, outcome.target, now.text, now.folder)
        if target is None:
            raise NotInsertedError(f"'{name}' was edited meanwhile")
        if outcome.candidate is None:  # examples for the docstring: they only move
            by = target.definition.start - outcome.target.definition.start
            moved = tuple(Edit(edit.start + by, edit.end + by, edit.text) for edit in outcome.edits)
            return OutcomeInText(replace(outcome, target=target, edits=moved), now)
        again = await self._recheck(now, target)
        if again.status not in _HELD or reach_of(again) < reach_of(outcome):
            raise NotInsertedError(f"'{name}' does not pass in the current text")
        current = replace(
            outcome,
            status=again.status,
            reason=again.reason,
            target=target,
            verdict=again.verdict,
            edits=edits_of(again),
            steps=(*outcome.steps, *again.steps),
            seconds=outcome.seconds + again.seconds,
        )
        return OutcomeInText(current, now)


async def refusal(client: Client, name: str, snapshot: Snapshot, edits: Sequence[Edit]) -> str | None:
    """Send edits of a snapshot's text as one undo step, labelled with `name`.

    Return None if they were made, else the reason why not, as a clause.

    Some clients refuse with an error (eglot).

    Raises:
        NotInsertedError: the client did not answer, so it is unknown whether the edit was made.
    """
    params = types.ApplyWorkspaceEditParams(label=f"AdaCoder: {name}", edit=_bound(client, snapshot, edits))
    if not get_capability(client.client_capabilities, "workspace.apply_edit", False):
        # Such a client may still make the edit, as ALE does, but it never answers.
        client.protocol.send_request(types.WORKSPACE_APPLY_EDIT, params)
        return None
    try:
        answer = await client.protocol.ask(types.WORKSPACE_APPLY_EDIT, params, seconds=_EDITING, at_once=True)
    except TimeoutError:
        raise NotInsertedError("the editor did not say whether it made the edit: check the file") from None
    except JsonRpcException as error:
        return f"the editor refused the edit ({error.message})"
    if not answer.applied:
        why = f" ({answer.failure_reason})" if answer.failure_reason else ""
        return f"the editor did not make the edit{why}"
    return None


def _bound(client: Client, snapshot: Snapshot, made: Sequence[Edit]) -> types.WorkspaceEdit:
    """Edits of a snapshot's text, bound to its version."""
    edits = text_edits(snapshot.text, made, encoding_of(client.workspace))
    if not get_capability(client.client_capabilities, "workspace.workspace_edit.document_changes", False):
        return types.WorkspaceEdit(changes={snapshot.uri: edits})
    document = types.OptionalVersionedTextDocumentIdentifier(uri=snapshot.uri, version=snapshot.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(text_document=document, edits=edits)])


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
        why_not = await refusal(client, f"docstring of {name}", snapshot, (edit,))
    except NotInsertedError as why:
        why_not = str(why)
    if why_not is not None:
        client.show(f"Not inserted: a docstring for '{name}': {why_not}.", warning=True)
