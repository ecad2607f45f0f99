"""Definitions of the tables and figures in four papers, and of AdaCoder's own tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from adacoder.arena import measures
from adacoder.arena.compare import overlap
from adacoder.arena.measures import Measure, by_plan, by_program, by_round
from adacoder.arena.rows import Row
from adacoder.arena.tables import Grid, Relative, Slice, Table, Tally, Where, comparison, equal_tokens

HUMANEVAL, MBPP = "humaneval", "mbpp"
_BOTH = {"HumanEval": HUMANEVAL, "MBPP": MBPP}
_WITH_ET = {"HumanEval": HUMANEVAL, "HumanEval-ET": "humaneval-et", "MBPP": MBPP, "MBPP-ET": "mbpp-et"}
_WITH_PLUS = {"HumanEval": HUMANEVAL, "HumanEval+": "humaneval-plus", "MBPP": MBPP, "MBPP+": "mbpp-plus"}
DIRECT, RESAMPLE = {"strategy": "direct"}, {"strategy": "resample"}
MOST_ROUNDS = 5
"""Largest number of rounds (t) in the papers."""
MOST_PROGRAMS = 20
"""CodeTree's maximum number of programs."""


def _on(datasets: Mapping[str, str]) -> tuple[Slice, ...]:
    return tuple(Slice(name, {"dataset": dataset}) for name, dataset in datasets.items())


def _by(strategies: Mapping[str, str]) -> tuple[Slice, ...]:
    return tuple(Slice(name, {"strategy": strategy}) for name, strategy in strategies.items())


def _by_and_on(strategies: Mapping[str, str], datasets: Mapping[str, str]) -> tuple[Slice, ...]:
    return tuple(
        Slice(f"{name} · {where}", {"strategy": strategy, "dataset": dataset})
        for name, strategy in strategies.items()
        for where, dataset in datasets.items()
    )


_FRAMEWORKS = {
    "Direct": "direct",
    "AgentCoder": "agentcoder",
    "MapCoder": "mapcoder",
    "INTERVENOR": "intervenor",
    "Self-Collaboration": "self-collaboration",
}
_ADACODER = {"Direct": "direct", "AdaCoder": "adacoder"}
_ABLATION = {
    "AdaCoder": "adacoder",
    "w/o Prompt": "adacoder:no-planner",
    "w/o Debug": "adacoder:no-debugger",
    "w/o Prompt & Debug": "adacoder:neither",
}
_ROUNDS = tuple(Slice(f"t={most}", measure=by_round(most)) for most in range(MOST_ROUNDS + 1))
_PLANS = tuple(Slice(f"t={most}", measure=by_plan(most)) for most in range(1, MOST_ROUNDS + 1))
_PROGRAMS = tuple(Slice(str(most), measure=by_program(most)) for most in range(1, MOST_PROGRAMS + 1))
_PREFIX = "Each point is the result of the first rounds of one run; it is not a separate run."


_FIGURES = {measures.pass_at_1: "pass@1", measures.tokens: "Tokens a task", measures.seconds: "Seconds a task"}


def _against_direct(number: str, measure: Measure, on: str = "") -> Grid:
    """Define a table of all frameworks on one dataset, or of AdaCoder on both datasets.

    `on` is the name of the one dataset; empty for the table of AdaCoder.
    """
    is_share = measure is measures.pass_at_1
    how = "change against direct" if is_share else "multiple of increase"
    which = f"multi-agent frameworks on {on}" if on else "AdaCoder"
    return Grid(
        f"AdaCoder, Table {number}",
        f"{_FIGURES[measure]} of {which}, with the {how}",
        _by(_FRAMEWORKS) if on else _by_and_on(_ADACODER, _BOTH),
        {"dataset": _BOTH[on]} if on else {},
        measure=measure,
        base=DIRECT,
        relative=Relative.CHANGE if is_share else Relative.MULTIPLE,
        average=True,
    )


def _curve(name: str, title: str, columns: tuple[Slice, ...], where: Where, lines: str = "model") -> Grid:
    across = "programs" if columns is _PROGRAMS else "plans, t" if columns is _PLANS else "rounds of refinement, t"
    return Grid(name, title, columns, where, plot="lines", across=across, remark=_PREFIX, lines=lines)


PLANNING, NOT_PLANNING = "Planning", "Non-planning"


def _regions(rows: Sequence[Row]) -> Mapping[str, float]:
    """Return how many tasks only planning frameworks, only other frameworks, both, or neither of them solve.

    The counts are means over the other frameworks and the samples.
    """
    pairs: dict[tuple[str, int], dict[str, list[Row]]] = {}
    planned: dict[int, list[Row]] = {}
    for row in rows:
        if row.strategy == "mapcoder":
            planned.setdefault(row.sample, []).append(row)
        else:
            pairs.setdefault((row.strategy, row.sample), {}).setdefault(NOT_PLANNING, []).append(row)
    counted = [overlap({PLANNING: planned.get(sample, []), **each}) for (_, sample), each in pairs.items()]
    known = [each for each in counted if each]
    return {name: fmean(each[solved] for each in known) for solved, name in _REGIONS.items()} if known else {}


_REGIONS = {
    frozenset({PLANNING}): "only planning",
    frozenset({PLANNING, NOT_PLANNING}): "both",
    frozenset({NOT_PLANNING}): "only non-planning",
    frozenset[str](): "neither",
}

_ADACODER_TABLES = (
    _against_direct("I", measures.pass_at_1, "HumanEval"),
    _against_direct("II", measures.tokens, "HumanEval"),
    _against_direct("III", measures.seconds, "HumanEval"),
    _curve(
        "AdaCoder, Figure 1",
        "pass@1 against the rounds of refinement, of every plan, on HumanEval",
        _ROUNDS,
        {"dataset": HUMANEVAL, "strategy": ("agentcoder", "mapcoder", "intervenor", "self-collaboration")},
        "strategy,model",
    ),
    Tally(
        "AdaCoder, Table IV",
        "Kinds of refinement among pairs of programs that both fail",
        (Slice("Proportion", counting=measures.refinements),),
        {"strategy": ("agentcoder", "mapcoder", "intervenor", "self-collaboration")},
        needs="digests of the attempts' code and messages",
        remark="Failures are failures of shown examples; the paper counts failures of hidden tests.",
        kinds=measures.REFINEMENTS,
        corner="Refinement Type",
    ),
    _curve(
        "AdaCoder, Figure 2",
        "pass@1 of MapCoder against the number of plans, t, on HumanEval",
        _PLANS,
        {"dataset": HUMANEVAL, "strategy": "mapcoder"},
    ),
    Tally(
        "AdaCoder, Figure 4",
        "HumanEval's tasks solved by planning (MapCoder) and non-planning frameworks, as a mean over the latter",
        "model",
        {"dataset": HUMANEVAL, "strategy": ("mapcoder", "agentcoder", "intervenor", "self-collaboration")},
        needs="tasks that frameworks of both kinds have",
        plot="circles",
        counting=_regions,
        kinds=tuple(_REGIONS.values()),
        corner="Solved by",
    ),
    _against_direct("V", measures.pass_at_1),
    _against_direct("VI", measures.pass_at_1, "MBPP"),
    _curve(
        "AdaCoder, Figure 6",
        "pass@1 of AdaCoder against t on HumanEval",
        _ROUNDS,
        {"dataset": HUMANEVAL, "strategy": "adacoder"},
    ),
    _against_direct("VII", measures.tokens, "MBPP"),
    _against_direct("VIII", measures.seconds, "MBPP"),
    _against_direct("IX", measures.tokens),
    _against_direct("X", measures.seconds),
    Grid(
        "AdaCoder, Table XI",
        "pass@1 of AdaCoder without its agents on HumanEval, with the change against all of them",
        _by(_ABLATION),
        {"dataset": HUMANEVAL},
        measure=measures.pass_at_1,
        base={"strategy": "adacoder"},
        average=True,
    ),
)

_TESTERS = {"Single Agent": "agentcoder:one-agent", "Multiple Agents": "agentcoder"}
_DESIGNERS = {"Self-Collaboration": "self-collaboration", "AgentCoder": "agentcoder"}
_COVERED = tuple(
    Slice(f"{name}, {how}", {"dataset": dataset}, measure=measure)
    for name, dataset in _BOTH.items()
    for how, measure in (("first five", measures.covered_by_first_tests), ("all", measures.covered_by_tests))
)


def _of_tests(number: int, title: str, columns: tuple[Slice, ...], strategies: Mapping[str, str]) -> Grid:
    return Grid(
        f"AgentCoder, Table {number}",
        title,
        columns,
        lines=_by(strategies),
        corner="Strategies",
        measure=measures.right_tests,
        remark="CodeCoT and a model that only writes tests are not implemented." if strategies is _DESIGNERS else "",
    )


_AGENTCODER_TABLES = (
    Grid(
        "AgentCoder, Table 1",
        "pass@1 of strategies, with the change against direct",
        _on(_WITH_ET),
        lines="model,strategy",
        corner="Models and strategies",
        measure=measures.pass_at_1,
        base=DIRECT,
        mean=True,
    ),
    Grid(
        "AgentCoder, Table 2",
        "pass@1 of AgentCoder's agents, with the change against direct",
        _on(_WITH_ET),
        lines=_by(
            {
                "programmer agent only": "agentcoder:programmer",
                "programmer + test designer": "agentcoder:designer",
                "programmer + test executor": "agentcoder:executor",
                "AgentCoder": "agentcoder",
            }
        ),
        corner="Agents",
        measure=measures.pass_at_1,
        base=DIRECT,
    ),
    Grid(
        "AgentCoder, Table 3",
        "pass@1 of AgentCoder against the number of iterations, with the change against direct",
        _on(_WITH_ET),
        remark=_PREFIX,
        lines=tuple(Slice(str(most), {"strategy": "agentcoder"}, by_round(most)) for most in range(1, MOST_ROUNDS + 1)),
        corner="Iterations",
        base=DIRECT,
    ),
    _of_tests(4, "Share of designed tests that the canonical solution passes", _on(_BOTH), _DESIGNERS),
    _of_tests(5, "Lines of the canonical solution that designed tests reach", _COVERED, _DESIGNERS),
    Grid(
        "AgentCoder, Table 6",
        "pass@1 of a single agent and of several",
        _on(_WITH_ET),
        lines=_by(_TESTERS),
        corner="Strategies",
        measure=measures.pass_at_1,
    ),
    _of_tests(7, "Accuracy of the tests of a single agent and of several", _on(_BOTH), _TESTERS),
    _of_tests(8, "Lines reached by the tests of a single agent and of several", _COVERED, _TESTERS),
)

_CODETREES = {
    "Direct": "direct",
    "CoT": "cot",
    "Reflexion": "reflexion",
    "MapCoder": "mapcoder",
    "Resample": "resample",
    "CodeTree-BFS": "codetree:bfs",
    "CodeTree-DFS": "codetree:dfs",
    "Strategy List": "strategy-list",
    "CodeTree": "codetree",
}

_CODETREE_TABLES = (
    Grid(
        "CodeTree, Table 2",
        f"pass@1 within a budget of {MOST_PROGRAMS} programs",
        _on(_WITH_PLUS),
        {"strategy": tuple(_CODETREES.values())},
        lines="model,strategy",
        corner="Models and methods",
        measure=by_program(MOST_PROGRAMS),
        mean=True,
        options=f"--budget-programs {MOST_PROGRAMS} --max-iterations {MOST_PROGRAMS - 1}",
        remark="CodeContests is out of scope. MapCoder takes --max-iterations 3: five plans of four programs.",
    ),
    Grid(
        "CodeTree, Table 3",
        "pass@1 of CodeTree without its critic, breadth first and depth first",
        _on({name: _WITH_PLUS[name] for name in ("HumanEval", "HumanEval+")}),
        lines=_by(
            {
                "CodeTree-BFS d=3, w=3": "codetree:bfs",
                "CodeTree-BFS d=2, w=4": "codetree:bfs-d2-w4",
                "CodeTree-BFS d=2, w=5": "codetree:bfs-d2-w5",
                "CodeTree-DFS d=3, w=3": "codetree:dfs",
                "CodeTree-DFS d=4, w=2": "codetree:dfs-d4-w2",
                "CodeTree-DFS d=5, w=2": "codetree:dfs-d5-w2",
            }
        ),
        corner="Search",
        measure=measures.pass_at_1,
    ),
    Grid(
        "CodeTree, Table 4",
        "pass@1 of CodeTree without tasks of its critic",
        _on({name: _WITH_PLUS[name] for name in ("HumanEval", "HumanEval+")}),
        lines=_by(
            {
                "CodeTree": "codetree",
                "w/o verification": "codetree:no-verification",
                "w/o node abort": "codetree:no-abort",
                "w/o scoring": "codetree:no-scoring",
            }
        ),
        corner="Ablation",
        measure=measures.pass_at_1,
        base={"strategy": "codetree"},
    ),
    *(
        _curve(
            f"CodeTree, Figure 5{note}",
            f"pass@1 against the number of programs on {on}",
            _PROGRAMS,
            {"dataset": _WITH_PLUS[on], "strategy": tuple(_CODETREES.values())},
            "strategy,model",
        )
        for on, note in (("HumanEval+", ""), ("HumanEval", " on HumanEval"))
    ),
)

_SEMAGS = {
    "Direct": "direct",
    "Self-Planning": "self-planning",
    "MapCoder": "mapcoder",
    "LDB": "ldb",
    "LPW": "lpw",
    "SEMAG": "semag",
}
_SEMAG_ABLATION = {
    "none": "semag:no-verification-no-suggestion-no-discussion",
    "verification": "semag:no-suggestion-no-discussion",
    "suggestion": "semag:no-verification-no-discussion",
    "discussion": "semag:no-verification-no-suggestion",
    "verification, suggestion": "semag:no-discussion",
    "verification, discussion": "semag:no-suggestion",
    "suggestion, discussion": "semag:no-verification",
    "all": "semag",
}

_SEMAG_TABLES = (
    Grid(
        "SEMAG, Table 1",
        "pass@1 of strategies, with the change against direct",
        _on(_WITH_ET),
        {"strategy": tuple(_SEMAGS.values())},
        lines="model,strategy",
        corner="Models and methods",
        measure=measures.pass_at_1,
        base=DIRECT,
    ),
    Grid(
        "SEMAG, Table 2",
        "pass@1 on competition-level tasks, with the change against direct",
        _on({"LiveCodeBench": "livecodebench"}),
        {"strategy": tuple(_SEMAGS.values())},
        lines="model,strategy",
        corner="Models and methods",
        measure=measures.pass_at_1,
        base=DIRECT,
        remark="APPS and CodeContests are out of scope.",
    ),
    Tally(
        "SEMAG, Table 3",
        "Tasks by the level at which SEMAG ended",
        _on({**_WITH_ET, "LiveCodeBench": "livecodebench"}),
        {"strategy": "semag"},
        needs="the level at which a cell ended",
        counting=measures.levels,
        kinds=tuple(f"Level {level}" for level in range(1, 5)),
        corner="Level",
    ),
    Grid(
        "SEMAG, Table 4",
        "pass@1 of SEMAG with some of its parts on HumanEval, with the change against all of them",
        _by(_SEMAG_ABLATION),
        {"dataset": HUMANEVAL},
        measure=measures.pass_at_1,
        base={"strategy": "semag"},
    ),
    Grid(
        "SEMAG, Figure 4",
        "Tokens a task of LPW and SEMAG",
        _on({**_WITH_ET, "LiveCodeBench": "livecodebench"}),
        plot="bars",
        lines=_by({"LPW": "lpw", "SEMAG": "semag"}),
        corner="Methods",
        measure=measures.tokens,
        base={"strategy": "lpw"},
    ),
    Grid(
        "SEMAG, Figure 5",
        "pass@1 of SEMAG on HumanEval against the temperature",
        "temperature",
        {"dataset": HUMANEVAL, "strategy": "semag"},
        plot="lines",
        across="temperature",
        measure=measures.pass_at_1,
        options="--temperature T",
    ),
    Grid(
        "SEMAG, Figure 6",
        "pass@1 of SEMAG on HumanEval against its passes over levels 3 and 4",
        tuple(Slice(str(t), {"max_iterations": (str(t), "") if t == 5 else str(t)}) for t in range(1, 8)),
        {"dataset": HUMANEVAL, "strategy": "semag"},
        plot="lines",
        across="passes over levels 3 and 4",
        measure=measures.pass_at_1,
        options="--max-iterations T",
        remark="M_debug is fixed at 4; the paper varies it as well.",
    ),
    Grid(
        "SEMAG, Figure 8",
        "pass@1 on LiveCodeBench by difficulty",
        tuple(Slice(each.capitalize(), {"difficulty": each}) for each in ("easy", "medium", "hard")),
        {"dataset": "livecodebench", "strategy": tuple(_SEMAGS.values())},
        plot="lines",
        across="difficulty",
        lines="model,strategy",
        corner="Models and methods",
        measure=measures.pass_at_1,
    ),
)


def _overview(name: str, title: str, figures: Mapping[str, Measure]) -> Grid:
    """Define a table with one line for each dataset, model and strategy."""
    columns = tuple(Slice(label, measure=measure) for label, measure in figures.items())
    return Grid(name, title, columns, lines="dataset,model,strategy", corner="Tasks, model and strategy")


SUMMARY = _overview(
    "Summary",
    "Results of each model and strategy",
    {
        "cells": measures.cells,
        "pass@1, %": measures.pass_at_1,
        "verified, %": measures.verified,
        "verified but wrong, %": measures.verified_but_wrong,
        "left out": measures.left_out,
    },
)
COST = _overview(
    "Cost",
    "Means of a task",
    {
        "calls": measures.calls,
        "rounds": measures.rounds,
        "programs": measures.programs,
        "prompt tokens": measures.prompt_tokens,
        "cached": measures.cached_tokens,
        "written": measures.completion_tokens,
        "seconds": measures.seconds,
        "of the server": measures.server_seconds,
    },
)
SECOND_PROGRAM = _overview(
    "Second program",
    "Verified functions that were compared with a second program, and what the answers to questions are worth",
    {
        "agreed, %": measures.agreed,
        "wrong, %": measures.wrong_before,
        "wrong if agreed, %": measures.wrong_among_agreed,
        "wrong ones flagged, %": measures.wrong_flagged,
        "right ones flagged, %": measures.right_flagged,
        "questions": measures.questions,
        "wrong after answers, %": measures.wrong_after_answers,
    },
)
ERRORS = Tally(
    "Errors",
    "Programs by the class of their failure on the shown examples, before and after the Debug Specialist",
    (
        Slice("before", counting=measures.failures_before),
        Slice("after", counting=measures.failures_after),
    ),
    {"strategy": ("adacoder", "adacoder:no-planner")},
    needs="attempts",
    corner="Class",
)

OWN = (SUMMARY, COST, ERRORS)
SETS = {
    "own": OWN,
    "adacoder": _ADACODER_TABLES,
    "agentcoder": _AGENTCODER_TABLES,
    "codetree": _CODETREE_TABLES,
    "semag": _SEMAG_TABLES,
}
"""Definitions of tables by the name of a paper. The name `own` stands for AdaCoder's own tables."""


def pass_at_ks(ks: Sequence[int]) -> Grid:
    """Define a table with pass@k for each k in `ks`."""
    figures = {f"pass@{k}, %": measures.pass_at(k) for k in ks}
    return _overview("pass@k", "pass@k over the tasks that have as many samples", figures)


def tables(rows: Sequence[Row], sets: Sequence[str] = tuple(SETS), ks: Sequence[int] = ()) -> list[Table]:
    """Return the tables of `sets`.

    The set `own` also has tables with pass@k for `ks`, and comparisons with the strategies `direct` and `resample`.
    """
    found = [each.table(rows) for name in sets for each in SETS[name]]
    if "own" in sets:
        more = [pass_at_ks(ks).table(rows)] if ks else []
        more += [SECOND_PROGRAM.table(rows)] if any(row.second for row in rows) else []
        found[len(OWN) : len(OWN)] = [*more, comparison(rows, DIRECT), equal_tokens(rows, RESAMPLE)]
    return found
