"""Create messages that name settings.

The command line and editors spell the name of a setting differently, so a message stores settings as separate parts.
Text from a model or a project is never taken for a setting.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Self, TypeAlias


@dataclass(frozen=True, slots=True)
class Named:
    """A setting in a message. `str()` returns its spelling on the command line."""

    key: str
    """Name of the setting in an editor, such as `contextTokens` or `ollama.host`."""
    value: str = ""
    """The value that the message recommends. Empty if there is none."""

    def __str__(self) -> str:
        name = snake_case(self.key.rpartition(".")[2]).replace("_", "-")
        return f"--{name} {self.value}" if self.value else f"--{name}"

    @property
    def in_editor(self) -> str:
        """Spelling of the setting in an editor."""
        return f"adacoder.{self.key}: {self.value}" if self.value else f"adacoder.{self.key}"


@dataclass(frozen=True, slots=True)
class Remedy:
    """An action that a message recommends. An editor may offer a button for it."""

    kind: str
    """The kind of action.

    `pull` lets Ollama download `model`, `start` starts Ollama, and `trust` trusts the workspace. Any other kind is a
    command on the function, such as `fix`.
    """
    words: str = ""
    """The words in the message for this action. Empty if the message does not mention the action."""
    model: str = ""

    def __str__(self) -> str:
        return self.words

    @property
    def in_editor(self) -> str:
        """The words, which are the same in an editor."""
        return self.words


Part: TypeAlias = "str | Named | Remedy"


class Text(str):
    """A message that stores settings and actions as separate `parts`.

    As a `str`, the message is written for the command line.

    F-strings, `str.join` and slices return a plain `str` without parts. Use `Text(…)` and `joined` instead.
    """

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Self:
        """Create a message from `parts`. The parts of a Text are added one by one."""
        text = super().__new__(cls, "".join(map(str, parts)))
        text.parts = tuple(chain.from_iterable(part.parts if isinstance(part, Text) else (part,) for part in parts))
        return text

    @property
    def in_editor(self) -> str:
        """The message with settings in the spelling of an editor."""
        return "".join(part if isinstance(part, str) else part.in_editor for part in self.parts)

    def shortened(self, most: int) -> Text:
        """Shorten the message to about `most` characters, with an ellipsis. Settings and actions are never cut."""
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
    """A problem that the user can solve. The message says how."""

    def __init__(self, *parts: Part) -> None:
        super().__init__(*parts)

    def __str__(self) -> Text:
        return Text(*self.args)  # `str(error)` returns this Text, with its parts


def joined(separator: str, texts: Iterable[str]) -> Text:
    """Join texts like `separator.join(texts)`, but keep the parts of each Text."""
    parts = list(chain.from_iterable((separator, text) for text in texts))
    return Text(*parts[1:])


def remedies(text: str) -> list[Named | Remedy]:
    """Return the settings and actions that a message names, without duplicates."""
    parts = text.parts if isinstance(text, Text) else ()
    return list(dict.fromkeys(part for part in parts if not isinstance(part, str)))


def snake_case(key: str) -> str:
    """Convert the name of a setting to Python's spelling: `maxIterations` or `max-iterations` to `max_iterations`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key).replace("-", "_")


def counted(number: int, noun: str) -> str:
    """Format a count: `1 model`, `1,204 models`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
