"""Messages that name settings, which the command line and editors spell differently.

Each setting is a separate part of its message, and is not found by its spelling. So text from a model, a server or a
project is never changed, even if it looks like an option.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Self, TypeAlias


@dataclass(frozen=True, slots=True)
class Named:
    """A setting as part of a message. `str()` returns the command line's spelling."""

    key: str
    """The setting's key in an editor's section `adacoder`, such as `contextTokens` or `ollama.host`."""
    value: str = ""
    """The value to set, if the message suggests one."""

    def __str__(self) -> str:
        name = snake_case(self.key.rpartition(".")[2]).replace("_", "-")
        return f"--{name} {self.value}" if self.value else f"--{name}"

    @property
    def in_editor(self) -> str:
        """The setting as an editor spells it."""
        return f"adacoder.{self.key}: {self.value}" if self.value else f"adacoder.{self.key}"


@dataclass(frozen=True, slots=True)
class Remedy:
    """An action that a message recommends. An editor may offer to carry it out."""

    kind: str
    """`pull` to make Ollama download `model`, `start` to start Ollama, `trust` to trust the workspace, or the name of
    the server's command for the function, such as `fix`.
    """
    words: str = ""
    """The words that describe the action in the message. They are empty if the result itself calls for the action."""
    model: str = ""

    def __str__(self) -> str:
        return self.words

    @property
    def in_editor(self) -> str:
        """The words, which are the same in an editor as on the command line."""
        return self.words


Part: TypeAlias = "str | Named | Remedy"


class Text(str):
    """A message with settings and actions as separate `parts`. As a `str`, it has the command line's spelling.

    F-strings, `str.join` and slices return a plain `str` without the parts. `Text(…)` and `joined` keep them.
    """

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Self:
        """Create a message from `parts`. A part that is itself a Text contributes its own parts."""
        text = super().__new__(cls, "".join(map(str, parts)))
        text.parts = tuple(chain.from_iterable(part.parts if isinstance(part, Text) else (part,) for part in parts))
        return text

    @property
    def in_editor(self) -> str:
        """The message with settings in an editor's spelling."""
        return "".join(part if isinstance(part, str) else part.in_editor for part in self.parts)

    def shortened(self, most: int) -> Text:
        """Cut the message after about `most` characters, but not within a setting or an action. Add an ellipsis."""
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
    """A problem that the user can fix. The message says how. Its parts become a Text, and may include settings."""

    def __init__(self, *parts: Part) -> None:
        super().__init__(*parts)

    def __str__(self) -> Text:
        return Text(*self.args)  # `str(error)` returns this Text itself, so the parts are kept


def joined(separator: str, texts: Iterable[str]) -> Text:
    """Join texts as `separator.join(texts)` does, but keep the parts of each text."""
    parts = list(chain.from_iterable((separator, text) for text in texts))
    return Text(*parts[1:])


def remedies(text: str) -> list[Named | Remedy]:
    """Return the settings and actions in `text`, without duplicates."""
    parts = text.parts if isinstance(text, Text) else ()
    return list(dict.fromkeys(part for part in parts if not isinstance(part, str)))


def snake_case(key: str) -> str:
    """Return Python's spelling of a key: `max_iterations` for `maxIterations` or `max-iterations`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key).replace("-", "_")


def counted(number: int, noun: str) -> str:
    """Format a count: `1 model`, `1,204 models`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
