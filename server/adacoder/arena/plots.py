"""Draw figures of the papers. Matplotlib is imported only while a figure is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from adacoder.arena.tables import Table
from adacoder.domain import AdaCoderError
from adacoder.visible import visible

if TYPE_CHECKING:
    from typing import TypeAlias

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import Container

    Drawn: TypeAlias = Artist | Container

_LONGEST_LABEL = 200
_WIDEST = 90
"""Maximum length of a line in a title, in characters."""
_COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#7f7f7f", "#000000")
"""Colours that colour-blind readers can distinguish (Okabe and Ito)."""
_MARKERS = "osD^vPX*"
_SPREAD = 0.5
"""Width of a group of points with the same x, as a share of the distance between two groups."""
_MOST_INTERVALS = 48
_ABREAST = 3
"""Number of circle pairs in a row."""


class PlotError(AdaCoderError):
    """A table cannot be drawn."""


def draw(table: Table, path: Path) -> None:
    """Draw a table as a figure and save it. The suffix of `path` sets the file format.

    Raises:
        PlotError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise PlotError("Plots need matplotlib: pip install 'adacoder[arena]'.") from None
    figure = Figure(figsize=(8, 5), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.set_prop_cycle(color=_COLORS)
    axes.spines[["top", "right"]].set_visible(False)
    _DRAWN[table.plot](table, axes)
    axes.set_title(fill(_label(f"{table.name}: {table.title}"), _WIDEST), fontsize="medium", parse_math=False)
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise PlotError(f"{path} cannot be written: {error.strerror}.") from error


def _lines(table: Table, axes: Axes) -> None:
    """Draw a line with confidence intervals for each model or strategy.

    Points with the same x are spread, so that their intervals do not overlap. If there are many points, only the last
    interval of each line is drawn.
    """
    drawn: list[tuple[Drawn, str]] = []
    lowest = 1.0
    is_crowded = len(table.columns) * len(table.lines) > _MOST_INTERVALS
    for number, line in enumerate(table.lines):
        beside = _SPREAD * (number - (len(table.lines) - 1) / 2) / max(len(table.lines), 1)
        known = [(x + beside, cell.estimate) for x, cell in enumerate(line.cells) if cell.estimate is not None]
        values = [100 * each.value for _, each in known]
        reach = [
            [100 * (each.value - (each.value if each.low is None else each.low)) for _, each in known],
            [100 * ((each.value if each.high is None else each.high) - each.value) for _, each in known],
        ]
        lowest = min([lowest, *(each.value if each.low is None else each.low for _, each in known)])
        marker = _MARKERS[number % len(_MARKERS)]
        every = (len(known) - 1, len(known)) if is_crowded else 1
        curve = axes.errorbar(
            [x for x, _ in known],
            values,
            reach,
            errorevery=every,
            marker=marker,
            markersize=5,
            linewidth=1.4,
            elinewidth=0.8,
            capsize=2,
        )
        drawn.append((curve, _label(line.label)))
    numbers = [column.removeprefix("t=") for column in table.columns]
    axes.set_xticks(range(len(numbers)), [_label(number) for number in numbers])
    axes.set_xlabel(table.across)
    axes.set_ylabel("pass@1 with its 95 % interval, %")
    axes.set_ylim(10 * math.floor(10 * lowest), 102)
    axes.grid(axis="y", alpha=0.3)
    _legend(axes, drawn)


def _bars(table: Table, axes: Axes) -> None:
    """Draw a group of bars for each column with figures in its cells."""
    columns = [x for x in range(len(table.columns)) if any(line.cells[x].estimate for line in table.lines)]
    width = 0.8 / max(len(table.lines), 1)
    drawn: list[tuple[Drawn, str]] = []
    for number, line in enumerate(table.lines):
        known = [
            (x + number * width, found.value)
            for x, at in enumerate(columns)
            if (found := line.cells[at].estimate) is not None
        ]
        bars = axes.bar([x for x, _ in known], [value for _, value in known], 0.92 * width)
        axes.bar_label(bars, fmt="{:,.0f}", fontsize="small", padding=2)
        drawn.append((bars, _label(line.label)))
    middle = 0.4 - width / 2
    axes.set_xticks([x + middle for x in range(len(columns))], [_label(table.columns[x]) for x in columns])
    axes.set_xlim(-0.6, max(len(columns), 1) - 0.4 + 2 * middle - 0.2)
    axes.set_ylabel("tokens a task")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    _legend(axes, drawn)


def _circles(table: Table, axes: Axes) -> None:
    """Draw two overlapping circles for each column of the table.

    The three areas show how many tasks only the first, both, or only the second solve. The number of tasks that neither
    solves is below the circles.
    """
    from matplotlib.patches import Circle

    drawn: list[tuple[Drawn, str]] = []
    for number, column in enumerate(table.columns):
        x, y = 4.0 * (number % _ABREAST), -4.2 * (number // _ABREAST)
        for center, color, line in ((x, _COLORS[0], 0), (x + 1.2, _COLORS[1], 2)):
            circle = axes.add_patch(Circle((center, y), 1, alpha=0.4, color=color))
            if number == 0:
                drawn.append((circle, _label(table.lines[line].label.removeprefix("only "))))
        counts = ["–" if (found := line.cells[number].estimate) is None else f"{found.value:g}" for line in table.lines]
        counts[3] = f"{table.lines[3].label}: {counts[3]}"
        for (left, up), count in zip(((-0.5, 0), (0.6, 0), (1.7, 0), (0.6, -1.3)), counts, strict=True):
            axes.text(x + left, y + up, count, ha="center", va="center")
        axes.text(x + 0.6, y + 1.25, fill(_label(column), 26), ha="center", parse_math=False)
    axes.set_xlim(-1.5, 4.0 * min(len(table.columns), _ABREAST) - 0.5)
    axes.set_ylim(-4.2 * ((len(table.columns) - 1) // _ABREAST) - 1.7, 2)
    axes.set_aspect("equal")
    axes.set_axis_off()
    _legend(axes, drawn)


_DRAWN = {"lines": _lines, "bars": _bars, "circles": _circles}


def _legend(axes: Axes, drawn: Sequence[tuple[Drawn, str]]) -> None:
    """Draw the legend below the axes."""
    # matplotlib ignores labels that begin with an underscore, so begin with an invisible character
    handles, labels = [each for each, _ in drawn], [f"\u200c{label}" for _, label in drawn]
    legend = axes.figure.legend(  # type: ignore[call-overload]  # matplotlib also accepts containers as handles
        handles, labels, fontsize="small", loc="outside lower center", ncols=2, frameon=False
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _label(text: str) -> str:
    """Return a name on one line. Hidden characters become visible, and long names are cut."""
    shown = " ".join(visible(text).split())
    return shown if len(shown) <= _LONGEST_LABEL else f"{shown[: _LONGEST_LABEL - 1]}…"
