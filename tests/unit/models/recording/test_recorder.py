"""Conversations are recorded completely, and always in the same form."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder import __version__
from adacoder.domain import Ended, Message, Outcome, Reply, Status, Timing, Tokens
from adacoder.models.errors import ModelError, Stalled
from adacoder.models.recording.format import Exchange, read
from adacoder.models.recording.recorder import CannotRecord, Recorder
from adacoder.models.recording.redaction import Redaction
from adacoder.models.replay import ReplayModel
from adacoder.models.scripted import ScriptedModel
from adacoder.models.window import Window
from adacoder.source.locate import locate
from support.recordings import CODE, NOTHING, TALK, ask, files_in, record, room_for, telling

STUB = 'def f(x):\n    """The next one.\n\n    >>> f(1)\n    2\n    """\n'


def outcome(tmp_path: Path) -> Outcome:
    target = locate(STUB, tmp_path / "m.py", tmp_path, qualname="f")
    return Outcome(Status.FAILED, target, "No.", rounds=2, seconds=3.5)


TEXTS = st.text(st.characters() | st.sampled_from('\n\r\t \x85\u2028"\\ab'))


@given(st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(Ended)), min_size=1, max_size=3))
async def test_any_text_comes_back_as_it_was_and_is_written_the_same_again(
    tmp_path_factory: pytest.TempPathFactory, talk: list[tuple[str, str, Ended]]
) -> None:
    folder = tmp_path_factory.mktemp("talk")
    said = [((Message("user", question),), Reply(text, Tokens(1, 2), ended)) for question, text, ended in talk]
    await record(folder / "first", said)
    await record(folder / "second", said)
    again = Recorder(ReplayModel(folder / "first"), folder / "again", NOTHING)
    assert [await ask(again, messages) for messages, _ in said] == [reply for _, reply in said]
    written = (folder / "first").read_bytes()
    assert written == (folder / "second").read_bytes() == (folder / "again").read_bytes()


async def test_what_no_encoding_has_comes_back_too(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    said = (((Message("user", "a\ud800b"),), Reply("\udfff")),)
    await record(path, said)
    assert await ask(ReplayModel(path), said[0][0]) == said[0][1]


async def test_a_conversation_is_a_header_what_was_said_and_what_came_of_it(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    recorder = Recorder(telling([TALK[0][1]], Window(4096, 1.15)), path, NOTHING)
    await ask(recorder, TALK[0][0])
    recorder.end(outcome(tmp_path))
    one = read(path)
    assert (one.model, one.window) == ("ollama:m", Window(4096, 1.15))
    assert one.exchanges == [Exchange(*TALK[0])]
    assert one.outcome == {
        "status": "failed",
        "reason": "No.",
        "rounds": 2,
        "candidate": None,
        "failure": None,
        "isolation": None,
        "notes": [],
    }
    header, _ = json.JSONDecoder().raw_decode(path.read_text())
    assert header["madeBy"] == f"adacoder {__version__}"


async def test_each_line_of_a_prompt_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    await record(path)
    lines = [line.strip() for line in path.read_text().splitlines()]
    assert lines.count('"Nothing else."') == 3
    assert '"    return x + 1",' in lines


async def test_what_time_and_chance_decide_is_not_written(tmp_path: Path) -> None:
    for name, seconds, cached, place in (("one", 0.1, 5, "0x7f2fbb7a4960"), ("other", 2.0, 0, "0x55d0c8a1b2e0")):
        reply = Reply(f"<f at {place}>", Tokens(20, 9, cached=cached), time=Timing(prompt=seconds))
        recorder = Recorder(telling([reply]), tmp_path / name, NOTHING)
        assert await ask(recorder, TALK[0][0]) == reply  # only the written text lacks the secret
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


async def test_everything_that_is_written_is_redacted(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    home = "/home/zelda"
    reply = Reply(f"open('{home}/a')")
    told = telling([reply, ModelError(f"{home}/b is gone.")], name=f"openai:{home}/models/m.gguf")
    recorder = Recorder(told, path, Redaction(homes=[home]))
    assert await ask(recorder, (Message("user", f"Read {home}/c."),)) == reply
    with pytest.raises(ModelError):
        await ask(recorder, TALK[0][0])
    recorder.end(Outcome(Status.ERROR, outcome(tmp_path).target, f"{home}/b is gone."))
    text = path.read_text()
    assert "zelda" not in text
    assert all(f"~/{name}" in text for name in ("a", "b", "c", "models/m.gguf"))


async def test_what_is_on_disk_is_whole_after_every_reply(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    recorder = Recorder(telling([reply for _, reply in TALK]), path, NOTHING)
    await recorder.window()
    for number, (messages, _) in enumerate(TALK):
        assert len(read(path).exchanges) == number
        assert path.read_bytes().endswith(b"\n")
        await ask(recorder, messages)
    assert files_in(tmp_path) == ["talk"]


async def test_an_error_is_recorded_and_replayed_with_its_sentence(tmp_path: Path) -> None:
    path, again = tmp_path / "talk", tmp_path / "again"
    told = telling([TALK[0][1], Stalled("http://127.0.0.1:1", 60), TALK[1][1]])
    recorder = Recorder(told, path, Redaction(servers=["http://127.0.0.1:1"]))
    await ask(recorder, TALK[0][0])
    with pytest.raises(Stalled):
        await ask(recorder, TALK[0][0])
    await ask(recorder, TALK[1][0])
    await recorder.close()
    assert told.is_closed
    replay = Recorder(ReplayModel(path), again, NOTHING)
    await ask(replay, TALK[0][0])
    with pytest.raises(ModelError, match=r"^The server at <server> has sent nothing for 60 s: "):
        await ask(replay, TALK[0][0])
    assert await ask(replay, TALK[1][0]) == TALK[1][1]
    assert again.read_bytes() == path.read_bytes()


async def test_a_model_that_is_not_there_is_recorded_and_replayed_too(tmp_path: Path) -> None:
    path, again = tmp_path / "talk", tmp_path / "again"
    for model, file in ((telling([], ModelError("No model.")), path), (None, again)):
        recorder = Recorder(model or ReplayModel(path), file, NOTHING)
        for _ in range(2):
            with pytest.raises(ModelError, match=r"^No model\.$"):
                await recorder.window()
        recorder.end(outcome(tmp_path))
    assert read(path).window == "No model."
    assert again.read_bytes() == path.read_bytes()


async def test_a_reply_that_was_cancelled_is_recorded_as_such(tmp_path: Path) -> None:
    path = tmp_path / "talk"

    async def silent(_: object) -> Reply:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    asked = asyncio.Event()
    recorder = Recorder(ScriptedModel(then=silent), path, NOTHING)
    request = asyncio.create_task(ask(recorder, TALK[0][0]))
    await asked.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    (exchange,) = read(path).exchanges
    assert exchange == Exchange(TALK[0][0], "The request was cancelled before the reply was whole.")
    with pytest.raises(ModelError, match="was cancelled"):
        await ask(ReplayModel(path), TALK[0][0])


async def test_a_request_that_asked_nothing_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    recorder = Recorder(telling([]), path, NOTHING)
    recorder.end(outcome(tmp_path))
    await recorder.close()
    assert path.read_bytes() == b""


async def test_a_disk_that_is_full_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    recorder = Recorder(telling([reply for _, reply in TALK]), path, NOTHING)
    await ask(recorder, TALK[0][0])
    before = path.read_bytes()
    with room_for(len(before) + 50), pytest.raises(CannotRecord, match="File too large"):
        await ask(recorder, TALK[1][0])
    assert path.read_bytes() == before
    await ask(recorder, TALK[2][0])
    assert len(read(path).exchanges) == 2


async def test_a_file_that_is_taken_away_is_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    recorder = Recorder(telling([TALK[0][1], TALK[1][1]]), path, NOTHING)
    await ask(recorder, TALK[0][0])
    path.unlink()
    with pytest.raises(CannotRecord, match="No such file"):
        await ask(recorder, TALK[1][0])
    assert files_in(tmp_path) == []


async def test_an_error_of_the_model_is_told_before_one_of_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    recorder = Recorder(telling([ModelError("No."), TALK[0][1]]), path, NOTHING)
    await recorder.window()
    path.unlink()
    with pytest.raises(ModelError, match=r"^No\.$"):
        await ask(recorder, TALK[0][0])
    with pytest.raises(CannotRecord):
        await ask(recorder, TALK[0][0])


@pytest.mark.parametrize("content", [CODE, "", '{"adacoder": "conversation", "version": 3,'])
async def test_a_file_that_exists_stays_and_the_next_gets_a_number(tmp_path: Path, content: str) -> None:
    path = tmp_path / "talk.txt"
    path.write_text(content)
    for number in (2, 3):
        await record(path, TALK[:number])
        assert len(read(tmp_path / f"talk-{number}.txt").exchanges) == number
    assert files_in(tmp_path) == ["talk-2.txt", "talk-3.txt", "talk.txt"]
    assert path.read_text() == content


async def test_links_are_followed(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "talk")
    await record(link)
    assert link.is_symlink()
    assert len(read(tmp_path / "talk").exchanges) == 3
    await record(link)
    assert files_in(tmp_path) == ["link", "talk", "talk-2"]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(CannotRecord, match="No such file or directory"):
        Recorder(telling([]), tmp_path / "none" / "talk", NOTHING)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(CannotRecord, match="it is not a regular file"):
            Recorder(telling([]), path, NOTHING)


def test_a_name_that_no_file_has(tmp_path: Path) -> None:
    with pytest.raises(CannotRecord, match="File name too long"):
        Recorder(telling([]), tmp_path / ("x" * 5000), NOTHING)


async def test_the_conversation_that_is_replayed_is_not_recorded_into(tmp_path: Path) -> None:
    path, link = tmp_path / "talk", tmp_path / "link"
    await record(path)
    link.symlink_to(path)
    before = path.read_bytes()
    recorder = Recorder(ReplayModel(path), link, NOTHING)
    assert recorder.name == f"replay:{path}"
    assert await ask(recorder, TALK[0][0]) == TALK[0][1]
    assert path.read_bytes() == before
    assert read(tmp_path / "talk-2").model == "ollama:m"
