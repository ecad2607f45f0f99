"""Build tables from rows. The definitions of the tables are in `papers`.

A `Grid` defines a table of figures, and a `Tally` defines a table of counts by kind. Both produce a `Table`. A table
without rows has notes that name the missing rows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from itertools import chain
from statistics import fmean
from typing import TypeAlias

from adacoder.arena.compare import Pairs, at_equal_tokens, change, first_samples, paired
from adacoder.arena.measures import (
    Counting,
    Estimate,
    FigureFormat,
    Measure,
    Task,
    completion_tokens,
    counts,
    pass_at_1,
    task_of,
)
from adacoder.arena.rows import Row
from adacoder.report import inline

Where: TypeAlias = Mapping[str, str | tuple[str, ...]]
"""Required values of a row's members and settings. A tuple means that any of its values is accepted."""

_COLUMN = ("dataset", "model", "strategy")
_INDEXED = (*_COLUMN, "difficulty", "temperature", "max_iterations")
"""Members and settings by which tables select rows."""

NOTHING = "–"
"""Text of a cell without data."""


_WRITTEN: Mapping[FigureFormat, Callable[[float], str]] = {
    FigureFormat.PERCENT: lambda value: f"{100 * value:.2f}",
    FigureFormat.TOKENS: lambda value: f"{value / 1000:.2f}K",
    FigureFormat.SECONDS: lambda value: f"{value:.2f}s",
    FigureFormat.NUMBER: lambda value: f"{value:.2f}",
    FigureFormat.COUNT: lambda value: f"{value:,.0f}",
    FigureFormat.CHANCE: lambda value: f"{value:.3g}",
}


class Relative(StrEnum):
    """Way to compare a figure with its base."""

    CHANGE = "change"
    """Change in percent. The papers show pass@1 in this way."""
    MULTIPLE = "multiple"
    """Increase as a multiple of the base: three times as many tokens are ↑2×. The AdaCoder paper shows tokens in this
    way."""


@dataclass(frozen=True)
class Slice:
    """A line or column of a table: the rows that it selects, and the measure of these rows."""

    label: str
    where: Where = field(default_factory=dict)
    measure: Measure | None = None
    counting: Counting | None = None


Axis: TypeAlias = tuple[Slice, ...] | str
"""Lines or columns of a table. A text such as `model,strategy` names members of a row. Each combination of values
becomes a line or column."""


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell's text, and the numbers that the text shows."""

    text: str = NOTHING
    estimate: Estimate | None = None
    relative: float | None = None
    """Relative change against the base."""


@dataclass(frozen=True, slots=True)
class TableLine:
    """A line of a table."""

    label: str
    cells: tuple[TableCell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A finished table. A table without lines has notes that name the missing rows."""

    name: str
    title: str
    corner: str
    columns: tuple[str, ...]
    lines: tuple[TableLine, ...]
    notes: tuple[str, ...] = ()
    plot: str = ""
    """`lines`, `bars` or `circles` if the table can be drawn as a figure."""
    across: str = ""
    """Label of the figure's horizontal axis."""


@dataclass(frozen=True)
class _Spec:
    name: str
    """Name, such as `AdaCoder, Table I`."""
    title: str
    columns: Axis
    where: Where = field(default_factory=dict)
    """Required values of all rows in the table."""
    plot: str = ""
    across: str = ""
    remark: str = ""
    """Note about differences from the table in the paper."""
    options: str = ""
    """Command-line options that produce the rows."""


class _Sorted:
    """An index of rows by their members, so that a cell of a table need not scan all rows."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._groups: dict[tuple[str, ...], list[Row]] = {}
        """Rows by their values of the members in `_INDEXED`."""
        self._having: dict[tuple[str, str], list[tuple[str, ...]]] = {}
        """Keys in `_groups`, by a member or setting and its value."""
        self._measured: dict[tuple[object, ...], Estimate | None] = {}
        for row in rows:
            key = tuple(map(row.value, _INDEXED))
            if key not in self._groups:
                self._groups[key] = []
                for named in zip(_INDEXED, key, strict=True):
                    self._having.setdefault(named, []).append(key)
            self._groups[key].append(row)

    def matching(self, where: Where) -> list[Row]:
        """Return the rows with the values in `where`."""
        return [row for group in self._found(where) for row in group]

    def measured(self, measure: Measure, where: Where) -> Estimate | None:
        """Return a measure of the rows with the values in `where`.

        Results are cached, because many cells are compared with the same base.
        """
        asked = (measure, *where.items())
        if asked not in self._measured:
            self._measured[asked] = measure(self.matching(where))
        return self._measured[asked]

    def has(self, where: Where) -> bool:
        """Return whether any row has the values in `where`."""
        return any(self._found(where))

    def _found(self, where: Where) -> Iterator[list[Row]]:
        by_member = [
            [self._having.get((member, value), ()) for value in dict.fromkeys(_values(wanted))]
            for member, wanted in where.items()
        ]
        fewest = min(by_member, key=lambda keys: sum(map(len, keys)), default=(self._groups,))
        for key in chain.from_iterable(fewest):
            if _has(self._groups[key][0], where):
                yield self._groups[key]


@dataclass(frozen=True)
class Grid(_Spec):
    """A table with a figure in each cell."""

    lines: Axis = "model"
    corner: str = "Models"
    measure: Measure | None = None
    base: Where | None = None
    """Values that select the rows to compare a cell with. These values replace the cell's own values."""
    relative: Relative = Relative.CHANGE
    average: bool = False
    """True to add a last line with the mean change of each column."""
    mean: bool = False
    """True to add a last column with the mean of each line that has no empty cells."""

    @property
    def needs(self) -> str:
        """Data that the table's measures need and that some rows lack; empty if none."""
        slices = (each for axis in (self.columns, self.lines) if not isinstance(axis, str) for each in axis)
        found = (self.measure, *(each.measure for each in slices))
        return next((measure.needs for measure in found if measure is not None and measure.needs), "")

    def table(self, rows: Sequence[Row]) -> Table:
        """Return the table for `rows`."""
        used = _Sorted(_Sorted(rows).matching(self.where))
        every = used.matching({})
        columns, wanted = _slices(self.columns, every), _slices(self.lines, every)
        lines = [(each, [self._cell(used, each, column) for column in columns]) for each in wanted]
        shown = [TableLine(each.label, tuple(cells)) for each, cells in lines if any(cell.estimate for cell in cells)]
        if shown and self.average and self.base is not None:
            shown.append(_averages(shown, self.relative))
        found = _table(self, used, columns, wanted, shown)
        if not self.mean or not shown or self.measure is None:
            return found
        form = self.measure.form
        lines_with_mean = (replace(each, cells=(*each.cells, _mean(each.cells, form))) for each in shown)
        return replace(found, columns=(*found.columns, "Mean"), lines=tuple(lines_with_mean))

    def _cell(self, rows: _Sorted, line: Slice, column: Slice) -> TableCell:
        measure = column.measure or line.measure or self.measure
        where = {**line.where, **column.where}
        mine = rows.matching(where)
        estimate = measure(mine) if measure else None
        if estimate is None or measure is None:
            return TableCell()
        relative = None
        if self.base is not None and not all(_has(row, self.base) for row in mine):
            base = rows.measured(measure, {**where, **self.base})
            relative = None if base is None else change(estimate.value, base.value)
        return TableCell(_written(estimate, measure.form, relative, self.relative), estimate, relative)


@dataclass(frozen=True)
class Tally(_Spec):
    """A table of counts by kind. A cell shows a count, and the share of this count in the column."""

    counting: Counting | None = None
    kinds: tuple[str, ...] = ()
    """Kinds to list first, in this order."""
    corner: str = "Kind"
    needs: str = ""
    """Description of the data that rows need. A note in an empty table shows this description."""

    def table(self, rows: Sequence[Row]) -> Table:
        """Return the table for `rows`."""
        used = _Sorted(_Sorted(rows).matching(self.where))
        columns = _slices(self.columns, used.matching({}))
        found = [
            counting(used.matching(column.where))
            for column in columns
            if (counting := column.counting or self.counting)
        ]
        kinds = dict.fromkeys((*self.kinds, *sorted({kind for each in found for kind in each})))
        totals = [sum(each.values()) for each in found]
        lines = [
            TableLine(kind, tuple(_counted(each.get(kind, 0), of) for each, of in zip(found, totals, strict=True)))
            for kind in kinds
        ]
        return _table(self, used, columns, (), lines if any(totals) else [])


def _counted(count: float, of: float) -> TableCell:
    told = f"{count:,.0f}" if count == int(count) else f"{count:,.1f}"
    return TableCell(f"{told} ({100 * count / of:.2f}%)", Estimate(count, round(of))) if of else TableCell()


def _mean(cells: Sequence[TableCell], form: FigureFormat) -> TableCell:
    known = [cell.estimate for cell in cells if cell.estimate is not None]
    if len(known) < len(cells):
        return TableCell()
    estimate = Estimate(fmean(each.value for each in known), sum(each.of for each in known))
    return TableCell(_written(estimate, form, None, Relative.CHANGE), estimate)


def comparison(rows: Sequence[Row], base: Where) -> Table:
    """Compare each model and strategy with the base on the same tasks (McNemar's exact test)."""
    lines = []
    used = _Sorted(rows)
    words = cache(lambda *where: first_samples(used.matching(dict(where))))
    for each in _slices(",".join(_COLUMN), rows):
        mine = used.matching(each.where)
        if all(_has(row, base) for row in mine):
            continue
        pairs = paired(first_samples(mine), words(*{**each.where, **base}.items()))
        if pairs.of:
            figures = (pairs.of, pairs.both, pairs.only_first, pairs.only_second, pairs.neither)
            cells = (_counted_tasks(count, pairs.of) for count in figures)
            lines.append(TableLine(each.label, (*cells, _chance(pairs))))
    told = _told(base)
    columns = ("tasks", "both right", "only this", f"only {told}", "neither", "p")
    if lines:
        note = "p: how likely chance makes a difference as large (McNemar, exact, two-sided), each line by itself."
    else:
        note = f"Comparison: there are no rows that share tasks with {told}."
    return Table("Comparison", f"On the same tasks against {told}", "Column", columns, tuple(lines), (note,))


def equal_tokens(rows: Sequence[Row], base: Where) -> Table:
    """Compare each model and strategy with the base at equal cost, on the same tasks.

    Only the first programs of the base count (see `at_equal_tokens`).
    """
    lines, lacking = [], []
    used = _Sorted(rows)
    told = _told(base)
    for each in _slices(",".join(_COLUMN), rows):
        mine = first_samples(row for row in used.matching(each.where) if not _has(row, base))
        theirs = first_samples(used.matching({**each.where, **base}))
        common = mine.keys() & theirs.keys()
        mine, theirs = ({task: which[task] for task in common} for which in (mine, theirs))
        if not common:
            continue
        cut = at_equal_tokens(mine, theirs)
        if cut is None:
            lacking.append(each.label)
        else:
            lines.append(TableLine(each.label, tuple(_side_by_side(mine, cut))))
    columns = ("tasks", *(f"{figure}{of}" for figure in ("right, %", "written") for of in ("", f" by {told}")))
    columns += ("only this", f"only {told}", "p")
    notes = []
    if lines:
        notes.append(f"Each task gets the same number of programs by {told}, or all of them if they cost less.")
    elif not lacking:
        notes.append(f"Equal tokens: there are no rows that share tasks with {told}.")
    if lacking:
        missing = f"the rows of {told} lack the tokens or the verdict of a program"
        notes.append(f"Equal tokens: left out are {', '.join(lacking)}, because {missing}. Run {told} again.")
    title = f"Against the programs by {told} for the same tokens"
    return Table("Equal tokens", title, "Column", columns, tuple(lines), tuple(notes))


def _side_by_side(mine: Mapping[Task, Row], theirs: Mapping[Task, Row]) -> Iterator[TableCell]:
    pairs = paired(mine, theirs)
    yield _counted_tasks(pairs.of, pairs.of)
    for measure in (pass_at_1, completion_tokens):
        for rows in (mine, theirs):
            estimate = measure([*rows.values()])
            yield TableCell() if estimate is None else TableCell(_WRITTEN[measure.form](estimate.value), estimate)
    yield from (_counted_tasks(count, pairs.of) for count in (pairs.only_first, pairs.only_second))
    yield _chance(pairs)


def _counted_tasks(count: int, of: int) -> TableCell:
    return TableCell(f"{count:,}", Estimate(count, of))


def _chance(pairs: Pairs) -> TableCell:
    return TableCell(_WRITTEN[FigureFormat.CHANCE](pairs.p), Estimate(pairs.p, pairs.of))


def _table(
    spec: Grid | Tally, used: _Sorted, columns: Sequence[Slice], lines: Sequence[Slice], shown: Sequence[TableLine]
) -> Table:
    labels = tuple(column.label for column in columns)
    base = spec.base if isinstance(spec, Grid) and spec.base else {}
    needed = [spec.where, {**spec.where, **base}, *({**spec.where, **each.where} for each in (*columns, *lines))]
    absent = _absent(used, needed, spec.options)
    notes = [spec.remark] if spec.remark and shown else []
    if absent:
        notes.append(f"{spec.name}: rows are missing for {absent}")
    elif not shown:
        lacking = f"the rows do not have {spec.needs or 'its measures'}"
        notes.append(f"{spec.name}: {lacking if used.has({}) else 'there are no rows'}.")
    if shown:
        notes += _doubts(used.matching({}))
    return Table(spec.name, spec.title, spec.corner, labels, tuple(shown), tuple(notes), spec.plot, spec.across)


def _absent(rows: _Sorted, wheres: Iterable[Where], options: str) -> str:
    """Return a text that names the strategies and datasets without rows, and the command that produces these rows.

    If all of them have rows, the text names other missing values. The text is empty if nothing is missing.
    """
    missing: dict[str, dict[str, None]] = {"strategy": {}, "dataset": {}}
    further: dict[str, dict[str, None]] = {}
    known: dict[str, dict[str, None]] = {"strategy": {}, "dataset": {}}
    for where in wheres:
        if not where or rows.has(where):
            continue
        common = {member: where[member] for member in missing if member in where}
        found, members = (known, where.keys() - common) if rows.has(common) else (missing, ())
        for member, value in common.items():
            found[member].update(dict.fromkeys(_values(value)))
        for member in sorted(members):
            further.setdefault(member, {}).update(dict.fromkeys(filter(None, _values(where[member]))))
    named = missing if any(missing.values()) else known
    strategies, datasets = named["strategy"], named["dataset"]
    told = " on ".join(", ".join(names) for names in (missing["strategy"], missing["dataset"]) if names)
    told = told or "; ".join(f"{member} {', '.join(values)}" for member, values in further.items())
    if not told:
        return ""
    tasks = next(iter(datasets)) if len(datasets) == 1 else "TASKS"
    made = f"adacoder arena {tasks} --strategy {','.join(strategies) or 'NAME'} --model NAME {options}".rstrip()
    return f"{told}; `{made}` makes them."


def _doubts(rows: Sequence[Row]) -> Iterator[str]:
    """Yield warnings about differences between rows that make cells hard to compare."""
    tasks: dict[str, dict[tuple[str, str], set[str]]] = {}
    settings: dict[tuple[str, str], set[str]] = {}
    left_out = 0
    for row in rows:
        column = (row.model, row.strategy)
        settings.setdefault(column, set()).add(row.settings)
        if counts(row):
            tasks.setdefault(row.dataset, {}).setdefault(column, set()).add(task_of(row)[2])
        else:
            left_out += 1
    for dataset, columns in tasks.items():
        sizes = sorted({len(each) for each in columns.values()})
        if len({frozenset(each) for each in columns.values()}) > 1:
            spread = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else f"{sizes[0]} each, but not the same"
            yield f"Not all cells are of the same tasks of {dataset}: they have {spread}. Compare them with care."
    if any(len(each) > 1 for each in settings.values()):
        yield "Rows of several settings are counted together."
    if left_out:
        yield f"{left_out:,} cells are left out: a server failed, they were cancelled, or not judged."


def _averages(lines: Sequence[TableLine], how: Relative) -> TableLine:
    cells = []
    for column in zip(*(line.cells for line in lines), strict=True):
        known = [cell.relative for cell in column if cell.relative is not None]
        cells.append(TableCell(_compared(fmean(known), how), None, fmean(known)) if known else TableCell())
    return TableLine("Δ Average", tuple(cells))


def _written(estimate: Estimate, form: FigureFormat, relative: float | None, how: Relative) -> str:
    text = _WRITTEN[form](estimate.value)
    if estimate.low is not None and estimate.high is not None:
        text += f" ({100 * estimate.low:.1f}–{100 * estimate.high:.1f})"
    return text if relative is None else f"{text} {_compared(relative, how)}"


def _compared(relative: float, how: Relative) -> str:
    arrow = "↑" if relative >= 0 else "↓"
    return arrow + (f"{abs(relative):.2f}×" if how is Relative.MULTIPLE else f"{abs(relative):.2%}")


def _slices(axis: Axis, rows: Sequence[Row]) -> tuple[Slice, ...]:
    if not isinstance(axis, str):
        return axis
    members = axis.split(",")
    found = sorted({tuple(map(row.value, members)) for row in rows})
    return tuple(Slice(" · ".join(values), dict(zip(members, values, strict=True))) for values in found)


def _has(row: Row, where: Where) -> bool:
    return all(row.value(member) in _values(wanted) for member, wanted in where.items())


def _values(wanted: str | tuple[str, ...]) -> tuple[str, ...]:
    return (wanted,) if isinstance(wanted, str) else wanted


def _told(where: Where) -> str:
    return ", ".join("/".join(_values(value)) for value in where.values())


def markdown(table: Table) -> str:
    """Return the table in Markdown, with names escaped."""
    parts = [f"### {inline(table.name)}", inline(table.title)]
    if table.lines:
        head = (table.corner, *table.columns)
        marks = ("---", *("---:" for _ in table.columns))
        body = [(line.label, *(cell.text for cell in line.cells)) for line in table.lines]
        lines = [tuple(map(inline, head)), marks, *(tuple(map(inline, each)) for each in body)]
        parts.append("\n".join(f"| {' | '.join(each)} |" for each in lines))
    if table.notes:
        parts.append("\n".join(f"* {inline(note)}" for note in table.notes))
    return "\n\n".join(parts) + "\n"


_FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that can begin a spreadsheet formula, in ASCII and in full width."""
CSV_COLUMNS = ("table", "line", "column", "value", "low", "high", "of", "relative")
"""Columns of the CSV file. `value` is a plain number: a share from 0 to 1, tokens or seconds.

In the column `relative`, 0.5 means 50 % more."""


def as_csv(tables: Iterable[Table]) -> str:
    """Return the cells of all tables as CSV, one cell per line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for table in tables:
        for line in table.lines:
            for column, cell in zip(table.columns, line.cells, strict=True):
                known = cell.estimate
                figures = (None,) * 4 if known is None else (known.value, known.low, known.high, known.of)
                writer.writerow(
                    [*map(_harmless, (table.name, line.label, column)), *map(_number, (*figures, cell.relative))]
                )
    return out.getvalue()


def _harmless(text: str) -> str:
    """Escape a text so that no spreadsheet reads the text as a formula or a new line.

    Leading whitespace is also escaped, because some spreadsheets drop it.
    """
    text = text.replace("\r", r"\r")  # the CSV writer does not quote a carriage return
    return f"'{text}" if text.lstrip().startswith(_FORMULAS) or text[:1].isspace() else text


def _number(value: float | None) -> str:
    return "" if value is None else repr(value)
