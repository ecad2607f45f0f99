"""Examine this installation and suggest improvements, for `adacoder doctor` and for editors."""

from __future__ import annotations

import asyncio
import platform
import sys
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from adacoder import __version__
from adacoder.domain import AdaCoderError, Level
from adacoder.messages import Text, counted, joined
from adacoder.models.backend import Session
from adacoder.models.backends import BACKENDS, kind_and_name
from adacoder.models.base import OnWait
from adacoder.models.examination import Examination
from adacoder.models.examination import Finding as Finding  # re-exported
from adacoder.privacy.tree import TooLargeError, hidden
from adacoder.project import below, pyproject_file
from adacoder.sandbox.environment.choice import choose
from adacoder.sandbox.environment.interpreter import described
from adacoder.sandbox.environment.startup_code import note
from adacoder.sandbox.host import NO_ISOLATION
from adacoder.sandbox.probe import probe
from adacoder.settings import SETTINGS, Settings, from_project

_MOST_MODELS = 10
"""Maximum number of models to examine."""
_MEASURING = 300.0
"""Seconds after which no further speed is measured."""
_PRIVATE_SHOWN = 20


async def examine(
    settings: Settings,
    folder: Path,
    *,
    probes_speed: bool = True,
    session: Session | None = None,
    on_wait: OnWait = lambda _: None,
) -> AsyncGenerator[Finding]:
    """Examine the installation, the project, isolation, the interpreter, private files and each model. Yield findings.

    A broken model counts as a failure only if no other model works.

    Args:
        settings: the settings, including the settings of the project.
        folder: the folder whose project is examined.
        probes_speed: True to load each model and measure its speed.
        session: the caller's session. If None, a new session is used.
        on_wait: callback that receives the reason for each wait.
    """
    session = session or Session()
    yield _adacoder(folder)
    yield _project(folder, trusted=settings.trusted)
    on_wait("testing isolation")
    yield await _isolation(settings)
    yield interpreter(settings, folder, folder)
    yield await asyncio.to_thread(_private, settings, folder)
    on_wait("asking for models")
    examinations = await _examinations(settings, session, on_wait, probes_speed=probes_speed)
    usable = {number for number, examination in enumerate(examinations) if examination.usable}
    told: set[Finding] = set()
    began = time.monotonic()
    for number, examination in enumerate(examinations):
        others = usable - {number}
        for finding in examination.findings:
            if finding not in told:
                told.add(finding)
                yield _weighed(finding, others)
        if probes_speed and examination.usable and examination.measure is not None:
            if time.monotonic() - began > _MEASURING:
                model = examination.findings[-1].model
                yield Finding("Speed", None, "not measured, because the other models took too long", model=model)
                continue
            finding = await examination.measure()
            if finding.ok is False:
                usable.discard(number)
            yield _weighed(finding, others)
    if left := len(settings.cascade) - len(examinations):
        yield Finding("Model", None, f"{counted(left, 'more model')} of the ladder, not examined")


def _weighed(finding: Finding, others: set[int]) -> Finding:
    """Turn the failure of a model into advice, if `others` contains a usable model."""
    return replace(finding, ok=None) if finding.ok is False and others else finding


def _adacoder(folder: Path) -> Finding:
    text = f"{__version__}, on Python {platform.python_version()} ({sys.executable})"
    if any(Path(place).is_relative_to(folder) for place in (__file__, sys.executable)):
        text += "; it is in this project, so anyone who can change the project can change AdaCoder"
    return Finding("AdaCoder", None, text)


def _project(folder: Path, *, trusted: bool) -> Finding:
    name = "Project"
    if not trusted:
        return Finding(name, None, f"{folder} is not trusted, so its settings are not read")
    path = pyproject_file(folder)
    if path is None:
        return Finding(name, None, f"no pyproject.toml in {folder} or above")
    notices: list[str] = []
    own, defaults = from_project(Settings(), folder, notices.append), Settings()
    keys = [each.key for field, each in SETTINGS.items() if getattr(own, field) != getattr(defaults, field)]
    return Finding(name, None, f"{path} sets {', '.join(keys) or 'nothing for AdaCoder'}", " ".join(notices))


async def _isolation(settings: Settings) -> Finding:
    found = await probe(anew=True, keeps=True)
    level = found.isolation.level
    text = f"{level} ({', '.join(found.isolation.by)})"
    if level is not Level.NONE:
        text += ", verified just now"
    reason = f"; {found.reason}" if found.reason else ""
    enough = level.is_at_least(settings.isolation)
    advice = Text(f"{found.remedy[:1].upper()}{found.remedy[1:]}.") if found.remedy else Text()
    if not (advice or enough):
        advice = Text("Accept the risk with `", NO_ISOLATION, "`.")
    return Finding("Isolation", enough, text + reason, advice)


def interpreter(settings: Settings, near: Path, workspace: Path) -> Finding:
    """Report which Python runs the examples of files in the folder `near`, and why."""
    name = "Interpreter"
    if not settings.trusted:
        return Finding(name, None, f"{workspace} is not trusted, so no Python runs")
    try:
        choice = choose(settings.interpreter, near, workspace)
    except AdaCoderError as error:
        return Finding(name, False, "no Python can run the examples", str(error))
    advice = (*choice.passed_over, note(described(choice.path), workspace))
    return Finding(name, True, f"{choice.path}: {choice.why}", joined(" ", filter(None, advice)))


def _private(settings: Settings, folder: Path) -> Finding:
    """Report which files are hidden from models and from running code."""
    name = "Private"
    try:
        found = hidden(folder, settings.wishes)
    except TooLargeError:
        return Finding(name, None, f"{folder} is too large to search, so code sees only the package of its module")
    if not found:
        return Finding(name, None, "no private files found")
    shown = [f"{below(folder, path)} ({why})" for path, why in islice(found.items(), _PRIVATE_SHOWN)]
    more = f", and {len(found) - len(shown):,} more" if len(found) > len(shown) else ""
    are = "is" if len(found) == 1 else "are"
    text = f"{counted(len(found), 'place')} {are} hidden from models and from running code: {', '.join(shown)}{more}"
    return Finding(name, None, text)


async def _examinations(
    settings: Settings, session: Session, on_wait: OnWait, *, probes_speed: bool
) -> list[Examination]:
    """Examine the models of the ladder, but do not measure their speed yet."""
    backends = {kind: backend(settings, session, on_wait) for kind, backend in BACKENDS.items()}
    count = len(settings.cascade)
    found: list[Examination] = []
    for place, named in enumerate(settings.cascade[:_MOST_MODELS], 1):
        kind, name = kind_and_name(named)
        how = f"number {place} of {count}" if count > 1 else "as named"
        found.append(await backends[kind].examine(name, how, probes_speed=probes_speed))
    return found
