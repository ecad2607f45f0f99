"""The Prompt Engineer (paper, section IV-E): plans the next attempt from the error of the last."""

from __future__ import annotations

from dataclasses import dataclass

from adacoder.agents.conversation import Conversation
from adacoder.aside import aside
from adacoder.domain import Plan, Target, Verdict
from adacoder.journal import Journal
from adacoder.replies.steps import are_complete, steps


@dataclass(frozen=True, slots=True)
class PromptEngineer:
    """A model-based Agent."""

    conversation: Conversation
    journal: Journal

    async def plan(self, target: Target, verdict: Verdict) -> Plan:
        """Numbered steps for another attempt, from what `verdict` found wrong.

        Raises:
            ModelError: the model could not reply.
            ValueError: the verdict passed, so there is nothing to plan from.
        """
        if verdict.failure is None:
            raise ValueError("a passed verdict leaves nothing to plan")
        with self.journal.step("prompt_engineer", "plan") as step:
            call = (await self.conversation.briefing()).to_plan(verdict.failure)
            reply = await self.conversation.ask(call, step, enough=are_complete)
            return Plan(await aside(steps, reply.text))
