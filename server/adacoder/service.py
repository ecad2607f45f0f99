"""One request: Target and Settings in, Outcome and Edits out.

The only place that brings models, sandbox, agents and strategies together. It is behind every door.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from adacoder.agents.conversation import Conversation
from adacoder.agents.debug_specialist import DebugSpecialist
from adacoder.agents.prompt import Briefing, brief
from adacoder.agents.request import BudgetSpent, Request
from adacoder.agents.role import Role
from adacoder.agents.test_designer import DESIGNER, usable
from adacoder.aside import aside
from adacoder.checks import Checks, access, readable, require
from adacoder.checks import Project as Project
from adacoder.checks import current as current
from adacoder.domain import (
    AdaCoderError,
    Attempt,
    Candidate,
    Edit,
    Failure,
    FailureKind,
    Outcome,
    Reply,
    Status,
    Target,
    Verdict,
    conclude,
)
from adacoder.journal import Journal
from adacoder.models.backends import Experience, OpenModel, open_model
from adacoder.models.errors import ModelError
from adacoder.models.held import HeldModel
from adacoder.models.recording.about import About
from adacoder.models.recording.recorder import CannotRecord
from adacoder.models.window import Window
from adacoder.privacy.access import Access
from adacoder.replies.extract import extract
from adacoder.settings import Settings
from adacoder.source.context import pieces
from adacoder.source.docstring import add_examples
from adacoder.source.imports import ImportIndex
from adacoder.source.shareable import shareable
from adacoder.source.splice import splice
from adacoder.strategies import STRATEGIES

_OFFERED = frozenset({Status.VERIFIED, Status.UNVERIFIED})
"""Outcomes that carry Edits. An unverified one is marked so, and its door asks before it inserts."""

_NOTHING = Attempt(Candidate(""), Verdict(Failure(FailureKind.NO_FUNCTION, "The strategy evaluated no candidate.")))


class Service(Checks):
    """Runs requests. Keeps what is worth keeping between them: beside that of Checks, what is remembered of models."""

    def __init__(self, open_model: OpenModel = open_model) -> None:
        """`open_model` opens what answers; tests have a model of their own."""
        super().__init__()
        self._open_model = open_model
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
            await asyncio.to_thread(require, target, settings, project)
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
            await asyncio.to_thread(require, target, settings, project)
            evaluator = await self._evaluator(target, settings, project, journal, covers=True)
            target = await evaluator.with_class_examples(target)
            attempt = Attempt(candidate, await evaluator.evaluate(target, candidate))
            outcome = conclude(target, attempt, journal.round)
        except AdaCoderError as error:
            outcome = Outcome(Status.ERROR, target, str(error))
        return await _with_evidence(outcome, journal)

    async def suggest(self, target: Target, settings: Settings, project: Project, journal: Journal) -> Outcome:
        """Let a model suggest examples for the docstring. At best the Outcome is `unverified`, its Edits add them.

        Only examples that run the function are suggested; and where it is written already, only what it passes.
        """
        journal.begin_round()
        try:
            await asyncio.to_thread(require, target, settings, project)
            outcome = await self._suggest_by_any(target, settings, project, journal)
        except AdaCoderError as error:
            outcome = Outcome(Status.ERROR, target, str(error))
        return replace(outcome, rounds=journal.round, steps=journal.steps, seconds=journal.seconds)

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
        return HeldModel(name, settings, self.experience, journal, about, self._open_model)

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

        evaluator = await self._evaluator(target, settings, project, journal, covers=True)
        budget = strategy.budget(max_iterations)
        request = Request(
            target,
            start,
            budget if start is None else budget.of_start(max_iterations),
            conversation=self._conversation(target, settings, project, journal, model, strategy.roles),
            evaluator=evaluator,
            specialist=DebugSpecialist(await self._index(target, settings, project), journal, settings.rules),
            journal=journal,
        )
        await evaluator.ready(target)
        if start is None:
            await model.window()  # a model that cannot be asked takes no round
        trouble = ""
        try:
            await strategy.run(request)
        except BudgetSpent:
            pass
        except ModelError as error:
            if request.best is None or not model.has_replied:
                raise
            trouble = f" Then no more replies came: {error}"
        outcome = conclude(target, request.best or _NOTHING, journal.round)
        return replace(outcome, reason=f"{outcome.reason}{trouble}") if trouble else outcome

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
        conversation = self._conversation(target, settings, project, journal, model, (DESIGNER,))
        suggested = usable(await conversation.ask(DESIGNER), target)
        feedback = await evaluator.probe(target, current(target), suggested)
        if feedback.results or not target.is_stub:
            running = (result for result in feedback.results if result.entered and (result.matched or target.is_stub))
            suggested = tuple(result.example for result in running)
        if not suggested:
            reason = f"The model suggested no example for '{target.name}' that could be used: ask again, or write one."
            return Outcome(Status.FAILED, target, reason)
        shown = "; ".join(f"{example.source.strip()} → {example.want.strip()}" for example in suggested)
        reason = f"A model reads the docstring so: {shown}. Read it before you keep it."
        return Outcome(Status.UNVERIFIED, target, reason, edits=(await aside(add_examples, target, suggested),))

    def _conversation(
        self,
        target: Target,
        settings: Settings,
        project: Project,
        journal: Journal,
        model: HeldModel,
        roles: tuple[Role[Any], ...],
    ) -> Conversation:
        allowed = access(target, settings, project)

        async def pack(window: Window) -> Briefing:
            overlays = await asyncio.to_thread(readable, project.overlays, allowed)
            return await aside(_packed, target, overlays, allowed, roles, window, settings.instructions)

        return Conversation(model, target, journal, pack)

    async def _index(self, target: Target, settings: Settings, project: Project) -> ImportIndex:
        interpreter = await self._interpreter(target, settings, project)
        return ImportIndex(target, project.folder, interpreter.folders, settings.wishes)


def _packed(
    target: Target,
    overlays: Mapping[Path, str],
    allowed: Access,
    roles: tuple[Role[Any], ...],
    window: Window,
    instructions: str,
) -> Briefing:
    """What every call of a request begins with."""
    return brief(target, pieces(target, overlays, allowed), roles, window=window, instructions=instructions)


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
