"""Workflows that revise a function by advice while its examples fail.

They differ in the advice. Self-Debugging explains the code, Reflexion reflects on failures, INTERVENOR teaches a
method, and LDB judges a trace.

A trace has the values of local variables. LDB divides it into blocks, which end where the code branches, jumps back or
calls itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adacoder.agents.advisor import advisor, coder, told
from adacoder.agents.attempt_traces import observed, shown
from adacoder.agents.budget import Budget
from adacoder.agents.programming_assistant import WRITER
from adacoder.agents.request import Request
from adacoder.agents.role import Field, Role
from adacoder.domain import Candidate
from adacoder.strategies.strategy import Strategy
from adacoder.traces import Trace


@dataclass(frozen=True, slots=True)
class Revising:
    """A loop of advice and revision that several workflows use."""

    adviser: Role[str]
    reviser: Role[Candidate]
    writer: Role[Candidate] = WRITER
    memory: int = 0
    """Maximum number of pieces of advice in the reviser's prompt field `memory`. With 0, the reviser only gets the
    latest advice, as `advice`.
    """
    shows: Callable[[Trace], Field] | None = None
    """Turns the trace of the failing example into the adviser's prompt field `trace`; None to show no trace."""

    async def run(self, request: Request) -> None:
        """Write the function. While examples fail, ask for advice and revise."""
        await self.revise(request, await request.first(self.writer))

    async def revise(self, request: Request, candidate: Candidate, **fields: Field) -> None:
        """Revise `candidate` while examples fail. `fields` are additional prompt fields for the adviser."""
        remembered: list[str] = []
        for _ in request.rounds():
            attempt = await request.evaluate(candidate)
            if not request.goes_on:
                return
            about = told(attempt)
            if self.shows is not None:
                fields["trace"] = self.shows(await observed(request, attempt))
            advice = await request.ask(self.adviser, {**about, **fields})
            if not self.memory:
                candidate = await request.ask(self.reviser, about, advice=advice)
                continue
            remembered = [*remembered, *filter(None, [advice])][-self.memory :]
            learnt = "\n\n".join(remembered) or "Nothing so far."
            candidate = await request.ask(self.reviser, about, memory=learnt)


def _budget(t: int) -> Budget:
    return Budget(rounds=1 + t, calls=1 + 2 * t)


EXPLAINER = advisor("self_debugger", "explain", "explaining the code", "self_debugging_explain")
"""The Role that explains `code` line by line, and then the `error`."""
REVISER = coder("self_debugger", "revising the function", "revise")
"""The Role that revises `code` by its `error` and the `advice`."""
SELF_DEBUGGING = Strategy(
    name="self-debugging",
    summary="explains its code line by line after a failure, and revises it",
    paper="Teaching Large Language Models to Self-Debug (Chen et al., ICLR 2024)",
    roles=(WRITER, EXPLAINER, REVISER),
    iterations=10,  # section 4, "Maximum number of debugging turns"
    budget=_budget,
    run=Revising(EXPLAINER, REVISER).run,
    feedback="the error, and an explanation",
)

REFLECTOR = advisor("reflector", "reflect", "reflecting on the failure", "reflexion_reflect", most=256)
"""The Role that explains briefly why `code` failed with `error`, and what to do next time."""
ACTOR = coder("actor", "writing the function", "write")
"""The Role that writes the function."""
ACTOR_AGAIN = coder("actor", "revising the function by the reflections", "reflexion_revise")
"""The Role that revises `code` by its `error` and the `memory`."""
MEMORY = 3
"""Maximum number of reflections in the memory (section 3: one to three)."""
REFLEXION = Strategy(
    name="reflexion",
    summary="reflects on each failure in words, and remembers the last three reflections",
    # In the authors' code, one generated assert judges. Here, the docstring's Examples judge.
    paper="Reflexion: Language Agents with Verbal Reinforcement Learning (Shinn et al., NeurIPS 2023)",
    roles=(ACTOR, REFLECTOR, ACTOR_AGAIN),
    iterations=10,  # section 4.3; the authors' script has 2 iterations
    budget=_budget,
    run=Revising(REFLECTOR, ACTOR_AGAIN, ACTOR, memory=MEMORY).run,
    feedback="the error, and reflections",
)

LEARNER = coder("learner", "writing the function", "write")
"""The Role that writes the function."""
LEARNER_AGAIN = coder("learner", "repairing the function by the method", "revise")
"""The Role that repairs `code` by the teacher's method, which the prompt calls `advice`."""
TEACHER = advisor("teacher", "teach", "finding a method to repair the function", "intervenor_teach")
"""The Role that describes a method to repair `code`, but writes no code."""
INTERVENOR = Strategy(
    name="intervenor",
    summary="a learner writes, and a teacher explains how to repair the failure",
    paper="INTERVENOR: Prompting the Coding Ability of LLMs with the Interactive Chain of Repair (Wang et al., 2024)",
    roles=(LEARNER, LEARNER_AGAIN, TEACHER),
    iterations=5,  # AdaCoder's own choice, because the paper states no number
    budget=_budget,
    run=Revising(TEACHER, LEARNER_AGAIN, LEARNER).run,
    feedback="the error, and a method",
)

JUDGE = advisor("debugger", "judge blocks", "debugging block by block", "ldb_judge")
"""The Role that judges each block of a `trace` of `code`."""
REWRITER = coder("debugger", "revising the function", "revise")
"""The Role that rewrites `code`. The prompt field `advice` has the judgements on the blocks."""
LDB = Strategy(
    name="ldb",
    summary="debugs block by block with the values that were seen at run time",
    paper="LDB: A Large Language Model Debugger via Verifying Runtime Execution Step by Step (Zhong et al., ACL 2024)",
    roles=(WRITER, JUDGE, REWRITER),
    iterations=10,  # as in section 4.1
    budget=_budget,
    run=Revising(JUDGE, REWRITER, shows=lambda trace: shown(trace, in_blocks=True)).run,
    feedback="the error, and a trace",
)
