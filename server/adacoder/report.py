"""Outcomes and progress in words, and the one JSON object of `--json` and `adacoder/run`.

The wording of what people read about a request is decided here, for every door; and what of it may be shown as it is.
Candidates, models, servers and repositories have a hand in almost every message. So it is not the messages that are
made safe, one by one, but the doors that all of them leave through: `Visible`, `cli/screen.py`, `lsp/display.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TextIO

from adacoder.domain import JSON, Coverage, Edit, Level, Line, Outcome, Status, Step, Target, Tokens
from adacoder.journal import Asked, Evaluated, OpenStep, Repaired, Waiting
from adacoder.source.text import PositionEncoding, position_at

_EXIT_CODES = {
    Status.VERIFIED: 0,
    Status.PARTIAL: 1,
    Status.UNVERIFIED: 1,
    Status.FAILED: 1,
    Status.ERROR: 2,
    Status.CANCELLED: 130,
}

_SETTINGS = {
    "model": "adacoder.model",
    "host": "adacoder.ollama.host",
    "base-url": "adacoder.openai.baseUrl",
    "interpreter": "adacoder.interpreter",
    "isolation": "adacoder.isolation",
    "context-tokens": "adacoder.contextTokens",
    "first-token-timeout": "adacoder.firstTokenTimeout",
    "token-timeout": "adacoder.tokenTimeout",
    "reply-timeout": "adacoder.replyTimeout",
    "allow-cloud": "adacoder.allowCloud",
}
"""The command line's options that sentences for users name, as an editor's settings."""
_OPTION = re.compile(rf"--({'|'.join(_SETTINGS)})\b(?: (?P<level>{'|'.join(Level)}))?(?![-\w])")
_UNUSUAL = re.compile("[^\t\n -~\xa1-\xac\xae-\u05ff\u2e80-\ud7ff]")
"""What has to be looked at: a superset of what is unseen."""
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of control and format characters, of half characters, and of what ends lines and paragraphs."""
_JOINERS = "\u200c\u200d"
"""Persian words and families of emoji are written with them."""
_LINK = re.compile(r"\](?=\()|<(?=[A-Za-z][\w+.-]*:)")
"""What a text that is taken for Markdown has at the places of its links."""
_LONGEST = 1000
"""Of what an editor is to show in a line or a box; it would lay out all of it."""
_QUOTED, _LISTED = 60, 3
"""Of a line of code that is quoted, how many characters; and of several such, how many."""
_END = 300
"""How much of it is kept for the end, where summaries have their evidence."""


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """The command line's exit code (DESIGN, Contracts): of several outcomes the worst."""
    return max((_EXIT_CODES[outcome.status] for outcome in outcomes), default=0)


def summary(outcome: Outcome) -> str:
    """One line: how it ended, the evidence, and what else that rests on."""
    return " ".join([_ending(outcome), *_notes(outcome)])


def _notes(outcome: Outcome) -> list[str]:
    return [*(() if outcome.verdict is None else outcome.verdict.notes), *outcome.notes]


def in_an_editor(text: str) -> str:
    """A sentence that names options of the command line, with the settings that an editor has for them.

    >>> in_an_editor("Choose another with --model, or accept it with `--isolation none`.")
    'Choose another with adacoder.model, or accept it with `adacoder.isolation: none`.'
    """
    return _OPTION.sub(
        lambda match: _SETTINGS[match[1]] + (f": {match['level']}" if match["level"] else ""),
        text,
    )


def for_an_editor(outcome: Outcome) -> Outcome:
    """`outcome` with its sentences as `in_an_editor`."""
    reason = None if outcome.reason is None else in_an_editor(outcome.reason)
    steps = tuple(
        step if step.error is None else replace(step, error=in_an_editor(step.error)) for step in outcome.steps
    )
    return replace(outcome, reason=reason, notes=tuple(map(in_an_editor, outcome.notes)), steps=steps)


def _ending(outcome: Outcome) -> str:
    evidence = _evidence(outcome)
    match outcome.status:
        case Status.VERIFIED:
            return f"Verified '{outcome.target.qualname}': {evidence}."
        case Status.UNVERIFIED:
            return f"Unverified '{outcome.target.qualname}': {outcome.reason} ({evidence})"
        case Status.PARTIAL | Status.FAILED:
            what = "No verified candidate for" if outcome.strategy else "Not verified:"
            return f"{what} '{outcome.target.qualname}': {outcome.reason} ({evidence})"
        case Status.CANCELLED:
            return f"Cancelled '{outcome.target.qualname}'; nothing was changed."
        case Status.ERROR:
            return outcome.reason or "It could not run."


def _evidence(outcome: Outcome) -> str:
    tokens = total_tokens(outcome)
    parts, examples = list[str](), list[str]()
    verdict = outcome.verdict
    if verdict is not None and verdict.isolation is not None and outcome.total:
        examples.append(f"{outcome.passed}/{outcome.total} examples passed")
    if outcome.strategy:
        parts.append(count(outcome.rounds, "round"))
    if outcome.model and not outcome.model.startswith("replay:"):  # a recording is no model, and its path is long
        parts.append(outcome.model.removeprefix("ollama:"))
    if tokens.completion:
        about = "about " if tokens.estimated else ""
        parts.append(f"{about}{count(tokens.completion, 'token')}")
    parts.append(f"{outcome.seconds:.1f} s")
    if verdict is not None and verdict.isolation is not None:
        parts.append(f"isolation {verdict.isolation.level}")
    if unreached_lines := unreached(outcome):
        return "; ".join([*examples, unreached_lines, ", ".join(parts)])
    return ", ".join([*examples, *parts])


def unreached(outcome: Outcome) -> str:
    """What no example reached, as far as it is known and something: "no example reaches line 14: `except KeyError`"."""
    coverage = None if outcome.verdict is None else outcome.verdict.coverage
    if coverage is None:
        return ""
    places = [_place(block) for block in _blocks(coverage)]
    lines = [f"no example reaches {_listed(places, 'place')}"] if places else []
    tests = [f"line {line.number} was never {str(never).lower()}: {_quoted(line)}" for line, never in coverage.branches]
    return "; ".join([*lines, *([_listed(tests, "test")] if tests else [])])


def _blocks(coverage: Coverage) -> list[list[Line]]:
    """Its unreached lines; those that follow each other stand together, without what is deeper than their first."""
    at = {number: place for place, number in enumerate(coverage.lines)}
    blocks: list[list[Line]] = []
    end = 0
    for line in coverage.unreached:
        follows = blocks and at[line.number] == end + 1
        deeper = _depth(line) - _depth(blocks[-1][0]) if follows else -1
        if deeper < 0:
            blocks.append([line])
        elif deeper == 0:
            blocks[-1].append(line)
        end = at[line.number]
    return blocks


def _depth(line: Line) -> int:
    return len(line.text) - len(line.text.lstrip())


def _place(block: Sequence[Line]) -> str:
    first, last = block[0], block[-1]
    lines = f"line {first.number}" if first is last else f"lines {first.number} to {last.number}"
    return f"{lines}: {_quoted(first)}"


def _quoted(line: Line) -> str:
    text = line.text.strip().removesuffix(":")
    return f"`{text if len(text) <= _QUOTED else text[: _QUOTED - 1] + '…'}`"


def _listed(things: Sequence[str], noun: str) -> str:
    """The first of them, and how many more there are."""
    shown = ", ".join(things[:_LISTED])
    return shown if len(things) <= _LISTED else f"{shown}, and {count(len(things) - _LISTED, f'more {noun}')}"


def progress(event: OpenStep | Step | Waiting, most_rounds: int) -> str:
    """One line for a person who waits: phase, round, examples passed, tokens so far."""
    if isinstance(event, Waiting):
        return event.message
    where = " · ".join([f"round {event.round}/{most_rounds}", *event.branch])
    match event:
        case OpenStep():
            return f"{where} · {event.doing}{_written(event.written)}"
        case Step(details=Evaluated(has_run=False)):
            return f"{where} · nothing to run"
        case Step(details=Evaluated(total=total) as found) if total:
            return f"{where} · {found.passed}/{total} examples passed"
        case Step(details=Repaired(rules=rules)):
            return f"{where} · {_fixed(rules)}"
    return f"{where} · {event.doing}{_written(event.tokens.completion)}"


def _written(tokens: int) -> str:
    return f" · {count(tokens, 'token')}" if tokens else ""


def _fixed(rules: Sequence[str]) -> str:
    return f"fixed by rule: {in_words(rules)}" if rules else "no rule helps"


def in_words(rules: Sequence[str]) -> str:
    """The names of rules, for people."""
    return ", ".join(rule.replace("_", " ") for rule in rules)


def total_tokens(outcome: Outcome) -> Tokens:
    """All tokens of a request."""
    return sum((step.tokens for step in outcome.steps), Tokens())


def to_json(outcome: Outcome, folder: Path, encoding: PositionEncoding = "utf-16") -> dict[str, JSON]:
    """The one object that `--json` prints and `adacoder/run` answers with (DESIGN, Contracts).

    Args:
        outcome: the end of a request.
        folder: the workspace; `target` is named relative to it where it lies inside.
        encoding: of the characters in `edits`.
    """
    verdict = outcome.verdict
    return {
        "status": outcome.status.value,
        "reason": outcome.reason,
        "summary": summary(outcome),
        "target": label(outcome.target, folder),
        "examples": {
            "passed": outcome.passed,
            "total": outcome.total,
        },
        "coverage": None if verdict is None or verdict.coverage is None else _coverage_json(verdict.coverage),
        "rounds": outcome.rounds,
        "modelCalls": sum(isinstance(step.details, Asked) for step in outcome.steps),
        "tokens": total_tokens(outcome).json(),
        "seconds": round(outcome.seconds, 3),
        "model": outcome.model,
        "strategy": outcome.strategy,
        "isolation": None if verdict is None or verdict.isolation is None else verdict.isolation.json(),
        "notes": [*_notes(outcome)],
        "positionEncoding": encoding,
        "edits": [_edit_json(edit, outcome.target.text, encoding) for edit in outcome.edits],
        "failure": None if verdict is None or verdict.failure is None else verdict.failure.json(),
        "journal": [step.json() for step in outcome.steps],
    }


def label(target: Target, folder: Path) -> str:
    """`path::qualname`, the path relative to `folder` where it lies inside."""
    path = target.module.path
    shown = path.relative_to(folder) if path.is_relative_to(folder) else path
    return f"{shown.as_posix()}::{target.qualname}"


def _edit_json(edit: Edit, text: str, encoding: PositionEncoding) -> JSON:
    return {
        "range": {
            "start": _position_json(text, edit.start, encoding),
            "end": _position_json(text, edit.end, encoding),
        },
        "newText": edit.text,
    }


def _coverage_json(coverage: Coverage) -> JSON:
    return {
        "lines": len(coverage.lines),
        "unreached": [_line_json(line) for line in coverage.unreached],
        "branches": [{**_line_json(line), "never": never} for line, never in coverage.branches],
    }


def _line_json(line: Line) -> dict[str, JSON]:
    return {"line": line.number, "text": line.text.strip()}


def _position_json(text: str, offset: int, encoding: PositionEncoding) -> JSON:
    line, character = position_at(text, offset, encoding)
    return {"line": line, "character": character}


def count(number: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def visible(text: str) -> str:
    r"""`text` with escapes for all that cannot be seen, but tabs and ends of lines.

    >>> visible("a\x1b[2Jb\u202ec\td")
    'a\\x1b[2Jb\\u202ec\td'
    """
    return _UNUSUAL.sub(lambda match: _seen(match[0]), text)


@lru_cache(maxsize=4096)
def _seen(char: str) -> str:
    import unicodedata  # only where a text has characters that are seldom seen

    is_seen = unicodedata.category(char) not in _UNSEEN or char in _JOINERS
    return char if is_seen else char.encode("unicode_escape").decode()


def in_a_message(text: str) -> str:
    """`text` as an editor may show it: one visible line, not too long, of which no editor makes a link by its form.

    >>> in_a_message("see [this](command:x)")
    'see [this] (command:x)'
    """
    lines = visible(_shortened(text)).split("\n")
    return _shortened(_LINK.sub(r"\g<0> ", " ".join(filter(None, map(str.strip, lines)))))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - _END - 3]} … {text[-_END:]}"


class Visible:
    """A text stream through which all goes visibly; but for that it is the stream it was made of."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write `text` visibly."""
        self.stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write `lines` visibly."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)
