"""Show the results of a command: as a diff, in a written file, or as JSON objects."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from adacoder import report
from adacoder.cli.terminal import Progress, console, long_waits, show_diff
from adacoder.domain import AdaCoderError, Outcome, Status, Target
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
    """Shows the results of a command. Errors are reported by the caller."""

    written = 0
    """Number of functions written so far."""

    is_whole = False
    """True if all about a request is shown at once."""
    writes = False
    """True if verified functions are written to their files."""

    @abstractmethod
    def watch(self, target: Target, most_rounds: int) -> AbstractContextManager[Listener | None]:
        """Return a context manager that yields a Listener for the steps of a request, or None."""

    @abstractmethod
    def add(self, outcome: Outcome) -> None:
        """Show a later finding about an Outcome that is already shown, unless the output `is_whole`."""

    @abstractmethod
    def show(self, outcome: Outcome, file: SourceFile, folder: Path) -> Outcome:
        """Show the Outcome of a request.

        Return the final Outcome. It is different, for example, if the file could not be written.
        """


class Proposal(Output):
    """`--diff`: print the change as a unified diff to stdout, and everything else to stderr."""

    def __init__(self) -> None:
        self._out = console()
        self._err = console(stderr=True)

    def watch(self, target: Target, most_rounds: int) -> AbstractContextManager[Listener | None]:
        """Implement `Output.watch`."""
        return Progress(self._err, target.qualname, most_rounds)

    def show(self, outcome: Outcome, file: SourceFile, folder: Path) -> Outcome:
        """Implement `Output.show`."""
        if outcome.edits:
            self._show_diff(outcome, file)
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

    def _show_diff(self, outcome: Outcome, file: SourceFile) -> None:
        diff = unified_diff(file, apply_edits(file.text, outcome.edits), shown_path(file.path))
        if self._out.is_terminal:
            show_diff(self._out, diff)
        else:
            # Use the file's own encoding, so that `patch` can apply the diff. The encoding of stdout may differ.
            sys.stdout.flush()
            sys.stdout.buffer.write(diff.encode(file.encoding))
            sys.stdout.flush()


class Writing(Proposal):
    """`--write`: write the change to the file. It must be verified, unless unverified changes are allowed."""

    writes = True

    def __init__(self, *, allow_unverified: bool) -> None:
        super().__init__()
        accepted = (Status.VERIFIED, Status.UNVERIFIED) if allow_unverified else (Status.VERIFIED,)
        self._accepted = frozenset(accepted)

    def show(self, outcome: Outcome, file: SourceFile, folder: Path) -> Outcome:
        """Implement `Output.show`. A file that cannot be written is an error."""
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
    """`--json`: print one object per line to stdout."""

    is_whole = True

    def watch(self, target: Target, most_rounds: int) -> AbstractContextManager[Listener | None]:
        """Implement `Output.watch`. Only long waits are reported, because the JSON has the journal."""
        return long_waits(target.qualname, most_rounds)

    def show(self, outcome: Outcome, file: SourceFile, folder: Path) -> Outcome:
        """Implement `Output.show`."""
        print_object(outcome, folder)
        return outcome

    def add(self, outcome: Outcome) -> None:
        """Implement `Output.add`. The object already has everything."""


def print_object(outcome: Outcome, folder: Path) -> None:
    """Print the line of `--json` for one function of the workspace `folder`."""
    print(json.dumps(report.to_json(outcome, folder)), flush=True)


def unified_diff(file: SourceFile, after: str, shown: Path) -> str:
    """Return the change from `file.text` to `after` in the format of git and `diff -u`. It calls the file `shown`."""
    mark = "\ufeff" if file.bom else ""
    return report.unified_diff(mark + file.text, mark + after, shown)


def shown_path(path: Path) -> Path:
    """Return `path` relative to the current folder if it lies below, else unchanged."""
    return below(Path.cwd(), path)
