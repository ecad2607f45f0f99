"""Handle commands about models, strategies, the environment and running jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from adacoder.domain import JSON, AdaCoderError
from adacoder.lsp.connection.client import new_token, progress
from adacoder.lsp.from_proto import NO_MODEL, DoctorParams, PullParams, ScopeParams, reads
from adacoder.lsp.snapshot import Snapshot, Uri, first_folder, take

if TYPE_CHECKING:
    from adacoder.doctor import Finding
    from adacoder.lsp.language_server import AdaCoderServer
    from adacoder.models.catalog import Described, Listing
    from adacoder.models.recommended import Recommended


async def on_models(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
    """Handle `.models`: return the installed and the recommended models.

    If models are missing from the list, `reason` says why.
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
    """Describe a model for the answer to `.models`. Unknown data is null."""
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


def _not_pulled(ls: AdaCoderServer, reason: str) -> dict[str, Any]:
    """Return the answer after a failed download.

    A command without a model comes from a person, who needs a message. A program shows the reason itself.
    """
    if reason == NO_MODEL:
        ls.show(reason, warning=True)
    return {"pulled": False, "reason": reason}


@reads(PullParams, _not_pulled)
async def on_pull(ls: AdaCoderServer, params: PullParams) -> dict[str, Any]:
    """Handle `.pull` `{model}`: let Ollama download a model, and answer at the end.

    The client shows the progress, and the user can cancel the download there.
    """
    name = params.model.removeprefix("ollama:")
    settings = await ls.configuration.settings(first_folder(ls.workspace))
    title = f"AdaCoder: downloading {name}"

    async def download(show: Callable[[str], None]) -> None:
        from adacoder.models.pulling import pulled, words

        async for state in pulled(settings.host, name, allow_cloud=settings.allow_cloud):
            show(words(state))

    if await _done(ls, title, await new_token(ls), download):
        return {"pulled": True, "reason": None}
    return {"pulled": False, "reason": f"The download of '{name}' was cancelled."}


async def _done(
    ls: AdaCoderServer,
    title: str,
    token: types.ProgressToken | None,
    work: Callable[[Callable[[str], None]], Awaitable[None]],
) -> bool:
    """Run `work`, which gets a function that shows progress. Return False if the user cancelled the work."""

    async def shown() -> None:
        async with progress(ls, title, token, task.cancel) as show:
            await work(show)

    task = asyncio.create_task(shown())
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()
        await asyncio.wait({task})
    if not task.cancelled():
        task.result()
    return not task.cancelled()


async def on_strategies(ls: AdaCoderServer, argument: Any) -> dict[str, Any]:
    """Handle `.strategies`: return the list that `adacoder strategies --json` prints."""
    return await asyncio.to_thread(_strategies)


def _strategies() -> dict[str, Any]:
    from adacoder.strategies import rows

    return {"strategies": rows()}


@reads(DoctorParams, lambda ls, reason: {"ok": False, "findings": [], "reason": reason})
async def on_doctor(ls: AdaCoderServer, params: DoctorParams) -> dict[str, Any]:
    """Handle `.doctor` `{probe?, uri?}`: check that AdaCoder works in the folder of a document.

    Without `uri`, check the first workspace folder. Unless `probe` is false or a job is running, also measure the speed
    of each model.
    """
    findings = await _findings(ls, params.uri, probes_speed=params.probe and not ls.state.jobs.status())
    return {
        "ok": all(finding.ok is not False for finding in findings),
        "findings": [finding.json() for finding in findings],
        "reason": None,
    }


async def _findings(ls: AdaCoderServer, uri: Uri | None, *, probes_speed: bool) -> list[Finding]:
    """Examine the folder of a document. If `uri` is None, examine the first workspace folder.

    With `probes_speed`, measure the speed of models. If the user cancels this, return the findings so far.
    """
    from adacoder.doctor import examine

    findings: list[Finding] = []
    snapshot = _snapshot(ls, uri)
    folder = snapshot.folder if snapshot else first_folder(ls.workspace)
    near, scope = (snapshot.path.parent, snapshot.scope) if snapshot else (folder, None)
    settings = await ls.configuration.settings(near, scope, top=folder)
    title = "AdaCoder: checking what works here"
    token = await new_token(ls) if probes_speed else None
    session = (await ls.service()).session

    async def collect(show: Callable[[str], None]) -> None:
        async for finding in examine(settings, folder, probes_speed=probes_speed, session=session, on_wait=show):
            findings.append(finding)  # noqa: PERF401  # the findings so far are kept after a cancellation

    await _done(ls, title, token, collect)
    return findings


def _snapshot(ls: AdaCoderServer, uri: Uri | None) -> Snapshot | None:
    if uri is None:
        return None
    try:
        return take(ls.workspace, uri)
    except AdaCoderError:
        return None


@reads(ScopeParams)
async def on_status(ls: AdaCoderServer, params: ScopeParams) -> dict[str, Any]:
    """Handle `.status` `{uri?}`: return the running jobs with their progress.

    With `uri`, also say which Python runs the examples of the document.
    """
    interpreter = {} if params.uri is None else {"interpreter": await _interpreter_of(ls, params.uri)}
    return {
        "jobs": [*ls.state.batches.status(), *ls.state.jobs.status(), *ls.state.cross_checks.status()],
        **interpreter,
    }


async def _interpreter_of(ls: AdaCoderServer, uri: Uri) -> dict[str, JSON]:
    """Say which Python runs the examples of a document, and why."""
    from adacoder.doctor import Finding, interpreter

    try:
        snapshot = take(ls.workspace, uri)
    except AdaCoderError as error:
        return Finding("Interpreter", None, str(error)).json()
    settings = await ls.configuration.settings_for(snapshot)
    return (await asyncio.to_thread(interpreter, settings, snapshot.path.parent, snapshot.folder)).json()
