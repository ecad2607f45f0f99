"""Reflexion: Language Agents with Verbal Reinforcement Learning (Shinn et al., 2023). It remembers its reflections.

The released code judges by one generated assert; here the docstring's Examples do.
"""

from __future__ import annotations

from adacoder.agents.advisor import advisor, coder, told
from adacoder.agents.budget import Budget
from adacoder.agents.request import Request
from adacoder.strategies.strategy import Strategy

REFLECTOR = advisor("reflector", "reflect", "reflecting on the failure", "reflexion_reflect", most=256)
"""Explains in a few sentences why `code` failed with its `error`, and what to do next time."""
ACTOR = coder("actor", "writing the function", "write")
"""Writes the function."""
ACTOR_AGAIN = coder("actor", "revising the function by the reflections", "reflexion_revise")
"""Revises `code` by its `error` and the `memory`."""
MEMORY = 3
"""Maximum number of reflections to remember (section 3: one to three)."""
TRIALS = 10
"""Maximum number of revisions (section 4.3; the released script has 2)."""


async def _run(request: Request) -> None:
    """Write. While examples fail, reflect and revise by the latest reflections."""
    memory: list[str] = []
    candidate = await request.first(ACTOR)
    for _ in request.rounds():
        attempt = await request.evaluate(candidate)
        if request.goes_on:
            about = told(attempt)
            reflection = await request.ask(REFLECTOR, about)
            memory = [*memory, *filter(None, [reflection])][-MEMORY:]
            learnt = "\n\n".join(memory) or "Nothing so far."
            candidate = await request.ask(ACTOR_AGAIN, about, memory=learnt)


REFLEXION = Strategy(
    name="reflexion",
    summary="reflects on each failure in words, and remembers the last three reflections",
    paper="Reflexion: Language Agents with Verbal Reinforcement Learning (Shinn et al., NeurIPS 2023)",
    roles=(ACTOR, REFLECTOR, ACTOR_AGAIN),
    iterations=TRIALS,
    budget=lambda t: Budget(rounds=1 + t, calls=1 + 2 * t),
    run=_run,
    feedback="the error, and reflections",
)
