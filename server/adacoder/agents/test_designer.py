"""The Test Designer: suggests examples for a docstring that has none, or too few.

The name and the role are AgentCoder's. What it suggests is a model's opinion of what the docstring means, so it never
decides anything: a person reads the examples before they enter the docstring.
"""

from __future__ import annotations

from dataclasses import dataclass

from adacoder.agents.conversation import Conversation
from adacoder.aside import aside
from adacoder.domain import Example, Target
from adacoder.journal import Journal
from adacoder.replies.filters import answer
from adacoder.source.examples import suggested


@dataclass(frozen=True, slots=True)
class TestDesigner:
    """A model-based Agent."""

    conversation: Conversation
    journal: Journal

    async def suggest(self, target: Target) -> tuple[Example, ...]:
        """Examples that show an output, and are not in its docstring yet.

        Raises:
            ModelError: the model could not reply.
        """
        with self.journal.step("test_designer", "suggest") as step:
            call = (await self.conversation.briefing()).to_suggest()
            reply = await self.conversation.ask(call, step, enough=lambda text: False)
            known = {example.source for example in target.examples}
            text = await aside(answer, reply.text)
            found = await aside(suggested, text)
            self.conversation.insist(reply, found=bool(found))
            return tuple(
                example for example in found if example.has_want and example.source not in known and _fits(example)
            )


def _fits(example: Example) -> bool:
    """Whether the example can stand in any docstring, also in a raw one, where nothing can be escaped."""
    text = example.source + example.want
    return '"""' not in text and "'''" not in text and not text.rstrip().endswith("\\")
