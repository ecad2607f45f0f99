"""What an examination finds of an Ollama server and its models."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from adacoder.models import catalog
from adacoder.models.address import address, stay_at_home
from adacoder.models.errors import OLLAMA, BadReply, CloudRefused, ModelError, ModelMissing, NoModel
from adacoder.models.examination import NAMES_SHOWN, Finding, Rung, Terms, context, counted
from adacoder.models.names import is_cloud
from adacoder.models.server import Facts, Running, Thinking, permitted

_FOR_GOOD_DAYS = 365
"""A model that stays loaded so long was told to stay."""
_THINKING = {
    Thinking.NEVER: "answers at once",
    Thinking.UNLESS_TOLD: "could think first, which AdaCoder switches off",
    Thinking.ALWAYS: "always thinks first, which takes its time",
}
_BEST = "the best for code that is installed"


@dataclass(frozen=True, slots=True)
class _Store:
    """What an Ollama server has."""

    url: str
    version: str | None
    """None: it does not tell."""
    models: catalog.Listing[catalog.InstalledModel]
    running: tuple[Running, ...] | None
    """What is loaded; None: it does not tell."""

    @property
    def finding(self) -> Finding:
        """The server itself."""
        # Those that could be chosen come first.
        names = list(dict.fromkeys(model.name for model in (*catalog.rank(self.models), *self.models)))
        shown = ", ".join(names[:NAMES_SHOWN]) + (", …" if len(names) > NAMES_SHOWN else "")
        has = f"with {counted(len(names), 'model')}: {shown}" if names else "without any model"
        has += f"; {self.models.others} more were not looked at" if self.models.others else ""
        return Finding("Ollama", True, f"{self.version or 'of unknown version'} at {self.url}, {has}")


class OllamaExaminer:
    """The Examiner of Ollama. The server is looked at once, for all of its models."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._settings = terms.settings
        self._store: _Store | Finding | None = None

    async def rung(self, name: str, how: str) -> Rung:
        """As `Examiner.rung`."""
        self._store = store = self._store or await self._look_around()
        if isinstance(store, Finding):
            return Rung((store,))
        how = how if name else _BEST
        try:
            name = name or await self._terms.soon(self._best(), store.url, OLLAMA)
            facts = await self._terms.soon(self._permitted(name), store.url, OLLAMA)
        except NoModel as error:
            return Rung((store.finding, Finding("Model", False, "none that writes code is installed", str(error))))
        except ModelError as error:
            which = f"{name}, {how}" if name else how
            what = f"{which}, is not installed" if isinstance(error, ModelMissing) else which
            return Rung((store.finding, Finding("Model", False, what, str(error), f"ollama:{name}" if name else None)))
        model_id, asked = f"ollama:{name}", self._settings.context_tokens
        running = catalog.find(name, store.running or ())
        found = [
            store.finding,
            _present(name, how, facts, catalog.find(name, store.models), running),
            context(model_id, asked, facts),
        ]
        if store.running is not None and not facts.remote:
            found.append(self._loaded(model_id, running, facts.window_for(asked).tokens))
        return Rung(tuple(found), model_id)

    async def _look_around(self) -> _Store | Finding:
        """What the server has; the Finding if it cannot be asked, or may not."""
        try:
            place = address(self._settings.host)
            if not self._settings.allow_cloud:
                await stay_at_home(place, OLLAMA, self._terms.patience)
            return await self._terms.soon(_store(place.url, self._settings.host), place.url, OLLAMA)
        except ModelError as error:
            return Finding("Ollama", False, "no server that could be asked", str(error))

    async def _best(self) -> str:
        found = await catalog.best(self._settings.host)
        if found is None:
            raise NoModel(address(self._settings.host).url)
        return found.name

    async def _permitted(self, name: str) -> Facts:
        """What a model can do, if it may be used."""
        allow_cloud = self._settings.allow_cloud
        if is_cloud(name) and not allow_cloud:
            raise CloudRefused(name)
        return permitted(name, await catalog.facts(self._settings.host, name), allow_cloud=allow_cloud)

    def _loaded(self, model_id: str, running: Running | None, window: int) -> Finding:
        """Whether the next request finds the model loaded, with the `window` that it will ask for."""
        loads = "measuring its speed loads it" if self._terms.probes_speed else "the first request loads it"
        if running is None:
            return Finding("Loaded", None, f"not now: {loads}", model=model_id)
        parts = [part for part in (_until(running.until), _hardware(running.on_gpu)) if part]
        if not running.has_window(window):
            parts.append(f"with a window of {running.window:,} tokens, so that {loads} anew")
        return Finding("Loaded", None, f"yes{', ' if parts else ''}{'; '.join(parts)}", model=model_id)

    async def on_gpu(self, name: str) -> float | None:
        """As `Examiner.on_gpu`."""
        host = self._settings.host
        try:
            running = await self._terms.soon(catalog.running(host), host or "", OLLAMA)
        except ModelError:
            return None
        found = catalog.find(name, running or ())
        return None if found is None else found.on_gpu


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
    """A model that is there: what it is, and what it can do."""
    advice, about = [], []
    if installed is not None:
        about = [f"{installed.billions:.3g}B"] if installed.billions else []
        about += [installed.quantization] if installed.quantization else []
        about += [_gigabytes(installed.size)] if installed.size else []
        if not installed.chats:
            advice.append("By its name it only continues texts: choose one that follows instructions with --model.")
        elif installed.is_too_large and not (running and running.on_gpu == 1):
            has = f"this machine's memory ({_gigabytes(catalog.memory() or 0)})"
            advice.append(f"It takes most of {has} or more, and may be slow: choose a smaller one with --model.")
    if not facts.hears_system:
        advice.append(
            "Its template shows it no system text, so that AdaCoder's rules go into the first message: put the"
            " TEMPLATE of its family into its Modelfile, or choose a model that brings one with --model."
        )
    what = f"{', '.join(about)}; " if about else ""
    text = f"{name}, {how}: {what}{_THINKING[facts.thinking]}"
    return Finding("Model", True if facts.hears_system else None, text, " ".join(advice), f"ollama:{name}")


def _until(moment: datetime | None) -> str:
    """For how long a model stays loaded; empty where that is not told."""
    if moment is None:
        return ""
    left = moment - datetime.now(UTC)
    if left.days >= _FOR_GOOD_DAYS:
        return "for good"
    minutes = round(left.total_seconds() / 60)
    return f"for {counted(minutes, 'more minute')}" if minutes > 0 else "not for long"


def _hardware(on_gpu: float | None) -> str:
    """What a model runs on; empty where that is not told."""
    if on_gpu is None:
        return ""
    share = round(100 * on_gpu)
    return {0: "on the CPU", 100: "on the GPU"}.get(share, f"{share}% of it on the GPU, the rest on the CPU")


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
