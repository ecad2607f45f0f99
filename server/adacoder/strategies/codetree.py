"""CodeTree: Agent-guided Tree Search for Code Generation with Large Language Models (Li et al., NAACL 2025).

`strategy-list` is the paper's baseline (section 4.1). It lists ways to solve the task, and writes one program for
each. If no program is accepted, the authors' code returns the last one. This module returns the best one instead.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from adacoder.agents.advisor import by_plan, code_of, coder, said, told
from adacoder.agents.budget import Budget
from adacoder.agents.request import Request
from adacoder.agents.role import Field, Limits, Role, always
from adacoder.domain import Attempt, Candidate, Reply, Target
from adacoder.replies.judgement import is_accepted, score
from adacoder.replies.listing import items
from adacoder.strategies.strategy import Strategy

MOST_STRATEGIES = 10
"""Maximum number of strategies. Longer lists are cut, as in the authors' code."""
BEST_SCORE = 5
"""The critic's best score. The scale begins at 0, as in the authors' code."""
_REJECTED = "All examples pass, but the function may not hold for all inputs that the docstring allows."


def _strategies(reply: Reply, target: Target) -> tuple[str, ...]:
    return items(reply.text, MOST_STRATEGIES)


def _score(reply: Reply, target: Target) -> tuple[float, str] | None:
    mark = score(reply.text, BEST_SCORE)
    return None if mark is None else (mark, said(reply, target))


def _accepted(reply: Reply, target: Target) -> tuple[bool, str] | None:
    accepts = is_accepted(reply.text)
    return None if accepts is None else (accepts, said(reply, target))


THINKER: Role[tuple[str, ...]] = Role(
    "thinker", "list", "listing strategies", "codetree_list", _strategies, Limits(one_in=8, most=512), otherwise=("",)
)
"""The Role that lists as many strategies as the task needs."""
SOLVER = coder("solver", "writing the function by a strategy", "write_by_plan")
"""The Role that writes the function by one of the strategies. The prompt calls this strategy `plan`."""
REFLECTOR = replace(THINKER, action="reflect", doing="reflecting on the failure", prompt="codetree_reflect")
"""The Role that lists ways to fix a failed program.

Its prompt has the `code`, the `strategy` of this code, and the `error` with the critic's reason.
"""
DEBUGGER = coder("debugger", "revising the function by a reflection", "codetree_revise")
"""The Role that revises `code` by one reflection, which the prompt calls `advice` (eq. 6)."""
CRITIC: Role[tuple[float | None, str]] = Role(
    "critic",
    "score",
    "scoring the attempt",
    "codetree_score",
    _score,
    Limits(one_in=8, most=256),
    otherwise=(None, ""),
    has_found=always,
)
"""The Role that scores failing `code` from 0 to 5, with a reason."""
VERIFIER: Role[tuple[bool, str]] = Role(
    "critic",
    "verify",
    "verifying the function",
    "codetree_verify",
    _accepted,
    Limits(one_in=8, most=256),
    otherwise=(True, ""),
    has_found=always,
)
"""The Role that judges whether `code` is right for all inputs, with a reason.

The `code` has passed the examples, so it is accepted if the reply is unreadable.
"""


def _feedback(attempt: Attempt, reason: str) -> dict[str, Field]:
    """Return the feedback F (eq. 3 and 4) as prompt fields: the results of the examples, and the critic's reason."""
    return told(attempt, _REJECTED, more=f"A critic says: {reason}" if reason else "")


_PAPER = "CodeTree: Agent-guided Tree Search for Code Generation with Large Language Models (Li et al., NAACL 2025)"


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of the tree: a program to write, either by a strategy or by revising the parent's program."""

    path: tuple[str, ...]
    strategy: str
    """The strategy by which the program is written; empty if the model's list could not be read."""
    reflection: str = ""
    parent: dict[str, Field] | None = None
    """Prompt fields about the parent: its code and its feedback F (eq. 3 and 4)."""
    value: float = 0.0
    """The value of the parent: the share of examples that pass, plus a part for the critic's score."""


@dataclass(frozen=True, slots=True)
class CodeTree:
    """The tree search. `:bfs` and `:dfs` have no critic (section 4.3). Each other ablation leaves out one task of the
    critic (Table 4).
    """

    programs: int = 20
    """The budget: the number of programs that run (section 4.1)."""
    depth: int = 3
    """d: maximum depth of a node (Table 3, and the authors' code)."""
    width: int = 3
    """w: maximum number of reflections on a node (Table 3)."""
    strategies: int = MOST_STRATEGIES
    """Maximum number of children of the root. The thinker may list fewer (section 3.3). The authors' code allows 10."""
    breadth_first: bool = False
    scores: bool = True
    verifies: bool = True
    aborts: bool = True

    async def run(self, request: Request) -> None:
        """Write and run one node's program after the other, until a program is accepted or the budget is spent."""
        await request.try_start()
        if not request.goes_on:
            return
        listed = (await request.ask(THINKER))[: self.strategies]
        pending = deque(_Node((f"strategy {n}",), each) for n, each in enumerate(listed, 1))
        rounds = request.rounds(until_proved=self.verifies)
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
        """Run a node's program. Return the children of the node; None if the search ends here."""
        attempt = await request.evaluate(await self._program(request, node))
        if attempt.verdict.final and not attempt.verdict.passed:
            return None
        accepts, mark, reason = await self._judged(request, node, attempt)
        value = request.share(attempt) + (mark or 0) / (3 * BEST_SCORE)
        request.prefer(attempt, value + accepts)
        depth = len(node.path)
        if accepts or depth >= self.depth or not request.has_rounds or self._stalls(node, value, mark):
            return None if accepts else []
        about = _feedback(attempt, reason)
        listed = await request.ask(REFLECTOR, about, strategy=node.strategy or "any")
        return [
            _Node((*node.path, f"reflection {n}"), node.strategy, each, about, value)
            for n, each in enumerate(listed[: self.width], 1)
        ]

    async def _judged(self, request: Request, node: _Node, attempt: Attempt) -> tuple[bool, float | None, str]:
        """Judge a program. Return True if the program is accepted, the critic's score, and the reason.

        A program that passes its examples gets the best score. The score is None if the critic gave none.
        """
        if attempt.verdict.passed:
            accepts, reason = True, ""
            if self.verifies and not attempt.verdict.is_proved:
                accepts, reason = await request.ask(VERIFIER, code=code_of(attempt.candidate))
            return accepts, BEST_SCORE, reason
        if not self.scores:
            return False, None, ""
        return False, *await request.ask(CRITIC, told(attempt), strategy=node.strategy or "any")

    def _stalls(self, node: _Node, value: float, mark: float | None) -> bool:
        """Return True to give up a branch whose program is no better than its parent, as in the authors' code.

        This is so if the program's value is lower. With equal values, it is so if the depth is greater than the
        critic's score.
        """
        is_below_mark = mark is not None and len(node.path) > mark
        return self.aborts and (value < node.value or (value == node.value and is_below_mark))

    async def _program(self, request: Request, node: _Node) -> Candidate:
        if node.parent is not None:
            return await request.ask(DEBUGGER, node.parent, strategy=node.strategy or "any", advice=node.reflection)
        return await by_plan(request, SOLVER, node.strategy)


def _codetree(suffix: str, summary: str, section: str, search: CodeTree) -> Strategy:
    judges: list[Role[Any]] = [CRITIC] * search.scores + [VERIFIER] * search.verifies
    of_a_node = 2 + bool(judges)
    # The programs are one per round, the initial code, and the initial code after its repair by rules.
    return Strategy(
        name=f"codetree{suffix}",
        summary=summary,
        paper=_PAPER + section,
        roles=(THINKER, SOLVER, REFLECTOR, DEBUGGER, *judges),
        iterations=search.programs - 1,
        best_calls=2,
        budget=lambda t: Budget(rounds=1 + t, calls=1 + of_a_node * (1 + t), programs=3 + t),
        run=search.run,
        feedback="the error, reflections, and a critic" if judges else "the error, and reflections",
        selection="the furthest, then by the critic" if judges else "the furthest",
    )


_UNLED = CodeTree(strategies=3, scores=False, verifies=False, aborts=False)
_OTHER_SIZES = (("bfs", 2, 4), ("bfs", 2, 5), ("dfs", 4, 2), ("dfs", 5, 2))
"""Other depths and widths in Table 3."""
CODETREES = (
    _codetree("", "searches a tree of strategies and reflections, led by a critic", "", CodeTree()),
    _codetree(
        ":bfs",
        "codetree without a critic, breadth first: the first that passes",
        ", section 4.3",
        replace(_UNLED, breadth_first=True),
    ),
    _codetree(":dfs", "codetree without a critic, depth first: the first that passes", ", section 4.3", _UNLED),
    *(
        _codetree(
            f":{order}-d{depth}-w{width}",
            f"codetree:{order} with a depth of {depth} and a width of {width}",
            ", Table 3",
            replace(_UNLED, breadth_first=order == "bfs", depth=depth, width=width, strategies=width),
        )
        for order, depth, width in _OTHER_SIZES
    ),
    _codetree(
        ":no-verification", "codetree that accepts any program that passes", ", Table 4", CodeTree(verifies=False)
    ),
    _codetree(":no-abort", "codetree that gives up no branch", ", Table 4", CodeTree(aborts=False)),
    _codetree(":no-scoring", "codetree that values nodes by examples alone", ", Table 4", CodeTree(scores=False)),
)
"""The full search, then its variants without a critic, then its ablations."""


async def _each(request: Request) -> None:
    """Write one program for each listed strategy, until one passes."""
    await request.try_start()
    if not request.goes_on:
        return
    listed = await request.ask(THINKER)
    for advice, _ in zip(listed, request.rounds(), strict=False):
        await request.evaluate(await by_plan(request, SOLVER, advice))


STRATEGY_LIST = Strategy(
    name="strategy-list",
    summary="lists strategies, and writes one program by each",
    paper="a baseline of CodeTree (Li et al., NAACL 2025), section 4.1",
    roles=(THINKER, SOLVER),
    iterations=MOST_STRATEGIES - 1,
    best_calls=2,
    budget=lambda t: Budget(rounds=1 + t, calls=2 + t),
    run=_each,
)
