"""`adacoder doctor`: the findings as a list, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from adacoder.cli import COULD_NOT_RUN
from adacoder.cli.terminal import complain, console, visible
from adacoder.doctor import Finding, examine
from adacoder.settings import Settings, from_project, merge

_MARKS = {True: ("✓", "bold green"), False: ("✗", "bold red"), None: ("·", "dim")}


async def show_health(values: Mapping[str, object], *, as_json: bool) -> int:
    """Examine where we are, and show it. Returns 0 if AdaCoder can generate here, else 2.

    `values` are what the options say, by the fields of Settings; None: not said.
    """
    folder = Path.cwd()
    # What a project may not set is among the findings.
    settings = merge(from_project(Settings(), folder, lambda _: None), values, complain)
    findings = await examine(settings, folder)
    missing = [finding.name.lower() for finding in findings if finding.ok is False]
    if as_json:
        print(json.dumps({"ok": not missing, "findings": [finding.json() for finding in findings]}))
    else:
        _show(findings)
    if missing:
        complain(f"AdaCoder cannot generate here yet, for want of: {', '.join(missing)}.")
    return COULD_NOT_RUN if missing else 0


def _show(findings: Sequence[Finding]) -> None:
    from rich.text import Text

    out = console()
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark, style = _MARKS[finding.ok]
        name = f"{finding.name:<{width}}"
        out.print(Text.assemble((mark, style), " ", (name, "bold"), "  ", visible(finding.text)))
        if finding.advice:
            out.print(Text.assemble(" " * (width + 4), ("→ " + visible(finding.advice), "yellow")))
