"""The journals of the latest jobs, as documents that an editor shows."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

from adacoder.lsp.display import displayed

if TYPE_CHECKING:
    from adacoder.domain import Outcome
    from adacoder.lsp.client import Client

_KEPT = 16
"""Journals that are kept."""
_PATIENCE = 10.0
"""Seconds that an editor has to show a document."""


@dataclass(frozen=True, slots=True)
class _Kept:
    uri: str
    outcome: Outcome
    folder: Path


class Journals:
    """The journals of the latest jobs that ended."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kept: dict[str, _Kept] = {}
        """By job, the latest last."""
        self._open = ExitStack()
        self._folder: Path | None = None

    def keep(self, job_id: str, uri: str, outcome: Outcome, folder: Path) -> None:
        """Keep what a job on a function of `uri` did; `folder` is its workspace."""
        self._kept[job_id] = _Kept(unquote(uri), outcome, folder)
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]

    def last(self, uri: str | None = None, qualname: str | None = None) -> str | None:
        """The id of the last job; with arguments, of the last on that function, or in that document."""
        for job_id, kept in reversed(self._kept.items()):
            if (uri is None or unquote(uri) == kept.uri) and qualname in (None, kept.outcome.target.qualname):
                return job_id
        return None

    def markdown(self, job_id: str) -> str | None:
        """The journal of a job; None if it is not known."""
        from adacoder.report.journal import journal

        kept = self._kept.get(job_id)
        return None if kept is None else journal(kept.outcome, kept.folder)

    async def show(self, job_id: str, markdown: str) -> None:
        """Show a journal in the editor; where that shows no documents, say where it is."""
        path = self._place() / f"journal-{job_id[:8]}.md"
        path.write_text(displayed(markdown), encoding="utf-8")
        if get_capability(self._client.client_capabilities, "window.show_document.support", False):
            params = types.ShowDocumentParams(uri=path.as_uri(), take_focus=True)
            try:
                shown = await self._client.protocol.ask(types.WINDOW_SHOW_DOCUMENT, params, seconds=_PATIENCE)
            except (TimeoutError, JsonRpcException):
                shown = None
            if shown is not None and shown.success:
                return
        self._client.show(f"The journal is in {path}, until the editor is closed.", warning=False)

    def close(self) -> None:
        """Remove what was written."""
        self._open.close()

    def _place(self) -> Path:
        """A folder of this user's alone, which goes with this process."""
        if self._folder is None:
            from adacoder.sandbox.isolation.scratch import scratch

            self._folder = Path(self._open.enter_context(scratch()))
        return self._folder
