"""Show the steps of a request for `adacoder demo`: the work of each Agent, with its code, plan or error."""

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
from adacoder.domain import Example, Failure, Outcome, Status, Step
from adacoder.journal import Asked, Evaluated, Repaired
from adacoder.report import fixed, score, summary

if TYPE_CHECKING:
    from adacoder.journal import OpenStep, Waiting

_WIDEST = 96
_COLOURS = ("cyan", "blue", "yellow", "magenta", "green", "red")
"""Colours of Agents, in the order in which they first appear."""
_FENCED = re.compile(r"^```\w*\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)
_MARGIN = "  "


class Story:
    """Listens to the Journal of a request, and shows each step when it ends."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._is_terminal = console.is_terminal
        if self._is_terminal:
            console.width = min(console.width, _WIDEST)
            console.soft_wrap = False
        self._round = 0
        self._colours: dict[str, str] = {}
        self._code = ""

    def __call__(self, event: OpenStep | Step | Waiting) -> None:
        """Show a step that has ended. Skip failed steps, because their errors are reported separately."""
        if not isinstance(event, Step) or event.error is not None:
            return
        self._colours.setdefault(event.agent, _COLOURS[len(self._colours) % len(_COLOURS)])
        if event.round > self._round:
            self._round = event.round
            self._heading(f"Round {event.round}")
        match event.details:
            case Asked(reply=str(reply)):
                self._agent(event, event.doing)
                text = visible(reply.strip())
                self._block(Group(*_parts(text)), text, self._colours[event.agent])
            case Evaluated() as found:
                self._code = found.code
                self._evaluated(event, found)
            case Repaired() as found:
                self._repaired(event, found)
            case _:
                self._agent(event, event.doing)

    def begin(self, place: str, code: str, about: str) -> None:
        """Show the explanation `about`, then the task: the function `code`, which is at `place`."""
        self._heading("AdaCoder")
        self._say(Text(about, "dim"))
        self._console.print()
        self._say(Text.assemble(("The task", "bold"), f"  {place}, a docstring without a body"))
        self._code_block(code, "python", "white")

    def end(self, outcome: Outcome, diff: str) -> None:
        """Show the result of the request: the diff and the summary."""
        self._heading("The end")
        good = outcome.status is Status.VERIFIED
        if diff:
            self._code_block(diff, "diff", "green")
            self._console.print()
        mark, style = ("✓", "bold green") if good else ("✗", "bold red")
        self._say(Text(f"{mark} {visible(summary(outcome))}", style))

    def remark(self, text: str, command: str) -> None:
        """Show a closing remark, such as a next step and its command."""
        self._say(Text.assemble(text, "  ", (command, "bold")))

    def _evaluated(self, step: Step, found: Evaluated) -> None:
        failure = found.failure
        passed = score(found.passed, found.total, found.tests)
        if failure is None:
            self._agent(step, f"✓ {passed}", "green")
        elif failure.example is None:
            self._agent(step, f"✗ {failure.message}", "red")
        else:
            self._agent(step, f"✗ {passed}", "red")
            text = visible("\n".join(_instead(failure, failure.example)))
            self._block(Text(text), text, self._colours[step.agent])

    def _repaired(self, step: Step, found: Repaired) -> None:
        self._agent(step, fixed(found.rules))
        if found.rules:
            self._code_block(_changes(self._code, found.code), "diff", self._colours[step.agent])

    def _code_block(self, text: str, language: str, colour: str) -> None:
        text = visible(text.rstrip("\n"))
        self._block(_highlighted(text, language), text, colour)

    def _agent(self, step: Step, did: str, style: str = "") -> None:
        name = step.agent.replace("_", " ").title()
        branch = "".join(f"{each} · " for each in step.branch)
        self._console.print()
        self._say(Text.assemble((name, f"bold {self._colours[step.agent]}"), "  ", (visible(branch + did), style)))

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
    """Content with a coloured bar on its left."""

    content: RenderableType
    colour: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        bar = Segment(f"{_MARGIN}│ ", Style.parse(self.colour))
        inside = options.update_width(options.max_width - len(bar.text))
        for line in console.render_lines(self.content, inside, pad=False):
            yield bar
            yield from line
            yield Segment.line()


def _highlighted(text: str, language: str) -> Syntax:
    return Syntax(text, language, theme="ansi_dark", background_color="default", word_wrap=True)


def _parts(reply: str) -> Iterator[RenderableType]:
    position = 0
    for fenced in _FENCED.finditer(reply):
        if prose := reply[position : fenced.start()].strip():
            yield Text(prose, "italic")
        yield _highlighted(fenced[1].rstrip("\n"), "python")
        position = fenced.end()
    if rest := reply[position:].strip():
        yield Text(rest)


def _changes(before: str, after: str) -> str:
    """Return the diff without its line numbers."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _instead(failure: Failure, example: Example) -> Iterator[str]:
    """Yield lines with an example and its expected and actual result."""
    first, *rest = example.source.rstrip("\n").split("\n")
    yield f">>> {first}"
    yield from (f"... {line}" for line in rest)
    came = ("but raised", failure.error) if failure.error else ("but gave", failure.got or failure.message)
    for title, value in (("must give", example.want), came):
        begin, *more = value.rstrip("\n").split("\n")
        yield f"{title:<10} {begin}"
        yield from (f"{'':<10} {line}" for line in more)
