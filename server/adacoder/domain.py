"""Define the data types of AdaCoder. All types are immutable.

Every package uses these types, so this module does no I/O and depends on no other package.

Offsets count the code points of a text, and the end of a range is exclusive. Line numbers start at 0 unless noted
otherwise.
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
    """An example from a docstring: a statement and its expected output.

    The example is written for doctest, or in prose such as `f(1) == 2`.
    """

    source: str
    """The statement, ending in a newline."""
    want: str
    """The expected output, ending in a newline. Empty if no output is expected."""
    line: int
    """0-based line in the module on which the statement begins."""
    flags: int = 0
    """Flags of the options that the example's directives switch on, combined with `|`. See `directives.py`."""
    exception: str | None = None
    """Type and message of the expected exception, such as `"ValueError: no\\n"`, or None."""
    informal: bool = False
    """True if the example comes from prose, such as `f(1) == 2`. Then its value is compared even if it is None."""
    off: int = 0
    """Flags of the options that the example's directives switch off."""
    needs: frozenset[str] = frozenset()
    """Packages that the example needs, such as `numpy` or `numpy>=2.0`. If one is missing, the example is skipped."""
    problem: str = ""
    """Error in a directive, such as `has the unknown option '+X': remove it`. Empty without an error."""
    is_block: bool = False
    """True if the example is a block such as `.. testcode::`. Only its printed output is compared."""
    above: int = 0
    """Number of lines in the notebook cells above the example's cell."""
    group: str = "default"
    """The Sphinx group. Examples of different groups do not share names."""

    @property
    def number(self) -> int:
        """1-based line number as shown to the user. In a notebook, the number counts within the cell."""
        return self.line - self.above + 1

    @property
    def form(self) -> str:
        """Way of comparison for `worker.py`: `value`, `block`, or empty for the rules of doctest."""
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

        The example must show an output. No directive may skip the example or ignore the output.
        """
        from adacoder.directives import IGNORE_OUTPUT  # this imports doctest, which is slow

        return bool(self.want) and not self.skipped and not self.flags & IGNORE_OUTPUT


@dataclass(frozen=True, slots=True)
class Module:
    """Path and import name of a Python file in the user's project."""

    path: Path
    """The file, as an absolute path."""
    name: str
    """The dotted name of the module, such as `pkg.sub.mod`. The name of `pkg/__init__.py` is `pkg`."""
    root: Path
    """The entry of `sys.path` from which the module is imported."""
    top: Path | None = field(default=None, compare=False)
    """The workspace folder. Settings of the project are not searched above this folder."""
    cells: tuple[int, ...] = ()
    """First lines of the cells in a notebook. Empty for a file.

    The target is in the last cell. Only this cell may be edited.
    """

    @property
    def first_line(self) -> int:
        """Line of the module at which the document begins. This is 0 except in a notebook."""
        return self.cells[-1] if self.cells else 0

    def where(self, line: int) -> str:
        """Describe a 1-based line of the module to the user, such as `line 3 of code cell 2`."""
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
    """The function to write: its position in the module, its signature, docstring and examples."""

    module: Module
    text: str
    """The whole text of the module, with its original line ends."""
    qualname: str
    """The qualified name, such as `Class.method`. Unlike `__qualname__`, it has no `<locals>`."""
    definition: Span
    """Position of the whole function, with its decorators."""
    header: Span
    """Position of the text from `def` or `async def` up to and including the colon."""
    docstring_span: Span
    """Position of the docstring, with its quotes. Without a docstring, an empty span at the end of the header."""
    docstring: str
    """The text of the docstring, as returned by `inspect.cleandoc`."""
    body: Span
    """Position of the text that a new body replaces. A comment behind the docstring is not replaced."""
    indent: str
    """The white space before `def`."""
    examples: tuple[Example, ...]
    is_stub: bool
    """True if the body is empty: it has only `pass`, `...`, `raise NotImplementedError` or comments."""
    in_class: bool = False
    """True if the function is directly in a class body, such as a method or a property."""
    is_function: bool = True
    """True for a function. False for a class, a module or a page, which are only checked."""
    setup: tuple[str, ...] = ()
    """Statements that run before the examples of each Sphinx group."""
    of_class: tuple[Example, ...] = ()
    """Examples of the enclosing class. An example counts only if a run shows that it calls this function."""

    @property
    def name(self) -> str:
        """Name of the function without its class. For a page or a module's docstring, this is the name of the file."""
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
    def is_documented(self) -> bool:
        """False for a function without a docstring, which only tests can describe."""
        return self.docstring_span.start < self.docstring_span.end

    @property
    def has_wants(self) -> bool:
        """True if an example can verify a candidate."""
        return any(example.has_want for example in self.examples)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version of the target function, with the imports and definitions that it needs.

    The code may have syntax errors. It is not indented, and its line ends are `\\n`.
    """

    function: str
    """The function with its decorators. Empty if the reply has no function."""
    imports: tuple[str, ...] = ()
    """Import statements, one in each string."""
    definitions: tuple[str, ...] = ()
    """Functions, classes and constants that the function needs, one statement in each string."""
    cut: bool = False
    """True if the model's reply broke off or left parts out. Such a candidate is never inserted unchanged."""
    decorators: tuple[str, ...] = ()
    """Decorators that are inserted above the target, in addition to the target's own decorators."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Sentences for the user about the model's reply, such as which parts were left out."""
    others: tuple[Candidate, ...] = field(default=(), compare=False)
    """Other versions from the same reply. They are tried in order if this version fails."""

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
    """AdaCoder stopped the reply, because the code was complete."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Numbers of tokens: `prompt` were read by the model, and `completion` were written."""

    prompt: int = 0
    completion: int = 0
    estimated: bool = False
    """True if the numbers are estimated. After AdaCoder stopped a reply, there are no exact numbers."""
    cached: int = 0
    """Number of tokens of the prompt that the model server had cached.

    For Ollama, this is estimated from the time for reading the prompt. The estimate is never too high.
    """

    def __add__(self, other: Tokens) -> Tokens:
        prompt, completion = self.prompt + other.prompt, self.completion + other.completion
        return Tokens(prompt, completion, self.estimated or other.estimated, self.cached + other.cached)


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of a reply, in seconds."""

    queue: float = 0.0
    """Seconds until the model server began, because it was busy with other requests."""
    load: float = 0.0
    prompt: float = 0.0
    """Seconds for reading the prompt. If they are not reported, the seconds before the first token."""
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
    """The reply of a model, as the model wrote it."""

    text: str
    tokens: Tokens = Tokens()
    ended: Ended = Ended.STOP
    time: Timing | None = None
    """The times of the reply. None if they were not measured, as in a recorded conversation."""


class Level(StrEnum):
    """Levels of isolation for a process that runs code, the strongest first."""

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
    """The mechanisms of isolation, such as `bubblewrap` and `rlimits`."""


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
    """An example raised an exception that the docstring does not expect."""
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
    """The candidate passed the examples, but returns most outputs as constants."""
    TEST_FAILED = "test_failed"
    """The candidate passed the examples, but a test of the project fails."""
    PROTOCOL = "protocol"
    """The process that ran the examples sent malformed messages. This can be an attack."""


UNPARSED = frozenset({FailureKind.SYNTAX_ERROR, FailureKind.BROKEN_MODULE})
"""Kinds of failure of a file that does not parse. `BROKEN_MODULE` also has other causes."""
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
    """1-based line of the candidate's function that raised the exception. None if other code raised it."""
    test: ProjectTest | None = None
    """The first failed test of the project, or None."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Lines and branches of the target's code that were executed.

    Line numbers are 1-based lines of the module with the candidate inserted.
    """

    lines: frozenset[int] = frozenset()
    branches: frozenset[tuple[int, int]] = frozenset()
    """Jumps from the line of a condition to another line. Empty if the interpreter does not report them."""


NOTHING = Reached()


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of code. `number` is the 1-based line in the file with the candidate inserted."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of a function: its code lines, and the lines and branches that no example reached.

    With `by_tests`, the project's tests did not reach these lines and branches either.
    """

    lines: tuple[int, ...]
    unreached: tuple[SourceLine, ...] = ()
    branches: tuple[tuple[SourceLine, bool], ...] = ()
    """Conditions that were always true or always false, each with the result that never occurred.

    A condition is left out if an unreached line already shows this.
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
    """True if a run showed that the example runs the target, or uses the result of an example that does."""
    ran: str = ""
    """The code that the example called instead of the target, such as "`b.f` is `a.c.f`".

    In the form "`f` is a …", the code may be a compiled form of the target.
    """
    counts: bool = True
    """False if the example may fail, for example because it only runs other code than the target."""
    reached: Reached = NOTHING
    """Code of the target that the example reached. Empty if this was not requested."""
    skipped: bool = False
    """True if code in the module skipped the example, as `pytest.importorskip` does. Such an example does not count."""
    hint: str = ""
    """A sentence that explains why the example failed. Empty if the outputs already show the reason."""


class ProjectTestStatus(StrEnum):
    """The result of a test of the project. The values are part of `--json`."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """The test was skipped, or is expected to fail."""
    NEEDS = "needs"
    """The test needs something that isolation denies."""
    FAILED_BEFORE = "failed_before"
    """The test fails in the same way with other function bodies, so the candidate is not the cause."""
    UNTRUSTED = "untrusted"
    """The test passed, but the candidate's code could have faked the result."""
    UNSTABLE = "unstable"
    """The test failed once, and then passed without a change of the code."""


@dataclass(frozen=True, slots=True)
class ProjectTest:
    """The result of a test of the project. A test with several parameter sets counts as one test."""

    name: str
    """The name of the test in pytest, without parameters, such as `tests/test_a.py::test_b`."""
    status: ProjectTestStatus
    seconds: float = 0.0
    entered: bool | None = True
    """True if a run showed that the test runs the target. None if this is unknown."""
    error: str = ""
    """The exception of a failed test, as `Type: message`."""
    explanation: str = ""
    """Pytest's description of the failure."""
    source: str = ""
    """The source code of a failed test."""
    ran: frozenset[tuple[str, int]] = frozenset()
    """Functions of the project that the test ran, as (file, 1-based first line). Empty if this was not requested."""
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
    """The result of evaluating a candidate."""

    failure: Failure | None
    parses: bool = False
    defines: bool = False
    """True if the module defines the target after the candidate was inserted."""
    undefined: tuple[str, ...] = ()
    """Names that the candidate uses, but nothing defines."""
    imports: bool = False
    """True if the module could be imported after the candidate was inserted."""
    results: tuple[ExampleResult, ...] = ()
    """Results of the examples that ran, in order. Examples that a directive skips are not included."""
    isolation: Isolation | None = None
    """The isolation of the process that ran the code. None if no code was run."""
    notes: tuple[str, ...] = ()
    """Sentences for the user, such as which statement of the module was left out."""
    reachable: Reached = NOTHING
    """All lines and branches of the target's code. Empty if they were not requested."""
    coverage: Coverage | None = None
    """Coverage of a candidate that passed, or None."""
    edits: tuple[Edit, ...] = ()
    """Edits that insert the candidate into the text in which it was evaluated."""
    tests: tuple[ProjectTest, ...] = ()
    """Results of the project's tests that concern the target. Empty if the examples failed."""
    tests_reached: Reached = NOTHING
    """Code of the target that the project's tests reached. Empty if this was not requested."""
    files: frozenset[str] = frozenset()
    """Files of the project that its tests read. Empty if this was not requested."""

    @property
    def passed(self) -> bool:
        """True if nothing failed. This is not enough to verify the candidate. See `conclusion`."""
        return self.failure is None

    @property
    def final(self) -> bool:
        """True if no other candidate can do better.

        This candidate passed, or the failure has another cause than the candidate.
        """
        return self.failure is None or self.failure.kind in _OUTSIDE_THE_CANDIDATE

    @property
    def examples_passed(self) -> int:
        """Number of passed examples that count and show an output."""
        return sum(result.matched for result in self._counting)

    @property
    def is_proved(self) -> bool:
        """True if an example that shows an output, or a test of the project, ran the target and passed."""
        return any(result.matched for result in self.proving) or self.tests_passed > 0

    @property
    def tests_passed(self) -> int:
        """Number of the project's tests that ran the target and passed."""
        return sum(test.proves for test in self.tests)

    @property
    def tests_total(self) -> int:
        """Number of the project's tests that count.

        A passed test counts if it ran the target. A failed test always counts.
        """
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
        """The project's tests as two numbers: how many passed, and how many count."""
        return self.tests_passed, self.tests_total

    def answers(self, examples: Sequence[Example]) -> bool:
        """Return whether every example has a result. Examples that a directive skips need none."""
        return len(self.results) >= sum(not example.skipped for example in examples)

    def total(self, target: Target) -> int:
        """Return the number of examples of `target` that show an output and count."""
        not_counting = sum(not result.counts and result.example.has_want for result in self.results)
        return sum(example.has_want for example in target.examples) - not_counting

    @property
    def reach(self) -> tuple[bool, bool, int, bool, int, int, bool]:
        """Rank of the candidate. A greater rank is better.

        A memorised candidate ranks above candidates that pass no example, and below candidates that pass one.
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
        """True if the candidate only recognises the inputs of the examples and returns constants."""
        return self.failure is not None and self.failure.kind is FailureKind.MEMORISED

    @property
    def examples_proved(self) -> int:
        """Number of passed examples. 0 for a memorised candidate."""
        return 0 if self.is_memorised else self.examples_passed


@dataclass(frozen=True, slots=True)
class Attempt:
    """A candidate and its verdict."""

    candidate: Candidate
    verdict: Verdict


def further(one: Attempt, other: Attempt) -> Attempt:
    """Return the attempt with the higher rank. If both have the same rank, return `one`."""
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
    """An example needs something that isolation denies. Only checks have this status."""
    CANCELLED = "cancelled"
    ERROR = "error"
    """The request could not run."""

    @property
    def is_offered(self) -> bool:
        """True if the candidate can be inserted. The user must first agree to an unverified candidate."""
        return self in (Status.VERIFIED, Status.UNVERIFIED)


RAISES, ENDLESS = "raises ", "does not return"
"""Outputs of statements that return no value.

If a statement raised an exception, its output begins with `RAISES`. If a statement ended its process or exceeded the
time limit, its output is `ENDLESS`.
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """A call for which two versions of a function have different outputs."""

    call: str
    """Statements that call the function. The outputs of the last statement differ."""
    here: str
    there: str


@dataclass(frozen=True, slots=True)
class BehaviourDiff:
    """The result of running two versions of a function on the same inputs."""

    inputs: int
    """Number of inputs on which both versions ran."""
    differs: tuple[Difference, ...]
    """The differences. Inputs that reach lines that no example reaches come first, then the shortest inputs."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Numbers of inputs that were not compared. The keys are the reasons."""

    def of_values(self) -> BehaviourDiff:
        """Leave out inputs for which a version raises an exception or does not return.

        The function may not be meant for such inputs.
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
    """The result of the comparison. `there` is the output of the second program. None if nothing was compared."""
    reason: str | None = None
    """A sentence that says why nothing was compared, or None."""
    candidate: Candidate | None = None
    """The second program."""
    trouble: AdaCoderError | None = None
    """The error that ended the request for the second program, or None."""


def _refuses(output: str) -> bool:
    return output.startswith(RAISES) or output == ENDLESS


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a request: its status, its best candidate, and the evidence for it."""

    status: Status
    target: Target
    reason: str | None = None
    """A sentence that says why the candidate is not `verified`, or None."""
    candidate: Candidate | None = None
    verdict: Verdict | None = None
    rounds: int = 0
    edits: tuple[Edit, ...] = ()
    """Edits that insert the candidate into `target.text`. Empty if the candidate cannot be inserted."""
    model: str | None = None
    strategy: str | None = None
    steps: tuple[Step, ...] = ()
    seconds: float = 0.0
    """Duration of the request, in seconds."""
    notes: tuple[str, ...] = ()
    """Sentences for the user about the request, such as which model could not be asked."""
    behaviour: BehaviourDiff | None = None
    """The comparison with the previous version of the function, or None."""
    cross_check: CrossCheck | None = None
    """The comparison with a second program, or None."""
    trouble: AdaCoderError | None = None
    """The error that ended the request, or that made a model stop replying."""

    @property
    def stands(self) -> bool:
        """True if the text already contains the candidate, and no example failed. Then nothing needs to change."""
        return self.status.is_offered and self.verdict is not None and not (self.edits or self.verdict.edits)

    @property
    def passed(self) -> int:
        """Number of examples that passed."""
        return 0 if self.verdict is None else self.verdict.examples_passed

    @property
    def tests(self) -> tuple[int, int]:
        """The project's tests as two numbers: how many passed, and how many count."""
        return (0, 0) if self.verdict is None else self.verdict.tests_score

    @property
    def total(self) -> int:
        """Number of examples that should pass. If nothing ran, the number of examples that show an output."""
        return (self.verdict or Verdict(None)).total(self.target)

    @property
    def skipped(self) -> int:
        """Number of examples that a directive or the module's code skipped."""
        results = () if self.verdict is None else self.verdict.results
        return sum(example.skipped for example in self.target.examples) + sum(result.skipped for result in results)


class Details:
    """Base class for the data of a Step. The module `journal` has a subclass for each kind of action."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A recorded action of an Agent, such as a question to a model."""

    agent: str
    """Name of the Agent, such as `programming_assistant` or `code_evaluator`."""
    action: str
    """Name of the action, such as `write` or `evaluate`."""
    round: int
    """The round of the request, counted from 1."""
    seconds: float
    tokens: Tokens = Tokens()
    details: Details | None = None
    """Data about the action. None if the step ended early."""
    time: Timing | None = None
    """Times of the model's reply. None if no model was asked."""
    doing: str = ""
    """The action in words, such as `writing the function`."""
    branch: tuple[str, ...] = ()
    """Branches of the search to which the step belongs, the outermost first."""
    error: str | None = None
