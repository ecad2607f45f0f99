"""Update the diagnostics, lenses and hints of an editor when the evidence changes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from adacoder import report
from adacoder.domain import AdaCoderError
from adacoder.lsp.connection.pygls_fixes import EVIDENCE
from adacoder.lsp.showing.diagnostics import diagnostics
from adacoder.lsp.showing.evidence import EvidenceRoom, evidence_of
from adacoder.lsp.snapshot import Uri, encoding_of, take
from adacoder.settings import Settings

if TYPE_CHECKING:
    from pygls.workspace import TextDocument

    from adacoder.domain import Outcome
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.showing.evidence import Placed
    from adacoder.lsp.snapshot import Snapshot

log = logging.getLogger(__name__)

_LIFETIME = 2.0
"""Seconds for which the settings of a document are reused, so that the editor is not asked at each keystroke.

After the editor has announced a change of settings, they are requested again.
"""
_PAUSE = 0.2
"""Minimum number of seconds between two requests to refresh lenses and hints."""
_PATIENCE = 5.0
_REFRESHED = {
    "workspace.code_lens.refresh_support": types.WORKSPACE_CODE_LENS_REFRESH,
    "workspace.inlay_hint.refresh_support": types.WORKSPACE_INLAY_HINT_REFRESH,
}


@dataclass(frozen=True, slots=True)
class _RecentSettings:
    settings: Settings
    until: float


class Publisher:
    """Sends the diagnostics of a document when they have changed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._sent: dict[Uri, list[Any]] = {}
        """Evidence and settings that determined the last diagnostics of each document.

        A document without diagnostics has no entry.
        """

    def publish(self, uri: Uri, evidence: Sequence[Placed], lines: Sequence[str], *, unreached: bool) -> None:
        """Send the diagnostics of a document, if they have changed. `lines` is empty if the document is closed."""
        held = [each for each in evidence if each.holds]
        told = [each.evidence for each in held if each.evidence.failed or each.evidence.question or unreached]
        basis: list[Any] = [(each, unreached) for each in told]
        if basis == self._sent.get(uri, []) or not self._client.has("text_document.publish_diagnostics"):
            return
        self._sent[uri] = basis
        if not basis:
            del self._sent[uri]
        knows_versions = self._client.has("text_document.publish_diagnostics.version_support")
        document = self._client.workspace.text_documents.get(uri)
        self._client.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri=document.uri if document else uri,  # the client may spell the same URI differently
                diagnostics=list(diagnostics(held, lines, encoding_of(self._client.workspace), unreached=unreached)),
                version=document.version if document and knows_versions else None,
            )
        )


class Shown:
    """Updates the evidence that an editor shows."""

    def __init__(self, client: Client) -> None:
        self.evidence = EvidenceRoom(self._changed)
        self._client = client
        self._publisher = Publisher(client)
        self._settings: dict[Uri, _RecentSettings] = {}
        self._change = 0
        """Number of times that the editor's settings have changed."""
        self._refreshing = False
        self._again = False

    def document(self, uri: Uri) -> TextDocument | None:
        """Return the document `uri`, or None if it is not open."""
        found: TextDocument | None = self._client.workspace.text_documents.get(uri)
        return found

    async def settings(self, uri: Uri) -> Settings:
        """Return the settings of a document. They may be up to `_LIFETIME` seconds old."""
        known = self._settings.get(uri)
        while known is None or time.monotonic() > known.until:
            change = self._change
            found = _RecentSettings(await self._asked(uri), time.monotonic() + _LIFETIME)
            if change == self._change:  # else the settings have changed meanwhile
                self._settings[uri] = known = found
        return known.settings

    def configured(self) -> None:
        """Update everything that is shown after a change of the settings."""
        self._change += 1
        uris = list(self._settings)
        self._settings.clear()
        for uri in uris:
            self._client.begin(self._publish(uri))
        self.refresh()

    def found(
        self,
        snapshot: Snapshot,
        outcome: Outcome,
        *,
        is_inserted: bool,
        job_id: str | None = None,
        is_asked: bool = False,
    ) -> None:
        """Store the evidence in an Outcome, and show it.

        `is_inserted` is True if the edits of the Outcome were made. `is_asked` is True if the client requested the
        result, and needs no notification.
        """
        uri = snapshot.uri
        answer = report.to_json(outcome, snapshot.folder, encoding_of(self._client.workspace))
        evidence = evidence_of(uri, outcome, answer, is_inserted=is_inserted, job_id=job_id)
        if evidence is not None:
            document = self.document(uri)
            self.evidence.record(evidence, None if document is None else document.lines)
            if evidence.is_of_text and not is_asked and self._client.habits.follows_evidence:
                self._client.protocol.notify(EVIDENCE, {"version": report.VERSION, "textDocument": {"uri": uri}})

    def dropped(self, job_id: str) -> None:
        """Stop showing the evidence for a result that is no longer kept."""
        self.evidence.dropped(job_id)
        self.refresh()

    def closed(self, uri: Uri) -> None:
        """Stop showing evidence for a document that was closed."""
        self.evidence.closed(uri)
        self._settings.pop(uri, None)

    def refresh(self) -> None:
        """Ask the editor to update its lenses and hints, if the editor supports this."""
        self._again = True
        if not self._refreshing:
            self._refreshing = True
            self._client.begin(self._refresh())

    def _changed(self, uri: Uri) -> None:
        self._client.begin(self._publish(uri))
        self.refresh()

    async def _publish(self, uri: Uri) -> None:
        known = self._settings.get(uri)
        settings = known.settings if known else await self.settings(uri)
        document = self.document(uri)
        lines = [] if document is None else document.lines
        evidence = self.evidence.of(uri)
        self._publisher.publish(uri, evidence, lines, unreached=settings.unreached_hints)

    async def _asked(self, uri: Uri) -> Settings:
        document = self.document(uri)
        try:
            snapshot = take(self._client.workspace, uri if document is None else Uri(document.uri))
        except AdaCoderError:
            return Settings()
        return await self._client.configuration.settings_for(snapshot)

    async def _refresh(self) -> None:
        methods = [method for able, method in _REFRESHED.items() if self._client.has(able)]
        try:
            while self._again and methods:
                self._again = False
                for method in methods:
                    await self._refresh_with(method)
                await asyncio.sleep(_PAUSE)
        finally:
            self._refreshing = False

    async def _refresh_with(self, method: str) -> None:
        try:
            await self._client.protocol.ask(method, None, seconds=_PATIENCE)
        except (TimeoutError, JsonRpcException) as error:
            log.warning("The editor does not refresh its display: %r", error)
