"""Backend for recorded conversations."""

from __future__ import annotations

from adacoder.models.backend import Backend
from adacoder.models.base import ChatModel
from adacoder.models.errors import ModelError
from adacoder.models.examination import Examination, Finding
from adacoder.models.replay import recorded


class ReplayBackend(Backend):
    """Backend for recorded conversations. A model's name is the path of a recording."""

    slots = 4

    async def open_model(self, name: str) -> ChatModel:
        """Implement `Backend.open_model`."""
        return recorded(name)

    async def examine(self, name: str, how: str, *, probes_speed: bool) -> Examination:
        """Implement `Backend.examine`. The speed of a recording cannot be measured."""
        del probes_speed
        model_id = f"replay:{name}"
        text = f"the recorded conversation {name}, {how}"
        try:
            speaker = recorded(name).speaker
        except ModelError as error:
            return Examination((Finding("Model", False, text, str(error), model_id),))
        return Examination((Finding("Model", True, f"{text}, with {speaker}", model=model_id),))
