"""Recognise a model's family and purpose by its name, and suggest similar names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_OLLAMAS_OWN = ("registry.ollama.ai/", "library/")
"""Optional prefixes of models in Ollama's own library."""
_NO_CHAT = re.compile(r"(?:^|[-_:])(?:base|embed|embedding|rerank|reranker|minilm|bge)(?:$|[-_:])")
"""Words in the names of models that cannot chat, such as base models and embedding models."""
_NO_CHAT_TAG = re.compile(r"(?:^|-)(?:code|python|text|fim)(?:$|-)")
"""Further words for models that cannot chat, which count only in the tag of a name."""
_NEEDS_INSTRUCT = ("starcoder2", "stable-code")
"""Families whose models follow instructions only if the name contains `instruct`."""
_MOST_CLOSE = 6


def is_cloud(model: str) -> bool:
    """Return whether the model runs on Ollama's servers."""
    return model.strip().lower().endswith(("-cloud", ":cloud"))


def canonical(model: str) -> str:
    """Return a name as Ollama compares names: in lower case, with a tag, and without Ollama's optional prefix."""
    name = model.strip().lower()
    for beginning in _OLLAMAS_OWN:
        name = name.removeprefix(beginning)
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def family_and_tag(model: str) -> tuple[str, str]:
    """Split a name into family and tag, such as `qwen2.5-coder` and `7b`, without the publisher."""
    family, _, tag = model.lower().rpartition("/")[2].partition(":")
    return family, tag


def may_chat(model: str) -> bool:
    """Return False if the name says that `model` does not follow instructions."""
    family, tag = family_and_tag(model)
    if family.startswith(_NEEDS_INSTRUCT):
        return "instruct" in f"{family}:{tag}"
    return not (_NO_CHAT.search(f"{family}:{tag}") or _NO_CHAT_TAG.search(tag))


def suggestions(model: str, others: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield groups of names that `model` may stand for: the same family, then similar names, then all names."""
    import difflib

    family, _ = family_and_tag(model)
    yield [other for other in others if family_and_tag(other)[0] == family]
    yield difflib.get_close_matches(model, others, _MOST_CLOSE)
    yield others
