"""Run and judge cells. A cell is one task for one model, strategy and sample. A row is the result of a cell."""

from __future__ import annotations

import ast
import asyncio
import hashlib
import json
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import adacoder
from adacoder.agents.questions import MOST_QUESTIONS, Ruling, question
from adacoder.arena.blame import Blame, blame
from adacoder.arena.judge import PASSED, HiddenJudge
from adacoder.arena.rows import DesignedTests, Judged, Key, Row, RowAttempt, RowsError, SecondProgram
from adacoder.arena.tasks import ArenaTask, TaskSet
from adacoder.aside import aside
from adacoder.domain import AdaCoderError, CrossCheck, Example, Outcome, Reply, Status, Step
from adacoder.journal import Asked, Evaluated, Repaired
from adacoder.models.backend import Session
from adacoder.models.backends import BACKENDS, kind_and_name
from adacoder.models.base import Leases
from adacoder.privacy.access import leads_out
from adacoder.pytext import parsed
from adacoder.replies.extract import extract
from adacoder.report.journal_document import journal
from adacoder.report.outcome import total_tokens
from adacoder.service import Service
from adacoder.settings import Settings
from adacoder.task import Task

_COUNTING = (
    *("max_iterations", "budget_calls", "budget_tokens", "budget_seconds", "budget_programs", "timeout"),
    *("context_tokens", "temperature", "instructions", "reply_timeout"),
)
"""Settings that can change a result, except for those that a row stores separately, such as the strategy."""
_MOST_SLOTS = 1024
_LEVEL = "level "
"""Prefix of branch names. The rest of such a name is the level that a strategy has reached."""


class ServerTrouble(Exception):
    """A cell failed, and the model is not the cause. The cell gets no row, so the next run repeats the cell."""

    def __init__(self, error: AdaCoderError, *, passes: bool) -> None:
        """`passes` is True if a retry may succeed."""
        super().__init__(str(error))
        self.passes = passes


@dataclass(frozen=True, slots=True)
class Cell:
    """One task for one model, strategy and sample."""

    task: ArenaTask
    key: Key

    @property
    def model(self) -> str:
        """Id of the model."""
        return self.key[3]

    @property
    def strategy(self) -> str:
        """Name of the strategy."""
        return self.key[4]

    @property
    def name(self) -> str:
        """File name for the cell's journal and recording, which is the same in every run."""
        return hashlib.sha256(json.dumps(self.key).encode()).hexdigest()[:20]


@dataclass(frozen=True, slots=True)
class Plan:
    """A comparison: every model and every strategy solve all tasks, in several samples."""

    tasks: TaskSet
    models: tuple[str, ...]
    strategies: tuple[str, ...]
    samples: int
    settings: Settings

    def __len__(self) -> int:
        return len(self.tasks.tasks) * len(self.models) * len(self.strategies) * self.samples

    def cells(self, models: Iterable[str]) -> Iterator[Cell]:
        """Yield the cells, grouped by model, so that a server loads each model once."""
        of_settings, tasks = digest(self.settings), self.tasks
        first = self.settings.seed or 0
        for model in models:
            for sample in range(self.samples):
                for task in tasks.tasks:
                    for strategy in self.strategies:
                        place = tasks.dataset, tasks.checksum, task.id
                        yield Cell(task, (*place, model, strategy, sample, of_settings, first + sample))


def digest(settings: Settings) -> str:
    """Return a digest of the settings that can change a result."""
    told = {name: getattr(settings, name) for name in _COUNTING}
    if settings.cross_check:  # without the setting, use the same digest as rows from before the setting existed
        told["cross_check"] = True
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def values_of(settings: Settings) -> tuple[tuple[str, str], ...]:
    """Return names and values of the settings in the digest, except for `instructions`, which can be long."""
    told = ((name, getattr(settings, name)) for name in _COUNTING if name != "instructions")
    return tuple((name, "" if value is None else str(value)) for name, value in told)


@dataclass(frozen=True, slots=True)
class Bench:
    """The service, the judge and the folders that are needed to run cells."""

    service: Service
    judge: HiddenJudge
    settings: Settings
    journals: Path | None = None
    """Folder for journals; None if no journals are written."""
    records: Path | None = None
    """Folder for recorded conversations; None if nothing is recorded."""
    replays: Path | None = None
    """Folder of recorded conversations to replay; None to call the models."""

    @classmethod
    def opened(
        cls, settings: Settings, journals: Path, records: Path | None = None, replays: Path | None = None
    ) -> Bench:
        """Create a bench with its own service and judge. The bench does not limit the number of parallel cells."""
        service = Service(session=Session(leases=Leases(_MOST_SLOTS)))
        return cls(service, HiddenJudge(settings), settings, journals, records, replays)

    async def close(self) -> None:
        """Stop the processes of the service and the judge."""
        await asyncio.gather(self.judge.close(), self.service.close())

    def server_of(self, model: str) -> str:
        """Return the kind of server that a model needs, such as `ollama`."""
        return kind_and_name(model)[0]

    def slots_of(self, server: str) -> int:
        """Return the number of cells that a server can run in parallel."""
        return BACKENDS[server].slots

    async def done(self, cell: Cell) -> Row:
        """Run a cell and return its row.

        Raises:
            ServerTrouble: the cell failed, and the model is not the cause.
            SandboxError: candidates could not be judged.
            RowsError: the cell's journal cannot be written.
        """
        record = f"{cell.name}.conversation"
        settings = replace(
            self.settings,
            hide=(*self.settings.hide, *cell.task.hide),
            tests=False,  # the project's tests may be the hidden tests
            models=(f"replay:{self.replays / record}" if self.replays else cell.model,),
            strategy=cell.strategy,
            seed=cell.key[7],
            record=None if self.records is None else self.records / record,
        )
        if settings.record is not None:
            settings.record.parent.mkdir(parents=True, exist_ok=True)
            settings.record.unlink(missing_ok=True)  # a failed try may have left the file
        task = Task(cell.task.target, settings, cell.task.project)
        outcome = await self.service.run(task)
        failure_of = _failure_of(outcome.trouble)
        candidate = None if outcome.status is Status.ERROR else outcome.candidate
        judged = None if candidate is None else await self.judge.judge(cell.task, candidate)
        attempts = await self._attempts(cell.task, outcome, judged)
        designed = _designed(outcome.steps)
        tests = None if designed is None else await self.judge.tried(cell.task, designed)
        second = None
        if settings.cross_check and outcome.status is Status.VERIFIED:
            outcome = await self.service.cross_checked(task, outcome)
            checked = outcome.cross_check
            _failure_of(None if checked is None else checked.trouble)  # raises ServerTrouble if the server is to blame
            second = await self._second(cell.task, checked, judged == PASSED)
        name = None if self.journals is None else self._keep_journal(cell, outcome, self.journals)
        row = _row(cell, outcome, judged, attempts, tests, failure_of, name, values_of(self.settings))
        return replace(row, second=second)

    async def _second(self, task: ArenaTask, checked: CrossCheck | None, is_right: bool) -> SecondProgram | None:
        """Judge the program that a user would choose with the answers of the canonical solution.

        The user chooses the second program only if an answer supports it and no answer supports the first program.
        """
        if checked is None or checked.found is None:
            return None
        found, asked, rulings = checked.found, list[str](), set[Ruling | None]()
        while len(asked) < MOST_QUESTIONS and (difference := question(found.differs, asked)) is not None:
            asked.append(difference.call)
            rulings.add(await self.judge.ruled(task, difference))
        if Ruling.THERE in rulings and Ruling.HERE not in rulings and checked.candidate is not None:
            is_right = await self.judge.judge(task, checked.candidate) == PASSED
        return SecondProgram(found.inputs, found.agreed, len(asked), is_right)

    async def _attempts(self, task: ArenaTask, outcome: Outcome, judged: Judged | None) -> list[RowAttempt]:
        """Judge each evaluated candidate."""
        found: list[RowAttempt] = []
        words = {} if outcome.candidate is None else {outcome.candidate.text: judged}
        for attempt, code in _evaluations(outcome.steps):
            if code not in words:
                candidate = await aside(extract, Reply(f"```python\n{code}\n```\n"), task.target)
                words[code] = await self.judge.judge(task, candidate) if candidate.function else None
            found.append(replace(attempt, right=words[code] == PASSED, is_empty=await aside(_is_empty, code)))
        return found

    def _keep_journal(self, cell: Cell, outcome: Outcome, folder: Path) -> str:
        path = folder / f"{cell.name}.md"
        keep(path, journal(outcome, cell.task.project.folder))
        return f"{folder.name}/{path.name}"


def keep(path: Path, text: str) -> None:
    """Write a cell's journal or recorded conversation.

    Raises:
        RowsError: the file cannot be written, or a link leads out of the folder.
    """
    if path.is_symlink() or leads_out(path, path.parent.parent):
        raise RowsError(f"{path} leads to another file: remove the link.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RowsError(f"{path} cannot be written: {error.strerror}.") from error


def _failure_of(trouble: AdaCoderError | None) -> str | None:
    """Return `model` if the model caused an error, or None if there was no error.

    Raises:
        ServerTrouble: the model is not the cause.
    """
    if trouble is None:
        return None
    whose = blame(trouble)
    if whose is Blame.MODEL:
        return "model"
    raise ServerTrouble(trouble, passes=whose is Blame.PASSING)


def _evaluations(steps: Iterable[Step]) -> Iterator[tuple[RowAttempt, str]]:
    """Yield each evaluated program with its code. The same code is yielded again only after another model call."""
    calls, written, agent, rules = 0, 0, "", tuple[str, ...]()
    seen: dict[str, int] = {}
    """Number of model calls before the latest evaluation of each code."""
    for step in steps:
        written += step.tokens.completion
        match step.details:
            case Asked():
                calls, agent, rules = calls + 1, step.agent, ()
            case Repaired():
                rules = step.details.rules
            case Evaluated(code=code, failure=failure) as found if (
                step.action == "evaluate" and seen.get(code) != calls
            ):
                seen[code] = calls
                yield (
                    RowAttempt(
                        round=step.round,
                        call=calls,
                        agent="debug_specialist" if rules else agent,
                        failure=None if failure is None else failure.kind.value,
                        examples=(found.passed, found.total),
                        repaired=bool(rules),
                        rules=rules,
                        lines=sum(bool(line.strip()) for line in code.splitlines()),
                        code=_short_digest(code),
                        message=None if failure is None else _short_digest(failure.message),
                        error=None if failure is None or failure.error is None else failure.error.partition(":")[0],
                        branch=step.branch,
                        written=written,
                    ),
                    code,
                )


def _designed(steps: Iterable[Step]) -> tuple[Example, ...] | None:
    """Return the different tests that a model wrote, or None if no model was asked for tests."""
    found = [each.details.designed for each in steps if isinstance(each.details, Asked)]
    known = [tests for tests in found if tests is not None]
    return tuple(dict.fromkeys(test for tests in known for test in tests)) if known else None


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]


def _is_empty(code: str) -> bool:
    """Return whether the last function in `code` does nothing.

    Its body then has only docstrings, `pass`, `...` or a bare `return`.
    """
    tree = parsed(code)
    functions = [] if tree is None else [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    return bool(functions) and all(
        isinstance(each, ast.Pass)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        or (isinstance(each, ast.Return) and each.value is None)
        for each in functions[-1].body
    )


def _row(
    cell: Cell,
    outcome: Outcome,
    judged: Judged | None,
    attempts: Sequence[RowAttempt],
    tests: DesignedTests | None,
    failure_of: str | None,
    journal_file: str | None,
    values: tuple[tuple[str, str], ...],
) -> Row:
    dataset, checksum, task, model, strategy, sample, settings, seed = cell.key
    times = [step.time for step in outcome.steps if step.time is not None]
    levels = [int(name.removeprefix(_LEVEL)) for step in outcome.steps for name in step.branch if _is_level(name)]
    return Row(
        task=task,
        dataset=dataset,
        checksum=checksum,
        model=model,
        strategy=strategy,
        sample=sample,
        settings=settings,
        seed=seed,
        status=outcome.status.value,
        right=None if judged is None else judged == PASSED,
        reason=outcome.reason,
        judged=judged,
        candidate=None if judged is None or outcome.candidate is None else outcome.candidate.text,
        rounds=outcome.rounds,
        calls=sum(isinstance(step.details, Asked) for step in outcome.steps),
        tokens=total_tokens(outcome),
        seconds=round(outcome.seconds, 3),
        server_seconds=round(sum(each.load + each.prompt + each.generation for each in times), 3),
        attempts=tuple(attempts),
        tests=tests,
        level=max(levels, default=None),
        programs=len({each.code for each in attempts}),
        journal=journal_file,
        failure_of=failure_of,
        adacoder=adacoder.__version__,
        python=platform.python_version(),
        at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        difficulty=cell.task.difficulty,
        values=values,
    )


def _is_level(name: str) -> bool:
    return name.startswith(_LEVEL) and name.removeprefix(_LEVEL).isdigit()
