"""Define the data types of AdaCoder. All are immutable.

Every package uses these types. So this module does no I/O, reads no clock, and does not depend on prompts, strategies
or editors. Offsets count the code points of one text, and the end of a range is exclusive. Line numbers start at 0
unless noted otherwise.
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
"""A JSON value, as in the output of `--json`."""

PAGE = "__doc__"
"""Qualified name of a page of documentation, and of a module's docstring."""


class TargetError(AdaCoderError):
    """The requested function does not exist, has no docstring, or is not in a Python file."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of code points in one text. The end is exclusive."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the part of `text` that this span covers."""
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Edit:
    """Replacement of the code points from `start` to `end` by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Example:
    """An example from a docstring: a statement and its expected output. It is written for doctest, or in prose."""

    source: str
    """The statement, ending in a newline."""
    want: str
    """The expected output, ending in a newline. Empty if no output is expected."""
    line: int
    """0-based line in the module on which the statement begins."""
    flags: int = 0
    """Flags of the options that directives of the example switch on, combined with `|`. See `directives.py`."""
    exception: str | None = None
    """Type and message of the expected exception, such as `"ValueError: no\\n"`, or None."""
    informal: bool = False
    """True if the example comes from prose, such as `f(1) == 2`. Then even the value None is compared."""
    off: int = 0
    """Flags of the options that directives of the example switch off."""
    needs: frozenset[str] = frozenset()
    """Packages that the example needs, such as `numpy` or `numpy>=2.0`. Without them, the example is skipped."""
    problem: str = ""
    """The problem with a directive, such as `has the unknown option '+X': remove it`. Empty if there is none."""
    is_block: bool = False
    """True if the source comes from a directive such as `.. testcode::`. Only its printed output is compared."""
    above: int = 0
    """Number of lines in notebook cells above the example's cell."""

    @property
    def number(self) -> int:
        """1-based line number for the user. In a notebook, it counts within the cell."""
        return self.line - self.above + 1

    @property
    def form(self) -> str:
        """Kind of comparison for `worker.py`: `value`, `block`, or empty for the rules of doctest."""
        return "value" if self.informal else "block" if self.is_block else ""

    @property
    def prompted(self) -> str:
        """The statement with `>>>` and `...` prompts."""
        first, *rest = self.source.rstrip("\n").split("\n")
        return "\n".join([f">>> {first}", *(f"... {line}".rstrip() for line in rest)])

    @property
    def skipped(self) -> bool:
        """True if `# doctest: +SKIP` excludes the example."""
        import doctest  # slow to import, and not needed to answer `initialize`

        return bool(self.flags & doctest.SKIP)

    @property
    def has_want(self) -> bool:
        """True if the example can verify a candidate.

        It must show an output, and no directive may skip the example or ignore its output.
        """
        from adacoder.directives import IGNORE_OUTPUT  # this imports doctest, which is slow

        return bool(self.want) and not self.skipped and not self.flags & IGNORE_OUTPUT


@dataclass(frozen=True, slots=True)
class Module:
    """Path and import name of a file in the user's project."""

    path: Path
    """The file, as an absolute path."""
    name: str
    """The dotted name of the module, such as `pkg.sub.mod`. The name of `pkg/__init__.py` is `pkg`."""
    root: Path
    """The directory on `sys.path` from which `name` is imported."""
    top: Path | None = field(default=None, compare=False)
    """The workspace folder. The project's settings are not searched above it."""
    cells: tuple[int, ...] = ()
    """Lines at which the cells of a notebook begin. Empty for a file.

    The target is in the last cell, and only this cell may be edited.
    """

    @property
    def first_line(self) -> int:
        """Line of the module at which the user's document begins. It is 0 except in a notebook."""
        return self.cells[-1] if self.cells else 0

    def where(self, line: int) -> str:
        """Describe a 1-based line of the module for the user, such as `line 3 of code cell 2`."""
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
    """The function to write, with its position in the module, its signature, docstring and examples."""

    module: Module
    text: str
    """The whole text of the module, with its original line ends."""
    qualname: str
    """The qualified name, such as `Class.method`. It is `__qualname__` without `<locals>`."""
    definition: Span
    """The whole function, with its decorators."""
    header: Span
    """The text from `def` or `async def` up to and including the colon."""
    docstring_span: Span
    """The docstring in the source, with its quotes. It may consist of several string literals in brackets."""
    docstring: str
    """The text of the docstring, as returned by `inspect.cleandoc`."""
    body: Span
    """The text that a new body replaces. It begins after the docstring and a comment behind the docstring."""
    indent: str
    """The white space before `def`."""
    examples: tuple[Example, ...]
    is_stub: bool
    """True if the body is empty: it has only `pass`, `...`, `raise NotImplementedError` or comments."""
    in_class: bool = False
    """True if the function is directly in a class body, such as a method or a property."""
    is_function: bool = True
    """False for a class, a module or a page, whose docstring can be checked."""
    of_class: tuple[Example, ...] = ()
    """Examples of the enclosing class. They count only if a run shows that they call this function."""

    @property
    def name(self) -> str:
        """Name of the function without its class. For a page or a module's docstring, the name of the file."""
        return self.module.path.name if self.qualname == PAGE else self.qualname.rpartition(".")[2]

    @property
    def source(self) -> str:
        """The text of the whole function, with its decorators."""
        return self.definition.of(self.text)

    @property
    def signature(self) -> str:
        """The text from `def` to the colon."""
        return self.header.of(self.text)

    @property
    def has_wants(self) -> bool:
        """True if an example can verify a candidate."""
        return any(example.has_want for example in self.examples)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version of the target function, with the imports and definitions that it needs.

    It may have syntax errors. Its code is not indented, its line ends are `\\n`, and no field ends in a newline.
    """

    function: str
    """The function with its decorators. Empty if the reply has no function."""
    imports: tuple[str, ...] = ()
    """Import statements, one in each string."""
    definitions: tuple[str, ...] = ()
    """Helper functions, classes and constants at module level, one statement in each string."""
    cut: bool = False
    """True if the reply broke off or left parts out. Such a candidate is never inserted as it is."""
    decorators: tuple[str, ...] = ()
    """Decorators of `function` to insert above the target.

    The target keeps its own decorators, and others are dropped.
    """
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Sentences for the user about the reply, such as which parts were left out."""
    others: tuple[Candidate, ...] = field(default=(), compare=False)
    """Other versions from the same reply, to try in this order if this version fails."""

    @property
    def text(self) -> str:
        """The candidate as the text of a small module."""
        parts = ["\n".join(self.imports), *self.definitions, self.function]
        return "\n\n".join(part for part in parts if part) + "\n"


class Ended(StrEnum):
    """Reasons for the end of a model's reply."""

    STOP = "stop"
    LENGTH = "length"
    STOPPED_EARLY = "stopped_early"
    """AdaCoder closed the stream because the code was complete."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Numbers of tokens: `prompt` were read by the model, and `completion` were written."""

    prompt: int = 0
    completion: int = 0
    estimated: bool = False
    """True if a number is an estimate. A stream that is closed early has no exact numbers."""
    cached: int = 0
    """Number of tokens of the prompt that were in the server's cache.

    For Ollama, a cautious estimate from the time for reading the prompt: never too high.
    """

    def __add__(self, other: Tokens) -> Tokens:
        prompt, completion = self.prompt + other.prompt, self.completion + other.completion
        return Tokens(prompt, completion, self.estimated or other.estimated, self.cached + other.cached)


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of a reply, in seconds."""

    queue: float = 0.0
    """Seconds of waiting for other requests, which may come from other programs."""
    load: float = 0.0
    prompt: float = 0.0
    """Seconds for reading the prompt. If the server does not report this, all seconds before the first token."""
    generation: float = 0.0
    """Seconds for writing the reply."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: str
    """`system`, `user` or `assistant`."""
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a model, before anything is extracted from it."""

    text: str
    tokens: Tokens = Tokens()
    ended: Ended = Ended.STOP
    time: Timing | None = None
    """The times, or None if they were not measured, as in a recorded conversation."""


class Level(StrEnum):
    """Levels of isolation for code that runs, the strongest first."""

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
    """The isolation of a process that ran code."""

    level: Level
    by: tuple[str, ...] = ()
    """The mechanisms that were used, such as `bubblewrap` and `rlimits`."""


class FailureKind(StrEnum):
    """Kinds of failure of a candidate. The values are part of `--json`."""

    CUT_OFF = "cut_off"
    """The reply broke off, or left parts of the function out."""
    SYNTAX_ERROR = "syntax_error"
    """The user's interpreter cannot parse the code."""
    NO_FUNCTION = "no_function"
    """The reply does not contain the function."""
    UNDEFINED_NAME = "undefined_name"
    """The code uses a name that is not defined in the module."""
    IMPORT_ERROR = "import_error"
    """The import of the module with the candidate raised an exception."""
    WRONG_OUTPUT = "wrong_output"
    """An example gave another output than the docstring shows."""
    EXCEPTION = "exception"
    """An example raised an exception that the docstring does not show."""
    BROKEN_EXAMPLE = "broken_example"
    """The example itself is wrong, so every candidate fails it."""
    BROKEN_MODULE = "broken_module"
    """The module cannot be imported, whatever the candidate."""
    TIMED_OUT = "timed_out"
    """The examples took longer than the setting `timeout`."""
    OUT_OF_MEMORY = "out_of_memory"
    """The code needed more memory than the sandbox allows."""
    KILLED = "killed"
    """The process ended before all examples had run."""
    DENIED = "denied"
    """The code needs processes, network access or files that isolation denies."""
    MEMORISED = "memorised"
    """The candidate passed the examples, but returns most of their outputs as constants."""
    TEST_FAILED = "test_failed"
    """The candidate passed the examples, but a test of the project fails."""
    PROTOCOL = "protocol"
    """The process that ran the examples sent malformed messages. Only hostile or badly broken code does that."""


UNPARSED = frozenset({FailureKind.SYNTAX_ERROR, FailureKind.BROKEN_MODULE})
"""Kinds of failure for a file that does not parse. `BROKEN_MODULE` also has other causes."""
_OUTSIDE_THE_CANDIDATE = frozenset({FailureKind.BROKEN_EXAMPLE, FailureKind.BROKEN_MODULE})


@dataclass(frozen=True, slots=True)
class Failure:
    """The failure of a candidate, with the first failed example or test."""

    kind: FailureKind
    message: str
    """A sentence for the user."""
    example: Example | None = None
    got: str | None = None
    """The actual output. The expected output is `example.want`."""
    error: str | None = None
    """The exception, as `Type: message`."""
    line: int | None = None
    """1-based line in the candidate's function that raised the exception. None if it was raised elsewhere."""
    test: ProjectTest | None = None
    """The first failed test of the project, if any."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Lines and branches that were executed in the target's code.

    Line numbers are 1-based, and count in the module with the candidate inserted.
    """

    lines: frozenset[int] = frozenset()
    branches: frozenset[tuple[int, int]] = frozenset()
    """Jumps from the line of a condition to another line. Empty if the interpreter does not report branches."""


NOTHING = Reached()


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of code. `number` is its 1-based line in the file with the candidate inserted."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of a new function: its code lines, and the lines and branches that no example reached.

    With `by_tests`, the project's tests ran too, and did not reach them either.
    """

    lines: tuple[int, ...]
    unreached: tuple[SourceLine, ...] = ()
    branches: tuple[tuple[SourceLine, bool], ...] = ()
    """Conditions that had only one result, each with the result that never occurred.

    A condition is left out if an unreached line already shows this. Empty if the interpreter does not report branches.
    """
    by_tests: bool = False


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """The result of one example."""

    example: Example
    matched: bool
    got: str = ""
    error: str | None = None
    entered: bool = False
    """True if the example was observed to run the target's code, or to use the result of an example that did."""
    ran: str = ""
    """A hint that the example called other code than the target, such as "`b.f` is `a.c.f`".

    In the form "`f` is a …", the other code may be a compiled form of the target.
    """
    counts: bool = True
    """False if the example need not match, for example because it ran only other code than the target."""
    reached: Reached = NOTHING
    """Code of the target that the example reached, if requested."""
    skipped: bool = False
    """True if the module's code skipped the example, as `pytest.importorskip` does. It then does not count."""
    hint: str = ""
    """A sentence that explains why the example did not match. Empty if the outputs already show this."""


class ProjectTestStatus(StrEnum):
    """The result of a test of the project. The values are part of `--json`."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """The test was skipped, or is expected to fail."""
    NEEDS = "needs"
    """The test needs something that isolation denies."""
    FAILED_BEFORE = "failed_before"
    """The test fails in the same way with other bodies, so the candidate is not the cause."""
    UNTRUSTED = "untrusted"
    """The test passed, but the candidate's code could have faked the result."""
    UNSTABLE = "unstable"
    """The test failed once, and then passed with the same code."""


@dataclass(frozen=True, slots=True)
class ProjectTest:
    """The result of a test of the project. All parameter sets of a parametrised test count as one test."""

    name: str
    """The name in pytest, such as `tests/test_a.py::test_b`, without parameters."""
    status: ProjectTestStatus
    seconds: float = 0.0
    entered: bool | None = True
    """True if the test was observed to run the target's code. None if this is unknown."""
    error: str = ""
    """The exception of a failed test, as `Type: message`."""
    explanation: str = ""
    """Pytest's description of the failure."""
    source: str = ""
    """The source code of a failed test."""
    ran: frozenset[tuple[str, int]] = frozenset()
    """Functions of the project that the test ran, as (file, 1-based first line), if requested."""
    cases: int = 1
    """Number of parameter sets that ran or were skipped. 1 for a test without parameters."""
    skipped: int = 0
    """Number of parameter sets that were skipped, or are expected to fail."""

    @property
    def proves(self) -> bool:
        """True if the test ran the target and passed."""
        return self.status is ProjectTestStatus.PASSED and self.entered is True


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of evaluating a candidate: its first failure, if any, and how far it got."""

    failure: Failure | None
    parses: bool = False
    defines: bool = False
    """True if the module with the candidate defines the target."""
    undefined: tuple[str, ...] = ()
    """Names that the candidate uses and nothing defines."""
    imports: bool = False
    """True if the module with the candidate could be imported."""
    results: tuple[ExampleResult, ...] = ()
    """Results of the examples that ran, in order. Examples that a directive skips are not included."""
    isolation: Isolation | None = None
    """The isolation of the run. None if no code had to run."""
    notes: tuple[str, ...] = ()
    """Sentences for the user, such as which statement of the module had to be left out."""
    reachable: Reached = NOTHING
    """All lines and branches of the target's code, if requested."""
    coverage: Coverage | None = None
    """Coverage of a candidate that passed. None if it was not requested or is not available."""
    edits: tuple[Edit, ...] = ()
    """Edits that insert the candidate into the text in which it was evaluated."""
    tests: tuple[ProjectTest, ...] = ()
    """Results of the project's tests of the target. Empty if the examples failed."""
    tests_reached: Reached = NOTHING
    """Code of the target that the project's tests reached, if requested."""
    files: frozenset[str] = frozenset()
    """Files of the project that its tests read, if requested."""

    @property
    def passed(self) -> bool:
        """True if nothing failed. This alone does not verify the candidate. See `conclusion`."""
        return self.failure is None

    @property
    def final(self) -> bool:
        """True if no other candidate can do better, because this one passed or is not the cause of the failure."""
        return self.failure is None or self.failure.kind in _OUTSIDE_THE_CANDIDATE

    @property
    def examples_passed(self) -> int:
        """Number of passed examples. It includes only examples that count and show an output."""
        return sum(result.matched for result in self._counting)

    @property
    def is_proved(self) -> bool:
        """True if a test of the project, or an example that shows an output, ran the target and passed."""
        return any(result.matched for result in self.proving) or self.tests_passed > 0

    @property
    def tests_passed(self) -> int:
        """Number of tests of the project that ran the target and passed."""
        return sum(test.proves for test in self.tests)

    @property
    def tests_total(self) -> int:
        """Number of the project's tests that count: they ran the target and passed, or they failed."""
        return self.tests_passed + sum(test.status is ProjectTestStatus.FAILED for test in self.tests)

    @property
    def proving(self) -> list[ExampleResult]:
        """Results of the examples that show an output and ran the target."""
        return [result for result in self._counting if result.entered]

    @property
    def _counting(self) -> list[ExampleResult]:
        return [result for result in self.results if result.counts and result.example.has_want]

    @property
    def tests_score(self) -> tuple[int, int]:
        """Numbers of the project's tests: how many passed, and how many count."""
        return self.tests_passed, self.tests_total

    def answers(self, examples: Sequence[Example]) -> bool:
        """Return whether every example has a result, apart from examples that a directive skips."""
        return len(self.results) >= sum(not example.skipped for example in examples)

    def total(self, target: Target) -> int:
        """Return the number of examples of `target` that show an output and count."""
        not_counting = sum(not result.counts and result.example.has_want for result in self.results)
        return sum(example.has_want for example in target.examples) - not_counting

    @property
    def reach(self) -> tuple[bool, bool, int, bool, int, int, bool]:
        """Rank of the candidate. The candidate that got further has the greater rank.

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
        """True if the candidate recognises the inputs of the examples and returns constants."""
        return self.failure is not None and self.failure.kind is FailureKind.MEMORISED

    @property
    def examples_proved(self) -> int:
        """Number of passed examples. 0 if the answers were memorised."""
        return 0 if self.is_memorised else self.examples_passed


@dataclass(frozen=True, slots=True)
class Attempt:
    """A candidate and its verdict."""

    candidate: Candidate
    verdict: Verdict


def further(one: Attempt, other: Attempt) -> Attempt:
    """Return the attempt that got further, or `one` if they got equally far."""
    return other if other.verdict.reach > one.verdict.reach else one


class Status(StrEnum):
    """The result of a request in one word."""

    VERIFIED = "verified"
    PARTIAL = "partial"
    """Some examples passed, but not all."""
    UNVERIFIED = "unverified"
    """No example failed, but the examples do not prove the candidate."""
    FAILED = "failed"
    DENIED = "denied"
    """An example needs something that isolation denies. Only a check can have this status."""
    CANCELLED = "cancelled"
    ERROR = "error"
    """The request could not run."""

    @property
    def is_offered(self) -> bool:
        """True if the candidate can be inserted. If it is unverified, the user must agree first."""
        return self in (Status.VERIFIED, Status.UNVERIFIED)


RAISES, ENDLESS = "raises ", "does not return"
"""Outputs of statements that have no value.

The output of a statement that raised an exception begins with `RAISES`. A statement that ended its process or exceeded
its time limit has the output `ENDLESS`.
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """An input for which two versions of a function have different outputs."""

    call: str
    """Statements that call the function. The output of the last statement differs."""
    here: str
    there: str


@dataclass(frozen=True, slots=True)
class BehaviourDiff:
    """The result of running two versions of a function on the same inputs."""

    inputs: int
    """Number of inputs for which both versions ran and their outputs were compared."""
    differs: tuple[Difference, ...]
    """The differences. First come inputs that reach lines that no example reaches, then the shortest inputs."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Reasons why inputs were not compared, with the number of inputs."""

    def of_values(self) -> BehaviourDiff:
        """Leave out inputs for which a version raises or does not return.

        They may not be valid inputs of the function.
        """
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
    """The comparison of a verified program with a second program for the same docstring."""

    model: str | None
    """The model that wrote the second program."""
    found: BehaviourDiff | None
    """The result, in which the second program is `there`. None if nothing was compared."""
    reason: str | None = None
    """A sentence on why nothing was compared. None if the programs were compared."""
    candidate: Candidate | None = None
    """The second program."""
    trouble: AdaCoderError | None = None
    """The error that ended the request for the second program."""


def _refuses(output: str) -> bool:
    return output.startswith(RAISES) or output == ENDLESS


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a request: its status, its best candidate, and the evidence for it."""

    status: Status
    target: Target
    reason: str | None = None
    """A sentence on why the candidate is not `verified`."""
    candidate: Candidate | None = None
    verdict: Verdict | None = None
    rounds: int = 0
    edits: tuple[Edit, ...] = ()
    """Edits that insert the candidate into `target.text`. Empty if it cannot be inserted."""
    model: str | None = None
    strategy: str | None = None
    steps: tuple[Step, ...] = ()
    seconds: float = 0.0
    """Duration of the request, in seconds."""
    notes: tuple[str, ...] = ()
    """Sentences for the user about the request, such as which model could not be asked."""
    behaviour: BehaviourDiff | None = None
    """The differences from the previous function. None if they were not compared."""
    cross_check: CrossCheck | None = None
    """The comparison with a second program, or None."""
    trouble: AdaCoderError | None = None
    """The error that ended the request, or that made a model stop replying."""

    @property
    def stands(self) -> bool:
        """True if the text already contains the candidate and no example failed, so nothing needs to change."""
        return self.status.is_offered and self.verdict is not None and not (self.edits or self.verdict.edits)

    @property
    def passed(self) -> int:
        """Number of examples that passed."""
        return 0 if self.verdict is None else self.verdict.examples_passed

    @property
    def tests(self) -> tuple[int, int]:
        """Numbers of the project's tests: how many passed, and how many count."""
        return (0, 0) if self.verdict is None else self.verdict.tests_score

    @property
    def total(self) -> int:
        """Number of examples that should pass. If nothing ran, all examples that show an output."""
        return (self.verdict or Verdict(None)).total(self.target)

    @property
    def skipped(self) -> int:
        """Number of examples that a directive or the module's code skipped."""
        results = () if self.verdict is None else self.verdict.results
        return sum(example.skipped for example in self.target.examples) + sum(result.skipped for result in results)


class Details:
    """Data about a Step. The module `journal` has a subclass for each kind of action."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A recorded action of an Agent."""

    agent: str
    """Name of the Agent, such as `programming_assistant` or `code_evaluator`."""
    action: str
    """Name of the action, such as `write` or `evaluate`."""
    round: int
    """The round of the request, counted from 1."""
    seconds: float
    tokens: Tokens = Tokens()
    details: Details | None = None
    """Data about the action. None if the step ended before they were known."""
    time: Timing | None = None
    """Times of the model's reply, if a model was asked."""
    doing: str = ""
    """The action in words, such as `writing the function`."""
    branch: tuple[str, ...] = ()
    """Branches of the search to which the step belongs, the outermost first."""
    error: str | None = None
