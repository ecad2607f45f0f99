"""Find the marks around a model's thoughts, such as `<think>`."""

from __future__ import annotations

import re

_THOUGHT = r"(?:(?:seed:)?think|thinking|thoughts?|reasoning|reflection|scratchpad)"
OPENING = rf"(?:<{_THOUGHT}>|\[THINK\]|<\|begin_of_thought\|>|<\|channel>thought\b|◁think▷)"
"""Matches an opening mark. Compile it with `re.IGNORECASE`."""
CLOSING = rf"(?:</{_THOUGHT}>|\[/THINK\]|<\|end_of_thought\|>|<channel\|>|◁/think▷)"
"""Matches a closing mark. Compile it with `re.IGNORECASE`."""
CHANNEL = r"<\|channel\|>(?P<name>\w*+)[^<\n]*+<\|message\|>"
"""Matches the mark at the start of a channel of gpt-oss. All channels except `final` contain thoughts."""
_MARK = re.compile(f"{OPENING}|{CLOSING}|{CHANNEL}", re.IGNORECASE)


def has_thoughts(text: str) -> bool:
    """Return whether a reply or a chat template contains a mark of thoughts."""
    return _MARK.search(text) is not None
