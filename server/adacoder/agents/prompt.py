"""Packs what a model is told: one system text, the module's context, the task, and last what changes from call to call.

Everything before the last paragraph is the same in every call of a request, so a server that keeps what it has read
reads it once (DESIGN, Models). The wording stands in `prompts/*.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from adacoder.domain import Example, Failure, FailureKind, Message, Plan, Target
from adacoder.models.base import ContextOverflow
from adacoder.models.window import Window
from adacoder.pytext import Lines, normalize
from adacoder.source.context import Piece

PLAN_TOKENS = 512
"""What a plan may take. The paper's released code allows 88, which cuts most plans in the middle of a step."""
_CHANGING_TOKENS = 1024
"""Kept free for the last paragraph, which holds a plan or an error."""
_NEARBY_TOKENS = 1024
"""What the rest of the module may take, which nothing points to: reading it costs time, and distracts small models."""
_ERROR_CHARACTERS = 1500
"""What an error may show of a value; the ends of a long one say the most."""


@dataclass(frozen=True, slots=True)
class Briefing:
    """What every call of one request begins with."""

    system: str
    shared: str
    """Context and task."""
    reply_tokens: int
    """What a reply with a whole function may take."""

    def messages(self, instruction: str) -> tuple[Message, ...]:
        """The chat that asks for `instruction`."""
        return (Message("system", self.system), Message("user", f"{self.shared}\n{instruction}"))


def brief(target: Target, pieces: Sequence[Piece], *, window: Window, instructions: str) -> Briefing:
    """Pack as many of the ranked `pieces` as the window leaves room for.

    The task, a full reply and the changing paragraph come first; `instructions` are the project's own wishes.

    Raises:
        ContextOverflow: the task alone does not fit.
    """
    system = _template("system").safe_substitute() + (f"{instructions.strip()}\n" if instructions.strip() else "")
    task = _task(target)
    reply_tokens = window.tokens // 2  # models like to echo the module
    taken = reply_tokens + _CHANGING_TOKENS + window.measure(system) + window.measure(task)
    room = window.tokens - taken
    if room < 0:
        raise ContextOverflow(
            f"The signature and docstring of '{target.name}' need about {taken} tokens with room for"
            f" a reply, and the model's window has {window.tokens}: raise adacoder.contextTokens."
        )
    return Briefing(system, _context(target, pieces, room, window) + task, reply_tokens)


def _context(target: Target, pieces: Sequence[Piece], room: int, window: Window) -> str:
    """The most telling of the ranked `pieces` that fit into `room` tokens; one that does not fit is left out whole,
    and makes room for lesser ones."""
    frame = _fill("context", module=target.module.name, pieces="") + "\n"
    room -= window.measure(frame)
    nearby = _NEARBY_TOKENS
    kept: list[Piece] = []
    for piece in pieces:
        cost = window.measure(f"{piece.text}\n\n") + 1  # one for what rounding hides
        is_nearby = piece.kind == "module"
        if cost <= room and (cost <= nearby or not is_nearby):
            kept.append(piece)
            room -= cost
            nearby -= cost if is_nearby else 0
    if not kept:
        return ""
    listed = sorted(kept, key=lambda piece: piece.position)
    text = "\n\n".join(piece.text for piece in listed)
    return _fill("context", module=target.module.name, pieces=text) + "\n"


def write_instruction(target: Target, plan: Plan | None) -> str:
    """The last paragraph for the Programming Assistant."""
    if plan is None:
        return _fill("write", name=target.name)
    return _fill("write_planned", name=target.name, plan=plan.text)


def suggest_instruction(target: Target) -> str:
    """The last paragraph for the Test Designer."""
    return _fill("suggest", name=target.name)


def plan_instruction(target: Target, failure: Failure) -> str:
    """The last paragraph for the Prompt Engineer."""
    return _fill("plan", name=target.name, error=describe(failure))


def describe(failure: Failure) -> str:
    """The error as a planner can use it: which example, what it must give, and what it gave."""
    if failure.example is None:
        return "\n".join(part for part in (failure.message, _shortened(failure.error or "")) if part)
    shown = [_prompted(failure.example.source)]
    if failure.example.want:
        shown += ["must give", _shortened(failure.example.want.rstrip("\n"))]
    if failure.kind is FailureKind.WRONG_OUTPUT:
        shown += ["but gave", _shortened((failure.got or "").rstrip("\n") or "nothing")]
    elif failure.error:
        shown += ["but raised", _shortened(failure.error)]
    else:
        shown += ["but this happened:", failure.message]
    return "\n".join(shown)


def _prompted(source: str) -> str:
    first, *rest = source.rstrip("\n").split("\n")
    return "\n".join([f">>> {first}", *(f"... {line}".rstrip() for line in rest)])


def _shortened(text: str) -> str:
    if len(text) <= _ERROR_CHARACTERS:
        return text
    half = _ERROR_CHARACTERS // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters …]\n{text[-half:]}"


def _task(target: Target) -> str:
    """The function, and those of its examples that do not stand in its own docstring."""
    task = _fill("task", place=_place(target), function=_stub(target))
    lines = Lines(target.text)
    span = target.docstring_span
    own = range(lines.line_at(span.start), lines.line_at(span.end) + 1)
    others = [_as_in_docstring(example) for example in target.examples if example.line not in own]
    if not others:
        return task
    owner = target.qualname.rpartition(".")[0]
    return task + "\n" + _fill("class_examples", owner=owner, examples="\n".join(others))


def _as_in_docstring(example: Example) -> str:
    return f"{_prompted(example.source)}\n{example.want}".rstrip("\n")


def _place(target: Target) -> str:
    owner = target.qualname.rpartition(".")[0]
    return f", a method of the class `{owner}`" if target.in_class else ""


def _stub(target: Target) -> str:
    """The function without its body: decorators, signature and docstring, at column 0."""
    text = normalize(target.text[target.definition.start : target.docstring_span.end])
    return "\n".join(line.removeprefix(target.indent) for line in text.split("\n"))


@cache
def _template(name: str) -> Template:
    text = (files("adacoder.agents") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    return Template(text)


def _fill(template: str, /, **values: str) -> str:
    return _template(template).substitute(values)
