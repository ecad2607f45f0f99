"""One request: Target and Settings in, Outcome and Edits out.

The only place that brings models, sandbox, agents and strategies together. It is behind every door.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from adacoder.agents import CodeEvaluator, DebugSpecialist, ProgrammingAssistant, PromptEngineer, Team, TestDesigner
from adacoder.agents.conversation import Conversation
from adacoder.agents.prompt import Briefing, brief
from adacoder.aside import aside
from adacoder.domain import (
    AdaCoderError,
    Attempt,
    Candidate,
    Edit,
    Outcome,
    Reply,
    Status,
    Target,
    conclude,
)
from adacoder.journal import Journal
from adacoder.models.backends import Experience
from adacoder.models.errors import ModelError
from adacoder.models.held import HeldModel
from adacoder.models.recording.about import About
from adacoder.models.recording.recorder import CannotRecord
from adacoder.models.window import Window
from adacoder.privacy.access import Access
from adacoder.privacy.names import Wishes
from adacoder.pytext import dedent, normalize
from adacoder.replies.extract import extract
from adacoder.sandbox.host import Host, turns_for_all
from adacoder.sandbox.interpreter import Interpreter, find
from adacoder.settings import Settings
from adacoder.source.context import pieces
from adacoder.source.docstring import add_examples
from adacoder.source.imports import ImportIndex
from adacoder.source.locate import Documented
from adacoder.source.shareable import shareable
from adacoder.source.splice import splice
from adacoder.strategies import STRATEGIES

_OFFERED = frozenset({Status.VERIFIED, Status.UNVERIFIED})
"""Outcomes that carry Edits. An unverified one is marked so, and its door asks before it inserts."""

_MOMENT_SECONDS = 1.0
"""How long the interpreter that was found for a folder is taken for granted."""


@dataclass(frozen=True, slots=True)
class Project:
    """What surrounds a Target at the moment of a request."""

    folder: Path
    """The workspace folder, absolute."""
    overlays: Mapping[Path, str] = field(default_factory=dict)
    """Whole texts of open files, by path, which may differ from what is on disk."""


class Service:
    """Runs requests. Keeps what is worth keeping between them: evaluator hosts, and what is remembered of models."""

    def __init__(self) -> None:
        self._hosts: dict[tuple[Interpreter, Path, object, Wishes], Host] = {}
        self._interpreters: dict[tuple[Path | None, Path, Path], tuple[Interpreter, float]] = {}
        self._turns = turns_for_all()
        self.experience = Experience()
        """What is kept of models between requests, their leases among it."""

    async def run(
        self, target: Target, start: Candidate | None, settings: Settings, project: Project, journal: Journal
    ) -> Outcome:
        """Run the strategy on `target`, from `start` if there is one, and say what came of it.

        With `settings.max_iterations == 0` and a `start` no model is called: that is `apply` and repair. Whatever
        a user can mend becomes an Outcome; cancellation goes through.
        """
        try:
            await asyncio.to_thread(_require, target, settings, project)
            target = await (await self._evaluator(target, settings, project, journal)).with_class_examples(target)
            outcome = await self._climb(target, start, settings, project, journal)
        except AdaCoderError as error:
            outcome = Outcome(Status.ERROR, target, str(error))
        return await _with_evidence(replace(outcome, strategy=settings.strategy), journal)

    async def recheck(
        self, target: Target, candidate: Candidate, settings: Settings, project: Project, journal: Journal
    ) -> Outcome:
        """Only evaluate `candidate` in the text of `target`, which is not the one that it was written for."""
        journal.begin_round()
        try:
            await asyncio.to_thread(_require, target, settings, project)
            evaluator = await self._evaluator(target, settings, project, journal)
            target = await evaluator.with_class_examples(target)
            attempt = Attempt(candidate, await evaluator.evaluate(target, candidate))
            outcome = conclude(target, attempt, journal.round)
        except AdaCoderError as error:
            outcome = Outcome(Status.ERROR, target, str(error))
        return await _with_evidence(outcome, journal)

    async def check(self, documented: Documented, settings: Settings, project: Project, journal: Journal) -> Outcome:
        """Run the examples of a docstring on the text as it stands; what fails in doctest fails here.

        A function is `verified` only if one of them runs it and shows an output.
        """
        journal.begin_round()
        target = documented.target
        try:
            await asyncio.to_thread(_require, target, settings, project)
            evaluator = await self._evaluator(target, settings, project, journal)
            verdict = await evaluator.evaluate_as_it_stands(documented)
            outcome = conclude(target, Attempt(current(target), verdict), journal.round)
        except AdaCoderError as error:
            outcome = Outcome(Status.ERROR, target, str(error))
        return replace(outcome, steps=journal.steps, seconds=journal.seconds)

    async def suggest(self, target: Target, settings: Settings, project: Project, journal: Journal) -> Outcome:
        """Let a model suggest examples for the docstring. At best the Outcome is `unverified`, its Edits add them.

        Where the function is written already, only examples that it passes are suggested.
        """
        journal.begin_round()
        try:
            await asyncio.to_thread(_require, target, settings, project)
            outcome = await self._suggest_by_any(target, settings, project, journal)
        except AdaCoderError as error:
            outcome = Outcome(Status.ERROR, target, str(error))
        return replace(outcome, rounds=journal.round, steps=journal.steps, seconds=journal.seconds)

    async def close(self) -> None:
        """End every process that was kept warm."""
        hosts = list(self._hosts.values())
        self._hosts.clear()
        await asyncio.gather(*(host.close() for host in hosts))

    async def _climb(
        self, target: Target, start: Candidate | None, settings: Settings, project: Project, journal: Journal
    ) -> Outcome:
        """Run the strategy once a rung of the ladder of models, until one leaves nothing more to be done.

        Of all Outcomes the one that got furthest is returned, with the model that it is due to.
        """
        best: Outcome | None = None
        troubles: dict[str, None] = {}
        python = (await self._interpreter(target, settings, project)).path
        for number, (name, most) in enumerate(settings.rungs(is_started=start is not None), 1):
            about = partial(About, target, start, settings, project.folder, python, shareable, number)
            async with self._model(name, settings, journal, about) as model:
                try:
                    outcome = await self._run_strategy(target, start, settings, project, journal, model, most)
                except ModelError as error:
                    troubles[str(error)] = None
                    journal.waiting(str(error))
                    model.concluded(Outcome(Status.ERROR, target, str(error)))
                    if isinstance(error, CannotRecord):
                        break  # no other model mends that
                    continue
                outcome = model.concluded(outcome)
            outcome = replace(outcome, model=model.name)
            if best is None or _reach(outcome) > _reach(best):
                best = outcome
            if outcome.verdict is None or outcome.verdict.final:
                break
        if best is None:
            raise ModelError(" ".join(troubles))
        return replace(best, rounds=journal.round, notes=tuple(dict.fromkeys((*best.notes, *troubles))))

    def _model(self, name: str | None, settings: Settings, journal: Journal, about: Callable[[], About]) -> HeldModel:
        return HeldModel(name, settings, self.experience, journal, about)

    async def _run_strategy(
        self,
        target: Target,
        start: Candidate | None,
        settings: Settings,
        project: Project,
        journal: Journal,
        model: HeldModel,
        max_iterations: int,
    ) -> Outcome:
        strategy = STRATEGIES.get(settings.strategy)
        if strategy is None:
            known = ", ".join(sorted(STRATEGIES))
            raise AdaCoderError(f"There is no strategy '{settings.strategy}'; choose one of: {known}.")

        conversation = self._conversation(target, settings, project, model)
        evaluator = await self._evaluator(target, settings, project, journal)
        index = await self._index(target, settings, project)
        team = Team(
            programming_assistant=ProgrammingAssistant(conversation, journal),
            code_evaluator=evaluator,
            debug_specialist=DebugSpecialist(index, journal, settings.rules),
            prompt_engineer=PromptEngineer(conversation, journal),
            journal=journal,
        )
        await evaluator.ready(target)
        if start is None:
            await model.window()  # a model that cannot be asked takes no round
        try:
            return await strategy(team, target, start, max_iterations)
        except ModelError as error:
            if evaluator.furthest is None or not model.has_replied:
                raise
            outcome = conclude(target, evaluator.furthest, journal.round)
            return replace(outcome, reason=f"{outcome.reason} Then no more replies came: {error}")

    async def _suggest_by_any(self, target: Target, settings: Settings, project: Project, journal: Journal) -> Outcome:
        """What the first model of the ladder suggests that can be asked."""
        troubles: dict[str, None] = {}
        python = (await self._interpreter(target, settings, project)).path
        for number, name in enumerate(settings.ladder, 1):
            about = partial(About, target, None, settings, project.folder, python, shareable, number)
            async with self._model(name, settings, journal, about) as model:
                try:
                    outcome = await self._suggest(target, settings, project, journal, model)
                except ModelError as error:
                    troubles[str(error)] = None
                    continue
                return replace(outcome, model=model.name, notes=(*outcome.notes, *troubles))
        raise ModelError(" ".join(troubles))

    async def _suggest(
        self, target: Target, settings: Settings, project: Project, journal: Journal, model: HeldModel
    ) -> Outcome:
        evaluator = await self._evaluator(target, settings, project, journal)
        target = await evaluator.with_class_examples(target)
        designer = TestDesigner(self._conversation(target, settings, project, model), journal)
        suggested = await designer.suggest(target)
        verdict = await evaluator.evaluate(replace(target, examples=suggested), current(target))
        running = (result for result in verdict.results if result.entered and (result.matched or target.is_stub))
        suggested = tuple(result.example for result in running)
        if not suggested:
            reason = f"The model suggested no example for '{target.name}' that could be used: ask again, or write one."
            return Outcome(Status.FAILED, target, reason)
        shown = "; ".join(f"{example.source.strip()} → {example.want.strip()}" for example in suggested)
        reason = f"A model reads the docstring so: {shown}. Read it before you keep it."
        return Outcome(Status.UNVERIFIED, target, reason, edits=(await aside(add_examples, target, suggested),))

    def _conversation(self, target: Target, settings: Settings, project: Project, model: HeldModel) -> Conversation:
        access = _access(target, settings, project)

        async def pack(window: Window) -> Briefing:
            overlays = await asyncio.to_thread(_allowed, project.overlays, access)
            return await aside(_packed, target, overlays, access, window, settings.instructions)

        return Conversation(model, pack)

    async def _evaluator(self, target: Target, settings: Settings, project: Project, journal: Journal) -> CodeEvaluator:
        interpreter = await self._interpreter(target, settings, project)
        access = _access(target, settings, project, *interpreter.added)
        overlays = await asyncio.to_thread(_allowed, project.overlays, access)
        host = self._host(interpreter, settings, project)
        return CodeEvaluator(host, journal, overlays=overlays, timeout=settings.timeout)

    async def _index(self, target: Target, settings: Settings, project: Project) -> ImportIndex:
        interpreter = await self._interpreter(target, settings, project)
        return ImportIndex(target, project.folder, interpreter.folders, settings.wishes)

    def _host(self, interpreter: Interpreter, settings: Settings, project: Project) -> Host:
        key = (interpreter, project.folder, settings.isolation, settings.wishes)
        host = self._hosts.get(key)
        if host is None:
            host = self._hosts[key] = Host(
                interpreter, project.folder, least=settings.isolation, turns=self._turns, wishes=settings.wishes
            )
        return host

    async def _interpreter(self, target: Target, settings: Settings, project: Project) -> Interpreter:
        """As `find`, which looks at many files: so it is not asked for every function of a file, and never waited for
        by the event loop."""
        if not settings.trusted:
            raise AdaCoderError("This workspace is not trusted, so nothing of it is run: trust it in the editor.")
        key = (settings.interpreter, target.module.path.parent, project.folder)
        found, until = self._interpreters.get(key, (None, 0.0))
        if found is None or time.monotonic() >= until:
            found = await asyncio.to_thread(find, *key)
            self._interpreters[key] = (found, time.monotonic() + _MOMENT_SECONDS)
        return found


def _access(target: Target, settings: Settings, project: Project, *others: Path) -> Access:
    """What may be read for a request; with `others`, what may be shown to the code that it runs."""
    return Access.around(target.module, project.folder, settings.wishes, *others)


def _require(target: Target, settings: Settings, project: Project) -> None:
    """Raise if the target's file may not be read."""
    _access(target, settings, project).require(target.module.path)


def _packed(
    target: Target, overlays: Mapping[Path, str], access: Access, window: Window, instructions: str
) -> Briefing:
    """What every call of a request begins with."""
    return brief(target, pieces(target, overlays, access), window=window, instructions=instructions)


def _allowed(overlays: Mapping[Path, str], access: Access) -> dict[Path, str]:
    """The texts of those open files that may be read for the request: of a private one it is no less so."""
    return {path: text for path, text in overlays.items() if access.refusal(path) is None}


def current(target: Target) -> Candidate:
    """The function as it stands in the text: where `fix`, `check` and repair begin."""
    return Candidate(function=dedent(normalize(target.source)))


def from_reply(text: str, target: Target) -> Candidate:
    """The Candidate in a reply that came from anywhere: where `apply` begins."""
    return extract(Reply(text), target)


def _reach(outcome: Outcome) -> tuple[int, ...]:
    """How far the candidate of an Outcome got."""
    return outcome.verdict.reach if outcome.verdict else ()


async def _with_evidence(outcome: Outcome, journal: Journal) -> Outcome:
    edits: tuple[Edit, ...] = ()
    if outcome.status in _OFFERED and outcome.candidate is not None:
        edits = (await aside(splice, outcome.target, outcome.candidate)).edits
    return replace(outcome, edits=edits, steps=journal.steps, seconds=journal.seconds)
