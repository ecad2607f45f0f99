"""Recorded conversations are written, read and replayed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from adacoder.domain import Ended, Message, Reply, Tokens
from adacoder.models.base import Ask
from adacoder.models.recording.about import About
from adacoder.models.recording.format import BadRecording, read
from adacoder.models.recording.recorder import Recorder
from adacoder.models.recording.redaction import Redaction
from adacoder.models.replay import ReplayMismatch, ReplayModel
from adacoder.models.window import Window
from adacoder.settings import Settings
from adacoder.source.locate import locate
from support.recordings import CODE, SYSTEM, TALK, ask, record, telling

HEADER = (
    '{"adacoder": "conversation", "version": 3, "model": "ollama:m",'
    ' "window": {"tokens": 8192, "ratio": 1}, "about": {}}'
)
REPLY = '{"text": "a", "promptTokens": 1, "completionTokens": 2, "estimated": true, "ended": "stop"}'
EXCHANGE = f'{{"messages": [], "reply": {REPLY}}}'
END = '{"outcome": {"status": "verified"}}'


def about(folder: Path, qualname: str) -> About:
    """Return a request for one of two functions in a workspace."""
    text = 'def f(x):\n    """One."""\n\n\ndef g(x):\n    """Other."""\n'
    target = locate(text, folder / "m.py", folder, qualname=qualname)
    return About(target, None, Settings(), folder, Path("/usr/bin/python3.8"), lambda target: target.text)


async def test_a_recording_gives_the_same_conversation_again(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    await record(path)
    replay = ReplayModel(path)
    assert [await ask(replay, messages) for messages, _ in TALK] == [reply for _, reply in TALK]
    assert replay.name == f"replay:{path}"
    await replay.close()


async def test_a_reply_is_given_and_told_whole(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    long = Reply(CODE + "\nThat is all.\n", Tokens(20, 15), Ended.STOP)
    await record(path, [(TALK[0][0], long)])
    grown: list[str] = []
    assert await ask(ReplayModel(path), TALK[0][0], lambda text: grown.append(text) is None) == long
    assert grown == [long.text]


async def test_the_window_is_the_recorded_one(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    await record(path, window=Window(4096, 1.15))
    assert await ReplayModel(path).window() == Window(4096, 1.15)


async def test_what_else_is_asked_for_is_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    await record(path)
    reply = await ReplayModel(path).reply(Ask(TALK[0][0], enough=lambda _: True, max_tokens=7, stop=("x",)))
    assert reply == TALK[0][1]


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
        *("--- recorded", "+++ asked", "@@ line 6 @@"),
        *(" [user]", " Plan f.", "-Why did it fail?", "+Why does it fail?"),
    ]
    assert await ask(replay, TALK[1][0]) == TALK[1][1]


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ((SYSTEM,), "-[user]"),
        ((*TALK[0][0], Message("user", "And g.")), "+[user]"),
        ((SYSTEM, Message("assistant", "Write f.")), "+[assistant]"),
        ((), "-[system]"),
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
    assert shown in str(caught.value).split("\n")


async def mismatch(tmp_path: Path, recorded: str, asked: str) -> list[str]:
    """Return the description of the difference between two requests."""
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
        (LINES, [*LINES[:500], "new", *LINES[500:]], [" line 499", " line 500", "-line 501", "+new"]),
        ([*LINES[:500], "old", *LINES[500:]], LINES, [" line 499", " line 500", "-old", "+line 501"]),
        (LINES, ["--- new", *LINES], [" [user]", "-line 1", "+--- new"]),
        (LINES, [*LINES, "@@ new"], [" line 999", " line 1000", "-", "+@@ new"]),
        (LINES, LINES[:-1], [" line 998", " line 999", "-line 1000", "+"]),
        (["x" * 10_000], [f"{'x' * 9_000}y"], [" [user]", f"-{'x' * 160}", f"+{'x' * 40}y"]),
    ],
    ids=["more", "less", "first", "last", "one less at the end", "far behind in a line"],
)
async def test_where_they_differ_is_shown_with_what_is_before_it(
    tmp_path: Path, before: list[str], after: list[str], shown: list[str]
) -> None:
    place, *rest = await mismatch(tmp_path, "\n".join(before), "\n".join(after))
    assert place.startswith("@@ line ")
    assert rest == shown


async def test_after_the_last_reply_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    await record(path)
    replay = ReplayModel(path)
    for messages, _ in TALK:
        await ask(replay, messages)
    with pytest.raises(ReplayMismatch) as caught:
        await ask(replay, TALK[0][0])
    assert (
        str(caught.value) == f"The recorded conversation {path} has no reply number 4: record it again with --record."
    )


def test_what_a_request_is_about_tells_the_interpreter_without_running_it(tmp_path: Path) -> None:
    link = tmp_path / "python"
    link.symlink_to("python3.13")
    assert replace(about(tmp_path, "f"), interpreter=link).json()["python"] == "python3.13"


def test_a_target_outside_of_the_workspace_is_named_by_its_whole_path(tmp_path: Path) -> None:
    one = about(tmp_path, "f")
    places = [replace(one, workspace=folder).json()["target"] for folder in (tmp_path, tmp_path / "other")]
    assert places == [{"path": path, "qualname": "f"} for path in ("m.py", (tmp_path / "m.py").as_posix())]


async def test_a_recording_is_replayed_on_another_machine(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    asked = "FileNotFoundError: '{}/data.csv', <f at 0x{}>\nSee '{}/x' and '/home/someone/x'."
    ada = Redaction(workspaces=["/home/ada/shop"], homes=["/home/ada"])
    recorder = Recorder(telling([Reply("x")]), path, ada)
    await ask(recorder, (Message("user", asked.format("/home/ada/shop", "7f2fbb7a4960", "/home/ada")),))
    there = (Message("user", asked.format("/srv/src/shop", "55d0c8a1b2e0", "/home/someone")),)
    replay = ReplayModel(path)
    with pytest.raises(ReplayMismatch):
        await ask(replay, there)
    eva = Redaction(workspaces=["/srv/src/shop"], homes=["/home/someone"])
    replay.redaction = eva
    with pytest.raises(ReplayMismatch) as caught:
        await ask(replay, (Message("user", there[0].content.replace("See", "Not")),))
    # only the relevant part is shown, and nothing about this machine
    assert str(caught.value).partition(" @@\n")[2] == (
        " [user]\n FileNotFoundError: '<workspace>/data.csv', <f at 0x…>\n-See '~/x' and '~/x'.\n+Not '~/x' and '~/x'."
    )
    assert (await ask(replay, there)).text == "x"


async def test_a_file_written_by_hand_may_hold_a_value_a_line(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    exchange = {
        "messages": [{"role": "user", "content": ["Write", "f."]}],
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
    assert read(path).outcome == {"status": "verified"}


HUGE = "[" * 100_000


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("def f(): ...", "it is not a recording"),
        ('"""A module."""', "it is not a recording"),
        (f"[]\n{HEADER}", "it is not a recording"),
        ("{1: 2}", "the part from line 1 on is not understood"),
        (EXCHANGE, "the part from line 1 on is not understood"),
        (END, "the part from line 1 on is not understood"),
        (HEADER.replace('"ollama:m"', "1"), "the part from line 1 on is not understood"),
        (HEADER.replace("8192", "-1"), "the part from line 1 on is not understood"),
        (HEADER.replace('"ratio": 1', '"ratio": 0'), "the part from line 1 on is not understood"),
        (HEADER.replace('"ratio": 1', '"ratio": NaN'), "the part from line 1 on is not understood"),
        (HEADER.replace('"ratio": 1', '"ratio": []'), "the part from line 1 on is not understood"),
        (HEADER.replace("{}", "[]"), "the part from line 1 on is not understood"),
        (f"{HEADER}\n\n  }}", "the part from line 1 on is not understood"),
        (f"{HEADER}\n{HEADER}", "a second conversation begins in line 2"),
        (f"{HEADER}\n{EXCHANGE}\n{END}\n{HEADER}\n{EXCHANGE}", "a second conversation begins in line 4"),
        (f'{HEADER}\n{{"messages": []}}', "the part from line 2 on is not understood"),
        (f"{HEADER}\n\n{EXCHANGE}\n3", "the part from line 3 on is not understood"),
        (f"{HEADER}\n{EXCHANGE.replace('[]', '[[]]', 1)}", "the part from line 2 on is not understood"),
        (f"{HEADER}\n{EXCHANGE.replace('[]', '5', 1)}", "the part from line 2 on is not understood"),
        (f"{HEADER}\n{EXCHANGE.replace('stop', 'enough')}", "the part from line 2 on is not understood"),
        (f"{HEADER}\n{EXCHANGE.replace('1', '1.5', 1)}", "the part from line 2 on is not understood"),
        (f"{HEADER}\n{EXCHANGE.replace('1', '9' * 5000, 1)}", "the part from line 2 on is not understood"),
        (f"{HEADER}\n{EXCHANGE.replace('1', '9' * 12, 1)}", "the part from line 2 on is not understood"),
        (HEADER.replace("8192", "9" * 4000), "the part from line 1 on is not understood"),
        (f'{HEADER}\n{{"messages": {HUGE}', "the part from line 2 on is not understood"),
        (HEADER.replace('"ratio": 1', '"ratio": ' + "9" * 400), "the part from line 1 on is not understood"),
        (HEADER.replace('"version"', '"version": 3, "version"', 1), "the part from line 1 on is not understood"),
        (HEADER.replace("3,", "2,", 1), "another version of AdaCoder wrote it"),
        (HEADER.replace("3,", '"3",', 1), "another version of AdaCoder wrote it"),
    ],
)
def test_what_is_no_recording(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "talk"
    path.write_text(content)
    with pytest.raises(BadRecording) as caught:
        ReplayModel(path)
    assert (
        str(caught.value)
        == f"{path} is not a recorded conversation ({why}): name a file that this AdaCoder wrote with --record."
    )
    path.write_text(f"{HEADER}\n{EXCHANGE}\n{END}")
    assert len(read(path).exchanges) == 1


async def test_a_file_that_is_cut_off_anywhere_is_told_from_a_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    await record(path, TALK[:1])
    text = path.read_text()
    for size in range(1, len(text) - 1):
        path.write_text(text[:size])
        if text[:size].rstrip().endswith("\n}"):
            assert read(path).exchanges == []  # the file ends after the header
        else:
            with pytest.raises(BadRecording, match=r"the part from line \d+ on is not understood"):
                read(path)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(BadRecording, match="No such file or directory"):
        ReplayModel(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(BadRecording, match="codec can't decode"):
        ReplayModel(tmp_path / "binary")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(BadRecording, match="is not a regular file"):
            ReplayModel(path)
    huge = tmp_path / "huge"
    huge.touch()
    os.truncate(huge, (64 << 20) + 1)
    with pytest.raises(BadRecording, match="is longer than 67,108,864 bytes"):
        ReplayModel(huge)
