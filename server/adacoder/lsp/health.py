"""The examination for the command `.doctor`, and its part in `.status`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from adacoder.doctor import Finding, interpreter
from adacoder.doctor import examine as examination
from adacoder.domain import JSON, AdaCoderError
from adacoder.lsp.progress import new_token, progress
from adacoder.lsp.snapshot import first_folder, take

if TYPE_CHECKING:
    from adacoder.lsp.server import AdaCoderServer


async def examine(server: AdaCoderServer, *, probes_speed: bool) -> list[Finding]:
    """Examine the first folder of the workspace; with `probes_speed`, measure models and show progress.

    Cancelling the progress keeps what was found until then.
    """
    findings: list[Finding] = []
    folder = first_folder(server.workspace)
    settings = await server.configuration.settings(folder)
    title = "AdaCoder: examining what works here"
    token = await new_token(server, title) if probes_speed else None

    async def collect() -> None:
        session = (await server.service()).session
        async with progress(server, title, token, work.cancel) as show:
            async for finding in examination(
                settings, folder, probes_speed=probes_speed, session=session, on_wait=show
            ):
                findings.append(finding)  # noqa: PERF401  # what was found counts, also where no more follows

    work = asyncio.create_task(collect())
    try:
        await asyncio.wait({work})
    finally:
        work.cancel()
        await asyncio.wait({work})
    if not work.cancelled():
        work.result()
    return findings


async def interpreter_for(server: AdaCoderServer, uri: str) -> dict[str, JSON]:
    """The finding about the Python that the examples of a document run on, and why it is that one."""
    try:
        snapshot = take(server.workspace, uri)
    except AdaCoderError as error:
        return Finding("Interpreter", None, str(error)).json()
    near, folder = snapshot.path.parent, snapshot.folder
    settings = await server.configuration.settings(near, uri, top=folder)
    return (await asyncio.to_thread(interpreter, settings, near, folder)).json()
