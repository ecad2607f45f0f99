"""What an examination finds of recorded conversations."""

from __future__ import annotations

from adacoder.models.errors import ModelError
from adacoder.models.examination import Finding, Rung, Terms
from adacoder.models.replay import recorded


class ReplayExaminer:
    """The Examiner of recorded conversations."""

    def __init__(self, terms: Terms) -> None:
        del terms  # a file needs none

    async def rung(self, name: str, how: str) -> Rung:
        """As `Examiner.rung`."""
        model_id = f"replay:{name}"
        text = f"the recorded conversation {name}, {how}"
        try:
            speaker = recorded(name).speaker
        except ModelError as error:
            return Rung((Finding("Model", False, text, str(error), model_id),))
        return Rung((Finding("Model", True, f"{text}, with {speaker}", model=model_id),))

    async def on_gpu(self, name: str) -> None:
        """As `Examiner.on_gpu`."""
