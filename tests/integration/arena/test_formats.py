"""Files of tasks in every format. Their hidden tests tell right from wrong solutions."""

from __future__ import annotations

import base64
import gzip
import json
import pickle
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from adacoder.arena.formats import load
from adacoder.arena.judge import HiddenJudge
from adacoder.arena.rows import Judged
from adacoder.arena.tasks import ArenaTask, TasksError
from adacoder.cli.arena import wanted_tasks
from adacoder.domain import Candidate
from adacoder.settings import Settings

HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": 'def double(x):\n    """Twice x.\n\n    >>> double(2)\n    4\n    """\n',
    "entry_point": "double",
    "canonical_solution": "    return 2 * x\n",
}
CHECKED = {**HUMANEVAL, "test": "def check(candidate):\n    assert candidate(21) == 42\n"}
ET = {**HUMANEVAL, "test_case_list": ["assert double(21) == 42"]}
PLUS = {**HUMANEVAL, "base_input": [[2]], "plus_input": [[21], [0.1]], "atol": 1e-6}
MBPP = {
    "task_id": 2,
    "text": 'Write "double".',
    "code": "def double(x):\r\n\treturn 2 * x",
    "test_list": ["assert double(2) == 4", "assert double(21) == 42", "assert double(0) == 0"],
    "test_setup_code": "",
    "challenge_test_list": [],
}
SANITIZED = {
    "task_id": 2,
    "prompt": "Write double.",
    "code": "def double(x):\n    return 2 * x",
    "test_imports": ["import math"],
    "test_list": ["assert math.isclose(double(2), 4)", "assert math.isclose(double(21), 42)"],
}
MBPP_PLUS = {
    "task_id": "Mbpp/2",
    "prompt": '"""\nWrite double.\nassert double(2) == 4\n"""\n',
    "entry_point": "double",
    "canonical_solution": "def double(x):\n    return 2 * x\n",
    "base_input": [[2], [21]],
    "plus_input": [[0]],
    "atol": 0,
    "assertion": "assert double(2) == 4",
}


def live(private: str) -> dict[str, Any]:
    return {
        "question_id": "q1",
        "question_content": "Twice x.",
        "starter_code": "class Solution:\n    def double(self, x: int) -> int:\n        ",
        "metadata": json.dumps({"func_name": "double"}),
        "public_test_cases": json.dumps([{"input": "2", "output": "4", "testtype": "functional"}]),
        "private_test_cases": private,
    }


CASES = json.dumps([{"input": "21", "output": "42", "testtype": "functional"}])
PACKED = base64.b64encode(zlib.compress(pickle.dumps(CASES))).decode()
FORMS = [
    ("humaneval", "tasks.jsonl", CHECKED),
    ("humaneval-et", "HumanEval_ET.jsonl", ET),
    ("humaneval-plus", "HumanEvalPlus.jsonl", PLUS),
    ("humaneval-plus", "humaneval-plus.jsonl", CHECKED),  # as on the dataset hub
    ("mbpp", "mbpp.jsonl", MBPP),
    ("mbpp-et", "MBPP_ET.jsonl", MBPP),
    ("mbpp-sanitized", "sanitized-mbpp.jsonl", SANITIZED),
    ("mbpp-plus", "MbppPlus.jsonl", MBPP_PLUS),
    ("livecodebench", "test.jsonl", live(CASES)),
    ("livecodebench", "test.jsonl", live(PACKED)),
]
RIGHT, WRONG = "return x * 2", "return x + 2"
"""Both return 4 for 2."""


@pytest.fixture
async def judge() -> AsyncIterator[HiddenJudge]:
    opened = HiddenJudge(Settings())
    yield opened
    await opened.close()


def task_in(folder: Path, name: str, told: object) -> ArenaTask:
    path = folder / name
    path.write_text(json.dumps(told) + "\n")
    (task,) = load(path, folder).tasks
    return task


@pytest.mark.parametrize(("dataset", "name", "told"), FORMS)
async def test_hidden_tests_tell_right_from_wrong(
    dataset: str, name: str, told: dict[str, Any], tmp_path: Path, judge: HiddenJudge
) -> None:
    task = task_in(tmp_path, name, told)
    assert load(tmp_path / name, tmp_path).dataset == dataset
    found = [await judge.judge(task, Candidate(f"def double(x):\n    {body}")) for body in (RIGHT, WRONG)]
    assert found[0] == Judged("passed")
    assert found[1].how == "failed"
    assert await judge.unfit([task]) == []


@pytest.mark.parametrize(("name", "told"), [(name, told) for _, name, told in FORMS])
def test_one_test_is_shown_and_no_hidden_one(name: str, told: dict[str, Any], tmp_path: Path) -> None:
    target = task_in(tmp_path, name, told).target
    assert len([example for example in target.examples if example.has_want]) == 1
    assert "21" not in target.text
    assert target.is_stub


def test_a_list_of_tasks_that_is_packed(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json.gz"
    path.write_bytes(gzip.compress(json.dumps([SANITIZED, SANITIZED]).encode()))
    assert len(load(path, tmp_path).tasks) == 2


def test_a_class_that_tests_use_belongs_to_the_task(tmp_path: Path) -> None:
    code = "class Pair:\n    pass\n\ndef double(x):\n    return x"
    told = {**MBPP, "code": code, "test_list": ["assert double(Pair())"]}
    assert "class Pair" in task_in(tmp_path, "mbpp.jsonl", told).target.text


def test_a_program_that_reads_its_input_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps({**live(CASES), "starter_code": ""}) + "\n")
    found = load(path, tmp_path)
    assert (len(found.tasks), len(found.left_out)) == (0, 1)


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return print, ("it ran",)


def test_hidden_tests_that_hold_the_shown_one_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "mbpp-plus.jsonl"
    path.write_text(f"{json.dumps(SANITIZED)}\n{json.dumps({**SANITIZED, 'test': 'assert True'})}\n")
    found = load(path, tmp_path)
    assert (len(found.tasks), len(found.left_out)) == (1, 1)


def test_packed_cases_run_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = base64.b64encode(zlib.compress(pickle.dumps(Evil()))).decode()
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps(live(packed)) + "\n")
    with pytest.raises(TasksError):
        load(path, tmp_path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("text", ["", "[]", "no JSON", '{"a": 1}', "[1]", '{"prompt": 1, "entry_point": 2'])
def test_what_holds_no_tasks(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(text)
    with pytest.raises(TasksError):
        load(path, tmp_path)


TWICE = gzip.compress(json.dumps(CHECKED).encode() + b"\n") + gzip.compress(json.dumps(ET).encode()[:-1])
"""Compressed data in two parts, of which the second is incomplete."""


@cache
def spaces() -> bytes:
    """A small compressed file with one very long line."""
    return gzip.compress(b" " * (80 << 20))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(spaces, "line 1: .* too large", id="a bomb of one line"),
        pytest.param(lambda: gzip.compress(b"\n" * (1 << 20)), "too large", id="a bomb of many lines"),
        pytest.param(lambda: gzip.compress(b"[" + b"{},\n" * (1 << 20)), "too large", id="a bomb of a list"),
        pytest.param(lambda: gzip.compress(b"{" + b'"":0,' * (5 << 20)), "values", id="a bomb of values"),
        pytest.param(lambda: gzip.compress(spaces()[:1000]), "line 1", id="packed twice"),
        pytest.param(lambda: spaces()[:1000], "cannot be read", id="cut"),
        pytest.param(TWICE, "line 2", id="two parts"),
        pytest.param(b"[" * 100_000, "nested", id="deep list"),
        pytest.param(b'{"a":' * 100_000, "nested", id="deep object"),
        pytest.param(json.dumps(CHECKED).encode("utf-16"), "line 1", id="UTF-16"),
        pytest.param(json.dumps(CHECKED).encode() + b"\n[1, 2]\n", "line 2", id="no object"),
        pytest.param(b'{"prompt": NaN}', "finite", id="no number"),
        pytest.param(b'{"prompt": 1, "prompt": 2}', "twice", id="a key twice"),
        pytest.param(b"", "holds no tasks", id="empty"),
    ],
)
def test_a_file_that_would_harm_is_refused_in_a_sentence(
    data: bytes | Callable[[], bytes], why: str, tmp_path: Path
) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(data() if callable(data) else data)
    with pytest.raises(TasksError, match=why):
        load(path, tmp_path)


def test_a_small_file_takes_no_gigabyte(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(CHECKED).encode() + b"\n") + spaces())
    tracemalloc.start()
    try:
        with pytest.raises(TasksError, match=r"line 2: .* too large"):
            load(path, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 300 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("told", "member", "odd"),
    [
        *((CHECKED, name, odd) for name in CHECKED for odd in (None, 7, [7], {"a": 7}, "\ud800", "(" * 9999)),
        *((PLUS, "base_input", odd) for odd in (7, [7], "x", None)),
        *((PLUS, "atol", odd) for odd in (10**400, "x", [7])),
        *((MBPP_PLUS, "prompt", odd) for odd in (7, "no literal", "(" * 9999, "[" * 300 + "]" * 300, '"""')),
        *((MBPP, "test_list", odd) for odd in (7, [7], "x", ["assert double(" + "(" * 9999])),
        *((live(""), "private_test_cases", odd) for odd in (7, "x", "[7]", "eJw=", [[7]], "[" * 9999, PACKED[:-9])),
        *((live(""), "metadata", odd) for odd in (7, "[]", "x", "[" * 9999)),
    ],
)
def test_an_object_that_only_looks_like_a_task(told: dict[str, Any], member: str, odd: object, tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps({**told, member: odd}) + "\n")
    with suppress(TasksError):
        assert all(task.id.isprintable() for task in load(path, tmp_path).tasks)


@pytest.mark.parametrize(
    "pickled",
    [
        pytest.param(b"\x80\x04r\xff\xff\xff\x7f.", id="a memo of gigabytes"),
        pytest.param(pickle.dumps([CASES]), id="a list"),
        pytest.param(b"", id="nothing"),
        pytest.param(pickle.dumps(CASES)[:-5], id="cut"),
    ],
)
def test_packed_cases_are_a_text_or_nothing(pickled: bytes, tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps(live(base64.b64encode(zlib.compress(pickled)).decode())) + "\n")
    with pytest.raises(TasksError):
        load(path, tmp_path)


@pytest.mark.parametrize("protocol", range(6))
def test_packed_cases_of_every_version_of_pickle(protocol: int, tmp_path: Path) -> None:
    packed = base64.b64encode(zlib.compress(pickle.dumps(CASES, protocol))).decode()
    assert task_in(tmp_path, "test.jsonl", live(packed)).id == "q1"


def test_a_mark_before_the_first_task_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(b"\xef\xbb\xbf\n" + json.dumps(CHECKED).encode())
    assert len(load(path, tmp_path).tasks) == 1


@pytest.mark.parametrize("ids", [("T/0", "T/0"), ("T/0", "t/0")])
async def test_each_task_has_a_name_of_its_own(ids: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps({**CHECKED, "task_id": each}) + "\n" for each in ids))
    if ids[0] == ids[1]:
        with pytest.raises(TasksError, match=r"has 2 tasks named 'T/0'"):
            await wanted_tasks(path, "*", Settings(), tmp_path)
    else:
        assert len((await wanted_tasks(path, "*", Settings(), tmp_path)).tasks) == 2
