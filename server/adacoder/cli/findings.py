"""Show the results of `adacoder check`: failures in doctest's format and a summary line, or JSON objects."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adacoder import report
from adacoder.cli.output import STYLES, print_object, shown_path
from adacoder.cli.terminal import console, moving_line
from adacoder.domain import JSON, Example, ExampleResult, Failure, FailureKind, Outcome, Status, Target, Verdict
from adacoder.messages import counted
from adacoder.project import is_page
from adacoder.pytext import Lines
from adacoder.source.changes import ChangeResult

_RULER = "*" * 70
"""Line above each failure, as in doctest's report."""
_FAILED = frozenset({Status.PARTIAL, Status.FAILED})
_NOT_PASSED = _FAILED | {Status.DENIED}


@dataclass(frozen=True, slots=True)
class Checked:
    """A docstring that was checked, with its Outcome."""

    outcome: Outcome
    folder: Path
    """The workspace of the docstring."""
    is_named: bool = False
    """True if the user named the docstring. The check then fails if the examples prove nothing."""
    change: ChangeResult | None = None
    """The comparison with the earlier version; None if the check is not limited to changes."""

    @property
    def fails(self) -> bool:
        """True if this docstring makes the check fail."""
        if self.change is not None:
            return self.change.fails
        is_unproved = self.outcome.status is Status.UNVERIFIED and not self.is_named
        return not is_unproved and report.exit_code([self.outcome]) > 0

    @property
    def does_not_parse(self) -> bool:
        """True if the check was limited to changes, and the file does not parse."""
        return self.change is not None and self.outcome.verdict is not None


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A file or a folder that was not checked, because it was skipped or because of an error."""

    reason: str
    """The reason as one sentence."""
    path: Path | None = None
    """The file or folder; None if the reason concerns several."""
    is_skipped: bool = False
    """True if the file or folder was skipped on purpose, False if there was an error."""
    weakens: bool = False
    """True if the file was checked, but a change to it weakens its examples."""
    fails: bool = False
    """True if this file or folder makes the check fail."""


class View:
    """Shows the results of a check, one docstring after the other. Errors are not shown here, because they go to
    stderr.
    """

    def waits_for(self, target: Target) -> None:
        """Show that the check waits for the result of `target`."""

    def show(self, found: Checked) -> None:
        """Show one Outcome."""

    def leave_out(self, left: NotChecked) -> None:
        """Show a file or a folder that was not checked."""

    def end(self, all_found: Sequence[Checked], seconds: float, unread: int) -> None:
        """Show the summary of a check that took `seconds`. `unread` is the number of files that could not be read."""

    def close(self) -> None:
        """End the progress display, even after an interruption."""

    def finish(self) -> None:
        """Print whatever must follow all other output. This is called exactly once, even if the check fails."""


class CheckedObjects(View):
    """`--json`: prints only JSON objects to stdout, one per line."""

    def show(self, found: Checked) -> None:
        """Implement `View.show`."""
        print_object(found.outcome, found.folder, **({} if found.change is None else {"change": _change(found.change)}))

    def leave_out(self, left: NotChecked) -> None:
        """Implement `View.leave_out`."""
        status = "skipped" if left.is_skipped else "failed" if left.fails else "error"
        print(json.dumps(report.path_json(left.path, Path.cwd(), status, left.reason)), flush=True)


class Findings(View):
    """Prints failures and a summary line to stdout. On a terminal, a moving line shows the progress."""

    def __init__(self, *, verbose: bool) -> None:
        """`verbose` is True to show a line for each docstring, even if it passed."""
        self._out = console()
        self._line = moving_line(console(stderr=True))
        self._verbose = verbose
        self._shown = 0
        self._told: set[tuple[Path, str]] = set()
        """The path and message of each failure of a whole module that was already shown."""

    def waits_for(self, target: Target) -> None:
        """Implement `View.waits_for`."""
        self._line.show(f"{_name(target)} · {self._shown} done")

    def show(self, found: Checked) -> None:
        """Implement `View.show`."""
        outcome = found.outcome
        self._shown += 1
        lines = list(self._lines(outcome))
        if outcome.status is Status.ERROR or not (lines or self._verbose or tells_more(found)):
            return
        self._line.hide()
        for line in lines:
            self._out.print(line)
        if self._verbose or tells_more(found):
            self._print_summary(found)

    def end(self, all_found: Sequence[Checked], seconds: float, unread: int) -> None:
        """Implement `View.end`."""
        self._line.hide()
        if len(all_found) == 1:
            if not (self._verbose or tells_more(all_found[0])):
                self._print_summary(all_found[0])
            return
        failed = [found for found in all_found if _is_shown_failed(found)]
        if failed:
            self._out.print(_RULER)
            for found in failed:
                self._out.print(_line_of(found))
        for found in all_found if not self._verbose else ():
            if unreached := report.unreached(found.outcome):
                self._out.print(f"{_named(found)}  {unreached}")
        style = STYLES[Status.FAILED if failed or unread else Status.VERIFIED]
        self._out.print(_total(all_found, seconds, unread), style=style)

    def close(self) -> None:
        """Implement `View.close`."""
        self._line.hide()

    def _print_summary(self, found: Checked) -> None:
        where = f" [{_named(found)}]" if self._verbose or tells_more(found) else ""
        self._out.print(f"{report.summary(found.outcome)}{where}", style=STYLES[found.outcome.status])
        verdict = found.outcome.verdict
        for test in () if verdict is None else verdict.tests:
            self._out.print(f"  {test.name} {test.status.replace('_', ' ')}")

    def _lines(self, outcome: Outcome) -> Iterator[str]:
        """Yield the lines about a failure. A failure of a whole module is shown only once."""
        failure = None if outcome.verdict is None else outcome.verdict.failure
        if failure is not None and failure.example is None:
            key = (outcome.target.module.path, failure.message)
            if key in self._told:
                return
            self._told.add(key)
        yield from told(outcome)


def tells_more(found: Checked) -> bool:
    """Return True if the comparison with the earlier version found something to report."""
    change = found.change
    return change is not None and bool(
        change.altered or change.lost or change.failed_before or found.outcome.status is Status.UNVERIFIED
    )


def _change(change: ChangeResult) -> JSON:
    altered = {"removed": len(change.altered.removed), "edited": len(change.altered.edited)}
    lost: list[JSON] = [{"line": each.line + 1, "example": each.source, "want": each.want} for each in change.lost]
    return {
        "why": change.why.value,
        "examples": {**altered, "lost": lost},
        "failed_before": change.failed_before,
        "fails": change.fails,
    }


def failures(found: Checked) -> list[tuple[int, str]]:
    """Return the failures of a docstring, each with its 0-based line in the file.

    If a change edited or removed examples, the first item reports this.
    """
    verdict, target = found.outcome.verdict, found.outcome.target
    failure = None if verdict is None else verdict.failure
    begin = Lines(target.text).line_at(target.docstring_span.start)
    altered = [(begin, " ".join(found.outcome.notes))] if found.change is not None and found.outcome.notes else []
    if verdict is None or failure is None:
        return altered
    results = [each for each in verdict.results if not (each.matched or each.skipped) and each.example.want]
    told = {each.example.line: report.want_and_got(each, None) for each in results if found.outcome.status in _FAILED}
    told[_own_line(target, failure) if failure.example is None else failure.example.line] = failure.message
    return [*altered, *sorted(told.items())]


def kind_of(found: Checked) -> str:
    """Return a word for the kind of a docstring's failure, for reports."""
    failure = None if found.outcome.verdict is None else found.outcome.verdict.failure
    if failure is not None:
        return failure.kind.value
    return "lost_example" if found.change is not None and found.change.lost else found.outcome.status.value


class Annotations(Findings):
    """`--format github`: also prints workflow commands, which GitHub shows as annotations on the failed lines.

    Output of examples could contain workflow commands, too. So GitHub is told to ignore all commands outside the
    annotations.
    """

    def __init__(self, *, verbose: bool) -> None:
        """`verbose` is True to show a line for each docstring, even if it passed."""
        super().__init__(verbose=verbose)
        self._token = secrets.token_hex(16)
        print(f"::stop-commands::{self._token}", flush=True)

    def show(self, found: Checked) -> None:
        """Implement `View.show`."""
        super().show(found)
        target = found.outcome.target
        level = "error" if found.fails or found.change is None else "warning"
        for line, message in failures(found):
            self._annotate(target.module.path, f",line={line + 1},title={_escaped(_name(target))}", message, level)

    def leave_out(self, left: NotChecked) -> None:
        """Implement `View.leave_out`."""
        if left.path is not None and (left.weakens or not left.is_skipped):
            self._annotate(left.path, "", left.reason, "warning" if left.is_skipped else "error")

    def finish(self) -> None:
        """Implement `View.finish`."""
        print(f"::{self._token}::", flush=True)

    def _annotate(self, path: Path, place: str, message: str, level: str) -> None:
        command = f"::{level} file={_escaped(str(shown_path(path)))}{place}::{_escaped(message, ':,')}"
        print(f"::{self._token}::\n{command}\n::stop-commands::{self._token}", flush=True)


def _escaped(text: str, kept: str = "") -> str:
    """Escape a text for a workflow command. Values of a command's properties also need escapes for `:` and `,`."""
    for mark in "%\r\n:,":
        if mark not in kept:
            text = text.replace(mark, f"%{ord(mark):02X}")
    return text


def told(outcome: Outcome) -> Iterator[str]:
    """Yield the lines that describe a failure in doctest's format."""
    failure = None if outcome.verdict is None else outcome.verdict.failure
    if failure is None or outcome.verdict is None or failure.kind is FailureKind.MEMORISED:
        return  # the code passed all examples by returning memorised outputs, so doctest has nothing to show
    if failure.example is None:
        yield from _place(outcome.target, _own_line(outcome.target, failure))
        yield failure.message
        if failure.test is not None:
            yield failure.test.explanation
        return
    yield from _examples(outcome.target, failure, outcome.verdict.results)


def _examples(target: Target, failure: Failure, results: Sequence[ExampleResult]) -> Iterator[str]:
    failed = [result for result in results if not (result.matched or result.skipped)]
    for result in failed:
        yield from _failed_example(target, result.example)
        yield from report.what_came(result.example, result.got, result.error)
        if result.hint:
            yield result.hint
    if failure.example is not None and failure.example not in {result.example for result in failed}:
        yield from _failed_example(target, failure.example)
        yield failure.message


def _failed_example(target: Target, example: Example) -> Iterator[str]:
    yield from _place(target, example.line)
    yield from report.failed_example(example)


def _place(target: Target, line: int) -> Iterator[str]:
    """Yield the heading of a failure in doctest's format. `line` is 0-based."""
    yield _RULER
    yield f'File "{shown_path(target.module.path)}", line {line + 1}, in {_name(target)}'


def _own_line(target: Target, failure: Failure) -> int:
    """Return the 0-based line of a failure without an example. By default, this is the target's first line."""
    return Lines(target.text).line_at(target.definition.start) + (failure.line or 1) - 1


def _name(target: Target) -> str:
    """Return the dotted name that doctest would show for the docstring."""
    return ".".join(filter(None, dict.fromkeys(module_and_name(target))))


def module_and_name(target: Target) -> tuple[str, str]:
    """Return the name of the module and the qualified name of the function.

    For a module's docstring, return the module's name twice.
    """
    return target.module.name, target.module.name if target.qualname == "__doc__" else target.qualname


def _is_shown_failed(found: Checked) -> bool:
    return found.outcome.status in _NOT_PASSED if found.change is None else found.fails


def _line_of(found: Checked) -> str:
    """Return the line for a failed docstring in the final summary."""
    lost = found.change.lost if found.change is not None and found.outcome.status not in _NOT_PASSED else ()
    score = f"{counted(len(lost), 'earlier example')} lost" if lost else _score(found.outcome)
    return f"{_named(found)}  {score}"


def _named(found: Checked) -> str:
    """Return the place of a docstring in the form `PATH::NAME`, which `adacoder fix` accepts."""
    target = found.outcome.target
    path = target.module.path
    return str(shown_path(path)) if is_page(path) else f"{shown_path(path)}::{target.qualname}"


def _score(outcome: Outcome) -> str:
    verdict, passed, total = outcome.verdict, outcome.passed, outcome.total
    if outcome.status is Status.DENIED:
        return "denied"
    if verdict is None or verdict.isolation is None:
        return "examples unreadable"
    failed = verdict.failure and verdict.failure.example
    if failed and not failed.want and passed == total:
        return "an example that shows no output failed"
    return report.score(passed, total, outcome.tests)


def _total(all_found: Sequence[Checked], seconds: float, unread: int) -> str:
    """Return the last line of the summary: the numbers of docstrings, files, examples and tests, and the time."""
    outcomes = [found.outcome for found in all_found]
    denied = sum(outcome.status is Status.DENIED for outcome in outcomes)
    failed = sum(map(_is_shown_failed, all_found)) - denied
    before = sum(one.change is not None and one.change.failed_before and not one.fails for one in all_found)
    unproved = sum(outcome.status is Status.UNVERIFIED for outcome in outcomes)
    found = ((one.folder, test) for one in all_found if one.outcome.verdict for test in one.outcome.verdict.tests)
    tests = {(folder, test.name): test for folder, test in found}
    of_tests = Verdict(None, tests=tuple(tests.values())).tests_score
    examples = report.score(sum(one.passed for one in outcomes), sum(one.total for one in outcomes), of_tests)
    skipped = sum(outcome.skipped for outcome in outcomes)
    examples += f", {counted(skipped, 'example')} skipped" if skipped else ""
    files = counted(len({outcome.target.module.path for outcome in outcomes}), "file")
    levels = sorted({one.verdict.isolation.level for one in outcomes if one.verdict and one.verdict.isolation})
    how = "".join(f", isolation {level}" for level in levels)
    all_of_them = counted(len(outcomes), "docstring")
    if failed:
        head = f"Failed: {failed} of {all_of_them}"
    elif denied:
        head = f"Denied: {denied} of {all_of_them}"
    else:
        head = f"Passed: {all_of_them}"
    verb = "proves" if unproved == 1 else "prove"
    rest = f" {unproved} of them {verb} nothing; -v shows why." if unproved else ""
    if failed and denied:
        rest += f" Isolation denied a resource to {counted(denied, 'docstring')}."
    rest += f" {counted(before, 'docstring')} failed before as well." if before else ""
    if unread:
        rest += f" {counted(unread, 'file')} could not be checked."
    return f"{head} in {files}, {examples} ({seconds:.1f} s{how}).{rest}"
