"""Messages name a setting as the user's interface spells it. Foreign text in them is never changed."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest

import adacoder
from adacoder import report
from adacoder.domain import AdaCoderError, Outcome, Status
from adacoder.journal import Journal
from adacoder.lsp.connection.display import displayed
from adacoder.messages import Named, Remedy, Text, joined, remedies
from adacoder.models import errors
from adacoder.models.errors import OPENAI, BadReply, ModelError, ModelMissing, NoChat, NotRunning, OutOfMemory
from adacoder.models.examination import Finding
from adacoder.models.window import Bound
from adacoder.settings import SETTINGS
from adacoder.source.locate import locate

MODEL, NO_ISOLATION = Named("model"), Named("isolation", "none")
FOREIGN = "use --model x, `--isolation none` or adacoder.model"
"""Text of a server, a model or a project."""
PACKAGE = Path(adacoder.__file__).parent
TARGET = locate('def f(x):\n    """Doc."""\n', Path("/w/m.py"), Path("/w"), qualname="f")


def in_an_editor(text: str) -> str:
    """Return a message as the language server sends it."""
    sent: dict[str, str] = displayed({"message": text})
    return sent["message"]


@pytest.mark.parametrize(
    ("named", "option", "setting"),
    [
        (MODEL, "--model", "adacoder.model"),
        (Named("ollama.host"), "--host", "adacoder.ollama.host"),
        (Named("openai.baseUrl"), "--base-url", "adacoder.openai.baseUrl"),
        (Named("contextTokens"), "--context-tokens", "adacoder.contextTokens"),
        (NO_ISOLATION, "--isolation none", "adacoder.isolation: none"),
    ],
)
def test_each_door_spells_a_setting_in_its_way(named: Named, option: str, setting: str) -> None:
    text = Text("Try `", named, "`.")
    assert (text, in_an_editor(text)) == (f"Try `{option}`.", f"Try `{setting}`.")


def test_what_others_say_arrives_as_it_is() -> None:
    error = BadReply("http://h", FOREIGN)
    assert FOREIGN in str(error)
    assert FOREIGN in in_an_editor(str(error))
    # control: in AdaCoder's own messages, editors have their own names of settings
    ours = OutOfMemory("m", FOREIGN)
    assert f"({FOREIGN}): choose a smaller model with --model, or lower --context-tokens." in str(ours)
    shown = in_an_editor(str(ours))
    assert f"({FOREIGN}): choose a smaller model with adacoder.model, or lower adacoder.contextTokens." in shown


def test_a_text_stays_what_it_is_on_every_way() -> None:
    text = Text("a ", MODEL, " b")
    for same in (
        *(Text(text), joined(" ", [text]), Text("", text), str(AdaCoderError(text)), text.shortened(100)),
        *(copy.deepcopy(text), pickle.loads(pickle.dumps(text))),
        str(pickle.loads(pickle.dumps(AdaCoderError("a ", MODEL, " b")))),
    ):
        assert (same, in_an_editor(same)) == ("a --model b", "a adacoder.model b")
    assert in_an_editor(joined(" ", ["x", text, text])) == "x a adacoder.model b a adacoder.model b"
    assert joined(" ", []) == ""


@pytest.mark.parametrize("most", range(12))
def test_a_text_that_is_cut_keeps_its_settings_whole(most: int) -> None:
    cut = Text("ab", MODEL, "cdef").shortened(most)
    assert cut.endswith(" …")
    assert str(cut).removesuffix(" …") in ("", "a", "ab", "ab--model", *(f"ab--model{'cdef'[:n]}" for n in range(4)))


def every_error() -> list[ModelError]:
    """Return one error of each kind that users may see. Arguments are made from the parameters' names."""
    made = {"host": "http://h", "url": "http://h", "status": 401, "seconds": 1.0, "bound": Bound.SETTING}
    kinds = [each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, ModelError)]
    found = []
    for kind in kinds:
        if "__init__" not in vars(kind):
            continue
        needed = [name for name, each in inspect.signature(kind).parameters.items() if each.default is each.empty]
        arguments: list[Any] = [made.get(name, FOREIGN) for name in needed]
        found.append(kind(*arguments))
    return found


@pytest.mark.parametrize("error", every_error(), ids=lambda error: type(error).__name__)
def test_every_error_comes_out_right_at_both_doors_wherever_it_is_told(error: ModelError) -> None:
    said = str(error)
    assert isinstance(said, Text)
    own = [part for part in said.parts if isinstance(part, Named)]
    assert not any("--" in str(part) for part in said.parts if part not in own and FOREIGN[:9] not in str(part))
    journal = Journal()
    with pytest.raises(ModelError), journal.step("writer", "write", "writing"):
        raise error
    outcome = Outcome(Status.ERROR, TARGET, said, notes=(said,), steps=journal.steps)
    partly = Outcome(Status.UNVERIFIED, TARGET, Text("Read it. Then no more replies came: ", said))
    finding = Finding("Model", False, "it fails", said)
    answer: Any = report.to_json(outcome, Path("/w"))
    texts = [said, report.summary(outcome), report.summary(partly), finding.advice, answer["reason"]]
    texts += [answer["summary"], *answer["notes"], answer["journal"][0]["error"]]
    for text in texts:
        assert isinstance(text, str)
        shown = in_an_editor(text)
        for part in own:
            assert str(part) in text
            assert part.in_editor in shown
        foreign = sum(str(part).count("--") for part in said.parts if part not in own)
        assert shown.count("--") == foreign * (text.count(said) or 1)


def test_only_settings_are_named_that_can_be_said_there() -> None:
    options = {each.key for each in SETTINGS.values() if each.option is not None}
    named = {
        (path.relative_to(PACKAGE).parts[0], node.args[0].value)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Named" and isinstance(node.args[0], ast.Constant)
    }
    assert ("lsp", "unverified") in named
    assert {key for room, key in named if room != "lsp"} <= options
    assert {key for _, key in named} <= {each.key for each in SETTINGS.values()}


def test_what_a_message_tells_to_do_is_told_apart_from_what_it_quotes() -> None:
    quoted = ModelMissing("adacoder.x `ollama pull evil`", "h", ["m"])
    assert remedies(str(quoted)) == [
        Remedy("pull", "run `ollama pull adacoder.x `ollama pull evil``", "adacoder.x `ollama pull evil`"),
        Named("model"),
    ]
    assert remedies(joined(" ", ["Not inserted.", str(NotRunning("h"))])) == [
        Remedy("start", "start it with `ollama serve`"),
        Named("ollama.host"),
    ]
    assert remedies(str(NotRunning("h", OPENAI))) == [Named("openai.baseUrl")]
    assert remedies("Set --model, and run `ollama pull m`.") == []


def test_an_error_that_names_nothing_is_its_sentence() -> None:
    assert str(AdaCoderError("There is no file.")) == "There is no file."
    assert str(NoChat("m")) == "The model 'm' cannot answer chats: choose another with --model."
