"""Create the roles of a strategy: advisors, which answer in text, and coders, which write the function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from adacoder.agents.failures import described, shortened
from adacoder.agents.programming_assistant import WRITER
from adacoder.agents.prompt import NO_FIELDS
from adacoder.agents.role import FENCE, Limits, Role
from adacoder.privacy.contents import without_secrets
from adacoder.replies.filters import answer

if TYPE_CHECKING:
    from adacoder.agents.request import Request
    from adacoder.agents.role import Field
    from adacoder.domain import Attempt, Candidate, Reply, Target


def said(reply: Reply, target: Target) -> str:
    """Return a reply's text without the model's thoughts."""
    return answer(reply.text).strip()


def advisor(agent: str, action: str, doing: str, prompt: str, *, most: int = 512) -> Role[str]:
    """Create a role that answers in text, in at most `most` tokens. The text is empty if the model gives no answer."""
    return Role(agent, action, doing, prompt, said, Limits(one_in=8, most=most), otherwise="")


def coder(agent: str, doing: str, prompt: str, *, thinks: bool = False) -> Role[Candidate]:
    """Create a role that writes the function.

    Set `thinks` if the prompt asks for prose before the code. The first code fence does not end such a reply.
    """
    limits = WRITER.limits
    if thinks:
        limits = replace(limits, stop=tuple(text for text in limits.stop if text != FENCE), before=None)
    return replace(WRITER, agent=agent, doing=doing, prompt=prompt, limits=limits)


async def by_plan(
    request: Request, role: Role[Candidate], plan: str, about: Mapping[str, Field] = NO_FIELDS
) -> Candidate:
    """Ask `role` to write the function by `plan`.

    If `plan` is empty, ask for a repair of the attempt in `about`. If both are empty, ask for a first version.
    """
    if plan:
        return await request.ask(role, about, plan=plan)
    if about:
        return await request.ask(replace(role, prompt="revise"), about, advice="")
    return await request.ask(replace(role, prompt=WRITER.prompt))


def code_of(candidate: Candidate) -> str:
    """Return a candidate's code without passwords, keys and tokens."""
    return without_secrets(candidate.text).rstrip()


def told(attempt: Attempt, error: Field | None = None, *, more: str = "") -> dict[str, Field]:
    """Return the prompt fields `code` and `error` of an attempt.

    `error` is used only if the attempt passed. `more` is appended to the error.
    """
    if attempt.verdict.failure is not None:
        error = described(attempt.verdict)
    error = error or "All examples pass."
    return {"code": code_of(attempt.candidate), "error": partial(_with_more, error, more) if more else error}


def _with_more(error: Field, more: str, most: int) -> str:
    found = shortened(error, most) if isinstance(error, str) else error(most)
    return f"{found}\n\n{shortened(more, most)}"
