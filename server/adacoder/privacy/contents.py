"""Find secrets by content: private keys, tokens of well-known services, and values with names like `password`.

Only this module recognises secrets. It reads their patterns from `forms.txt`, `gitleaks.txt` and `detectors.txt`.

Each pattern matches text of limited length, so a search takes linear time. A pattern with keywords is tried only on
texts that contain a keyword.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

from adacoder.privacy.encodings import MASK, decoded

READING = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
    READING |= getattr(os, _flag, 0)
"""Flags to open a file without following a link at its path, and without waiting. Some systems lack some of these
flags.
"""

MOST_BYTES = 64 * 1024
"""Only this many bytes at the beginning of a file are searched."""
LARGEST = 4 * 1024 * 1024
"""Files with more bytes are not searched."""
_MOST_KEPT = 50_000
_LISTS = ("forms.txt", "gitleaks.txt", "detectors.txt")
_TELLS_OF_THE_REST = frozenset({"a secret of Kubernetes", "a vault of Ansible"})
"""Kinds of secrets whose pattern matches only a marker in front of the secret. Masking the marker would not hide the
secret.
"""
_BEGIN = r"\b"
_ESCAPED = re.compile(r"\\[abfnrtv]\Z|%[0-9A-Fa-f]{2}\Z|\\x[0-9A-Fa-f]{2}\Z|\\u[0-9A-Fa-f]{4}\Z")
"""Matches an escape sequence at the end of a text, such as `\\n` or `%3D`. A token may begin directly after an escape
sequence.
"""
_LONGEST_ESCAPE = 6

_WORDS = re.compile(r"[A-Za-z0-9_.~+/=:|%@?&!*,;-]{16,}")
"""Matches a word that could contain a token."""
_LONGEST_WORD = 3000
"""Longer words are searched only up to this number of characters."""
_TELLING = re.compile(r"[0-9A-Z]|[a-z]{20}")
"""A word that does not match this pattern contains no token, and is not searched."""

_GIVEN = re.compile(
    r"(?:[=:>]|(?<=[\"']),(?=[ \t]{0,9}[rRbBuUfF]{0,2}[\"']))[ \t]{0,9}(?:[rRbBuUfF]{1,2}(?=[\"']))?(?:\\?[\"'`]){0,3}"
    r"(?P<value>[^\s\"'`\\,;<>()\[\]{}]{8,500})"
)
"""Matches a separator, such as `=`, and the value that follows."""
_NAME_BACKWARDS = re.compile(
    r"[ \t]{0,9}(?:[\"'`\])>\\]{1,4}[ \t]{0,9})?(?:[\w\[\], |.]{1,40}:[ \t]{0,9})?([A-Za-z0-9_.-]{2,60})"
)
"""Matches a name before a separator, with its type annotation if there is one. The text to search must be reversed."""
_LONGEST_NAMING = 130
_STRONG = frozenset(
    {
        *("password", "passwords", "passwd", "pwd", "passphrase", "passcode", "secret", "secrets", "credential"),
        *("credentials", "creds", "pass", "pw", "psk"),
    }
)
_WEAK = frozenset(
    {
        *("key", "keys", "apikey", "token", "tokens", "auth", "dsn", "authorization", "bearer", "jwt", "pat"),
        *("session", "sessionid", "cookie", "webhook", "csrf"),
    }
)
_ENDINGS = ("password", "passwd", "secret", "apikey", "token", "passphrase", "accesskey", "secretkey", "pwd")
_OPEN = frozenset(
    {
        *("public", "pub", "primary", "foreign", "sort", "cache", "partition", "next", "page", "cursor"),
        *("continuation", "idempotency", "hash", "checksum", "sha", "sha1", "sha256", "md5", "digest", "pad", "eos"),
        *("bos", "mask", "fingerprint", "id", "name", "path", "file", "url", "uri", "type", "field", "column"),
        *("regex", "pattern"),
    }
)
"""If a name contains one of these words, as `public_key` does, the value is usually not secret."""
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_MADE_UP = re.compile(
    r"(?i:example|change.?me|placeholder|your|xxxx|dummy|sample|\*\*\*|\.\.\.|redacted|insert|replace|default|todo"
    r"|foobar|^(?:none|null|true|false|password|secret|token|string|str|bytes|pass|user|test)\d{0,4}$|^\$|^%|\{\{|^<)"
)
"""Matches placeholders that people write in place of a secret."""
_PATH = re.compile(r"(?:\.{0,2}/|[A-Za-z]:[/\\])|[\w.-]{0,80}/[\w./-]{0,200}\Z|[\w-]{1,80}\.[a-z]{2,4}\Z")
_QUERY = re.compile(r"([^&]{1,500})&[\w.-]{1,100}=")
_NAMED = re.compile(r"(?=[A-Za-z0-9]{0,500}[._])[A-Za-z_][\w.]{0,500}\Z")
"""Matches an identifier with dots or underscores, which is not a password."""
_MIXED = re.compile(r"[0-9!@#$%^&*+?~]|[a-z][A-Z]")
_LETTERS = tuple(map(re.compile, ("[0-9]", "[a-z]", "[A-Z]", "[^A-Za-z0-9]")))
_LEAST_MIXED = 2
"""Minimum number of kinds of characters (digits, small letters, capitals) in a random string."""
_LEAST_KINDS = 3
"""Minimum number of kinds of characters in a password (digits, small letters, capitals, others)."""
_LEAST_ENTROPY = 2.5
_IS_BASE64 = re.compile(r"[A-Za-z0-9+/]{1,500}={0,2}\Z")
_IS_PATH = re.compile(r"/(?:Users|dev|etc|home|mnt|opt|private|proc|root|run|srv|tmp|usr|var)/")
"""Matches a path in a system folder. Such a path may look random, but is not a secret."""
_LEAST_RANDOM = 3.0
_IN_ADDRESS = "a password in an address"
"""Kind of passwords in addresses. Many are only examples, so `found_in` reports only passwords that look real."""
_CALLED = "a value that is named like a secret"
_SHORTEST = {True: 8, False: 16}
"""Minimum length of a secret value. The keys are the results of `secrecy_of` for the value's name."""
_QUOTED = re.compile(r"(?<=[\"'`])[A-Za-z0-9+/=_.~-]{20,500}(?=\\?[\"'`])")
"""Matches a string in quotes that is long enough to be a key."""


@dataclass(frozen=True)
class _Form:
    what: str
    entropy: float
    """Minimum entropy of a secret, in bits per character."""
    signs: tuple[str, ...]
    """Keywords in lower case. Every match contains a keyword, so a text without keywords need not be searched."""
    source: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.source.removeprefix(_BEGIN), re.ASCII)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each secret in `text`."""
        begins = self.source.startswith(_BEGIN)
        for match in self.pattern.finditer(text):
            if begins and not _begins_word(text, match.start()):
                continue
            secret = match[match.lastindex or 0]
            if (self.entropy and entropy(secret) < self.entropy) or (match.lastindex and _MADE_UP.search(secret)):
                continue
            yield match.span(match.lastindex or 0)


@dataclass(frozen=True)
class _Forms:
    words: tuple[_Form, ...]
    """Patterns of secrets that are a single word."""
    passages: tuple[_Form, ...]
    """Patterns of secrets that can span several words or lines."""
    named: tuple[_Form, ...]
    """Patterns of values that are secret only after certain names. In these patterns, `signs` has one item, which
    matches the names.
    """

    @cached_property
    def names(self) -> re.Pattern[str]:
        return re.compile("|".join({form.signs[0] for form in self.named}), re.IGNORECASE)


@cache
def _forms() -> _Forms:
    found: dict[str, list[_Form]] = {"[forms]": [], "[passages]": [], "[named]": []}
    for name in _LISTS:
        section = ""
        for line in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines():
            if line in found:
                section = line
            elif line and not line.startswith("#"):
                what, least, signs, source = line.split("\t")
                parts = (
                    (signs,) if section == "[named]" else tuple(signs.split("|" if section == "[passages]" else " "))
                )
                told = what if " " in what else f"what looks like {what}"
                found[section].append(_Form(told, float(least), parts, source))
    return _Forms(*(tuple(forms) for forms in found.values()))


def _begins_word(text: str, at: int) -> bool:
    before = text[max(at - _LONGEST_ESCAPE, 0) : at]
    return not before[-1:].isalnum() or _ESCAPED.search(before) is not None


def entropy(text: str) -> float:
    """Return the entropy of the characters of `text`, in bits per character."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def is_random(text: str) -> bool:
    """Return whether a text looks random, as keys do."""
    if "/" in text and (_IS_PATH.match(text) or not _IS_BASE64.match(text)):
        return False
    parts = _CAMEL.findall(text)
    kinds = sum(pattern.search(text) is not None for pattern in _LETTERS[:3])
    return kinds >= _LEAST_MIXED and 3 * len(parts) >= len(text) and entropy(text) >= _LEAST_RANDOM


def _plain_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and kind of each secret in `text`. Secrets may overlap. Encoded secrets are not found."""
    low = text.lower()
    for form in _forms().passages:
        if any(sign in low for sign in form.signs):
            yield from ((*span, form.what) for span in form.spans(text))
    words = "\n".join(word[:_LONGEST_WORD] for word in _WORDS.findall(text) if _TELLING.search(word))
    if words:
        low = words.lower()
        for form in _forms().words:
            if any(sign in low for sign in form.signs) and form.pattern.search(words):
                yield from ((*span, form.what) for span in form.spans(text))
    yield from _named_spans(text)


def _named_spans(text: str) -> Iterator[tuple[int, int, str]]:
    at = 0
    while match := _GIVEN.search(text, at):
        start, end = match.span("value")
        value = match["value"]
        at = start if "=" in value or ":" in value else end  # The value may itself contain names and values.
        if not _MIXED.search(value):
            continue
        name = _NAME_BACKWARDS.match(text[max(match.start() - _LONGEST_NAMING, 0) : match.start()][::-1])
        if name is None:
            continue
        if query := _QUERY.match(value):
            value = query[1]
        value = value.rstrip("&")
        what = _kind(name[1][::-1], value)
        if what:
            yield start, start + len(value), what


def _kind(name: str, value: str) -> str | None:
    forms = _forms()
    if forms.names.search(name):
        for form in forms.named:
            is_it = re.search(form.signs[0], name, re.IGNORECASE) and form.pattern.fullmatch(value)
            if is_it and any(map(str.isdigit, value)) and entropy(value) >= max(form.entropy, _LEAST_ENTROPY):
                return form.what
    strength = secrecy_of(name)
    if strength is None or len(value) < _SHORTEST[strength] or _MADE_UP.search(value):
        return None
    if is_random(value):
        return _CALLED
    if not strength or _PATH.match(value) or _NAMED.match(value) or "://" in value:
        return None
    kinds = sum(pattern.search(value) is not None for pattern in _LETTERS)
    return _CALLED if kinds >= _LEAST_KINDS and entropy(value) >= _LEAST_ENTROPY else None


def secrecy_of(name: str) -> bool | None:
    """Return True if values with this name are secret, False if they may be secret, None if they are not."""
    parts = [part.lower() for part in _CAMEL.findall(name)]
    if not _OPEN.isdisjoint(parts) and (parts[-1] in _OPEN or _STRONG.isdisjoint(parts)):
        return None
    if not _STRONG.isdisjoint(parts):
        return True
    return False if not _WEAK.isdisjoint(parts) or any(part.endswith(_ENDINGS) for part in parts) else None


def found_in(data: bytes) -> str | None:
    """Return the kind of a secret in `data`, or None if there is no secret.

    `data` is the beginning of a file in UTF-8 or UTF-16.
    """
    if b"\0" in data:
        data = data.replace(b"\0", b"")  # Remove the NUL bytes of UTF-16.
    text = data.decode("latin-1")
    for start, end, what in _plain_spans(text):
        if what != _IN_ADDRESS or _kind("password", text[start:end]):
            return what
    return None


def without_secrets(text: str, also: Callable[[str], str] = str) -> str:
    """Mask keys, tokens and random strings in `text`, even if they are encoded or look like examples.

    `also`, another masking function, is applied to plain and to decoded text.
    """
    return decoded(text, lambda part: _masked(also(part)))


def _masked(text: str) -> str:
    spans = [(start, end) for start, end, what in _plain_spans(text) if what not in _TELLS_OF_THE_REST]
    spans += [match.span() for match in _QUOTED.finditer(text) if is_random(match[0])]
    parts: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if end > done:
            parts += [text[done:start], MASK] if start >= done else []
            done = end
    return "".join([*parts, text[done:]])


def found_in_file(path: str) -> str | None:
    """Return the kind of a secret in a file, or None. The result is also None if the file is too large or cannot be
    read.
    """
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= LARGEST:
            return None
        return _found_in_state(path, status.st_dev, status.st_ino, status.st_ctime_ns, status.st_size)
    except OSError:
        return None  # Code in the sandbox cannot read this file either.


@lru_cache(maxsize=_MOST_KEPT)
def _found_in_state(path: str, *state: int) -> str | None:
    del state  # `state` is only part of the cache's key, so that a changed file is read again.
    handle = os.open(path, READING)
    try:
        return found_in(os.read(handle, MOST_BYTES)) if stat.S_ISREG(os.fstat(handle).st_mode) else None
    finally:
        os.close(handle)
