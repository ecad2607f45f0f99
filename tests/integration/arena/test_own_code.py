"""Tasks from a folder of code: which functions, what is shown and hidden, and what judges."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from adacoder.arena.judge import Judge
from adacoder.arena.own_code import tasks_of
from adacoder.arena.rows import Judged
from adacoder.arena.tasks import TaskSet
from adacoder.domain import Candidate
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
    assert "return a" in task.target.text  # of others
    texts = [task.target.text, task.project.overlays[tmp_path / "uses.py"]]
    assert not [text for text in texts if "93" in text]
    assert task.project.overlays[task.target.module.path] == task.target.text
    assert task.target.text.count("\n") == dedent(SHAPES).count("\n")


async def test_hidden_examples_judge(tmp_path: Path) -> None:
    found = await tasks(tmp_path)
    (task,) = found.tasks
    judge = Judge(Settings())
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
