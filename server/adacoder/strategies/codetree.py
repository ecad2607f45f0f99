"""CodeTree: Agent-guided Tree Search for Code Generation with Large Language Models (Li et al., NAACL 2025).

The released code returns the last failing program where none is accepted; here the best-valued one is returned.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from adacoder.agents.advisor import code_of, told
from adacoder.agents.budget import Budget
from adacoder.agents.programming_assistant import WRITER
from adacoder.agents.request import Request
from adacoder.agents.role import Role
from adacoder.domain import Attempt, Candidate
from adacoder.strategies import codetree_roles as roles
from adacoder.strategies.strategy import Strategy

PROGRAMS = 20
"""The budget: programs that are run (section 4.1)."""
_PAPER = "CodeTree: Agent-guided Tree Search for Code Generation with Large Language Models (Li et al., NAACL 2025)"
_REJECTED = "All examples pass, but the function may not hold for all inputs that the docstring allows."


@dataclass(frozen=True, slots=True)
class _Node:
    """A program to write: by a strategy, or from its parent."""

    path: tuple[str, ...]
    advice: str
    parent: Attempt | None = None
    value: float = 0.0
    """The parent's."""


@dataclass(frozen=True, slots=True)
class CodeTree:
    """The search; `-bfs` and `-dfs` of section 4.3 have no critic, and Table 4 leaves out its tasks one by one."""

    depth: int = 3
    """Greatest depth of a node (section 4.1)."""
    width: int = 3
    """Most children of a node (section 4.1)."""
    breadth_first: bool = False
    scores: bool = True
    verifies: bool = True
    aborts: bool = True

    async def run(self, request: Request) -> None:
        """Expand the nodes, each a program that is run, until one is accepted or the budget is spent."""
        await request.try_start()
        if not request.goes_on:
            return
        listed = await request.ask(roles.THINKER)
        pending = deque(_Node((f"strategy {n}",), each) for n, each in enumerate(listed, 1))
        for _ in request.rounds(past_a_pass=self.verifies):
            if not pending:
                return
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
        """The children of a node; None where its program is accepted."""
        attempt = await request.evaluate(await self._program(request, node))
        passed = attempt.verdict.passed
        if passed and (not self.verifies or await request.ask(roles.VERIFIER, code=code_of(attempt))):
            request.prefer(attempt, 2.0)  # above any value
            return None
        about = told(attempt, _REJECTED)
        mark: float = roles.BEST_SCORE if passed else 0
        if self.scores and not passed:
            mark = await request.ask(roles.CRITIC, about)
        value = request.share(attempt) + mark / (3 * roles.BEST_SCORE)
        request.prefer(attempt, value)
        depth = len(node.path)
        stalls = self.aborts and depth > 1 and (value < node.value or (value == node.value and depth > mark))
        if depth >= self.depth or stalls or not request.has_rounds:
            return []
        reflections = (await request.ask(roles.REFLECTOR, about))[: self.width]
        return [_Node((*node.path, f"reflection {n}"), each, attempt, value) for n, each in enumerate(reflections, 1)]

    async def _program(self, request: Request, node: _Node) -> Candidate:
        if node.parent is not None:
            return await request.ask(roles.DEBUGGER, told(node.parent, _REJECTED), advice=node.advice)
        return await (request.ask(roles.SOLVER, plan=node.advice) if node.advice else request.ask(WRITER))


def _codetree(suffix: str, summary: str, section: str, search: CodeTree) -> Strategy:
    judges: list[Role[Any]] = [roles.CRITIC] * search.scores + [roles.VERIFIER] * search.verifies
    of_a_node = 2 + bool(judges)
    return Strategy(
        name=f"codetree{suffix}",
        summary=summary,
        paper=_PAPER + section,
        roles=(roles.THINKER, roles.SOLVER, WRITER, roles.REFLECTOR, roles.DEBUGGER, *judges),
        iterations=PROGRAMS - 1,
        best_calls=2 + search.verifies,
        budget=lambda t: Budget(rounds=1 + t, calls=1 + of_a_node * (1 + t), programs=2 + t),
        run=search.run,
        feedback="the error, reflections, and a critic" if judges else "the error, and reflections",
        selection="the furthest, then by the critic" if judges else "the furthest",
    )


CODETREES = tuple(
    starmap(
        _codetree,
        (
            ("", "searches a tree of strategies and reflections, led by a critic", "", CodeTree()),
            (
                "-bfs",
                "codetree without a critic, breadth first: the first that passes",
                ", section 4.3",
                CodeTree(breadth_first=True, scores=False, verifies=False, aborts=False),
            ),
            (
                "-dfs",
                "codetree without a critic, depth first: the first that passes",
                ", section 4.3",
                CodeTree(scores=False, verifies=False, aborts=False),
            ),
            ("-no-verification", "codetree that accepts whatever passes", ", Table 4", CodeTree(verifies=False)),
            ("-no-abort", "codetree that gives up no branch", ", Table 4", CodeTree(aborts=False)),
            ("-no-scoring", "codetree that values nodes by examples alone", ", Table 4", CodeTree(scores=False)),
        ),
    )
)
"""The search, first; its variants without a critic; and its ablations."""
