"""The server ends a reply where this is safe. AdaCoder ends a useless reply even earlier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.commandline import BODY, GOOD_REPLY, MODEL, STUB, Desk, Ran
from support.standins import openai as standin_openai
from support.standins.ollama import Model, StandIn
from support.standins.server import Script, StandInServer

pytestmark = pytest.mark.isolation

THINKER = Model(MODEL, capabilities=("completion", "thinking"), family="gptoss")
TALK = f"{GOOD_REPLY}\nThis takes the root of both squares, which is what Pythagoras found.\n"
BEHIND_WORDS = f"Here is the function:\n```\ndef hypotenuse(a, b):\n{BODY}```\n\nThat is all.\n"
SERVERS: dict[str, tuple[Callable[..., StandInServer], str, str]] = {
    "ollama": (StandIn, f"ollama:{MODEL}", "--host"),
    "openai": (standin_openai.StandIn, f"openai:{MODEL}", "--base-url"),
}
every_server = pytest.mark.parametrize("server", SERVERS)


FIRST = '''def zero():
    """None.

    >>> zero()
    0
    """


'''
FIRST_REPLY = "```python\ndef zero():\n    return 0\n```\n"
DRAFT = "```python\ndef hypotenuse(a, b):\n    return {3: 5.0, 5: 13.0}.get(a, 1.0)\n```\n"
"""A reply that passes both examples."""
THINKING_TEMPLATE = "{{ range .Messages }}<{{ .Role }}>{{ .Content }}{{ end }}<think>\n"


def generate(
    desk: Desk,
    server: str,
    *replies: str | Script,
    options: tuple[object, ...] = (),
    is_known: bool = False,
    **stand_in: Any,
) -> tuple[Ran, StandInServer]:
    """Generate a function.

    If `is_known`, the model writes another function first. From its reply AdaCoder learns that the model does not
    think. Ollama reports this itself.
    """
    kind, model, address = SERVERS[server]
    has_first = is_known and server != "ollama"
    desk.write(FIRST + STUB if has_first else STUB)
    with kind((FIRST_REPLY, *replies) if has_first else replies, **stand_in).in_thread() as standin:
        ran = desk.run("generate", "shapes.py", "--json", "--model", model, address, standin.host, *options)
    return ran, standin


@every_server
def test_the_server_ends_a_reply_and_nothing_is_closed(desk: Desk, server: str) -> None:
    ran, standin = generate(desk, server, TALK, is_known=True)
    *_, result = ran.objects
    (step,) = [step for step in result["journal"] if step["action"] == "write"]
    assert (result["status"], result["modelCalls"], step["ended"]) == ("verified", 1, "stop")
    assert result["tokens"]["estimated"] is False
    assert standin.events[-1] == f"done {len(ran.objects)}"
    assert "Pythagoras" not in step["reply"]


@every_server
def test_a_reply_that_no_stop_text_fits_is_closed(desk: Desk, server: str) -> None:
    ran, standin = generate(desk, server, Script(TALK.replace("```\n", "``` \n"), pause=0.004), is_known=True)
    *_, result = ran.objects
    assert (result["status"], result["modelCalls"]) == ("verified", 1)
    assert result["tokens"]["estimated"] is True
    assert f"done {len(ran.objects)}" not in standin.events


@every_server
def test_what_a_server_ended_too_early_is_asked_for_again_in_the_same_round(desk: Desk, server: str) -> None:
    ran, _ = generate(desk, server, BEHIND_WORDS, BEHIND_WORDS, is_known=True)
    *_, result = ran.objects
    assert (result["status"], result["modelCalls"], result["rounds"]) == ("verified", 2, 1)
    first, second = (step for step in result["journal"] if step["action"] == "write")
    assert first["again"] == "The server ended the reply before the function was whole: it is asked for once more."
    assert "again" not in second


@every_server
@pytest.mark.parametrize("closing", ["</think>", "</thinking>", "</REASONING>", "[/THINK]", "◁/think▷"])
def test_a_draft_in_thoughts_that_the_template_opened_is_not_the_reply(desk: Desk, server: str, closing: str) -> None:
    thinker = Model(MODEL, template=THINKING_TEMPLATE) if server == "ollama" else standin_openai.Model(MODEL)
    reply = f"I would write:\n{DRAFT}No, that is by heart. {closing} So:\n\n{GOOD_REPLY}"
    ran, _ = generate(desk, server, reply, models=(thinker,))
    (result,) = ran.objects
    assert (result["status"], result["modelCalls"], result["rounds"]) == ("verified", 1, 1)
    assert BODY.strip() in result["edits"][0]["newText"]


def test_the_first_reply_of_a_model_is_read_to_its_end_where_nothing_tells_whether_it_thinks(desk: Desk) -> None:
    ran, _ = generate(desk, "openai", f"{DRAFT}\nThat is by heart. In the end:\n\n{GOOD_REPLY}")
    (result,) = ran.objects
    assert (result["status"], result["modelCalls"]) == ("verified", 1)
    assert BODY.strip() in result["edits"][0]["newText"]


@every_server
def test_a_reply_that_announces_a_draft_is_read_to_its_end(desk: Desk, server: str) -> None:
    reply = f"A first draft:\n\n{DRAFT}\nThat is by heart. In the end:\n\n{GOOD_REPLY}"
    ran, _ = generate(desk, server, reply, reply, is_known=True)
    *_, result = ran.objects
    assert (result["status"], result["modelCalls"]) == ("verified", 2)
    assert BODY.strip() in result["edits"][0]["newText"]


@pytest.mark.parametrize("reply", ["", " \n\n", "```python\n```", "\ufeff"])
def test_an_empty_reply_is_named(desk: Desk, reply: str) -> None:
    desk.write(STUB)
    desk.write(reply, "reply.txt")
    ran = desk.run("apply", "shapes.py", "--reply", "reply.txt", "--json")
    (result,) = ran.objects
    assert (ran.code, result["status"]) == (1, "failed")
    assert result["reason"] == "The reply for 'hypotenuse' was empty."


@every_server
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_a_model_that_only_thought_is_told_of(desk: Desk, server: str, reason: str) -> None:
    thinker = THINKER if server == "ollama" else standin_openai.Model(MODEL, thinks=True)
    only = Script("", thinking="Hm, what is the longest side? Let me see.", done_reason=reason)
    refusing: dict[str, Any] = {} if server == "ollama" else {"unknown": ("chat_template_kwargs",)}
    ran, _ = generate(desk, server, only, only, models=(thinker,), **refusing)
    assert (ran.code, "thought" in ran.err or "thinking" in ran.err) == (2, True)
    assert "does not think with --model" in ran.err


@every_server
def test_a_reply_that_a_server_took_for_thoughts_is_found(desk: Desk, server: str) -> None:
    thinker = THINKER if server == "ollama" else standin_openai.Model(MODEL, thinks=True)
    taken = Script("", thinking=f"Hm, what is the longest side? Let me see.\n</seed:think>\n{TALK}")
    refusing: dict[str, Any] = {} if server == "ollama" else {"unknown": ("chat_template_kwargs",)}
    ran, _ = generate(desk, server, taken, taken, models=(thinker,), **refusing)
    (result,) = ran.objects
    assert (ran.code, result["status"], result["rounds"]) == (0, "verified", 1)


def steps(sentence: str) -> str:
    return "".join(f"{number}. {sentence} {number}.\n" for number in range(1, 2000))


@every_server
@pytest.mark.parametrize(
    "text",
    [
        steps("Look at the side"),
        "Here are the steps:\n\n" + steps("Look at it"),
        "Step one of many, " * 2000,
        "".join(f"Step {number} of many, " for number in range(2000)),
    ],
)
def test_steps_without_end_are_ended_long_before_half_the_window(desk: Desk, server: str, text: str) -> None:
    ran, standin = generate(desk, server, Script(text, token=5), GOOD_REPLY, options=("--max-iterations", 0))
    (result,) = ran.objects
    (step,) = [step for step in result["journal"] if step["action"] == "write"]
    assert (ran.code, step["ended"]) == (1, "length")
    assert step["tokens"]["completion"] < 1000
    assert len(standin.requests) == 1


TABLE = "".join(f"    if (a, b) == ({number}, {number}):\n        return {number}.0\n" for number in range(300, 500))


@every_server
def test_a_long_function_is_read_to_its_end(desk: Desk, server: str) -> None:
    ran, _ = generate(desk, server, f"```python\ndef hypotenuse(a, b):\n{TABLE}{BODY}```\n")
    (result,) = ran.objects
    assert result["status"] == "verified"
    assert TABLE in result["edits"][0]["newText"]
