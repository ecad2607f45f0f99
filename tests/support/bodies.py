"""Replace the body of a function and run its examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adacoder.agents.code_evaluator import CodeEvaluator
from adacoder.conclusion import conclude
from adacoder.domain import Attempt, Candidate, Outcome, Target
from adacoder.journal import Journal
from adacoder.pytext import dedent, normalize
from adacoder.task import current

if TYPE_CHECKING:
    from adacoder.sandbox.host import Host

STAND_INS = {
    "none": "return None",
    "pass": "pass",
    "unwritten": "raise NotImplementedError",
    "first": "return {first}",
}
"""Useless bodies, which good examples reveal. `{first}` is the name of the first parameter."""


def with_body(target: Target, statement: str) -> Candidate:
    """Return the function with `statement` as its body. Keep the signature, decorators and docstring."""
    head = target.text[target.definition.start : target.body.start]
    return Candidate(dedent(normalize(f"{head.rstrip()}\n{target.indent}    {statement}\n")))


async def outcome_of(host: Host, target: Target, candidate: Candidate | None = None) -> Outcome:
    """Evaluate `candidate`, by default the function's current body. Return the Outcome."""
    evaluator = CodeEvaluator(host, Journal(), overlays={}, timeout=10)
    target = await evaluator.with_class_examples(target)
    candidate = candidate or current(target)
    return conclude(target, Attempt(candidate, await evaluator.evaluate(target, candidate)), 1)
