"""One typed Settings for the editor, the command line and the arena.

A value that cannot be used is replaced by its default, with one notice; settings never stop anything from starting.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path

from adacoder.domain import Level
from adacoder.privacy.access import Access
from adacoder.privacy.names import Wishes


class OnUnverified(StrEnum):
    """What an editor does with a candidate that nothing failed and nothing could verify."""

    ASK = "ask"
    DISCARD = "discard"
    INSERT = "insert"


class Rules(StrEnum):
    """The rules that the Debug Specialist repairs by."""

    ORDERED = "ordered"
    """Ours: one after the other, each kept only if it gets further."""
    PAPER = "paper"
    """The paper's Algorithm 3 as printed, to compare with."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can choose. Names are those of section `adacoder`, in Python's spelling."""

    models: tuple[str, ...] = ()
    """Each `ollama:NAME` (the prefix may be left out), `openai:NAME` or `replay:PATH`; none: the best installed code
    model. Several are a ladder: where one fails, the next is asked (`model`, which may be one name or a list)."""
    rounds_per_model: int = 2
    """After how many failed rounds of the loop the next model of a ladder is asked; the last one may use all."""
    host: str | None = None
    """Ollama's address (`ollama.host`); None: `OLLAMA_HOST`, else Ollama's default."""
    base_url: str | None = None
    """The address of an OpenAI-compatible server (`openai.baseUrl`), such as `http://gpu:8000/v1`."""
    strategy: str = "adacoder"
    max_iterations: int = 5
    """The paper's t: rounds after the first."""
    timeout: float = 10.0
    """Seconds one evaluation may take, the import of the module included."""
    rules: Rules = Rules.ORDERED
    interpreter: Path | None = None
    """The Python that runs the examples; None: as `sandbox.choice` has it."""
    isolation: Level = Level.SEATBELT
    """The weakest level accepted; only `none` runs code unconfined."""
    on_unverified: OnUnverified = OnUnverified.ASK
    context_tokens: int = 8192
    """The model's context window, in tokens; the same in every request, since a change makes Ollama reload."""
    keep_alive: str = "10m"
    """How long the model stays loaded after a request, as Ollama spells durations."""
    first_token_timeout: float = 300.0
    """Seconds to wait for the first token of a reply: the model may have to be loaded, and the prompt read."""
    token_timeout: float = 60.0
    """Seconds to wait for each further token."""
    reply_timeout: float | None = None
    """Seconds a whole reply may take; None: as long as it takes."""
    temperature: float = 0.2
    """The paper's open models were sampled at 0.2."""
    seed: int | None = None
    instructions: str = ""
    """A project's own wishes, added to the prompt."""
    allow_cloud: bool = False
    """Whether a model may be used that runs neither on this machine nor in the user's own network."""
    hide: tuple[str, ...] = ()
    """Names, or with a slash paths in the workspace, that are private beyond those known; a project can add to them."""
    show: tuple[str, ...] = ()
    """Those that are not private, whatever else says so; for the user alone to say."""
    trusted: bool = True
    """Whether the workspace is trusted; an editor sets it. Nothing runs in one that is not."""
    record: Path | None = None
    """Write the conversation with the model to this file (`--record`); no file and no project can set it."""

    @property
    def wishes(self) -> Wishes:
        """What is said of what is private."""
        return Wishes(self.hide, self.show)

    @property
    def ladder(self) -> tuple[str | None, ...]:
        """The models to ask, in order; None: the best installed."""
        return self.models or (None,)

    def rungs(self, *, is_started: bool) -> tuple[tuple[str | None, int], ...]:
        """Each model of the ladder, with the most rounds after its first; one that is started begins without a
        model, and where that is all it is to do, only the first is named."""
        if is_started and not self.max_iterations:
            return ((self.ladder[0], 0),)
        *lower, top = self.ladder
        most = min(self.rounds_per_model - (not is_started), self.max_iterations)
        return (*((model, most) for model in lower), (top, self.max_iterations))


_DURATION = re.compile(r"[+-]?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+|[+-]?\d+(?:\.\d+)?")

_LONGEST_PROJECT_FILE = 1 << 20
"""Bytes of a pyproject.toml; a longer one is none that a person wrote."""
_MOST_PATTERNS = 500
_LONGEST_PATTERN = 255
_SPELLING = {"model": "models", "ollama.host": "host", "openai.baseUrl": "base_url"}
_EDITOR_ONLY = frozenset(
    {"host", "base_url", "interpreter", "isolation", "trusted", "allow_cloud", "on_unverified", "show"}
)
"""What a project's own pyproject.toml may not say: it would let a cloned repository choose where code runs."""


_MOST_BYTES = 512 * 1024
"""Of a pyproject.toml; the longest of well-known projects have a tenth."""
_MOST_PARTS = 32
"""Of a dotted key."""
_DEEPEST = 32
"""Brackets within brackets."""
_MOST_KEYS = 100
"""Each that cannot be used gets a notice."""
_MOST_MODELS = 20
"""Of a ladder."""
_LONGEST_SHOWN = 80
"""Characters of a key or a value that a notice repeats."""
_STRING_OR_COMMENT = re.compile(
    r"""\"{3}[^"\\]*(?:(?:\\(?:.|\Z)|"{1,2}(?!"))[^"\\]*)*(?:"{3,5}|\Z)|'{3}[^']*(?:'{1,2}(?!')[^']*)*(?:'{3,5}|\Z)"""
    r"""|"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"?|'[^'\n]*'?|\#[^\n]*""",
    re.DOTALL,
)
"""What is neither a mark nor a bare key in TOML; one that is not closed is taken as far as it could reach."""
_NO_MARKS = re.compile(r"[^.=,\[\]{}\n]++")
_ADDED_TO = frozenset({"hide", "show"})
"""What one says beside what another says, and not in its place."""


def field_name(key: str) -> str:
    """The Settings field behind a key of section `adacoder`: `maxIterations` → `max_iterations`."""
    if key in _SPELLING:
        return _SPELLING[key]
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key).replace("-", "_")


def merge(base: Settings, values: Mapping[str, object], notice: Callable[[str], None]) -> Settings:
    """`base` with `values` (keys as in section `adacoder`; nested `ollama: {host}` too) over it.

    A value that cannot be used is left out, with one `notice`. None means not set.
    """
    known = {item.name for item in fields(Settings)} - {"record"}
    settings = base
    for key, value in _flatten(values):
        name = field_name(key)
        if name not in known:
            notice(f"adacoder.{_brief(key)} is no setting of AdaCoder; it is ignored.")
            continue
        if value is None or (value == "" and name in ("models", "host", "base_url", "interpreter")):
            continue
        try:
            read = _READERS[name](value)
            if name in _ADDED_TO:
                read = tuple(dict.fromkeys((*getattr(settings, name), *read)))  # type: ignore[misc]  # a tuple of names
            settings = replace(settings, **{name: read})  # type: ignore[arg-type]  # _READERS pairs each field with its type
        except (TypeError, ValueError, RuntimeError) as error:
            notice(f"adacoder.{key} = {_shown(value)} is ignored: {error}.")
    return settings


def from_project(base: Settings, folder: Path, notice: Callable[[str], None], *, top: Path | None = None) -> Settings:
    """`base` with `[tool.adacoder]` of the nearest pyproject.toml at or above `folder`, as far as `top`, over it.

    To be asked only where the workspace is trusted. Host, interpreter, isolation and the like are not for a project to
    say; each such key gets a notice.
    """
    path = project_file(folder, top)
    if path is None:
        return base
    try:
        tools = _tools(path)
    except OSError as error:
        notice(f"{path} cannot be read ({error.strerror or error}); its [tool.adacoder] is ignored.")
        return base
    except (ValueError, RecursionError) as error:
        notice(f"{path} cannot be read ({_brief(str(error))}); its [tool.adacoder] is ignored.")
        return base
    table = tools.get("adacoder", {})
    if not isinstance(table, dict):
        notice(f"[tool.adacoder] in {path} is not a table; it is ignored.")
        return base
    values = _flatten(table)
    if len(values) > _MOST_KEYS:
        notice(f"[tool.adacoder] in {path} has more than {_MOST_KEYS} keys; it is ignored.")
        return base
    allowed: dict[str, object] = {}
    for key, value in values:
        if field_name(key) in _EDITOR_ONLY or (field_name(key) == "models" and _names_a_path(value)):
            notice(f"adacoder.{_brief(key)} in {path} is ignored: a project may not set it; set it in your editor.")
        else:
            allowed[key] = value
    return merge(base, allowed, notice)


def project_file(folder: Path, top: Path | None = None) -> Path | None:
    """The nearest pyproject.toml at or above `folder`, whatever it is; None if there is none up to `top`."""
    folders = [folder, *folder.parents]
    if top in folders:
        folders = folders[: folders.index(top) + 1]
    return next((path for each in folders if os.path.lexists(path := each / "pyproject.toml")), None)


def project_tools(folder: Path, top: Path | None) -> Mapping[str, object]:
    """Read the `[tool.*]` tables of the nearest pyproject.toml up to `top`; none where it cannot be read."""
    path = project_file(folder, top)
    try:
        return {} if path is None else _tools(path)
    except (OSError, ValueError, RecursionError):
        return {}


def _tools(path: Path) -> Mapping[str, object]:
    """Read the `[tool.*]` tables of a pyproject.toml.

    Raises:
        OSError: as of `_read`.
        ValueError, RecursionError: what TOML excludes, and numbers that are too long for Python.
    """
    tools = tomllib.loads(_readable(_read(path))).get("tool", {})
    return tools if isinstance(tools, dict) else {"adacoder": None}


def _read(path: Path) -> str:
    """The text of a project's pyproject.toml. No other function opens that file.

    Raises:
        OSError: it cannot be read, is no regular file of the project, or is too large.
        ValueError: it is not written in UTF-8.
    """
    return Access([path.parent]).read(path, most=_MOST_BYTES).decode("utf-8")


def _readable(text: str) -> str:
    """`text`, if tomllib reads it in time and memory that grow only as it does.

    For every part of a dotted key tomllib keeps all the parts before it, and it calls itself for every bracket.

    Raises:
        ValueError: a key has too many parts, or brackets stand too deep in each other.
    """
    marks = _NO_MARKS.sub("", _STRING_OR_COMMENT.sub("", text))
    if "." * _MOST_PARTS in marks:
        raise ValueError(f"a key has more than {_MOST_PARTS} parts")
    depth = 0
    for mark in marks:
        depth += (mark in "[{") - (mark in "]}")
        if depth > _DEEPEST:
            raise ValueError(f"brackets stand more than {_DEEPEST} deep in each other")
    return text


def _shown(value: object) -> str:
    """A value for a notice; of a whole number that Python will not write down, how it is called."""
    try:
        return _brief(repr(value))
    except ValueError:
        return "a number of thousands of digits"


def _brief(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def _flatten(values: Mapping[str, object]) -> list[tuple[str, object]]:
    flat: list[tuple[str, object]] = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat.extend((f"{key}.{inner}", inner_value) for inner, inner_value in value.items())
        else:
            flat.append((key, value))
    return flat


def _names_a_path(models: object) -> bool:
    """Whether one of `models` is a recorded conversation, which is found by its path."""
    names = models if isinstance(models, list) else [models]
    return any(isinstance(name, str) and name.startswith("replay:") for name in names)


def _models(value: object) -> tuple[str, ...]:
    names = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(name, str) and name for name in names) or len(names) > _MOST_MODELS:
        raise TypeError("it must be the name of a model, or a list of names")
    return tuple(names)


def _patterns(value: object) -> tuple[str, ...]:
    patterns = value if isinstance(value, list | tuple) else [value]
    if len(patterns) > _MOST_PATTERNS:
        raise ValueError(f"it must be at most {_MOST_PATTERNS} names")
    if not all(isinstance(each, str) and each.strip("/ ") and len(each) <= _LONGEST_PATTERN for each in patterns):
        raise TypeError("it must be a name, a path in the workspace, or a list of them; * stands for any letters")
    return tuple(patterns)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("it must be a text")
    return value


def _duration(value: object) -> str:
    """A length of time as Go writes it, or as a number of seconds."""
    text = str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    if not _DURATION.fullmatch(text):
        raise ValueError("it must be a duration such as 10m, 1h30m or 90s, 0 or -1 (for ever)")
    return text if text[-1].isalpha() else f"{text}s"


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("it must be true or false")
    return value


def _between(low: float, high: float) -> Callable[[object], float]:
    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise ValueError(f"it must be a number from {low:g} to {high:g}")
        return value

    return read


def _whole(low: int, high: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"it must be a whole number from {low} to {high}")
        return value

    return read


def _one_of(kind: type[StrEnum]) -> Callable[[object], StrEnum]:
    def read(value: object) -> StrEnum:
        try:
            return kind(_text(value))
        except ValueError:
            raise ValueError(f"it must be one of {', '.join(kind)}") from None

    return read


def _path(value: object) -> Path:
    return Path(_text(value)).expanduser()


_READERS: dict[str, Callable[[object], object]] = {
    "models": _models,
    "rounds_per_model": _whole(1, 50),
    "host": _text,
    "base_url": _text,
    "strategy": _text,
    "max_iterations": _whole(0, 50),
    "timeout": _between(0.1, 600),
    "rules": _one_of(Rules),
    "interpreter": _path,
    "isolation": _one_of(Level),
    "on_unverified": _one_of(OnUnverified),
    "context_tokens": _whole(1024, 1_048_576),
    "keep_alive": _duration,
    "first_token_timeout": _between(1, 86_400),
    "token_timeout": _between(1, 86_400),
    "reply_timeout": _between(1, 86_400),
    "temperature": _between(0, 2),
    "seed": _whole(0, 2**31 - 1),
    "instructions": _text,
    "allow_cloud": _flag,
    "trusted": _flag,
    "hide": _patterns,
    "show": _patterns,
}
