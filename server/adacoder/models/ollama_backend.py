"""Backend for Ollama."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from adacoder.messages import Named, Text, counted
from adacoder.models import catalog
from adacoder.models.address import address
from adacoder.models.backend import ServedBackend
from adacoder.models.base import ChatModel
from adacoder.models.errors import (
    CONTEXT_TOKENS,
    MODEL,
    OLLAMA,
    BadReply,
    CloudRefused,
    ModelError,
    ModelMissing,
    NoModel,
)
from adacoder.models.examination import NAMES_SHOWN, Examination, Finding, context
from adacoder.models.model_names import is_cloud
from adacoder.models.ollama import OllamaServer
from adacoder.models.server import Deadlines, Facts, Running, Thinking, permitted
from adacoder.models.speed import Speed

_FOR_GOOD_DAYS = 365
"""A model that stays loaded for this many days or longer is reported as never unloaded."""
_THINKING = {
    Thinking.NEVER: "answers at once",
    Thinking.UNLESS_TOLD: "could think first, which AdaCoder switches off",
    Thinking.ALWAYS: "always thinks first, which takes time",
}
_BEST = "the best installed code model"


@dataclass(frozen=True, slots=True)
class _Store:
    """Version and models of an Ollama server."""

    url: str
    version: str | None
    """The server's version; None if the server does not report it."""
    models: catalog.Listing[catalog.InstalledModel]
    running: tuple[Running, ...] | None
    """Loaded models; None if the server does not report them."""

    @property
    def finding(self) -> Finding:
        # models that could be the default come first
        names = list(dict.fromkeys(model.name for model in (*catalog.rank(self.models), *self.models)))
        shown = ", ".join(names[:NAMES_SHOWN]) + (", …" if len(names) > NAMES_SHOWN else "")
        has = f"with {counted(len(names), 'model')}: {shown}" if names else "without any model"
        has += f"; {self.models.others} more were not examined" if self.models.others else ""
        return Finding("Ollama", True, f"{self.version or 'of unknown version'} at {self.url}, {has}")


class OllamaBackend(ServedBackend):
    """Backend for Ollama. An instance requests the list of models only once."""

    kind = OLLAMA
    prefix = "ollama"
    reload_advice = "Ollama does this after a reply is ended early (ollama/ollama#17131): try a newer version."
    _store: _Store | Finding | None = None

    async def open_model(self, name: str) -> ChatModel:
        """Implement `Backend.open_model`. The default is the best installed code model."""
        host = self.settings.host
        if is_cloud(name) and not self.settings.allow_cloud:
            raise CloudRefused(name)
        await self.require_home(address(host))
        if not name:
            name = await self._best(self.deadlines)
            self.on_wait(f"no model is named: using {name}, the best installed code model")
        return self.served(OllamaServer(host, self.deadlines), name)

    async def examine(self, name: str, how: str, *, probes_speed: bool) -> Examination:
        """Implement `Backend.examine`."""
        self._store = store = self._store or await self._look_around()
        if isinstance(store, Finding):
            return Examination((store,))
        how = how if name else _BEST
        try:
            name = name or await self.soon(self._best(), store.url)
            facts = await self.soon(self._permitted(name), store.url)
        except NoModel as error:
            found = Finding("Model", False, "no code model is installed", str(error))
            return Examination((store.finding, found))
        except ModelError as error:
            which = f"{name}, {how}" if name else how
            what = f"{which}, is not installed" if isinstance(error, ModelMissing) else which
            found = Finding("Model", False, what, str(error), f"ollama:{name}" if name else None)
            return Examination((store.finding, found))
        model_id, asked = f"ollama:{name}", self.settings.context_tokens
        running = catalog.find(name, store.running or ())
        findings = [
            store.finding,
            _present(name, how, facts, catalog.find(name, store.models), running),
            context(model_id, asked, facts),
        ]
        if store.running is not None and not facts.remote:
            loads = "measuring its speed loads it" if probes_speed else "the first request loads it"
            findings.append(_loaded(model_id, running, facts.window_for(asked).tokens, loads))
        return Examination(tuple(findings), partial(self.measure, name))

    async def speed_advice(self, name: str, speed: Speed) -> str:
        """Implement `ServedBackend.speed_advice`. A model that is only partly on the GPU gets special advice."""
        host = self.settings.host
        try:
            running = await self.soon(catalog.running(host), host or "")
        except ModelError:
            running = None
        found = catalog.find(name, running or ())
        if found is not None and found.on_gpu is not None and 0 < found.on_gpu < 1:
            what = f"Only {found.on_gpu:.0%} of it fits on the GPU: a smaller model, or lower "
            return Text(what, CONTEXT_TOKENS, ", is faster.")
        return await super().speed_advice(name, speed)

    async def _look_around(self) -> _Store | Finding:
        """Return the server's version and models.

        Return a Finding if the server does not answer, or if requests are forbidden.
        """
        host = self.settings.host
        try:
            place = address(host)
            await self.require_home(place)
            return await self.soon(_store(place.url, host), place.url)
        except ModelError as error:
            return Finding("Ollama", False, "no usable server", str(error))

    async def _best(self, deadlines: Deadlines | None = None) -> str:
        found = await catalog.best(self.settings.host, deadlines)
        if found is None:
            raise NoModel(address(self.settings.host).url)
        return found.name

    async def _permitted(self, name: str) -> Facts:
        """Return the properties of a model. Raise a ModelError if the settings do not allow the model."""
        allow_cloud = self.settings.allow_cloud
        if is_cloud(name) and not allow_cloud:
            raise CloudRefused(name)
        return permitted(name, await catalog.facts(self.settings.host, name), allow_cloud=allow_cloud)


def _loaded(model_id: str, running: Running | None, window: int, loads: str) -> Finding:
    """Return the finding about a model's load state.

    `window` is the window that requests use. `loads` tells when a model that is not loaded will be loaded.
    """
    if running is None:
        return Finding("Loaded", None, f"not now: {loads}", model=model_id)
    parts = [part for part in (_until(running.until), _hardware(running.on_gpu)) if part]
    if not running.has_window(window):
        parts.append(f"with a window of {running.window:,} tokens, so {loads} again")
    return Finding("Loaded", None, f"yes{', ' if parts else ''}{'; '.join(parts)}", model=model_id)


async def _store(url: str, host: str | None) -> _Store:
    models = await catalog.installed(host)
    try:
        version = await catalog.version(host)
    except BadReply:
        version = None
    return _Store(url, version, models, await catalog.running(host))


def _present(
    name: str, how: str, facts: Facts, installed: catalog.InstalledModel | None, running: Running | None
) -> Finding:
    advice, about = list[str | Named](), list[str]()
    if installed is not None:
        about = [installed.parameters] if installed.parameters else []
        about += [installed.quantization] if installed.quantization else []
        about += [_gigabytes(installed.size)] if installed.size else []
        if not installed.chats:
            advice += ["This looks like a base model: choose an instruct model with ", MODEL, "."]
        elif installed.is_too_large and not (running and running.on_gpu == 1):
            has = f"this machine's memory ({_gigabytes(catalog.memory() or 0)})"
            advice += [f"It takes most of {has} or more, and may be slow: choose a smaller one with ", MODEL, "."]
    if not facts.reads_system:
        why = "Its template has no system text, so AdaCoder's rules go into the first message: put the TEMPLATE"
        advice += [
            " " * bool(advice),
            why,
            " of its family into its Modelfile, or choose another model with ",
        ]
        advice += [MODEL, "."]
    what = f"{', '.join(about)}; " if about else ""
    text = f"{name}, {how}: {what}{_THINKING[facts.thinking]}"
    return Finding("Model", True if facts.reads_system else None, text, Text(*advice), f"ollama:{name}")


def _until(moment: datetime | None) -> str:
    """Describe how long a model stays loaded, or return an empty text."""
    if moment is None:
        return ""
    left = moment - datetime.now(UTC)
    if left.days >= _FOR_GOOD_DAYS:
        return "for good"
    minutes = round(left.total_seconds() / 60)
    return f"for {counted(minutes, 'more minute')}" if minutes > 0 else "not for long"


def _hardware(on_gpu: float | None) -> str:
    """Describe the hardware that a model runs on, or return an empty text."""
    if on_gpu is None:
        return ""
    share = round(100 * on_gpu)
    return {0: "on the CPU", 100: "on the GPU"}.get(share, f"{share}% of it on the GPU, the rest on the CPU")


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
