"""AgentCoder: Multi-Agent-based Code Generation with Iterative Testing and Optimisation (Huang et al., 2024)."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, replace

from adacoder.agents.advisor import code_of, coder, told
from adacoder.agents.budget import Budget
from adacoder.agents.designed_tests import designed_tests
from adacoder.agents.failures import reported
from adacoder.agents.probes import Probes
from adacoder.agents.request import Request
from adacoder.agents.role import Limits, Role
from adacoder.domain import Attempt, Candidate, Example, Reply, Target
from adacoder.models.base import Sampling
from adacoder.replies.extract import extract
from adacoder.strategies.direct import Direct
from adacoder.strategies.strategy import Strategy

PROGRAMMER = coder("programmer", "writing the function in four steps", "agentcoder_write", thinks=True)
"""The Role that understands the problem, chooses an algorithm, and writes pseudocode and then code (section 3.1)."""
PROGRAMMER_AGAIN = coder("programmer", "revising the function", "revise")
"""The Role that revises `code` by the executor's `error`."""


def _tests(reply: Reply, target: Target) -> tuple[Example, ...]:
    return designed_tests(reply.text, target)


PROGRAMMER_CHECKS = coder("programmer", "going through the tests", "agentcoder_check", thinks=True)
"""The Role that revises its `code` by reading the designer's `tests`, which do not run (section 4.3)."""


def _themselves(found: tuple[Example, ...]) -> tuple[Example, ...]:
    return found


DESIGNER: Role[tuple[Example, ...]] = Role(
    agent="test_designer",
    action="design",
    doing="designing tests",
    prompt="agentcoder_tests",
    read=_tests,
    limits=Limits(one_in=4, most=1024),
    otherwise=(),
    tests=_themselves,
)
"""The Role that designs tests for basic, edge and large cases. It never sees the code (section 3.2)."""


def _both(reply: Reply, target: Target) -> tuple[Candidate, tuple[Example, ...]]:
    return extract(reply, target), designed_tests(reply.text, target)


def _has_function(found: tuple[Candidate, tuple[Example, ...]]) -> bool:
    return bool(found[0].function)


def _tests_of(found: tuple[Candidate, tuple[Example, ...]]) -> tuple[Example, ...]:
    return found[1]


BOTH: Role[tuple[Candidate, tuple[Example, ...]]] = Role(
    agent="programmer",
    action="write",
    doing="writing the function and its tests",
    prompt="agentcoder_both",
    read=_both,
    has_found=_has_function,
    limits=Limits(one_in=2),
    tests=_tests_of,
)
"""The Role that writes the function and its tests in one reply (section 4.7)."""
DESIGNER_TOO = replace(DESIGNER, agent="programmer")
"""The designer's Role under the programmer's name, for an ablation that has only one agent."""


ITERATIONS = 5
"""Maximum number of rounds after the first (section 4.4)."""


@dataclass(frozen=True, slots=True)
class AgentCoder:
    """The loop of programmer, executor and test designer.

    One ablation has no designer (section 4.3), and one merges the designer into the programmer (section 4.7).
    """

    designs: bool = True
    is_one_agent: bool = False

    async def run(self, request: Request) -> None:
        """Design tests and write the function. Then revise it until examples and designed tests pass.

        After a designed test fails, the designer writes new tests (section 5). As a second opinion, these are written
        without the error and the code.
        """
        started = await request.try_start()
        if not request.goes_on_until_proved:
            return
        candidate, tests = await self._first(request, started)

        def design(_: Attempt, sampling: Sampling | None) -> Awaitable[tuple[Example, ...]]:
            return request.ask(self._designer, sampling=sampling)

        probes = Probes(request, design, tests)
        for _ in request.rounds(until_proved=True):
            attempt = await request.evaluate(candidate)
            failure = await probes.failure(attempt)
            if attempt.verdict.passed and failure is None:
                return
            if request.goes_on_until_proved:
                candidate = await request.ask(PROGRAMMER_AGAIN, told(attempt, reported(failure)), advice="")

    async def _first(self, request: Request, started: Attempt | None) -> tuple[Candidate, tuple[Example, ...]]:
        if self.is_one_agent and started is None:
            return await request.ask(BOTH)
        tests = await request.ask(self._designer) if self.designs else ()
        return await request.ask(PROGRAMMER) if started is None else started.candidate, tests

    @property
    def _designer(self) -> Role[tuple[Example, ...]]:
        return DESIGNER_TOO if self.is_one_agent else DESIGNER


async def _nothing_run(request: Request) -> None:
    """Design tests and write the function. Refine it by reading the tests, and run only the refined version."""
    started = await request.try_start()
    for _ in request.rounds():
        tests = await request.ask(DESIGNER)
        candidate = await request.ask(PROGRAMMER) if started is None else started.candidate
        if tests:
            shown = "\n".join(f"{test.prompted}\n{test.want}".rstrip("\n") for test in tests)
            refined = await request.ask(PROGRAMMER_CHECKS, code=code_of(candidate), tests=shown)
            candidate = refined if refined.function else candidate
        await request.evaluate(candidate)


AGENTCODER = Strategy(
    name="agentcoder",
    summary="a designer writes tests without seeing code; their failures go back to the programmer",
    paper="AgentCoder: Multi-Agent-based Code Generation with Iterative Testing and Optimisation (Huang et al., 2024)",
    roles=(PROGRAMMER, PROGRAMMER_AGAIN, DESIGNER),
    iterations=ITERATIONS,
    best_calls=2,
    budget=lambda t: Budget(rounds=1 + t, calls=2 + 2 * t),
    run=AgentCoder().run,
    feedback="the error, of designed tests too",
    tests="designed, as probes",
    selection="the furthest, then by probes passed",
)
PROGRAMMER_ONLY = replace(
    AGENTCODER,
    name="agentcoder:programmer",
    summary="agentcoder's programmer alone, once",
    paper=f"{AGENTCODER.paper}, its ablation: programmer only",
    roles=(PROGRAMMER,),
    iterations=None,
    best_calls=1,
    budget=lambda t: Budget(rounds=1, calls=1),
    run=Direct(PROGRAMMER).run,
    feedback="none",
    tests="docstring",
    selection="the furthest",
)
NOTHING_RUN = replace(
    PROGRAMMER_ONLY,
    name="agentcoder:designer",
    summary="agentcoder's programmer and designer, whose tests refine the code but are not run",
    paper=f"{AGENTCODER.paper}, its ablation: programmer and test designer",
    roles=(PROGRAMMER, PROGRAMMER_CHECKS, DESIGNER),
    best_calls=3,
    budget=lambda t: Budget(rounds=1, calls=3),
    run=_nothing_run,
    feedback="designed tests, as texts",
    selection="the refined",
)
EXECUTOR_ONLY = replace(
    AGENTCODER,
    name="agentcoder:executor",
    summary="agentcoder's programmer and executor, on the docstring's examples only",
    paper=f"{AGENTCODER.paper}, its ablation: programmer and executor",
    roles=(PROGRAMMER, PROGRAMMER_AGAIN),
    best_calls=1,
    budget=lambda t: Budget(rounds=1 + t, calls=1 + t),
    run=AgentCoder(designs=False).run,
    feedback="the error",
    tests="docstring",
    selection="the furthest",
)
ONE_AGENT = replace(
    AGENTCODER,
    name="agentcoder:one-agent",
    summary="agentcoder with one agent that writes both the function and its tests",
    paper=f"{AGENTCODER.paper}, its ablation: one agent for both",
    roles=(BOTH, PROGRAMMER_AGAIN, DESIGNER_TOO),
    best_calls=1,
    budget=lambda t: Budget(rounds=1 + t, calls=1 + 2 * t),
    run=AgentCoder(is_one_agent=True).run,
)
