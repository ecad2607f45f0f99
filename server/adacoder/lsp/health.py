"""The examination for the command `.doctor`, and its interpreter finding for `.status`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from adacoder.doctor import Finding, interpreter
from adacoder.doctor import examine as examination
from adacoder.domain import JSON, AdaCoderError
from adacoder.lsp.connection.client import new_token, progress
from adacoder.lsp.snapshot import Snapshot, first_folder, take

if TYPE_CHECKING:
    from adacoder.lsp.language_server import AdaCoderServer
    from adacoder.lsp.uri import Uri


async def examine(server: AdaCoderServer, uri: Uri | None, *, probes_speed: bool) -> list[Finding]:
    """Examine the folder of a document, else the first workspace folder.

    With `probes_speed`, measure models and show progress. Cancelling the progress keeps the findings so far.
    """
    findings: list[Finding] = []
    snapshot = _snapshot(server, uri)
    folder = snapshot.folder if snapshot else first_folder(server.workspace)
    near, scope = (snapshot.path.parent, snapshot.uri) if snapshot else (folder, None)
    settings = await server.configuration.settings(near, scope, top=folder)
    title = "AdaCoder: checking what works here"
    token = await new_token(server, title) if probes_speed else None

    async def collect() -> None:
        session = (await server.service()).session
        async with progress(server, title, token, work.cancel) as show:
            async for finding in examination(
                settings, folder, probes_speed=probes_speed, session=session, on_wait=show
            ):
                findings.append(finding)  # noqa: PERF401  # keeps findings after a cancellation

    work = asyncio.create_task(collect())
    try:
        await asyncio.wait({work})
    finally:
        work.cancel()
        await asyncio.wait({work})
    if not work.cancelled():
        work.result()
    return findings


def _snapshot(server: AdaCoderServer, uri: Uri | None) -> Snapshot | None:
    if uri is None:
        return None
    try:
        return take(server.workspace, uri)
    except AdaCoderError:
        return None


async def interpreter_for(server: AdaCoderServer, uri: Uri) -> dict[str, JSON]:
    """The finding about the Python that runs a document's examples, including why it was chosen."""
    try:
        snapshot = take(server.workspace, uri)
    except AdaCoderError as error:
        return Finding("Interpreter", None, str(error)).json()
    near, folder = snapshot.path.parent, snapshot.folder
    settings = await server.configuration.settings(near, uri, top=folder)
    return (await asyncio.to_thread(interpreter, settings, near, folder)).json()
