"""What works here, and what to do about the rest: the examination behind `adacoder doctor` and an editor's.

The chain is followed to its end: AdaCoder, project, isolation, interpreter; then for each model of the ladder its
server, whether it is there, what it can read, whether it is loaded, and how fast it answers.
"""

from __future__ import annotations

import asyncio
import platform
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path

from adacoder import __version__
from adacoder.domain import AdaCoderError, Level
from adacoder.models.backends import EXAMINERS, Experience, kind_and_name, open_model
from adacoder.models.base import OnWait
from adacoder.models.errors import ModelError, OnlyThought
from adacoder.models.examination import Examiner, Rung, Terms, counted
from adacoder.models.examination import Finding as Finding  # what an examination gives
from adacoder.models.speed import WRITTEN_TOKENS, Speed, measure
from adacoder.models.waiting import Mended
from adacoder.privacy.tree import TooLargeError, hidden
from adacoder.sandbox.choice import choose
from adacoder.sandbox.host import ACCEPT_THE_RISK
from adacoder.sandbox.interpreter import described
from adacoder.sandbox.probe import probe
from adacoder.sandbox.startup import note
from adacoder.settings import Settings, from_project, project_file

_PATIENCE = 10.0
"""Seconds that a model server has to say what it has."""
_PROBE_PATIENCE = 120.0
"""Seconds that a model has to be loaded and to be measured."""
_MOST_RUNGS = 10
"""How many models of a ladder are looked at."""
_MEASURING = 300.0
"""Seconds after which no further model is measured."""
_PRIVATE_SHOWN = 20
_SLOW = 30.0
"""Seconds for a function of usual length that are worth advice."""


async def examine(
    settings: Settings,
    folder: Path,
    *,
    probes_speed: bool = True,
    experience: Experience | None = None,
    on_wait: OnWait = lambda _: None,
) -> AsyncGenerator[Finding]:
    """What works for files in `folder` with `settings`, which already hold what its project says; as it is found.

    With `probes_speed` each model writes some tokens, for which it is loaded as for a request. `on_wait` is told what
    is waited for, such as a request that holds the model: `experience` is that of whoever makes requests here. Of a
    ladder one model is enough: as long as another can be asked, what fails is advice.
    """
    experience = experience or Experience()
    yield _adacoder(folder)
    yield _project(folder, trusted=settings.trusted)
    on_wait("trying what isolates here")
    yield await _isolation(settings)
    yield interpreter(settings, folder, folder)
    yield await asyncio.to_thread(_private, settings, folder)
    on_wait("asking for models")
    examiners = {kind: examiner(Terms(settings, _PATIENCE, probes_speed)) for kind, examiner in EXAMINERS.items()}
    rungs = await _rungs(settings, examiners)
    standing = {number for number, rung in enumerate(rungs) if rung.stands}
    told: set[Finding] = set()
    began = time.monotonic()
    for number, rung in enumerate(rungs):
        others = standing - {number}
        for finding in rung.findings:
            if finding not in told:
                told.add(finding)
                yield _weighed(finding, others)
        if probes_speed and rung.stands and rung.probed is not None:
            if time.monotonic() - began > _MEASURING:
                yield Finding("Speed", None, "not measured: the others took too long", model=rung.probed)
                continue
            finding = await _speed(rung.probed, settings, experience, on_wait, examiners)
            if finding.ok is False:
                standing.discard(number)
            yield _weighed(finding, others)
    if left := len(settings.ladder) - len(rungs):
        yield Finding("Model", None, f"{counted(left, 'more model')} of the ladder, not looked at")


def _weighed(finding: Finding, others: set[int]) -> Finding:
    """`finding` of one model, seeing which `others` can be asked instead of it."""
    return replace(finding, ok=None) if finding.ok is False and others else finding


def _adacoder(folder: Path) -> Finding:
    text = f"{__version__}, on Python {platform.python_version()} ({sys.executable})"
    if any(Path(place).is_relative_to(folder) for place in (__file__, sys.executable)):
        text += "; it is part of this project, so that whoever can change the project can change it"
    return Finding("AdaCoder", None, text)


def _project(folder: Path, *, trusted: bool) -> Finding:
    name = "Project"
    if not trusted:
        return Finding(name, None, f"{folder} is not trusted, so that nothing of it is read")
    path = project_file(folder)
    if path is None:
        return Finding(name, None, f"there is no pyproject.toml at or above {folder}")
    notices: list[str] = []
    own, defaults = from_project(Settings(), folder, notices.append), Settings()
    keys = [_key(item.name) for item in fields(Settings) if getattr(own, item.name) != getattr(defaults, item.name)]
    return Finding(name, None, f"{path} sets {', '.join(keys) or 'nothing for AdaCoder'}", " ".join(notices))


def _key(field_name: str) -> str:
    """How a project spells a field of Settings."""
    first, *others = ["model"] if field_name == "models" else field_name.split("_")
    return first + "".join(word.capitalize() for word in others)


async def _isolation(settings: Settings) -> Finding:
    found = await probe(anew=True, keeps=True)
    level = found.isolation.level
    text = f"{level} ({', '.join(found.isolation.by)})"
    if level is not Level.NONE:
        text += ": it was tried; code can neither write outside nor reach the network"
    reason = f"; {found.reason}" if found.reason else ""
    enough = level.is_at_least(settings.isolation)
    advice = found.remedy if enough else found.remedy or ACCEPT_THE_RISK
    return Finding("Isolation", enough, text + reason, f"{advice[:1].upper()}{advice[1:]}." if advice else "")


def interpreter(settings: Settings, near: Path, workspace: Path) -> Finding:
    """The Python that the examples of files in `near` run on, and why it is that one."""
    name = "Interpreter"
    if not settings.trusted:
        return Finding(name, None, f"{workspace} is not trusted, so that none runs")
    try:
        choice = choose(settings.interpreter, near, workspace)
    except AdaCoderError as error:
        return Finding(name, False, "there is none that could run the examples", str(error))
    advice = (*choice.passed_over, note(described(choice.path), workspace))
    return Finding(name, True, f"{choice.path}: {choice.why}", " ".join(filter(None, advice)))


def _private(settings: Settings, folder: Path) -> Finding:
    """What of the project no code that runs and no model gets to see."""
    name = "Private"
    try:
        found = hidden(folder, settings.wishes)
    except TooLargeError:
        return Finding(name, None, f"{folder} is too large to be looked through: only a module's own package is shown")
    if not found:
        return Finding(name, None, "nothing here looks private, so that all is shown to code that runs")
    shown = [f"{_below(folder, path)} ({why})" for path, why in islice(found.items(), _PRIVATE_SHOWN)]
    more = f", and {len(found) - len(shown):,} more" if len(found) > len(shown) else ""
    are = "is" if len(found) == 1 else "are"
    text = f"{counted(len(found), 'place')} {are} hidden from models and from code that runs: {', '.join(shown)}{more}"
    return Finding(name, None, text)


def _below(folder: Path, path: Path) -> Path:
    return path.relative_to(folder) if path.is_relative_to(folder) else path


async def _rungs(settings: Settings, examiners: Mapping[str, Examiner]) -> list[Rung]:
    """What is found of each model of the ladder without using it."""
    rungs: list[Rung] = []
    count = len(settings.ladder)
    for place, named in enumerate(settings.ladder[:_MOST_RUNGS], 1):
        kind, name = kind_and_name(named)
        rungs.append(await examiners[kind].rung(name, f"number {place} of {count}" if count > 1 else "as named"))
    return rungs


async def _speed(
    model_id: str, settings: Settings, experience: Experience, on_wait: OnWait, examiners: Mapping[str, Examiner]
) -> Finding:
    """How fast the model answers: it is asked as for a function, and writes some tokens."""
    on_wait(f"measuring {model_id}")
    told: list[str] = []

    def hear(text: str) -> None:
        told.append(text)
        on_wait(text)

    try:
        async with asyncio.timeout(_PROBE_PATIENCE):
            model = await open_model(model_id, settings, experience, hear)
            try:
                async with experience.leases.lease(model.lease_key, on_wait):
                    speed = await measure(model)
            finally:
                await model.close()
    except TimeoutError:
        advice = "It may still be loading, or answer others: try again, or choose a smaller one with --model."
        text = f"it did not write {WRITTEN_TOKENS} tokens in {_PROBE_PATIENCE:g} s"
        return Finding("Speed", None, text, advice, model_id)
    except OnlyThought:
        advice = "What a model thinks takes its time before every reply: one that does not think is faster."
        return Finding("Speed", None, "all that it wrote were thoughts", advice, model_id)
    except ModelError as error:
        return Finding("Speed", False, "it was asked for some tokens, and gave none", str(error), model_id)
    if any(isinstance(text, Mended) for text in told):
        advice = "Ollama does so after a reply that was ended early (ollama/ollama#17131): try a newer version of it."
        text = f"{_pace(speed)}, after it was unloaded, for it was loaded and answered nothing"
        return Finding("Speed", True, text, advice, model_id)
    kind, name = kind_and_name(model_id)
    return Finding("Speed", True, _pace(speed), _faster(speed, await examiners[kind].on_gpu(name)), model_id)


def _pace(speed: Speed) -> str:
    """How fast a model was, for people."""
    before = [f"waited {_seconds(speed.time.queue)} for others"] if speed.time.queue > 1 else []
    before += [f"loaded in {_seconds(speed.time.load)}"] if speed.time.load > 1 else []
    rates = [f"reads {_rounded(speed.reading)} tokens/s"] if speed.reading else []
    rates += [f"writes {_rounded(speed.writing)} tokens/s"] if speed.writing else []
    usual = f": about {_seconds(speed.usual)} a reply" if speed.usual else ""
    return "; ".join([*before, ", ".join(rates) or "it answers"]) + usual


def _faster(speed: Speed, on_gpu: float | None) -> str:
    """What makes a slow model faster."""
    if on_gpu is not None and 0 < on_gpu < 1:
        return f"Only {on_gpu:.0%} of it fits on the GPU: a smaller model, or lower --context-tokens, is faster."
    return "A smaller model is faster: choose one with --model." if (speed.usual or 0) > _SLOW else ""


def _seconds(seconds: float) -> str:
    return f"{_rounded(seconds)} s"


def _rounded(number: float) -> str:
    """`number` with two digits or more."""
    return f"{number:,.0f}" if number >= 9.95 else f"{number:.1f}"
