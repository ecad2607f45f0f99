"""`adacoder demo`: write a function in a small temporary project, by default with recorded replies of a model."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import adacoder
from adacoder import report
from adacoder.cli import COULD_NOT_RUN
from adacoder.cli.output import unified_diff
from adacoder.cli.story import Story
from adacoder.cli.terminal import complain, screen
from adacoder.domain import AdaCoderError, Level, Outcome, Status, TargetError
from adacoder.journal import Journal
from adacoder.models.catalog import best
from adacoder.project import Project
from adacoder.sandbox.probe import probe
from adacoder.service import Service
from adacoder.settings import Settings, merge
from adacoder.source.locate import locate
from adacoder.source.text import apply_edits, read
from adacoder.strategies.adacoder import ADACODER
from adacoder.task import Task

PROJECT = "project"
"""Name of the project's folder inside `fixture()`."""
MODULE = Path("subtitles") / "cues.py"
FUNCTION = "timestamp"
RECORDING = "timestamp.conversation"

_RECORDED = (
    "The model's replies are recorded, and were written by hand for this demonstration of the strategy 'adacoder'."
    " Everything else is real: the rules fix the replies, and the examples run."
)
_UNCONFINED = (
    "Nothing on this machine can isolate code ({}). The demonstration runs anyway, because its code is part of"
    " AdaCoder. A model's code would not run. `adacoder doctor` shows what to install."
)
_ASKED = "The replies come from the model '{}'."
_PATIENCE = 2.0
"""Maximum seconds to wait for an Ollama server's list of models."""


def fixture() -> Path:
    """Return the folder of the demonstration: in the installed package, else in the source tree."""
    package = Path(adacoder.__file__).parent
    inside = package / "fixtures" / "demo"
    return inside if inside.is_dir() else package.parents[1] / "fixtures" / "demo"


class Demo:
    """One run of `adacoder demo`."""

    def __init__(self, values: Mapping[str, object], *, keep: bool) -> None:
        """`values` maps fields of Settings to the values of options. None means that the option is not given."""
        recorded = f"replay:{fixture() / RECORDING}"
        self._is_recorded = values.get("model") in (None, (recorded,))
        base = Settings()
        if self._is_recorded:
            # The recorded code ships with AdaCoder, so it may run without isolation.
            base = replace(base, models=(recorded,), strategy=ADACODER.name, isolation=Level.NONE)
        self._settings = merge(base, values, complain)
        self._keep = keep
        self._story = Story(screen())

    async def show(self) -> int:
        """Show the demonstration. Return the exit code."""
        model = asyncio.create_task(_model_at_hand(self._settings.host)) if self._is_recorded else None
        try:
            with self._workspace() as folder:
                outcome = await self._run(folder)
            if outcome.status is Status.ERROR:
                complain(report.summary(outcome))
            elif model is not None:
                self._say_what_is_next(await model)
        except TargetError as error:
            complain(str(error))
            return COULD_NOT_RUN
        finally:
            if model is not None:
                model.cancel()
        return report.exit_code([outcome])

    async def _run(self, folder: Path) -> Outcome:
        file = read(folder / MODULE)
        target = locate(file.text, file.path, folder, qualname=FUNCTION)
        about = _RECORDED if self._is_recorded else _ASKED.format(", ".join(self._settings.models))
        finding = await probe()
        if finding.isolation.level is self._settings.isolation is Level.NONE and self._is_recorded:
            about = f"{about} {_UNCONFINED.format(finding.reason)}"
        self._story.begin(report.label(target, folder), target.source, about)
        service = Service()
        try:
            outcome = await service.run(Task(target, self._settings, Project(folder), Journal(self._story)))
        finally:
            await service.close()
        if outcome.status is not Status.ERROR:
            after = apply_edits(file.text, outcome.edits)
            self._story.end(outcome, unified_diff(file, after, MODULE))
        return outcome

    @contextmanager
    def _workspace(self) -> Iterator[Path]:
        """Yield a copy of the demonstration's project. Remove the copy afterwards, unless the user keeps it."""
        try:
            parent = Path(tempfile.mkdtemp(prefix="adacoder-demo-")).resolve()
        except OSError:
            reason = "The demonstration needs a folder for temporary files: set TMPDIR to a writable one."
            raise TargetError(reason) from None
        folder = parent / PROJECT
        try:
            shutil.copytree(fixture() / PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__"))
            yield folder
        finally:
            if not self._keep:
                shutil.rmtree(parent)
        if self._keep:
            self._story.remark("The project is kept:", str(folder))

    def _say_what_is_next(self, model: str | None) -> None:
        self._story.remark("On your own code:", "adacoder generate PATH::NAME")
        if model is not None:
            host = f" --host {shlex.quote(self._settings.host)}" if self._settings.host else ""
            self._story.remark("With your own model:", f"adacoder demo --model {shlex.quote(model)}{host}")


async def _model_at_hand(host: str | None) -> str | None:
    """Return the Ollama server's best code model; None if no server answers soon, or no model is suitable."""
    try:
        async with asyncio.timeout(_PATIENCE):
            found = await best(host)
    except (AdaCoderError, TimeoutError):
        return None
    return None if found is None else found.name
