"""Compare columns of a table on the tasks that all these columns have.

A column has the rows of one model and strategy.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from adacoder.arena.measures import Task, after_programs, counts, task_of
from adacoder.arena.rows import Row


@dataclass(frozen=True, slots=True)
class Pairs:
    """Results of two columns on the same tasks."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def of(self) -> int:
        """Number of tasks."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def p(self) -> float:
        """Probability that chance causes a difference as large as this one, or larger (exact McNemar test)."""
        return mcnemar(self.only_first, self.only_second)


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the two-sided p-value of McNemar's exact test.

    >>> mcnemar(1, 9)
    0.021484375
    """
    differ = only_first + only_second
    ways = tail = 1
    for each in range(min(only_first, only_second)):
        ways = ways * (differ - each) // (each + 1)
        tail += ways
    return min(1.0, 2 * tail / (1 << differ))


def first_samples(rows: Iterable[Row]) -> Mapping[Task, Row]:
    """Return the first sample of each task that counts. Samples of one task are not independent."""
    found: dict[Task, Row] = {}
    for row in rows:
        task = task_of(row)
        if counts(row) and (task not in found or row.sample < found[task].sample):
            found[task] = row
    return found


def at_equal_tokens(rows: Mapping[Task, Row], others: Mapping[Task, Row]) -> Mapping[Task, Row] | None:
    """Cut the rows in `others` to their first programs, so that they cost about as many tokens as `rows`.

    Each task gets the same number of programs. This number is the smallest one whose mean cost in written tokens
    reaches the cost of `rows`. Both mappings must have the same tasks.

    Return None if an attempt has no token count or no verdict.
    """
    attempts = [each for row in others.values() for each in row.attempts]
    if any(each.written is None or each.right is None for each in attempts):
        return None

    def cut(programs: int) -> Mapping[Task, Row]:
        return {task: after_programs(row, programs) for task, row in others.items()}

    def cost(found: Mapping[Task, Row]) -> float:
        return fmean(row.tokens.completion for row in found.values())

    # More programs never cost less, so binary search is possible.
    most = max(len(row.attempts) for row in others.values())
    return cut(1 + bisect_left(range(1, most), cost(rows), key=lambda programs: cost(cut(programs))))


def paired(one: Mapping[Task, Row], other: Mapping[Task, Row]) -> Pairs:
    """Compare the verdicts of two columns on the tasks that both columns have."""
    found = Counter((bool(one[task].right), bool(other[task].right)) for task in one.keys() & other.keys())
    return Pairs(found[True, True], found[True, False], found[False, True], found[False, False])


def overlap(columns: Mapping[str, Sequence[Row]]) -> Counter[frozenset[str]]:
    """Return how many tasks each set of columns solves. A task counts for the set of all columns that solve the task.

    Tasks that are missing in a column are left out.
    """
    solved = {name: first_samples(rows) for name, rows in columns.items()}
    common = set.intersection(*(set(each) for each in solved.values())) if solved else set()
    return Counter(frozenset(name for name, each in solved.items() if each[task].right) for task in common)


def change(value: float, base: float) -> float | None:
    """Return the relative change of a value, such as 0.25 for 25 % more than the base. Return None if the base is 0."""
    return (value - base) / base if base else None
