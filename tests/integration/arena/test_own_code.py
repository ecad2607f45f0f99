"""Tasks from a folder of code: chosen functions, shown and hidden examples and tests, and verdicts."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from adacoder.arena.cells import Bench, Plan
from adacoder.arena.judge import HiddenJudge
from adacoder.arena.own_code import tasks_of
from adacoder.arena.rows import Judged, Row, RowsFile, RowsReader
from adacoder.arena.runner import Runner
from adacoder.arena.tasks import TaskSet
from adacoder.domain import Candidate
from adacoder.models.backend import Session
from adacoder.models.base import Leases
from adacoder.models.scripted import ScriptedModel
from adacoder.service import Service
from adacoder.settings import Settings

SHAPES = '''
    """Shapes: area(31, 3) is 93.

    >>> area(31, 3)
    93
    """


    def area(a, b):
        """Area of a rectangle.

        >>> side = 2
        >>> area(side, 3)
        6
        >>> area(31, 3)
        93

        Both sides count.
        """
        return a * b


    def wrong(a):
        """Fails as it stands.

        >>> wrong(1)
        2
        >>> wrong(2)
        3
        """
        return a


    def alone(a):
        """Has one example.

        >>> alone(1)
        1
        """
        return a


    def elsewhere(a):
        """Has two that do not run it.

        >>> area(2, 3)
        6
        >>> area(2, 4)
        8
        """
        return a
'''
USES = '''
    from shapes import area


    def volume(a, b, c):
        """Volume.

        >>> area(31,  3)
        93
        >>> volume(1, 2, 3)
        6
        """
        return area(a, b) * c
'''


async def tasks(folder: Path) -> TaskSet:
    (folder / "pyproject.toml").write_text("[project]\nname = 'shapes'\n")
    (folder / "shapes.py").write_text(dedent(SHAPES))
    (folder / "uses.py").write_text(dedent(USES))
    return await tasks_of(folder, Settings())


async def test_functions_whose_examples_run_them_and_pass(tmp_path: Path) -> None:
    found = await tasks(tmp_path)
    assert [task.id for task in found.tasks] == ["shapes.py::area"]
    again = await tasks(tmp_path)
    assert [task.target for task in found.tasks] == [task.target for task in again.tasks]
    assert found.checksum == again.checksum


async def test_half_of_the_examples_are_nowhere_to_be_seen(tmp_path: Path) -> None:
    (task,) = (await tasks(tmp_path)).tasks
    assert [example.source for example in task.target.examples] == ["side = 2\n", "area(side, 3)\n"]
    assert task.target.is_stub
    assert "return a * b" not in task.target.text
    assert "return a" in task.target.text  # of other functions
    texts = [task.target.text, task.project.overlays[tmp_path / "uses.py"]]
    assert not [text for text in texts if "93" in text]
    assert task.project.overlays[task.target.module.path] == task.target.text
    assert task.target.text.count("\n") == dedent(SHAPES).count("\n")


async def test_hidden_examples_judge(tmp_path: Path) -> None:
    found = await tasks(tmp_path)
    (task,) = found.tasks
    judge = HiddenJudge(Settings())
    try:
        right = await judge.judge(task, Candidate("def area(a, b):\n    return b * a"))
        known = await judge.judge(task, Candidate("def area(a, b):\n    return 6"))
        assert right == Judged("passed")
        assert known == Judged("failed", "wrong_output")
        peeks = 'def area(a, b):\n    return 6 if a == 2 else 93 * ("93" in open(__file__).read())'
        assert await judge.judge(task, Candidate(peeks)) != Judged("passed")
        assert await judge.unfit(found.tasks) == []
    finally:
        await judge.close()


SHOP = {
    "pyproject.toml": "[project]\nname = 'shop'\n[tool.pytest.ini_options]\naddopts = '--no-such-option'\n",
    "README.md": ">>> discounted(5501)\n4951\n",
    "data/prices.csv": "discounted(5501), 4951\n",
    "data/notes.log": ">>> for price in [5501]:\n...     discounted(price)\n4951\n",
    "data/rates.csv": "5502\n",
    "shop/__init__.py": "",
    "shop/prices.py": '''
        """Prices.

        >>> discounted(5501)
        4951
        """

        import asyncio
        import functools


        def counted(function):
            @functools.wraps(function)
            def counting(*args):
                """Count, as in

                >>> discounted(5501)
                4951
                """
                return function(*args)

            return counting


        @counted
        def discounted(price):
            """Nine tenths of a price.

            >>> discounted(10)
            9
            >>> discounted(20)
            18
            >>> discounted(5501)
            4951
            >>> for price in [5501]:
            ...     discounted(price)
            4951
            """

            def tenth(price):
                """
                >>> tenth(6601)
                660
                """
                return price // 10

            return price - tenth(price)  # as in discounted(5501)


        async def fetched(price):
            """A price, later.

            >>> asyncio.run(fetched(7))
            7
            >>> asyncio.run(fetched(7701))
            7701
            """
            # discounted(5501) is 4951
            return price


        class Cart:
            """What is bought.

            >>> Cart([8801]).total()
            8801
            """

            def __init__(self, prices):
                self.prices = prices

            def total(self):
                """Sum of the prices.

                >>> Cart([1, 2]).total()
                3
                >>> Cart([8801]).total()
                8801
                """
                return sum(self.prices)

            @property
            def dearest(self):
                """The highest price.

                >>> Cart([1, 2]).dearest
                2
                """
                return max(self.prices)
    ''',
    "tests/test_prices.py": """
        import pytest

        from shop.prices import Cart, discounted

        @pytest.mark.parametrize("prices", [[9901], [9901, 1]])
        def test_dearest(prices):
            assert Cart(prices).dearest == 9901

        def test_both():
            assert Cart([discounted(9901)]).dearest == 8911

        def test_fails():
            assert Cart([9901]).dearest == 0
    """,
}
HIDDEN = ("5501", "4951", "7701", "8801", "9901", "8911")
"""Text that occurs only in hidden examples and tests."""
PEEKING = """```python
def discounted(price):
    from pathlib import Path
    text = ""
    for each in Path(__file__).parents[1].rglob("*.*"):
        try:
            text += "" if each.suffix == ".pyc" else each.read_text()
        except OSError:
            pass
    found = [number for number in map(str, range(4000, 10_000)) if number in text]
    return {10: 9, 20: 18}.get(price) if found == ["5502"] else found
```
"""
"""A reply that is right only if the project contains the one file with nothing hidden, and no other."""
WRONG = "```python\ndef discounted(price):\n    return 9\n```\n"


def shop(folder: Path) -> Path:
    for name, text in SHOP.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text))
    return folder


@pytest.mark.isolation
async def test_tests_that_cannot_run_are_told_of(tmp_path: Path) -> None:
    (shop(tmp_path) / "tests" / "test_ends.py").write_text("import os\nos._exit(1)\n")
    found = await tasks_of(tmp_path, Settings())
    why, without = found.left_out
    assert without.startswith("Pytest ran without --no-such-option, ")
    assert why.startswith("None of the tests in tests/test_ends.py could run: ")
    assert [task.id for task in found.tasks if task.id.endswith("dearest")]  # tests in other files still judge


@pytest.mark.isolation
async def test_methods_properties_coroutines_and_decorated_functions_are_judged_by_tests_too(tmp_path: Path) -> None:
    found = {task.target.qualname: task for task in (await tasks_of(shop(tmp_path), Settings())).tasks}
    assert set(found) == {"discounted", "fetched", "Cart.total", "Cart.dearest"}
    dearest = found["Cart.dearest"]
    assert len(dearest.target.examples) == 1  # one shown example is enough for a function with tests
    judge = HiddenJudge(Settings())
    try:
        assert await judge.unfit(found.values()) == []
        right = Candidate("@property\ndef dearest(self):\n    return sorted(self.prices)[-1]")
        assert await judge.judge(dearest, right) == Judged("passed")
        last = Candidate("@property\ndef dearest(self):\n    return self.prices[-1]")  # passes the shown example only
        assert await judge.judge(dearest, last) == Judged("failed", "test_failed")
        ends = Candidate("@property\ndef dearest(self):\n    if self.prices != [1, 2]: raise SystemExit\n    return 2")
        assert (await judge.judge(dearest, ends)).how == "failed"
    finally:
        await judge.close()


async def run(tasks: TaskSet, reply: str, kept: Path) -> tuple[list[Row], ScriptedModel]:
    settings, model = Settings(max_iterations=1), ScriptedModel(then=reply)

    async def open_model(*_: object) -> ScriptedModel:
        return model

    judge, service = HiddenJudge(settings), Service(open_model, Session(leases=Leases(9)))
    rows = RowsFile(kept / "rows.jsonl")
    bench = Bench(service, judge, settings, kept / "journals", kept / "records")
    try:
        await Runner(Plan(tasks, ("openai:m",), ("adacoder", "agentcoder"), 1, settings), bench, rows).run()
    finally:
        await asyncio.gather(judge.close(), service.close())
        await rows.close()
    return [*RowsReader().rows(rows.path)], model


@pytest.mark.isolation
async def test_no_hidden_example_is_sent_stored_or_found(tmp_path: Path) -> None:
    found = await tasks_of(shop(tmp_path / "shop"), Settings())
    tasks = replace(found, tasks=[each for each in found.tasks if each.id.endswith("discounted")])
    for number, reply in enumerate((WRONG, "no code")):
        (kept := tmp_path / f"kept{number}").mkdir()
        rows, model = await run(tasks, reply, kept)
        stored = [path.read_text() for path in kept.rglob("*") if path.is_file()]
        assert [bool(row.right) for row in rows] == [False, False]
        assert len(stored) == 3  # one file of rows, two journals
        assert any("discounted(10)" in ask.text for ask in model.asked)  # control: the shown example was sent
        assert not [
            text for text in (*(ask.text for ask in model.asked), *stored) if any(each in text for each in HIDDEN)
        ]
    (peeked := tmp_path / "peeked").mkdir()
    rows, _ = await run(tasks, PEEKING, peeked)
    assert {row.status for row in rows} == {"verified"}  # the reply saw the other file, without the hidden texts
    assert not any(row.right for row in rows)


@pytest.mark.rest
def test_the_same_split_in_every_process(tmp_path: Path) -> None:
    shop(tmp_path)
    program = (
        "import asyncio, sys; from pathlib import Path; from adacoder.arena.own_code import tasks_of;"
        "from adacoder.settings import Settings; found = asyncio.run(tasks_of(Path(sys.argv[1]), Settings()));"
        "print(found.checksum, [(each.id, each.target.text, each.hidden.examples, each.hidden.tests)"
        " for each in found.tasks])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, tmp_path],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert "test_dearest" in outputs.pop()
