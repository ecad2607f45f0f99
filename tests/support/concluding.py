"""Evaluate a function and return its Outcome, for tests of the status `verified`."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

from adacoder.agents.code_evaluator import CodeEvaluator
from adacoder.conclusion import conclude
from adacoder.domain import Attempt, Candidate, Outcome, Verdict
from adacoder.journal import Journal
from adacoder.source.locate import locate
from adacoder.task import current

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.evaluating import Workspace


async def concluded(
    ws: Workspace,
    text: str,
    *,
    of: str = "f",
    file: str = "mod.py",
    reply: str | None = None,
    overlays: Mapping[Path, str] | None = None,
) -> Outcome:
    """Write `text` to `file`, and evaluate its function `of`. Return the Outcome.

    If `reply` is given, evaluate its function instead. `overlays` has the unsaved texts of other open files.
    """
    path = ws.folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), encoding="utf-8")
    target = locate(dedent(text), path, ws.folder, qualname=of)
    evaluator = CodeEvaluator(ws.host(), Journal(), overlays=overlays or {}, timeout=10)
    candidate = current(target) if reply is None else Candidate(dedent(reply))
    return conclude(target, Attempt(candidate, await evaluator.evaluate(target, candidate)), 1)


def verdict_of(outcome: Outcome) -> Verdict:
    assert outcome.verdict is not None
    return outcome.verdict
