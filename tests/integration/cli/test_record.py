"""`--record FILE` and `--model replay:FILE` on the command line."""

from __future__ import annotations

import os

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
    talk = [read(desk.folder / f"talk{number}.txt") for number in ("", "-2", "-3")]
    assert [(one.about["target"], len(one.exchanges)) for one in talk] == [
        ({"path": "shapes.py", "qualname": name}, exchanges)
        for name, exchanges in (("one", 1), ("two", 3), ("three", 1))
    ]
    again = desk.run("generate", "shapes.py::two", "--model", "replay:talk-2.txt", "--record", "again.txt", "--write")
    assert again.code == 0
    assert read(desk.folder / "again.txt").exchanges == talk[1].exchanges
    assert path.read_text("utf-8") == THREE.replace('    2\n    """\n', '    2\n    """\n    return 2\n')


def test_a_conversation_has_no_environment_variables(desk: Desk) -> None:
    desk.write(STUB.replace("    5.0\n", "    5.0\n    >>> import os; os.environ['ITEM'][:6]\n    'canary'\n"))
    assert generate(desk, HYPOTENUSE, "--record", "talk.txt", "--env", "ITEM=canary-7d3f").code == 0
    assert "7d3f" not in (desk.folder / "talk.txt").read_text("utf-8")


def test_a_second_run_gets_a_file_of_its_own(desk: Desk) -> None:
    desk.write(STUB)
    first = generate(desk, HYPOTENUSE, "--record", "talk.txt", "--max-iterations", 0, replies=[WRONG_REPLY])
    assert "The conversation is in" not in first.err
    assert replay(desk, HYPOTENUSE, "--max-iterations", 0).code == 1
    second = generate(desk, HYPOTENUSE, "--record", "talk.txt")
    assert f"The conversation is in the new file {desk.folder / 'talk-2.txt'}." in " ".join(second.err.split())
    assert replay(desk, HYPOTENUSE, "--max-iterations", 0).code == 1
    assert desk.run("generate", HYPOTENUSE, "--model", "replay:talk-2.txt").code == 0


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
    again = desk.run("generate", HYPOTENUSE, "--model", MODEL, "--host", "127.0.0.1:9", "--record", "talk.txt")
    assert (again.code, len(again.error_lines)) == (2, 1)
    assert again.err.rstrip().endswith(f"The conversation is in the new file {desk.folder / 'talk-2.txt'}.")
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
        ("pipe", "it is not a regular file"),
    ],
)
def test_what_cannot_be_recorded_in_is_told_and_left_alone(desk: Desk, file: str, why: str) -> None:
    desk.write(STUB)
    assert generate(desk, HYPOTENUSE, "--record", "replay.txt").code == 0
    os.mkfifo(desk.folder / "pipe")
    before = {path: path.read_bytes() for path in desk.folder.iterdir() if path.is_file()}
    ran = desk.run("generate", HYPOTENUSE, "--model", "replay:replay.txt", "--record", file)
    assert (ran.code, ran.out, len(ran.error_lines)) == (2, "", 1)
    assert ran.err.endswith(f"cannot be recorded in {file} ({why}): name another file with --record.\n")
    assert {path: path.read_bytes() for path in desk.folder.iterdir() if path.is_file()} == before


def test_a_folder_is_no_file(desk: Desk) -> None:
    desk.write(STUB)
    ran = generate(desk, HYPOTENUSE, "--record", ".")
    assert (ran.code, len(ran.error_lines)) == (2, 1)
