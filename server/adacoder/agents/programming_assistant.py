"""The Programming Assistant (paper, section IV-B): writes the function, at first without a plan, later by one.

It is never shown its earlier code: writing afresh is what the paper found to work, refining is what it found not to.
"""

from __future__ import annotations

from dataclasses import dataclass

from adacoder.agents.conversation import Conversation
from adacoder.agents.prompt import Call
from adacoder.aside import aside
from adacoder.domain import Candidate, Plan, Target
from adacoder.journal import Journal
from adacoder.replies.completion import completion, was_stopped_short
from adacoder.replies.extract import extract
from adacoder.source.imports import is_in_the_table

_AGAIN = "The server ended the reply before the function was whole: it is asked for once more."


@dataclass(frozen=True, slots=True)
class ProgrammingAssistant:
    """A model-based Agent."""

    conversation: Conversation
    journal: Journal

    async def write(self, target: Target, plan: Plan | None = None) -> Candidate:
        """The target as the model writes it, following `plan` if there is one.

        Raises:
            ModelError: the model could not reply.
        """
        call = (await self.conversation.briefing()).to_write(plan)
        return await self._written(target, call) or await self._written(target, call) or Candidate("")

    async def _written(self, target: Target, call: Call) -> Candidate | None:
        """What the model writes; None where a server has ended the reply too early, which it does once a request."""
        with self.journal.step("programming_assistant", "write") as step:
            reply = await self.conversation.ask(call, step, enough=completion(target))
            if self.conversation.may_have_stopped(call, reply) and await aside(_was_stopped_short, reply.text, target):
                self.conversation.never_stop()
                step.details["again"] = _AGAIN
                return None
            candidate = await aside(extract, reply, target)
            if not candidate.function:
                self.conversation.insist(reply, found=False)
                self.conversation.never_stop()  # perhaps it was to begin where the server stopped
            return candidate


def _was_stopped_short(text: str, target: Target) -> bool:
    """As `replies.completion` sees it; what a rule can import is not waited for."""
    return was_stopped_short(text, target, is_in_the_table)
