"""Carry out `generate`, `fix` or `apply`: find the functions, run a request for each, and show the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adacoder import report
from adacoder.agents import questions
from adacoder.agents.questions import Ruling
from adacoder.cli import COULD_NOT_RUN, question
from adacoder.cli.choices import Choices, Told
from adacoder.cli.output import Output
from adacoder.cli.place import Place, chosen
from adacoder.domain import AdaCoderError, CrossCheck, Outcome, Status, Target, TargetError
from adacoder.journal import Journal
from adacoder.project import Project, below, folder_of, project_around
from adacoder.report.differences import brief
from adacoder.service import Service, from_reply
from adacoder.settings import Settings
from adacoder.source.dependence import by_dependence
from adacoder.source.docstring import add_examples
from adacoder.source.locate import Documented, counterpart
from adacoder.source.text import SourceFile, apply_edits, read, write
from adacoder.task import Mode, Task


@dataclass(frozen=True, slots=True)
class Command:
    """A command that writes functions: `generate`, `fix` or `apply`."""

    mode: Mode
    chooses: Callable[[Documented], bool]
    """Selects the functions of a file, if the user names no function."""
    wanted: str
    """Description of the functions that `chooses` selects, for error messages."""
    reply: str | None = None
    """A model's reply to use as the first candidate; None if there is none."""
    passes_over: bool = False
    """True to show no result for functions that need no fix, if the user names only a file."""
    arranges: Callable[[Sequence[Target]], Sequence[Target]] = list
    """Puts the selected functions in order."""


def _has_examples(one: Documented) -> bool:
    return bool(one.target.examples or one.target.of_class) or one.unreadable is not None


GENERATE = Command(
    Mode.GENERATE, lambda one: one.target.is_stub, "function with a docstring and no body yet", arranges=by_dependence
)
FIX = Command(Mode.FIX, _has_examples, "function with examples", passes_over=True)


def apply(reply: str) -> Command:
    """Return the command that inserts the function from `reply`, without asking a model."""
    return Command(Mode.REPAIR, lambda _: True, "function with a docstring", reply)


class Work:
    """One run of a command."""

    def __init__(self, command: Command, values: Mapping[str, object], output: Output, wish: str) -> None:
        """Args:
        command: the command to carry out.
        values: maps fields of Settings to the values of options; None means that the option is not given.
        output: shows the results.
        wish: the user's wish for the functions; empty if there is none.
        """
        self._command = command
        self._wish = wish
        self._output = output
        self._tell = Told()
        self._choices = Choices(values, self._tell)
        self._codes = [0]
        self._shown = 0
        self._goal = ""
        """Name of the failing test that must pass; empty without `--test`."""
        self._proposed: SourceFile | None = None
        """The latest text of the file with all verified functions, including those that were only shown."""

    async def carry_out(self, place: Place) -> int:
        """Work on all functions at `place`, in order. Return the exit code.

        Each request sees the verified functions of earlier requests, even if these were not written to the file.
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

    async def turn_green(self, test: str) -> int:
        """Fix a function so that a failing test passes. Return the exit code."""
        service = Service()
        try:
            path = Place.parse(f"{test.partition('::')[0]}::test").path
            folder = project_around(path.parent) or Path.cwd()
            name = test.replace(test.partition("::")[0], below(folder, path).as_posix(), 1)
            suspects = await service.suspects(name, self._choices.settings(folder), Project(folder))
            for note in suspects.notes:
                self._tell(note)
            self._goal = name
            for target, why in suspects.targets:
                self._tell(f"{report.label(target, folder)}: {why}")
                await self._work_on(Place(target.module.path, target.qualname), service, passes_over=False)
                if self._codes[-1] == 0:
                    return 0
        except AdaCoderError as error:
            self._could_not_run(str(error))
        finally:
            await service.close()
        return max(self._codes)

    def _places(self, place: Place) -> Sequence[Place]:
        """Return the functions at `place`. If there are none, report the reason."""
        if not place.is_whole_file:
            return [place]
        try:
            file = read(place.path)
            found = chosen(file, folder_of(file.path, file.text), self._command.chooses, self._command.arranges)
            if not found:
                raise TargetError(f"There is no {self._command.wanted} in {place.path}.")
            if self._command.reply is not None and len(found) > 1:
                raise TargetError(f"There are {len(found)} functions in {place.path}: name one, as PATH::NAME.")
        except AdaCoderError as error:
            self._could_not_run(str(error))
            return []
        return found

    def _read(self, path: Path) -> SourceFile:
        file, proposed = read(path), self._proposed
        return proposed if proposed is not None and proposed.data == file.data else file

    async def _work_on(self, place: Place, service: Service, *, passes_over: bool) -> None:
        try:
            file = self._read(place.path)
            folder = folder_of(file.path, file.text)
            target = place.find(file, folder, bare=bool(self._goal))
            settings = self._choices.settings(folder)
        except AdaCoderError as error:
            self._could_not_run(str(error))
            return
        mode, reply = self._command.mode, self._command.reply
        watching = self._output.watch(target, service.most_rounds(mode, settings))
        with watching as listener:
            start = None if reply is None else from_reply(reply, target)
            journal = Journal(*([listener] if listener else []))
            task = Task(target, settings, Project(folder), journal, start, goal=self._goal, wish=self._wish)
            outcome = await service.perform(mode, task)
            if self._output.is_whole:
                outcome = await self._with_comparisons(outcome, task, service)
        if passes_over and not outcome.edits and outcome.status in (Status.VERIFIED, Status.UNVERIFIED):
            return
        self._shown += 1
        self._show(outcome, file, folder)
        if not self._output.is_whole:  # compare after showing the function, so that the user sees it sooner
            with watching:
                outcome = await self._with_comparisons(outcome, task, service)
            self._output.add(outcome)
            if self._output.writes and outcome.cross_check is not None and question.can_ask():
                await self._ask(outcome, outcome.cross_check, file, service, settings)

    async def _with_comparisons(self, outcome: Outcome, task: Task, service: Service) -> Outcome:
        outcome = await service.compared(task, outcome)
        asks = task.settings.cross_check and self._command.reply is None
        if asks and outcome.status is Status.VERIFIED:
            outcome = await service.cross_checked(task, outcome)
        return outcome

    async def _ask(
        self, outcome: Outcome, checked: CrossCheck, before: SourceFile, service: Service, settings: Settings
    ) -> None:
        """Ask the user about a difference.

        Write the answer into the docstring as an example. If the function fails this example, fix the function.
        `before` is the file before the function was written.
        """
        difference = None if checked.found is None else questions.question(checked.found.differs)
        answer = None if difference is None else question.ask(difference)
        if difference is None or answer is None:
            return
        example = questions.example_of(difference, answer)
        try:
            file = read(before.path)
            folder = folder_of(file.path, file.text)
            target = counterpart(outcome.target, file.text, folder)
            if target is None or file.text != apply_edits(before.text, outcome.edits):
                raise TargetError(f"{file.path} has changed since the question, so nothing was added: add it by hand.")
            text = apply_edits(file.text, [add_examples(target, [example])])
            target = counterpart(target, text, folder)
            if target is None:
                raise TargetError(f"The example cannot be added to {file.path}: add it by hand.")
            write(file, text, folder)
            file = read(before.path)
        except AdaCoderError as error:
            self._could_not_run(str(error))
            return
        self._tell(f"Added `{brief(difference.call)}` to the docstring of {report.label(target, folder)}.")
        if answer is Ruling.HERE:
            return
        with self._output.watch(target, service.most_rounds(Mode.FIX, settings)) as listener:
            journal = Journal(*([listener] if listener else []))
            start = checked.candidate if answer is Ruling.THERE else None
            task = Task(target, settings, Project(folder), journal, start, wish=self._wish)
            outcome = await service.perform(Mode.FIX, task)
        self._show(outcome, file, folder)

    def _show(self, outcome: Outcome, file: SourceFile, folder: Path) -> None:
        shown = self._output.show(outcome, file, folder)
        self._codes.append(report.exit_code([shown]))
        if shown.status is Status.VERIFIED:
            self._proposed = replace(file, text=apply_edits(file.text, outcome.edits))
        if shown.status is Status.ERROR:
            self._could_not_run(report.summary(shown))

    def _could_not_run(self, message: str) -> None:
        self._codes.append(COULD_NOT_RUN)
        self._tell(message)
