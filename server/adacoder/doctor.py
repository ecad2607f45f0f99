"""What works here, and what to do about the rest: the examination behind `adacoder doctor` and an editor's."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from adacoder import __version__
from adacoder.domain import JSON, AdaCoderError, Level
from adacoder.models import catalog, replay
from adacoder.models.address import address
from adacoder.models.base import ModelError, ModelMissing, NoModel, NotRunning
from adacoder.sandbox.host import ACCEPT_THE_RISK
from adacoder.sandbox.interpreter import find
from adacoder.sandbox.probe import probe
from adacoder.settings import Settings, from_project

_PATIENCE = 10.0
"""Seconds that an Ollama server has to answer."""
_REPLAY = "replay:"
_OLLAMA = "ollama:"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool | None
    """Whether it works; None where nothing depends on it. AdaCoder can generate here if nothing is False."""
    text: str
    advice: str = ""
    """What to do about it; empty where there is nothing to do."""

    def json(self) -> dict[str, JSON]:
        """An object of `--json`."""
        return {"name": self.name, "ok": self.ok, "text": self.text, "advice": self.advice}


async def examine(settings: Settings, folder: Path) -> tuple[Finding, ...]:
    """What works for files in `folder` with `settings`, which already hold what its project says."""
    isolation, models = await asyncio.gather(_isolation(settings), _models(settings))
    return (
        _adacoder(),
        isolation,
        _interpreter(settings, folder),
        *models,
        _project(folder),
    )


def _adacoder() -> Finding:
    python = f"Python {platform.python_version()} ({sys.executable})"
    return Finding("AdaCoder", None, f"{__version__}, on {python}")


async def _isolation(settings: Settings) -> Finding:
    found = await probe()
    level = found.isolation.level
    text = f"{level} ({', '.join(found.isolation.by)})"
    if level is not Level.NONE:
        text += ": it was tried; code can neither write outside nor reach the network"
    reason = f"; {found.reason}" if found.reason else ""
    enough = level.is_at_least(settings.isolation)
    advice = found.remedy if enough else found.remedy or ACCEPT_THE_RISK
    return Finding("Isolation", enough, text + reason, f"{advice[:1].upper()}{advice[1:]}." if advice else "")


def _interpreter(settings: Settings, folder: Path) -> Finding:
    name = "Interpreter"
    try:
        path = find(settings.interpreter, folder, folder).path
    except AdaCoderError as error:
        return Finding(name, False, "there is none that could run the examples", str(error))
    own = " (AdaCoder's own: the project has no .venv)" if path == Path(sys.executable) else ""
    return Finding(name, True, f"{path}{own}")


async def _models(settings: Settings) -> tuple[Finding, ...]:
    """The findings about the model that would be used, and about the server it runs on."""
    named = settings.ladder[0]
    if named is not None and named.startswith(_REPLAY):
        return (_recording(named.removeprefix(_REPLAY)),)
    try:
        url = address(settings.host).url
        try:
            async with asyncio.timeout(_PATIENCE):
                version = await catalog.version(settings.host)
                models = await catalog.installed(settings.host)
        except TimeoutError:
            raise NotRunning(url) from None
    except ModelError as error:
        return (Finding("Ollama", False, "no server that could be asked", str(error)),)
    return (Finding("Ollama", True, f"{version} at {url}"), _model(named, models, url))


def _model(named: str | None, models: Sequence[catalog.Installed], url: str) -> Finding:
    names = [model.name for model in models]
    installed = f"installed: {', '.join(names) or 'none'}"
    if named is None:
        best = catalog.choose(models)
        if best is None:
            return Finding("Model", False, installed, str(NoModel(url)))
        return Finding("Model", True, f"{best.name}, the best that is installed ({installed})")
    name = named.removeprefix(_OLLAMA)
    if name in names or f"{name}:latest" in names:
        return Finding("Model", True, f"{name}, as named ({installed})")
    return Finding("Model", False, installed, str(ModelMissing(name, url, names)))


def _recording(name: str) -> Finding:
    path = Path(name).expanduser()
    try:
        found = replay.read(path)
    except ModelError as error:
        return Finding("Model", False, f"the recorded conversation {path}", str(error))
    return Finding("Model", True, f"the recorded conversation {path}, with {found[-1].model}")


def _project(folder: Path) -> Finding:
    name = "Project"
    path = next((p for d in (folder, *folder.parents) if (p := d / "pyproject.toml").is_file()), None)
    if path is None:
        return Finding(name, None, f"there is no pyproject.toml at or above {folder}")
    notices: list[str] = []
    own, defaults = from_project(Settings(), folder, notices.append), Settings()
    names = [item.name for item in fields(Settings) if getattr(own, item.name) != getattr(defaults, item.name)]
    return Finding(name, None, f"{path} sets {', '.join(names) or 'nothing for AdaCoder'}", " ".join(notices))
