"""Read the parameters of AdaCoder's own commands and requests.

Each class defines the members of one JSON object. Unknown members are ignored. `{textDocument: {uri}}` means the same
as `{uri}`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from typing import Any, NewType, TypeAlias, TypeVar

from cattrs import ClassValidationError, Converter
from cattrs.gen import make_dict_structure_fn, override
from lsprotocol import types

from adacoder.agents.questions import Ruling
from adacoder.domain import JSON, AdaCoderError
from adacoder.lsp.snapshot import Uri
from adacoder.task import Mode, one_wish

T = TypeVar("T")
P = TypeVar("P")
S = TypeVar("S")
W = TypeVar("W", bound=StrEnum)
Handler: TypeAlias = Callable[[S, P], Awaitable[Any]]
"""Function that answers a request or a command. It receives the server and the parameters."""
Wish = NewType("Wish", str)
"""A short instruction from the user, in one line, such as "use recursion"."""
Line = NewType("Line", int)
"""A line number, counted from 0."""
Ids = NewType("Ids", tuple[str, ...])
"""Ids of docstrings or examples, from an answer to `adacoder/examples`."""
ModelName = NewType("ModelName", str)

UNNAMED = "Your editor named no function: put the cursor on one, and choose AdaCoder's code action there."
"""Message for a command without parameters.

Only people send such a command, and the name of a parameter would not help them.
"""
NO_MODEL = "Your editor named no model: let Ollama download one with `ollama pull`."


class ParametersError(AdaCoderError):
    """Invalid parameters from a client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentParams:
    """Parameters of a request about one document."""

    uri: Uri


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeParams:
    """Parameters of a request with an optional document."""

    uri: Uri | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionPlace:
    """Parameters of a request about a function. The function is named by a line, by its qualified name, or by both."""

    uri: Uri
    version: int | None = None
    """Version of the document that the client saw. A line number is only valid in this version."""
    line: Line | None = None
    qualname: str | None = None
    wish: Wish | None = None
    """The user's instructions for the function. None stands for the previous instructions."""

    @property
    def json(self) -> dict[str, JSON]:
        """Return these parameters as JSON, as an argument for another command."""
        position: JSON = None if self.line is None else {"line": self.line, "character": 0}
        members: dict[str, JSON] = {"version": self.version, "position": position, "qualifiedName": self.qualname}
        return {"uri": self.uri, **{name: value for name, value in members.items() if value is not None}}

    def __post_init__(self) -> None:
        if self.line is None and self.qualname is None:
            raise ParametersError("No function is named: give 'position' or 'qualifiedName'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamplePlace:
    """Parameters of `.acceptOutput`: the line of an example."""

    uri: Uri
    line: Line
    version: int | None = None
    """Version of the document that the client saw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingTestPlace:
    """Parameters of `.fixTest`: the line or the name of a test."""

    uri: Uri
    version: int | None = None
    """Version of the document that the client saw."""
    line: Line | None = None
    test: str | None = None
    """The name of the test in pytest, without the path and the first `::`."""

    def __post_init__(self) -> None:
        if self.line is None and self.test is None:
            raise ParametersError("No test is named: give 'position' or 'test'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParams(FunctionPlace):
    """Parameters of `adacoder/run`, which runs a job and answers with the result."""

    mode: Mode
    apply: bool
    candidate: str | None = None
    """Text of a candidate. The job evaluates this candidate first."""
    work_done_token: types.ProgressToken | None = None

    def __post_init__(self) -> None:
        FunctionPlace.__post_init__(self)
        if self.candidate is not None and self.mode not in (Mode.FIX, Mode.REPAIR):
            raise ParametersError("'candidate' needs the mode 'fix' or 'repair'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckParams:
    """Parameters of `adacoder/check`: a document, or the ids of docstrings and examples."""

    uri: Uri | None = None
    ids: Ids | None = None
    coverage: bool = False
    partial_result_token: types.ProgressToken | None = None

    def __post_init__(self) -> None:
        if self.uri is None and self.ids is None:
            raise ParametersError("'uri' is missing: name the document.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugParams:
    """Parameters of `adacoder/debug`: the id of a docstring."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobParams:
    """Parameters of a request about a job, such as `.cancel` or `.discard`."""

    job_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertParams(JobParams):
    """Parameters of `.insert`: the job, and optionally the number of a candidate."""

    candidate: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerParams:
    """Parameters of `.answer`: the answer to a question about a function."""

    uri: Uri
    qualname: str
    call: str
    """The call whose output is in question."""
    answer: Ruling | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceParams(JobParams):
    """Parameters of `.difference`: the kept result to compare with the current text."""

    show: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalParams(JobParams):
    """Parameters of `.journal`: a job. By default, the last job on a document or function."""

    uri: Uri | None = None
    qualname: str | None = None
    format: str | None = None
    show: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearParams(ScopeParams):
    """Parameters of `.clear`: a document, or a function in it."""

    qualname: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorParams(ScopeParams):
    """Parameters of `.doctor`. With `probe`, the speed of each model is measured."""

    probe: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PullParams:
    """Parameters of `.pull`: the model to download."""

    model: ModelName


MEMBERS = {
    "line": "position",
    "qualname": "qualifiedName",
    "job_id": "jobId",
    "work_done_token": "workDoneToken",
    "partial_result_token": "partialResultToken",
}
"""JSON names of the fields that have a different name in Python."""


def reads(kind: type[P], refused: Callable[[S, str], Any] | None = None) -> Callable[[Handler[S, P]], Handler[S, Any]]:
    """Decorate a handler of AdaCoder's own commands or requests.

    The handler gets its parameters as an instance of `kind`.

    If the parameters are invalid, or the handler raises AdaCoderError, the answer is `refused(server, reason)`. Without
    `refused`, the exception is raised.
    """

    def decorate(handler: Handler[S, P]) -> Handler[S, Any]:
        @wraps(handler)
        async def answer(ls: S, params: object) -> Any:
            try:
                return await handler(ls, read(kind, params))
            except AdaCoderError as error:
                if refused is None:
                    raise
                return refused(ls, str(error) if params is not None else NO_MODEL if kind is PullParams else UNNAMED)

        return answer

    return decorate


def read(kind: type[T], value: object) -> T:
    """Convert JSON from a client to an instance of `kind`.

    Raises:
        ParametersError: a member is missing or has the wrong type.
    """
    members = value if isinstance(value, Mapping) else {}
    document = members.get("textDocument")
    try:
        return _CONVERTER.structure({**members, **document} if isinstance(document, Mapping) else members, kind)
    except ClassValidationError as error:
        raise ParametersError(_sentence(error)) from None


def _sentence(error: ClassValidationError) -> str:
    """Describe the first error to the client."""
    of_members, of_all = error.group_exceptions()
    if not of_members:
        return str(of_all[0])
    problem, note = of_members[0]
    member = MEMBERS.get(note.name, note.name)
    if not isinstance(problem, KeyError):
        return f"'{member}' must {problem}."
    return "'uri' is missing: name the document." if member == "uri" else f"'{member}' is missing."


def _exactly(kind: type, what: str) -> Any:
    """Return a converter for values of one JSON type.

    A bool does not count as a number, although it is an int in Python.
    """

    def hook(value: object, as_kind: type) -> Any:
        if type(value) is not kind:
            raise ValueError(f"be {what}")
        return as_kind(value)

    return hook


def _line(value: object, _: object) -> Line:
    line = value.get("line") if isinstance(value, Mapping) else None
    if type(line) is not int or line < 0:
        raise ValueError("have a 'line', counted from 0")
    return Line(line)


def _mode(value: object, _: object) -> Mode:
    return _member_of(Mode, value)


def _member_of(words: type[W], value: object) -> W:
    for word in words:
        if word == value:
            return word
    raise ValueError(f"be one of {', '.join(words)}")


def _answer(value: object, _: object) -> Ruling | None:
    return None if value is None else _member_of(Ruling, value)


def _token(value: object, _: object) -> types.ProgressToken | None:
    if value is None or type(value) in (int, str):
        return value  # type: ignore[return-value]
    raise ValueError("be a string or a whole number")


def _ids(value: object, _: object) -> Ids:
    if isinstance(value, list) and all(isinstance(each, str) and "#" in each for each in value):
        return Ids(tuple(value))
    raise ValueError("be a list of ids from 'adacoder/examples'")


def _wish(value: object, _: object) -> Wish | None:
    if value is None:
        return None
    if isinstance(value, str):
        return Wish(one_wish(value))
    raise ValueError("be a string")


def _model(value: object, _: object) -> ModelName:
    if isinstance(value, str) and value.strip():
        return ModelName(value.strip())
    raise ValueError("name a model")


def _converter() -> Converter:
    converter = Converter()
    hooks: dict[Any, Any] = {
        str: _exactly(str, "a string"),
        Uri: _exactly(str, "a string"),
        int: _exactly(int, "a whole number"),
        bool: _exactly(bool, "true or false"),
        Mode: _mode,
        Ruling | None: _answer,
        Line: _line,
        Ids: _ids,
        ModelName: _model,
        Wish | None: _wish,
        types.ProgressToken | None: _token,
    }
    for kind, hook in hooks.items():
        converter.register_structure_hook(kind, hook)
    converter.register_structure_hook_factory(is_dataclass, lambda kind: _members(converter, kind))
    return converter


def _members(converter: Converter, kind: Any) -> Any:
    """Return a converter for a class of parameters. The JSON names come from `MEMBERS`."""
    renamed: dict[str, Any] = {}
    renamed |= {each.name: override(rename=MEMBERS[each.name]) for each in fields(kind) if each.name in MEMBERS}
    return make_dict_structure_fn(kind, converter, **renamed)


_CONVERTER = _converter()
