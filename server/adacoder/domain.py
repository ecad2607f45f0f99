"""The data types of AdaCoder. All of them are frozen.

Every package uses these types. Nothing here does I/O, reads a clock, or depends on prompts, strategies or editors.
Offsets count the code points of one text, and ranges are half-open. Lines are 0-based unless noted otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from adacoder.messages import AdaCoderError as AdaCoderError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
"""A value of JSON, as in `--json`, the Journal and `adacoder/run`."""

PAGE = "__doc__"
"""Qualified name of a page. The docstring of a module has the same name."""


class TargetError(AdaCoderError):
    """The requested function cannot be found, or it has no docstring, or its file is not Python."""


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of code-point offsets in one text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the part of `text` that this span covers."""
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of the code points from `start` to `end` of a document by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Example:
    """A statement and its expected output, from a docstring: in the form of `doctest`, or in prose."""

    source: str
    """The statement, ending in a newline."""
    want: str
    """The expected output, ending in a newline; empty if no output is expected."""
    line: int
    """0-based line of the module's text on which the statement begins."""
    flags: int = 0
    """The flags of the options that the example's directives switch on, combined with `|`. See `directives.py`."""
    exception: str | None = None
    """Type and message of the expected exception, such as `"ValueError: no\\n"`; None if no exception is expected."""
    informal: bool = False
    """True if the example was read from prose, such as `f(1) == 2`. Its value is compared, even if it is None."""
    off: int = 0
    """The flags of the options that its directives switch off."""
    needs: frozenset[str] = frozenset()
    """Requirements without which it is skipped, such as `numpy` or `numpy>=2.0`."""
    problem: str = ""
    """The reason why a directive cannot be followed, as the rest of a sentence about the example; else empty."""
    is_block: bool = False
    """True if the source is the content of a directive such as `.. testcode::`. It shows only what it prints."""
    above: int = 0
    """Number of lines of the module's text that are in cells of a notebook above the example's own cell."""

    @property
    def number(self) -> int:
        """The 1-based line in the user's document."""
        return self.line - self.above + 1

    @property
    def form(self) -> str:
        """The form of its result, as `worker.py` describes it: empty as in doctest, `value`, or `block`."""
        return "value" if self.informal else "block" if self.is_block else ""

    @property
    def prompted(self) -> str:
        """The statement with its `>>>` and `...` prompts, without a newline at the end."""
        first, *rest = self.source.rstrip("\n").split("\n")
        return "\n".join([f">>> {first}", *(f"... {line}".rstrip() for line in rest)])

    @property
    def skipped(self) -> bool:
        """True if `# doctest: +SKIP` excludes the example."""
        import doctest  # a slow import that is not needed to answer `initialize`

        return bool(self.flags & doctest.SKIP)

    @property
    def has_want(self) -> bool:
        """True if the example shows an output that counts, and is not skipped. Only then can it verify a candidate."""
        from adacoder.directives import IGNORE_OUTPUT  # imports doctest; see `skipped`

        return bool(self.want) and not self.skipped and not self.flags & IGNORE_OUTPUT


@dataclass(frozen=True, slots=True)
class Module:
    """A file's place in the user's project, and its import name."""

    path: Path
    """The file, as an absolute path."""
    name: str
    """The dotted name of the module, such as `pkg.sub.mod`. The name of `pkg/__init__.py` is `pkg`."""
    root: Path
    """The directory that must be on `sys.path` for `name` to be importable."""
    top: Path | None = field(default=None, compare=False)
    """The workspace. AdaCoder does not search for the project's settings above this folder."""
    cells: tuple[int, ...] = ()
    """The 0-based lines of the module's text at which the cells of a notebook begin; empty for a file.

    The target is in the last cell, and edits may change only this cell.
    """

    @property
    def first_line(self) -> int:
        """The 0-based line of the module's text at which the user's document begins."""
        return self.cells[-1] if self.cells else 0

    def where(self, line: int) -> str:
        """Return words for a 1-based line of the module's text, such as `line 3 of code cell 2`."""
        if not self.cells:
            return f"line {line} of the file"
        number = sum(first < line for first in self.cells)
        cell = "this cell" if number == len(self.cells) else f"code cell {number}"
        return f"line {line - self.cells[max(number, 1) - 1]} of {cell}"

    @property
    def is_package(self) -> bool:
        """True if the file is a package's `__init__.py`."""
        return self.path.stem == "__init__"


@dataclass(frozen=True, slots=True)
class Target:
    """The function to write: its place in the module's text, its signature, docstring and examples."""

    module: Module
    text: str
    """The whole text of the module as it was read, with its own line endings."""
    qualname: str
    """The qualified name, such as `Class.method`: the `__qualname__` without `<locals>`."""
    definition: Span
    """The whole function with its decorators, from the start of its first line to the end of its last line."""
    header: Span
    """The text from `def` or `async def` to the colon, inclusive."""
    docstring_span: Span
    """The docstring in the source, with its quotes and brackets, and with all string literals that it consists of.

    It is empty, and at the end of the header, if the function has no docstring.
    """
    docstring: str
    """The docstring's value, as cleaned by `inspect.cleandoc`."""
    body: Span
    """The text that a new body replaces. It begins after the docstring and any comment at the docstring's end."""
    indent: str
    """The whitespace before `def`."""
    examples: tuple[Example, ...]
    is_stub: bool
    """True if the body has nothing but `pass`, `...`, `raise NotImplementedError` or comments."""
    in_class: bool = False
    """True if the function is directly in a class body: a method, property, classmethod, …"""
    is_function: bool = True
    """False if the target is a class or module whose docstring is checked."""
    of_class: tuple[Example, ...] = ()
    """The examples of the enclosing class. They count for this function only if a run shows that they call it."""

    @property
    def name(self) -> str:
        """The last part of the qualified name. A page or a module's docstring has the name of its file."""
        return self.module.path.name if self.qualname == PAGE else self.qualname.rpartition(".")[2]

    @property
    def source(self) -> str:
        """The function's own text, decorators included."""
        return self.definition.of(self.text)

    @property
    def signature(self) -> str:
        """The text from `def` to the colon."""
        return self.header.of(self.text)

    @property
    def is_documented(self) -> bool:
        """False for a function without a docstring, which only tests can describe."""
        return self.docstring_span.start < self.docstring_span.end

    @property
    def has_wants(self) -> bool:
        """True if at least one example can verify a candidate."""
        return any(example.has_want for example in self.examples)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version of the target function, by a model or a person, with the imports and definitions that it needs.

    The code may have syntax errors. It starts at column 0, its lines end in `\\n`, and no part ends in a newline.
    """

    function: str
    """The function, from its first decorator (or `def`) on; empty if the reply has no function."""
    imports: tuple[str, ...] = ()
    """Import statements, one per string."""
    definitions: tuple[str, ...] = ()
    """Module-level helpers, classes and constants, one statement per string."""
    cut: bool = False
    """True if the reply broke off or left parts out. Such a candidate is never inserted unchanged."""
    decorators: tuple[str, ...] = ()
    """Decorators of `function` to insert above the target, one per string. Its other decorators are dropped."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Sentences for the user about the reply, for example on parts that were left out."""
    others: tuple[Candidate, ...] = field(default=(), compare=False)
    """Other versions of the function from the same reply. If this version fails, they are tried in this order."""

    @property
    def text(self) -> str:
        """The whole candidate as the text of a small module."""
        parts = ["\n".join(self.imports), *self.definitions, self.function]
        return "\n\n".join(part for part in parts if part) + "\n"


class Ended(StrEnum):
    """The reason why a model's reply ended."""

    STOP = "stop"
    LENGTH = "length"
    STOPPED_EARLY = "stopped_early"
    """AdaCoder closed the stream because the code was complete."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Numbers of tokens that a model has read (`prompt`) and written (`completion`)."""

    prompt: int = 0
    completion: int = 0
    estimated: bool = False
    """True if any count is an estimate, because a stream was closed before the server's counts arrived."""
    cached: int = 0
    """Number of tokens of `prompt` that the server had in its cache. For Ollama, this is estimated from the time for
    reading the prompt, and is never too high.
    """

    def __add__(self, other: Tokens) -> Tokens:
        prompt, completion = self.prompt + other.prompt, self.completion + other.completion
        return Tokens(prompt, completion, self.estimated or other.estimated, self.cached + other.cached)


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of a reply, in seconds."""

    queue: float = 0.0
    """Time spent waiting for other requests, of AdaCoder or of other programs."""
    load: float = 0.0
    prompt: float = 0.0
    """Time for reading the prompt, or all the time before the first token if the server reports no times."""
    generation: float = 0.0
    """Time for writing the reply."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: str
    """`system`, `user` or `assistant`."""
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's raw reply."""

    text: str
    tokens: Tokens = Tokens()
    ended: Ended = Ended.STOP
    time: Timing | None = None
    """The times; None if they were not measured, as in a recorded conversation."""


class Level(StrEnum):
    """Levels of isolation for candidate code, strongest first."""

    FULL = "full"
    LSM = "lsm"
    SEATBELT = "seatbelt"
    NONE = "none"

    def is_at_least(self, least: Level) -> bool:
        """Return whether this level is `least` or stronger."""
        order = list(Level)
        return order.index(self) <= order.index(least)


@dataclass(frozen=True, slots=True)
class Isolation:
    """The isolation of a run of candidate code."""

    level: Level
    by: tuple[str, ...] = ()
    """The mechanisms in use, such as `bubblewrap` and `rlimits`."""


class FailureKind(StrEnum):
    """The kind of a candidate's failure. The values are part of `--json`."""

    CUT_OFF = "cut_off"
    """The model's reply broke off, or left parts of the function out."""
    SYNTAX_ERROR = "syntax_error"
    """The project's Python cannot parse the code."""
    NO_FUNCTION = "no_function"
    """The reply does not contain the function."""
    UNDEFINED_NAME = "undefined_name"
    """The code uses a name that neither it nor its module defines."""
    IMPORT_ERROR = "import_error"
    """The import of the module, with the candidate in place, raised an exception."""
    WRONG_OUTPUT = "wrong_output"
    """An example gave another output than the docstring shows."""
    EXCEPTION = "exception"
    """An example raised an exception that the docstring does not show."""
    BROKEN_EXAMPLE = "broken_example"
    """The example itself is wrong, so it fails with every candidate."""
    BROKEN_MODULE = "broken_module"
    """The module cannot be imported with any candidate."""
    TIMED_OUT = "timed_out"
    """The examples took longer than the setting `timeout`."""
    OUT_OF_MEMORY = "out_of_memory"
    """The code needed more memory than the sandbox permits."""
    KILLED = "killed"
    """The process that ran the examples ended before they were complete."""
    DENIED = "denied"
    """The code needs processes, network or files that isolation denies."""
    MEMORISED = "memorised"
    """The candidate passed the examples, but most of its answers were hard-coded."""
    TEST_FAILED = "test_failed"
    """The candidate passed the examples, but a test of the project fails."""
    PROTOCOL = "protocol"
    """The child process broke the evaluator's protocol. Only hostile or badly broken code does that."""


UNPARSED = frozenset({FailureKind.SYNTAX_ERROR, FailureKind.BROKEN_MODULE})
"""Kinds of failure for a module that does not parse. `BROKEN_MODULE` also has other causes."""
_OUTSIDE_THE_CANDIDATE = frozenset({FailureKind.BROKEN_EXAMPLE, FailureKind.BROKEN_MODULE})


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a candidate failed, with the first Example that failed, if one did."""

    kind: FailureKind
    message: str
    """One sentence for the user."""
    example: Example | None = None
    got: str | None = None
    """The actual output. The expected output is `example.want`."""
    error: str | None = None
    """The exception, as `Type: message`."""
    line: int | None = None
    """1-based line within the candidate's function that raised the exception; None if other code raised it."""
    test: ProjectTest | None = None
    """The first test of the project that failed, if one did."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Lines and branches of the target's code. Line numbers are 1-based, in the module with the candidate in place."""

    lines: frozenset[int] = frozenset()
    branches: frozenset[tuple[int, int]] = frozenset()
    """Jumps, each from the line of a condition to another line. Empty if the interpreter does not report branches."""


NOTHING = Reached()


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the file with the candidate in place: its 1-based number, and its text with indentation."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of the new function: its `lines` of code, and the lines and branches that no example reached.

    If the project's tests ran as well (`by_tests`), no test reached these lines and branches either.
    """

    lines: tuple[int, ...]
    unreached: tuple[SourceLine, ...] = ()
    branches: tuple[tuple[SourceLine, bool], ...] = ()
    """Lines of conditions, each with the result that never occurred. A condition is left out if an unreached line
    already shows this. Empty if the interpreter does not report branches.
    """
    by_tests: bool = False


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """The result of one Example."""

    example: Example
    matched: bool
    got: str = ""
    error: str | None = None
    entered: bool = False
    """True if the example was observed to run the target's code, or to use the result of an example that did."""
    ran: str = ""
    """A hint if the example seems to call other code than the target, as in "`b.f` is `a.c.f`". In the form "`f` is
    a …", it names code that may be a compiled form of the target.
    """
    counts: bool = True
    """True if the example had to match. False, for example, if it ran only other code than the target."""
    reached: Reached = NOTHING
    """The part of the target's code that the example reached, if requested."""
    skipped: bool = False
    """True if the module's code skipped it while it ran, as `pytest.importorskip` does. It then does not count."""
    hint: str = ""
    """A sentence that says why the example did not match and what to do; empty if the outputs show this already."""


class ProjectTestStatus(StrEnum):
    """The status of a test of the project. The values are part of `--json`."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It was skipped, or it is expected to fail."""
    NEEDS = "needs"
    """It needs something that isolation denies."""
    FAILED_BEFORE = "failed_before"
    """It also fails in the same way with other bodies, so the cause is not the function."""
    UNTRUSTED = "untrusted"
    """It passed, but the candidate's code could have changed the result."""
    UNSTABLE = "unstable"
    """It failed once, and then passed with the same code."""


@dataclass(frozen=True, slots=True)
class ProjectTest:
    """The result of a test of the project. All cases of a parametrised test count together."""

    name: str
    """The name that pytest gives it, such as `tests/test_a.py::test_b`, without the parameters of a case."""
    status: ProjectTestStatus
    seconds: float = 0.0
    entered: bool | None = True
    """True if the test was observed to run the target's code; None if this is uncertain."""
    error: str = ""
    """The exception that ended a failed test, as `Type: message`."""
    explanation: str = ""
    """Pytest's text about the failure."""
    source: str = ""
    """The source of a failed test."""
    ran: frozenset[tuple[str, int]] = frozenset()
    """The functions of the project that it ran, each as its file and its 1-based first line, if requested."""
    cases: int = 1
    """Number of its cases that ran or were skipped. A test without parameters is one case."""
    skipped: int = 0
    """Number of its cases that were skipped, or that are expected to fail."""

    @property
    def proves(self) -> bool:
        """True if the test ran the target and passed."""
        return self.status is ProjectTestStatus.PASSED and self.entered is True


@dataclass(frozen=True, slots=True)
class Verdict:
    """The Code Evaluator's result for a candidate: its first failure, if any, and how far the candidate got."""

    failure: Failure | None
    parses: bool = False
    defines: bool = False
    """True if the module defines the target with the candidate in place."""
    undefined: tuple[str, ...] = ()
    """Names that the candidate uses although they are not defined anywhere."""
    imports: bool = False
    """True if the module could be imported with the candidate in place."""
    results: tuple[ExampleResult, ...] = ()
    """Results of the examples that ran, in order. Skipped examples are not included."""
    isolation: Isolation | None = None
    """Isolation of the run; None if no run was needed."""
    notes: tuple[str, ...] = ()
    """Sentences for the user about the run, for example on a statement that had to be left out of the module."""
    reachable: Reached = NOTHING
    """All lines and branches of the target's code, if requested."""
    coverage: Coverage | None = None
    """Coverage if the candidate passed; None if it was not requested or is not available."""
    edits: tuple[Edit, ...] = ()
    """Edits that put the candidate into the text in which it was evaluated."""
    tests: tuple[ProjectTest, ...] = ()
    """Results of the project's tests that run the target. Empty if the examples failed, or without such tests."""
    tests_reached: Reached = NOTHING
    """Lines and branches of the target's code that the project's tests reached, if requested."""
    files: frozenset[str] = frozenset()
    """Files of the project that its tests read, if requested."""

    @property
    def passed(self) -> bool:
        """True if nothing failed. The candidate is `verified` only if an example also proves it. See `conclusion`."""
        return self.failure is None

    @property
    def final(self) -> bool:
        """True if no other candidate can help: this candidate passed, or the failure is not the candidate's fault."""
        return self.failure is None or self.failure.kind in _OUTSIDE_THE_CANDIDATE

    @property
    def examples_passed(self) -> int:
        """Number of examples that count, show an output and matched."""
        return sum(result.matched for result in self._counting)

    @property
    def is_proved(self) -> bool:
        """True if an example that shows an output, or a test of the project, ran the target and passed."""
        return any(result.matched for result in self.proving) or self.tests_passed > 0

    @property
    def tests_passed(self) -> int:
        """Number of tests of the project that ran the target and passed."""
        return sum(test.proves for test in self.tests)

    @property
    def tests_total(self) -> int:
        """Number of tests of the project that count, because they ran the target and passed, or because they failed."""
        return self.tests_passed + sum(test.status is ProjectTestStatus.FAILED for test in self.tests)

    @property
    def proving(self) -> list[ExampleResult]:
        """The results of the examples that show an output and ran the target."""
        return [result for result in self._counting if result.entered]

    @property
    def _counting(self) -> list[ExampleResult]:
        return [result for result in self.results if result.counts and result.example.has_want]

    @property
    def tests_score(self) -> tuple[int, int]:
        """The number of the project's tests that passed, and the number that count."""
        return self.tests_passed, self.tests_total

    def answers(self, examples: Sequence[Example]) -> bool:
        """Return whether every example that is not skipped has a result."""
        return len(self.results) >= sum(not example.skipped for example in examples)

    def total(self, target: Target) -> int:
        """Return the number of examples of `target` that show an output, without examples that do not count."""
        not_counting = sum(not result.counts and result.example.has_want for result in self.results)
        return sum(example.has_want for example in target.examples) - not_counting

    @property
    def reach(self) -> tuple[bool, bool, int, bool, int, int, bool]:
        """A rank for comparing candidates. It is greater if the candidate got further.

        A memorised candidate ranks above candidates that pass no example, and below all that pass one.
        """
        return (
            self.parses,
            self.defines,
            -len(self.undefined),
            self.imports,
            self.examples_proved,
            self.tests_passed,
            self.passed or self.is_memorised,
        )

    @property
    def is_memorised(self) -> bool:
        """True if the candidate passed the examples, but recognised their inputs and returned constants."""
        return self.failure is not None and self.failure.kind is FailureKind.MEMORISED

    @property
    def examples_proved(self) -> int:
        """Number of examples passed; 0 if the answers were memorised."""
        return 0 if self.is_memorised else self.examples_passed


@dataclass(frozen=True, slots=True)
class Attempt:
    """A candidate and its verdict from the Code Evaluator."""

    candidate: Candidate
    verdict: Verdict


def further(one: Attempt, other: Attempt) -> Attempt:
    """Return the attempt that got further; `one` on a tie."""
    return other if other.verdict.reach > one.verdict.reach else one


class Status(StrEnum):
    """The status of a request at its end."""

    VERIFIED = "verified"
    PARTIAL = "partial"
    """Some examples passed, but not all."""
    UNVERIFIED = "unverified"
    """No example failed, but the examples do not verify the candidate."""
    FAILED = "failed"
    DENIED = "denied"
    """An example needs something that isolation denies. Only checks have this status."""
    CANCELLED = "cancelled"
    ERROR = "error"
    """The request could not run."""

    @property
    def is_offered(self) -> bool:
        """True if the candidate is offered as an edit. Unverified code is inserted only if the user agrees."""
        return self in (Status.VERIFIED, Status.UNVERIFIED)


RAISES, ENDLESS = "raises ", "does not return"
"""Outputs of statements without a value. `RAISES` begins the output of a statement that raised an exception. `ENDLESS`
is the output of a statement that ended its process or exceeded its time limit.
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """An input for which two versions of a function differ, with the output of each version."""

    call: str
    """The statements of the input. The outputs of the last statement differ."""
    here: str
    there: str


@dataclass(frozen=True, slots=True)
class BehaviourDiff:
    """The result of running two versions of a function on the same inputs."""

    inputs: int
    """Number of inputs that ran the function and whose outputs were compared."""
    differs: tuple[Difference, ...]
    """The differences. Inputs that reach lines which no example reaches come first, then the shortest ones."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of inputs that were not compared, by the reason."""

    def of_values(self) -> BehaviourDiff:
        """Leave out inputs for which a version raises or does not return. The function may not be meant for them."""
        differs = tuple(each for each in self.differs if not any(map(_refuses, (each.here, each.there))))
        refused = len(self.differs) - len(differs)
        left_out = {**self.left_out, "raise or do not return in one version": refused} if refused else self.left_out
        return BehaviourDiff(self.inputs - refused, differs, left_out)

    @property
    def agreed(self) -> int:
        """Number of inputs with the same outputs."""
        return self.inputs - len(self.differs)


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """A comparison of a verified program with a second program for the same docstring."""

    model: str | None
    """The model that wrote the second program."""
    found: BehaviourDiff | None
    """The differences between the verified program (`here`) and the second (`there`). None if nothing was compared."""
    reason: str | None = None
    """One sentence on why the two programs were not compared; None if they were."""
    candidate: Candidate | None = None
    """The second program."""
    trouble: AdaCoderError | None = None
    """The error that ended the request for the second program, as in `Outcome.trouble`."""


def _refuses(output: str) -> bool:
    return output.startswith(RAISES) or output == ENDLESS


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a request: its status, its best candidate, and the evidence for it."""

    status: Status
    target: Target
    reason: str | None = None
    """One sentence on why the candidate is not `verified`."""
    candidate: Candidate | None = None
    verdict: Verdict | None = None
    rounds: int = 0
    edits: tuple[Edit, ...] = ()
    """Edits that put the candidate into `target.text`; empty if the candidate may not be offered."""
    model: str | None = None
    strategy: str | None = None
    steps: tuple[Step, ...] = ()
    seconds: float = 0.0
    """Duration of the request, in seconds."""
    notes: tuple[str, ...] = ()
    """Notes on the request, such as a model that could not be asked."""
    behaviour: BehaviourDiff | None = None
    """Differences between the candidate and the function that was in the text before; None if not compared."""
    cross_check: CrossCheck | None = None
    """The comparison with a second program; None if no comparison was attempted."""
    trouble: AdaCoderError | None = None
    """The error that ended the request, or that stopped a model's replies."""

    @property
    def stands(self) -> bool:
        """True if no example failed and the text already contains the candidate, so that nothing needs to change."""
        return self.status.is_offered and self.verdict is not None and not (self.edits or self.verdict.edits)

    @property
    def passed(self) -> int:
        """Number of examples that passed."""
        return 0 if self.verdict is None else self.verdict.examples_passed

    @property
    def tests(self) -> tuple[int, int]:
        """The number of the project's tests that passed, and the number that count."""
        return (0, 0) if self.verdict is None else self.verdict.tests_score

    @property
    def total(self) -> int:
        """Number of examples that should pass. If nothing ran, these are all examples that show an output."""
        return (self.verdict or Verdict(None)).total(self.target)

    @property
    def skipped(self) -> int:
        """Number of examples that were skipped, by a directive or by the module's code."""
        results = () if self.verdict is None else self.verdict.results
        return sum(example.skipped for example in self.target.examples) + sum(result.skipped for result in results)


class Details:
    """The input and the result of a Step. Module `journal` has a subclass for each action."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One action of an Agent, as recorded in the Journal."""

    agent: str
    """The Agent's name, such as `programming_assistant` or `code_evaluator`."""
    action: str
    """The action's name, such as `write` or `evaluate`."""
    round: int
    """The 1-based round of the request."""
    seconds: float
    tokens: Tokens = Tokens()
    details: Details | None = None
    """The input and the result of the action; None if the step ended before they were known."""
    time: Timing | None = None
    """Times of a model's reply, if the step asked a model."""
    doing: str = ""
    """The action in words, such as "writing the function"."""
    branch: tuple[str, ...] = ()
    """The branches of a search that the step belongs to, outermost first."""
    error: str | None = None
