"""The settings and their documentation. Each field of `Settings` defines a setting and its command-line option.

From these fields, `docs/settings.py` generates the settings of the VS Code extension and the table in the docs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path

from adacoder.domain import Level
from adacoder.messages import Named, Text, snake_case
from adacoder.privacy.private_names import Wishes
from adacoder.settings import values as of
from adacoder.settings.values import Setting, setting


class Unverified(StrEnum):
    """The treatment of a result in an editor if it is not `verified`."""

    KEEP = "keep"
    DISCARD = "discard"
    INSERT = "insert"


def _names_no_file(models: object) -> bool:
    """Return False if `models` includes a recording, because a project must not choose a file to read."""
    names = models if isinstance(models, list) else [models]
    return not any(isinstance(name, str) and name.startswith("replay:") for name in names)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a request.

    In an editor's section `adacoder`, the key of a setting is the field's name in camel case, unless another key is
    given.
    """

    models: tuple[str, ...] = setting(
        (),
        of.MODELS,
        Text(
            "Model: `NAME` or `ollama:NAME` for an Ollama model, `openai:NAME` for a model of the server at `",
            *(
                Named("openai.baseUrl"),
                "`, or `replay:FILE` for a recorded conversation. Several models form a ladder:",
            ),
            " each is asked if the previous one failed.",
        ),
        unset="the best code model that Ollama has",
        key="model",
        option="MODEL",
        by_project=_names_no_file,
    )
    rounds_per_model: int = setting(
        2,
        of.number(1, 50, is_whole=True),
        "Failed rounds before the next model of a ladder is asked. The last model gets all remaining rounds.",
        option="N",
    )
    host: str | None = setting(
        None,
        of.TEXT,
        "Address of Ollama.",
        unset="the environment variable `OLLAMA_HOST`, else this machine",
        key="ollama.host",
        option="URL",
        by_project=False,
    )
    base_url: str | None = setting(
        None,
        of.TEXT,
        "Address of the OpenAI-compatible server for models `openai:NAME`, such as `http://gpu:8000/v1`. Its key comes"
        " from the environment variable `OPENAI_API_KEY`.",
        unset="none",
        key="openai.baseUrl",
        option="URL",
        by_project=False,
    )
    strategy: str = setting("auto", of.TEXT, "Workflow that writes a function.", option="NAME")
    max_iterations: int | None = setting(
        None,
        of.number(0, 50, is_whole=True),
        "Maximum iterations of the strategy after its first attempt: `auto`'s further rounds, CodeTree's programs.",
        unset="the number in its paper",
        option="N",
    )
    budget_calls: int | None = setting(
        None, of.number(0, 10_000, is_whole=True), "Maximum model calls per request.", unset="no limit", option="N"
    )
    budget_tokens: int | None = setting(
        None,
        of.number(0, 100_000_000, is_whole=True),
        "Tokens of prompts and replies after which a request makes no more model calls.",
        unset="no limit",
        option="N",
    )
    budget_seconds: float | None = setting(
        None,
        of.number(0, 86_400),
        "Seconds after which a request makes no more model calls.",
        unset="no limit",
        option="SECONDS",
    )
    budget_programs: int | None = setting(
        None,
        of.number(1, 10_000, is_whole=True),
        "Maximum programs to evaluate per request.",
        unset="no limit",
        option="N",
    )
    timeout: float = setting(
        10.0,
        of.number(0.1, 600),
        "Time limit for one run of a function's examples, including the import of its module, in seconds. "
        "Waiting for a processor does not count.",
        option="SECONDS",
    )
    interpreter: Path | None = setting(
        None,
        of.PATH,
        "Python that runs the examples: a path, or a name in `PATH`.",
        unset="the project's `.venv`, else the activated environment, else `python3`",
        option="PYTHON",
        by_project=False,
    )
    isolation: Level = setting(
        Level.SEATBELT,
        of.one_of(
            Level,
            "Only full isolation, in separate namespaces.",
            "At least confinement by Linux's security modules.",
            "At least confinement by macOS's sandbox.",
            "None: examples and candidates may run unconfined.",
        ),
        "Weakest isolation to accept for running examples. With less, nothing runs.",
        option="",
        by_project=False,
    )
    unverified: Unverified = setting(
        Unverified.KEEP,
        of.one_of(
            Unverified,
            "Keep it, and offer it at the function.",
            "Discard it.",
            "Insert it if no example failed, else keep it.",
        ),
        "Treatment of a result that is not verified.",
        by_project=False,
    )
    preview: bool = setting(
        False, of.FLAG, "Keep verified results too. An editor inserts a result only after you review and choose it."
    )
    cross_check: bool = setting(
        False,
        of.FLAG,
        "Compare each verified function with a second program for the same docstring, after it is in place.",
        option="",
    )
    doctest_options: tuple[str, ...] = setting(
        (),
        of.OPTIONS,
        "Option of doctest that is on for all examples, such as `ELLIPSIS`. An example's directive can switch it off.",
        unset="pytest's `doctest_optionflags` in `pyproject.toml`",
        option="NAME",
        adds_up=True,
    )
    doctest_setup: str = setting(
        "",
        of.LONG_TEXT,
        "Statements to run before the examples of each docstring, one on each line, such as `import numpy as np`.",
        option="CODE",
    )
    env: tuple[str, ...] = setting(
        (),
        of.VARIABLES,
        "Environment variables for the examples and the tests, and for the import of their modules, such as"
        " `DJANGO_SETTINGS_MODULE`. They are set after Python has started. `PYTHONPATH` has folders of the project.",
        unset="pytest's `pythonpath` in `pyproject.toml`, as `PYTHONPATH`",
        option="NAME=VALUE",
        adds_up=True,
    )
    exclude: tuple[str, ...] = setting(
        (),
        of.PATTERNS,
        "File that the check of a folder leaves out: a file name, or a path in the workspace if it has a slash. `*`"
        " matches any characters.",
        option="NAME",
        adds_up=True,
        is_offered=False,
    )
    tests: bool = setting(
        True,
        of.FLAG,
        "Run the project's own pytest tests that run a function, after its examples have passed.",
        option="",
    )
    tests_seconds: float = setting(
        10.0, of.number(1, 600), "Time limit for the project's tests of one candidate, in seconds.", option="SECONDS"
    )
    check_on_save: bool = setting(
        False, of.FLAG, "Run the examples of a file's functions when the file is saved, except for stubs."
    )
    code_lens: bool = setting(
        True, of.FLAG, "Show the evidence above each function, with its actions and running jobs."
    )
    inlay_hints: bool = setting(False, of.FLAG, "Show the actual result after each failed example.")
    unreached_hints: bool = setting(False, of.FLAG, "Show a hint at each line that no example reached.")
    context_tokens: int = setting(
        8192,
        of.number(1024, 1_048_576, is_whole=True),
        "Context window of the model, in tokens. After a change, Ollama loads the model again.",
        option="N",
    )
    keep_alive: str = setting(
        "10m", of.DURATION, "Time to keep the model loaded in Ollama after a request; `-1` means forever."
    )
    first_token_timeout: float = setting(
        300.0,
        of.number(1, 86400),
        "Seconds to wait for the first token of a reply, including the time to load the model.",
        option="SECONDS",
    )
    token_timeout: float = setting(
        60.0, of.number(1, 86400), "Seconds to wait for each further token.", option="SECONDS"
    )
    reply_timeout: float | None = setting(
        None, of.number(1, 86400), "Time limit for a whole reply, in seconds.", unset="no limit", option="SECONDS"
    )
    temperature: float = setting(0.2, of.number(0, 2), "Sampling temperature of the model.")
    seed: int | None = setting(
        None,
        of.number(0, 2**31 - 1, is_whole=True),
        "Seed for repeatable replies of the model.",
        unset="a new seed each time",
        option="N",
        is_offered=False,
    )
    instructions: str = setting("", of.LONG_TEXT, "Instructions of the project, added to the prompt.")
    allow_cloud: bool = setting(
        False,
        of.FLAG,
        "Send code outside your network, to a model in Ollama's cloud or on a public server.",
        option="",
        by_project=False,
    )
    hide: tuple[str, ...] = setting(
        (),
        of.PATTERNS,
        "File name, or path in the workspace if it has a slash, to hide from models and from running code. Known"
        " private files are hidden anyway. `*` matches any characters.",
        option="NAME",
        adds_up=True,
    )
    show: tuple[str, ...] = setting(
        (),
        of.PATTERNS,
        Text(
            "File to show to models and to running code even if it looks private or matches `",
            *(Named("hide"), "`: a file name, or a path in the workspace if it contains a slash."),
        ),
        option="NAME",
        by_project=False,
        adds_up=True,
    )
    trusted: bool = setting(
        True,
        of.FLAG,
        "The editor's trust in the workspace. Nothing runs in an untrusted workspace.",
        by_project=False,
        is_offered=False,
    )
    record: Path | None = None
    """File that records the conversation with the model. Only the option `--record` sets it."""

    @property
    def wishes(self) -> Wishes:
        """The user's wishes about private files, from `hide` and `show`."""
        return Wishes(self.hide, self.show)

    @property
    def cascade(self) -> tuple[str | None, ...]:
        """The models to ask, in order. None means the best installed model."""
        return self.models or (None,)

    def rounds_by_model(self, *, is_started: bool) -> tuple[tuple[str | None, int | None], ...]:
        """Return the models in the order to ask them, each with its maximum number of rounds after the first; None for
        no limit.

        `is_started` is True if the first round evaluates existing code, and asks no model.
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
"""The settings, by field name."""
_FIELDS = {snake_case(defined.key): name for name, defined in SETTINGS.items()} | {name: name for name in SETTINGS}


def field_name(key: str) -> str | None:
    """Return the field for a key such as `maxIterations`, `max-iterations` or `ollama.host`; None if there is none."""
    return _FIELDS.get(snake_case(key))
