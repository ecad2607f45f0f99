"""The editor's settings: requested for every job if the editor supports that, else as it last sent them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client
    from adacoder.settings import Settings

log = logging.getLogger(__name__)

SECTION = "adacoder"
_PATIENCE = 5.0
"""Seconds to wait for an editor's settings."""
_WATCH = "adacoder.settings"


class Configuration:
    """The editor's values of section `adacoder`.

    Editors that answer `workspace/configuration` are asked for each job, so jobs never depend on announced changes.
    The display of evidence does, so editors that announce changes on request are asked to do so. An editor that has
    pushed its settings also pushes changes, and uses the same values for all folders. It is not asked, because its
    answer would contain nothing new and jobs would wait for it.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._initial: Mapping[str, object] = {}
        """From `initializationOptions`."""
        self._pushed: Mapping[str, object] = {}
        """From the last `workspace/didChangeConfiguration` that held settings."""

        self.storage: Path | None = None
        """The client's storage folder for this workspace, if it names one."""
        self._is_pushed = False
        """True if the latest notification held AdaCoder's own section."""

    def begin(self, options: object) -> None:
        """Take over `initializationOptions`: the section itself, or an object with the section as a member.

        The member `storage` is not a setting. It is the client's folder for AdaCoder's data on this workspace.
        """
        members = dict(_mapping(options))
        storage = members.pop("storage", None)
        if isinstance(storage, str) and Path(storage).is_absolute():
            self.storage = Path(storage)
        self._initial = _mapping(members.get(SECTION, members))

    def pushed(self, settings: object) -> None:
        """Take over the settings in `workspace/didChangeConfiguration`. Null means that the editor has to be asked."""
        if isinstance(settings, Mapping):
            self._pushed = _mapping(settings.get(SECTION))
        self._is_pushed = isinstance(_mapping(settings).get(SECTION), Mapping)

    async def follow(self) -> None:
        """Ask the client to announce changes of its settings. Some do so only on request.

        The request names no section, so a notification only says that something has changed. With a section, VS Code
        sends that section's values outside any folder, and jobs would use them in every folder.
        """
        able = "workspace.did_change_configuration.dynamic_registration"
        if not get_capability(self._client.client_capabilities, able, False):
            return
        wish = types.Registration(id=_WATCH, method=types.WORKSPACE_DID_CHANGE_CONFIGURATION)
        params = types.RegistrationParams(registrations=[wish])
        try:
            await self._client.protocol.ask(types.CLIENT_REGISTER_CAPABILITY, params, seconds=_PATIENCE)
        except (TimeoutError, JsonRpcException) as error:
            log.warning("The editor does not report changes of its settings: %r", error)

    async def settings(self, folder: Path, uri: str | None = None, *, top: Path | None = None) -> Settings:
        """The settings for a file in `folder`: the defaults, overridden by its project's, then by the editor's.

        Shows a notice for each unusable setting. Opens no file of an untrusted workspace.

        Args:
            folder: the folder of the file.
            uri: the document that the settings are for.
            top: the folder above which no project is looked for.
        """
        from adacoder.settings import Settings, from_project

        said = (self._initial, self._pushed, await self._pulled(uri))
        settings = self._merged(Settings(), said)
        if not settings.trusted:
            return settings
        notices: list[str] = []
        of_project = await asyncio.to_thread(from_project, Settings(), folder, notices.append, top=top)
        for notice in notices:
            self._client.notice(notice)
        return self._merged(of_project, said)

    def _merged(self, settings: Settings, said: Iterable[Mapping[str, object]]) -> Settings:
        from adacoder.settings import merge

        for values in said:
            settings = merge(settings, values, self._client.notice)
        return settings

    async def _pulled(self, uri: str | None) -> Mapping[str, object]:
        can_be_asked = get_capability(self._client.client_capabilities, "workspace.configuration", False)
        if self._is_pushed or not can_be_asked:
            return {}
        item = types.ConfigurationItem(scope_uri=uri, section=SECTION)
        try:
            answer = await self._client.protocol.ask(
                types.WORKSPACE_CONFIGURATION, types.ConfigurationParams(items=[item]), seconds=_PATIENCE
            )
        except (TimeoutError, JsonRpcException) as error:
            log.warning("The editor did not answer with its settings: %r", error)
            return {}
        return _mapping(answer[0] if answer else None)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
