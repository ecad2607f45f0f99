"""Decode parts of texts that are URL-encoded, escaped, hexadecimal or in base64."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Iterator
from typing import TypeAlias
from urllib.parse import unquote

MASK = "…"
_DEEPEST = 3
"""Maximum depth of nested encodings."""
_WORD = re.compile(r"[^\s\"'`<>]{8,}")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[0-7]{3}|[abfnrtv/\\])")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,10});")
_HEX = re.compile(r"[0-9A-Fa-f]{16,}|\b[0-9A-Fa-f]{2}(?:[ :-][0-9A-Fa-f]{2}){7,}\b")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]|(?<=[A-Za-z0-9+/]{60})\r?\n){16,}={0,2}")
_CONTROLS = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_LATIN = 256
_READABLE = re.compile(r"[\x20-\x7e\n]{4,}")

Readings: TypeAlias = Callable[[str], Iterator[str]]
"""A function that yields the texts that a run of hexadecimal or base64 digits may encode."""


def decoded(text: str, mask: Callable[[str], str], depth: int = _DEEPEST) -> str:
    """Apply `mask` to `text` and to everything that is encoded in it.

    Up to `depth` nested encodings are decoded. Encoded text stays as it is unless `mask` changes the decoded form.
    """
    text = mask(text)
    if depth:
        text = _WORD.sub(lambda word: _word(word[0], mask, depth - 1), text)
        for runs, readings in ((_HEX, _of_hex), (_BASE64, _of_base64)):
            text = _opaque(text, runs, readings, lambda read: decoded(read, mask, depth - 1))
    return text


def _word(word: str, mask: Callable[[str], str], depth: int) -> str:
    plain = word
    if "%" in plain and _PERCENT.search(plain):
        plain = unquote(plain, errors="replace")
    if "\\" in plain:
        plain = _ESCAPE.sub(_unescaped, plain)
    if "&" in plain and ";" in plain:
        plain = _ENTITY.sub(lambda entity: html.unescape(entity[0]), plain)
    if plain == word:
        return word
    masked = decoded(plain, mask, depth)
    return word if masked == plain else masked.replace("\n", r"\n").replace("\r", r"\r").replace("\t", r"\t")


def _unescaped(escape: re.Match[str]) -> str:
    sign = escape[0][1:]
    if sign[0] in "uUx":
        code = int(sign[1:], 16)
        return chr(code) if code <= 0x10FFFF else escape[0]
    return chr(int(sign, 8) % _LATIN) if sign.isdigit() else _CONTROLS.get(sign, sign)


def _opaque(text: str, runs: re.Pattern[str], readings: Readings, mask: Callable[[str], str]) -> str:
    """Replace hexadecimal or base64 digits by MASK if they may encode a text that `mask` changes."""
    read = "\n".join(each for run in runs.findall(text) for each in readings(run))
    if not read or mask(read) == read:
        return text

    def masked(run: re.Match[str]) -> str:
        return run[0] if all(mask(each) == each for each in readings(run[0])) else MASK

    return runs.sub(masked, text)


def _of_hex(run: str) -> Iterator[str]:
    digits = re.sub(r"[ :-]", "", run)
    for start in (0, 1):
        even = digits[start : start + (len(digits) - start) // 2 * 2]
        yield _text(bytes.fromhex(even))


def _of_base64(run: str) -> Iterator[str]:
    letters = re.sub(r"[\r\n=]", "", run).translate(str.maketrans("-_", "+/"))
    for start in range(4):
        whole = letters[start : start + (len(letters) - start) // 4 * 4]
        rest = letters[start + len(whole) :]
        padded = whole + (rest + "=" * (-len(rest) % 4) if len(rest) > 1 else "")
        yield _text(base64.b64decode(padded))


def _text(data: bytes) -> str:
    return "\n".join(_READABLE.findall(data.replace(b"\0", b"").decode("latin-1")))
