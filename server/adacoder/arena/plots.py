"""The tables that stand for a paper's figure, drawn with matplotlib, which is imported only here and only then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.arena.tables import Table
from adacoder.domain import AdaCoderError
from adacoder.visible import visible

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

FORMATS = ("svg", "png", "pdf")
"""Kinds of files that plots are written as."""
_LONGEST_LABEL = 60


class PlotError(AdaCoderError):
    """Nothing can be drawn."""


def draw(table: Table, path: Path) -> None:
    """Draw a table that stands for a figure into a file, whose name says its kind.

    Raises:
        PlotError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise PlotError("Plots need matplotlib: pip install 'adacoder[arena]'.") from None
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    _DRAWN[table.plot](table, axes)
    axes.set_title(_label(f"{table.name}: {table.title}"), fontsize="medium", wrap=True, parse_math=False)
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise PlotError(f"{path} cannot be written: {error.strerror}.") from error


def _lines(table: Table, axes: Axes) -> None:
    """A line a model or strategy, with its interval as a band."""
    at = range(len(table.columns))
    drawn = []
    for line in table.lines:
        known = [(x, cell.estimate) for x, cell in zip(at, line.cells, strict=True) if cell.estimate is not None]
        (curve,) = axes.plot([x for x, _ in known], [100 * each.value for _, each in known], marker="o", markersize=3)
        low = [100 * (each.value if each.low is None else each.low) for _, each in known]
        high = [100 * (each.value if each.high is None else each.high) for _, each in known]
        axes.fill_between([x for x, _ in known], low, high, alpha=0.12, color=curve.get_color())
        drawn.append((curve, _label(line.label)))
    axes.set_xticks(list(at), list(table.columns))
    axes.set_ylabel("pass@1, %")
    axes.set_ylim(0, 100)
    _legend(axes, drawn)


def _bars(table: Table, axes: Axes) -> None:
    """A group of bars a column."""
    width = 0.8 / max(len(table.lines), 1)
    drawn = []
    for number, line in enumerate(table.lines):
        values = [0.0 if cell.estimate is None else cell.estimate.value for cell in line.cells]
        bars = axes.bar([x + number * width for x in range(len(values))], values, width)
        drawn.append((bars, _label(line.label)))
    middle = 0.4 - width / 2
    axes.set_xticks([x + middle for x in range(len(table.columns))], list(table.columns))
    axes.set_ylabel("tokens a task")
    _legend(axes, drawn)


def _circles(table: Table, axes: Axes) -> None:
    """Two circles a column: only the first, both, only the second; and what neither has below."""
    from matplotlib.patches import Circle

    for number, column in enumerate(table.columns):
        x = 4.0 * number
        for center, color in ((x, "tab:blue"), (x + 1.2, "tab:orange")):
            axes.add_patch(Circle((center, 0), 1, alpha=0.35, color=color))
        counts = [line.cells[number].estimate for line in table.lines]
        places = ((x - 0.5, 0.0), (x + 0.6, 0.0), (x + 1.7, 0.0), (x + 0.6, -1.4))
        for (left, up), estimate in zip(places, counts, strict=False):
            axes.text(left, up, "–" if estimate is None else f"{estimate.value:g}", ha="center", va="center")
        axes.text(x + 0.6, 1.3, _label(column), ha="center", parse_math=False)
    axes.set_xlabel(" | ".join(line.label for line in table.lines))
    axes.set_xlim(-1.5, 4.0 * max(len(table.columns), 1) - 0.5)
    axes.set_ylim(-2, 2)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])


_DRAWN = {"lines": _lines, "bars": _bars, "circles": _circles}


def _legend(axes: Axes, drawn: Sequence[tuple[Artist | tuple[Artist, ...], str]]) -> None:
    # Of a label that begins with an underscore matplotlib would say nothing; the joiner before it is not seen.
    legend = axes.legend([each for each, _ in drawn], [f"\u200c{label}" for _, label in drawn], fontsize="small")
    for text in legend.get_texts():
        text.set_parse_math(False)


def _label(text: str) -> str:
    """A name as it stands: no line of its own, no mathematics, and not too long."""
    shown = " ".join(visible(text).split())
    return shown if len(shown) <= _LONGEST_LABEL else f"{shown[: _LONGEST_LABEL - 1]}…"
