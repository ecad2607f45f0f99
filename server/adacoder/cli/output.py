"""Show the result of a command: print a diff, write the file, or print JSON objects."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from adacoder import report
from adacoder.cli.terminal import Progress, console, long_waits, show_diff
from adacoder.domain import JSON, AdaCoderError, Outcome, Status, Target
from adacoder.journal import Listener
from adacoder.project import below
from adacoder.report.differences import second_program, since_before
from adacoder.source.text import SourceFile, apply_edits, write

STYLES = {
    Status.VERIFIED: "bold green",
    Status.UNVERIFIED: "bold yellow",
    Status.PARTIAL: "bold red",
    Status.FAILED: "bold red",
    Status.DENIED: "bold yellow",
}


class Output(ABC):
    """Shows the results of a command. The caller reports errors."""

    written = 0
    """Number of functions that were written to their files so far."""

    is_whole = False
    """True if comparisons must be made before `show`. False if `add` can show them later."""
    writes = False
    """True if functions are written to their files."""

    @abstractmethod
    def watch(self, target: Target, most_rounds: int) -> AbstractContextManager[Listener | None]:
        """Return a context manager that shows the progress of a request. It yields a Listener, or None."""

    @abstractmethod
    def add(self, outcome: Outcome) -> None:
        """Show the comparisons with other versions, which were made after `show`."""

    @abstractmethod
    def show(self, outcome: Outcome, file: SourceFile, folder: Path) -> Outcome:
        """Show the Outcome of a request, or write its code to the file.

        Return the Outcome. If the file cannot be written, return an Outcome with the status `error`.
        """


class Proposal(Output):
    """`--diff`: prints the change as a unified diff to stdout, and everything else to stderr."""

    def __init__(self) -> None:
        self._err = console(stderr=True)

    def watch(self, target: Target, most_rounds: int) -> AbstractContextManager[Listener | None]:
        """Implement `Output.watch`."""
        return Progress(self._err, target.qualname, most_rounds)

    def show(self, outcome: Outcome, file: SourceFile, folder: Path) -> Outcome:
        """Implement `Output.show`."""
        if outcome.edits:
            show_change(file, apply_edits(file.text, outcome.edits))
        if outcome.status is not Status.ERROR:
            self._err.print(report.summary(outcome), style=STYLES[outcome.status])
        return outcome

    def add(self, outcome: Outcome) -> None:
        """Implement `Output.add`."""
        if outcome.behaviour is not None:
            self._err.print(since_before(outcome.behaviour))
        if (checked := outcome.cross_check) is not None:
            is_flagged = checked.found is not None and bool(checked.found.differs)
            what_to_do = " Add the right one to the docstring, then run `fix`." if is_flagged else ""
            self._err.print(second_program(checked) + what_to_do, style="bold yellow" if is_flagged else "")


class Writing(Proposal):
    """`--write`: writes the change to the file if it is verified, or if unverified changes are allowed."""

    writes = True

    def __init__(self, *, allow_unverified: bool) -> None:
        super().__init__()
        accepted = (Status.VERIFIED, Status.UNVERIFIED) if allow_unverified else (Status.VERIFIED,)
        self._accepted = frozenset(accepted)

    def show(self, outcome: Outcome, file: SourceFile, folder: Path) -> Outcome:
        """Write and show the Outcome, or return the error, as described in `Output.show`."""
        if not outcome.edits or outcome.status not in self._accepted:
            hint = " Not written; --allow-unverified writes it anyway." if outcome.edits else ""
            reason = outcome.reason and outcome.reason + hint
            return super().show(replace(outcome, edits=(), reason=reason), file, folder)
        try:
            write(file, apply_edits(file.text, outcome.edits), folder)
        except AdaCoderError as error:
            return replace(outcome, status=Status.ERROR, reason=str(error), edits=())
        self.written += 1
        super().show(replace(outcome, edits=()), file, folder)
        self._err.print(f"Wrote {report.label(outcome.target, folder)}.")
        return outcome


class Objects(Output):
    """`--json`: prints one JSON object per line to stdout."""

    is_whole = True

    def watch(self, target: Target, most_rounds: int) -> AbstractContextManager[Listener | None]:
        """Show only long waits. The JSON object reports all steps."""
        return long_waits(target.qualname, most_rounds)

    def show(self, outcome: Outcome, file: SourceFile, folder: Path) -> Outcome:
        """Implement `Output.show`."""
        print_object(outcome, folder)
        return outcome

    def add(self, outcome: Outcome) -> None:
        """Do nothing, because the JSON object already has the comparisons."""


def print_object(outcome: Outcome, folder: Path, **more: JSON) -> None:
    """Print the JSON object for one function. `folder` is the workspace, `more` are additional members."""
    print(json.dumps({**report.to_json(outcome, folder), **more}), flush=True)


def show_change(file: SourceFile, after: str) -> None:
    """Print the change from `file.text` to `after` as a unified diff to stdout."""
    diff, out = unified_diff(file, after, shown_path(file.path)), console()
    if out.is_terminal:
        show_diff(out, diff)
        return
    # Use the encoding of the file instead of the encoding of stdout, so that `patch` can apply the diff.
    sys.stdout.flush()
    sys.stdout.buffer.write(diff.encode(file.encoding))
    sys.stdout.flush()


def unified_diff(file: SourceFile, after: str, shown: Path) -> str:
    """Return the change from `file.text` to `after` as a unified diff. `shown` is the path in the diff's header."""
    mark = "\ufeff" if file.bom else ""
    return report.unified_diff(mark + file.text, mark + after, shown)


def shown_path(path: Path) -> Path:
    """Return `path` relative to the current folder if it is below that folder, else unchanged."""
    return below(Path.cwd(), path)
