"""Patterns of the marks that models and chat templates write around thoughts."""

from __future__ import annotations

import re

_THOUGHT = r"(?:(?:seed:)?think|thinking|thoughts?|reasoning|reflection|scratchpad)"
OPENING = rf"(?:<{_THOUGHT}>|\[THINK\]|<\|begin_of_thought\|>|<\|channel>thought\b|◁think▷)"
"""Pattern of an opening mark of thoughts. Its case must be ignored."""
CLOSING = rf"(?:</{_THOUGHT}>|\[/THINK\]|<\|end_of_thought\|>|<channel\|>|◁/think▷)"
"""Pattern of a closing mark of thoughts. Its case must be ignored."""
CHANNEL = r"<\|channel\|>(?P<name>\w*+)[^<\n]*+<\|message\|>"
"""Pattern of the beginning of a channel. Every channel except `final` contains thoughts."""
_MARK = re.compile(f"{OPENING}|{CLOSING}|{CHANNEL}", re.IGNORECASE)


def has_thoughts(text: str) -> bool:
    """Return whether `text`, a whole reply or a chat template, has a mark of thoughts."""
    return _MARK.search(text) is not None
