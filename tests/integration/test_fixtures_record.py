"""The recorded conversations in the repository are up to date: handwritten replies give the same recordings."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from adacoder.cli.demo import RECORDING, fixture
from adacoder.models.recording.format import read
from support.paths import FIXTURES

pytestmark = pytest.mark.isolation

REPLIES = '''
workspace = "shop"
command = ["fix", "cart.py::total", "--strategy", "adacoder", "--max-iterations", "1"]
status = "verified"
replies = ["1. Add.", """
```python
def total(prices):
    return sum(prices)
```
"""]
'''
CART = 'def total(prices):\n    """The sum.\n\n    >>> total([1, 2])\n    3\n    """\n    return 0\n'


def script_of_the_repository() -> Any:
    spec = importlib.util.spec_from_file_location("fixtures_record", FIXTURES / "record.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


record = script_of_the_repository()


def written_in(folder: Path, replies: str = REPLIES) -> Any:
    """A file of handwritten replies, and the project for them."""
    (folder / "shop").mkdir()
    (folder / "shop" / "cart.py").write_text(CART)
    (folder / "total.replies.toml").write_text(replies)
    (script,) = record.scripts(folder)
    return script


def is_current(script: Any, folder: Path) -> bool:
    """Return True if a new recording equals the stored one."""
    record.record(script, folder / "fresh")
    new, recorded = read(folder / "fresh"), read(script.recording)
    return bool((new.model, new.window, new.exchanges) == (recorded.model, recorded.window, recorded.exchanges))


@pytest.mark.parametrize("script", record.scripts(), ids=lambda script: script.recording.name)
def test_what_is_recorded_is_what_would_be_recorded_now(script: Any, tmp_path: Path) -> None:
    assert is_current(script, tmp_path), f"{script.recording} is out of date: run nox -s record, and read the diff"


def test_every_conversation_is_recorded_from_replies() -> None:
    assert {script.recording for script in record.scripts()} == {*FIXTURES.rglob("*.conversation")}
    assert fixture() / RECORDING in {script.recording for script in record.scripts()}


def test_a_changed_prompt_is_noticed_and_recorded_by_the_same_command(tmp_path: Path) -> None:
    script = written_in(tmp_path)
    record.record(script, script.recording)
    assert is_current(script, tmp_path)
    (tmp_path / "shop" / "cart.py").write_text(CART.replace("The sum", "What they add up to"))
    assert not is_current(script, tmp_path)
    record.record(script, script.recording)
    assert is_current(script, tmp_path)


def test_a_changed_reply_is_noticed(tmp_path: Path) -> None:
    script = written_in(tmp_path)
    record.record(script, script.recording)
    script.replies[0] = "1. Sum."
    assert not is_current(script, tmp_path)


@pytest.mark.parametrize(
    ("replies", "told"),
    [
        (REPLIES.replace("sum(prices)", "0"), "must end verified, and ends failed"),
        (REPLIES.replace('"1. Add."', '"1. Add.", "1. Add."'), "must end verified, and ends failed"),
        (REPLIES.replace('"""]', '""", "more"]'), "and ends verified (None), with 1 replies left"),
        (REPLIES.replace("total", "sums"), "must end verified, and ends error"),
    ],
    ids=["a wrong reply", "one that is no function", "one too many", "a function that is not there"],
)
def test_a_script_that_ends_in_another_way_is_told(tmp_path: Path, replies: str, told: str) -> None:
    script = written_in(tmp_path, replies)
    with pytest.raises(SystemExit) as caught:
        record.record(script, tmp_path / "fresh")
    assert told in str(caught.value)
