"""The papers' figures. matplotlib runs a program to find fonts, so this is no unit test."""

from __future__ import annotations

from pathlib import Path

import pytest

from adacoder.arena.papers import SETS
from adacoder.arena.plots import draw
from adacoder.arena.rows import Row
from support.arena_rows import attempt, column


def _figures(model: str) -> list[Row]:
    attempts = (attempt(1), attempt(2, failure=None, right=True))
    names = ("adacoder", "mapcoder", "intervenor", "lpw", "semag")
    return [each for name in names for each in column(name, "++-+", model=model, attempts=attempts)]


@pytest.mark.parametrize("model", ["tame", "_a$x$y\n\\frac{<svg>"])
def test_every_figure_is_drawn_whatever_its_names(tmp_path: Path, model: str) -> None:
    pytest.importorskip("matplotlib")
    drawn = [
        found
        for specs in SETS.values()
        for spec in specs
        if (found := spec.table(_figures(model))).plot and found.lines
    ]
    assert {found.plot for found in drawn} == {"lines", "bars", "circles"}
    for found in drawn:
        path = tmp_path / "figure.svg"
        draw(found, path)
        assert path.read_text(encoding="utf-8").lstrip().startswith("<?xml")
