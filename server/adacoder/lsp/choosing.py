"""Commands for choosing models and strategies: `.models`, `.pull` and `.strategies`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from adacoder.domain import AdaCoderError
from adacoder.lsp.connection.client import new_token, progress
from adacoder.lsp.from_proto import PullParams
from adacoder.lsp.language_server import AdaCoderServer
from adacoder.lsp.requests import reads
from adacoder.lsp.snapshot import first_folder

if TYPE_CHECKING:
    from adacoder.models.catalog import Described, Listing
    from adacoder.models.recommended import Recommended


async def on_models(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
    """`.models`: the installed models with their capabilities, and recommended models.

    `reason` explains why models are missing from the list.
    """
    from adacoder.models.catalog import described
    from adacoder.models.recommended import recommended

    settings = await ls.configuration.settings(first_folder(ls.workspace))
    try:
        found = await described(settings.host)
    except AdaCoderError as error:
        return {"models": [], "recommended": [], "reason": str(error)}
    reason = f"The server has {found.others:,} more models, which are not listed." if found.others else None
    return {
        "models": [_model(each) for each in found],
        "recommended": [_recommendation(each, found) for each in recommended(settings.host)],
        "reason": reason,
    }


def _model(described: Described) -> dict[str, Any]:
    """An entry of the answer to `.models`. Null: the model server does not report it."""
    model, facts, running = described.model, described.facts, described.running
    return {
        "name": model.name,
        "billions": model.billions,
        "cloud": model.cloud or (facts is not None and facts.remote),
        "bytes": model.size or None,
        "fits": model.fits,
        "quantization": model.quantization or None,
        "chats": facts.chats if facts else None,
        "thinks": facts.thinking.value if facts else None,
        "contextTokens": facts.window if facts else None,
        "loaded": running is not None,
        "loadedContextTokens": running.window if running else None,
    }


def _recommendation(each: Recommended, found: Listing[Described]) -> dict[str, Any]:
    from adacoder.models.catalog import find

    installed = find(each.name, [one.model for one in found]) is not None
    return {"name": each.name, "bytes": each.size, "fits": each.fits, "installed": installed}


@reads(PullParams, lambda ls, reason: {"pulled": False, "reason": reason})
async def on_pull(ls: AdaCoderServer, params: PullParams) -> dict[str, Any]:
    """`.pull` `{model}`: have Ollama download a model. Answers once that is done, or with the reason why it failed.

    Shows progress. Cancelling the progress or the request ends the download.
    """
    name = params.model.removeprefix("ollama:")
    settings = await ls.configuration.settings(first_folder(ls.workspace))
    title = f"AdaCoder: downloading {name}"
    token = await new_token(ls, title)

    async def download() -> None:
        from adacoder.models.pulling import pulled, words

        async with progress(ls, title, token, work.cancel) as show:
            async for state in pulled(settings.host, name, allow_cloud=settings.allow_cloud):
                show(words(state))

    work = asyncio.create_task(download())
    try:
        await asyncio.wait({work})
    finally:
        work.cancel()
        await asyncio.wait({work})
    if work.cancelled():
        return {"pulled": False, "reason": f"The download of '{name}' was cancelled."}
    work.result()
    return {"pulled": True, "reason": None}


async def on_strategies(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
    """`.strategies`: the workflows that write a function, as `adacoder strategies --json` lists them."""
    return await asyncio.to_thread(_strategies)


def _strategies() -> dict[str, Any]:
    from adacoder.strategies import rows

    return {"strategies": rows()}
