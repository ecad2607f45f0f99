"""Find the blocks of code in a reply: text in fences, in JSON and in patches, and code between prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from adacoder.pytext import leaves_string_open, logical_lines, parsed
from adacoder.pytext.lines import content_end
from adacoder.replies.structured import texts_in_json
from adacoder.replies.transcript import readable


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a reply that contains code."""

    text: str
    ended: bool
    """True if a closing fence or prose follows the block, so that the block can no longer grow."""
    is_marked: bool = True
    """False for text outside of fences, which is mostly prose."""
    notes: tuple[str, ...] = ()
    """Notes about this block for the user, to be copied to `Candidate.notes`."""


_PATCH = re.compile(r"^(?:@@(?: |$)|<{5,} ?(?:SEARCH|ORIGINAL|HEAD)\b|--- .*\n\+\+\+ |\*{3} Begin Patch)", re.MULTILINE)


def is_patch(text: str) -> bool:
    """Return whether `text` contains a patch."""
    return _PATCH.search(text) is not None


def code_blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a reply, and the unmarked text between them.

    If there are no fences, return the code in JSON, or the whole reply if it contains a patch.
    """
    blocks = _fenced(text)
    if not blocks and (text.lstrip()[:1] in ("{", "[") or parsed(text) is None):
        blocks = [block for code in texts_in_json(text) for block in fenced_blocks(code) or [_whole(code)]]
    if not blocks and is_patch(text):
        return [Block(text, ended=False)]
    return blocks


def _whole(code: str) -> Block:
    return Block(code if is_patch(code) else readable(code), ended=True)


_FENCE = re.compile(r"(?P<indent>[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?)(?P<marks>`{3,}|~{3,})(?P<info>[^`]*)")
_FENCE_BEHIND_CODE = re.compile(r"(?P<code>[^`]*[^`\s])[ \t]*`{3,}[ \t]*")
_CODE_AS_INFO = re.compile(r"(?:@|(?:async[ \t]+)?def[ \t]|import[ \t]|from[ \t]|class[ \t]|return\b)")
_DIFF = re.compile(r"(?:diff|patch)\b", re.IGNORECASE)
_OTHER_LANGUAGE = re.compile(
    r"(?:bash|sh|shell|zsh|fish|console|powershell|ps1|bat|cmd|javascript|jsx?|typescript|tsx?|java|c|h|cpp|c\+\+|cc|cs"
    r"|csharp|c#|go|golang|rust|rs|ruby|rb|php|perl|kotlin|swift|scala|haskell|lua|r|julia|sql|html|css|ya?ml"
    r"|toml|ini|makefile|dockerfile|mermaid|latex|tex)\b",
    re.IGNORECASE,
)


def fenced_blocks(text: str) -> list[Block]:
    """Return the fenced blocks of `text` that may contain Python, in order.

    If `text` as a whole is Python, return no blocks: the fences are then part of a docstring. An unclosed fence
    contains the rest of the text.
    """
    return [block for block in _fenced(text) if block.is_marked]


def _fenced(text: str) -> list[Block]:
    """Return the fenced blocks and the text between them; empty if no fenced block may contain Python."""
    if ("```" not in text and "~~~" not in text) or parsed(text) is not None:
        return []
    blocks = list(_blocks(text.split("\n")))
    return blocks if any(block.is_marked for block in blocks) else []


def _blocks(lines: list[str]) -> Iterator[Block]:
    index = begin = 0
    while index < len(lines):
        opening = _fence(lines[index])
        index += 1
        if opening is None:
            continue
        yield _beside(lines[begin : index - 1], ended=True)
        content, ended, index = _content(lines, index, opening["marks"])
        begin = index
        info = opening["info"].strip()
        if _CODE_AS_INFO.match(info):
            content.insert(0, info)
        elif _DIFF.match(info):
            yield Block("\n".join(content if is_patch("\n".join(content)) else ["@@", *content]), ended)
            continue
        elif _OTHER_LANGUAGE.match(info):
            continue
        yield from _contents(_moved_left(content, opening), ended=ended)
    yield _beside(lines[begin:], ended=False)


def _beside(lines: list[str], *, ended: bool) -> Block:
    return Block("\n".join(lines), ended, is_marked=False)


def _fence(line: str) -> re.Match[str] | None:
    return _FENCE.fullmatch(line) if "```" in line or "~~~" in line else None


def _contents(text: str, *, ended: bool) -> list[Block]:
    """Return the blocks in the text of a fence: the code in JSON values, or else the whole text."""
    codes = texts_in_json(text) if text.lstrip()[:1] in ("{", "[") else ()
    return [_whole(code) for code in codes] or [Block(text if is_patch(text) else readable(text), ended)]


def _content(lines: list[str], begin: int, marks: str) -> tuple[list[str], bool, int]:
    """Return the lines of a fenced block from `begin`, whether its fence is closed, and the index of the next line."""
    triple = ""
    first_in_string: int | None = None
    for index in range(begin, len(lines)):
        line = lines[index]
        fence = _fence(line)
        if fence is not None and fence["marks"].startswith(marks):
            info = fence["info"].strip()
            if not triple and info:
                return lines[begin:index], True, index
            if not triple:
                return lines[begin:index], True, index + 1
            if first_in_string is None and not info:
                first_in_string = index
            continue
        behind = None if triple or "```" not in line else _FENCE_BEHIND_CODE.fullmatch(line)
        if behind is not None and "#" not in behind["code"] and not _triple_after(behind["code"], triple):
            return [*lines[begin:index], behind["code"]], True, index + 1
        triple = _triple_after(line, triple)
    if first_in_string is not None:
        return lines[begin:first_in_string], False, first_in_string + 1
    return lines[begin:], False, len(lines)


_QUOTE_OR_COMMENT = re.compile(r"\"{3}|'{3}|\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])*'?|#.*")
_UP_TO = {triple: re.compile(rf"(?:\\.|(?!{triple}).)*{triple}") for triple in ('"""', "'''")}


def _triple_after(line: str, triple: str) -> str:
    """Return the triple quote that is open at the end of `line`, or "" if there is none.

    `triple` is the triple quote that is open at the start of `line`, or "".
    """
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
    """Return the text of a fenced block. If the fence is indented, its indentation is removed from all lines."""
    width = len(opening["indent"])
    if width and not any(line[:width].strip() for line in lines):
        lines = [line[width:] for line in lines]
    return "\n".join(lines)


_KEYWORD = (
    r"(?:and|as|assert|async|await|break|case|class|continue|def|del|elif|else|except|finally|for|from|global|if|import"
    r"|in|is|lambda|match|nonlocal|not|or|pass|print|raise|return|try|type|while|with|yield|None|True|False)\b"
)
_PROSE = re.compile(
    rf"[\w'’ ]*?(?<![\w'’])(?!{_KEYWORD})[^\W\d][\w'’]*"  # two words without an operator
    rf" (?!{_KEYWORD})[^\W\d][\w'’-]*(?=[\s,.:;!?—)]|$)"
    r"|[^\W\d][\w'’-]*(?:,?[ ][\w'’-]+)+(?<!\d)[.!?]$"  # a sentence, such as "It works."
    rf"|(?!{_KEYWORD})[^\W\d]\w*[ ]*:[ ]*$"  # a label, such as "Solution:"
    r"|[^\W\d]+['’](?:s|ll|ve|re|m|d|t)\b"  # a contraction, such as "Here's"
    r"|(?:Sure|Okay|OK|Certainly|Note|Explanation|Examples?|Output|Usage)[!,.:](?:\s|$)"
    r"|(?:[-*+•]|\d+[.)])[ ]+\S"  # a list item
    r"|\*\*|~~~|```|={3,}|-{3,}|\|"  # bold text, fences, rules, tables
    r"|</?[A-Za-z][\w-]*>|\[/?[A-Z]{3,}\]"  # tags of HTML or a chat template
)


def is_prose(line: str) -> bool:
    """Return whether a line at column 0 is prose or Markdown instead of Python."""
    return _PROSE.match(line) is not None


def runs(block: Block) -> list[Block]:
    """Split a block at prose, and return the parts that are code.

    Only a line at column 0 can be prose. If a string is still open above such a line, the prose may be part of the
    string.
    """
    found: list[Block] = []
    begin = position = 0
    text = block.text
    while (line := next(logical_lines(text, position), None)) is not None:
        position = line.end
        if line.width == 0 and is_prose(first := text[line.start : content_end(text, line.start)]):
            run = text[begin : line.start]
            found.append(replace(block, text=run, ended=block.ended or not leaves_string_open(run)))
            begin = position = min(line.start + len(first) + 1, len(text))
    found.append(replace(block, text=text[begin:]))
    return [run for run in found if run.text.strip()]
