"""The settings, with their documentation.

Each field of `Settings` defines one setting. Readers, command-line options, the VS Code client's settings and the table
in the docs are derived from it. `docs/settings.py` regenerates the derived files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path

from adacoder.domain import Level
from adacoder.messages import Named, Text, snake_case
from adacoder.privacy.names import Wishes
from adacoder.settings import values as of
from adacoder.settings.values import Setting, setting


class Unverified(StrEnum):
    """Editor behaviour for a result without the verdict `verified`."""

    KEEP = "keep"
    DISCARD = "discard"
    INSERT = "insert"


def _names_no_file(models: object) -> bool:
    """False if `models` names a recorded conversation, because its name is a path."""
    names = models if isinstance(models, list) else [models]
    return not any(isinstance(name, str) and name.startswith("replay:") for name in names)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a request. The key in section `adacoder` is the field's name in camel case, unless `key` is given."""

    models: tuple[str, ...] = setting(
        (),
        of.MODELS,
        Text(
            "Model to ask: `NAME` or `ollama:NAME` of an Ollama model, `openai:NAME` on the server at `",
            *(Named("openai.baseUrl"), "`, or `replay:FILE`, a recorded conversation. Of several each is asked where"),
            " those before it failed.",
        ),
        unset="the best code model that Ollama has",
        key="model",
        option="MODEL",
        by_project=_names_no_file,
    )
    rounds_per_model: int = setting(
        2,
        of.number(1, 50, is_whole=True),
        "Failed rounds before the next of several models is asked; the last may use all.",
        option="N",
    )
    host: str | None = setting(
        None,
        of.TEXT,
        "Ollama's address.",
        unset="the environment's `OLLAMA_HOST`, else this machine",
        key="ollama.host",
        option="URL",
        by_project=False,
    )
    base_url: str | None = setting(
        None,
        of.TEXT,
        "Address of the OpenAI-compatible server that has the models `openai:NAME`, such as `http://gpu:8000/v1`; a key"
        " for it is read from the environment's `OPENAI_API_KEY`.",
        unset="no such server",
        key="openai.baseUrl",
        option="URL",
        by_project=False,
    )
    strategy: str = setting("adacoder", of.TEXT, "Workflow that writes a function.", option="NAME")
    max_iterations: int | None = setting(
        None,
        of.number(0, 50, is_whole=True),
        "Most iterations of the strategy after its first try: AdaCoder's planned rounds, CodeTree's programs.",
        unset="as many as its paper has",
        option="N",
    )
    budget_calls: int | None = setting(
        None, of.number(0, 10_000, is_whole=True), "Most calls of a model in a request.", unset="no limit", option="N"
    )
    budget_tokens: int | None = setting(
        None,
        of.number(0, 100_000_000, is_whole=True),
        "Tokens of prompts and replies after which a request asks no model any more.",
        unset="no limit",
        option="N",
    )
    budget_seconds: float | None = setting(
        None,
        of.number(0, 86_400),
        "Seconds after which a request asks no model any more.",
        unset="no limit",
        option="SECONDS",
    )
    budget_programs: int | None = setting(
        None,
        of.number(1, 10_000, is_whole=True),
        "Most programs that a request evaluates.",
        unset="no limit",
        option="N",
    )
    timeout: float = setting(
        10.0,
        of.number(0.1, 600),
        "Seconds that one run of a function's examples may take, the import of its module included.",
        option="SECONDS",
    )
    interpreter: Path | None = setting(
        None,
        of.PATH,
        "Python that runs the examples: a path, or a name in `PATH`.",
        unset="the project's `.venv`, else that of the activated environment, else `python3`",
        option="PYTHON",
        by_project=False,
    )
    isolation: Level = setting(
        Level.SEATBELT,
        of.one_of(
            Level,
            "Only full isolation, in namespaces of their own.",
            "At least confinement by Linux's security modules.",
            "At least confinement by macOS's sandbox.",
            "Any: examples and candidates may run unconfined.",
        ),
        "Weakest isolation to accept when examples run; without it nothing runs.",
        option="",
        by_project=False,
    )
    unverified: Unverified = setting(
        Unverified.KEEP,
        of.one_of(
            Unverified,
            "Keep it, and offer it where the function stands.",
            "Discard it.",
            "Insert it if no example failed; else keep it.",
        ),
        "Treatment of a result that is not verified.",
        by_project=False,
    )
    preview: bool = setting(
        False, of.FLAG, "Keep what is verified, too, and insert only what you have looked at and chosen, in an editor."
    )
    check_on_save: bool = setting(
        False, of.FLAG, "Run the examples of a file's functions when the file is saved, but those of stubs."
    )
    code_lens: bool = setting(
        True, of.FLAG, "Show above functions what was proven of them, and what can be done or is being done."
    )
    inlay_hints: bool = setting(False, of.FLAG, "Show after each failed example what it gave.")
    unreached_hints: bool = setting(False, of.FLAG, "Show a hint at each line that no example reached.")
    context_tokens: int = setting(
        8192,
        of.number(1024, 1_048_576, is_whole=True),
        "The model's context window, in tokens; a change makes Ollama load the model again.",
        option="N",
    )
    keep_alive: str = setting(
        "10m", of.DURATION, "Time for which Ollama keeps the model loaded after a request; `-1` is for good."
    )
    first_token_timeout: float = setting(
        300.0,
        of.number(1, 86400),
        "Seconds to wait for the first token of a reply, for which the model may have to be loaded.",
        option="SECONDS",
    )
    token_timeout: float = setting(
        60.0, of.number(1, 86400), "Seconds to wait for each further token.", option="SECONDS"
    )
    reply_timeout: float | None = setting(
        None, of.number(1, 86400), "Seconds that a whole reply may take.", unset="no limit", option="SECONDS"
    )
    temperature: float = setting(0.2, of.number(0, 2), "The model's sampling temperature.")
    seed: int | None = setting(
        None,
        of.number(0, 2**31 - 1, is_whole=True),
        "Seed that makes the model's replies repeatable.",
        unset="another each time",
        option="N",
        is_offered=False,
    )
    instructions: str = setting("", of.LONG_TEXT, "The project's own wishes, added to the prompt.")
    allow_cloud: bool = setting(
        False,
        of.FLAG,
        "Let code leave this machine and your network for a model: one of Ollama's cloud, or on a public server.",
        option="",
        by_project=False,
    )
    hide: tuple[str, ...] = setting(
        (),
        of.PATTERNS,
        "Name, or with a slash path in the workspace, that models and code that runs do not get to see, besides those"
        " known as private; `*` stands for any letters.",
        option="NAME",
        adds_up=True,
    )
    show: tuple[str, ...] = setting(
        (),
        of.PATTERNS,
        Text(
            "Name, or with a slash path in the workspace, that models and code that runs may see, though it looks"
            " private or `",
            *(Named("hide"), "` names it."),
        ),
        option="NAME",
        by_project=False,
        adds_up=True,
    )
    trusted: bool = setting(
        True,
        of.FLAG,
        "Trust in the workspace, as its editor has it: nothing of one that is not trusted runs.",
        by_project=False,
        is_offered=False,
    )
    record: Path | None = None
    """File that records the conversation with the model (`--record`). Settings files and projects cannot set it."""

    @property
    def wishes(self) -> Wishes:
        """Wishes about private files, from `hide` and `show`."""
        return Wishes(self.hide, self.show)

    @property
    def cascade(self) -> tuple[str | None, ...]:
        """Models to ask, in order. None means the best installed model."""
        return self.models or (None,)

    def rounds_by_model(self, *, is_started: bool) -> tuple[tuple[str | None, int | None], ...]:
        """Return each model of the cascade, with its maximum number of rounds after the first.

        A started request begins without a model. If `max_iterations` allows no more, only the first model is returned.
        """
        if is_started and self.max_iterations == 0:
            return ((self.cascade[0], 0),)
        *lower, top = self.cascade
        most = self.rounds_per_model - (not is_started)
        most = most if self.max_iterations is None else min(most, self.max_iterations)
        return (*((model, most) for model in lower), (top, self.max_iterations))


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


SETTINGS: Mapping[str, Setting] = {
    each.name: replace(defined, key=defined.key or _camel_case(each.name))
    for each in fields(Settings)
    if (defined := each.metadata.get("setting"))
}
"""Settings by field name, in field order."""
_FIELDS = {snake_case(defined.key): name for name, defined in SETTINGS.items()} | {name: name for name in SETTINGS}


def field_name(key: str) -> str | None:
    """Return the Settings field of a key such as `maxIterations`, `max-iterations` or `ollama.host`. None: unknown."""
    return _FIELDS.get(snake_case(key))
