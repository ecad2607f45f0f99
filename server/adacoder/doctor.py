"""What works here, and what to do about the rest: the examination behind `adacoder doctor` and an editor's.

The chain is followed to its end: AdaCoder, project, isolation, interpreter; then for each model of the ladder its
server, whether it is there, what it can read, whether it is loaded, and how fast it answers.
"""

from __future__ import annotations

import asyncio
import difflib
import platform
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TypeVar

from adacoder import __version__
from adacoder.domain import JSON, AdaCoderError, Level
from adacoder.models import catalog
from adacoder.models.address import address, base_url, stay_at_home
from adacoder.models.backends import Experience, best_installed, kind_and_name, open_model, recorded
from adacoder.models.base import OnWait
from adacoder.models.errors import (
    OLLAMA,
    OPENAI,
    BadReply,
    CloudRefused,
    Kind,
    ModelError,
    ModelMissing,
    NoChat,
    NoModel,
    NotRunning,
    OnlyThought,
)
from adacoder.models.names import is_cloud
from adacoder.models.server import Facts, Running, Thinking, permitted
from adacoder.models.speed import Speed, measure
from adacoder.privacy.tree import TooLargeError, hidden
from adacoder.sandbox.choice import choose
from adacoder.sandbox.host import ACCEPT_THE_RISK
from adacoder.sandbox.interpreter import described
from adacoder.sandbox.probe import probe
from adacoder.sandbox.startup import note
from adacoder.settings import Settings, from_project, project_file

T = TypeVar("T")

_PATIENCE = 10.0
"""Seconds that a model server has to say what it has."""
_PROBE_PATIENCE = 120.0
"""Seconds that a model has to be loaded and to write ten tokens."""
_NAMES_SHOWN = 6
_MOST_RUNGS = 10
"""How many models of a ladder are looked at."""
_MEASURING = 300.0
"""Seconds after which no further model is measured."""
_LONGEST = 2000
"""Characters that are shown of a text, however much a server or a project had to say."""
_PRIVATE_SHOWN = 20
_SLOW = 30.0
"""Seconds for a function of usual length that are worth advice."""
_FOR_GOOD_DAYS = 365
"""A model that stays loaded so long was told to stay."""
_THINKING = {
    Thinking.NEVER: "answers at once",
    Thinking.UNLESS_TOLD: "could think first, which AdaCoder switches off",
    Thinking.ALWAYS: "always thinks first, which takes its time",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool | None
    """Whether it works; None where nothing depends on it. AdaCoder can generate here if nothing is False."""
    text: str
    advice: str = ""
    """What to do about it; empty where there is nothing to do."""
    model: str | None = None
    """The model of the ladder that it is about, as it was named or chosen; None: about none of them alone."""

    def __post_init__(self) -> None:
        """Cut what nobody would read to its end."""
        for name in ("text", "advice", "model"):
            value = getattr(self, name)
            if value is not None and len(value) > _LONGEST:
                object.__setattr__(self, name, f"{value[:_LONGEST]} …")

    def json(self) -> dict[str, JSON]:
        """An object of `--json`."""
        return {"name": self.name, "ok": self.ok, "text": self.text, "advice": self.advice, "model": self.model}


@dataclass(frozen=True, slots=True)
class _Rung:
    """What was found of one model of the ladder, its server first."""

    findings: tuple[Finding, ...]
    probed: str | None = None
    """The model whose speed can be measured; None: it has none."""

    @property
    def stands(self) -> bool:
        """Whether this model could be asked for a function, as far as was found."""
        return all(finding.ok is not False for finding in self.findings)


async def examine(
    settings: Settings,
    folder: Path,
    *,
    probes_speed: bool = True,
    experience: Experience | None = None,
    on_wait: OnWait = lambda _: None,
) -> AsyncGenerator[Finding]:
    """What works for files in `folder` with `settings`, which already hold what its project says; as it is found.

    With `probes_speed` each model writes ten tokens, for which it is loaded as for a request. `on_wait` is told what
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
    rungs = await _rungs(settings)
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
            finding = await _speed(rung.probed, settings, experience, on_wait)
            if finding.ok is False:
                standing.discard(number)
            yield _weighed(finding, others)
    if left := len(settings.ladder) - len(rungs):
        yield Finding("Model", None, f"{_count(left, 'more model')} of the ladder, not looked at")


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
    text = f"{_count(len(found), 'place')} {are} hidden from models and from code that runs: {', '.join(shown)}{more}"
    return Finding(name, None, text)


def _below(folder: Path, path: Path) -> Path:
    return path.relative_to(folder) if path.is_relative_to(folder) else path


async def _rungs(settings: Settings) -> list[_Rung]:
    """What is found of each model of the ladder without using it."""
    ollama: _Store | Finding | None = None
    rungs: list[_Rung] = []
    count = len(settings.ladder)
    for number, named in enumerate(settings.ladder[:_MOST_RUNGS], 1):
        how = f"number {number} of {count}" if count > 1 else "as named"
        kind, name = kind_and_name(named)
        if kind == "replay":
            rungs.append(_recorded(name, how))
        elif kind == "openai":
            rungs.append(await _openai(name, settings, how))
        else:
            ollama = ollama or await _look_around(settings)
            rungs.append(await _ollama(name or None, ollama, settings, how))
    return rungs


def _recorded(name: str, how: str) -> _Rung:
    model_id = f"replay:{name}"
    text = f"the recorded conversation {name}, {how}"
    try:
        speaker = recorded(name).speaker
    except ModelError as error:
        return _Rung((Finding("Model", False, text, str(error), model_id),))
    return _Rung((Finding("Model", True, f"{text}, with {speaker}", model=model_id),))


async def _openai(name: str, settings: Settings, how: str) -> _Rung:
    """What is found of a model of an OpenAI-compatible server, of which little can be asked."""
    model_id = f"openai:{name}"
    try:
        url = base_url(settings.base_url).url
        server = Finding("Server", True, f"OpenAI-compatible, at {url}")
        model = await open_model(model_id, settings, Experience(), lambda _: None)
        try:
            window = await _soon(model.window(), url, OPENAI)
        finally:
            await model.close()
    except (ModelMissing, NoChat) as error:
        return _Rung((server, Finding("Model", False, f"{name}, {how}", str(error), model_id)))
    except ModelError as error:
        return _Rung((Finding("Server", False, "no OpenAI-compatible server that could be asked", str(error)),))
    present = Finding("Model", True, f"{name}, {how}", model=model_id)
    return _Rung((server, present, _context(model_id, settings.context_tokens, window.tokens)), model_id)


@dataclass(frozen=True, slots=True)
class _Store:
    """What an Ollama server has."""

    url: str
    version: str | None
    """None: it does not tell."""
    models: catalog.Listing[catalog.Installed]
    running: tuple[Running, ...] | None
    """What is loaded; None: it does not tell."""

    @property
    def finding(self) -> Finding:
        """The server itself."""
        names = _best_first(self.models)
        shown = ", ".join(names[:_NAMES_SHOWN]) + (", …" if len(names) > _NAMES_SHOWN else "")
        has = f"with {_count(len(names), 'model')}: {shown}" if names else "without any model"
        has += f"; {self.models.others} more were not looked at" if self.models.others else ""
        return Finding("Ollama", True, f"{self.version or 'of unknown version'} at {self.url}, {has}")


async def _look_around(settings: Settings) -> _Store | Finding:
    """What the Ollama server has; the Finding if it cannot be asked, or may not."""
    try:
        place = address(settings.host)
        if not settings.allow_cloud:
            await stay_at_home(place, OLLAMA, _PATIENCE)
        return await _soon(_store(place.url, settings.host), place.url)
    except ModelError as error:
        return Finding("Ollama", False, "no server that could be asked", str(error))


async def _store(url: str, host: str | None) -> _Store:
    models = await catalog.installed(host)
    try:
        version = await catalog.version(host)
    except BadReply:
        version = None
    return _Store(url, version, models, await catalog.running(host))


async def _ollama(name: str | None, store: _Store | Finding, settings: Settings, how: str) -> _Rung:
    """What is found of a model of an Ollama server; without a name, of the one that would be chosen."""
    if isinstance(store, Finding):
        return _Rung((store,))
    model_id = None if name is None else f"ollama:{name}"
    try:
        if name is None:
            name, how = await _soon(best_installed(settings), store.url), "the best for code that is installed"
            model_id = f"ollama:{name}"
        facts = await _soon(_permitted(name, settings), store.url)
    except ModelMissing:
        return _Rung((store.finding, _missing(str(name), how, store)))
    except NoModel as error:
        return _Rung((store.finding, Finding("Model", False, "none that writes code is installed", str(error))))
    except ModelError as error:
        which = "the best for code that is installed" if name is None else f"{name}, {how}"
        return _Rung((store.finding, Finding("Model", False, which, str(error), model_id)))
    running = catalog.find(name, store.running or ())
    found = [
        store.finding,
        _present(name, how, facts, catalog.find(name, store.models), running),
        _context(f"ollama:{name}", settings.context_tokens, facts.window),
    ]
    if store.running is not None and not facts.remote:
        found.append(_loaded(name, running, min(settings.context_tokens, facts.window or settings.context_tokens)))
    return _Rung(tuple(found), model_id)


async def _permitted(name: str, settings: Settings) -> Facts:
    """What a model can do, if it may be used."""
    if is_cloud(name) and not settings.allow_cloud:
        raise CloudRefused(name)
    return permitted(name, await catalog.facts(settings.host, name), allow_cloud=settings.allow_cloud)


def _missing(name: str, how: str, store: _Store) -> Finding:
    """A model that is not there, with those that may have been meant."""
    names = [model.name for model in store.models]
    family = name.partition(":")[0].lower()
    same = [other for other in names if other.lower().partition(":")[0] == family]
    close = same or difflib.get_close_matches(name, names, _NAMES_SHOWN) or _best_first(store.models)
    advice = str(ModelMissing(name, store.url, close[:_NAMES_SHOWN]))
    return Finding("Model", False, f"{name}, {how}, is not installed", advice, f"ollama:{name}")


def _present(
    name: str, how: str, facts: Facts, installed: catalog.Installed | None, running: Running | None
) -> Finding:
    """A model that is there: what it is, and what it can do."""
    advice, about = "", []
    if installed is not None:
        about = [f"{installed.billions:.3g}B"] if installed.billions else []
        about += [installed.quantization] if installed.quantization else []
        about += [_gigabytes(installed.size)] if installed.size else []
        if not installed.chats:
            advice = "By its name it only continues texts: choose one that follows instructions with --model."
        elif installed.is_too_large and not (running and running.on_gpu == 1):
            has = f"this machine's memory ({_gigabytes(catalog.memory() or 0)})"
            advice = f"It takes most of {has} or more, and may be slow: choose a smaller one with --model."
    what = f"{', '.join(about)}; " if about else ""
    return Finding("Model", True, f"{name}, {how}: {what}{_THINKING[facts.thinking]}", advice, f"ollama:{name}")


def _context(model_id: str, asked: int, limit: int | None) -> Finding:
    """How much of a prompt the model sees at once."""
    if limit is None or limit == asked:
        text = f"{asked:,} tokens"
    elif limit > asked:
        text = f"{asked:,} tokens, of the {limit:,} that it can read"
    else:
        text = f"{limit:,} tokens, all that it can read; --context-tokens would allow {asked:,}"
    return Finding("Context", True, text, model=model_id)


def _loaded(name: str, running: Running | None, window: int) -> Finding:
    """Whether the next request finds the model loaded, with the `window` that it will ask for."""
    if running is None:
        return Finding("Loaded", None, "not now: the first request loads it", model=f"ollama:{name}")
    parts = [part for part in (_until(running.until), _hardware(running.on_gpu)) if part]
    if running.window is not None and running.window != window:
        # Where requests are served side by side, some versions of Ollama tell what all their windows take together.
        anew = ", so that the first request loads it anew" if running.window % window else ""
        parts.append(f"with a window of {running.window:,} tokens{anew}")
    return Finding("Loaded", None, f"yes{', ' if parts else ''}{'; '.join(parts)}", model=f"ollama:{name}")


def _until(moment: datetime | None) -> str:
    """For how long a model stays loaded; empty where that is not told."""
    if moment is None:
        return ""
    left = moment - datetime.now(UTC)
    if left.days >= _FOR_GOOD_DAYS:
        return "for good"
    minutes = round(left.total_seconds() / 60)
    return f"for {_count(minutes, 'more minute')}" if minutes > 0 else "not for long"


def _hardware(on_gpu: float | None) -> str:
    """What a model runs on; empty where that is not told."""
    if on_gpu is None:
        return ""
    share = round(100 * on_gpu)
    return {0: "on the CPU", 100: "on the GPU"}.get(share, f"{share}% of it on the GPU, the rest on the CPU")


async def _speed(model_id: str, settings: Settings, experience: Experience, on_wait: OnWait) -> Finding:
    """How fast the model answers: it is asked as for a function, and writes ten tokens."""
    on_wait(f"waiting for ten tokens of {model_id}")
    try:
        async with asyncio.timeout(_PROBE_PATIENCE):
            model = await open_model(model_id, settings, experience, on_wait)
            try:
                async with experience.leases.lease(model.lease_key, on_wait):
                    speed = await measure(model)
            finally:
                await model.close()
    except TimeoutError:
        advice = "It may still be loading: try again, or choose a smaller one with --model."
        return Finding("Speed", None, f"it did not write ten tokens in {_PROBE_PATIENCE:g} s", advice, model_id)
    except OnlyThought:
        advice = "What a model thinks takes its time before every reply: one that does not think is faster."
        return Finding("Speed", None, "all that it wrote were thoughts", advice, model_id)
    except ModelError as error:
        return Finding("Speed", False, "it was asked for ten tokens, and gave none", str(error), model_id)
    return Finding("Speed", True, _pace(speed), _faster(speed, await _share_on_gpu(model_id, settings.host)), model_id)


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


async def _share_on_gpu(model_id: str, host: str | None) -> float | None:
    """How much of a model that was just asked is on the GPU; None where that is not told."""
    kind, name = kind_and_name(model_id)
    if kind != "ollama":
        return None
    try:
        running = await _soon(catalog.running(host), host or "")
    except ModelError:
        return None
    found = catalog.find(name, running or ())
    return None if found is None else found.on_gpu


async def _soon(answer: Awaitable[T], url: str, kind: Kind = OLLAMA) -> T:
    """An answer that needs no model to be loaded, so that it must come soon."""
    try:
        async with asyncio.timeout(_PATIENCE):
            return await answer
    except TimeoutError:
        raise NotRunning(url, kind) from None


def _best_first(models: Sequence[catalog.Installed]) -> list[str]:
    """The names of `models`: those that could be chosen come first."""
    ranked = catalog.rank(models)
    return list(dict.fromkeys(model.name for model in (*ranked, *models)))


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"


def _seconds(seconds: float) -> str:
    return f"{_rounded(seconds)} s"


def _rounded(number: float) -> str:
    """`number` with two digits or more."""
    return f"{number:,.0f}" if number >= 9.95 else f"{number:.1f}"
