"""The judge of evaluations, which turns a worker's messages into a Verdict.

A *worker* is the process that runs the examples. The worker only reports outputs, and the judge compares them.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import (
    Example,
    ExampleResult,
    Failure,
    FailureKind,
    Isolation,
    Level,
    ProjectTest,
    ProjectTestStatus,
    Reached,
    Verdict,
)
from adacoder.pytext import Lines
from adacoder.sandbox.child.worker import OUT_OF_MEMORY
from adacoder.sandbox.comparison import hint, is_value, matches, takes_fence_for_output
from adacoder.sandbox.wire import Answer, Imported, ProtocolError, Raised, RanTest, SyntaxBroken
from adacoder.traces import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adacoder.sandbox.program import Program

_SKIPS = re.compile(r"(?:unittest\.case\.SkipTest|_?(?:pytest\.)?Skipped)(?:: (?P<why>.*))?")
"""Matches the exceptions by which unittest and pytest skip a test."""
_MISSING_FILE = re.compile(r"FileNotFoundError: \[Errno 2\] [^:\n]*: '([^'\n]+)'")
_NAME_ERROR = re.compile(r"name '(\w+)' is not defined")
_ERRNO = re.compile(r"\[Errno (-?\d+)\] [^:\n]*(: ['\"])?")
_NEEDS = {
    1: "privileges",  # EPERM
    11: "processes",  # EAGAIN, which `fork` raises
    **dict.fromkeys((13, 30), "processes"),  # EACCES, EROFS, as multiprocessing's semaphores raise
    **dict.fromkeys((97, 99, 101, 111, 113, -2, -3, -5), "the network"),  # EAFNOSUPPORT … EHOSTUNREACH, EAI_…
}
"""By error number of an OSError: the resource that isolation denied."""
_NEEDS_OF_FILES = dict.fromkeys((1, 13, 30), "files")  # EPERM, EACCES, EROFS
"""By error number of an OSError that names a file: the resource that isolation denied."""
_UNMOUNTED = re.compile(r"\[Errno 2\] [^:\n]*: '/(?:proc|dev)/")
"""Matches an error about a file of the kernel that is missing inside the sandbox."""
_SHARED_MEMORY = re.compile(r"['\"]/(?:dev/shm/|(?:psm|wnsm)_)")
"""Matches shared memory in an error: a path in `/dev/shm`, or a name from `multiprocessing.shared_memory`."""
_WITHOUT_NUMBER = {"OSError: out of pty devices": "a terminal", "OSError: could not bind on any addr": "the network"}
"""The resource that isolation denied, by the start of an error message without a number."""
_STATUS = {"passed": ProjectTestStatus.PASSED, "failed": ProjectTestStatus.FAILED}
_WORST_FIRST = (
    ProjectTestStatus.FAILED,
    ProjectTestStatus.NEEDS,
    ProjectTestStatus.PASSED,
    ProjectTestStatus.SKIPPED,
)
_SHOWN = 60
"""Maximum length of an output in a message."""


@dataclass(slots=True)
class Judge:
    """Follows one evaluation and produces its Verdict."""

    program: Program
    isolation: Isolation
    examples: Sequence[Example]
    """Examples to run."""
    note: str = ""
    """A note to add to every Verdict, or an empty text."""
    is_over: bool = field(init=False, default=False)
    """True if an exception has skipped the remaining examples."""
    trace: Trace = field(init=False, default=Trace())
    """Trace of the last example, if requested."""
    cut_short: FailureKind | None = field(init=False, default=FailureKind.KILLED)
    """Reason why the evaluation is incomplete. None if every example has a result, or if no example can run."""
    _verdict: Verdict = field(init=False)
    _failure: Failure | None = field(init=False, default=None)
    """The first failure."""
    _current: Example | None = field(init=False, default=None)
    """The running example, or None during the import."""
    _troubled: list[tuple[ExampleResult, Raised]] = field(init=False, default_factory=list)
    """Examples that raised an unexpected exception, with the exception."""
    _unrelated: list[Failure] = field(init=False, default_factory=list)
    """Failures of examples that did not run the target, so that they do not count against the candidate."""
    _tests: dict[str, ProjectTest] = field(init=False, default_factory=dict)
    """Results of the project's tests, by name."""

    def __post_init__(self) -> None:
        self._verdict = Verdict(None, isolation=self.isolation, notes=(self.note,) if self.note else ())

    @property
    def verdict(self) -> Verdict:
        """The Verdict so far, which is a failure until every example has a result."""
        failure = self._undefined_name() or self._failure
        if failure is None and self.cut_short is not None:
            failure = self._ending(self.cut_short, "was cut off: its process was killed from outside")
        return replace(self._verdict, failure=failure, tests=tuple(self._tests.values()))

    def loaded(self, answer: SyntaxBroken | Imported) -> bool:
        """Handle the worker's answer to `load`. Return True if the examples can run."""
        if isinstance(answer, SyntaxBroken):
            return self._cannot_run(self._syntax_failure(answer))
        raised = answer.raised
        self._verdict = replace(
            self._verdict,
            parses=True,
            reachable=answer.reachable,
            imports=raised is None or bool(raised.origin),
            defines=answer.defines,
            # After a failed import, many names are undefined, because the rest of the module did not run. Report these
            # names only if one of them caused the failure.
            undefined=answer.missing if raised is None or _missing_name(raised) in answer.missing else (),
            notes=(
                *self._verdict.notes,
                *(
                    f"Line {line} of the file is a syntax error; that statement was left out of the run."
                    for line in answer.left_out
                ),
            ),
        )
        if raised is not None:
            return not self._skips(raised, self.examples) and self._cannot_run(self._import_failure(raised))
        if not answer.defines:
            message = f"The module does not define '{self.program.qualname}' after its import."
            return self._cannot_run(Failure(FailureKind.NO_FUNCTION, message))
        return True

    def prepared(self, answer: Answer) -> bool:
        """Handle the worker's answer to a setup statement. Return True if the examples can run."""
        if answer.raised is None:
            return True
        error = answer.raised.message.strip()
        message = (
            f"The statements that run before the examples raised {_brief(error)}: correct the setting doctestSetup."
        )
        return self._cannot_run(Failure(FailureKind.BROKEN_EXAMPLE, message, error=error))

    def begins(self, example: Example) -> None:
        """Handle the start of an example."""
        self._current = example

    def answered(self, example: Example, answer: Answer) -> None:
        """Handle the end of an example."""
        if answer.raised and not example.exception:
            left = self.examples[len(self._verdict.results) :]
            if self._skips(answer.raised, left):
                return
        got = _displayed(example, answer)
        matched = not example.problem and matches(example, got, answer, self.program.options)
        error = None if answer.raised is None or matched else answer.raised.message.strip()
        # If it is uncertain whether the target ran, only a wrong result counts.
        entered = (not matched) if answer.ran is None else answer.ran
        counts = entered or self.program.all_count
        result = ExampleResult(example, matched, got, error, entered, answer.instead, counts, answer.reached)
        if matched:
            self._verdict = replace(self._verdict, results=(*self._verdict.results, result))
            return
        advice = hint(example, got, answer, self.program.options) or self._advice_on_file(answer)
        if example.problem:
            failure = Failure(FailureKind.BROKEN_EXAMPLE, f"{_place(example)} {example.problem}.", example, got)
        elif answer.raised is None:
            failure = self._wrong_output(example, got, answer, advice)
        else:
            failure = self._broken_example(example, answer.raised) or self._exception(
                example, answer.raised, got, advice
            )
            self._troubled.append((result, answer.raised))
        if (
            failure.kind is FailureKind.DENIED
            or example.problem
            or takes_fence_for_output(example, got, self.program.options)
        ):
            advice = failure.message  # Show this message, because no other text names the cause.
        self._verdict = replace(self._verdict, results=(*self._verdict.results, replace(result, hint=advice)))
        # An example without a wanted output can fail only by an exception.
        if counts and (example.has_want or answer.raised is not None):
            self._fail(failure)
        elif example.has_want:
            self._unrelated.append(failure)

    def _skips(self, raised: Raised, left: Sequence[Example]) -> bool:
        """Return whether an exception skips the remaining examples `left`. A candidate cannot skip examples."""
        found = _SKIPS.fullmatch(raised.message.strip().partition("\n")[0]) if self.program.all_count else None
        if found is None:
            return False
        results = (ExampleResult(each, matched=False, counts=False, skipped=True) for each in left)
        why = f"Skipped: {found['why'] or 'no reason given'}."
        self._verdict = replace(
            self._verdict, results=(*self._verdict.results, *results), notes=(*self._verdict.notes, why)
        )
        self.is_over, self.cut_short = True, None
        return True

    def traced(self, trace: Trace) -> None:
        """Handle the trace of an example.

        Raises:
            ProtocolError: the trace has lines outside the target.
        """
        if not all(self.program.first_line <= each.line <= self.program.last_line for each in trace.executed):
            raise ProtocolError("it traced something other than the target")
        self.trace = trace

    def tested(self, result: RanTest) -> None:
        """Handle the result of a test, or of one case of a parametrised test."""
        path, separator, rest = result.name.partition("::")
        own, _, case = rest.partition("[")
        name = f"{path}{separator}{own}"
        need = self._need(result.raised) if result.outcome == "failed" else None
        status = ProjectTestStatus.NEEDS if need else _STATUS.get(result.outcome, ProjectTestStatus.SKIPPED)
        error = result.raised.message if result.outcome == "failed" else ""
        with_case = f"With the parameters {case.removesuffix(']')}:\n" if case else ""
        explanation = with_case + result.explanation if result.outcome == "failed" else ""
        test = ProjectTest(
            name,
            status,
            result.seconds,
            result.entered,
            error,
            explanation,
            result.source,
            result.ran,
            skipped=int(status is ProjectTestStatus.SKIPPED),
        )
        self._tests[name] = _joined(self._tests.get(name), test)

    def tests_ended(self, troubles: str, reached: Reached, files: frozenset[str]) -> None:
        """Handle the end of all tests.

        `troubles` has a line for each file that cannot be collected. `files` are the files that the tests read.
        """
        notes = (*self._verdict.notes, *troubles.splitlines())
        self._verdict = replace(self._verdict, notes=notes, tests_reached=reached, files=files)

    def ended(self, missing: tuple[str, ...]) -> None:
        """Handle the end of all examples. `missing` are the candidate's names that are still undefined."""
        if self._verdict.answers(self.examples):
            self.cut_short = None
        self._verdict = replace(self._verdict, undefined=missing)
        unrelated = self._unrelated
        if not any(result.entered for result in self._verdict.results):
            for failure in [each for each in unrelated if each.kind is FailureKind.BROKEN_EXAMPLE][:1]:
                unrelated = []
                self._fail(failure)
        told = (
            f"{each.message} It did not run '{self.program.qualname}', so it counts for nothing." for each in unrelated
        )
        self._verdict = replace(self._verdict, notes=(*self._verdict.notes, *told))

    def timed_out(self, seconds: float) -> None:
        """Handle the timeout of the evaluation."""
        self._end(FailureKind.TIMED_OUT, f"was still running after the {seconds:g} s that an evaluation may take")

    def died(self, status: int | None) -> None:
        """Handle a worker that died. `status` is the result of `Taken.status`."""
        if status is None:
            self.misbehaved("it closed its line to the evaluator")
        elif status == OUT_OF_MEMORY:
            self._end(FailureKind.OUT_OF_MEMORY, "ran out of memory")
        elif status < 0:
            self._end(FailureKind.KILLED, f"was killed ({_signal_name(-status)})")
        else:
            self._end(FailureKind.KILLED, f"ended Python (exit status {status})")

    def wrote_too_much(self, size: int) -> None:
        """Handle an evaluation that was ended because it wrote more than `size` bytes, or too many files."""
        self._end(FailureKind.KILLED, f"wrote more files than an evaluation may ({size >> 20} MiB)")

    def started_too_many_threads(self, most: int) -> None:
        """Handle an evaluation that was ended because it had more than `most` threads."""
        self._end(FailureKind.KILLED, f"started more threads than an evaluation may ({most})")

    def misbehaved(self, how: str) -> None:
        """Handle a violation of the protocol."""
        why = f"as only hostile or badly broken code does: {how}"
        self._end(FailureKind.PROTOCOL, f"broke the evaluator's protocol, {why}")

    def _cannot_run(self, failure: Failure) -> bool:
        self.cut_short = None
        self._fail(failure)
        return False

    def _end(self, kind: FailureKind, how: str) -> None:
        self.cut_short = kind
        self._fail(self._ending(kind, how))

    def _ending(self, kind: FailureKind, how: str) -> Failure:
        before = "The import of the module" if self.program.document is None else "The import or a fixture"
        where = before if self._current is None else _place(self._current)
        if self.program.tests:
            where = "A test of the project"
        return Failure(kind, f"{where} {how}.", self._current)

    def _fail(self, failure: Failure) -> None:
        self._failure = self._failure or failure

    def _text_of(self, line: int) -> str:
        """Return a line of the module for a message."""
        lines = Lines(self.program.text)
        return _brief(lines[line - 1]) if line <= len(lines) else ""

    def _own_line(self, line: int | None) -> int | None:
        """Convert a line number of the module to a line number in the candidate's function."""
        return None if line is None else line - self.program.first_line + 1

    def _syntax_failure(self, broken: SyntaxBroken) -> Failure:
        what = broken.message.partition(": ")[2] or broken.message
        line = self._own_line(broken.line) if broken.in_candidate else None
        kind = FailureKind.SYNTAX_ERROR if broken.in_candidate else FailureKind.BROKEN_MODULE
        module = self.program.module
        if self.program.all_count and not module.cells:
            return Failure(kind, unparsed(module.path, broken.line, what), error=broken.message, line=line)
        if broken.in_candidate:
            message = f"`{self._text_of(broken.line)}` is a syntax error: {what}."
            return Failure(kind, message, error=broken.message, line=line)
        message = f"Fix {module.where(broken.line)} first, which the run cannot leave out: {what}."
        return Failure(kind, message, error=broken.message)

    def _import_failure(self, raised: Raised) -> Failure:
        error = raised.message.strip()
        line = self._own_line(raised.line)
        what, kind, remedy = "The import of the module", FailureKind.IMPORT_ERROR, "."
        if raised.origin:
            what, remedy = f"Before the examples, {_brief(raised.origin)}", ": correct the conftest.py."
            kind = FailureKind.BROKEN_EXAMPLE
        message = f"{what} raised {_brief(error)}{remedy}"
        if "MemoryError" in raised.bases:
            kind = FailureKind.OUT_OF_MEMORY
        elif need := self._need(raised):
            message = f"{what} needs {need}, which isolation denies: {_brief(error)}."
            kind = FailureKind.DENIED
        return Failure(kind, message, error=error, line=line)

    def _wrong_output(self, example: Example, got: str, answer: Answer, hint: str) -> Failure:
        if takes_fence_for_output(example, got, self.program.options):
            message = (
                f"{_place(example)} takes the code fence below it for output, as doctest does: leave a blank line."
            )
            return Failure(FailureKind.BROKEN_EXAMPLE, message, example, got)
        wanted = f"raising {_brief(example.exception)}" if example.exception else _quoted(example.want)
        given = f"gave {_quoted(got)}"
        if example.informal:
            value = _quoted(answer.shown or "None") + _class_told(example, answer)
            given = f"printed {_quoted(answer.printed)} and returned {value}" if answer.printed else f"gave {value}"
            wanted = f"returning {wanted}" if answer.printed and not example.exception else wanted
        message = " ".join(filter(None, [f"{_place(example)} {given} instead of {wanted}.", hint]))
        return Failure(FailureKind.WRONG_OUTPUT, message, example, got)

    def _exception(self, example: Example, raised: Raised, got: str, hint: str = "") -> Failure:
        error = raised.message.strip()
        kind, message = FailureKind.EXCEPTION, f"{_place(example)} raised {_brief(error)}"
        if example.exception:
            message += f" instead of {_brief(example.exception)}"
        elif "MemoryError" in raised.bases:
            kind, message = FailureKind.OUT_OF_MEMORY, f"{_place(example)} ran out of memory"
        elif need := self._need(raised):
            kind = FailureKind.DENIED
            message = f"{_place(example)} needs {need}, which isolation denies: {_brief(error)}"
        told = " ".join(filter(None, [f"{message}.", hint]))
        return Failure(kind, told, example, got, error, self._own_line(raised.line))

    def _advice_on_file(self, answer: Answer) -> str:
        """Return advice if an example opens a file of the project by a relative path, else an empty text."""
        found = _MISSING_FILE.match(answer.raised.message) if answer.raised is not None else None
        folder = self.program.module.top or self.program.module.root
        if found is None or ".." in Path(found[1]).parts or Path(found[1]).is_absolute():
            return ""
        try:
            is_there = (folder / found[1]).exists()
        except (OSError, ValueError):
            return ""
        return "Examples run in a folder of their own: build the path from `__file__`." if is_there else ""

    def _need(self, raised: Raised) -> str | None:
        """Return the resource that isolation denied, or None if the exception has another reason."""
        message = raised.message if "OSError" in raised.bases else raised.cause
        if self.isolation.level is Level.NONE or not message:
            return None
        found = _ERRNO.search(message)
        if found is None:
            return next((need for start, need in _WITHOUT_NUMBER.items() if message.startswith(start)), None)
        number = int(found[1])
        need = _NEEDS_OF_FILES.get(number) if found[2] else None
        if need is not None and _SHARED_MEMORY.search(message):
            return "memory that processes share"
        return need or _NEEDS.get(number) or ("files" if _UNMOUNTED.search(message) else None)

    def _broken_example(self, example: Example, raised: Raised) -> Failure | None:
        """Return the failure if no candidate can pass the example. Return None if the candidate may be the cause.

        If an earlier example is the cause, return the failure of the earlier example.
        """
        error = raised.message.strip()
        if raised.origin == "syntax":
            message = f"{_place(example)} is a syntax error ({_brief(error)}): correct it."
            return Failure(FailureKind.BROKEN_EXAMPLE, message, example, error=error)
        name = _missing_name(raised)
        if raised.origin != "example" or name is None:
            return None
        mentions = re.compile(rf"\b{re.escape(name)}\b")
        for result, trouble in self._troubled:
            earlier = result.example
            if earlier is example or earlier.group != example.group or not mentions.search(earlier.source):
                continue
            if result.entered or trouble.line is not None:
                return self._exception(earlier, trouble, "")
            cause = f"{_place(earlier)} raised {_brief(trouble.message)}"
            message = f"{cause}, so '{name}' is missing: correct it."
            return Failure(FailureKind.BROKEN_EXAMPLE, message, earlier, error=trouble.message.strip())
        remedy = "which nothing defines: define it, or correct the example"
        if name == "getfixture":
            remedy = "which only pytest defines: install pytest in the project's Python"
        message = f"{_place(example)} uses '{name}', {remedy}."
        return Failure(FailureKind.BROKEN_EXAMPLE, message, example, error=error)

    def _undefined_name(self) -> Failure | None:
        """Return the failure for undefined names, or None if all names are defined.

        If an undefined name caused the first failure, add the example and the error of that failure.
        """
        missing = self._verdict.undefined
        if not missing:
            return None
        names = ", ".join(f"'{name}'" for name in missing)
        subject = f"The name {names} is" if len(missing) == 1 else f"The names {names} are"
        told = self._failure
        telling = told is not None and told.error is not None and _name_in(told.error) in missing
        return Failure(
            FailureKind.UNDEFINED_NAME,
            f"{subject} not defined anywhere: import or define what the function uses.",
            told.example if told and telling else None,
            told.got if told and telling else None,
            told.error if told and telling else f"NameError: name '{missing[0]}' is not defined",
            told.line if told and telling else None,
        )


def _joined(one: ProjectTest | None, other: ProjectTest) -> ProjectTest:
    """Combine the results of two cases of a parametrised test."""
    if one is None:
        return other
    worse = min(one, other, key=lambda test: _WORST_FIRST.index(test.status))
    entered = True if True in (one.entered, other.entered) else None if None in (one.entered, other.entered) else False
    return replace(
        worse,
        seconds=one.seconds + other.seconds,
        entered=entered,
        ran=one.ran | other.ran,
        cases=one.cases + other.cases,
        skipped=one.skipped + other.skipped,
    )


def unparsed(path: Path, line: int, what: str) -> str:
    """Return a message about a syntax error in a file. `line` is counted from 1."""
    return f"{path}, line {line}: {_brief(what)}. Fix this syntax error first: until then nothing in the file can run."


def _displayed(example: Example, answer: Answer) -> str:
    """Return the output of an example, ending with a newline unless the output is empty.

    As in doctest, printed text comes before the value. In an informal example, the value comes before printed text, and
    None is shown as well.
    """
    if example.informal and answer.raised is None:
        value = (answer.shown or "None").rstrip("\n") + _class_told(example, answer)
        return f"{value}\n" + (f"after printing\n{_ended(answer.printed)}" if answer.printed else "")
    return _ended(answer.printed + answer.shown)


def _ended(output: str) -> str:
    return output if not output or output.endswith("\n") else output + "\n"


def _class_told(example: Example, answer: Answer) -> str:
    """Return words about the class of a value that only looks like the wanted value. Return an empty text for other
    values.
    """
    looks_right = is_value(answer.shown, example.want) and not is_value(answer.plain, example.want)
    return f" (of the class '{_brief(answer.class_name)}')" if looks_right else ""


def _missing_name(raised: Raised) -> str | None:
    return _name_in(raised.message) if "NameError" in raised.bases else None


def _name_in(error: str) -> str | None:
    found = _NAME_ERROR.search(error)
    return found[1] if found else None


def _place(example: Example) -> str:
    return f"The example on line {example.number}"


def _brief(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return (line if len(line) <= 2 * _SHOWN else line[: 2 * _SHOWN] + "…").rstrip(".")


def _quoted(output: str) -> str:
    """Return the first line of an output, with … if more follows."""
    lines = output.strip("\n").split("\n")
    first = lines[0]
    if not output.strip("\n"):
        return "nothing"
    return first if len(lines) == 1 and len(first) <= _SHOWN else first[:_SHOWN] + " …"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
