"""The editor's settings: asked for at every job where the editor can be asked, else as it last told them."""

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
    from adacoder.lsp.client import Client
    from adacoder.settings import Settings

log = logging.getLogger(__name__)

SECTION = "adacoder"
_PATIENCE = 5.0
"""Seconds an editor has to answer with its settings."""
_WATCH = "adacoder.settings"


class Configuration:
    """The editor's values of section `adacoder`.

    Editors that answer `workspace/configuration` are asked anew each time: then no job depends on an editor that
    announces each change. What is shown does, so an editor that announces changes on demand is asked to. One that has
    pushed its settings pushes what changes, too, and has the same for all folders; it is not asked, so that no job
    waits for an answer of which nothing new is to be learned.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._initial: Mapping[str, object] = {}
        """From `initializationOptions`."""
        self._pushed: Mapping[str, object] = {}
        """From the last `workspace/didChangeConfiguration` that held settings."""

        self.storage: Path | None = None
        """The folder that the client has for this workspace, if it names one."""
        self._is_pushed = False
        """True if that was AdaCoder's own section."""

    def begin(self, options: object) -> None:
        """Take over `initializationOptions`: the section itself, or an object that has it as a member. A member
        `storage` is no setting: the client's folder for what AdaCoder keeps of this workspace."""
        members = dict(_mapping(options))
        storage = members.pop("storage", None)
        if isinstance(storage, str) and Path(storage).is_absolute():
            self.storage = Path(storage)
        self._initial = _mapping(members.get(SECTION, members))

    def pushed(self, settings: object) -> None:
        """Take over what `workspace/didChangeConfiguration` says: null where the editor is to be asked."""
        if isinstance(settings, Mapping):
            self._pushed = _mapping(settings.get(SECTION))
        self._is_pushed = isinstance(_mapping(settings).get(SECTION), Mapping)

    async def follow(self) -> None:
        """Have the client tell when its settings change: some do so only if they are asked to.

        No section is named, so that what comes says only that something has changed. With a section VS Code sends the
        section as it is for no folder, and jobs would have that in every folder.
        """
        able = "workspace.did_change_configuration.dynamic_registration"
        if not get_capability(self._client.client_capabilities, able, False):
            return
        wish = types.Registration(id=_WATCH, method=types.WORKSPACE_DID_CHANGE_CONFIGURATION)
        params = types.RegistrationParams(registrations=[wish])
        try:
            await self._client.protocol.ask(types.CLIENT_REGISTER_CAPABILITY, params, seconds=_PATIENCE)
        except (TimeoutError, JsonRpcException) as error:
            log.warning("The editor does not tell when its settings change: %r", error)

    async def settings(self, folder: Path, uri: str | None = None, *, top: Path | None = None) -> Settings:
        """The settings for a file in `folder`: the defaults, over them its project's, over them the editor's.

        `uri` is the document they are for, `top` the folder above which no project is looked for. Whatever in them
        cannot be used gets a notice. Of a workspace that is not trusted nothing is opened.
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
