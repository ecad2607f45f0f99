"""Where in a reply the code stands: its fenced blocks, and the runs of code between its prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from adacoder.pytext import logical_lines
from adacoder.replies.filters import compiles, out_of_json, readable


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a reply that holds code."""

    text: str
    ended: bool
    """Whether something stands behind it, so that it cannot go on: a closing fence, prose."""


_FENCE = re.compile(
    r"(?P<indent>[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?)(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>[^`]*?)[ \t]*"
)
_FENCE_AFTER_WORDS = re.compile(r"[^`]*[^`\s][ \t]*(?P<marks>`{3,})[ \t]*(?P<info>python3?|py)[ \t]*", re.IGNORECASE)
_FENCE_BEHIND_CODE = re.compile(r"(?P<code>[^`]*[^`\s])[ \t]*`{3,}[ \t]*")
_CODE_AS_INFO = re.compile(r"(?:@|(?:async[ \t]+)?def[ \t]|import[ \t]|from[ \t]|class[ \t]|return\b)")
_PYTHON = re.compile(r"py|python3?", re.IGNORECASE)
_MARKDOWN = re.compile(r"|md|markdown", re.IGNORECASE)
_OTHER_LANGUAGE = re.compile(
    r"(?:bash|sh|shell|zsh|fish|console|powershell|ps1|bat|cmd|javascript|jsx?|typescript|tsx?|java|c|h|cpp|c\+\+|cc|cs"
    r"|csharp|c#|go|golang|rust|rs|ruby|rb|php|perl|kotlin|swift|scala|haskell|lua|r|julia|sql|html|css|xml|ya?ml"
    r"|toml|ini|diff|patch|makefile|dockerfile|mermaid|latex|tex)\b",
    re.IGNORECASE,
)


def fenced_blocks(text: str) -> list[Block]:
    """The fenced blocks of `text` that may hold Python, in order; none if the text as a whole is Python.

    A fence inside a string (a docstring with Markdown in it) neither opens nor closes a block. A fence that is
    never closed holds the rest of the text. Fences inside a longer fence are looked into.
    """
    if ("```" not in text and "~~~" not in text) or compiles(text):
        return []
    return list(_blocks(text.split("\n"), nested=False))


def _blocks(lines: list[str], *, nested: bool) -> Iterator[Block]:
    index = 0
    while index < len(lines):
        opening = _FENCE.fullmatch(lines[index]) or _FENCE_AFTER_WORDS.fullmatch(lines[index])
        index += 1
        if opening is None:
            continue
        content, ended, index = _content(lines, index, opening["marks"])
        info = opening["info"]
        if _CODE_AS_INFO.match(info):
            content.insert(0, info)
        elif _OTHER_LANGUAGE.match(info):
            continue
        inner = [] if nested or not _MARKDOWN.fullmatch(info) else list(_inside(content))
        yield from inner or [Block(readable(out_of_json(_moved_left(content, opening))), ended)]


def _inside(content: list[str]) -> Iterator[Block]:
    """The Python blocks inside a block of Markdown."""
    if any((fence := _FENCE.fullmatch(line)) and _PYTHON.fullmatch(fence["info"]) for line in content):
        yield from (block for block in _blocks(content, nested=True) if block.text.strip())


def _content(lines: list[str], begin: int, marks: str) -> tuple[list[str], bool, int]:
    """The lines of the block from line `begin` on, whether its fence is closed, and the line to go on from."""
    triple = ""
    first_in_string: int | None = None
    for index in range(begin, len(lines)):
        line = lines[index]
        fence = _FENCE.fullmatch(line)
        if fence is not None and fence["marks"].startswith(marks):
            if not triple and fence["info"]:
                return lines[begin:index], True, index
            if not triple:
                return lines[begin:index], True, index + 1
            if first_in_string is None and not fence["info"]:
                first_in_string = index
            continue
        behind = None if triple or "```" not in line else _FENCE_BEHIND_CODE.fullmatch(line)
        if behind is not None and "#" not in behind["code"] and not _triple_after(behind["code"], triple):
            return [*lines[begin:index], behind["code"]], True, index + 1
        triple = _triple_after(line, triple)
    if first_in_string is not None:
        return lines[begin:first_in_string], True, first_in_string + 1
    return lines[begin:], False, len(lines)


_QUOTE_OR_COMMENT = re.compile(r"\"{3}|'{3}|\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])*'?|#.*")
_UP_TO = {triple: re.compile(rf"(?:\\.|(?!{triple}).)*{triple}") for triple in ('"""', "'''")}


def _triple_after(line: str, triple: str) -> str:
    """Which triple quote is open at the end of `line`, if `triple` is at its beginning; empty if none is."""
    position = 0
    while True:
        if triple:
            close = _UP_TO[triple].match(line, position)
            if close is None:
                return triple
            triple, position = "", close.end()
        found = _QUOTE_OR_COMMENT.search(line, position)
        if found is None:
            return ""
        position = found.end()
        if found[0] in ('"""', "'''"):
            triple = found[0]


def _moved_left(lines: list[str], opening: re.Match[str]) -> str:
    """The text of a block, without the indentation of its fence (under a list, say) if every line has it."""
    width = len(opening.groupdict().get("indent") or "")
    if width and not any(line[:width].strip() for line in lines):
        lines = [line[width:] for line in lines]
    return "\n".join(lines)


def runs(block: Block) -> list[Block]:
    """The runs of code in `block`, cut where prose stands at column 0; the prose is left out."""
    found: list[Block] = []
    begin = position = 0
    text = block.text
    while (line := next(logical_lines(text, position), None)) is not None:
        position = line.end
        if line.width == 0 and is_prose(first := text[line.start : _line_end(text, line.start)]):
            found.append(Block(text[begin : line.start], ended=True))
            begin = position = min(line.start + len(first) + 1, len(text))
    found.append(Block(text[begin:], block.ended))
    return [run for run in found if run.text.strip()]


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


_KEYWORD = (
    r"(?:and|as|assert|async|await|break|case|class|continue|def|del|elif|else|except|finally|for|from|global|if|import"
    r"|in|is|lambda|match|nonlocal|not|or|pass|print|raise|return|try|type|while|with|yield|None|True|False)\b"
)
_PROSE = re.compile(
    rf"[\w'’ ]*?(?<![\w'’])(?!{_KEYWORD})[^\W\d][\w'’]*"  # two words in a row
    rf" (?!{_KEYWORD})[^\W\d][\w'’-]*(?=[\s,.:;!?—)]|$)"
    r"|[^\W\d][\w'’-]*(?:,?[ ][\w'’-]+)+(?<!\d)[.!?]$"  # It is so.
    rf"|(?!{_KEYWORD})[^\W\d]\w*[ ]*:[ ]*$"  # Solution:
    r"|[^\W\d]+['’](?:s|ll|ve|re|m|d|t)\b"  # Here's
    r"|(?:Sure|Okay|OK|Certainly|Note|Explanation|Examples?|Output|Usage)[!,.:](?:\s|$)"
    r"|(?:[-*+•]|\d+[.)])[ ]+\S"  # an item of a list
    r"|\*\*|~~~|```|={3,}|-{3,}|\|"  # bold, fences, rules, tables
    r"|</?[A-Za-z][\w-]*>|\[/?[A-Z]{3,}\]"  # tags
)


def is_prose(line: str) -> bool:
    """Whether a line at column 0 is a sentence, or a mark of Markdown, and no Python."""
    return _PROSE.match(line) is not None
