"""`adacoder models`: the installed models, and their ranking on tasks with hidden tests."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from adacoder.arena.rows import RowsReader
from adacoder.models import backends
from adacoder.models.base import Ask
from adacoder.models.scripted import ScriptedModel
from support.commandline import Desk, new_desk
from support.standins import openai as standin_openai
from support.standins.ollama import Model, StandIn

HIDDEN = "canary_91ac"
TASKS = [
    {
        "task_id": f"HumanEval/{number}",
        "prompt": f'def f{number}(x):\n    """Give {number} times x.\n\n    >>> f{number}(1)\n    {number}\n    """\n',
        "entry_point": f"f{number}",
        "canonical_solution": f"    return {number} * x\n",
        "test": f"def check(candidate):\n    {HIDDEN} = 3\n    assert candidate({HIDDEN}) == {3 * number}\n",
    }
    for number in range(2, 8)
]
RIGHT = "\n\n".join(f"def f{number}(x):\n    return {number} * x\n" for number in range(2, 8))
SHALLOW = "\n\n".join(f"def f{number}(x):\n    return x + {number - 1}\n" for number in range(2, 8))
"""A reply that passes only the shown examples."""


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    return new_desk(tmp_path, capsys, monkeypatch)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return all requests to the models. `openai:good` is right, the others only pass shown examples."""
    sent: list[str] = []

    class Backend:
        slots = 1

        def __init__(self, *_: object) -> None:
            pass

        async def open_model(self, name: str) -> ScriptedModel:
            def say(ask: Ask) -> str:
                sent.append(ask.text)
                return f"```python\n{RIGHT if name == 'good' else SHALLOW}```\n"

            return ScriptedModel(then=say, name=name)

    monkeypatch.setitem(backends.BACKENDS, "openai", Backend)
    return sent


def _tasks(desk: Desk) -> Path:
    return desk.write("".join(json.dumps(each) + "\n" for each in TASKS), "tasks.jsonl")


RANK = ("--rank", "--model", "openai:shallow,openai:good", "--strategy", "direct", "--minutes", "5")


def test_the_model_that_is_right_wins_over_the_one_that_only_verifies(desk: Desk, sent: list[str]) -> None:
    ran = desk.run("models", _tasks(desk), *RANK, "--rows", "rows.jsonl", "--json")
    assert ran.code == 0, ran.err
    (told,) = ran.objects
    assert [(each["model"], each["right"], each["verifiedButWrong"]) for each in told["standings"]] == [
        ("openai:good", 6, 0),
        ("openai:shallow", 0, 6),
    ]
    assert told["sentence"].startswith("openai:good with direct: 6 of 6 functions right")
    assert told["sentence"] in ran.err
    assert sent
    assert not [text for text in sent if HIDDEN in text]
    again = len(sent)
    assert desk.run("models", _tasks(desk), *RANK, "--rows", "rows.jsonl", "--json").objects[0] == told
    assert len(sent) == again  # the rows are stored
    assert len(list(RowsReader().rows(desk.folder / "rows.jsonl"))) == 12


def test_a_folder_of_own_code_is_ranked_on_hidden_examples(desk: Desk, sent: list[str]) -> None:
    for number in range(2, 8):
        shown = f"    >>> f{number}(1)\n    {number}\n    >>> f{number}(73)\n    {73 * number}\n"
        stub = f'def f{number}(x):\n    """Give {number} times x.\n\n{shown}    """\n    return {number} * x\n'
        desk.write(stub, f"pkg/own{number}.py")
    ran = desk.run("models", desk.folder / "pkg", *RANK, "--json")
    assert ran.code == 0, ran.err
    best = ran.objects[0]["standings"][0]
    assert (best["model"], best["right"], best["of"]) == ("openai:good", 6, 6)


def test_the_winner_is_written_into_the_settings_and_nothing_else_changes(desk: Desk, sent: list[str]) -> None:
    pytest.importorskip("tomlkit")
    path = desk.write('# mine\n[project]\nname   = "x"\n', "pyproject.toml")
    ran = desk.run("models", _tasks(desk), *RANK, "--write")
    assert ran.code == 0, ran.err
    text = path.read_text(encoding="utf-8")
    assert text.startswith('# mine\n[project]\nname   = "x"\n')
    assert tomllib.loads(text)["tool"]["adacoder"] == {"model": "openai:good", "strategy": "direct"}
    assert f"Wrote model and strategy to {path}." in ran.err


def test_nobody_wins_where_nothing_is_right(desk: Desk, sent: list[str]) -> None:
    before = (desk.folder / "pyproject.toml").read_bytes()
    one = ("--rank", "--model", "openai:shallow", "--strategy", "direct", "--write")
    ran = desk.run("models", _tasks(desk), *one)
    assert ran.code == 1
    assert "No model wrote a right function" in ran.err
    assert (desk.folder / "pyproject.toml").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--write",), "TASKS and --write need --rank"),
        (("--rank", "--model", "openai:good", "--strategy", "none"), "There is no strategy 'none'"),
        (("--host", "localhost:1", "--base-url", "localhost:2"), "name two servers: list one at a time"),
        ((), "11434"),
    ],
)
def test_what_cannot_be_done_is_said(desk: Desk, arguments: tuple[str, ...], says: str) -> None:
    ran = desk.run("models", *arguments)
    assert ran.code == 2
    assert says.replace("11434", "127.0.0.1:1") in ran.err


def test_models_of_a_server_are_listed_as_users_name_them(desk: Desk) -> None:
    names = ("other", "two\nlines", "evil\x1b[2J")
    models = (
        standin_openai.Model("qwen:small", parameters=630_167_424),
        standin_openai.Model("large", parameters=1_040_000_000_000),
        *map(standin_openai.Model, names),
    )
    with standin_openai.StandIn(engine=standin_openai.Engine.LLAMA_CPP, models=models).in_thread() as server:
        ran = desk.run("models", "--base-url", server.host)
        told = desk.run("models", "--base-url", server.host, "--json")
    shown = {line.split()[0]: line.split()[1] for line in ran.out.splitlines()}
    unknown = dict.fromkeys(("openai:other", "openai:evil\\x1b[2J"), "size")
    assert shown == {"openai:large": "1,040B", "openai:qwen:small": "630M", **unknown}
    assert {json.loads(line)["name"] for line in told.out.splitlines()} >= {"openai:qwen:small", "openai:other"}


def test_models_of_ollama_are_listed_with_their_sizes(desk: Desk) -> None:
    models = (Model("a-coder:small", parameter_size="494.03M"), Model("b-coder:large"))
    with StandIn(models=models).in_thread() as server:
        ran = desk.run("models", "--host", server.host)
    assert ran.out.splitlines() == ["b-coder:large  7.6B", "a-coder:small  494M"]


def test_a_server_without_models_says_what_to_do(desk: Desk) -> None:
    with standin_openai.StandIn(models=()).in_thread() as server:
        ran = desk.run("models", "--base-url", server.host)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.endswith("lists no models: name one with --model openai:NAME.\n")
