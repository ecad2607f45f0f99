"""Carries a command out: finds its functions, runs a request for each, and has shown what came of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adacoder import report
from adacoder.cli import COULD_NOT_RUN
from adacoder.cli.choices import Choices, Told
from adacoder.cli.output import Output
from adacoder.cli.place import Place, chosen, workspace
from adacoder.domain import AdaCoderError, Outcome, Status, Target, TargetError
from adacoder.journal import Journal
from adacoder.service import Project, Service, current, from_reply
from adacoder.settings import Settings
from adacoder.source.locate import Documented
from adacoder.source.text import SourceFile, read
from adacoder.strategies import most_rounds

ServiceCall = Callable[[Service, Target, Settings, Project, Journal], Awaitable[Outcome]]
"""What a command asks of the service for one function."""


@dataclass(frozen=True, slots=True)
class Command:
    """One of the commands that work on functions."""

    request: ServiceCall
    chooses: Callable[[Documented], bool]
    """Which functions of a file it takes where none is named."""
    wanted: str
    """These functions, in words."""
    is_started: bool = True
    """Whether a request begins with a candidate."""
    takes_one: bool = False
    passes_over: bool = False
    """Whether a function that was not named, and that nothing is to be done about, is not mentioned."""
    calls_model: bool = True


async def _generate(
    service: Service, target: Target, settings: Settings, project: Project, journal: Journal
) -> Outcome:
    return await service.run(target, None, settings, project, journal)


async def _fix(service: Service, target: Target, settings: Settings, project: Project, journal: Journal) -> Outcome:
    return await service.run(target, current(target), settings, project, journal)


def _has_examples(one: Documented) -> bool:
    return bool(one.target.examples or one.target.of_class) or one.unreadable is not None


GENERATE = Command(
    _generate, lambda one: one.target.is_stub, "function with a docstring and no body yet", is_started=False
)
FIX = Command(_fix, _has_examples, "function with examples", passes_over=True)


def apply(reply: str) -> Command:
    """The command that puts `reply` in place: the loop with no rounds after the first, so that no model is asked."""

    async def request(
        service: Service, target: Target, settings: Settings, project: Project, journal: Journal
    ) -> Outcome:
        return await service.run(target, from_reply(reply, target), settings, project, journal)

    return Command(request, lambda _: True, "function with a docstring", takes_one=True, calls_model=False)


class Work:
    """One command at work."""

    def __init__(self, command: Command, values: Mapping[str, object], output: Output) -> None:
        """`values` are what the command's options say, by the fields of Settings; None: not said."""
        self._command = command
        self._output = output
        self._tell = Told()
        self._choices = Choices(values, self._tell)
        self._codes = [0]
        self._shown = 0

    async def carry_out(self, place: Place) -> int:
        """Work on all functions at `place`, one after the other, each in its file's text at that moment.

        Returns the exit code.
        """
        service = Service()
        try:
            for each in self._places(place):
                await self._work_on(each, service, passes_over=place.is_whole_file and self._command.passes_over)
        finally:
            await service.close()
        if not self._shown and max(self._codes) == 0:
            self._tell(f"The examples of every function in {place.path} pass: there is nothing to fix.")
        return max(self._codes)

    def _places(self, place: Place) -> Sequence[Place]:
        """The functions at `place`; none, with a line that says why, where there is nothing to work on."""
        if not place.is_whole_file:
            return [place]
        try:
            file = read(place.path)
            found = list(chosen(file, workspace(file), self._command.chooses))
            if not found:
                raise TargetError(f"There is no {self._command.wanted} in {place.path}.")
            if self._command.takes_one and len(found) > 1:
                raise TargetError(f"There are {len(found)} functions in {place.path}: name one, as PATH::NAME.")
        except AdaCoderError as error:
            self._could_not_run(str(error))
            return []
        return found

    async def _work_on(self, place: Place, service: Service, *, passes_over: bool) -> None:
        try:
            file = read(place.path)
            folder = workspace(file)
            target = place.find(file, folder)
            settings = self._settings(folder)
        except AdaCoderError as error:
            self._could_not_run(str(error))
            return
        with self._output.watch(target, most_rounds(settings, is_started=self._command.is_started)) as listener:
            journal = Journal(*([listener] if listener else []))
            outcome = await self._command.request(service, target, settings, Project(folder), journal)
        if not (passes_over and not outcome.edits and outcome.status in (Status.VERIFIED, Status.UNVERIFIED)):
            self._shown += 1
            self._show(outcome, file, folder)

    def _show(self, outcome: Outcome, file: SourceFile, folder: Path) -> None:
        shown = self._output.show(outcome, file, folder)
        self._codes.append(report.exit_code([shown]))
        if shown.status is Status.ERROR:
            self._could_not_run(report.summary(shown))

    def _settings(self, folder: Path) -> Settings:
        settings = self._choices.settings(folder)
        return settings if self._command.calls_model else replace(settings, max_iterations=0)

    def _could_not_run(self, message: str) -> None:
        self._codes.append(COULD_NOT_RUN)
        self._tell(message)
