"""`adacoder generate`: its output, and the files that it writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from adacoder.strategies import FAMILIES
from support.commandline import BODY, GOOD_REPLY, MODEL, PLAN, SOLVED, STUB, WRONG_REPLY, Desk, Ran
from support.standins.ollama import Model, StandIn

pytestmark = pytest.mark.isolation

DIFF = """--- a/shapes.py
+++ b/shapes.py
@@ -9,4 +9,4 @@
     >>> hypotenuse(5, 12)
     13.0
     \"\"\"
-    pass
+    return (a * a + b * b) ** 0.5
"""
UNDOCUMENTED_BY_EXAMPLES = 'def double(x):\n    """Twice x."""\n'
DOUBLE_REPLY = "```python\ndef double(x):\n    return 2 * x\n```"


def generate(desk: Desk, place: object, *options: object, replies: list[str] | None = None) -> Ran:
    with StandIn(replies or [GOOD_REPLY]).in_thread() as standin:
        return desk.run("generate", place, "--model", MODEL, "--host", standin.host, *options)


def test_it_shows_a_diff_and_touches_no_file(desk: Desk) -> None:
    path = desk.write(STUB)
    ran = generate(desk, "shapes.py::hypotenuse")
    assert (ran.code, ran.out) == (0, DIFF)
    assert ran.error_lines[-1].startswith("Verified 'hypotenuse': 2/2 examples passed, 1 round, ")
    assert path.read_text("utf-8") == STUB
    assert "\x1b" not in ran.out + ran.err


def test_diff_is_what_happens_by_default(desk: Desk) -> None:
    desk.write(STUB)
    assert generate(desk, "shapes.py::hypotenuse", "--diff").out == DIFF


def test_write_writes_the_file(desk: Desk) -> None:
    path = desk.write(STUB)
    ran = generate(desk, "shapes.py::hypotenuse", "--write")
    assert (ran.code, ran.out) == (0, "")
    assert path.read_text("utf-8") == SOLVED
    assert ran.error_lines[-1] == "Wrote shapes.py::hypotenuse."


def test_progress_tells_round_examples_and_tokens(desk: Desk) -> None:
    desk.write(STUB)
    replies = [WRONG_REPLY, PLAN, GOOD_REPLY]
    ran = generate(desk, "shapes.py::hypotenuse", "--strategy", "adacoder", replies=replies)
    assert ran.code == 0
    assert "hypotenuse · round 1/6 · 0/2 examples passed" in ran.error_lines
    assert "hypotenuse · round 2/6 · 2/2 examples passed" in ran.error_lines
    assert any(line.startswith("hypotenuse · round 1/6 · planning") and "tokens" in line for line in ran.error_lines)


@pytest.mark.parametrize("place", ["shapes.py:4", "shapes.py:12", "shapes.py", "./shapes.py::hypotenuse"])
def test_a_function_is_named_by_a_line_of_it_or_by_its_file(desk: Desk, place: str) -> None:
    desk.write(STUB)
    assert generate(desk, place).out == DIFF


def test_a_line_counts_from_one(desk: Desk) -> None:
    desk.write(STUB)
    ran = generate(desk, "shapes.py:3")
    assert ran.code == 2
    assert "line 3" in ran.err


def test_a_failure_is_exit_code_1_and_shows_no_change(desk: Desk) -> None:
    path = desk.write(STUB)
    ran = generate(desk, "shapes.py::hypotenuse", "--write", "--max-iterations", 0, replies=[WRONG_REPLY])
    assert (ran.code, ran.out) == (1, "")
    assert ran.error_lines[-1].startswith("No verified candidate for 'hypotenuse': ")
    assert path.read_text("utf-8") == STUB


def test_json_prints_one_object_a_function_and_nothing_else(desk: Desk) -> None:
    path = desk.write(STUB)
    ran = generate(desk, "shapes.py::hypotenuse", "--json")
    (result,) = ran.objects
    assert (ran.code, ran.err) == (0, "")
    assert (result["status"], result["target"]) == ("verified", "shapes.py::hypotenuse")
    assert result["examples"] == {"passed": 2, "total": 2}
    assert result["modelCalls"] == 1
    assert result["model"] == f"ollama:{MODEL}"
    assert [edit["newText"].strip() for edit in result["edits"]] == [BODY.strip()]
    assert path.read_text("utf-8") == STUB


TWO = '''def root(x):
    """The square root.

    >>> root(9.0)
    3.0
    """


def area(radius):
    """The area of a circle.

    >>> round(area(2), 3)
    12.566
    """


def double(x):
    """Not a stub.

    >>> double(2)
    4
    """
    return 2 * x
'''
ROOT_REPLY = "```python\nimport math\n\ndef root(x):\n    return math.sqrt(x)\n```"
AREA_REPLY = "```python\nimport math\n\ndef area(radius):\n    return math.pi * radius**2\n```"


def test_a_file_means_every_stub_in_it_each_in_the_text_as_it_is_then(desk: Desk) -> None:
    path = desk.write(TWO)
    ran = generate(desk, "shapes.py", "--write", replies=[ROOT_REPLY, AREA_REPLY])
    text = path.read_text("utf-8")
    assert ran.code == 0
    assert text.count("import math\n") == 1
    assert "return math.sqrt(x)" in text
    assert "return math.pi * radius**2" in text


MONOGRAM = '''def monogram(name):
    """The initials, with dots.

    >>> monogram("ada lovelace")
    'A.L.'
    """


def initials(name):
    """The initials of a name; see `monogram`.

    >>> initials("ada lovelace")
    'AL'
    """
    # the name may be empty
    pass
'''
INITIALS_REPLY = '```python\ndef initials(name):\n    return "".join(word[0] for word in name.split()).upper()\n```'
MONOGRAM_REPLY = '```python\ndef monogram(name):\n    return "".join(f"{each}." for each in initials(name))\n```'


@pytest.mark.parametrize("option", ["--write", "--diff", "--json"])
def test_each_stub_of_a_file_comes_after_those_that_it_names(desk: Desk, option: str) -> None:
    text = MONOGRAM.replace("The initials, with", "The `initials`, with").replace("; see `monogram`", "")
    path = desk.write(text)
    ran = generate(desk, "shapes.py", option, "--max-iterations", 0, replies=[INITIALS_REPLY, MONOGRAM_REPLY])
    assert ran.code == 0, ran.err
    if option == "--write":
        assert path.read_text("utf-8").count("return") == 2
        assert "    # the name may be empty\n    return" in path.read_text("utf-8")
        return
    assert path.read_text("utf-8") == text, "the second passed in the text with the first, which was not written"
    if option == "--diff":
        subprocess.run(["patch", "-p1"], input=ran.out, text=True, cwd=desk.folder, check=True)
        assert path.read_text("utf-8").count("return") == 2
    else:
        assert [result["target"] for result in ran.objects] == ["shapes.py::initials", "shapes.py::monogram"]


def test_otherwise_the_order_is_that_of_the_file(desk: Desk) -> None:
    desk.write(MONOGRAM)
    replies = [MONOGRAM_REPLY, INITIALS_REPLY]
    ran = generate(desk, "shapes.py", "--json", "--max-iterations", 0, replies=replies)
    assert [result["target"] for result in ran.objects] == ["shapes.py::monogram", "shapes.py::initials"]


@pytest.mark.parametrize("place", ["shapes.pyi", "shapes.pyi::hypotenuse", "shapes.pyi:4"])
def test_what_only_declares_types_is_answered_with_why_not(desk: Desk, place: str) -> None:
    (desk.folder / "shapes.pyi").write_text(STUB, "utf-8")
    ran = desk.run("generate", place)
    assert (ran.code, ran.out) == (2, "")
    assert "shapes.pyi only declares types, and its code never runs: go to shapes.py." in ran.err


def test_of_several_functions_the_worst_exit_code_counts(desk: Desk) -> None:
    desk.write(TWO)
    ran = generate(desk, "shapes.py", "--json", "--max-iterations", 0, replies=["Sorry.", AREA_REPLY])
    assert [result["status"] for result in ran.objects] == ["failed", "verified"]
    assert ran.code == 1


def test_what_nothing_verifies_is_marked_and_not_written(desk: Desk) -> None:
    path = desk.write(UNDOCUMENTED_BY_EXAMPLES)
    shown = generate(desk, "shapes.py::double", replies=[DOUBLE_REPLY])
    refused = generate(desk, "shapes.py::double", "--write", replies=[DOUBLE_REPLY])
    assert (shown.code, refused.code) == (1, 1)
    assert "+    return 2 * x" in shown.out
    assert all(ran.error_lines[-1].startswith("Unverified 'double': ") for ran in (shown, refused))
    assert path.read_text("utf-8") == UNDOCUMENTED_BY_EXAMPLES


def test_what_nothing_verifies_is_written_when_that_is_allowed(desk: Desk) -> None:
    path = desk.write(UNDOCUMENTED_BY_EXAMPLES)
    ran = generate(desk, "shapes.py::double", "--write", "--allow-unverified", replies=[DOUBLE_REPLY])
    assert ran.code == 1
    assert "Unverified 'double'" in ran.err
    assert path.read_text("utf-8").endswith("    return 2 * x\n")


def test_what_failed_is_not_written_even_then(desk: Desk) -> None:
    path = desk.write(STUB)
    options = ("--write", "--allow-unverified", "--max-iterations", 0)
    assert generate(desk, "shapes.py::hypotenuse", *options, replies=[WRONG_REPLY]).code == 1
    assert path.read_text("utf-8") == STUB


def test_a_diff_has_the_bytes_of_its_file(desk: Desk) -> None:
    text = '# coding: latin-1\r\ndef größe(x):\r\n    """Die Größe.\r\n\r\n    >>> größe(2)\r\n    4\r\n    """\r\n'
    (desk.folder / "g.py").write_bytes(text.encode("latin-1"))
    reply = "```python\ndef größe(x):\n    return 2 * x\n```"
    with StandIn([reply]).in_thread() as standin:
        shown = subprocess.run(
            [sys.executable, "-m", "adacoder", "generate", "g.py::größe", "--model", MODEL, "--host", standin.host],
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
    assert b"+    return 2 * x\r\n" in shown
    assert b"     >>> gr\xf6\xdfe(2)\r\n" in shown


def test_control_characters_of_a_reply_do_not_reach_the_terminal(desk: Desk) -> None:
    desk.write(STUB)
    reply = "```python\ndef hypotenuse(a, b):\n    return '\x1b[2J'\n```"
    ran = generate(desk, "shapes.py::hypotenuse", "--max-iterations", 0, replies=[reply])
    assert ran.code == 1
    assert "\x1b" not in ran.err


def test_a_conversation_is_recorded_and_replayed(desk: Desk) -> None:
    desk.write(STUB)
    recorded = generate(desk, "shapes.py::hypotenuse", "--record", "talk.txt")
    replayed = desk.run("generate", "shapes.py::hypotenuse", "--model", "replay:talk.txt")
    assert (recorded.code, replayed.code) == (0, 0)
    assert replayed.out == recorded.out == DIFF


def test_a_project_says_what_it_may_and_options_say_more(desk: Desk) -> None:
    desk.write(STUB)
    settings = '[tool.adacoder]\nmaxIterations = 1\nstrategy = "direct"\nhost = "http://evil.example"\n'
    (desk.folder / "pyproject.toml").write_text(settings, encoding="utf-8")
    ran = generate(desk, "shapes.py::hypotenuse", "--strategy", "adacoder", replies=[WRONG_REPLY, PLAN, GOOD_REPLY])
    assert ran.code == 0
    assert "round 2/2" in ran.err
    notices = [line for line in ran.error_lines if "adacoder.host" in line]
    assert len(notices) == 1


def test_the_help_names_the_strategies(desk: Desk) -> None:
    ran = desk.run("generate", "--help")
    assert ran.code == 0
    words = " ".join(ran.out.split())
    assert f"adacoder, {', '.join(FAMILIES[1:])}, or an ablation that `adacoder strategies --all` lists" in words


def test_only_the_families_are_listed_until_all_are_wanted(desk: Desk) -> None:
    listed, all_listed = ("".join(desk.run("strategies", *options).out) for options in ((), ("--all",)))
    assert ("codetree " in listed, "codetree:bfs" in listed) == (True, False)
    assert ("codetree " in all_listed, "codetree:bfs" in all_listed) == (True, True)


def test_links_are_followed_to_what_is_written(desk: Desk) -> None:
    path = desk.write(STUB, "real/shapes.py")
    link = desk.folder / "linked.py"
    link.symlink_to(Path("real") / "shapes.py")
    assert generate(desk, "linked.py::hypotenuse", "--write").code == 0
    assert link.is_symlink()
    assert path.read_text("utf-8") == SOLVED


def test_several_models_are_a_ladder(desk: Desk) -> None:
    desk.write(STUB)
    with StandIn(
        [WRONG_REPLY, WRONG_REPLY, GOOD_REPLY], models=[Model("small:1b"), Model("large:70b")]
    ).in_thread() as standin:
        ladder = ("--model", "small:1b", "--model", "large:70b")
        ran = desk.run("generate", "shapes.py::hypotenuse", *ladder, "--host", standin.host, "--json")
    assert ran.code == 0
    assert [body["model"] for body in standin.requests] == ["small:1b", "small:1b", "large:70b"]
    assert (ran.objects[0]["model"], ran.objects[0]["rounds"]) == ("ollama:large:70b", 3)


def test_the_model_that_was_chosen_is_said(desk: Desk) -> None:
    desk.write(STUB)
    with StandIn([GOOD_REPLY], models=[Model("llama3.2:3b"), Model(MODEL)]).in_thread() as standin:
        ran = desk.run("generate", "shapes.py::hypotenuse", "--host", standin.host)
    assert ran.code == 0
    assert f", {MODEL}, " in ran.error_lines[-1]


def test_where_each_reply_spent_its_time_and_tokens(desk: Desk) -> None:
    desk.write(STUB)
    said = [WRONG_REPLY, PLAN, GOOD_REPLY]
    ran = generate(desk, "shapes.py::hypotenuse", "--json", "--strategy", "adacoder", replies=said)
    steps = ran.objects[0]["journal"]
    replies = [step for step in steps if step["agent"] in ("programming_assistant", "prompt_engineer")]
    assert len(replies) == 3
    for step in replies:
        assert step["time"].keys() == {"queue", "load", "prompt", "generation"}
        assert step["tokens"].keys() == {"prompt", "cached", "completion", "estimated"}
    assert not any("time" in step for step in steps if step not in replies)


def test_models_are_told_a_wish_that_nothing_checks(desk: Desk) -> None:
    desk.write(STUB)
    with StandIn([WRONG_REPLY, PLAN, GOOD_REPLY]).in_thread() as standin:
        options = ("--wish", "use math.hypot", "--strategy", "adacoder", "--model", MODEL, "--host", standin.host)
        ran = desk.run("generate", "shapes.py::hypotenuse", "--write", *options)
        wished = ["wishes for this function: use math.hypot" in str(each["messages"]) for each in standin.requests]
        assert wished == [True, True, True]
        assert (ran.code, "Nothing checks that the function follows your wish" in ran.err) == (0, True)
        ran = desk.run("fix", "shapes.py::hypotenuse", *options)
        assert (ran.code, "so your wish had no effect" in ran.err) == (0, True)
    ran = desk.run("generate", "shapes.py::hypotenuse", "--wish", "x" * 501)
    assert (ran.code, "It must be at most 500 characters long" in ran.err) == (2, True)
