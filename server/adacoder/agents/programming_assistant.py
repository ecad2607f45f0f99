"""The Programming Assistant (paper, section IV-B): writes the function, at first without a plan, later by one.

It is never shown its earlier code: writing afresh is what the paper found to work, refining is what it found not to.
"""

from __future__ import annotations

from dataclasses import dataclass

from adacoder.agents.conversation import Conversation
from adacoder.aside import aside
from adacoder.domain import Candidate, Plan, Target
from adacoder.journal import Journal
from adacoder.replies.completion import completion
from adacoder.replies.extract import extract


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
        with self.journal.step("programming_assistant", "write") as step:
            call = (await self.conversation.briefing()).to_write(plan)
            reply = await self.conversation.ask(call, step, enough=completion(target))
            return await aside(extract, reply, target)
