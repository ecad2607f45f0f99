"""Recorded conversations: made, read, and held to."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from adacoder.domain import Ended, Message, Reply, Tokens
from adacoder.models.recording.about import About
from adacoder.models.recording.recorder import Recorder
from adacoder.models.recording.redaction import Redaction, Surroundings
from adacoder.models.replay import BadRecording, OtherVersion, ReplayExhausted, ReplayMismatch, ReplayModel, read
from adacoder.models.window import Window
from adacoder.settings import Settings
from adacoder.source.locate import locate
from recordings import CODE, NOTHING, SYSTEM, TALK, Told, ask, record

HEADER = '{"adacoder": "conversation", "version": 2, "model": "ollama:m", "window": {"tokens": 8192, "ratio": 1}}'
REPLY = '{"text": "a", "promptTokens": 1, "completionTokens": 2, "estimated": true, "ended": "stop"}'
EXCHANGE = f'{{"messages": [], "maxTokens": 1, "stop": [], "reply": {REPLY}}}'
END = '{"outcome": {"status": "verified"}}'


def about(folder: Path, qualname: str, rung: int = 1) -> About:
    """A request for one of two functions in a workspace."""
    text = 'def f(x):\n    """One."""\n\n\ndef g(x):\n    """Other."""\n'
    target = locate(text, folder / "m.py", folder, qualname=qualname)
    return About(target, None, Settings(), folder, Path("/usr/bin/python3.8"), lambda target: target.text, rung)


async def test_a_recording_gives_the_same_conversation_again(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    await record(path)
    replay = ReplayModel(path)
    assert [await ask(replay, messages) for messages, _ in TALK] == [reply for _, reply in TALK]
    assert replay.name == f"replay:{path}"
    await replay.close()


async def test_a_reply_is_given_whole_and_its_growth_is_told(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    long = Reply(CODE + "\nThat is all.\n", Tokens(20, 15), Ended.STOP)
    await record(path, [(TALK[0][0], long)])
    grown: list[str] = []

    def enough(text: str) -> bool:
        grown.append(text)
        return "return" in text

    assert await ask(ReplayModel(path), TALK[0][0], enough) == long
    assert grown == ["def f(x):\n", CODE, f"{CODE}\n", long.text]


async def test_the_growth_of_a_huge_reply_is_told_in_few_steps(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    huge = Reply("x\n" * 100_000)
    await record(path, [(TALK[0][0], huge)])
    grown: list[int] = []
    await ask(ReplayModel(path), TALK[0][0], lambda text: grown.append(len(text)) is not None)
    assert len(grown) <= 100
    assert grown[-1] == len(huge.text)


async def test_the_window_is_the_recorded_one(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    await record(path, window=Window(4096, 1.15))
    assert await ReplayModel(path).window() == Window(4096, 1.15)


async def test_what_else_is_asked_for_is_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    await record(path)
    reply = await ReplayModel(path).reply(TALK[0][0], enough=lambda _: True, max_tokens=7, stop=("x",))
    assert reply == TALK[0][1]


async def test_conversations_follow_each_other_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    other = [((Message("user", "Write g."),), Reply("g")), ((Message("user", "Plan g."),), Reply("1."))]
    await record(path)
    await record(path, other)
    await record(path, TALK[1:2])
    assert [len(one.exchanges) for one in read(path)] == [3, 2, 1]
    for talk in (TALK, other, TALK[1:2]):
        replay = ReplayModel(path)
        assert [await ask(replay, messages) for messages, _ in talk] == [reply for _, reply in talk]


async def test_of_two_that_begin_alike_the_later_counts(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    await record(path)
    await record(path, [(TALK[0][0], Reply("new"))])
    assert (await ask(ReplayModel(path), TALK[0][0])).text == "new"


async def test_another_request_shows_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    await record(path)
    replay = ReplayModel(path)
    await ask(replay, TALK[0][0])
    with pytest.raises(ReplayMismatch) as caught:
        await ask(replay, (SYSTEM, Message("user", "Plan f.\nWhy does it fail?")))
    first, *rest = str(caught.value).split("\n")
    assert first == f"Request number 2 is not the one recorded in {path}: record it again with --record."
    assert rest == [
        *("--- recorded", "+++ asked", "@@ message 2, line 2 @@"),
        *(" [user]", " Plan f.", "-Why did it fail?", "+Why does it fail?"),
    ]
    assert await ask(replay, TALK[1][0]) == TALK[1][1]


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ((SYSTEM,), "-Write f."),
        ((*TALK[0][0], Message("user", "And g.")), "+And g."),
        ((SYSTEM, Message("assistant", "Write f.")), "+[assistant]"),
        ((), "-You write Python."),
    ],
    ids=["one less", "one more", "another role", "none"],
)
async def test_a_missing_a_further_and_a_different_message_are_shown(
    tmp_path: Path, asked: tuple[Message, ...], shown: str
) -> None:
    path = tmp_path / "talk"
    await record(path)
    with pytest.raises(ReplayMismatch) as caught:
        await ask(ReplayModel(path), asked)
    lines = str(caught.value).split("\n")
    assert shown in lines
    assert (f"It has {len(asked)} messages; recorded are 2." in lines) == (len(asked) != 2)


async def mismatch(tmp_path: Path, recorded: str, asked: str) -> list[str]:
    """What is shown of the difference between two texts."""
    path = tmp_path / "talk"
    path.unlink(missing_ok=True)
    await record(path, [((Message("user", recorded),), Reply("x"))])
    with pytest.raises(ReplayMismatch) as caught:
        await ask(ReplayModel(path), (Message("user", asked),))
    return str(caught.value).split("\n")[3:]


LINES = [f"line {number}" for number in range(1, 1001)]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (LINES, [*LINES[:500], "new", *LINES[500:]], [" line 499", " line 500", "+new", " line 501", " line 502"]),
        ([*LINES[:500], "old", *LINES[500:]], LINES, [" line 499", " line 500", "-old", " line 501", " line 502"]),
        (LINES, ["--- new", *LINES], [" [user]", "+--- new", " line 1", " line 2"]),
        (LINES, [*LINES, "@@ new"], [" line 999", " line 1000", "+@@ new"]),
        (LINES[:1], ["", *LINES[:1]], [" [user]", "+", " line 1"]),
        (["a", "b", "a", "b"], ["a", "b"], [" a", " b", "-a", "-b"]),
    ],
    ids=["more", "less", "first", "last", "an empty line", "once less"],
)
async def test_only_what_differs_is_shown_with_what_is_around_it(
    tmp_path: Path, before: list[str], after: list[str], shown: list[str]
) -> None:
    place, *rest = await mismatch(tmp_path, "\n".join(before), "\n".join(after))
    assert place.startswith("@@ message 1, line ")
    assert rest == shown


async def test_a_long_difference_is_shortened(tmp_path: Path) -> None:
    shown = await mismatch(tmp_path, "\n".join(LINES), "other\n" * 100_000)
    assert len(shown) < 50
    assert shown[-1] == "[…]"
    one_line = await mismatch(tmp_path, "x" * 1_000_000, "x" * 500_000 + "y" + "x" * 499_999)
    assert sum(map(len, one_line)) < 10_000
    assert any(line.startswith("+") and "y" in line for line in one_line)


async def test_after_the_last_reply_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    await record(path)
    replay = ReplayModel(path)
    for messages, _ in TALK:
        await ask(replay, messages)
    with pytest.raises(ReplayExhausted) as caught:
        await ask(replay, TALK[0][0])
    assert (
        str(caught.value) == f"The recorded conversation {path} has no reply number 4:"
        " name it once for each model of the ladder that it was recorded with, or record it again with --record."
    )


async def test_of_several_conversations_that_about_the_request_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    for number, (name, rung) in enumerate([("f", 1), ("g", 1), ("g", 2), ("f", 2)]):
        told = Told([Reply(f"{name}{rung}")], Window(4096 + number), name=f"ollama:{number}")
        recorder = Recorder(told, path, NOTHING, about(tmp_path, name, rung))
        await ask(recorder, TALK[0][0])
    elsewhere = tmp_path / "elsewhere"
    for name, rung, number in [("f", 1, 0), ("g", 1, 1), ("g", 2, 2), ("f", 2, 3), ("f", 9, 3)]:
        replay = ReplayModel(path)
        replay.follow(about(elsewhere, name, rung))
        assert replay.speaker == f"ollama:{number}"
        assert await replay.window() == Window(4096 + number)
        assert (await ask(replay, TALK[0][0])).text == f"{name}{rung if rung < 9 else 2}"
    assert ReplayModel(path).speaker == "ollama:3"


def test_what_a_request_is_about_tells_the_interpreter_without_running_it(tmp_path: Path) -> None:
    one = about(tmp_path, "f")
    assert one.json()["python"] == "3.8"
    assert replace(one, interpreter=Path(sys.executable)).json()["python"] == platform.python_version()
    link = tmp_path / "python"
    link.symlink_to("python3.13")
    assert replace(one, interpreter=link).json()["python"] == "3.13"
    assert replace(one, interpreter=tmp_path / "pypy").json()["python"] is None


def test_a_target_outside_of_the_workspace_is_named_by_its_whole_path(tmp_path: Path) -> None:
    assert about(tmp_path, "f").path == "m.py"
    assert replace(about(tmp_path, "f"), workspace=tmp_path / "other").path == (tmp_path / "m.py").as_posix()


async def test_a_recording_is_replayed_on_another_machine(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    asked = "FileNotFoundError: '{}/data.csv', <f at 0x{}>\nSee '/home/someone/x' and '/opt/ada/x'."
    ada = Redaction(Surroundings(workspaces=("/home/ada/shop",), homes=("/home/ada",), users=("ada",)))
    recorder = Recorder(Told([Reply("x")]), path, ada)
    await ask(recorder, (Message("user", asked.format("/home/ada/shop", "7f2fbb7a4960")),))
    there = (Message("user", asked.format("/Users/eva/src/shop", "55d0c8a1b2e0")),)
    replay = ReplayModel(path)
    with pytest.raises(ReplayMismatch) as caught:
        await ask(replay, (Message("user", there[0].content.replace("See", "Not")),))
    # Only that is shown which matters.
    assert str(caught.value).partition(" @@\n")[2] == (
        " [user]\n FileNotFoundError: '<workspace>/data.csv', <f at 0x…>\n"
        "-See '/home/someone/x' and '/opt/<user>/x'.\n+Not '/home/someone/x' and '/opt/ada/x'."
    )
    assert (await ask(replay, there)).text == "x"


async def test_a_role_counts_as_the_text_does(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    for role in ("assistant", "~", "\n", ""):
        await record(path, [((Message(role, "Write f."),), Reply("x"))])
        with pytest.raises(ReplayMismatch, match="@@ message 1, line 1 @@"):
            await ask(ReplayModel(path), (Message("user", "Write f."),))
    await record(path, [((Message("<user>", "Write f."),), Reply("y"))])
    assert (await ask(ReplayModel(path), (Message("user", "Write f."),))).text == "y"


async def test_a_file_written_by_hand_may_hold_a_value_a_line(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    exchange = {
        "messages": [{"role": "user", "content": ["Write", "f."]}],
        "maxTokens": 1,
        "stop": [],
        "reply": {
            "text": ["a", "b"],
            "promptTokens": 1,
            "completionTokens": 2,
            "estimated": True,
            "ended": "length",
        },
    }
    path.write_bytes(f"\ufeff{HEADER}\r\n{json.dumps(exchange)}\r\n{END}".encode())
    said = await ask(ReplayModel(path), (Message("user", "Write\nf."),))
    assert said == Reply("a\nb", Tokens(1, 2, True), Ended.LENGTH)
    assert read(path)[0].outcome == {"status": "verified"}


HUGE = "[" * 100_000


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("def f(): ...", "it holds something else"),
        ('"""A module."""', "it holds something else"),
        ("{1: 2}", "its line 1 is not JSON"),
        (f"{HEADER}\n\n}}", "its line 3 is not JSON"),
        (EXCHANGE, "what begins in line 1 is not understood"),
        (END, "what begins in line 1 is not understood"),
        (HEADER.replace("conversation", "other"), "what begins in line 1 is not understood"),
        (HEADER.replace("2,", '"2",', 1), "what begins in line 1 is not understood"),
        (HEADER.replace("8192", "-1"), "what begins in line 1 is not understood"),
        (HEADER.replace('"ratio": 1', '"ratio": true'), "what begins in line 1 is not understood"),
        (HEADER.replace('"ratio": 1', '"ratio": NaN'), "what begins in line 1 is not understood"),
        (f'{HEADER}\n{{"messages": []}}', "what begins in line 2 is not understood"),
        (f"{HEADER}\n\n  [1]", "what begins in line 3 is not understood"),
        (f"{HEADER}\n3", "what begins in line 2 is not understood"),
        (f'{HEADER}\n"text"', "what begins in line 2 is not understood"),
        (f"{HEADER}\n{EXCHANGE}\n{END}\n{EXCHANGE}", "what begins in line 4 is not understood"),
        (f"{HEADER}\n{EXCHANGE.replace('[]', '[[]]', 1)}", "what begins in line 2 is not understood"),
        (f"{HEADER}\n{EXCHANGE.replace('1', 'true', 1)}", "what begins in line 2 is not understood"),
        (f"{HEADER}\n{EXCHANGE.replace('stop', 'enough')}", "what begins in line 2 is not understood"),
        (f"{HEADER}\n{EXCHANGE.replace('1', '9' * 5000, 1)}", "what begins in line 2 is not understood"),
        (f"{HEADER}\n{EXCHANGE.replace('1', '9' * 12, 1)}", "what begins in line 2 is not understood"),
        (HEADER.replace("8192", "9" * 4000), "what begins in line 1 is not understood"),
        (f"{HEADER}\n{HUGE}", "what begins in line 2 is not understood"),
    ],
)
def test_what_is_no_recording(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "talk"
    path.write_text(content)
    with pytest.raises(BadRecording) as caught:
        ReplayModel(path)
    assert str(caught.value) == f"{path} is no recorded conversation ({why}): name a file that --record wrote."
    path.write_text(f"{HEADER}\n{EXCHANGE}\n{END}\n{HEADER}")
    assert len(read(path)) == 2


async def test_a_file_that_is_cut_off_anywhere_is_told_from_a_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    await record(path, TALK[:1])
    text = path.read_text()
    for size in range(1, len(text) - 1):
        path.write_text(text[:size])
        if text[:size].rstrip().endswith("\n}"):
            assert len(read(path)) == 1  # it ends where the header does
        else:
            with pytest.raises(BadRecording, match=r"it breaks off in line \d+"):
                read(path)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (1, "an earlier AdaCoder wrote it, in form 1; this one reads form 2): record it again with --record."),
        (3, "a later AdaCoder wrote it, in form 3; this one reads form 2): update AdaCoder."),
    ],
)
def test_a_file_of_another_version(tmp_path: Path, version: int, words: str) -> None:
    path = tmp_path / "talk"
    path.write_text(f'{{"adacoder": "conversation", "version": {version}, "model": "m"}}\n')
    with pytest.raises(OtherVersion) as caught:
        ReplayModel(path)
    assert str(caught.value) == f"{path} is no recorded conversation ({words}"


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(BadRecording, match="No such file or directory"):
        ReplayModel(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(BadRecording, match="it is not UTF-8"):
        ReplayModel(tmp_path / "binary")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(BadRecording, match="it is no regular file"):
            ReplayModel(path)
    huge = tmp_path / "huge"
    huge.touch()
    os.truncate(huge, (64 << 20) + 1)
    with pytest.raises(BadRecording, match="it is larger than 64 MB"):
        ReplayModel(huge)
