"""The editor's open documents: pygls's workspace with AdaCoder's documents."""

from __future__ import annotations

from lsprotocol import types
from pygls import workspace

from adacoder.lsp.uri import Uri


class Workspace(workspace.Workspace):
    """The open documents, each as a `mirror.Document`."""

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> workspace.TextDocument:
        from adacoder.lsp.connection.mirror import Document

        return Document(
            doc_uri,
            source=source,
            version=version,
            language_id=language_id,
            sync_kind=self._sync_kind,
            position_codec=self._position_codec,
        )

    def update_text_document(
        self, text_doc: types.VersionedTextDocumentIdentifier, change: types.TextDocumentContentChangeEvent
    ) -> None:
        """Follow a change. VS Code reports a change after it has closed an unsaved file, which makes pygls fail."""
        if self.text_documents.get(Uri(text_doc.uri)) is not None:
            super().update_text_document(text_doc, change)
