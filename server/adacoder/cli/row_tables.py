"""`adacoder tables`: show arena rows as tables in the terminal, Markdown or CSV, as plots, and as an HTML report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.arena.html import journal_of, page
from adacoder.arena.papers import SETS, tables
from adacoder.arena.rows import Key, Row, RowsReader
from adacoder.arena.tables import Table, as_csv, markdown
from adacoder.cli import COULD_NOT_RUN
from adacoder.cli.terminal import complain, screen
from adacoder.domain import AdaCoderError

if TYPE_CHECKING:
    from rich.table import Table as Drawn

TERMINAL, MARKDOWN, CSV = "terminal", "markdown", "csv"
_WIDEST = 10_000
"""Line length if the output is not a terminal. It is large, so that no line is folded."""
_BETWEEN = 3
"""Number of spaces between two columns of a table."""
_EDGES = 2
_LONGEST_WORD = 24
"""Maximum length of a word that is never broken, even in a narrow table."""


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options of `adacoder tables`."""

    sets: tuple[str, ...] = ("own",)
    """Names of the papers' sets of tables, from `papers.SETS`; empty for all."""
    form: str = TERMINAL
    ks: tuple[int, ...] = ()
    """Values of k for which pass@k is shown. pass@1 is always shown."""
    html: Path | None = None
    plots: Path | None = None
    """The folder for the figures; None for no figures."""
    kind: str = "svg"
    """Format of the figures, such as `svg`."""


def show_tables(paths: Sequence[Path], view: TableOptions) -> int:
    """Show the rows in the files `paths` as tables. Return the exit code, which is not 0 if a line is unusable.

    Raises:
        AdaCoderError: rows cannot be read, or a file cannot be written.
    """
    reading = RowsReader()
    rows, files = _read(paths, reading)
    for trouble in reading.troubles:
        complain(trouble)
    if not rows:
        raise AdaCoderError(f"There are no rows in {', '.join(map(str, paths))}: create some with `adacoder arena`.")
    found = tables(rows, view.sets or tuple(SETS), view.ks)
    if view.html is not None:
        report = page(found, rows, lambda row: journal_of(row, files[row.key]), reading.troubles)
        _write(view.html, report)
    if view.plots is not None:
        _draw(found, view.plots, view.kind)
    show(found, view.form)
    return COULD_NOT_RUN if reading.troubles else 0


def _read(paths: Sequence[Path], reading: RowsReader) -> tuple[list[Row], dict[Key, Path]]:
    """Return each cell's first row, and the file that each row comes from."""
    rows: list[Row] = []
    files: dict[Key, Path] = {}
    for path in paths:
        for row in reading.rows(path):
            if row.key not in files:
                files[row.key] = path
                rows.append(row)
    return rows, files


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
                for number, part in enumerate(_parts(table, out.width)):
                    out.print(_drawn(table, part, out.width, is_first=not number))
            for note in table.notes:
                out.print(note, style="dim")
            out.print()


def _drawn(table: Table, numbers: Sequence[int], width: int, *, is_first: bool) -> Drawn:
    from rich import box
    from rich.table import Table as Drawn
    from rich.text import Text

    title = Text(f"{table.name}: {table.title}", style="bold") if is_first else None
    drawn = Drawn(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    labels = (table.corner, *(table.columns[number] for number in numbers))
    for number, (label, room) in enumerate(zip(labels, _rooms(table, numbers, width), strict=True)):
        drawn.add_column(Text(label), justify="right" if number else "left", overflow="fold", width=room)
    for line in table.lines:
        drawn.add_row(Text(line.label), *(Text(line.cells[number].text) for number in numbers))
    return drawn


def _parts(table: Table, width: int) -> list[list[int]]:
    """Split the columns of a table into groups that each fit into `width`. Columns are given by number."""
    first, *widths = map(_least, _texts(table))  # narrower columns would break words
    parts: list[list[int]] = [[]]
    left = room = width - first - _EDGES
    for number, each in enumerate(widths):
        if parts[-1] and each + _BETWEEN > left:
            parts.append([])
            left = room
        parts[-1].append(number)
        left -= each + _BETWEEN
    return parts


def _rooms(table: Table, numbers: Sequence[int], width: int) -> list[int]:
    """Return the widths of the column of labels and of the columns `numbers`.

    First, each column gets its minimum width. Then wider columns share the rest, from left to right.
    """
    columns = _texts(table)
    shown = [columns[0], *(columns[number + 1] for number in numbers)]
    rooms = [_least(texts) for texts in shown]
    left = width - sum(rooms) - _BETWEEN * len(numbers) - _EDGES
    for number, texts in enumerate(shown):
        more = max(0, min(left, max(map(len, texts)) - rooms[number]))
        rooms[number] += more
        left -= more
    return rooms


def _texts(table: Table) -> list[tuple[str, ...]]:
    columns = [(column, *(line.cells[at].text for line in table.lines)) for at, column in enumerate(table.columns)]
    return [(table.corner, *(line.label for line in table.lines)), *columns]


def _least(texts: Sequence[str]) -> int:
    return min(_LONGEST_WORD, max((len(word) for text in texts for word in text.split()), default=1))


def _draw(found: Sequence[Table], folder: Path, kind: str) -> None:
    from adacoder.arena.plots import draw

    drawn = [table for table in found if table.plot and table.lines]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AdaCoderError(f"{folder} cannot be created: {error.strerror}.") from error
    for table in drawn:
        path = folder / f"{table.name.lower().replace(', ', '-').replace(' ', '-')}.{kind}"
        draw(table, path)
        complain(f"Drew {path}.")
    if not drawn:
        complain("No figure has rows: choose a set with --paper, and its table names the missing rows.")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise AdaCoderError(f"{path} cannot be written: {error.strerror}.") from error
    complain(f"Wrote {path}.")
