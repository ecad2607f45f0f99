"""Write a report as one HTML file, with tables and a filterable list of cells.

The page uses no network. Text from models, tasks and users is escaped. The content security policy allows only
AdaCoder's own style and script.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from html import escape
from importlib.resources import files
from pathlib import Path

from adacoder.arena.rows import Row
from adacoder.arena.tables import Table, TableCell, TableLine
from adacoder.messages import counted
from adacoder.privacy.access import Access, read_regular
from adacoder.privacy.contents import without_secrets
from adacoder.visible import visible

_LONGEST_JOURNAL = 200_000
"""Maximum length of a journal in a report, in characters."""
_LARGEST_JOURNAL = 64 << 20
"""Maximum size of a journal file, in bytes. Larger journals are not shown."""

FILTERS = ("dataset", "model", "strategy", "status", "right")
"""Members of a row that readers of the page can filter by. Readers can also filter by the task's name."""


def page(
    tables: Sequence[Table],
    rows: Sequence[Row],
    journal: Callable[[Row], str | None] = lambda row: None,
    notes: Sequence[str] = (),
) -> str:
    """Return the report as an HTML document. `journal` returns the journal of a row."""
    style, script = _own("report.css"), _own("report.js")
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'"
    return "".join(
        (
            "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n",
            f'<meta http-equiv="Content-Security-Policy" content="{policy}; form-action \'none\'">\n',
            "<meta name='viewport' content='width=device-width, initial-scale=1'>\n",
            f"<title>AdaCoder arena</title>\n<style>{style}</style>\n</head>\n<body>\n<h1>AdaCoder arena</h1>\n",
            *(f"<p class='note'>{_text(note)}</p>\n" for note in notes),
            f"<p class='about'>{_text(_about(rows))}</p>\n",
            "".join(map(_table, (table for table in tables if table.lines))),
            _without_rows([table for table in tables if not table.lines]),
            "<section><h2>Cells</h2><form id='filters'></form><p id='count'></p><div id='cells'></div>",
            "<button id='more' type='button' hidden>More</button></section>\n",
            f"<script type='application/json' id='rows'>{_data(rows, journal)}</script>\n",
            f"<script type='application/json' id='by'>{json.dumps(FILTERS)}</script>\n",
            f"<script>{script}</script>\n</body>\n</html>\n",
        )
    )


def journal_of(row: Row, rows: Path) -> str | None:
    """Return the text of a row's journal without secrets, or None.

    Only files named `ROWS.journals/*.md` beside `rows` are read, because rows may come from strangers. Links are not
    followed.
    """
    folder = rows.parent / f"{rows.stem}.journals"
    name = (row.journal or "").removeprefix(f"{folder.name}/")
    path = folder / name
    if path.name != name or not name.endswith(".md") or row.journal != f"{folder.name}/{name}":
        return None
    try:
        is_link = Path(os.path.realpath(path)) != Path(os.path.realpath(rows.parent)) / folder.name / name
        if is_link or Access([rows.parent]).refusal(path) is not None:
            return None
        text = read_regular(path, most=_LARGEST_JOURNAL).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    text = text if len(text) <= _LONGEST_JOURNAL else f"{text[:_LONGEST_JOURNAL]}\n… (it goes on in {row.journal})"
    return without_secrets(text)


def _about(rows: Sequence[Row]) -> str:
    """Return a sentence about the rows: their number, their versions and their dates."""
    if not rows:
        return "There are no rows."
    kinds = (("task", lambda row: (row.dataset, row.task)), ("model", lambda row: row.model))
    counts = [counted(len(rows), "cell"), *(counted(len(set(map(of, rows))), name) for name, of in kinds)]
    strategies = len({row.strategy for row in rows})
    versions = ", ".join(sorted({f"AdaCoder {row.adacoder} on Python {row.python}" for row in rows}))
    days = sorted({row.at[:10] for row in rows if row.at})
    when = f", {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
    return f"{', '.join(counts)}, {strategies} {'strategy' if strategies == 1 else 'strategies'}. {versions}{when}."


def _without_rows(tables: Sequence[Table]) -> str:
    """Return a collapsed section with the names of the tables that have no rows."""
    if not tables:
        return ""
    notes = "".join(f"<p class='note'>{_text(note)}</p>" for table in tables for note in table.notes)
    name = f"<summary>{counted(len(tables), 'table')} without rows</summary>"
    return f"<section><details>{name}{notes}</details></section>\n"


def _table(table: Table) -> str:
    head = "".join(f"<th scope='col'>{_text(label)}</th>" for label in (table.corner, *table.columns))
    body = "".join(map(_line, table.lines))
    notes = "".join(f"<p class='note'>{_text(note)}</p>" for note in table.notes)
    grid = f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    name = f"<summary>{_text(table.name)}: {_text(table.title)}</summary>"
    return f"<section><details open>{name}{grid}{notes}</details></section>\n"


def _line(line: TableLine) -> str:
    cells = "".join(f"<td>{_text(cell.text)}{_interval(cell)}</td>" for cell in line.cells)
    return f"<tr><th scope='row'>{_text(line.label)}</th>{cells}</tr>"


def _interval(cell: TableCell) -> str:
    """Draw a share and its confidence interval as an SVG line from 0 to 1."""
    known = cell.estimate
    if known is None or known.low is None or known.high is None:
        return ""
    low, at, high = (f"{4 + 92 * value:.1f}" for value in (known.low, known.value, known.high))
    return (
        "<svg viewBox='0 0 100 8' aria-hidden='true'><line class='scale' x1='4' x2='96' y1='4' y2='4'/>"
        f"<line class='span' x1='{low}' x2='{high}' y1='4' y2='4'/><circle class='dot' cx='{at}' cy='4' r='3'/></svg>"
    )


def _text(text: str) -> str:
    return escape(visible(text), quote=True)


def _data(rows: Iterable[Row], journal: Callable[[Row], str | None]) -> str:
    """Return the cells as JSON for a script element. `<`, `>` and `&` are escaped."""
    cells = [
        {
            **asdict(row),
            "right": _word(row),
            "journal": journal(row),
            "reason": row.reason and without_secrets(row.reason),
            "candidate": row.candidate and without_secrets(row.candidate),
        }
        for row in rows
    ]
    return _in_a_script(json.dumps(_seen(cells), separators=(",", ":")))


def _word(row: Row) -> str:
    return "not judged" if row.right is None else "right" if row.right else "wrong"


def _seen(value: object) -> object:
    """Make hidden characters visible in all texts of `value`."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _seen(each) for key, each in value.items()}
    return [_seen(each) for each in value] if isinstance(value, list | tuple) else value


def _in_a_script(told: str) -> str:
    return told.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _own(name: str) -> str:
    """Read a file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
