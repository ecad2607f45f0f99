"""`adacoder tables`: the arena's rows as tables in the terminal, Markdown or CSV, as plots, and as one HTML report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.arena.html import journal_below, page
from adacoder.arena.papers import SETS, tables
from adacoder.arena.rows import Key, Reading, Row
from adacoder.arena.tables import Table, as_csv, markdown
from adacoder.cli.terminal import complain, screen
from adacoder.domain import AdaCoderError

if TYPE_CHECKING:
    from rich.table import Table as Drawn

TERMINAL, MARKDOWN, CSV = "terminal", "markdown", "csv"
FORMS = (TERMINAL, MARKDOWN, CSV)
_WIDEST = 10_000
"""Columns of an output that is no terminal, so that nothing is folded there."""


@dataclass(frozen=True, slots=True)
class View:
    """What is to be made of the rows."""

    sets: tuple[str, ...] = ("own",)
    """Keys of `papers.SETS`; none: all."""
    form: str = TERMINAL
    ks: tuple[int, ...] = ()
    """Each k of pass@k, besides 1."""
    html: Path | None = None
    plots: Path | None = None
    """Folder for the figures' files."""
    kind: str = "svg"
    """Kind of the figures' files."""


def show_tables(paths: Sequence[Path], view: View) -> int:
    """Show what the rows of these files tell. Returns the exit code.

    Raises:
        AdaCoderError: rows cannot be read, or a file cannot be written.
    """
    reading = Reading()
    rows, folders = _read(paths, reading)
    for trouble in reading.troubles:
        complain(trouble)
    if not rows:
        raise AdaCoderError(f"There are no rows in {', '.join(map(str, paths))}: `adacoder arena` makes them.")
    found = tables(rows, view.sets or tuple(SETS), view.ks)
    if view.html is not None:
        report = page(found, rows, lambda row: journal_below(folders[row.key], row), reading.troubles)
        _write(view.html, report)
    if view.plots is not None:
        _draw(found, view.plots, view.kind)
    show(found, view.form)
    return 0


def _read(paths: Sequence[Path], reading: Reading) -> tuple[list[Row], dict[Key, Path]]:
    """The rows, each cell once, and the folder that each stands in."""
    rows: list[Row] = []
    folders: dict[Key, Path] = {}
    for path in paths:
        for row in reading.rows(path):
            if row.key not in folders:
                folders[row.key] = path.parent
                rows.append(row)
    return rows, folders


def show(found: Sequence[Table], form: str = TERMINAL) -> None:
    """Print tables."""
    if form == MARKDOWN:
        print("\n".join(map(markdown, found)), end="")
    elif form == CSV:
        print(as_csv(found), end="")
    else:
        out = screen()
        if not out.is_terminal:
            out.width = _WIDEST
        for table in found:
            if table.lines:
                out.print(_drawn(table), soft_wrap=False)
            for note in table.notes:
                out.print(note, style="dim")
            out.print()


def _drawn(table: Table) -> Drawn:
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(title=Text(f"{table.name}: {table.title}"), title_justify="left")
    drawn.add_column(Text(table.corner), overflow="fold")
    for column in table.columns:
        drawn.add_column(Text(column), justify="right", overflow="fold")
    for line in table.lines:
        drawn.add_row(Text(line.label), *(Text(cell.text) for cell in line.cells))
    return drawn


def _draw(found: Sequence[Table], folder: Path, kind: str) -> None:
    from adacoder.arena.plots import draw

    drawn = [table for table in found if table.plot and table.lines]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AdaCoderError(f"{folder} cannot be made: {error.strerror}.") from error
    for table in drawn:
        path = folder / f"{table.name.lower().replace(', ', '-').replace(' ', '-')}.{kind}"
        draw(table, path)
        complain(f"Drew {path}.")
    if not drawn:
        complain("No figure has rows: name its set with --paper, and see what its table says.")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise AdaCoderError(f"{path} cannot be written: {error.strerror}.") from error
    complain(f"Wrote {path}.")
