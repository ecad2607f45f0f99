"""What the names of models say: which one is meant, where it runs, and whether it follows instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_OLLAMAS_OWN = ("registry.ollama.ai/", "library/")
"""What may stand before the name of a model of Ollama's own library."""
_NO_CHAT = re.compile(r"(?:^|[-_:])(?:base|embed|embedding|rerank|reranker|minilm|bge)(?:$|[-_:])")
"""Parts of a name that say a model only continues text, or writes none at all."""
_NO_CHAT_TAG = re.compile(r"(?:^|-)(?:code|python|text|fim)(?:$|-)")
"""Parts of a tag that say so."""
_NEEDS_INSTRUCT = ("starcoder2", "stable-code")
"""Families whose plain tags are base models."""
_MOST_CLOSE = 6


def is_cloud(model: str) -> bool:
    """Whether `model` is named as one that runs on Ollama's servers."""
    return model.strip().lower().endswith(("-cloud", ":cloud"))


def whole(model: str) -> str:
    """The one form of all the names by which Ollama knows `model`: it does not mind their case, without a tag the
    `latest` is meant, and its own library need not be named."""
    name = model.strip().lower()
    for beginning in _OLLAMAS_OWN:
        name = name.removeprefix(beginning)
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def family_and_tag(model: str) -> tuple[str, str]:
    """`qwen2.5-coder` and `7b`; without the account that published it."""
    family, _, tag = model.lower().rpartition("/")[2].partition(":")
    return family, tag


def may_chat(model: str) -> bool:
    """Whether the name leaves it possible that `model` follows instructions."""
    family, tag = family_and_tag(model)
    if family.startswith(_NEEDS_INSTRUCT):
        return "instruct" in f"{family}:{tag}"
    return not (_NO_CHAT.search(f"{family}:{tag}") or _NO_CHAT_TAG.search(tag))


def meant(model: str, others: Sequence[str]) -> Iterator[Sequence[str]]:
    """Those of `others` that somebody may have meant by `model`: of its family, then of a similar name, then all."""
    import difflib

    family, _ = family_and_tag(model)
    yield [other for other in others if family_and_tag(other)[0] == family]
    yield difflib.get_close_matches(model, others, _MOST_CLOSE)
    yield others
