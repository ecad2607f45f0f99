"""Reflexion: Language Agents with Verbal Reinforcement Learning (Shinn et al., 2023): what was learnt is remembered.

The released code judges by one generated assert; here the docstring's Examples do.
"""

from __future__ import annotations

from adacoder.agents.advisor import advisor, told
from adacoder.agents.budget import Budget
from adacoder.agents.programming_assistant import WRITER
from adacoder.agents.request import Request
from adacoder.strategies.self_debugging import REVISER
from adacoder.strategies.strategy import Strategy

REFLECTOR = advisor("reflector", "reflect", "reflecting on the failure", "reflexion_reflect", most=256)
"""Says in a few sentences why `code` failed by its `error`, and what to do next time."""
MEMORY = 3
"""The most reflections that are remembered (section 3: one to three)."""
TRIALS = 10
"""The most revisions (section 4.3; the released script has 2)."""


async def _run(request: Request) -> None:
    """Write; then, while examples fail, reflect and revise by the last reflections."""
    memory: list[str] = []
    candidate = await request.first(WRITER)
    for _ in request.rounds():
        attempt = await request.evaluate(candidate)
        if request.goes_on:
            about = told(attempt)
            memory = [*memory, await request.ask(REFLECTOR, about)][-MEMORY:]
            candidate = await request.ask(REVISER, about, advice="\n\n".join(filter(None, memory)))


REFLEXION = Strategy(
    name="reflexion",
    summary="reflects on each failure in words, and remembers the last three reflections",
    paper="Reflexion: Language Agents with Verbal Reinforcement Learning (Shinn et al., NeurIPS 2023)",
    roles=(WRITER, REFLECTOR, REVISER),
    iterations=TRIALS,
    budget=lambda t: Budget(rounds=1 + t, calls=1 + 2 * t),
    run=_run,
    feedback="the error, and reflections",
)
