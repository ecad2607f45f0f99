"""Tells a request as a story: what each Agent did, in plain words, with the code, the plan or the error it is about.

On a terminal it is laid out and coloured, elsewhere it is plain text.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax
from rich.text import Text

from adacoder.cli.terminal import visible
from adacoder.domain import JSON, Outcome, Status, Step
from adacoder.report import summary

if TYPE_CHECKING:
    from adacoder.journal import OpenStep, Waiting

_WIDEST = 96
_AGENTS = {
    "programming_assistant": ("Programming Assistant", "cyan"),
    "code_evaluator": ("Code Evaluator", "blue"),
    "debug_specialist": ("Debug Specialist", "yellow"),
    "prompt_engineer": ("Prompt Engineer", "magenta"),
}
"""How they are called, and their colours."""
_FENCED = re.compile(r"^```\w*\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)
_MARGIN = "  "


class Story:
    """A Journal's Listener that tells every step when it has ended."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._is_terminal = console.is_terminal
        if self._is_terminal:
            console.width = min(console.width, _WIDEST)
            console.soft_wrap = False
        self._round = 0
        self._planned = False
        self._code = ""
        """What was evaluated last."""

    def __call__(self, event: OpenStep | Step | Waiting) -> None:
        """Hear of an event; a step that ended with an error is left to the line that tells the error."""
        if not isinstance(event, Step) or "error" in event.details:
            return
        if event.round > self._round:
            self._round = event.round
            self._heading(f"Round {event.round}")
        match event.action:
            case "write":
                how = "writes the function afresh, by the plan" if self._planned else "writes the function"
                self._agent(event, how)
                self._reply(event)
            case "evaluate":
                self._code = str(event.details["code"])
                self._evaluated(event)
            case "repair":
                self._repaired(event)
            case "plan":
                self._planned = True
                self._agent(event, "plans from the error")
                self._reply(event)

    def begin(self, place: str, code: str, about: str) -> None:
        """Tell what is to be done: the function at `place`, which is `code`; and what a viewer should know."""
        self._heading("AdaCoder")
        self._say(Text(about, "dim"))
        self._console.print()
        self._say(Text.assemble(("The task", "bold"), f"  {place}, a docstring without a body"))
        self._code_block(code, "python", "white")

    def end(self, outcome: Outcome, diff: str) -> None:
        """Tell how it ended, with the evidence."""
        self._heading("The end")
        good = outcome.status is Status.VERIFIED
        if diff:
            self._code_block(diff, "diff", "green")
            self._console.print()
        mark, style = ("✓", "bold green") if good else ("✗", "bold red")
        self._say(Text(f"{mark} {visible(summary(outcome))}", style))

    def remark(self, text: str, command: str) -> None:
        """A last word: what can be done next, and the command that does it."""
        self._say(Text.assemble(text, "  ", (command, "bold")))

    def _evaluated(self, step: Step) -> None:
        failure = step.details["failure"]
        passed = f"{step.details['passed']}/{step.details['total']} examples passed"
        if not isinstance(failure, dict):
            self._agent(step, f"✓ {passed}", "green")
        elif failure["example"] is None:
            self._agent(step, f"✗ {failure['message']}", "red")
        else:
            self._agent(step, f"✗ {passed}", "red")
            text = visible("\n".join(_instead(failure)))
            self._block(Text(text), text, _colour(step))

    def _repaired(self, step: Step) -> None:
        rules = step.details["rules"]
        if not isinstance(rules, list) or not rules:
            self._agent(step, "finds nothing that a rule could mend")
            return
        words = ", ".join(str(rule).replace("_", " ") for rule in rules)
        self._agent(step, f"mends by rule, without the model: {words}")
        self._code_block(_changes(self._code, str(step.details["code"])), "diff", _colour(step))

    def _reply(self, step: Step) -> None:
        """A model's reply, as it came."""
        text = visible(str(step.details["reply"]).strip())
        self._block(Group(*_parts(text)), text, _colour(step))

    def _code_block(self, text: str, language: str, colour: str) -> None:
        text = visible(text.rstrip("\n"))
        self._block(_highlighted(text, language), text, colour)

    def _agent(self, step: Step, did: str, style: str = "") -> None:
        name, colour = _AGENTS[step.agent]
        self._console.print()
        self._say(Text.assemble((name, f"bold {colour}"), "  ", (visible(did), style)))

    def _heading(self, title: str) -> None:
        self._console.print()
        if self._is_terminal:
            self._console.print(Rule(Text(title, "bold"), align="left", style="dim"))
        else:
            self._say(Text(f"== {title}"))

    def _say(self, text: Text) -> None:
        self._console.print(text)

    def _block(self, content: RenderableType, plain: str, colour: str) -> None:
        if self._is_terminal:
            self._console.print(_Barred(content, colour))
        else:
            self._say(Text("\n".join(f"{_MARGIN}{line}".rstrip() for line in plain.split("\n"))))


@dataclass(frozen=True, slots=True)
class _Barred:
    """Something with a coloured bar on its left."""

    content: RenderableType
    colour: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        bar = Segment(f"{_MARGIN}│ ", Style.parse(self.colour))
        inside = options.update_width(options.max_width - len(bar.text))
        for line in console.render_lines(self.content, inside, pad=False):
            yield bar
            yield from line
            yield Segment.line()


def _colour(step: Step) -> str:
    return _AGENTS[step.agent][1]


def _highlighted(text: str, language: str) -> Syntax:
    return Syntax(text, language, theme="ansi_dark", background_color="default", word_wrap=True)


def _parts(reply: str) -> Iterator[RenderableType]:
    """A reply's prose and code."""
    position = 0
    for fenced in _FENCED.finditer(reply):
        if prose := reply[position : fenced.start()].strip():
            yield Text(prose, "italic")
        yield _highlighted(fenced[1].rstrip("\n"), "python")
        position = fenced.end()
    if rest := reply[position:].strip():
        yield Text(rest)


def _changes(before: str, after: str) -> str:
    """What changed, without the places: a candidate is short."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _instead(failure: dict[str, JSON]) -> Iterator[str]:
    """What an example must give, and what it gave."""
    first, *rest = str(failure["example"]).rstrip("\n").split("\n")
    yield f">>> {first}"
    yield from (f"... {line}" for line in rest)
    came = ("but raised", failure["error"]) if failure["error"] else ("but gave", failure["got"] or failure["message"])
    for title, value in (("must give", failure["want"]), came):
        begin, *more = str(value).rstrip("\n").split("\n")
        yield f"{title:<10} {begin}"
        yield from (f"{'':<10} {line}" for line in more)
