"""`--record FILE` and `--model replay:FILE` on the command line."""

from __future__ import annotations

import pytest

from adacoder.models.recording.format import read
from support.commandline import GOOD_REPLY, MODEL, PLAN, STUB, WRONG_REPLY, Desk, Ran
from support.standins.ollama import StandIn

pytestmark = pytest.mark.isolation

THREE = '''"""Three."""


def one():
    """The first number.

    >>> one()
    1
    """


def two():
    """The second number.

    >>> two()
    2
    """


def three():
    """The third number.

    >>> three()
    3
    """
'''
WHOLE = "shapes.py"
HYPOTENUSE = "shapes.py::hypotenuse"


def reply(name: str, value: int) -> str:
    return f"```python\ndef {name}():\n    return {value}\n```"


def generate(desk: Desk, place: object, *options: object, replies: list[str] | None = None) -> Ran:
    with StandIn(replies or [GOOD_REPLY]).in_thread() as standin:
        return desk.run("generate", place, "--model", MODEL, "--host", standin.host, *options)


def replay(desk: Desk, place: object, *options: object) -> Ran:
    return desk.run("generate", place, "--model", "replay:talk.txt", *options)


def test_each_function_of_a_file_is_a_conversation(desk: Desk) -> None:
    path = desk.write(THREE, WHOLE)
    replies = [reply("one", 1), reply("two", 9), PLAN, reply("two", 2), reply("three", 3)]
    recorded = generate(desk, WHOLE, "--record", "talk.txt", replies=replies)
    assert recorded.code == 0
    talk = read(desk.folder / "talk.txt")
    assert [(one.about["target"], len(one.exchanges)) for one in talk] == [
        ({"path": "shapes.py", "qualname": name}, exchanges)
        for name, exchanges in (("one", 1), ("two", 3), ("three", 1))
    ]
    again = replay(desk, WHOLE, "--record", "again.txt")
    assert (again.code, again.out) == (0, recorded.out)
    assert (desk.folder / "again.txt").read_bytes() == (desk.folder / "talk.txt").read_bytes()
    assert replay(desk, "shapes.py::two", "--write").code == 0
    assert path.read_text("utf-8") == THREE.replace('    2\n    """\n', '    2\n    """\n    return 2\n')


def test_a_second_run_continues_the_file_and_is_the_one_that_counts(desk: Desk) -> None:
    desk.write(STUB)
    generate(desk, HYPOTENUSE, "--record", "talk.txt", "--max-iterations", 0, replies=[WRONG_REPLY])
    assert replay(desk, HYPOTENUSE, "--max-iterations", 0).code == 1
    generate(desk, HYPOTENUSE, "--record", "talk.txt")
    assert len(read(desk.folder / "talk.txt")) == 2
    assert replay(desk, HYPOTENUSE).code == 0


def test_a_request_that_needs_no_model_is_no_conversation(desk: Desk) -> None:
    desk.write(STUB.replace("    pass\n", "    return (a * a + b * b) ** 0.5\n"))
    ran = desk.run("fix", HYPOTENUSE, "--record", "talk.txt")
    assert ran.code == 0
    assert not (desk.folder / "talk.txt").exists()


def test_a_server_that_is_not_there_makes_a_bug_report_too(desk: Desk) -> None:
    desk.write(STUB)
    ran = desk.run("generate", HYPOTENUSE, "--model", MODEL, "--host", "127.0.0.1:9", "--record", "talk.txt")
    assert ran.code == 2
    text = (desk.folder / "talk.txt").read_text("utf-8")
    assert "127.0.0.1" in ran.err
    assert "127.0.0.1" not in text
    assert "No Ollama server answers at <server>: " in text
    replayed = replay(desk, HYPOTENUSE)
    assert (replayed.code, len(replayed.error_lines)) == (2, 1)
    assert "No Ollama server answers at <server>: " in replayed.err


def test_a_prompt_that_changed_shows_where(desk: Desk) -> None:
    desk.write(STUB)
    generate(desk, HYPOTENUSE, "--record", "talk.txt")
    desk.write(STUB.replace("longest", "greatest"))
    ran = replay(desk, HYPOTENUSE)
    assert ran.code == 2
    assert ran.error_lines[0].endswith("talk.txt: record it again with --record.")
    assert '-    """The longest side of a right triangle.' in ran.error_lines
    assert '+    """The greatest side of a right triangle.' in ran.error_lines
    desk.write(STUB)
    assert replay(desk, HYPOTENUSE).code == 0


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("no/talk.txt", "No such file or directory"),
        ("shapes.py", "it holds something else"),
        ("replay.txt", "it is the conversation that is replayed"),
    ],
)
def test_what_cannot_be_recorded_in_is_told_and_left_alone(desk: Desk, file: str, why: str) -> None:
    desk.write(STUB)
    assert generate(desk, HYPOTENUSE, "--record", "replay.txt").code == 0
    before = {path: path.read_bytes() for path in desk.folder.iterdir()}
    ran = desk.run("generate", HYPOTENUSE, "--model", "replay:replay.txt", "--record", file)
    assert (ran.code, ran.out, len(ran.error_lines)) == (2, "", 1)
    assert ran.err.endswith(f"cannot be recorded in {file} ({why}): name another file with --record.\n")
    assert {path: path.read_bytes() for path in desk.folder.iterdir()} == before


def test_a_folder_is_no_file(desk: Desk) -> None:
    desk.write(STUB)
    ran = generate(desk, HYPOTENUSE, "--record", ".")
    assert (ran.code, len(ran.error_lines)) == (2, 1)
