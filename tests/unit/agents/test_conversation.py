"""The messages that a request sends to its model, and its use of the replies."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adacoder.agents.conversation import Conversation
from adacoder.agents.example_designer import DESIGNER, usable
from adacoder.agents.failures import described
from adacoder.agents.programming_assistant import WRITER, WRITER_BY_PLAN
from adacoder.agents.prompt import Briefing, brief
from adacoder.agents.prompt_engineer import PLANNER
from adacoder.agents.role import Role
from adacoder.domain import Candidate, Ended, Example, Failure, FailureKind, Reply, Target, Verdict
from adacoder.journal import Journal
from adacoder.models.base import Ask
from adacoder.models.errors import OnlyThought
from adacoder.models.scripted import ScriptedModel
from adacoder.models.window import Window
from adacoder.report.as_json import step_json
from adacoder.source.locate import locate

MODULE = '''def mean(values):
    """The mean of values.

    >>> mean([1, 2, 3])
    2.0
    """
'''
MEAN = "```python\ndef mean(values):\n    return sum(values) / len(values)\n```"
PLAN = "Here are the steps:\n\n1. Add the values.\n2. Count them.\n3. Divide.\n"
LINE = "    values = sorted(values)  # to be sure that they are in order\n"
FAILED = Verdict(Failure(FailureKind.EXCEPTION, "It failed."))
ROLES = (WRITER, WRITER_BY_PLAN, PLANNER, DESIGNER)
TARGET = locate(MODULE, Path("/w/numbers.py"), Path("/w"), qualname="mean")


def streaming(*replies: str, obeys: bool) -> ScriptedModel:
    """A model that sends its replies a few characters at a time. If it `obeys`, it ends a reply at a stop text."""
    left = iter(replies)

    def say(ask: Ask) -> Reply:
        text = next(left)
        if obeys:
            text = text[: min((text.index(each) for each in ask.stop if each in text), default=len(text))]
        for end in range(4, len(text), 4):
            if ask.enough(text[:end]):
                return Reply(text[:end], ended=Ended.STOPPED_EARLY)
        return Reply(text)

    return ScriptedModel(then=say, name="model")


class Asking:
    """Return a request's Agents. Their model answers with `replies`."""

    def __init__(self, *replies: str, of: Target = TARGET, obeys: bool = True) -> None:
        self.model = streaming(*replies, obeys=obeys)
        self.target = of
        self.packed = 0
        self.journal = Journal()
        self.conversation = Conversation(self.model, of, self.journal, self._pack)

    async def write(self, plan: str | None = None) -> Candidate:
        if plan is None:
            return await self.conversation.ask(WRITER)
        return await self.conversation.ask(WRITER_BY_PLAN, {"plan": plan})

    async def plan(self) -> str:
        return await self.conversation.ask(PLANNER, {"error": described(FAILED)})

    async def suggest(self) -> tuple[Example, ...]:
        return usable(await self.conversation.ask(DESIGNER), self.target)

    async def _pack(self, window: Window) -> Briefing:
        self.packed += 1
        return brief(self.target, (), ROLES, window=window, instructions="")


async def test_each_role_has_its_own_limits_and_the_briefing_is_packed_once() -> None:
    request = Asking(MEAN, PLAN, MEAN, MEAN)
    await request.write()
    await request.plan()
    await request.write(PLAN)
    await request.suggest()
    limits = [(ask.max_tokens, ask.stop) for ask in request.model.asked]
    roles: list[Role[Any]] = [WRITER, PLANNER, WRITER, DESIGNER]
    assert limits == [(role.limits.tokens(Window(8192)), role.limits.stop) for role in roles]
    assert [tokens for tokens, _ in limits] == [4096, 512, 4096, 512]
    assert all(len(role.limits.stop) <= 4 for role in roles)
    assert request.packed == 1


async def test_a_plan_is_its_steps_and_ends_where_something_else_begins() -> None:
    request = Asking(f"{PLAN}\nLet me know if you want the code, and I write it; or ask me what it means.\n")
    plan = await request.plan()
    assert plan == "1. Add the values.\n2. Count them.\n3. Divide."
    (step,) = request.journal.steps
    assert step_json(step)["ended"] == "stopped_early"
    assert "what it means" not in str(step_json(step)["reply"])


async def test_a_reply_that_goes_round_in_circles_is_ended_and_counts_as_one_that_broke_off() -> None:
    request = Asking("```python\ndef mean(values):\n" + LINE * 500)
    candidate = await request.write()
    assert candidate.cut
    (step,) = request.journal.steps
    assert step_json(step)["ended"] == "length"
    assert len(str(step_json(step)["reply"])) < 50 * len(LINE)


async def test_a_reply_that_repeats_a_little_is_whole() -> None:
    request = Asking("```python\ndef mean(values):\n" + LINE * 10 + "    return 2.0\n```\nDone.\n")
    candidate = await request.write()
    assert not candidate.cut
    assert candidate.function.count("\n") == 11


def _other_functions(count: int) -> str:
    return "".join(f"def helper_{number}(value):\n    return value - {number}\n\n\n" for number in range(count))


async def test_a_reply_that_writes_other_functions_without_end_is_ended_and_counts_as_one_that_broke_off() -> None:
    request = Asking(f"```python\n{_other_functions(1000)}", MEAN)
    assert not (await request.write()).function
    (step,) = request.journal.steps
    assert step_json(step)["ended"] == "length"
    assert 5000 < len(str(step_json(step)["reply"])) < 7000


LONG = f"def mean(values):\n{''.join(f'    total = {number}' + chr(10) for number in range(600))}    return 2.0\n"


@pytest.mark.parametrize(
    "said",
    [
        f"<think>\n{_other_functions(300)}</think>\n{MEAN}",
        f"{_other_functions(60)}{MEAN}",
        f"```python\n{LONG}```",
        f"```python\n{_other_functions(60)}\n\n{LONG}```",
    ],
    ids=["after thoughts", "after a few others", "long", "long, after a few others"],
)
async def test_no_reply_is_ended_before_its_function_is_whole(said: str) -> None:
    request = Asking(said)
    candidate = await request.write()
    assert candidate.function
    assert not candidate.cut
    (step,) = request.journal.steps
    assert step_json(step)["ended"] != "length"


async def test_a_reply_may_repeat_the_module_before_the_function() -> None:
    module = f"{_other_functions(300)}{MODULE}"
    target = locate(module, Path("/w/numbers.py"), Path("/w"), qualname="mean")
    request = Asking(f"```python\n{_other_functions(300)}{FUNCTION}```", of=target)
    assert (await request.write()).function


@pytest.mark.parametrize(("second", "known"), [(MEAN, True), (f"{MEAN}\n", None)])
async def test_a_reply_that_was_given_before_is_marked(second: str, known: bool | None) -> None:
    request = Asking(MEAN, second)
    await request.write()
    await request.write(PLAN)
    first, later = request.journal.steps
    assert "known" not in step_json(first)
    assert step_json(later).get("known") is known


FUNCTION = "def mean(values):\n    return sum(values) / len(values)\n"
HELPED = "def mean(values):\n    return total(values) / len(values)\n"
WHOLE = (
    f"```python\n{FUNCTION}```\nThis divides the sum.\n",
    f"```\n{FUNCTION}```\n\nThis divides the sum.\n",
    f"Here it is:\n\n```python\n{FUNCTION}```\n",
    f"```python\n{FUNCTION.replace('sum', 'fsum')}```\nThis uses `math`.\n",
    FUNCTION,
    f"{FUNCTION}\nassert mean([1]) == 1\n",
    "```python\ndef mean(values):\n    return (sum(values)\n```",
    "```python\ndef average(values):\n    return 1\n```",
)
TOO_SHORT = (
    f"Here it is:\n```\n{FUNCTION}```\n",
    f"Sure!\n```\n{FUNCTION}```\n",
    f"Install it:\n```bash\npip install numpy\n```\nThen:\n```python\n{FUNCTION}```\n",
    f"For example:\n```python\nprint(mean([1]))\n```\nWith:\n```python\n{FUNCTION}```\n",
    f"```python\n{HELPED}```\nWith:\n```python\ndef total(values):\n    return sum(values)\n```\n",
    f"```python\ndef mean(values):\n    pass\n```\nThat is the frame.\n\n```python\n{FUNCTION}```\n",
    f"```python\ndef average(values):\n    return 1\n```\nNo:\n```python\n{FUNCTION}```\n",
    f"<think>\n```python\ndef mean(values):\n    return 1\n```\nNo.\n</think>\n```python\n{FUNCTION}```\n",
)


@pytest.mark.parametrize("text", [*WHOLE, *TOO_SHORT])
async def test_a_reply_that_a_server_ended_too_early_is_asked_for_once_more(text: str) -> None:
    request, unstopped = Asking(text, text), Asking(text, text, obeys=False)
    assert await request.write() == await unstopped.write()
    stops = [ask.stop for ask in request.model.asked]
    assert stops == [WRITER.limits.stop, ()][: 1 + (text in TOO_SHORT)]
    assert request.model.asked[0].messages == request.model.asked[-1].messages
    told = [step_json(step).get("again") for step in request.journal.steps]
    sentence = "The server ended the reply before the function was whole: it is asked for once more."
    assert told == [*[sentence] * (len(stops) - 1), None]


async def test_once_a_request_is_enough_to_know_that_a_model_writes_several_blocks() -> None:
    several = TOO_SHORT[0]
    request = Asking(several, several, PLAN, several, MEAN)
    await request.write()
    await request.plan()
    await request.write(PLAN)
    assert [ask.stop for ask in request.model.asked] == [WRITER.limits.stop, (), (), ()]


THOUGHTS = "<think>\nThe mean is the sum by the count. I have to be careful with no values.\n"


async def test_who_does_nothing_but_think_is_told_of() -> None:
    request = Asking(THOUGHTS, THOUGHTS)
    with pytest.raises(OnlyThought, match=r"The server sent thoughts of the model 'model', but no reply"):
        await request.write()
    with pytest.raises(OnlyThought):
        await Asking(THOUGHTS).suggest()
    found = Asking(f"{THOUGHTS}{MEAN}", f"{THOUGHTS}{MEAN}")
    assert (await found.write()).function == FUNCTION.rstrip()
    suggested = Asking(f"{THOUGHTS}```python\n>>> mean([4])\n4.0\n```")
    assert len(await suggested.suggest()) == 1


FOLDER = os.environ.get("ADACODER_DATA")


def recorded() -> Iterator[tuple[str, Target, str]]:
    """Return recorded replies that a stop text would end, each with its id and task."""
    folder = Path(FOLDER or "")
    with gzip.open(folder / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as lines:
        tasks = {task["task_id"]: task for task in map(json.loads, lines)}
    with gzip.open(folder / "model_replies.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            task = tasks.get(row["task_id"])
            if task is not None and any(stop in row["reply"] for stop in WRITER.limits.stop):
                module, name = task["prompt"].rstrip() + "\n    pass\n", task["entry_point"]
                yield row["id"], locate(module, Path("/w/m.py"), Path("/w"), qualname=name), row["reply"]


@pytest.mark.skipif(FOLDER is None, reason="ADACODER_DATA names no folder with recorded replies")
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
async def test_no_recorded_reply_is_another_for_what_a_server_stops_at(one_in: Callable[[int], int]) -> None:
    """The result is the same if the server ends a reply or if AdaCoder closes the stream."""
    stopped = again = 0
    for number, target, text in list(recorded())[:: one_in(5)]:
        closing, ending = Asking(text, text, of=target, obeys=False), Asking(text, text, of=target)
        wanted = await closing.write()
        assert await ending.write() == wanted, number
        stopped += len(ending.model.asked) == 1 and step_json(ending.journal.steps[0])["ended"] == "stop"
        again += len(ending.model.asked) == 2
    assert stopped > 10
    assert again > 10
