"""How much of a model's context window a text takes, known before it is sent.

No tokenizer is at hand: it belongs to the model, and Ollama does not lend it. So texts are measured from both
sides: `estimate` is an upper measure, to plan with; `least` a lower one, to convict a server of cutting.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from adacoder.domain import Message

_PIECE = re.compile(r"[A-Za-z]{1,4}|\n|[ \t]{2,}|[ ](?=\d)|\S")
"""What counts as one token: four letters, a line end, a run of blanks, a blank before a number, and any other
character. Code models split words at least as coarsely, and most write digits and operators one by one."""
_ROLE_TOKENS = 8
"""What a chat template puts around one message."""
_SLACK = 8
"""How far a count may lie from what a rule for cutting predicts."""


def estimate(text: str) -> int:
    """About how many tokens `text` takes, rather too many than too few; 0 for an empty one."""
    beyond_ascii = len(text.encode("utf-8", "surrogatepass")) - len(text)
    return len(_PIECE.findall(text)) + beyond_ascii // 2


def estimate_chat(messages: Sequence[Message]) -> int:
    """About how many tokens `messages` take in a model's chat template, rather too many than too few."""
    return sum(estimate(message.content) + _ROLE_TOKENS for message in messages)


def least(messages: Sequence[Message]) -> int:
    """How many tokens `messages` take at the very least: no tokenizer joins words that white space parts."""
    return sum(len(message.content.split()) for message in messages)


def was_cut(messages: Sequence[Message], counted: int, window: int) -> bool:
    """Whether a server that read `counted` tokens of `messages` through `window` certainly cut them.

    Ollama cuts silently. Up to 0.24 a cut prompt fills the window; from 0.30 on it takes half of it and two.
    """
    if counted >= window:
        return True
    if estimate_chat(messages) <= window:
        return False
    return counted < least(messages) or abs(counted - (window // 2 + 2)) <= _SLACK
