"""CodeTree: Agent-guided Tree Search for Code Generation with Large Language Models (Li et al., NAACL 2025).

If no program is accepted, the released code returns the last failing one; this module returns the best-valued one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from adacoder.agents.advisor import by_plan, code_of, told
from adacoder.agents.budget import Budget
from adacoder.agents.request import Request
from adacoder.agents.role import Field, Role
from adacoder.domain import Attempt, Candidate
from adacoder.strategies import codetree_roles as roles
from adacoder.strategies.strategy import Strategy

_PAPER = "CodeTree: Agent-guided Tree Search for Code Generation with Large Language Models (Li et al., NAACL 2025)"


@dataclass(frozen=True, slots=True)
class _Node:
    """A program to write, either by a strategy or by revising the parent's program."""

    path: tuple[str, ...]
    strategy: str
    """Empty if none could be read from the reply."""
    reflection: str = ""
    parent: dict[str, Field] | None = None
    """Prompt fields about the parent: its code and its feedback F (eq. 3 and 4)."""
    value: float = 0.0
    """Value of the parent."""


@dataclass(frozen=True, slots=True)
class CodeTree:
    """The tree search.

    Its variants `-bfs` and `-dfs` (section 4.3) have no critic. Table 4 ablates the critic's tasks one by one.
    """

    programs: int = 20
    """Budget: the number of programs that are run (section 4.1)."""
    depth: int = 3
    """d: maximum depth of a node (Table 3; released code)."""
    width: int = 3
    """w: maximum number of reflections on a node (Table 3)."""
    strategies: int = roles.MOST_STRATEGIES
    """Maximum number of children of the root. The thinker decides how many (section 3.3), up to 10 (released code).
    Without a critic it is w (section 4.3)."""
    breadth_first: bool = False
    scores: bool = True
    verifies: bool = True
    aborts: bool = True

    async def run(self, request: Request) -> None:
        """Expand node after node, running its program, until one is accepted or the budget is spent."""
        await request.try_start()
        if not request.goes_on:
            return
        listed = (await request.ask(roles.THINKER))[: self.strategies]
        pending = deque(_Node((f"strategy {n}",), each) for n, each in enumerate(listed, 1))
        rounds = request.rounds(past_a_pass=self.verifies)
        while pending and next(rounds, None) is not None:
            node = pending.popleft()
            with request.branch(*node.path):
                children = await self._expanded(request, node)
            if children is None:
                return
            if self.breadth_first:
                pending.extend(children)
            else:
                pending.extendleft(reversed(children))

    async def _expanded(self, request: Request, node: _Node) -> list[_Node] | None:
        """Run a node's program and return its children; None if it is accepted, or if no other program can help."""
        attempt = await request.evaluate(await self._program(request, node))
        if attempt.verdict.final and not attempt.verdict.passed:
            return None
        accepts, mark, reason = await self._judged(request, node, attempt)
        value = request.share(attempt) + mark / (3 * roles.BEST_SCORE)
        request.prefer(attempt, value + accepts)
        depth = len(node.path)
        if accepts or depth >= self.depth or not request.has_rounds or self._stalls(node, value, mark):
            return None if accepts else []
        about = roles.feedback(attempt, reason)
        listed = await request.ask(roles.REFLECTOR, about, strategy=node.strategy or "any")
        return [
            _Node((*node.path, f"reflection {n}"), node.strategy, each, about, value)
            for n, each in enumerate(listed[: self.width], 1)
        ]

    async def _judged(self, request: Request, node: _Node, attempt: Attempt) -> tuple[bool, float, str]:
        """Decide if a program is accepted; also return the critic's mark (the best one for a pass) and reason."""
        if attempt.verdict.passed:
            accepts, reason = True, ""
            if self.verifies:
                accepts, reason = await request.ask(roles.VERIFIER, code=code_of(attempt))
            return accepts, roles.BEST_SCORE, reason
        if not self.scores:
            return False, 0.0, ""
        return False, *await request.ask(roles.CRITIC, told(attempt), strategy=node.strategy or "any")

    def _stalls(self, node: _Node, value: float, mark: float) -> bool:
        """True if a child has less value than its parent, or the same value and a depth above its mark (released
        code)."""
        depth = len(node.path)
        return self.aborts and depth > 1 and (value < node.value or (value == node.value and depth > mark))

    async def _program(self, request: Request, node: _Node) -> Candidate:
        if node.parent is not None:
            return await request.ask(roles.DEBUGGER, node.parent, advice=node.reflection)
        return await by_plan(request, roles.SOLVER, node.strategy)


def _codetree(suffix: str, summary: str, section: str, search: CodeTree) -> Strategy:
    judges: list[Role[Any]] = [roles.CRITIC] * search.scores + [roles.VERIFIER] * search.verifies
    of_a_node = 2 + bool(judges)
    # One program per round, plus the initial code and the result of repairing it by rule.
    return Strategy(
        name=f"codetree{suffix}",
        summary=summary,
        paper=_PAPER + section,
        roles=(roles.THINKER, roles.SOLVER, roles.REFLECTOR, roles.DEBUGGER, *judges),
        iterations=search.programs - 1,
        best_calls=2 + search.verifies,
        budget=lambda t: Budget(rounds=1 + t, calls=1 + of_a_node * (1 + t), programs=3 + t),
        run=search.run,
        feedback="the error, reflections, and a critic" if judges else "the error, and reflections",
        selection="the furthest, then by the critic" if judges else "the furthest",
    )


_UNLED = CodeTree(strategies=3, scores=False, verifies=False, aborts=False)
CODETREES = (
    _codetree("", "searches a tree of strategies and reflections, led by a critic", "", CodeTree()),
    _codetree(
        "-bfs",
        "codetree without a critic, breadth first: the first that passes",
        ", section 4.3",
        replace(_UNLED, breadth_first=True),
    ),
    _codetree("-dfs", "codetree without a critic, depth first: the first that passes", ", section 4.3", _UNLED),
    _codetree(
        "-no-verification", "codetree that accepts any program that passes", ", Table 4", CodeTree(verifies=False)
    ),
    _codetree("-no-abort", "codetree that gives up no branch", ", Table 4", CodeTree(aborts=False)),
    _codetree("-no-scoring", "codetree that values nodes by examples alone", ", Table 4", CodeTree(scores=False)),
)
"""The full search first, then its variants without a critic and its ablations."""
