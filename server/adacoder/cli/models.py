"""`adacoder models`: list installed models, or rank models and workflows on the user's own functions."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path

from adacoder.arena.cells import Bench, Cell, Plan, ServerTrouble
from adacoder.arena.judge import HiddenJudge
from adacoder.arena.rank import Arm, ArmResults, Ranking, Result, rank
from adacoder.arena.rows import Row, RowsFile, RowsReader
from adacoder.arena.tables import Table, TableCell, TableLine
from adacoder.cli.arena import fit, wanted_tasks
from adacoder.cli.choices import Choices, Told
from adacoder.cli.row_tables import show
from adacoder.cli.terminal import complain, console, moving_line
from adacoder.domain import AdaCoderError
from adacoder.models import catalog
from adacoder.models.address import address, base_url, require_private
from adacoder.models.errors import OLLAMA, OPENAI
from adacoder.models.server import Deadlines
from adacoder.project import pyproject_file
from adacoder.report import VERSION
from adacoder.service import Service
from adacoder.settings import Settings
from adacoder.settings.editing import with_settings
from adacoder.source.text import read, write
from adacoder.strategies import strategy_named


@dataclass(frozen=True, slots=True)
class Contest:
    """Options of `adacoder models`. All but `as_json` are for `--rank`."""

    tasks: Path | None
    """A folder of code or a file of tasks; None for the current folder."""
    models: tuple[str, ...]
    """The models to rank; empty for all installed models."""
    strategies: tuple[str, ...]
    minutes: float
    rows: Path | None
    as_json: bool
    writes: bool


async def list_models(values: Mapping[str, object], *, as_json: bool) -> int:
    """Print the models of the server in the settings, the best for code first. Return the exit code."""
    settings = Choices(values, Told()).settings(Path.cwd())
    found = await _models(settings)
    prefix = "openai:" if settings.base_url else ""
    for model in found if as_json else ():
        print(json.dumps({"version": VERSION, **asdict(model), "name": f"{prefix}{model.name}", "chats": model.chats}))
    if not as_json:
        fit_for_code = catalog.rank(found)
        for model in (*fit_for_code, *(each for each in found if each not in fit_for_code)):
            large = "  too large for this machine" if model.is_too_large else ""
            print(f"{prefix}{model.name}  {model.parameters or 'size unknown'}{large}")
    if not (found or settings.base_url):
        complain("The server has no models: `ollama pull qwen2.5-coder` installs one.")
    elif not found:
        complain(f"The server at {settings.base_url} lists no models: name one with --model openai:NAME.")
    return 0


async def rank_models(contest: Contest, values: Mapping[str, object]) -> int:
    """Rank models and workflows, and show the result. Return 0 if there is a winner, else 1.

    Raises:
        AdaCoderError: the ranking could not run.
    """
    settings = Choices(values, Told()).settings(Path.cwd())
    for name in contest.strategies:
        strategy_named(name)
    models = contest.models or await _ids(settings)
    arms = [Arm(model, strategy) for model in models for strategy in contest.strategies]
    with tempfile.TemporaryDirectory(prefix="adacoder-rank-") as name:
        ranking = await _RankingRun(contest, settings, Path(name)).rank(arms)
    if contest.as_json:
        print(json.dumps(_told(ranking)))
    else:
        show([_table(ranking)])
    complain(ranking.sentence)
    if contest.writes and ranking.best is not None:
        _write(ranking.best.arm)
    return 0 if ranking.best is not None else 1


async def _models(settings: Settings) -> Sequence[catalog.InstalledModel]:
    """Return the models of the OpenAI-compatible server in the settings, or else of the Ollama server.

    Raises:
        ModelError: no server answers, or the server is outside the user's network and that is not allowed.
    """
    if not settings.base_url:
        place, kind = address(settings.host), OLLAMA
    else:
        place, kind = base_url(settings.base_url), OPENAI
    if not settings.allow_cloud:
        await require_private(place, kind, Deadlines().connect)
    return await (catalog.installed(settings.host) if kind is OLLAMA else catalog.served(place.url))


async def _ids(settings: Settings) -> Sequence[str]:
    """Return the ids of the server's chat models that fit into memory. The best for code is first.

    Raises:
        AdaCoderError: the server has no such model.
    """
    found = [model.name for model in catalog.rank(await _models(settings)) if not model.is_too_large]
    if not found:
        what = "The server has no model that fits" if settings.base_url else "No installed model fits this machine"
        raise AdaCoderError(f"{what}: name models with --model.")
    return [f"{'openai' if settings.base_url else 'ollama'}:{name}" for name in found]


class _RankingRun:
    def __init__(self, contest: Contest, settings: Settings, folder: Path) -> None:
        """`folder` is a temporary folder for the tasks. The rows are also stored there, unless the user names a file
        for them.
        """
        self._contest = contest
        self._settings = settings
        self._folder = folder.resolve()
        self._rows = RowsFile(contest.rows or self._folder / "rows.jsonl")
        self._known: dict[tuple[object, ...], Row] = {row.key: row for row in RowsReader().rows(self._rows.path)}
        self._line = moving_line(console(stderr=True))
        self._told = Told()

    async def rank(self, arms: Sequence[Arm]) -> Ranking:
        """Rank pairs of a model and a workflow by their results on the tasks."""
        contest, settings = self._contest, self._settings
        judge, service = HiddenJudge(settings), Service()
        try:
            tasks = await fit(await wanted_tasks(contest.tasks or Path.cwd(), "*", settings, self._folder), judge)
            models, strategies = (tuple(dict.fromkeys(map(attrgetter(name), arms))) for name in ("model", "strategy"))
            plan = Plan(tasks, models, strategies, 1, settings)
            cells = {(cell.model, cell.strategy, cell.task.id): cell for cell in plan.cells(models)}
            bench = Bench(service, judge, settings)

            async def evaluate(arm: Arm, function: str) -> Result | None:
                self._line.show(f"{arm} writes {function}")
                return await self._evaluated(bench, cells[arm.model, arm.strategy, function])

            functions = sorted((task.id for task in tasks.tasks), key=_shuffled)
            return await rank(arms, functions, evaluate, 60 * contest.minutes, time.monotonic, self._tell)
        finally:
            self._line.hide()
            await asyncio.gather(judge.close(), service.close())
            await self._rows.close()

    async def _evaluated(self, bench: Bench, cell: Cell) -> Result | None:
        row = self._known.get(cell.key)
        if row is None:
            try:
                row = await bench.done(cell)
            except ServerTrouble as trouble:
                self._told(f"{cell.model}: {trouble}")
                return None
            await self._rows.add(row)
        spent = row.tokens.prompt + row.tokens.completion
        return Result(bool(row.right), row.status == "verified", row.seconds, spent)

    def _tell(self, message: str) -> None:
        self._line.hide()
        complain(message)


def _shuffled(name: str) -> str:
    """Return a sort key that gives names the same random order in every run."""
    return hashlib.sha256(name.encode()).hexdigest()


_COLUMNS = ("right", "of", "95 % interval", "verified but wrong", "seconds", "tokens", "dropped")


def _table(ranking: Ranking) -> Table:
    lines = tuple(TableLine(str(each.arm), tuple(map(TableCell, _figures(each)))) for each in ranking.standings)
    tried = max((len(each.results) for each in ranking.standings), default=0)
    title = f"the best first, {tried} of {ranking.functions} functions tried"
    return Table("Ranking", title, "Model and workflow", _COLUMNS, lines)


def _figures(each: ArmResults) -> tuple[str, ...]:
    interval = each.interval
    shown = "–" if interval is None else f"{interval[0]:.0%}–{interval[1]:.0%}"
    cost = (f"{each.seconds:.1f}", f"{each.tokens:,.0f}")
    return str(each.right), str(len(each.counted)), shown, str(each.wrongly_verified), *cost, each.dropped


def _told(ranking: Ranking) -> Mapping[str, object]:
    standings = [
        {
            **asdict(each.arm),
            "right": each.right,
            "of": len(each.counted),
            "interval": each.interval,
            "verifiedButWrong": each.wrongly_verified,
            "seconds": each.seconds,
            "tokens": each.tokens,
            "dropped": each.dropped or None,
        }
        for each in ranking.standings
    ]
    return {
        "version": VERSION,
        "functions": ranking.functions,
        "complete": ranking.is_complete,
        "sentence": ranking.sentence,
        "standings": standings,
    }


def _write(arm: Arm) -> None:
    """Write the winner into the pyproject.toml of the current project.

    Raises:
        AdaCoderError: the file cannot be written, and is unchanged.
    """
    values = {"model": arm.model, "strategy": arm.strategy}
    path = pyproject_file(Path.cwd())
    if path is None:
        lines = "".join(f"\n{key} = {json.dumps(value)}" for key, value in values.items())
        raise AdaCoderError(f"There is no pyproject.toml here. Create one with:\n[tool.adacoder]{lines}")
    if arm.model.startswith("replay:"):
        raise AdaCoderError("A recorded conversation cannot be a project's model: nothing was written.")
    file = read(path)
    if file.encoding != "utf-8":
        raise AdaCoderError(f"{path} is not in UTF-8, and was left as it is: convert it to UTF-8.")
    write(file, with_settings(file.text, values), path.parent)
    complain(f"Wrote model and strategy to {path}.")
