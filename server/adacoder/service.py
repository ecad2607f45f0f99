"""Run requests for the command line, editors and coding agents: turn a Task into an Outcome.

Only this module combines models, the sandbox, agents and strategies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from adacoder.agents.budget import NO_CEILING, BudgetSpent, Ceiling
from adacoder.agents.conversation import Conversation
from adacoder.agents.debug_specialist import DebugSpecialist
from adacoder.agents.example_designer import DESIGNER, usable
from adacoder.agents.prompt import Briefing, packed
from adacoder.agents.request import Request
from adacoder.agents.role import Role
from adacoder.aside import aside
from adacoder.checks import Checks, with_evidence
from adacoder.conclusion import conclude
from adacoder.domain import (
    AdaCoderError,
    Attempt,
    Candidate,
    CrossCheck,
    Failure,
    FailureKind,
    Module,
    Outcome,
    Reply,
    Status,
    Target,
    TargetError,
    Verdict,
)
from adacoder.journal import Asked
from adacoder.messages import Named, Text, joined
from adacoder.models.backend import Session
from adacoder.models.backends import OpenModel, open_model
from adacoder.models.errors import ModelError
from adacoder.models.leased import LeasedModel
from adacoder.models.recording.about import About
from adacoder.models.recording.recorder import CannotRecord
from adacoder.models.window import Window
from adacoder.privacy.access import Access
from adacoder.project import Project
from adacoder.replies.extract import extract
from adacoder.settings import Settings
from adacoder.source.dependence import stubs_used
from adacoder.source.docstring import add_examples
from adacoder.source.imports import ImportIndex
from adacoder.source.locate import locate
from adacoder.source.shareable import shareable
from adacoder.source.text import apply_edits
from adacoder.source.undeclared import undeclared
from adacoder.strategies import most_rounds, strategy_named
from adacoder.task import Mode, Task, current

if TYPE_CHECKING:
    from adacoder.agents.project_tests import Suspects

_NOTHING = Attempt(Candidate(""), Verdict(Failure(FailureKind.NO_FUNCTION, "The strategy evaluated no candidate.")))

_OfModel: TypeAlias = Callable[[Task, LeasedModel, int | None], Awaitable[Outcome]]
"""Function that works on a task with one model. The number is the maximum number of rounds after the first, or None."""


_ANOTHER = 0.8
"""Sampling temperature for a second program, so that it differs from the first program."""
_UNCHECKED = "Nothing checks that the function follows your wish: read it."
_UNUSED = "No model was asked, so your wish had no effect: generate the function again."
_WORTH_A_WORD = 20
"""From this number of model calls on, a request announces its cost before it starts."""


class Service(Checks):
    """Runs requests. Models and processes stay ready for later requests."""

    def __init__(self, open_model: OpenModel = open_model, session: Session | None = None) -> None:
        """Create a service. `open_model` opens a model by name, and is replaced in tests."""
        super().__init__()
        self._open_model = open_model
        self.session = session or Session()

    @staticmethod
    def most_rounds(mode: Mode, settings: Settings) -> int:
        """Return the maximum number of rounds of a request."""
        return most_rounds(mode, settings)

    async def perform(self, mode: Mode, task: Task) -> Outcome:
        """Perform a task: check the function, suggest examples, or run the strategy, depending on the mode."""
        match mode:
            case Mode.CHECK:
                return await self.check(task, covers=True, tested=True)
            case Mode.SUGGEST_EXAMPLES:
                return await self.suggest(task)
        task = task.in_mode(mode)
        outcome = await self.run(task)
        return _different(outcome, task.others) if mode is Mode.ANOTHER else outcome

    async def run(self, task: Task) -> Outcome:
        """Run the strategy. With `task.start`, begin with this candidate.

        With `task.start` and `max_iterations` 0, no model is asked.
        """
        rungs = task.settings.rounds_by_model(is_started=task.start is not None)
        outcome = await self._outcome(task, partial(self._climb, self._run_strategy, rungs))
        notes = (*outcome.notes, *_of_wish(outcome, task))
        return replace(outcome, strategy=task.settings.strategy, notes=notes)

    async def recheck(self, task: Task) -> Outcome:
        """Evaluate the candidate `task.start` in the current text."""
        task.journal.begin_round()
        return await self._outcome(task, self._evaluate)

    async def compared(self, task: Task, outcome: Outcome) -> Outcome:
        """Compare a verified function with its previous version. Add the differences to the Outcome."""
        if outcome.status is Status.VERIFIED and outcome.edits and not task.target.is_stub:
            with suppress(AdaCoderError):
                now = replace(task, target=_located(outcome, task))
                return replace(outcome, behaviour=await self.compare(now, task.target))
        return outcome

    async def cross_checked(self, task: Task, outcome: Outcome) -> Outcome:
        """Compare a verified program with a second program.

        The second program comes from the next model of the ladder, or from the last model. A difference does not change
        the status, because only the user knows which output is right.
        """
        settings = task.settings
        models = settings.models[_place(outcome.model, settings.models) + 1 :][:1] or settings.models[-1:]
        other = await self.run(
            replace(
                task,
                settings=replace(settings, models=models, strategy="direct", temperature=_ANOTHER, max_iterations=None),
                start=None,
            )
        )
        found, reason = None, None
        if other.status is not Status.VERIFIED:
            why = " ".join(other.notes) or other.reason or other.status.value
            reason = f"No second program was verified, so nothing was compared: {why}"
        else:
            try:
                here, there = (_located(each, task) for each in (outcome, other))
                found = (await self.compare(replace(task, target=here), there)).of_values()
                if not found.inputs:
                    found, reason = None, "One of the programs refuses every input, so nothing was compared."
            except AdaCoderError as error:
                reason = str(error)
        checked = CrossCheck(other.model, found, reason, other.candidate, other.trouble)
        return replace(outcome, cross_check=checked, steps=task.journal.steps, seconds=task.journal.seconds)

    async def suspects(self, test: str, settings: Settings, project: Project) -> Suspects:
        """Return the functions that may make a test of the project fail, the most likely first.

        `test` is the name of the test in pytest, relative to the project's folder.

        Raises:
            AdaCoderError: the test does not exist, does not fail, or runs no function that can be fixed.
        """
        from adacoder.agents.project_tests import suspects_at

        if not settings.tests:
            raise AdaCoderError(Text("The project's tests are switched off: turn on ", Named("tests"), "."))
        path = project.folder / test.partition("::")[0]
        root = project.folder / "src"
        near = Module(path, path.stem, root if root.is_dir() else project.folder)
        host = self._host(await self._interpreter_for(near, settings, project), settings, project)
        access = Access.around(near, project.folder, settings.wishes)
        places = await self._tests_in(host, project.folder).suspects(test, project.overlays, access, near)
        found = await asyncio.to_thread(suspects_at, places, project, access)
        if not found.targets:
            raise AdaCoderError(" ".join([f"The test {test} runs no function that can be fixed.", *found.notes]))
        return found

    async def suggest(self, task: Task) -> Outcome:
        """Let a model suggest examples. Return edits that add the examples to the docstring.

        Examples that do not run the function are left out. If the function has a body, failing examples are left out
        too. The status is at best `unverified`.
        """
        task.journal.begin_round()
        return await self._outcome(
            task, partial(self._climb, self._suggest, [(name, 0) for name in task.settings.cascade])
        )

    async def _outcome(self, task: Task, work: Callable[[Task], Awaitable[Outcome]]) -> Outcome:
        """Add the examples of the target's class to the task, and call `work` with this task.

        An AdaCoderError is turned into an Outcome.
        """
        try:
            await asyncio.to_thread(task.require_access)
            if (broken := next((each for each in task.target.examples if each.problem), None)) is not None:
                raise TargetError(f"The example on line {broken.number} {broken.problem}.")
            evaluator = await self._evaluator(task)
            target = await evaluator.without_missing_packages(task.target)
            task = replace(task, target=await evaluator.with_class_examples(target))
            outcome = await _with_stubs(await self._with_undeclared(await work(task), task))
        except AdaCoderError as error:
            cause = error.__cause__
            trouble = cause if isinstance(cause, AdaCoderError) else error
            outcome = Outcome(Status.ERROR, task.target, str(error), trouble=trouble)
        return with_evidence(outcome, task)

    async def _with_undeclared(self, outcome: Outcome, task: Task) -> Outcome:
        """Add a note about each imported package that the project does not declare."""
        if not outcome.edits:
            return outcome
        folders = (await self.interpreter(task)).folders
        project, wishes = task.project.folder, task.settings.wishes
        notes = await aside(undeclared, outcome.target, outcome.edits, project, folders, wishes)
        return replace(outcome, notes=(*outcome.notes, *notes))

    async def _evaluate(self, task: Task) -> Outcome:
        evaluator = await self._evaluator(task, covers=True, tested=True)
        candidate = task.start or current(task.target)
        try:
            attempt = Attempt(candidate, await evaluator.evaluate(task.target, candidate))
        finally:
            await evaluator.close()
        return conclude(task.target, attempt, task.journal.round)

    async def _climb(self, work: _OfModel, rungs: Iterable[tuple[str | None, int | None]], task: Task) -> Outcome:
        """Call `work` with the models of the ladder, one after another. Return the best Outcome.

        Stop when an Outcome can be inserted, or if no other model can help.
        """
        best: Outcome | None = None
        troubles: dict[str, ModelError] = {}
        for number, (name, most) in enumerate(rungs, 1):
            async with await self._model(name, number, task) as model:
                try:
                    outcome = model.concluded(await work(task, model, most))
                except ModelError as error:
                    troubles[str(error)] = error
                    task.journal.waiting(str(error))
                    ended = model.concluded(Outcome(Status.ERROR, task.target, str(error)))
                    troubles |= dict.fromkeys(ended.notes, error)
                    if isinstance(error, CannotRecord):
                        break  # other models cannot be recorded either
                    continue
            outcome = replace(outcome, model=model.name)
            if best is None or _reach(outcome) > _reach(best):
                best = outcome
            if outcome.edits or (outcome.verdict is not None and outcome.verdict.final):
                break
        if best is None:
            raise ModelError(joined(" ", troubles)) from next(reversed(troubles.values()))
        return replace(best, rounds=task.journal.round, notes=tuple(dict.fromkeys((*best.notes, *troubles))))

    async def _model(self, name: str | None, number: int, task: Task) -> LeasedModel:
        """Create the model `name`. `number` is its position on the ladder, counted from 1."""
        python = (await self.interpreter(task)).path
        about = partial(About, task.target, task.start, task.settings, task.project.folder, python, shareable, number)
        return LeasedModel(name, task.settings, self.session, task.journal, about, self._open_model)

    async def _run_strategy(self, task: Task, model: LeasedModel, max_iterations: int | None) -> Outcome:
        target, start = task.target, task.start
        strategy = strategy_named(task.settings.strategy)

        evaluator = await self._evaluator(task, covers=True, tested=True)
        budget, ceiling = strategy.spends(max_iterations), Ceiling.of(task.settings)
        if start is not None:
            budget = budget.of_start(max_iterations)
        request = Request(
            target,
            start,
            budget,
            conversation=_conversation(task, model, strategy.roles, ceiling, partial(evaluator.described_by, target)),
            evaluator=evaluator,
            specialist=DebugSpecialist(await self._index(task), task.journal),
            journal=task.journal,
            ceiling=ceiling,
        )
        trouble: ModelError | None = None
        limit: Text | None = None
        try:
            await evaluator.ready(target)
            if start is None:
                await model.window()  # if the model cannot be asked, fail before the first round
            calls = ceiling.most_calls(budget.calls, task.journal)
            if calls >= _WORTH_A_WORD:
                task.journal.waiting(self.session.announced(strategy.name, calls, model.name))
            await strategy.run(request)
        except BudgetSpent as spent:
            limit = spent.limit
        except ModelError as error:
            if request.best is None or not model.has_replied:
                raise
            trouble = error
        finally:
            await evaluator.close()
        outcome = replace(conclude(target, request.best or _NOTHING, task.journal.round), trouble=trouble)
        self.session.note_calls(model.name, task.journal.steps)
        if limit is not None:
            outcome = replace(outcome, notes=(*outcome.notes, limit))
        if trouble is None:
            return outcome
        ended = Text("Then no more replies came: ", str(trouble))
        if outcome.reason is None:
            return replace(outcome, notes=(*outcome.notes, ended))
        return replace(outcome, reason=Text(outcome.reason, " ", ended))

    async def _suggest(self, task: Task, model: LeasedModel, _: int | None) -> Outcome:
        target = task.target
        evaluator = await self._evaluator(task)
        suggested = usable(await _conversation(task, model, (DESIGNER,)).ask(DESIGNER), target)
        feedback = await evaluator.probe(target, current(target), suggested)
        if feedback.results or not target.is_stub:
            running = (result for result in feedback.results if result.entered and (result.matched or target.is_stub))
            suggested = tuple(result.example for result in running)
        if not suggested:
            reason = f"The model suggested no usable example for '{target.name}': ask again, or write one."
            return Outcome(Status.FAILED, target, reason)
        shown = "; ".join(f"{example.source.strip()} → {example.want.strip()}" for example in suggested)
        reason = f"A model reads the docstring like this: {shown}. Check it before you keep it."
        return Outcome(Status.UNVERIFIED, target, reason, edits=(await aside(add_examples, target, suggested),))

    async def _index(self, task: Task) -> ImportIndex:
        interpreter = await self.interpreter(task)
        return ImportIndex(task.target, task.project.folder, interpreter.folders, task.settings.wishes)


def _of_wish(outcome: Outcome, task: Task) -> list[str]:
    """Return a note that nothing checks the user's instructions, or that they had no effect.

    Instructions can have an effect although no model was asked: a model may have written the start candidate earlier.
    """
    if not task.wish or not (outcome.edits or outcome.stands):
        return []
    is_asked = any(isinstance(step.details, Asked) for step in outcome.steps)
    return [_UNUSED if not is_asked and task.start == current(task.target) else _UNCHECKED]


async def _with_stubs(outcome: Outcome) -> Outcome:
    """If a failed candidate uses stubs, add a note that the stubs must be written first."""
    if outcome.status not in (Status.FAILED, Status.PARTIAL) or outcome.candidate is None:
        return outcome
    found = [f"'{name}'" for name in await aside(stubs_used, outcome.target, outcome.candidate.function)]
    if not found:
        return outcome
    have = "has" if len(found) == 1 else "have"
    note = f"'{outcome.target.name}' uses {', '.join(found)}, which {have} no body yet: generate all stubs in the file."
    return replace(outcome, notes=(*outcome.notes, note))


def _conversation(
    task: Task,
    model: LeasedModel,
    roles: tuple[Role[Any], ...],
    ceiling: Ceiling = NO_CEILING,
    tests: Callable[[], Awaitable[Sequence[str]]] | None = None,
) -> Conversation:
    async def pack(window: Window) -> Briefing:
        sources = [] if tests is None else await tests()
        overlays = await asyncio.to_thread(task.overlays)
        told = (task.settings.instructions, task.others, sources, task.wish)
        return await aside(packed, task.target, overlays, task.access(), roles, window, *told)

    return Conversation(model, task.target, task.journal, pack, ceiling)


def _place(model: str | None, models: tuple[str, ...]) -> int:
    """Return the index of `model` in `models`, or -1. In `models`, a prefix such as `ollama:` may be missing."""
    names = (model, model and model.partition(":")[2])
    return next((number for number, name in enumerate(models) if name in names), -1)


def _located(outcome: Outcome, task: Task) -> Target:
    """Return the target in the text after the candidate was inserted.

    Raises:
        TargetError: the text does not contain the target.
    """
    text = apply_edits(outcome.target.text, outcome.edits)
    name, bare = task.target.qualname, not task.target.is_documented
    found = locate(text, task.target.module.path, task.project.folder, qualname=name, bare=bare)
    return replace(found, module=task.target.module)


def from_reply(text: str, target: Target) -> Candidate:
    """Read a candidate from `text`, which is a model's reply or code from a client."""
    return extract(Reply(text), target)


def _different(outcome: Outcome, others: tuple[Candidate, ...]) -> Outcome:
    """If the candidate of `outcome` is in the text already, or is one of `others`, turn `outcome` into a failure."""
    candidate = outcome.candidate
    if candidate is None or not (outcome.stands or any(candidate.function == other.function for other in others)):
        return outcome
    reason = f"The model repeated an earlier '{outcome.target.name}': ask again, or ask another model."
    return replace(outcome, status=Status.FAILED, reason=reason, edits=())


def _reach(outcome: Outcome) -> tuple[int, ...]:
    """Return the rank of an Outcome. A greater rank is better.

    For suggested examples, the rank only says if there are any.
    """
    return outcome.verdict.reach if outcome.verdict else (bool(outcome.edits),)
