"""The editor's open documents, and the units it counts characters in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls import workspace

if TYPE_CHECKING:
    from adacoder.source.text import PositionEncoding


def encoding_of(owner: workspace.TextDocument | workspace.Workspace) -> PositionEncoding:
    """The units in which the client counts characters."""
    return types.PositionEncodingKind(owner.position_codec.encoding).value


class Workspace(workspace.Workspace):
    """The open documents, each as a mirror of ours."""

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> workspace.TextDocument:
        from adacoder.lsp.mirror import Document

        return Document(
            doc_uri,
            source=source,
            version=version,
            language_id=language_id,
            sync_kind=self._sync_kind,
            position_codec=self._position_codec,
        )
