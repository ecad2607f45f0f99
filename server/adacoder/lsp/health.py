"""The command `.doctor`: the examination of what works here, shown while it runs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from adacoder.doctor import Finding
from adacoder.doctor import examine as examination
from adacoder.lsp.progress import new_token, progress
from adacoder.lsp.snapshot import first_folder
from adacoder.report import in_an_editor

if TYPE_CHECKING:
    from adacoder.lsp.server import AdaCoderServer


async def examine(server: AdaCoderServer, *, probes_speed: bool) -> list[Finding]:
    """What works in the first folder of the workspace; with `probes_speed` models are measured, and progress is shown.

    Who cancels the progress gets what was found until then.
    """
    findings: list[Finding] = []
    folder = first_folder(server.workspace)
    settings = await server.configuration.settings(folder)
    token = await new_token(server) if probes_speed else None

    async def collect() -> None:
        experience = (await server.service()).experience
        async with progress(server, "AdaCoder: examining what works here", token, work.cancel) as show:
            async for finding in examination(
                settings, folder, probes_speed=probes_speed, experience=experience, on_wait=show
            ):
                text, advice = in_an_editor(finding.text), in_an_editor(finding.advice)
                # One by one, since what was found counts, also where no more follows.
                findings.append(replace(finding, text=text, advice=advice))

    work = asyncio.create_task(collect())
    try:
        await asyncio.wait({work})
    finally:
        work.cancel()
        await asyncio.wait({work})
    if not work.cancelled():
        work.result()
    return findings
