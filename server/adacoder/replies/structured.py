"""Code that stands as a text in JSON (a tool call, say), in an element of XML, or in a string of Python."""

from __future__ import annotations

import ast
import html
import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, cast

from adacoder.pytext import normalize, parsed
from adacoder.replies.printed import is_escaped

if TYPE_CHECKING:
    from adacoder.domain import JSON


@dataclass(frozen=True, slots=True)
class Text:
    """A text out of a structure."""

    text: str
    ended: bool
    """Whether it is all there: what it stands in did not break off in it."""


_CODE = r"(?:async[ \t]+)?def[ \t]+\w+|return\b|yield\b"
_IS_CODE = re.compile(rf"^[ \t]*(?:{_CODE})", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:`{3}|~{3})", re.MULTILINE)
_VALUE_BEGINS = re.compile(r"(?:^|[>\]])[ \t]*(?=\{\s*[\"'}]|\[\s*[\[{\"'])", re.MULTILINE)
_ATTEMPTS = 32
"""So many values of JSON in one reply are looked at."""
_LAST_TEXT = re.compile(r'"\w+"\s*:\s*"(?P<text>[^"\\]*(?:\\.[^"\\]*)*)(?P<closed>"?)', re.DOTALL)
_HALF_AN_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)\Z")


def texts_in_json(text: str) -> list[Text]:
    """The texts of code in the JSON that `text` is, or that stands somewhere in it, in order.

    Lists of lines are put together. JSON that broke off gives the code as far as it came.
    """
    found: list[Text] = []
    position = 0
    if text.lstrip()[:1] == '"':
        value, _ = _json_at(text, len(text) - len(text.lstrip()))
        return [Text(code, ended=True) for code in _codes(value)]
    for begin in islice(_VALUE_BEGINS.finditer(text), _ATTEMPTS):
        if begin.end() < position:
            continue
        value, end = _json_at(text, begin.end())
        if value is None:
            value, end = _python_at(text, begin.end())
        if value is None:
            found += _broken_off(text, begin.end())
            break
        found += [Text(code, ended=True) for code in _codes(value)]
        position = end
    return found


_DECODER = json.JSONDecoder(strict=False)


def _json_at(text: str, position: int) -> tuple[JSON, int]:
    """The JSON value at `position` and its end; None if there is none."""
    try:
        value, end = cast("tuple[JSON, int]", _DECODER.raw_decode(text, position))
    except (ValueError, RecursionError):
        return None, position
    return value, end


def _python_at(text: str, position: int) -> tuple[JSON, int]:
    """The value that ends the text, as Python writes it: with single quotes."""
    if text[position + 1 : position + 2] != "'" or parsed(text[position:].strip()) is None:
        return None, position
    try:
        value = cast("JSON", ast.literal_eval(text[position:].strip()))
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None, position
    return value, len(text)


def _broken_off(text: str, position: int) -> list[Text]:
    """The texts of code in an object that has no end."""
    found: list[Text] = []
    for match in _LAST_TEXT.finditer(text, position):
        ended = bool(match["closed"])
        value = match["text"] if ended else _HALF_AN_ESCAPE.sub("", match["text"])
        decoded, _ = _json_at(f'"{value}"', 0)
        found += [Text(code, ended) for code in _codes(decoded)]
    return found


def _codes(value: JSON) -> Iterator[str]:
    """Every text of code in a JSON value; one that is itself JSON (as some `arguments` are) is looked into."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += reversed(value.values())
        elif isinstance(value, list):
            lines = [each for each in value if isinstance(each, str)]
            if len(lines) == len(value) and not any("\n" in line.removesuffix("\n") for line in lines):
                waiting.append("\n".join(line.removesuffix("\n") for line in lines))
            else:
                waiting += reversed(value)
        elif isinstance(value, str):
            inner, _ = _json_at(value, 0) if value.startswith(("{", "[")) else (None, 0)
            if isinstance(inner, dict | list):
                waiting.append(inner)
            elif _IS_CODE.search(normalize(value)) or _FENCE.search(value):
                yield normalize(value)


def texts_in_strings(text: str) -> list[Text]:
    """The texts of code in the strings of `text`, if that is Python: a tool's call is, or `code = \"\"\"…\"\"\"`."""
    tree = parsed(text)
    values = (node.value for node in ([] if tree is None else ast.walk(tree)) if isinstance(node, ast.Constant))
    return [Text(code, ended=True) for value in values if isinstance(value, str) for code in _codes(value)]


_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w.:-]*)(?P<rest>(?:[ =][^<>\n]*)?)>")
_CODE_IN_ELEMENT = re.compile(rf"(?:^|(?<=>)|(?<=CDATA\[))[ \t]*(?:{_CODE})", re.MULTILINE)
_CHARACTER_DATA = re.compile(r"\s*<!\[CDATA\[(?P<text>.*?)(?:\]\]>\s*)?\Z", re.DOTALL)
_BEGINS_WITH_CODE = re.compile(
    r"\s*(?:@\w|(?:async[ \t]+)?def[ \t]|import[ \t]|from[ \t]|class[ \t]|return\b|<!\[CDATA)"
)


def texts_in_elements(text: str) -> list[Text]:
    """The code in the innermost elements of `text` that hold some, and in an element at the end that has no
    closing tag but begins with code."""
    opened: dict[str, int] = {}
    found: list[Text] = []
    held = 0
    codes = [code.end() for code in _CODE_IN_ELEMENT.finditer(text)]
    for tag in _TAG.finditer(text):
        begin = opened.pop(tag["name"], -1) if tag["close"] else -1
        if not tag["close"]:
            opened[tag["name"]] = tag.end()
        elif begin >= held and bisect_right(codes, tag.start()) > bisect_right(codes, begin):
            found.append(Text(_character_data(text[begin : tag.start()]), ended=True))
            held = tag.end()
    last = max((begin for begin in opened.values() if begin >= held), default=None)
    if not found and codes and last is not None and _BEGINS_WITH_CODE.match(text, last):
        found.append(Text(_character_data(text[last:]), ended=False))
    return found


def _character_data(text: str) -> str:
    """What an element says."""
    if data := _CHARACTER_DATA.fullmatch(text):
        return data["text"]
    return html.unescape(text) if is_escaped(text) else text
