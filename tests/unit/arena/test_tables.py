"""Tables of handmade rows in every format."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from adacoder.arena.papers import OWN, SETS, tables
from adacoder.arena.rows import VERSION, Row, RowsReader
from adacoder.arena.tables import Table, as_csv, comparison, equal_tokens, markdown
from adacoder.domain import Tokens
from adacoder.report import inline
from adacoder.strategies import STRATEGIES
from support.arena_rows import attempt, column, designed, row

PAPERS = [spec for specs in SETS.values() if specs is not OWN for spec in specs]


def _named(name: str, rows: list[Row]) -> Table:
    return next(spec.table(rows) for spec in PAPERS if spec.name == name)


def _texts(table: Table) -> dict[str, list[str]]:
    return {line.label: [cell.text for cell in line.cells] for line in table.lines}


def test_the_papers_tables_are_all_there() -> None:
    names = [spec.name for spec in PAPERS]
    numerals = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI"]
    assert {f"AdaCoder, Table {each}" for each in numerals} <= set(names)
    assert {f"AdaCoder, Figure {each}" for each in (1, 2, 4, 6)} <= set(names)
    assert {f"AgentCoder, Table {each}" for each in range(1, 9)} <= set(names)
    assert {f"CodeTree, Table {each}" for each in (2, 3, 4)} | {"CodeTree, Figure 5"} <= set(names)
    assert {f"SEMAG, Table {each}" for each in range(1, 5)} | {"SEMAG, Figure 4"} <= set(names)
    assert len(names) == len(set(names))


def test_every_strategy_of_a_table_is_one() -> None:
    named = set()
    for spec in PAPERS:
        slices = [*(spec.columns if isinstance(spec.columns, tuple) else ())]
        slices += getattr(spec, "lines", ()) if isinstance(getattr(spec, "lines", ""), tuple) else ()
        for where in (spec.where, getattr(spec, "base", None) or {}, *(each.where for each in slices)):
            value = where.get("strategy", ())
            named |= {value} if isinstance(value, str) else set(value)
    assert named <= set(STRATEGIES)
    assert "mapcoder" in named


def test_table_i_compares_each_framework_with_direct() -> None:
    rows = [*column("direct", "++--"), *column("mapcoder", "+++-"), *column("agentcoder", "+---")]
    found = _named("AdaCoder, Table I", rows)
    assert found.columns == ("Direct", "AgentCoder", "MapCoder", "INTERVENOR", "Self-Collaboration")
    assert _texts(found) == {
        "ollama:small": [
            "50.00 (15.0–85.0)",
            "25.00 (4.6–69.9) ↓50.00%",
            "75.00 (30.1–95.4) ↑50.00%",
            "–",
            "–",
        ],
        "Δ Average": ["–", "↓50.00%", "↑50.00%", "–", "–"],
    }
    missing = "intervenor, self-collaboration on humaneval"
    made = "`adacoder arena humaneval --strategy intervenor,self-collaboration --model NAME` makes them."
    assert found.notes == (f"AdaCoder, Table I: rows are missing for {missing}; {made}",)


def test_tokens_are_compared_as_multiples() -> None:
    rows = [*column("direct", "+"), *column("mapcoder", "+", tokens=Tokens(400, 50))]
    assert _texts(_named("AdaCoder, Table II", rows))["ollama:small"][:3] == ["0.15K", "–", "0.45K ↑2.00×"]


def test_a_table_without_rows_says_what_is_missing() -> None:
    found = _named("AdaCoder, Table XI", column("direct", "+"))
    assert found.lines == ()
    assert "adacoder:no-planner" in found.notes[0]
    assert "`adacoder arena humaneval --strategy adacoder,adacoder:no-planner" in found.notes[0]


def test_the_command_for_missing_rows_names_one_file_of_tasks() -> None:
    (note,) = _named("AdaCoder, Table IX", column("mapcoder", "+")).notes
    assert "missing for direct, adacoder on humaneval, mbpp" in note
    assert "`adacoder arena TASKS --strategy direct,adacoder --model NAME`" in note


def test_a_table_whose_rows_do_not_tell_it_says_so() -> None:
    rows = [*column("agentcoder", "+"), *column("agentcoder", "+", dataset="mbpp")]
    rows += [*column("agentcoder:one-agent", "+"), *column("agentcoder:one-agent", "+", dataset="mbpp")]
    found = _named("AgentCoder, Table 7", rows)
    assert found.lines == ()
    lacking = "designed tests that were run on canonical solutions"
    assert found.notes == (f"AgentCoder, Table 7: the rows do not have {lacking}.",)


def test_designed_tests_are_told_by_their_accuracy_and_coverage() -> None:
    rows = [*column("agentcoder", "++", tests=designed(4, 3, 1.0, 0.5)), *column("agentcoder:one-agent", "+")]
    accuracy, coverage = ["75.00", "–"], ["50.00", "100.00", "–", "–"]
    assert _texts(_named("AgentCoder, Table 4", rows)) == {"AgentCoder": accuracy}
    assert _texts(_named("AgentCoder, Table 5", rows)) == {"AgentCoder": coverage}
    assert _texts(_named("AgentCoder, Table 7", rows)) == {"Multiple Agents": accuracy}
    assert _texts(_named("AgentCoder, Table 8", rows)) == {"Multiple Agents": coverage}
    assert _named("AgentCoder, Table 5", rows).columns[:2] == ("HumanEval, first five", "HumanEval, all")


def test_a_reader_is_warned_of_cells_that_are_not_of_the_same_tasks() -> None:
    alike = [*column("direct", "++"), *column("adacoder", "++")]
    others = [*column("direct", "++"), *column("adacoder", "+")]
    assert not [note for note in _named("AdaCoder, Table XI", alike).notes if "same tasks" in note]
    assert [note for note in tables(others, ["own"])[0].notes if "same tasks" in note]


def test_levels_are_counts_with_shares() -> None:
    rows = [row(task, strategy="semag", level=1 if task else 4) for task in range(4)]
    assert _texts(_named("SEMAG, Table 3", rows))["Level 1"][0] == "3 (75.00%)"


def test_figure_4_has_the_regions_of_two_circles() -> None:
    rows = [*column("mapcoder", "++--"), *column("intervenor", "+-+-")]
    found = _named("AdaCoder, Figure 4", rows)
    assert [(line.label, line.cells[0].estimate and line.cells[0].estimate.value) for line in found.lines] == [
        ("only planning", 1),
        ("both", 1),
        ("only non-planning", 1),
        ("neither", 1),
    ]


@pytest.mark.parametrize("is_reversed", [False, True])
def test_figure_4_is_a_mean_over_frameworks_in_any_order(is_reversed: bool) -> None:
    others = [column("agentcoder", "----"), column("intervenor", "++++")]
    rows = [*column("mapcoder", "++--"), *(each for words in others[:: -1 if is_reversed else 1] for each in words)]
    found = _named("AdaCoder, Figure 4", rows)
    assert [line.cells[0].estimate and line.cells[0].estimate.value for line in found.lines] == [1, 1, 1, 1]


def test_figures_1_and_2_are_by_repair_and_by_plan() -> None:
    """Six programs are written for each plan. Plan number i solves task number i with its first program."""
    rows = []
    for solved in range(5):
        attempts = tuple(
            attempt(6 * plan + repair + 1, branch=(f"plan {plan + 1}",), code=f"{plan}.{repair}")
            for plan in range(solved + 1)
            for repair in range(6)
        )
        last = replace(attempts[6 * solved], failure=None, right=True)
        rows.append(row(solved, strategy="mapcoder", attempts=(*attempts[: 6 * solved], last)))
    plans = [cell.estimate and cell.estimate.value for cell in _named("AdaCoder, Figure 2", rows).lines[0].cells]
    assert plans == [0.2, 0.4, 0.6, 0.8, 1.0]
    repairs = [cell.estimate and cell.estimate.value for cell in _named("AdaCoder, Figure 1", rows).lines[0].cells]
    assert repairs == [1.0] * 6
    older = [replace(each, attempts=tuple(replace(one, branch=()) for one in each.attempts)) for each in rows]
    assert _named("AdaCoder, Figure 2", older).lines == ()


def test_refinements_are_within_a_plan_and_not_of_adacoder() -> None:
    first, second = attempt(1, code="a", message="m", branch=("plan 1",)), attempt(2, code="b", message="n")
    for branch, strategy, count in (("plan 1", "mapcoder", 1), ("plan 2", "mapcoder", 0), ("plan 1", "adacoder", 0)):
        attempts = (first, replace(second, branch=(branch,)))
        found = _named("AdaCoder, Table IV", [row(0, right=False, strategy=strategy, attempts=attempts)])
        assert sum(line.cells[0].estimate.value for line in found.lines if line.cells[0].estimate) == count


def test_codetree_table_2_has_20_programs_for_all_and_a_mean() -> None:
    attempts = tuple(attempt(n, code=str(n)) for n in range(1, 30))
    right = replace(attempts[0], failure=None, right=True, code="right")
    rows = [
        row(0, strategy="mapcoder", dataset=dataset, attempts=(*attempts, right)) for dataset in ("humaneval", "mbpp")
    ]
    rows += [row(1, strategy="mapcoder", dataset="humaneval", attempts=(right,))]
    found = _named("CodeTree, Table 2", rows)
    cells = [cell.estimate and cell.estimate.value for cell in found.lines[0].cells]
    assert (found.columns[-1], cells) == ("Mean", [0.5, None, 0.0, None, None])
    assert any("--budget-programs 20" in note for note in found.notes)
    every = [replace(rows[2], dataset=each) for each in ("humaneval", "humaneval-plus", "mbpp", "mbpp-plus")]
    assert _texts(_named("CodeTree, Table 2", every))["ollama:small · mapcoder"][-1] == "100.00"


def test_a_table_can_have_a_setting_or_the_difficulty_as_its_axis() -> None:
    rows = [
        row(n, strategy="semag", right=n > 0, values=(("temperature", f"0.{n}"), ("max_iterations", "" if n else "1")))
        for n in range(2)
    ]
    assert _named("SEMAG, Figure 5", rows).columns == ("0.0", "0.1")
    passes = _named("SEMAG, Figure 6", rows)
    told = "SEMAG, Figure 6: rows are missing for max_iterations 2, 3, 4, 6, 7; "
    made = "`adacoder arena humaneval --strategy semag --model NAME --max-iterations T` makes them."
    assert f"{told}{made}" in passes.notes
    assert (passes.plot, passes.across) == ("lines", "passes over levels 3 and 4")
    known = [cell.estimate is not None for cell in passes.lines[0].cells]
    assert known == [True, False, False, False, True, False, False], "the default is 5"
    hard = [replace(each, dataset="livecodebench", difficulty="hard") for each in rows]
    assert _texts(_named("SEMAG, Figure 8", hard))["ollama:small · semag"][:2] == ["–", "–"]
    assert _named("SEMAG, Figure 8", hard).lines[0].cells[2].estimate is not None


def test_figure_6_has_a_point_for_each_t() -> None:
    attempts = (attempt(1), attempt(2, failure=None, right=True))
    found = _named("AdaCoder, Figure 6", [row(0, strategy="adacoder", attempts=attempts)])
    assert found.columns == ("t=0", "t=1", "t=2", "t=3", "t=4", "t=5")
    assert [cell.estimate and cell.estimate.value for cell in found.lines[0].cells] == [0, 1, 1, 1, 1, 1]


def test_the_comparison_is_paired_and_exact() -> None:
    rows = [*column("direct", "--------++"), *column("adacoder", "++++++++++")]
    found = comparison(rows, {"strategy": "direct"})
    assert _texts(found) == {"humaneval · ollama:small · adacoder": ["10", "2", "8", "0", "0", "0.00781"]}
    assert comparison(column("adacoder", "+"), {"strategy": "direct"}).lines == ()


def test_strategies_are_compared_with_resample_at_equal_tokens() -> None:
    first, second = (attempt(n, code=str(n), written=100 * n) for n in (1, 2))
    passed = replace(second, failure=None, right=True)
    costly = column("resample", "++--", attempts=(first, passed), tokens=Tokens(0, 200))
    rows = [*column("auto", "+++-", tokens=Tokens(0, 90)), *column("semag", "+---", tokens=Tokens(0, 101)), *costly]
    found = equal_tokens(rows, {"strategy": "resample"})
    assert _texts(found) == {
        "humaneval · ollama:small · auto": ["4", "75.00", "0.00", "0.09K", "0.10K", "3", "0", "0.25"],
        "humaneval · ollama:small · semag": ["4", "25.00", "50.00", "0.10K", "0.20K", "0", "1", "1"],
    }
    assert "no rows that share tasks" in equal_tokens(rows[:4], {"strategy": "resample"}).notes[0]
    old = [replace(each, attempts=tuple(replace(one, written=None) for one in each.attempts)) for each in rows]
    without = equal_tokens(old, {"strategy": "resample"})
    assert not without.lines
    assert "auto" in without.notes[0]
    assert "Run resample again" in without.notes[0]


@pytest.mark.parametrize("name", SETS)
def test_every_set_prints_in_every_form(name: str) -> None:
    for rows in ([], column("direct", "+-?"), [*column("direct", "+-"), *column("adacoder", "++")]):
        found = tables(rows, [name], ks=(1, 2))
        assert all(each.lines or each.notes for each in found)
        assert all(inline(each.name) in markdown(each) for each in found)
        assert next(csv.reader(io.StringIO(as_csv(found))))[0] == "table"


HOSTILE = "=cmd|' /C calc'!A0 | <img src=x onerror=alert(1)>\n# [a](javascript:b) \x1b[2J"


def test_names_mean_nothing_in_markdown_and_to_spreadsheets() -> None:
    found = tables([*column("direct", "+", model=HOSTILE), *column("adacoder", "+", model=HOSTILE)], ["adacoder"])[0]
    text = markdown(found)
    line = next(each for each in text.splitlines() if "calc" in each)
    other = markdown(_named("AdaCoder, Table I", column("direct", "+")))
    plain = next(each for each in other.splitlines() if "small" in each)
    assert line.replace("\\|", "").count("|") == plain.count("|")
    assert "<img" not in text.replace("\\<", "")
    assert "\x1b" not in text
    cells = list(csv.reader(io.StringIO(as_csv([found]))))
    assert cells[1][1] == f"'{HOSTILE}"
    assert not [each for each in cells if each[1].startswith("=")]


def test_rows_of_a_newer_version_are_told_of(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    newer = row(1).line().replace(f'"version":{VERSION}', f'"version":{VERSION + 1}', 1)
    file.write_text(row(0).line() + newer, encoding="utf-8")
    reading = RowsReader()
    assert [each.task for each in reading.rows(file)] == ["T/0"]
    assert reading.troubles == (
        f"A row has version {VERSION + 1}, this AdaCoder reads up to {VERSION}: update it to read that row.",
    )


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda n: row(model=f"m{n}"), id="models"),
        pytest.param(lambda n: row(n, strategy=f"s{n}"), id="strategies"),
        pytest.param(lambda n: row(dataset=f"d{n}", model=f"m{n}"), id="datasets"),
        pytest.param(lambda n: row(checksum=f"c{n}", settings=f"s{n}"), id="checksums"),
        pytest.param(lambda n: row(sample=n), id="samples"),
    ],
)
def test_tables_take_time_that_grows_as_their_rows_do(make: Callable[[int], Row]) -> None:
    def seconds(count: int) -> float:
        rows = [
            changed for n in range(count) for each in [make(n)] for changed in (each, replace(each, strategy="direct"))
        ]
        began = time.thread_time()
        tables(rows, ["own", "adacoder"])
        return time.thread_time() - began

    # Four times as many rows may take four times as long. A quadratic algorithm takes 16 times. A busy machine may need
    # a second try.
    assert any(seconds(800) < 9 * seconds(200) for _ in range(3))


@pytest.mark.parametrize("name", ["=1+1", " =1+1", "\n=1+1", "\t@a", "\uff1d1", "-1", "x\r=1+1"])
def test_a_spreadsheet_is_shown_no_formula(name: str) -> None:
    cells = list(csv.reader(io.StringIO(as_csv(tables([row(model=name)], ["own"])))))
    assert any(name.replace("\r", "\\r") in each[1] for each in cells[1:])
    assert not [each for each in cells[1:] if each[1].lstrip()[:1] in "=+-@\uff1d"]
