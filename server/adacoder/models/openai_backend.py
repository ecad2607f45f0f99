"""Backend for OpenAI-compatible servers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from functools import partial

from adacoder.messages import Text
from adacoder.models.address import base_url
from adacoder.models.backend import ServedBackend
from adacoder.models.base import ChatModel
from adacoder.models.errors import MODEL, OPENAI, ModelError, ModelMissing, Nameless, NoChat
from adacoder.models.examination import NAMES_SHOWN, Examination, Finding, context
from adacoder.models.openai import OpenAIServer
from adacoder.models.server import Facts, permitted


class OpenAIBackend(ServedBackend):
    """Backend for OpenAI-compatible servers."""

    kind = OPENAI
    prefix = "openai"
    slots = 4  # the default of llama-server; other servers can handle more requests

    async def open_model(self, name: str) -> ChatModel:
        """Implement `Backend.open_model`. There is no default model, so `name` is required."""
        if not name:
            raise Nameless("openai", "NAME")
        await self.require_home(base_url(self.settings.base_url))
        return self.served(OpenAIServer(self.settings.base_url, self.deadlines), name)

    async def examine(self, name: str, how: str, *, probes_speed: bool) -> Examination:
        """Implement `Backend.examine`."""
        del probes_speed
        settings, model_id = self.settings, f"openai:{name}"
        try:
            if not name:
                raise Nameless("openai", "NAME")
            place = base_url(settings.base_url)
            server = Finding("Server", True, f"OpenAI-compatible, at {place.url}")
            await self.require_home(place)
            facts, listed = await self.soon(self._ask(name), place.url)
        except (ModelMissing, NoChat) as error:
            return Examination((server, Finding("Model", False, f"{name}, {how}", str(error), model_id)))
        except ModelError as error:
            found = Finding("Server", False, "no usable OpenAI-compatible server", str(error))
            return Examination((found,))
        findings = (server, _present(name, how, listed, model_id), context(model_id, settings.context_tokens, facts))
        return Examination(findings, partial(self.measure, name))

    async def _ask(self, name: str) -> tuple[Facts, Sequence[str]]:
        """Return the model's properties, and the names of all models that the server lists."""
        async with aclosing(OpenAIServer(self.settings.base_url)) as server:
            facts = permitted(name, await server.facts(name), allow_cloud=self.settings.allow_cloud)
            return facts, server.known


def _present(name: str, how: str, known: Sequence[str], model_id: str) -> Finding:
    """Return the finding about the model. `known` are the names of all models that the server lists."""
    if not known:
        return Finding("Model", None, f"{name}, {how}; the server does not list its models", model=model_id)
    if name in known:
        return Finding("Model", True, f"{name}, {how}", model=model_id)
    shown = ", ".join(f"openai:{other}" for other in known[:NAMES_SHOWN]) + (", …" if len(known) > NAMES_SHOWN else "")
    advice = Text("It may still answer; to be sure, choose an available one with ", MODEL, f" ({shown}).")
    return Finding("Model", None, f"{name}, {how}, is not in the server's list", advice, model_id)
