"""AgentCoder: Multi-Agent-based Code Generation with Iterative Testing and Optimisation (Huang et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adacoder.agents.advisor import told
from adacoder.agents.budget import Budget
from adacoder.agents.code_evaluator import Feedback
from adacoder.agents.failures import reported
from adacoder.agents.probes import Probes
from adacoder.agents.request import Request
from adacoder.domain import Candidate, Example
from adacoder.strategies.agentcoder_roles import BOTH, DESIGNER, PROGRAMMER, PROGRAMMER_AGAIN
from adacoder.strategies.strategy import Strategy

ITERATIONS = 5
"""The most rounds after the first (section 3.3)."""


@dataclass(frozen=True, slots=True)
class AgentCoder:
    """The programmer, the test designer and the executor, with what section 5 leaves out."""

    designs: bool = True
    executes: bool = True
    """Whether what tests say goes back to the programmer."""
    is_one_agent: bool = False

    async def run(self, request: Request) -> None:
        """Design tests; write; then revise by what the executor says of the docstring's Examples and the tests."""
        await request.try_start()
        candidate, tests = await self._first(request)
        probes = Probes(request, tests)
        for _ in request.rounds(past_a_pass=True):
            attempt = await request.evaluate(candidate)
            feedback = await probes.run(attempt) if self.executes else Feedback((), None)
            if attempt.verdict.passed and feedback.failure is None:
                return
            if self.executes and request.has_rounds:
                about = told(attempt, reported(feedback.failure))
                candidate = await request.ask(PROGRAMMER_AGAIN, about, advice="")

    async def _first(self, request: Request) -> tuple[Candidate, tuple[Example, ...]]:
        if self.is_one_agent and request.start is None:
            return await request.ask(BOTH)
        tests = await request.ask(DESIGNER) if self.designs else ()
        return await request.first(PROGRAMMER), tests


AGENTCODER = Strategy(
    name="agentcoder",
    summary="a designer writes tests without seeing code; what they find goes back to the programmer",
    paper="AgentCoder: Multi-Agent-based Code Generation with Iterative Testing and Optimisation (Huang et al., 2024)",
    roles=(PROGRAMMER, PROGRAMMER_AGAIN, DESIGNER),
    iterations=ITERATIONS,
    best_calls=2,
    budget=lambda t: Budget(rounds=1 + t, calls=2 + t),
    run=AgentCoder().run,
    feedback="the error, of designed tests too",
    tests="designed, as probes",
    selection="the furthest, then by probes passed",
)
PROGRAMMER_ONLY = replace(
    AGENTCODER,
    name="agentcoder-programmer",
    summary="agentcoder's programmer alone, once",
    paper=f"{AGENTCODER.paper}, its ablation: programmer only",
    roles=(PROGRAMMER,),
    iterations=None,
    best_calls=1,
    budget=lambda t: Budget(rounds=1, calls=1),
    run=AgentCoder(designs=False, executes=False).run,
    feedback="none",
    tests="docstring",
    selection="the furthest",
)
NOTHING_RUN = replace(
    PROGRAMMER_ONLY,
    name="agentcoder-designer",
    summary="agentcoder's programmer and designer, whose tests nobody runs",
    paper=f"{AGENTCODER.paper}, its ablation: programmer and test designer",
    roles=(PROGRAMMER, DESIGNER),
    best_calls=2,
    budget=lambda t: Budget(rounds=1, calls=2),
    run=AgentCoder(executes=False).run,
)
EXECUTOR_ONLY = replace(
    AGENTCODER,
    name="agentcoder-executor",
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
    name="agentcoder-one-agent",
    summary="agentcoder with one agent that writes both the function and its tests",
    paper=f"{AGENTCODER.paper}, its ablation: one agent for both",
    roles=(BOTH, PROGRAMMER_AGAIN, DESIGNER, PROGRAMMER),
    best_calls=1,
    budget=lambda t: Budget(rounds=1 + t, calls=1 + t),
    run=AgentCoder(is_one_agent=True).run,
)
