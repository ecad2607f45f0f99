"""The limit of a window, and the advice for a request that needs more, whoever notices this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from adacoder.agents import prompt
from adacoder.agents.programming_assistant import WRITER
from adacoder.domain import Target
from adacoder.models.errors import BadReply, ContextOverflow, ModelError, NothingCame
from adacoder.models.window import Bound, Window
from adacoder.source.locate import functions
from support.serving import CODE, CODER, KINDS, ask, sentence, talking, words
from support.standins.ollama import Model
from support.standins.openai import Engine
from support.standins.openai import Model as OpenAIModel
from support.standins.server import Ending, Script


@dataclass(frozen=True)
class Case:
    """A server with a window, and the advice how to get a larger one."""

    kind: str
    stand_in: Mapping[str, object]
    bound: Bound
    window: int
    says: str


def served(engine: Engine, window: int, trained_with: int = 131072) -> Mapping[str, object]:
    return {"engine": engine, "models": (OpenAIModel(CODER, window, trained_with),)}


def stub(words: int) -> Target:
    """Return a function with a docstring of `words` words."""
    text = f'def f(x):\n    """{"word " * words}\n\n    >>> f(1)\n    1\n    """\n'
    (one,) = functions(text, Path("m.py").absolute(), Path.cwd())
    return one.target


SETTING = "raise --context-tokens, or choose a model with a larger window."
SERVER = "start the server with a larger window, or choose another model with --model."
MODEL = "the model supports no larger window, so choose another model with --model."
UNTOLD = "start the server with a larger window, and set --context-tokens to that size."
CASES = {
    "Ollama, as asked": Case("ollama 0.33", {}, Bound.SETTING, 1024, SETTING),
    "Ollama, as trained": Case("ollama 0.24", {"models": (Model(CODER, context_length=512),)}, Bound.MODEL, 512, MODEL),
    "vLLM, as asked": Case("openai", served(Engine.VLLM, 4096), Bound.SETTING, 1024, SETTING),
    "vLLM, as started": Case("openai", served(Engine.VLLM, 512), Bound.SERVER, 512, SERVER),
    "llama-server, as started": Case("openai", served(Engine.LLAMA_CPP, 512), Bound.SERVER, 512, SERVER),
    "llama-server, as trained": Case("openai", served(Engine.LLAMA_CPP, 512, 512), Bound.MODEL, 512, MODEL),
    "a router": Case("openai", served(Engine.ROUTER, 512), Bound.UNTOLD, 1024, UNTOLD),
    "LM Studio": Case("openai", served(Engine.LM_STUDIO, 512), Bound.UNTOLD, 1024, UNTOLD),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@every_case
async def test_a_prompt_that_does_not_fit_names_the_bound(case: Case) -> None:
    async with talking(KINDS[case.kind], [CODE] * 2, stand_in=case.stand_in, context_tokens=1024) as (
        server,
        model,
    ):
        window = await model.window()
        assert (window.tokens, window.bound) == (case.window, case.bound)
        with pytest.raises(ContextOverflow) as caught:
            await ask(model, words(1200))
        assert sentence(caught.value, server) == (
            f"The prompt does not fit into the context window of '{CODER}': {case.says}"
        )
        assert (await ask(model, words(100))).text == CODE


@every_case
async def test_a_task_that_does_not_fit_names_the_bound(case: Case) -> None:
    async with talking(KINDS[case.kind], [], stand_in=case.stand_in, context_tokens=1024) as (_, model):
        window = await model.window()
    with pytest.raises(ContextOverflow) as caught:
        prompt.brief(stub(words=4000), (), (WRITER,), window=window, instructions="")
    assert str(caught.value).endswith(f"the model's window has {case.window}: {case.says}")
    assert prompt.brief(stub(words=4), (), (WRITER,), window=Window(8192), instructions="").shared


@pytest.mark.parametrize("refused", [True, False], ids=["refused", "silent"])
async def test_what_only_the_server_finds_too_long(refused: bool) -> None:
    """The server's window is smaller than the setting, and the server does not report it."""
    engine = Engine.ROUTER if refused else Engine.LLAMA_CPP_PYTHON
    async with talking(KINDS["openai"], [CODE] * 2, stand_in=served(engine, 512)) as (server, model):
        with pytest.raises(ContextOverflow if refused else NothingCame) as caught:
            await ask(model, words(600))
        said = sentence(caught.value, server)
        assert UNTOLD.rstrip(".") in said
        assert said.index("context window") < said.index("start the server")
        assert (await ask(model, words(100))).text == CODE


@pytest.mark.parametrize("ending", [Ending.EOF, Ending.BREAK, Ending.RESET])
@pytest.mark.parametrize(
    ("engine", "text", "names_window"),
    [
        (Engine.LM_STUDIO, "", True),
        (Engine.LLAMA_CPP_PYTHON, "", True),
        (Engine.LM_STUDIO, "def f", False),  # the prompt fits, because the reply has started
        (Engine.VLLM, "", False),  # AdaCoder knows the window
        (Engine.LLAMA_CPP, "", False),
    ],
)
async def test_a_stream_that_ends_before_it_began(
    ending: Ending, engine: Engine, text: str, names_window: bool
) -> None:
    scripts: list[str | Script] = [Script(text, ending=ending), CODE]
    async with talking(KINDS["openai"], scripts, stand_in=served(engine, 4096)) as (server, model):
        with pytest.raises(ModelError) as caught:
            await ask(model)
        assert type(caught.value) is (NothingCame if names_window else BadReply)
        said = sentence(caught.value, server)
        assert ("their context window" in said) is names_window
        assert ("broke off" in said) is not names_window
        assert (await ask(model)).text == CODE
