"""One file a role. A strategy is given a Team and awaits its Agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adacoder.agents.code_evaluator import CodeEvaluator
    from adacoder.agents.debug_specialist import DebugSpecialist
    from adacoder.agents.programming_assistant import ProgrammingAssistant
    from adacoder.agents.prompt_engineer import PromptEngineer
    from adacoder.journal import Journal


@dataclass(frozen=True, slots=True)
class Team:
    """The Agents of one request, and the Journal they write."""

    programming_assistant: ProgrammingAssistant
    code_evaluator: CodeEvaluator
    debug_specialist: DebugSpecialist
    prompt_engineer: PromptEngineer
    journal: Journal
