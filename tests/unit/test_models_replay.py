"""Recorded conversations: made, read, and held to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adacoder.domain import Ended, Message, Reply, Tokens
from adacoder.models.base import ChatModel, Enough, ModelError
from adacoder.models.replay import (
    BadRecording,
    CannotRecord,
    Recorder,
    ReplayExhausted,
    ReplayMismatch,
    ReplayModel,
    read,
)
from adacoder.models.window import Window

SYSTEM = Message("system", "You write Python.\nNothing else.")
CODE = "def f(x):\n    return x + 1\n"
HEADER = '{"adacoder": "conversation", "version": 1, "model": "ollama:m"}'
TALK = (
    ((SYSTEM, Message("user", "Write f.")), Reply(CODE, Tokens(20, 9), Ended.STOP)),
    ((SYSTEM, Message("user", "Plan f.\nWhy did it fail?")), Reply("1. Add.", Tokens(30, 3), Ended.LENGTH)),
    ((SYSTEM, Message("user", "Write f.")), Reply("x", Tokens(30, 1, True), Ended.STOPPED_EARLY)),
)


def never(text: str) -> bool:
    return False


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Told:
    """A model that says what it is told to."""

    name = "ollama:m"
    lease_key = "ollama:m"

    def __init__(self, replies: Sequence[Reply | ModelError]) -> None:
        self._replies = iter(replies)
        self.closed = False

    async def window(self) -> Window:
        return Window(8192)

    async def reply(
        self, messages: Sequence[Message], *, enough: Enough, max_tokens: int, stop: Sequence[str] = ()
    ) -> Reply:
        reply = next(self._replies)
        if isinstance(reply, ModelError):
            raise reply
        enough(reply.text)
        return reply

    async def close(self) -> None:
        self.closed = True


async def ask(model: ChatModel, messages: Sequence[Message], enough: Enough = never) -> Reply:
    return await model.reply(messages, enough=enough, max_tokens=100)


async def record(path: Path, talk: Sequence[tuple[Sequence[Message], Reply]] = TALK) -> None:
    recorder = Recorder(Told([reply for _, reply in talk]), path)
    for messages, reply in talk:
        assert await ask(recorder, messages) == reply
    await recorder.close()


async def test_a_recording_gives_the_same_conversation_again(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    await record(path)
    replay = ReplayModel(path)
    assert [await ask(replay, messages) for messages, _ in TALK] == [reply for _, reply in TALK]
    assert replay.name == f"replay:{path}"
    await replay.close()


TEXTS = st.text(st.characters() | st.sampled_from('\n\r\t \x85\u2028"\\ab'))


@settings(max_examples=60)
@given(st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(Ended)), min_size=1, max_size=3))
async def test_any_text_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, talk: list[tuple[str, str, Ended]]
) -> None:
    path = tmp_path_factory.mktemp("talk") / "talk.jsonl"
    said = [((Message("user", question),), Reply(text, Tokens(1, 2), ended)) for question, text, ended in talk]
    await record(path, said)
    replay = ReplayModel(path)
    assert [await ask(replay, messages) for messages, _ in said] == [reply for _, reply in said]


async def test_what_no_encoding_has_comes_back_too(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    said = (((Message("user", "a\ud800b"),), Reply("\udfff")),)
    await record(path, said)
    assert await ask(ReplayModel(path), said[0][0]) == said[0][1]


async def test_a_recording_of_a_replay_is_the_same_recording(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    await record(first)
    recorder = Recorder(ReplayModel(first), second)
    for messages, _ in TALK:
        await ask(recorder, messages)
    assert [one.exchanges for one in read(second)] == [one.exchanges for one in read(first)]


async def test_each_line_of_a_prompt_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    await record(path)
    lines = [line.strip() for line in path.read_text().splitlines()]
    assert lines[0] == HEADER
    assert lines.count('"Nothing else."') == 3
    assert '"    return x + 1",' in lines


async def test_what_is_on_disk_is_whole_after_every_reply(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    recorder = Recorder(Told([reply for _, reply in TALK]), path)
    for number, (messages, _) in enumerate(TALK):
        assert len(read(path)[0].exchanges) == number
        assert path.read_bytes().endswith(b"\n")
        await ask(recorder, messages)
    assert files_in(tmp_path) == ["talk.jsonl"]


async def test_a_request_without_a_reply_is_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    told = Told([TALK[0][1], ModelError("No."), TALK[0][1]])
    recorder = Recorder(told, path)
    await ask(recorder, TALK[0][0])
    with pytest.raises(ModelError, match=r"No\."):
        await ask(recorder, TALK[0][0])
    await ask(recorder, TALK[0][0])
    assert len(read(path)[0].exchanges) == 2
    await recorder.close()
    assert told.closed


async def test_conversations_follow_each_other_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    other = [((Message("user", "Write g."),), Reply("g")), ((Message("user", "Plan g."),), Reply("1."))]
    await record(path)
    await record(path, other)
    await record(path, TALK[1:2])
    assert [len(one.exchanges) for one in read(path)] == [3, 2, 1]
    for talk in (TALK, other, TALK[1:2]):
        replay = ReplayModel(path)
        assert [await ask(replay, messages) for messages, _ in talk] == [reply for _, reply in talk]


async def test_of_two_that_begin_alike_the_later_counts(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    await record(path)
    await record(path, [(TALK[0][0], Reply("new"))])
    assert (await ask(ReplayModel(path), TALK[0][0])).text == "new"


async def test_another_request_shows_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    await record(path)
    replay = ReplayModel(path)
    await ask(replay, TALK[0][0])
    with pytest.raises(ReplayMismatch) as caught:
        await ask(replay, (SYSTEM, Message("user", "Plan f.\nWhy does it fail?")))
    first, *rest = str(caught.value).split("\n")
    assert first == f"Request number 2 is not the one recorded in {path}: record it again with --record."
    assert rest[:2] == ["--- recorded", "+++ asked"]
    assert rest[3:] == [" [user]", " Plan f.", "-Why did it fail?", "+Why does it fail?"]
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
    path = tmp_path / "talk.jsonl"
    await record(path)
    with pytest.raises(ReplayMismatch) as caught:
        await ask(ReplayModel(path), asked)
    assert shown in str(caught.value).split("\n")


async def test_a_long_difference_is_shortened(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    await record(path)
    with pytest.raises(ReplayMismatch) as caught:
        await ask(ReplayModel(path), (Message("system", "line\n" * 500),))
    assert len(str(caught.value).split("\n")) < 50


async def test_after_the_last_reply_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    await record(path)
    replay = ReplayModel(path)
    for messages, _ in TALK:
        await ask(replay, messages)
    with pytest.raises(ReplayExhausted) as caught:
        await ask(replay, TALK[0][0])
    assert str(caught.value) == f"The recorded conversation {path} has no reply number 4."


async def test_enough_is_heeded(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    long = Reply(CODE + "\nThat is all.\nIndeed.\n", Tokens(20, 15), Ended.STOP)
    await record(path, [(TALK[0][0], long)])
    grown: list[str] = []

    def enough(text: str) -> bool:
        grown.append(text)
        return "return" in text

    reply = await ask(ReplayModel(path), TALK[0][0], enough)
    assert (reply.text, reply.ended) == (CODE, Ended.STOPPED_EARLY)
    assert reply.tokens.prompt == 20
    assert reply.tokens.estimated
    assert grown == ["def f(x):\n", CODE]


async def test_what_was_stopped_when_it_was_recorded_is_not_stopped_again(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    said = Reply(CODE, Tokens(20, 9, True), Ended.STOPPED_EARLY)
    await record(path, [(TALK[0][0], said)])
    assert await ask(ReplayModel(path), TALK[0][0], lambda text: True) == said


@pytest.mark.parametrize("ended", [Ended.STOP, Ended.STOPPED_EARLY])
async def test_a_reply_that_is_enough_only_as_a_whole_stays_what_it_is(tmp_path: Path, ended: Ended) -> None:
    path = tmp_path / "talk.jsonl"
    said = Reply(CODE, Tokens(20, 9), ended)
    await record(path, [(TALK[0][0], said)])
    assert await ask(ReplayModel(path), TALK[0][0], lambda text: "return" in text) == said


async def test_a_file_written_by_hand_may_hold_a_value_a_line(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
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
    path.write_text(f"{HEADER}\n{json.dumps(exchange)}\n")
    said = await ask(ReplayModel(path), (Message("user", "Write\nf."),))
    assert said == Reply("a\nb", Tokens(1, 2, True), Ended.LENGTH)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "it is empty"),
        ("def f(): ...", "it is not JSON"),
        ('{"messages": [], "reply": {}}', "its JSON value number 1 is not understood"),
        ('{"adacoder": "conversation", "version": 2, "model": "m"}', "value number 1 is not understood"),
        ('{"adacoder": "other", "version": 1, "model": "m"}', "value number 1 is not understood"),
        (f'{HEADER}\n{{"messages": []}}', "value number 2 is not understood"),
        (f"{HEADER}\n[1]", "value number 2 is not understood"),
        (f"{HEADER}\n3", "value number 2 is not understood"),
        (f'{HEADER}\n"text"', "value number 2 is not understood"),
        (f'{HEADER}\n{{"messages": [', "it is not JSON"),
        (f'{HEADER}\n{{"messages": [{{"role": 1, "content": "a"}}], "reply": {{}}}}', "value number 2"),
    ],
)
def test_what_is_no_recording(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(content)
    with pytest.raises(BadRecording) as caught:
        ReplayModel(path)
    message = str(caught.value)
    assert why in message
    assert message.endswith("name a file that --record wrote.")
    assert "\n" not in message


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(BadRecording, match="No such file or directory"):
        ReplayModel(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(BadRecording, match="it is not JSON"):
        ReplayModel(tmp_path / "binary")


async def test_no_file_is_overwritten_that_is_not_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(CODE)
    with pytest.raises(CannotRecord, match=r"it holds something else\): name another file with --record"):
        Recorder(Told([]), path)
    assert path.read_text() == CODE
    path.write_text("")
    Recorder(Told([]), path)
    assert path.read_text() == f"{HEADER}\n"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(CannotRecord, match="No such file or directory"):
        Recorder(Told([]), tmp_path / "none" / "talk.jsonl")
