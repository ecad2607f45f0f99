"""Foreign text is read within limits, and without blocking the event loop."""

from __future__ import annotations

import asyncio
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from adacoder.agents import debug_specialist, programming_assistant, prompt_engineer
from adacoder.agents.code_evaluator import CodeEvaluator
from adacoder.agents.conversation import Conversation
from adacoder.agents.debug_specialist import DebugSpecialist
from adacoder.agents.programming_assistant import WRITER
from adacoder.agents.prompt import Briefing, brief
from adacoder.agents.prompt_engineer import PLANNER
from adacoder.agents.role import Role
from adacoder.domain import Candidate, Ended, Failure, FailureKind, Reply, TargetError, Verdict
from adacoder.journal import Journal
from adacoder.models.base import Ask
from adacoder.models.scripted import ScriptedModel
from adacoder.models.window import Window
from adacoder.pytext import error_line, parsed, symbols
from adacoder.replies.extract import extract
from adacoder.replies.filters import LONGEST_ANSWER, answer
from adacoder.sandbox.host import Host
from adacoder.source import imports
from adacoder.source.imports import ImportIndex, undefined_names
from adacoder.source.locate import documented, locate
from adacoder.source.splice import splice
from adacoder.source.text import LONGEST, read

if TYPE_CHECKING:
    from collections.abc import Callable

PATH, FOLDER = Path("/w/m.py"), Path("/w")
MODULE = 'def f(x):\n    """Give the double.\n\n    >>> f(1)\n    2\n    """\n    pass\n'
TARGET = locate(MODULE, PATH, FOLDER, qualname="f")
CANDIDATE = Candidate("def f(x):\n    return 2 * x\n")
FAILED = Verdict(Failure(FailureKind.EXCEPTION, "It failed."))


def waiting_for_the_loop(gives: object) -> tuple[Callable[..., Any], Callable[[], object]]:
    """Return a reader that ends only after the event loop has run, and a function that makes it run."""
    went_on = threading.Event()

    def reader(*_: object, **__: object) -> object:
        assert went_on.wait(10), "the event loop stood still"
        return gives

    return reader, lambda: asyncio.get_running_loop().call_later(0.01, went_on.set)


WRITING = ScriptedModel(then=Reply("```python\ndef f(x):\n    return 2 * x\n```\n", ended=Ended.LENGTH))


async def asked(role: Role[Any], model: ScriptedModel = WRITING) -> object:
    async def pack(window: Window) -> Briefing:
        return brief(TARGET, (), (role,), window=window, instructions="")

    return await Conversation(model, TARGET, Journal(), pack).ask(role, {"error": "It failed."})


class Passing:
    """A host on which every example passes."""

    async def evaluate(self, *_: object, **__: object) -> Verdict:
        return Verdict(None)


async def written() -> object:
    return await asked(WRITER)


async def planned() -> object:
    return await asked(PLANNER)


async def repaired() -> object:
    return await DebugSpecialist(ImportIndex(TARGET, FOLDER), Journal()).repair(TARGET, CANDIDATE, FAILED)


async def evaluated() -> object:
    evaluator = CodeEvaluator(cast("Host", Passing()), Journal(), overlays={}, timeout=1)
    await evaluator.evaluate(TARGET, CANDIDATE)
    return None


@pytest.mark.parametrize(
    ("module", "name", "work", "gives"),
    [
        pytest.param(programming_assistant, "extract", written, CANDIDATE, id="extract"),
        pytest.param(prompt_engineer, "steps", planned, "1. Do it.", id="steps"),
        pytest.param(debug_specialist, "repaired_by_rules", repaired, (CANDIDATE, ()), id="repairs"),
        pytest.param(
            sys.modules["adacoder.source.splice"], "splice", evaluated, splice(TARGET, CANDIDATE), id="splice"
        ),
        pytest.param(imports, "undefined_names", evaluated, (), id="undefined names"),
    ],
)
async def test_the_event_loop_goes_on_while_a_reply_is_read(
    module: object, name: str, work: Callable[[], Any], gives: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, let_the_loop_go_on = waiting_for_the_loop(gives)
    monkeypatch.setattr(module, name, reader)
    let_the_loop_go_on()
    assert await work() in (gives, CANDIDATE, None)


async def test_the_event_loop_goes_on_while_a_long_reply_is_looked_at() -> None:
    reader, let_the_loop_go_on = waiting_for_the_loop(gives=True)
    let_the_loop_go_on()

    async def streaming(ask: Ask) -> Reply:
        for end in range(5000, 100_000, 100):
            if ask.enough("".join(map(str, range(end)))[:end]):
                return Reply("1. Do it.", ended=Ended.STOPPED_EARLY)
            await asyncio.sleep(0.001)
        return Reply("2. Do not.", ended=Ended.STOP)

    assert await asked(replace(PLANNER, enough=lambda target: reader), ScriptedModel(then=streaming)) == "1. Do it."


def test_a_reply_that_is_cut_is_one_that_broke_off() -> None:
    code = "def f(x):\n    return 2 * x\n"
    filler = "    # so it is\n"
    whole = extract(Reply(f"{code}{filler * 100}"), TARGET)
    assert whole.function.startswith(code.strip())
    assert not whole.cut
    assert extract(Reply("def f(x):\n" + "    x += 1\n" * LONGEST_ANSWER), TARGET).cut


def test_thoughts_do_not_count_for_the_length_of_a_reply() -> None:
    thought = "<think>" + "So it is. " * (LONGEST_ANSWER // 8) + "</think>\n"
    assert answer(f"{thought}1. Do it.") == "\n1. Do it."
    assert extract(Reply(f"{thought}```python\ndef f(x):\n    return 2 * x\n```"), TARGET).function


def test_only_so_much_comes_along_with_a_function() -> None:
    imports = "".join(f"import unknown{number}\n" for number in range(4000))
    found = extract(Reply(f"```python\n{imports}\n\ndef f(x):\n    return unknown3.g(x)\n```"), TARGET)
    assert 100 < len(found.imports) < 1000
    assert "import unknown3" in found.imports


def test_many_names_of_one_import_come_along() -> None:
    names = ", ".join(f"name{number}" for number in range(3000))
    placed = splice(TARGET, Candidate("def f(x):\n    return name7(x)\n", (f"from somewhere import {names}",)))
    assert "from somewhere import name7\n" in placed.text


def test_a_text_that_is_too_long_is_not_worked_on(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_text(f"{MODULE}# {'x' * LONGEST}\n", encoding="utf-8")
    with pytest.raises(TargetError, match=r"has more than 1,000,000 characters: move the function"):
        read(path)
    path.write_text(f"{MODULE}# {'x' * (LONGEST // 2)}\n", encoding="utf-8")
    assert locate(read(path).text, path, tmp_path, qualname="f").examples


def test_a_sparse_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse.py"
    with path.open("wb") as file:
        file.truncate(64 << 30)
    with pytest.raises(TargetError, match="has more than"):
        read(path)


def test_a_docstring_of_too_many_examples_is_no_list_of_examples() -> None:
    many = MODULE.replace("    >>> f(1)\n    2\n", "    >>> f(1)\n    2\n" * 5000)
    with pytest.raises(TargetError, match=r"is in a docstring of more than 40,000 characters"):
        locate(many, PATH, FOLDER, qualname="f")
    (one,) = documented(many, PATH, FOLDER)
    assert one.unreadable is not None
    some = MODULE.replace("    >>> f(1)\n    2\n", "    >>> f(1)\n    2\n" * 500)
    assert len(locate(some, PATH, FOLDER, qualname="f").examples) == 500


def test_a_long_docstring_of_prose_is_read() -> None:
    prose = MODULE.replace(">>> f(1)\n    2", "It is so. " * 10_000)
    assert locate(prose, PATH, FOLDER, qualname="f").examples == ()


@pytest.mark.parametrize(
    "text", ["a = 1\n" * 300_000, f"import a{'.a' * 30_000}\n", f"from .{'.a ' * 9000} import b\n"]
)
def test_what_takes_the_parser_too_long_counts_as_unreadable(text: str) -> None:
    assert parsed(text) is None
    assert symbols(text) is None
    assert error_line(text) == 1


@pytest.mark.parametrize("text", ["a = 1\n" * 100_000, "import a.b.c.d\n", "a.b.c\n" * 1000, f"a{'.a' * 400}\n"])
def test_what_people_write_is_read_by_the_parser(text: str) -> None:
    assert parsed(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        *("(" * 9000, "[" * 90_000 + "]" * 90_000, "{'a':" * 9000, "f'{" * 20_000),
        *(f"{part * 30_000}a" for part in ("a + ", "not ", "-", "lambda: ", "a.", "a if b else ", "a ** ", "await ")),
        *("if a:\n" + " if a:\n" * 1000, "".join(f"{' ' * depth}if a:\n" for depth in range(500))),
    ],
)
def test_what_is_deep_is_unreadable_and_no_more(text: str) -> None:
    assert parsed(text) is None or error_line(text) in (None, 1)
    assert extract(Reply(text), TARGET) == Candidate("") or extract(Reply(text), TARGET).function
    undefined_names(f"{MODULE}{text}", TARGET.definition)
