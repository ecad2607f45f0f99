"""Mask long strings and possible secrets in a module's text before a model sees the text.

The model may run on another machine, and a recorded conversation may be published in a bug report.
"""

from __future__ import annotations

import re

from adacoder.privacy.contents import without_secrets
from adacoder.pytext import LogicalLine, dedent, normalize, string_literals

_COMMENT = re.compile(r"#[^\n]*")
_SECRET_NAME = re.compile(
    r"(?:pass(?:word|wd|phrase|code)|secret|credential|(?:api|access|private|auth)_?(?:key|token))\w*"
    r"['\"]?\s*(?::[^=\n]*)?[=:]\s*[rRbBuUfF]*\Z",
    re.IGNORECASE,
)
"""Matches text that assigns a secret, up to the value, such as `password = ` or `"api_key": `."""
_CREDENTIALS_IN_URL = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
_RANDOM = re.compile(r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+/=_.~-]{20,}")
"""Matches a long mix of letters and digits without spaces, such as a key or token."""
_LONGEST_NAMING = 400
"""Maximum characters before a string that are searched for the name of a secret."""
_LONGEST_STRING = 80
"""Maximum characters of a string to show. A longer string may be a secret, and rarely explains its use."""


def masked(text: str) -> str:
    """Return `text` dedented, with long strings and possible secrets masked."""
    text = normalize(text)
    parts: list[str] = []
    done = 0
    for literal in string_literals(text, 0, len(text)):
        least = max(literal.start - _LONGEST_NAMING, 0)
        before = text[max(text.rfind("\n", least, literal.start) + 1, least) : literal.start]
        if _is_to_mask(literal.of(text), before):
            quote = text[literal.start]
            parts += [text[done : literal.start], f"{quote}…{quote}"]
            done = literal.end
    return dedent("".join([*parts, text[done:]]))


def masked_line(text: str, line: LogicalLine) -> str:
    """Return the code of a logical line of `text`, masked and without its trailing comment."""
    return masked(text[line.start - len(line.indent) : line.code_end])


def _is_to_mask(literal: str, before: str) -> bool:
    """Return whether to mask a string. The reason may be its content, or the text `before` it on the same line."""
    content = literal.strip("'\"")
    if len(literal) > _LONGEST_STRING or _CREDENTIALS_IN_URL.search(content) or without_secrets(content) != content:
        return True
    is_alphabet = len(set(content)) == len(content)
    if _RANDOM.fullmatch(content) and not is_alphabet:
        return True
    return bool(content) and _SECRET_NAME.search(before) is not None


def without_strings(text: str) -> str:
    """Replace the comments and strings of `text` by spaces, so that only code is searched."""
    blank = list(text)
    for literal in string_literals(text, 0, len(text)):
        blank[literal.start : literal.end] = _blanked(literal.of(text))
    return _COMMENT.sub(lambda comment: _blanked(comment.group()), "".join(blank))


def _blanked(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
