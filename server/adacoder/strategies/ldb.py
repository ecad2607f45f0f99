"""LDB: A Large Language Model Debugger via Verifying Runtime Execution Step by Step (Zhong et al., ACL 2024).

Traces are recorded at run time, with the values of locals. A block ends where the code branches, jumps back or calls
itself.
"""

from __future__ import annotations

from adacoder.agents.advisor import advisor, coder, told
from adacoder.agents.budget import Budget
from adacoder.agents.programming_assistant import WRITER
from adacoder.agents.request import Request
from adacoder.agents.tracing import observed, shown
from adacoder.strategies.strategy import Strategy

JUDGE = advisor("debugger", "judge blocks", "debugging block by block", "ldb_judge")
"""Judges for each block of a `trace` whether it is correct."""
REWRITER = coder("debugger", "rewriting the function by the debugging", "revise")
"""Rewrites `code` by the judgements on its blocks, passed as `advice`."""
ITERATIONS = 10
"""Maximum number of debugging rounds (section 4.1)."""


async def _run(request: Request) -> None:
    """Write. While examples fail, judge the blocks that the failing example executed, and rewrite."""
    candidate = await request.first(WRITER)
    for _ in request.rounds():
        attempt = await request.evaluate(candidate)
        if request.goes_on:
            about = told(attempt)
            advice = await request.ask(JUDGE, about, trace=shown(await observed(request, attempt), in_blocks=True))
            candidate = await request.ask(REWRITER, about, advice=advice)


LDB = Strategy(
    name="ldb",
    summary="debugs block by block with the values that were seen at run time",
    paper="LDB: A Large Language Model Debugger via Verifying Runtime Execution Step by Step (Zhong et al., ACL 2024)",
    roles=(WRITER, JUDGE, REWRITER),
    iterations=ITERATIONS,
    budget=lambda t: Budget(rounds=1 + t, calls=1 + 2 * t),
    run=_run,
    feedback="the error, and a trace",
)
