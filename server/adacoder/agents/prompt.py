"""Pack prompts. A prompt has a system text, the module's context, the task, and a last paragraph.

Only the last paragraph changes with each call of a request. A server with a prompt cache reads the rest only once. The
texts are in `prompts/*.md`.

Every chat is measured before it is sent, and fits into the model's window. Context that does not fit is left out. If
this is not enough, the middle of plans and quotations is cut.
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
"""The window divided by this number is always kept free for the reply, however large the task is."""
_NEARBY_TOKENS = 1024
"""Maximum tokens for parts of the module that the target does not mention, which distract small models."""
_QUOTED_CHARACTERS = 1500
"""Maximum characters of each value that an error quotes, even if there is room for more."""
_CHANGING_TOKENS = (160, 1024)
"""Minimum and maximum number of tokens that are kept free for a plan or an error."""
_CHANGING = 6
"""The window divided by this number is kept free for a plan or an error, within `_CHANGING_TOKENS`."""


@dataclass(frozen=True, slots=True)
class RoleCall:
    """One call of a model."""

    instruction: str
    """The last paragraph of the chat."""
    max_tokens: int
    stop: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Briefing:
    """The shared beginning of every call of one request, and the calls themselves."""

    name: str
    """The target's own name."""
    system: str
    shared: str
    """The context and the task."""
    own: str
    """The function and its examples. A model may repeat this part of the task."""
    window: Window
    reply_tokens: int
    """Maximum number of tokens of a reply in any role."""

    def messages(self, instruction: str) -> tuple[Message, ...]:
        """Return the chat that ends with `instruction`. The chat and its reply fit into the window together."""
        return (Message("system", self.system), Message("user", f"{self.shared}\n{instruction}"))

    def call(self, role: Role[Any], fields: Mapping[str, Field] = NO_FIELDS) -> RoleCall:
        """Prepare a call in `role`. Its `fields` are shortened to the room that the reply leaves; see `fitted`."""
        taken = self.window.measure_chat(self.messages("")) + _rounding(self.window) + self._most(role)
        lengths = [len(field) if isinstance(field, str) else _QUOTED_CHARACTERS for field in fields.values()]
        worded = partial(_worded, role, self.name, fields)
        instruction = fitted(worded, max(lengths, default=0), self.window.tokens - taken, self.window)
        shown = f"{self.system}{self.shared}{instruction}"
        stop = tuple(text for text in role.limits.stop if text.strip() not in (self.own if text == FENCE else shown))
        return RoleCall(instruction, self._most(role), stop)

    def _most(self, role: Role[Any]) -> int:
        """Return the maximum number of tokens of a reply in this role."""
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
    """Gather the context of `target`, and pack it with `brief`.

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
    """Pack as many of the ranked `pieces` as fit into the window, for calls in any of `roles`.

    The task, the last paragraph and a reply have priority over the pieces. `instructions` are the project's own wishes.
    `others` are existing candidates. The prompt shows the latest of them and asks for a different one. `tests` are the
    sources of tests of the project that describe the function. `wish` is the user's wish for this function.

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
    """Return the tokens that are kept free for a role's last paragraph: its text, and some room for its fields."""
    fields = dict.fromkeys(_fields(role), "")
    least, most = _CHANGING_TOKENS
    variable = min(max(window.tokens // _CHANGING, least), most) if fields else 0
    return window.measure(_worded(role, name, fields, 0)) + variable


def _context(target: Target, pieces: Sequence[Piece], room: int, window: Window) -> str:
    """Pack the ranked `pieces` that fit into `room` tokens. A piece that is too long is skipped for shorter ones."""
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
    """Return the number of tokens by which two joined texts can measure more than the two texts alone."""
    return math.ceil(window.ratio)


def _worded(role: Role[Any], name: str, fields: Mapping[str, Field], most: int) -> str:
    """Return the last paragraph of a role. At most `most` characters of each field or quotation are shown."""
    texts = {key: shortened(value, most) if isinstance(value, str) else value(most) for key, value in fields.items()}
    return _fill(role.prompt, name=name, **texts)


def _fields(role: Role[Any]) -> set[str]:
    """Return the names of the fields in a role's prompt, apart from `name`."""
    return {*_template(role.prompt).get_identifiers()} - {"name"}


def _task(target: Target) -> str:
    """Return the text of the task, with the function and its examples from the class's docstring."""
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
    """Return the text that shows tests of the project; empty if there are none."""
    shown = list[str]()
    for source in sources:
        if sum(map(len, shown)) + len(source) <= 2 * _QUOTED_CHARACTERS:
            shown.append(dedent(normalize(without_secrets(source))).strip())
    return "\n" + _fill("tests", tests="\n\n".join(shown)) if shown else ""


def _other(candidate: Candidate) -> str:
    """Return the text that shows an existing candidate and asks for a different one."""
    return "\n" + _fill("another", code=shortened(candidate.function, 2 * _QUOTED_CHARACTERS))


def _wish(text: str) -> str:
    return "\n" + _fill("wish", wish=without_secrets(text))


def _shown(target: Target) -> str:
    """Return the function as a model sees it, without its body, but with the comments of a stub."""
    indent = docstring_indent(target).removeprefix(target.indent)
    return "\n".join([bodiless(target), *(indent + remark for remark in remarks(target))])


def bodiless(target: Target) -> str:
    """Return the decorators, signature and docstring of the function, at column 0."""
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
