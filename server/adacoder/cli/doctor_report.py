"""`adacoder doctor`: print each finding as soon as it is known, or all of them as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.cli import COULD_NOT_RUN
from adacoder.cli.terminal import complain, console, moving_line, screen, visible
from adacoder.doctor import Finding, examine
from adacoder.report import VERSION
from adacoder.settings import Settings, from_project, merge

if TYPE_CHECKING:
    from rich.console import Console

_MARKS = {True: ("✓", "bold green"), False: ("✗", "bold red"), None: ("·", "dim")}
_REMARK = ("!", "bold yellow")
"""Mark of a finding that gives advice but reports no failure."""
_NAME_WIDTH = len("Interpreter")
"""Width of the column of names: the length of the longest name."""
_INDENT = _NAME_WIDTH + 4
_LEAST_WIDTH = 40
"""Minimum width of the column of texts. On a narrower terminal, lines are not wrapped."""


async def show_health(values: Mapping[str, object], *, as_json: bool, probes_speed: bool) -> int:
    """Examine the current folder and show the findings. Return 0 if AdaCoder can generate code here, else 2.

    `values` maps fields of Settings to the values of options. None means that the option is not given.
    """
    folder = Path.cwd()
    # Ignore notices about invalid settings, because `examine` reports them as findings.
    settings = merge(from_project(Settings(), folder, lambda _: None), values, complain)
    findings = await _examine(settings, folder, shows=not as_json, probes_speed=probes_speed)
    missing = list(dict.fromkeys(finding.name.lower() for finding in findings if finding.ok is False))
    if as_json:
        found = [finding.json() for finding in findings]
        print(json.dumps({"version": VERSION, "ok": not missing, "findings": found}))
    if missing:
        complain(f"AdaCoder cannot generate here yet. Missing: {', '.join(missing)}.")
    return COULD_NOT_RUN if missing else 0


async def _examine(settings: Settings, folder: Path, *, shows: bool, probes_speed: bool) -> list[Finding]:
    """Collect the findings, and show each as soon as it is known. Until then, show the current examination."""
    out, waiting = screen(), moving_line(console(stderr=True))
    found: list[Finding] = []

    def show_dimly(what: str) -> None:
        waiting.show(what, "dim", waits=True)

    async with aclosing(examine(settings, folder, probes_speed=probes_speed, on_wait=show_dimly)) as findings:
        try:
            async for finding in findings:
                waiting.hide()
                found.append(finding)
                if shows:
                    _show(finding, out)
        finally:
            waiting.hide()
    return found


def _show(finding: Finding, out: Console) -> None:
    from rich.text import Text

    mark, style = _REMARK if finding.ok is None and finding.advice else _MARKS[finding.ok]
    name = f"{finding.name:<{_NAME_WIDTH}}"
    out.print(Text.assemble((mark, style), " ", (name, "bold"), "  ", _block(finding.text, out)))
    if finding.advice:
        out.print(Text.assemble(" " * _INDENT, (_block(f"→ {finding.advice}", out, hang=2), "yellow")))


def _block(text: str, out: Console, hang: int = 0) -> str:
    """If the output is a terminal, wrap `text` in its column. Indent all lines but the first by `hang` spaces."""
    width = out.width - _INDENT
    if not out.is_terminal or width < _LEAST_WIDTH:
        return visible(text)
    lines = textwrap.wrap(
        visible(text), width, break_long_words=False, break_on_hyphens=False, subsequent_indent=" " * hang
    )
    return f"\n{' ' * _INDENT}".join(lines)
