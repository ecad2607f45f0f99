"""Create prompts: a system text, the module's context, the task, and a last paragraph.

Only the last paragraph differs between the calls of a request, so a server can cache the rest. The texts are in
`prompts/*.md`.

Every prompt is made to fit into the model's context window: context is left out first, then plans and quotations are
cut in the middle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any

from adacoder.agents.failures import fitted, shortened
from adacoder.agents.role import FENCE, Field, Role
from adacoder.domain import Candidate, Message, Target
from adacoder.models.errors import ContextOverflow
from adacoder.models.window import Window
from adacoder.privacy.access import Access
from adacoder.privacy.contents import without_secrets
from adacoder.pytext import Lines, dedent, fence_around, normalize
from adacoder.source.context import Piece, pieces
from adacoder.source.docstring import docstring_indent
from adacoder.source.remarks import remarks

NO_FIELDS: Mapping[str, Field] = MappingProxyType({})

_LEAST_REPLY = 4
"""Divisor for the smallest part of the window that a reply gets: 4 means a quarter."""
_NEARBY_TOKENS = 1024
"""Maximum number of tokens for code that the target does not mention. Such code distracts small models."""
_QUOTED_CHARACTERS = 1500
"""Maximum length of each value that is quoted in an error, in characters."""
_CHANGING_TOKENS = (160, 1024)
"""Minimum and maximum number of tokens to reserve for a plan or an error."""
_CHANGING = 6
"""Divisor for the part of the window to reserve for a plan or an error: 6 means a sixth."""


@dataclass(frozen=True, slots=True)
class RoleCall:
    """The last paragraph of a prompt, and the limits of the reply."""

    instruction: str
    """Last paragraph of the prompt."""
    max_tokens: int
    stop: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Briefing:
    """The prompt text that all calls of a request share."""

    name: str
    """Name of the target function."""
    system: str
    shared: str
    """The module's context and the task."""
    own: str
    """The target function and its examples, which a model may repeat in its reply."""
    window: Window
    reply_tokens: int
    """Maximum length of any reply, in tokens."""

    def messages(self, instruction: str) -> tuple[Message, ...]:
        """Return the chat that ends with `instruction`."""
        return (Message("system", self.system), Message("user", f"{self.shared}\n{instruction}"))

    def call(self, role: Role[Any], fields: Mapping[str, Field] = NO_FIELDS) -> RoleCall:
        """Prepare a call of the model as `role`.

        Long `fields` are cut so that the prompt and the reply fit into the window.
        """
        taken = self.window.measure_chat(self.messages("")) + _rounding(self.window) + self._most(role)
        lengths = [len(field) if isinstance(field, str) else _QUOTED_CHARACTERS for field in fields.values()]
        worded = partial(_worded, role, self.name, fields)
        instruction = fitted(worded, max(lengths, default=0), self.window.tokens - taken, self.window)
        shown = f"{self.system}{self.shared}{instruction}"
        stop = tuple(text for text in role.limits.stop if text.strip() not in (self.own if text == FENCE else shown))
        return RoleCall(instruction, self._most(role), stop)

    def _most(self, role: Role[Any]) -> int:
        return min(role.limits.tokens(self.window), self.reply_tokens)


def packed(
    target: Target,
    overlays: Mapping[Path, str],
    allowed: Access,
    roles: Sequence[Role[Any]],
    window: Window,
    instructions: str,
    others: Sequence[Candidate],
    tests: Sequence[str],
    wish: str,
) -> Briefing:
    """Collect context for `target`, and create the shared prompt text.

    Raises:
        ContextOverflow: as `brief`.
    """
    found = pieces(target, overlays, allowed)
    return brief(target, found, roles, window=window, instructions=instructions, others=others, tests=tests, wish=wish)


def brief(
    target: Target,
    pieces: Sequence[Piece],
    roles: Sequence[Role[Any]],
    *,
    window: Window,
    instructions: str,
    others: Sequence[Candidate] = (),
    tests: Sequence[str] = (),
    wish: str = "",
) -> Briefing:
    """Create the shared prompt text for calls in any of `roles`. Add the context pieces that fit, best first.

    `instructions` come from the project, and `wish` comes from the user. `others` are existing candidates, and the
    model is asked for a different one. `tests` are sources of the project's tests.

    Raises:
        ContextOverflow: the task alone does not fit. The error says what helps.
    """
    ways = dict.fromkeys(role.system for role in roles if role.system)
    wishes = f"{instructions.strip()}\n" if instructions.strip() else ""
    system = "".join(_fill(each) for each in ("system", *ways)) + wishes
    task = _task(target) + _tests(tests) + "".join(map(_other, others[-1:])) + (_wish(wish) if wish else "")
    changing = max(_changing_tokens(role, target.name, window) for role in roles)
    own = "".join([_shown(target), *(example.source + example.want for example in target.examples)])
    bare = Briefing(target.name, system, task, own, window, 0)
    taken = window.measure_chat(bare.messages("")) + _rounding(window) + changing
    room = window.tokens - taken
    if room < window.tokens // _LEAST_REPLY:
        raise ContextOverflow(
            f"The signature and docstring of '{target.name}' need about {taken + window.tokens // _LEAST_REPLY} tokens"
            f" with room for a reply, and the model's window has {window.tokens}",
            window.bound,
        )
    reply = min(max(role.limits.tokens(window) for role in roles), room)
    return replace(bare, shared=_context(target, pieces, room - reply, window) + task, reply_tokens=reply)


def _changing_tokens(role: Role[Any], name: str, window: Window) -> int:
    """Return the number of tokens to reserve for a role's last paragraph."""
    fields = dict.fromkeys(_fields(role), "")
    least, most = _CHANGING_TOKENS
    variable = min(max(window.tokens // _CHANGING, least), most) if fields else 0
    return window.measure(_worded(role, name, fields, 0)) + variable


def _context(target: Target, pieces: Sequence[Piece], room: int, window: Window) -> str:
    """Join the pieces that fit into `room` tokens, and skip the others."""
    fence = fence_around("\n".join(piece.text for piece in pieces))
    frame = _fill("context", fence, module=target.module.name, pieces="") + "\n"
    room -= window.measure(frame) + _rounding(window)
    nearby = _NEARBY_TOKENS
    kept: list[Piece] = []
    for piece in pieces:
        cost = window.measure(f"{piece.text}\n\n") + _rounding(window)
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


def _rounding(window: Window) -> int:
    """Return the maximum rounding error, in tokens, of the sum of two texts' sizes."""
    return math.ceil(window.ratio)


def _worded(role: Role[Any], name: str, fields: Mapping[str, Field], most: int) -> str:
    """Return the last paragraph for a role. Each field is cut to `most` characters."""
    texts = {key: shortened(value, most) if isinstance(value, str) else value(most) for key, value in fields.items()}
    return _fill(role.prompt, name=name, **texts)


def _fields(role: Role[Any]) -> set[str]:
    """Return the field names in a role's prompt, except `name`."""
    return {*_template(role.prompt).get_identifiers()} - {"name"}


def _task(target: Target) -> str:
    """Return the task: the function, and examples from the class's docstring."""
    owner = target.qualname.rpartition(".")[0]
    place = f", a method of the class `{owner}`" if target.in_class else ""
    task = _fill("task", place=place, function=_shown(target))
    lines = Lines(target.text)
    span = target.docstring_span
    own = range(lines.line_at(span.start), lines.line_at(span.end) + 1)
    others = [example for example in target.examples if example.line not in own]
    if not others:
        return task
    shown = "\n".join(f"{example.prompted}\n{example.want}".rstrip("\n") for example in others)
    return task + "\n" + _fill("class_examples", owner=owner, examples=without_secrets(shown))


def _tests(sources: Sequence[str]) -> str:
    """Return the paragraph that shows the project's tests, or an empty text."""
    shown = list[str]()
    for source in sources:
        if sum(map(len, shown)) + len(source) <= 2 * _QUOTED_CHARACTERS:
            shown.append(dedent(normalize(without_secrets(source))).strip())
    return "\n" + _fill("tests", tests="\n\n".join(shown)) if shown else ""


def _other(candidate: Candidate) -> str:
    """Return the paragraph that asks for a different function than an existing candidate."""
    return "\n" + _fill("another", code=shortened(candidate.function, 2 * _QUOTED_CHARACTERS))


def _wish(text: str) -> str:
    return "\n" + _fill("wish", wish=without_secrets(text))


def _shown(target: Target) -> str:
    """Return the function without its body, as the model sees it. If the function is empty, its comments are kept."""
    indent = docstring_indent(target).removeprefix(target.indent)
    return "\n".join([bodiless(target), *(indent + remark for remark in remarks(target))])


def bodiless(target: Target) -> str:
    """Return the function's decorators, signature and docstring, without indentation."""
    text = normalize(target.text[target.definition.start : target.docstring_span.end])
    return "\n".join(line.removeprefix(target.indent) for line in text.split("\n"))


@cache
def _template(name: str) -> Template:
    text = (files("adacoder.agents") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    return Template(text)


def _fill(template: str, /, fence: str = "", **values: str) -> str:
    """Fill a template. Its fences become `fence`, or else longer than the fences in the values."""
    fence = fence or fence_around("\n".join(values.values()))
    text = _template(template)
    return (text if len(fence) == 3 else Template(text.template.replace("```", fence))).substitute(values)
