"""What an examination finds of OpenAI-compatible servers and their models, of which little can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from adacoder.models.address import base_url, stay_at_home
from adacoder.models.errors import OPENAI, ModelError, ModelMissing, Nameless, NoChat
from adacoder.models.examination import NAMES_SHOWN, Finding, Rung, Terms, context
from adacoder.models.openai import OpenAIServer
from adacoder.models.server import Facts, permitted


class OpenAIExaminer:
    """The Examiner of OpenAI-compatible servers."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms

    async def rung(self, name: str, how: str) -> Rung:
        """As `Examiner.rung`."""
        settings, model_id = self._terms.settings, f"openai:{name}"
        try:
            if not name:
                raise Nameless("openai", "NAME")
            place = base_url(settings.base_url)
            server = Finding("Server", True, f"OpenAI-compatible, at {place.url}")
            if not settings.allow_cloud:
                await stay_at_home(place, OPENAI, self._terms.patience)
            facts, listed = await self._terms.soon(self._ask(name), place.url, OPENAI)
        except (ModelMissing, NoChat) as error:
            return Rung((server, Finding("Model", False, f"{name}, {how}", str(error), model_id)))
        except ModelError as error:
            return Rung((Finding("Server", False, "no OpenAI-compatible server that could be asked", str(error)),))
        return Rung(
            (server, _present(name, how, listed, model_id), context(model_id, settings.context_tokens, facts)), model_id
        )

    async def _ask(self, name: str) -> tuple[Facts, Sequence[str]]:
        """What the server says of a model, and the names by which it knows its models."""
        settings = self._terms.settings
        async with aclosing(OpenAIServer(settings.base_url)) as server:
            facts = permitted(name, await server.facts(name), allow_cloud=settings.allow_cloud)
            return facts, server.known

    async def on_gpu(self, name: str) -> None:
        """As `Examiner.on_gpu`: these servers do not tell."""


def _present(name: str, how: str, known: Sequence[str], model_id: str) -> Finding:
    """A model that the server may have."""
    if not known:
        return Finding("Model", None, f"{name}, {how}; the server keeps no list of its models", model=model_id)
    if name in known:
        return Finding("Model", True, f"{name}, {how}", model=model_id)
    shown = ", ".join(f"openai:{other}" for other in known[:NAMES_SHOWN]) + (", …" if len(known) > NAMES_SHOWN else "")
    advice = f"It may answer all the same; to be sure, choose one that is there with --model ({shown})."
    return Finding("Model", None, f"{name}, {how}, is not in the server's list", advice, model_id)
