"""Remove thoughts and control tokens from a model's reply.

A filter is a function from text to text. Filters are applied only while AdaCoder's Python cannot parse the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from adacoder.pytext import normalize, parsed
from adacoder.thoughts import CHANNEL, CLOSING, OPENING

Filter = Callable[[str], str]


LONGEST_ANSWER = 250_000
"""Maximum characters of an answer. The rest is cut off."""
_LONGEST = 1_000_000
"""Maximum characters of a reply with its thoughts. The rest is cut off."""


def answer(text: str) -> str:
    """Return the answer in a reply: the text after the thoughts, with at most `LONGEST_ANSWER` characters."""
    return without_thinking(text[:_LONGEST])[:LONGEST_ANSWER]


def unwrapped(text: str) -> str:
    r"""Remove thoughts and control tokens from a reply. Prose and fences stay, and line endings become `\n`."""
    text = text if len(text) <= LONGEST_ANSWER else answer(text)
    text = normalize(text.replace("\r\r\n", "\r\n"))  # Some line endings were converted twice.
    return filtered(without_byte_order_mark(text), UNWRAPPING)


def filtered(text: str, filters: Iterable[Filter]) -> str:
    """Apply `filters` to `text` in order, until AdaCoder's Python can parse the text."""
    if is_python(text):
        return text
    for change in filters:
        changed = change(text)
        if changed != text and is_python(changed):
            return changed
        text = changed
    return text


def is_python(text: str) -> bool:
    """Return whether AdaCoder's Python can parse `text`, as a module or as an indented body."""
    return parsed(f"if 1:\n{text}" if text[:1] in (" ", "\t") else text) is not None


def without_byte_order_mark(text: str) -> str:
    """Return `text` without U+FEFF at its start."""
    return text.removeprefix("\ufeff")


_THINKING_OPENS = re.compile(rf"(?:\s*{OPENING})+", re.IGNORECASE)
_THINKING_CLOSES = re.compile(rf"(?<![\"'`]){CLOSING}(?![\"'`])", re.IGNORECASE)
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_CHANNEL = re.compile(CHANNEL)


def without_thinking(text: str) -> str:
    """Return `text` without the model's thoughts before its answer.

    If the opening tag is missing, the thoughts end at the last closing tag outside of fences. If the closing tag is
    missing, all text after the opening tag is kept, because the answer often follows.
    """
    text = _from_last_channel(text)
    position = 0
    while opens := _THINKING_OPENS.match(text, position):
        position = (_THINKING_CLOSES.search(text, opens.end()) or opens).end()
    text = text[position:]
    fences = counted = begin = 0
    for closes in _THINKING_CLOSES.finditer(text):
        fences += len(_FENCE_LINE.findall(text, counted, closes.start()))
        counted = closes.start()
        if fences % 2 == 0 and not text[closes.end() :].isspace():
            begin = closes.end()
    return text[begin:]


def is_thinking(text: str) -> bool:
    """Return whether a growing reply ends while the model is still thinking."""
    channels = [channel["name"] for channel in _CHANNEL.finditer(text)]
    if channels:
        return "final" not in channels
    opens = _THINKING_OPENS.match(text)
    return opens is not None and _THINKING_CLOSES.search(text, opens.end()) is None


def is_inside_fence(text: str) -> bool:
    """Return whether `text` ends in a fence that has not been closed."""
    return len(_FENCE_LINE.findall(text)) % 2 == 1


def ends_in_fence_line(text: str) -> bool:
    """Return whether the last line of `text` is a fence."""
    return _FENCE_LINE.match(text.rstrip().rpartition("\n")[2]) is not None


def _from_last_channel(text: str) -> str:
    """Return the text of the `final` channel. Without this channel, return the last channel or all text."""
    channels = list(_CHANNEL.finditer(text))
    final = next((channel for channel in channels if channel["name"] == "final"), None)
    last = final or (channels[-1] if channels else None)
    return text if last is None else text[last.end() :]


_ENDING = (
    r"(?:<\|(?:endoftext|end_of_text|end_of_solution|im_end|eot_id|eom_id|end|return|file_sep|fim_\w+)\|>"
    r"|<｜(?:end▁of▁sentence|fim▁\w+)｜>|<(?:fim_\w+|file_sep|EOT|SUF|MID|eos|end_of_turn)>)"
)
_CONTROL = (
    rf"(?:{_ENDING}|<[|｜][^<>|｜\n]{{1,40}}[|｜]>|</?s>|<(?:bos|pad|unk|start_of_turn|PRE)>"
    r"|\[/?(?:INST|PYTHON)\]|</?(?:tool_call|answer|solution|code|python)>)"
)
_LONGEST_CONTROL = 44
_CONTROLS_BEFORE = re.compile(rf"(?:\s*{_CONTROL}(?:(?:assistant|model)\b)?)+")
_CONTROL_AT_END = re.compile(rf"{_CONTROL}\Z")
_ENDS = re.compile(rf"(?<![\"'`]){_ENDING}(?![\"']|`(?!``))(?P<fence>\s*^[ \t]*(?:```|~~~)|```)?", re.MULTILINE)


def without_control_tokens(text: str) -> str:
    """Return `text` without the control tokens of a chat template at its start and end.

    The text ends at the first token that marks an end, such as `<|im_end|>`. A closing fence after this token is kept.
    """
    if before := _CONTROLS_BEFORE.match(text):
        text = text[before.end() :]
    if ends := _ENDS.search(text):
        text = text[: ends.start()] + (ends["fence"] or "")
    end = len(text.rstrip())
    while after := _CONTROL_AT_END.search(text, max(0, end - _LONGEST_CONTROL), end):
        end = after.start()
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]


UNWRAPPING: tuple[Filter, ...] = (without_thinking, without_control_tokens)
"""Filters for a whole reply, in the order in which `unwrapped` applies them."""
