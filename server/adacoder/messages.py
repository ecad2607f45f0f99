"""Sentences for users that name settings: each door spells those as its users write them.

A setting is a part of its own in such a text, never found in it again by its spelling. So whatever a model, a server or
a project says arrives as it is, also where it looks like an option.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Self, TypeAlias


@dataclass(frozen=True, slots=True)
class Named:
    """A setting as a part of a message, spelled for the command line."""

    key: str
    """Its key in section `adacoder`: `contextTokens`, `ollama.host`."""
    value: str = ""
    """Value to set it to, if the message says one."""

    def __str__(self) -> str:
        name = snake_case(self.key.rpartition(".")[2]).replace("_", "-")
        return f"--{name} {self.value}" if self.value else f"--{name}"

    @property
    def in_editor(self) -> str:
        """The spelling of an editor's settings."""
        return f"adacoder.{self.key}: {self.value}" if self.value else f"adacoder.{self.key}"


@dataclass(frozen=True, slots=True)
class Remedy:
    """A thing to do as a part of a message, which a door may offer to do."""

    kind: str
    """`pull`: have Ollama download a model. `start`: start Ollama."""
    words: str
    """What the message says of it."""
    model: str = ""

    def __str__(self) -> str:
        return self.words

    @property
    def in_editor(self) -> str:
        """The same words."""
        return self.words


Part: TypeAlias = "str | Named | Remedy"


class Text(str):
    """A text that knows which parts are settings, or things to do; as a `str` it has the command line's spelling.

    Whatever makes another `str` of it (an f-string, `join`, a slice) forgets that: `Text(…)` and `joined` keep it.
    """

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Self:
        """Parts that are Texts themselves keep their settings."""
        text = super().__new__(cls, "".join(map(str, parts)))
        text.parts = tuple(chain.from_iterable(part.parts if isinstance(part, Text) else (part,) for part in parts))
        return text

    @property
    def in_editor(self) -> str:
        """The text with an editor's spelling of the settings."""
        return "".join(part if isinstance(part, str) else part.in_editor for part in self.parts)

    def shortened(self, most: int) -> Text:
        """At most about so many characters from its beginning, settings whole; with a mark where it was longer."""
        if len(self) <= most:
            return self
        kept, left = list[Part](), most
        for part in self.parts:
            kept.append(part[:left] if isinstance(part, str) else part)
            left -= len(str(part))
            if left <= 0:
                break
        return Text(*kept, " …")


class AdaCoderError(Exception):
    """A problem that its user can fix: one sentence that says what to do, given in parts where it names settings."""

    def __init__(self, *parts: Part) -> None:
        super().__init__(*parts)

    def __str__(self) -> Text:
        return Text(*self.args)  # `str(error)` is this very object, so it keeps its parts


def joined(separator: str, texts: Iterable[str]) -> Text:
    """`separator.join(texts)` that keeps their settings."""
    parts = list(chain.from_iterable((separator, text) for text in texts))
    return Text(*parts[1:])


def remedies(text: str) -> list[Named | Remedy]:
    """What a text tells its user to do or to set, each once."""
    parts = text.parts if isinstance(text, Text) else ()
    return list(dict.fromkeys(part for part in parts if not isinstance(part, str)))


def snake_case(key: str) -> str:
    """Python's spelling of a key: `maxIterations`, `max-iterations` → `max_iterations`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key).replace("-", "_")


def counted(number: int, noun: str) -> str:
    """A number of things: `1 model`, `1,204 models`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
