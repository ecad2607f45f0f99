"""Strategies without feedback: direct writing, chain of thought, resampling, and Self-Planning (Jiang et al.)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adacoder.agents.advisor import by_plan, coder
from adacoder.agents.budget import Budget
from adacoder.agents.programming_assistant import WRITER
from adacoder.agents.prompt_engineer import PLANNER
from adacoder.agents.request import Request
from adacoder.agents.role import Role
from adacoder.domain import Candidate
from adacoder.models.base import Sampling
from adacoder.strategies.strategy import Strategy

THINKER = coder("programming_assistant", "thinking, then writing the function", "cot_write", thinks=True)
"""The Role that thinks before it writes."""


SAMPLES = 20
"""k: maximum number of samples of `resample`. CodeTree's budget has the same number of programs (section 4.1)."""
CHANCE = Sampling(temperature=1.0)
"""Temperature of `resample`, as in the paper of CodeTree (section 4.1)."""


@dataclass(frozen=True, slots=True)
class Direct:
    """A loop that writes and evaluates. No round sees the attempts of earlier rounds."""

    writer: Role[Candidate] = WRITER
    sampling: Sampling | None = None
    """Sampling parameters; None to use those of the settings."""

    async def run(self, request: Request) -> None:
        """Write until a candidate passes, without repairs or plans."""
        await request.try_start()
        for _ in request.rounds():
            await request.evaluate(await request.ask(self.writer, sampling=self.sampling))


def _samples(t: int) -> Budget:
    return Budget(rounds=1 + t, calls=1 + t)


DIRECT = Strategy(
    name="direct",
    summary="asks once and evaluates once",
    paper="the baseline of the AdaCoder paper, section III-C",
    roles=(WRITER,),
    iterations=None,
    budget=_samples,
    run=Direct().run,
)
COT = Strategy(
    name="cot",
    summary="thinks step by step, then writes, once",
    paper="Chain-of-Thought Prompting (Wei et al., 2022), as a baseline of all four papers",
    roles=(THINKER,),
    iterations=None,
    budget=_samples,
    run=Direct(THINKER).run,
)
RESAMPLE = Strategy(
    name="resample",
    summary="writes up to 20 times at temperature 1 and takes the first that passes",
    paper="a baseline of CodeTree (Li et al., NAACL 2025), section 4.1",
    roles=(WRITER,),
    iterations=SAMPLES - 1,
    budget=_samples,
    run=Direct(sampling=CHANCE).run,
)


FIRST_PLANNER = replace(
    PLANNER, agent="planner", doing="planning", prompt="self_planning_plan", system="", otherwise=""
)
"""The Role that plans from the docstring, before there is any code."""
BY_PLAN = coder("programming_assistant", "writing the function by the plan", "write_by_plan")
"""The Role that writes the function by a `plan`."""


async def _by_plan(request: Request) -> None:
    await request.try_start()
    for _ in request.rounds():
        plan = await request.ask(FIRST_PLANNER)
        await request.evaluate(await by_plan(request, BY_PLAN, plan))


SELF_PLANNING = Strategy(
    name="self-planning",
    summary="plans, then writes by the plan, once",
    paper="Self-Planning Code Generation with Large Language Models (Jiang et al., 2024)",
    roles=(FIRST_PLANNER, BY_PLAN),
    iterations=None,
    best_calls=2,
    budget=lambda t: Budget(rounds=1 + t, calls=2),
    run=_by_plan,
)
