"""Compute figures from rows: shares with confidence intervals, costs, and curves.

Intervals are Wilson's 95 % intervals. An interval counts each task once, because samples of one task are not
independent. An interval may therefore be too wide, but not too narrow.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import pairwise
from statistics import NormalDist, fmean
from typing import TypeAlias

from adacoder.arena.rows import DesignedTests, Row, RowAttempt, SecondProgram
from adacoder.domain import Tokens

Task: TypeAlias = tuple[str, str, str]
"""A task's dataset, checksum and name."""

LEVEL = 0.95
"""Confidence level of the intervals."""
_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
PASSED = "passed"
"""Class of programs that did not fail."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, and the number of tasks or cells that it is computed from. A share also has a confidence interval."""

    value: float
    of: int
    low: float | None = None
    high: float | None = None


class FigureFormat(StrEnum):
    """Number format of a figure."""

    PERCENT = "percent"
    TOKENS = "tokens"
    SECONDS = "seconds"
    NUMBER = "number"
    COUNT = "count"
    CHANCE = "chance"


@dataclass(frozen=True)
class Measure:
    """A function that computes a figure from rows, or returns None if the rows do not have the needed data."""

    of: Callable[[Sequence[Row]], Estimate | None]
    form: FigureFormat = FigureFormat.PERCENT
    needs: str = ""
    """Description of the data that the measure needs and that some rows lack; empty if all rows have the data."""

    def __call__(self, rows: Sequence[Row]) -> Estimate | None:
        return self.of(rows)


_counting = partial(Measure, form=FigureFormat.COUNT)
_of_tests = partial(Measure, needs="designed tests that were run on canonical solutions")
_JUDGED = "the judge's word on each attempt"


def task_of(row: Row) -> Task:
    """Return the dataset, checksum and name of the row's task."""
    return row.dataset, row.checksum, row.task


def counts(row: Row) -> bool:
    """Return whether a row is used to judge its model and strategy.

    A row is not used if the server failed, the user cancelled the cell, or the judge could not run. A row is used and
    is wrong if the model wrote no function.
    """
    if row.failure_of == "server" or row.status == "cancelled":
        return False
    return row.right is not None or row.candidate is None


def pass_at_k(samples: int, right: int, k: int) -> float:
    """Return the probability that at least one of `k` samples is right, for a task with `right` of `samples` right.

    The estimator is from Chen et al., 2021.

    >>> pass_at_k(5, 2, 1)
    0.4
    >>> pass_at_k(5, 2, 4)
    1.0
    """
    return 1 - math.comb(samples - right, k) / math.comb(samples, k)


def wilson(hits: float, of: int) -> tuple[float, float]:
    """Return Wilson's confidence interval for `hits` in `of` trials (Wilson, 1927).

    >>> [round(bound, 3) for bound in wilson(8, 10)]
    [0.49, 0.943]
    """
    found, square = hits / of, _Z * _Z
    middle = (found + square / (2 * of)) / (1 + square / of)
    reach = _Z / (1 + square / of) * math.sqrt(found * (1 - found) / of + square / (4 * of * of))
    # keep the share inside the interval despite rounding errors
    return max(0.0, min(found, middle - reach)), min(1.0, max(found, middle + reach))


def share(hits: float, of: int) -> Estimate | None:
    """Return a share with its confidence interval, or None if `of` is 0."""
    return Estimate(hits / of, of, *wilson(hits, of)) if of else None


def by_task(rows: Iterable[Row]) -> Mapping[Task, list[Row]]:
    """Group the rows by task, without rows that do not count."""
    found: dict[Task, list[Row]] = defaultdict(list)
    for row in rows:
        if counts(row):
            found[task_of(row)].append(row)
    return found


def pass_at(k: int) -> Measure:
    """Return the measure pass@k. Tasks with fewer than `k` samples are left out."""
    return _pass_at(k, lambda row: bool(row.right))


def _pass_at(k: int, is_right: Callable[[Row], bool | None], needs: str = "") -> Measure:
    """Return the measure pass@k, where `is_right` decides whether a row is right.

    If any verdict is unknown, the measure has no figure.
    """

    def measure(rows: Sequence[Row]) -> Estimate | None:
        tasks = [[is_right(row) for row in each] for each in by_task(rows).values() if len(each) >= k]
        if any(None in words for words in tasks):
            return None
        return share(math.fsum(pass_at_k(len(words), sum(map(bool, words)), k) for words in tasks), len(tasks))

    return Measure(measure, needs=needs)


pass_at_1 = pass_at(1)


def by_round(most: int) -> Measure:
    """Return the measure pass@1 after at most `most` refinement rounds. Each branch of a search has its own rounds."""

    def is_right(row: Row) -> bool | None:
        first: dict[tuple[str, ...], int] = {}
        for each in row.attempts:
            first.setdefault(each.branch, each.round if each.branch else 1)
        return _right_of(row, [each for each in row.attempts if each.round - first[each.branch] <= most])

    return _pass_at(1, is_right, _JUDGED)


def by_plan(most: int) -> Measure:
    """Return the measure pass@1 after the first `most` plans and the repairs that belong to these plans."""

    def is_right(row: Row) -> bool | None:
        plans = [*dict.fromkeys(each.branch for each in row.attempts if each.branch)]
        if row.attempts and not plans:
            return None  # older rows do not record plans
        later = frozenset(plans[most:])
        return _right_of(row, [each for each in row.attempts if each.branch not in later])

    return _pass_at(1, is_right, "the judge's word and the plan of each attempt")


def by_program(most: int) -> Measure:
    """Return the measure pass@1 after the first `most` programs. A program and its repair by rules count as one."""
    return _pass_at(1, lambda row: _right_of(row, _first_programs(row.attempts, most)), _JUDGED)


def after_programs(row: Row, most: int) -> Row:
    """Return the row as if the request had ended after `most` programs. All attempts must have a verdict."""
    attempts = _first_programs(row.attempts, most)
    if len(attempts) == len(row.attempts):
        return row
    written = Tokens(completion=attempts[-1].written or 0)
    return replace(row, right=_right_of(row, attempts), attempts=tuple(attempts), tokens=written)


def _first_programs(attempts: Sequence[RowAttempt], most: int) -> list[RowAttempt]:
    """Return the attempts that belong to the first `most` different programs."""
    found: list[RowAttempt] = []
    programs: set[str | int] = set()
    for number, attempt in enumerate(attempts):
        if not attempt.repaired:
            programs.add(number if attempt.code is None else attempt.code)
        if len(programs) > most:
            break
        found.append(attempt)
    return found


def _right_of(row: Row, attempts: Sequence[RowAttempt]) -> bool | None:
    """Return whether the request would be right if it had ended after `attempts`, or None if this is unknown.

    The request would then return the first attempt that passed the most examples. If no attempt is missing, the row's
    own verdict is used.
    """
    if len(attempts) == len(row.attempts):
        return bool(row.right)
    best = max(attempts, key=lambda each: (each.failure is None, each.examples[0]), default=None)
    return False if best is None else best.right


@Measure
def verified(rows: Sequence[Row]) -> Estimate | None:
    """Share of cells with status `verified`."""
    counted = [row for row in rows if counts(row)]
    return _of_cells([row.status == "verified" for row in counted], counted)


@Measure
def verified_but_wrong(rows: Sequence[Row]) -> Estimate | None:
    """Share of verified cells whose candidate fails the hidden tests."""
    counted = [row for row in rows if counts(row) and row.status == "verified"]
    return _of_cells([not row.right for row in counted], counted)


def _of_second(is_hit: Callable[[Row, SecondProgram], bool | None]) -> Measure:
    """Return the share of cells with a second program for which `is_hit` is True, as a measure.

    Cells for which `is_hit` is None are left out.
    """

    def measure(rows: Sequence[Row]) -> Estimate | None:
        found = [(row, is_hit(row, row.second)) for row in rows if counts(row) and row.second is not None]
        counted = [(row, hit) for row, hit in found if hit is not None]
        return _of_cells([hit for _, hit in counted], [row for row, _ in counted])

    return Measure(measure, needs="comparisons with a second program")


agreed = _of_second(lambda _, second: second.agreed == second.inputs)
wrong_among_agreed = _of_second(lambda row, second: not row.right if second.agreed == second.inputs else None)
wrong_flagged = _of_second(lambda row, second: None if row.right else second.agreed < second.inputs)
right_flagged = _of_second(lambda row, second: second.agreed < second.inputs if row.right else None)
wrong_before = _of_second(lambda row, _: not row.right)
wrong_after_answers = _of_second(lambda _, second: not second.right)


def _of_cells(hits: Sequence[bool], rows: Sequence[Row]) -> Estimate | None:
    """Return a share of cells. Its confidence interval uses the number of tasks, not of cells."""
    if not rows:
        return None
    value = sum(hits) / len(rows)
    tasks = len({task_of(row) for row in rows})
    return Estimate(value, len(rows), *wilson(value * tasks, tasks))


def mean(of: Callable[[Row], float | None], form: FigureFormat = FigureFormat.NUMBER) -> Measure:
    """Return the mean of `of` over cells, as a measure. Cells for which `of` returns None are left out."""

    def measure(rows: Sequence[Row]) -> Estimate | None:
        values = [value for row in rows if counts(row) and (value := of(row)) is not None]
        return Estimate(fmean(values), len(values)) if values else None

    return Measure(measure, form)


questions = mean(lambda row: row.second.questions if row.second else None)
calls = mean(lambda row: row.calls)
rounds = mean(lambda row: row.rounds)
programs = mean(lambda row: row.programs)
seconds = mean(lambda row: row.seconds, FigureFormat.SECONDS)
server_seconds = mean(lambda row: row.server_seconds, FigureFormat.SECONDS)
prompt_tokens = mean(lambda row: row.tokens.prompt, FigureFormat.TOKENS)
cached_tokens = mean(lambda row: row.tokens.cached, FigureFormat.TOKENS)
completion_tokens = mean(lambda row: row.tokens.completion, FigureFormat.TOKENS)
tokens = mean(lambda row: row.tokens.prompt + row.tokens.completion, FigureFormat.TOKENS)


@_counting
def cells(rows: Sequence[Row]) -> Estimate | None:
    """Number of cells that count."""
    counted = sum(map(counts, rows))
    return Estimate(counted, counted) if counted else None


@_counting
def left_out(rows: Sequence[Row]) -> Estimate | None:
    """Number of cells that do not count, because of a server failure, a cancellation or a missing verdict."""
    return Estimate(sum(not counts(row) for row in rows), len(rows)) if rows else None


@_of_tests
def right_tests(rows: Sequence[Row]) -> Estimate | None:
    """Share of a model's tests that the canonical solution passes.

    There is no confidence interval, because tests of one task are not independent.
    """
    known = [
        (row.tests.designed, row.tests.right_on_canonical)
        for row in rows
        if counts(row) and row.tests is not None and row.tests.right_on_canonical is not None
    ]
    designed = sum(each for each, _ in known)
    return Estimate(sum(each for _, each in known) / designed, designed) if designed else None


@_of_tests
def covered_by_tests(rows: Sequence[Row]) -> Estimate | None:
    """Mean share of the canonical solution's lines that a model's tests reach."""
    return _covered(rows, lambda tests: tests.lines_covered)


@_of_tests
def covered_by_first_tests(rows: Sequence[Row]) -> Estimate | None:
    """Mean share of the canonical solution's lines that the first five tests of each cell reach."""
    return _covered(rows, lambda tests: tests.lines_covered_by_first)


def _covered(rows: Sequence[Row], by: Callable[[DesignedTests], float | None]) -> Estimate | None:
    shares = [by(row.tests) for row in rows if counts(row) and row.tests is not None]
    known = [share for share in shares if share is not None]
    return Estimate(fmean(known), len(known)) if known else None


Counting: TypeAlias = Callable[[Sequence[Row]], Mapping[str, float]]
"""Function that counts the rows or programs of each kind. A count can be a mean, and so a fraction."""


def levels(rows: Sequence[Row]) -> Counter[str]:
    """Count cells by the level that the strategy reached."""
    return Counter(f"Level {row.level}" for row in rows if counts(row) and row.level is not None)


def failures_before(rows: Sequence[Row]) -> Counter[str]:
    """Count programs by class of failure before repair by rules."""
    return Counter(before for before, _ in _repairs(rows))


def failures_after(rows: Sequence[Row]) -> Counter[str]:
    """Count programs by class of failure after repair by rules."""
    return Counter(after for _, after in _repairs(rows))


def _repairs(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return each program's class of failure before and after repair by rules."""
    return [pair for row in rows if counts(row) for pair in _repairs_of(row)]


def _repairs_of(row: Row) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for attempt in row.attempts:
        failure = attempt.failure or PASSED
        if attempt.repaired and found:
            found[-1] = (found[-1][0], failure)
        else:
            found.append((failure, failure))
    return found


INVARIANCE, SAME_MESSAGE, SAME_TYPE, EMPTIED, OTHER = (
    "Code Invariance",
    "Error Message Persistence",
    "Error Type Consistency",
    "Function Emptying",
    "Miscellaneous Refinement",
)
REFINEMENTS = (INVARIANCE, SAME_MESSAGE, SAME_TYPE, EMPTIED, OTHER)
"""Kinds of unsuccessful refinement (AdaCoder paper, Table IV). If several kinds fit, the first one counts."""


def refinements(rows: Sequence[Row]) -> Counter[str]:
    """Count the kinds of refinement between consecutive programs of a plan. Both programs must have failed."""
    found: Counter[str] = Counter()
    for row in rows:
        if not counts(row):
            continue
        written = [each for each in row.attempts if not each.repaired]
        for before, after in pairwise(written):
            is_refined = before.branch == after.branch and before.code and after.code
            if is_refined and before.failure and after.failure:
                found[_refinement(before, after)] += 1
    return found


def _refinement(before: RowAttempt, after: RowAttempt) -> str:
    if before.code == after.code:
        return INVARIANCE
    if before.message is not None and before.message == after.message:
        return SAME_MESSAGE
    if (before.failure, before.error) == (after.failure, after.error):
        return SAME_TYPE
    return EMPTIED if after.is_empty else OTHER
