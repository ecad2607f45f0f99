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


class TargetError(AdaCoderError):
    """The requested function was not found: no such file, function or docstring, or the file is not Python."""


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
    """An edit that replaces the code points from `start` to `end` of one text by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Example:
    """A statement in the docstring and its expected output. It is read as `doctest` reads it, or from prose."""

    source: str
    """The statement, ending in a newline."""
    want: str
    """The expected output, ending in a newline; empty if no output is expected."""
    line: int
    """0-based first line of the statement in the module's text."""
    flags: int = 0
    """Doctest option flags that the example's directives switch on, combined into one number."""
    exception: str | None = None
    """The last part of an expected traceback, such as `"ValueError: no\\n"`."""
    informal: bool = False
    """True if the example was read from prose, such as `f(1) == 2`. Its result is compared by value. A call that
    returns nothing has the value None.
    """

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
        """True if the example runs and shows an output. Only then can it verify a candidate."""
        return bool(self.want) and not self.skipped


@dataclass(frozen=True, slots=True)
class Module:
    """A file's place in the user's project, and its import name."""

    path: Path
    """The file, as an absolute path."""
    name: str
    """The dotted name of the module, `pkg.sub.mod`. For `pkg/__init__.py` it is `pkg`."""
    root: Path
    """The directory that must be on `sys.path` for `name` to be importable."""
    top: Path | None = field(default=None, compare=False)
    """The workspace. AdaCoder does not look for the project's settings above it."""

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
    """The span from the line start of the first decorator (or `def`) to the end of the last line of the function."""
    header: Span
    """The span from `def` or `async def` to the colon, inclusive."""
    docstring_span: Span
    """The span of the docstring's string literal, with its quotes. It includes all parts of a literal that has several,
    and brackets around the literal.
    """
    docstring: str
    """The docstring's value, as cleaned by `inspect.cleandoc`."""
    body: Span
    """The span that a new body replaces. It begins after the docstring's logical line, which may end in a comment."""
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
    """The examples of the enclosing class. Only a run shows which of them call this function."""

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.qualname.rpartition(".")[2]

    @property
    def source(self) -> str:
        """The function's own text, decorators included."""
        return self.definition.of(self.text)

    @property
    def signature(self) -> str:
        """The text from `def` to the colon."""
        return self.header.of(self.text)

    @property
    def has_wants(self) -> bool:
        """True if at least one example can verify a candidate."""
        return any(example.has_want for example in self.examples)


@dataclass(frozen=True, slots=True)
class Candidate:
    """The target function as a model or a person wrote it, with the definitions and imports that it needs. Perhaps it
    does not parse.

    Lines end in `\\n`, the code starts at column 0, and no part ends in a newline.
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
    """Decorators of `function` to insert above the target, one per string. Other decorators are dropped."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Sentences about the reply. They say, for example, which parts were left out or why it has no function."""
    others: tuple[Candidate, ...] = field(default=(), compare=False)
    """Other versions in the same reply. If this version fails, they are tried in this order."""

    @property
    def text(self) -> str:
        """The whole candidate as the text of a small module."""
        parts = ["\n".join(self.imports), *self.definitions, self.function]
        return "\n\n".join(part for part in parts if part) + "\n"


class Ended(StrEnum):
    """Reason for the end of a model's reply."""

    STOP = "stop"
    LENGTH = "length"
    STOPPED_EARLY = "stopped_early"
    """AdaCoder closed the stream because the code was complete."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens read and written by a model."""

    prompt: int = 0
    completion: int = 0
    estimated: bool = False
    """True if any count is an estimate, because a stream was closed before the server's counts arrived."""
    cached: int = 0
    """Number of tokens of `prompt` that the server had in its cache. An estimate is never too high. For Ollama, it is
    made from the time for reading the prompt.
    """

    def __add__(self, other: Tokens) -> Tokens:
        prompt, completion = self.prompt + other.prompt, self.completion + other.completion
        return Tokens(prompt, completion, self.estimated or other.estimated, self.cached + other.cached)


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of a reply, in seconds."""

    queue: float = 0.0
    """Time spent waiting for other requests. They may come from AdaCoder or from other programs."""
    load: float = 0.0
    """Time for loading the model."""
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
    """The isolation in which candidate code ran. Every Verdict reports it."""

    level: Level
    by: tuple[str, ...] = ()
    """The mechanisms in use, such as `bubblewrap` and `rlimits`."""


class FailureKind(StrEnum):
    """The kind of a candidate's failure. The values are part of `--json`."""

    CUT_OFF = "cut_off"
    SYNTAX_ERROR = "syntax_error"
    NO_FUNCTION = "no_function"
    UNDEFINED_NAME = "undefined_name"
    IMPORT_ERROR = "import_error"
    """The import of the module, with the candidate in place, raised an exception."""
    WRONG_OUTPUT = "wrong_output"
    EXCEPTION = "exception"
    BROKEN_EXAMPLE = "broken_example"
    """The example itself is wrong, so it fails with every candidate."""
    BROKEN_MODULE = "broken_module"
    """The module cannot be imported with any candidate."""
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    KILLED = "killed"
    DENIED = "denied"
    """The code needs processes, network or files that isolation denies."""
    MEMORISED = "memorised"
    """The candidate passed the examples, but most of its answers were hard-coded."""
    PROTOCOL = "protocol"
    """The child process broke the evaluator's protocol. Only hostile or badly broken code does that."""


UNPARSED = frozenset({FailureKind.SYNTAX_ERROR, FailureKind.BROKEN_MODULE})
"""Kinds of failure for a text that the interpreter received but could not parse."""
_OUTSIDE_THE_CANDIDATE = frozenset({FailureKind.BROKEN_EXAMPLE, FailureKind.BROKEN_MODULE})


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason for a candidate's failure, with the first Example that shows the failure."""

    kind: FailureKind
    message: str
    """One sentence for the user."""
    example: Example | None = None
    got: str | None = None
    """The actual output. The expected output is `example.want`."""
    error: str | None = None
    """The exception, as `Type: message`."""
    line: int | None = None
    """1-based line of the candidate's function that raised the exception; None if other code raised it."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The reached lines and branches of the target's code. Lines are 1-based in the module with the candidate."""

    lines: frozenset[int] = frozenset()
    branches: frozenset[tuple[int, int]] = frozenset()
    """The branches, each as the line of a test and the line to which the test led. Empty if the interpreter does not
    report branches.
    """


NOTHING = Reached()


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the file with the candidate in place: its 1-based number, and its text with indentation."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of the new function: its `lines` of code, and the code that the examples did not reach.

    A branch is left out if an unreached line already shows it.
    """

    lines: tuple[int, ...]
    unreached: tuple[SourceLine, ...] = ()
    branches: tuple[tuple[SourceLine, bool], ...] = ()
    """Lines whose condition always had the same result, each with the result that never occurred. Empty if the
    interpreter does not report branches.
    """


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """The result of one Example."""

    example: Example
    matched: bool
    got: str = ""
    error: str | None = None
    entered: bool = False
    """True if the example was observed to run the target's code, or used the result of such an example."""
    ran: str = ""
    """The code that ran instead of the target, if known, as in "`b.f` is `a.c.f`". If it is "`f` is a …", that may
    still be the target's code.
    """
    counts: bool = True
    """True if the example had to match."""
    reached: Reached = NOTHING
    """The part of the target's code that the example reached, if requested."""
    hint: str = ""
    """A sentence that says why the example did not match and what to do; empty if the outputs show this already."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The Code Evaluator's result: a pass or the first failure, and how far the candidate got."""

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
    """Notes on the evidence, such as a part of the module that had to be left out."""
    reachable: Reached = NOTHING
    """All lines and branches of the target's code, if requested."""
    coverage: Coverage | None = None
    """Coverage of a pass; None if it was not requested or is not available."""
    edits: tuple[Edit, ...] = ()
    """Edits that put the candidate into the text in which it was evaluated."""

    @property
    def passed(self) -> bool:
        """True if nothing failed. The candidate is `verified` only if an example also proves it. See `conclusion`."""
        return self.failure is None

    @property
    def final(self) -> bool:
        """True if no other candidate can help, because this one passed or because its failure has another cause."""
        return self.failure is None or self.failure.kind in _OUTSIDE_THE_CANDIDATE

    @property
    def examples_passed(self) -> int:
        """Number of examples that matched. Only examples that count and show an output are included."""
        return sum(result.matched for result in self._counting)

    @property
    def is_proved(self) -> bool:
        """True if an example that shows an output ran the target and matched."""
        return any(result.matched for result in self.proving)

    @property
    def proving(self) -> list[ExampleResult]:
        """The results of the examples that show an output and ran the target."""
        return [result for result in self._counting if result.entered]

    @property
    def _counting(self) -> list[ExampleResult]:
        return [result for result in self.results if result.counts and result.example.has_want]

    def answers(self, examples: Sequence[Example]) -> bool:
        """Return whether every example that is not skipped has a result."""
        return len(self.results) >= sum(not example.skipped for example in examples)

    def total(self, target: Target) -> int:
        """Return the number of examples of `target` that show an output, without those that ran other code."""
        not_counting = sum(not result.counts and result.example.has_want for result in self.results)
        return sum(example.has_want for example in target.examples) - not_counting

    @property
    def reach(self) -> tuple[bool, bool, int, bool, int, bool]:
        """Rank of a candidate. A greater rank means that the candidate got further.

        Memorised answers prove nothing. So a candidate that has them outranks only candidates that pass no example.
        """
        return (
            self.parses,
            self.defines,
            -len(self.undefined),
            self.imports,
            self.examples_proved,
            self.passed or self.is_memorised,
        )

    @property
    def is_memorised(self) -> bool:
        """True if the candidate passed the examples with memorised answers."""
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
    """The result of a request."""

    VERIFIED = "verified"
    PARTIAL = "partial"
    """Some examples passed, but not all."""
    UNVERIFIED = "unverified"
    """Nothing failed, but no example could verify the candidate."""
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


RAISES, ENDLESS = "raises ", "does not end"
"""An output that begins with the first stands for an exception. The second is the output of a statement that ended its
process, or was still running when its time was over.
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """An input for which two versions differ."""

    call: str
    """The statements, up to the one whose outputs differ."""
    here: str
    there: str


@dataclass(frozen=True, slots=True)
class BehaviourDiff:
    """The result of a comparison."""

    inputs: int
    """Number of inputs that ran the function and whose outputs were compared."""
    differs: tuple[Difference, ...]
    """The differences, the shortest input first."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of inputs that were not compared, by the reason."""

    def of_values(self) -> BehaviourDiff:
        """Leave out differences where a version refuses the input, because its author may not have meant the input."""
        differs = tuple(each for each in self.differs if not any(map(_refuses, (each.here, each.there))))
        refused = len(self.differs) - len(differs)
        left_out = {**self.left_out, "raise or do not end in one version": refused} if refused else self.left_out
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
    """One sentence on why they were not compared."""
    candidate: Candidate | None = None
    """The second program."""


def _refuses(output: str) -> bool:
    return output.startswith(RAISES) or output == ENDLESS


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a request, with its candidate and evidence."""

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
    """The difference from the function that was in the text before. None if the two were not compared."""
    cross_check: CrossCheck | None = None
    """A comparison with a second program. None if there was none."""
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
    def total(self) -> int:
        """Number of examples that should pass. If nothing ran, it is the number of all examples that show an output."""
        return (self.verdict or Verdict(None)).total(self.target)


class Details:
    """Input and result of a Step. `journal` has a subclass for each action."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One action of an Agent. The Journal has an entry for each."""

    agent: str
    """The Agent's name, such as `programming_assistant` or `code_evaluator`."""
    action: str
    """The action's name, such as `write` or `evaluate`."""
    round: int
    """The 1-based round of the loop."""
    seconds: float
    tokens: Tokens = Tokens()
    details: Details | None = None
    """The input and the result of the action; None if the step ended before it had any."""
    time: Timing | None = None
    """Times of a model's reply, if the step asked a model."""
    doing: str = ""
    """The action in words, such as "writing the function"."""
    branch: tuple[str, ...] = ()
    """The branches of a search that the step belongs to, outermost first."""
    error: str | None = None
    """The error, if the step failed."""
