"""LDB: A Large Language Model Debugger via Verifying Runtime Execution Step by Step (Zhong et al., ACL 2024).

The trace is observed, with the values of locals. A block ends where the code branches, goes back or calls itself.
"""

from __future__ import annotations

from adacoder.agents.advisor import advisor, coder, told
from adacoder.agents.budget import Budget
from adacoder.agents.programming_assistant import WRITER
from adacoder.agents.request import Request
from adacoder.agents.tracing import observed, shown
from adacoder.strategies.strategy import Strategy

JUDGE = advisor("debugger", "judge blocks", "debugging block by block", "ldb_judge")
"""Says of each block of a `trace` whether it does what it should."""
REWRITER = coder("debugger", "rewriting the function by the debugging", "revise")
"""Rewrites `code` by what was found in its blocks, the `advice`."""
ITERATIONS = 10
"""The most debugging rounds (section 4.1)."""


async def _run(request: Request) -> None:
    """Write; while examples fail, judge the blocks that the failing example executed, and rewrite."""
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
