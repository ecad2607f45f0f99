"""Insert an Outcome's edits in the editor.

Nothing is inserted that is not verified for the text it goes into, unless the person wants it so.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

from adacoder import report
from adacoder.aside import aside
from adacoder.domain import AdaCoderError, Edit, Outcome, Status, Target, TargetError
from adacoder.lsp.snapshot import Snapshot, take
from adacoder.lsp.workspace import encoding_of
from adacoder.messages import Named
from adacoder.settings import OnUnverified
from adacoder.source.text import PositionEncoding, range_of

if TYPE_CHECKING:
    from adacoder.lsp.client import Client

log = logging.getLogger(__name__)

_EDITING = 60.0
"""Seconds a client has to make an edit; some ask the person before they do."""
_ASKING = 600.0
"""Seconds a person has to answer."""
_ATTEMPTS = 3
"""Tries to make an edit while the text changes under it."""
_ON_UNVERIFIED = Named("onUnverified")
_INSERT_ALWAYS = Named("onUnverified", OnUnverified.INSERT)
_INSERT = "Insert anyway"
_DISCARD = "Discard"

Recheck = Callable[[Snapshot, Target], Awaitable[Outcome]]
"""Evaluates a job's candidate once more, in another text."""


class NotInsertedError(AdaCoderError):
    """The reason why an edit was not made."""


@dataclass(frozen=True, slots=True)
class OutcomeInText:
    """An Outcome, and the snapshot it holds for."""

    outcome: Outcome
    snapshot: Snapshot


class Insertion:
    """The insertion of one job's Outcome."""

    def __init__(
        self, client: Client, on_unverified: OnUnverified, recheck: Recheck, *, replaces: bool = False
    ) -> None:
        """`replaces`: it is to stand in place of what is as good, so that only the person can say so."""
        self._replaces = replaces
        self._client = client
        self._on_unverified = on_unverified
        self._recheck = recheck
        self.is_sent = False
        """True while the edit is on its way and cannot be called back."""

    async def insert(self, finding: OutcomeInText) -> Outcome:
        """Make the Outcome's edits in the editor. Returns the Outcome for the text that they were made in.

        Raises:
            NotInsertedError: nothing was inserted.
        """
        if self._replaces:
            await self._ask(finding.outcome, "It was not inserted, for this editor cannot ask: the journal has it.")
        elif finding.outcome.status is not Status.VERIFIED:
            await self._allow_unverified(finding.outcome)
        for _ in range(_ATTEMPTS):
            finding = await self._brought_up_to_date(finding)
            refusal = await self._refusal(finding)
            if refusal is None:
                return finding.outcome
            if self._taken(finding).same_as(finding.snapshot):
                break  # it was not the text that the editor minded
        raise NotInsertedError(refusal or "")

    async def _allow_unverified(self, outcome: Outcome) -> None:
        """Raise NotInsertedError unless an unverified candidate may be inserted."""
        if self._on_unverified is OnUnverified.INSERT:
            return
        if self._on_unverified is OnUnverified.DISCARD:
            raise NotInsertedError("It was discarded, as ", _ON_UNVERIFIED, " says.")
        await self._ask(outcome, "It was discarded, for this editor cannot ask: set ", _INSERT_ALWAYS, ".")

    async def _ask(self, outcome: Outcome, *otherwise: str | Named) -> None:
        """Raise NotInsertedError unless the person wants it inserted; `otherwise` is why, if they cannot be asked."""
        if get_capability(self._client.client_capabilities, "window.show_message", None) is None:
            raise NotInsertedError(*otherwise)
        question = types.ShowMessageRequestParams(
            type=types.MessageType.Warning,
            message=report.summary(outcome),
            actions=[types.MessageActionItem(_INSERT), types.MessageActionItem(_DISCARD)],
        )
        try:
            answer = await self._client.protocol.ask(types.WINDOW_SHOW_MESSAGE_REQUEST, question, seconds=_ASKING)
        except (TimeoutError, JsonRpcException) as error:
            log.warning("The editor did not answer whether to insert: %r", error)
            answer = None
        if answer is None or answer.title != _INSERT:
            raise NotInsertedError("It was discarded.")

    async def _brought_up_to_date(self, finding: OutcomeInText) -> OutcomeInText:
        """The Outcome for the text as it is now, evaluated again if anything that it depends on has changed."""
        for _ in range(_ATTEMPTS):
            now = self._taken(finding)
            if now.same_as(finding.snapshot):
                return replace(finding, snapshot=now)
            finding = await self._found_again(finding, now)
        raise NotInsertedError("The text changes faster than the examples run; nothing was inserted.")

    def _taken(self, finding: OutcomeInText) -> Snapshot:
        try:
            return take(self._client.workspace, finding.snapshot.uri)
        except TargetError as error:
            raise NotInsertedError(str(error), " Nothing was inserted.") from error

    async def _found_again(self, finding: OutcomeInText, now: Snapshot) -> OutcomeInText:
        from adacoder.source.locate import locate_again

        outcome = finding.outcome
        name = outcome.target.name
        target = await aside(locate_again, outcome.target, now.text, now.folder)
        if target is None:
            raise NotInsertedError(f"'{name}' changed while AdaCoder was working; nothing was inserted.")
        if outcome.candidate is None:  # examples for its docstring, which only moved
            by = target.definition.start - outcome.target.definition.start
            moved = tuple(Edit(edit.start + by, edit.end + by, edit.text) for edit in outcome.edits)
            return OutcomeInText(replace(outcome, target=target, edits=moved), now)
        again = await self._recheck(now, target)
        if again.status is not outcome.status:
            raise NotInsertedError(
                f"What stands around '{name}' changed while AdaCoder was working, and the candidate does not"
                " pass there; nothing was inserted."
            )
        current = replace(
            outcome,
            target=target,
            verdict=again.verdict,
            edits=again.edits,
            steps=(*outcome.steps, *again.steps),
            seconds=outcome.seconds + again.seconds,
        )
        return OutcomeInText(current, now)

    async def _refusal(self, finding: OutcomeInText) -> str | None:
        """Send the edit; None if it was made, else why not. Some clients refuse by an error (eglot)."""
        params = types.ApplyWorkspaceEditParams(
            label=f"AdaCoder: {finding.outcome.target.name}", edit=workspace_edit(self._client, finding)
        )
        if not get_capability(self._client.client_capabilities, "workspace.apply_edit", False):
            # Such a client may make the edit all the same, as ALE does, but it never answers.
            self._client.protocol.send_request(types.WORKSPACE_APPLY_EDIT, params)
            return None
        self.is_sent = True
        try:
            answer = await self._client.protocol.ask(types.WORKSPACE_APPLY_EDIT, params, seconds=_EDITING)
        except TimeoutError:
            why = "The editor did not say whether it made the edit: look before you ask again."
            raise NotInsertedError(why) from None
        except JsonRpcException as error:
            return f"The editor refused the edit ({error.message}); nothing was inserted."
        finally:
            self.is_sent = False
        if not answer.applied:
            why = f" ({answer.failure_reason})" if answer.failure_reason else ""
            return f"The editor did not make the edit{why}; nothing was inserted."
        return None


def workspace_edit(client: Client, finding: OutcomeInText) -> types.WorkspaceEdit:
    """The Outcome's edits as one step to undo, bound to the version of the text they are for."""
    return edit_of(client, finding.snapshot, finding.outcome.edits)


def edit_of(client: Client, snapshot: Snapshot, made: Sequence[Edit]) -> types.WorkspaceEdit:
    """Edits of a snapshot's text, bound to its version."""
    edits = text_edits(snapshot.text, made, encoding_of(client.workspace))
    if not get_capability(client.client_capabilities, "workspace.workspace_edit.document_changes", False):
        return types.WorkspaceEdit(changes={snapshot.uri: edits})
    document = types.OptionalVersionedTextDocumentIdentifier(uri=snapshot.uri, version=snapshot.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(text_document=document, edits=edits)])


def text_edits(text: str, edits: Sequence[Edit], encoding: PositionEncoding) -> list[types.TextEdit]:
    """Edits of `text` in the units that the client counts in."""
    ranges = (types.Range(*(types.Position(*at) for at in range_of(edit, text, encoding))) for edit in edits)
    return [types.TextEdit(range=each, new_text=edit.text) for each, edit in zip(ranges, edits, strict=True)]
