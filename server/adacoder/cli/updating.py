"""`adacoder check --update`: write the actual outputs of failed examples into their files, or show the diff."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

from adacoder.checks import Checks
from adacoder.cli.output import show_change, shown_path
from adacoder.domain import Edit, Outcome, TargetError
from adacoder.messages import counted
from adacoder.source.text import apply_edits, read, write
from adacoder.task import Task


class Updating:
    """Updates the outputs of failed examples, except outputs that differ from run to run."""

    def __init__(self, tell: Callable[[str], object], *, writes: bool) -> None:
        """`tell` receives messages. `writes` is False to show the change without writing it."""
        self._tell = tell
        self._writes = writes

    async def update(self, outdated: Iterable[tuple[Task, Outcome]]) -> None:
        """Show or write the actual outputs. Each item is the task of a docstring and the Outcome of its check.

        Raises:
            AdaCoderError: a file has changed, or cannot be written.
        """
        again = Checks()
        try:
            for path, found in groupby(sorted(outdated, key=_path_of), key=_path_of):
                checks = list(found)
                edits = [edit for task, outcome in checks for edit in await self._stable(task, outcome, again)]
                if edits:
                    self._show(path, edits, checks[0][0])
        finally:
            await again.close()

    def _show(self, path: Path, edits: Sequence[Edit], task: Task) -> None:
        file = read(path)
        if file.text != task.target.text:
            raise TargetError(f"{file.path} has changed in the meantime: run the command again.")
        text, changed = apply_edits(file.text, edits), counted(len(edits), "output")
        if self._writes:
            write(file, text, task.project.folder)
            self._tell(f"Updated {changed} in {shown_path(file.path)}.")
        else:
            show_change(file, text)
            self._tell(f"To update {changed} in {shown_path(file.path)}, add --write.")

    async def _stable(self, task: Task, outcome: Outcome, again: Checks) -> Sequence[Edit]:
        new = await again.new_outputs(Task(task.target, task.settings, task.project), outcome)
        where = shown_path(task.target.module.path)
        for example in new.changing:
            self._tell(f"{where}:{example.line + 1} keeps its output, because the actual output changes.")
        for example in new.refused:
            self._tell(f"{where}:{example.line + 1} keeps its output: change it by hand.")
        return new.edits


def _path_of(outdated: tuple[Task, Outcome]) -> Path:
    return outdated[0].target.module.path
