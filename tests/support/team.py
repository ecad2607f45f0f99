"""Scripted Agents for a real Request. They record a strategy's calls, and return scripted results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from adacoder.agents.request import Request
from adacoder.agents.role import Field, Role
from adacoder.conclusion import conclude
from adacoder.domain import (
    Candidate,
    Example,
    ExampleResult,
    Failure,
    FailureKind,
    Module,
    Outcome,
    Span,
    Target,
    Verdict,
)
from adacoder.journal import Journal
from adacoder.models.base import Sampling
from adacoder.strategies import STRATEGIES
from adacoder.traces import Executed, Trace

EXAMPLES = tuple(Example(f"area({n})\n", f"{n * n}\n", n) for n in (1, 2, 3))
_SPAN = Span(0, 0)
TARGET = Target(
    Module(Path("/w/m.py"), "m", Path("/w")), "", "area", _SPAN, _SPAN, _SPAN, "", _SPAN, "", EXAMPLES, True
)


def written(number: int) -> Candidate:
    """Return the n-th program that a Team's model writes."""
    return Candidate(f"def area(n): return {number}")


def matching(*passed: int) -> Verdict:
    """Return a verdict in which only the examples with the numbers `passed` match.

    The failure is that of the first other example.
    """
    results = tuple(ExampleResult(each, each.line in passed, entered=True) for each in EXAMPLES)
    failed = next((each.example for each in results if not each.matched), None)
    failure = None if failed is None else Failure(FailureKind.WRONG_OUTPUT, "It is wrong.", failed, got="0")
    return Verdict(failure, parses=True, defines=True, imports=True, results=results)


PASSED = matching(1, 2, 3)
UNPROVED = replace(PASSED, results=tuple(replace(each, entered=False) for each in PASSED.results))
"""A verdict in which all examples match, but none of them calls the function."""
BROKEN = Verdict(Failure(FailureKind.BROKEN_EXAMPLE, "The example is broken."), parses=True)
UNREADABLE = Verdict(Failure(FailureKind.SYNTAX_ERROR, "It does not parse."))
MEMORISED = Verdict(
    Failure(FailureKind.MEMORISED, "It knows the examples."),
    parses=True,
    defines=True,
    imports=True,
    results=PASSED.results,
)


def steps_of(*values: int) -> Trace:
    """Return a trace in which the variable `n` takes these values."""
    return Trace(tuple(Executed(1, 1, (("n", str(each)),)) for each in values), ended=True)


Says: TypeAlias = Mapping[str, Sequence[object]]
"""A model's answers by action. The last answer of an action is repeated."""


@dataclass
class Asked:
    action: str
    words: Mapping[str, str]
    sampling: Sampling | None
    branch: tuple[str, ...]


@dataclass
class Team:
    """A conversation, an evaluator and a repair specialist for a Request, all scripted."""

    verdicts: Sequence[Verdict]
    """The verdicts on the programs, in order. Programs after the last verdict fail all examples."""
    says: Says = field(default_factory=dict)
    traces: Callable[[int, Example], Trace] = lambda number, example: steps_of(number)
    """Returns the trace of an example in the n-th program of the request."""
    asked: list[Asked] = field(default_factory=list)
    traced: list[tuple[int, Example]] = field(default_factory=list)
    journal: Journal = field(default_factory=Journal)

    @property
    def actions(self) -> list[str]:
        return [each.action for each in self.asked]

    async def ask(self, role: Role[Any], fields: Mapping[str, Field], sampling: Sampling | None) -> object:
        with self.journal.step(role.agent, role.action, role.doing) as step:
            words = {name: each if isinstance(each, str) else each(500) for name, each in fields.items()}
            self.asked.append(Asked(role.action, words, sampling, step.branch))
        count = self.actions.count(role.action)
        if role.action == "write":
            return written(count)
        said = self.says.get(role.action, [f"{role.action} {count}"])
        return said[min(count, len(said)) - 1]

    async def evaluate(self, target: Target, candidate: Candidate) -> Verdict:
        number = self._number(candidate)
        return self.verdicts[number - 1] if number <= len(self.verdicts) else matching()

    async def trace(self, target: Target, candidate: Candidate, example: Example) -> Trace:
        self.traced.append((self._number(candidate), example))
        return self.traces(self._number(candidate), example)

    async def repair(
        self, target: Target, candidate: Candidate, verdict: Verdict, *, as_printed: bool = False
    ) -> Candidate:
        return candidate

    async def run(self, name: str, iterations: int | None = None, start: Candidate | None = None) -> Outcome:
        """Run the strategy `name`. `start` is the first candidate, if there is one."""
        strategy, agents = STRATEGIES[name], cast(Any, self)
        request = Request(
            TARGET,
            start,
            strategy.spends(iterations),
            conversation=agents,
            evaluator=agents,
            specialist=agents,
            journal=self.journal,
        )
        await strategy.run(request)
        assert request.best is not None
        return conclude(TARGET, request.best, self.journal.round)

    def _number(self, candidate: Candidate) -> int:
        return int(candidate.function.rpartition(" ")[2])
