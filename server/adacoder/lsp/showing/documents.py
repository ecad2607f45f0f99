"""Texts that the editor shows as documents: journals and differences."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

from adacoder.lsp.connection.display import displayed

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client

_PATIENCE = 10.0
"""Seconds to wait for an editor to show a document."""


class Documents:
    """The documents shown to one client. They are files in their own folder."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._open = ExitStack()
        self._folder: Path | None = None

    async def show(self, what: str, name: str, text: str) -> None:
        """Show `text` in the editor as the file `name`. If the editor does not show files, show the path instead."""
        path = self._place() / name
        path.write_text(displayed(text), encoding="utf-8", newline="")
        if get_capability(self._client.client_capabilities, "window.show_document.support", False):
            params = types.ShowDocumentParams(uri=path.as_uri(), take_focus=True)
            try:
                shown = await self._client.protocol.ask(types.WINDOW_SHOW_DOCUMENT, params, seconds=_PATIENCE)
            except (TimeoutError, JsonRpcException):
                shown = None
            if shown is not None and shown.success:
                return
        self._client.show(f"{what} is in {path}", warning=False)

    def close(self) -> None:
        """Remove the files."""
        self._open.close()

    def _place(self) -> Path:
        """A folder that only this user can access. It does not outlive this process."""
        if self._folder is None:
            from adacoder.sandbox.isolation.scratch import scratch

            self._folder = Path(self._open.enter_context(scratch()))
        return self._folder
