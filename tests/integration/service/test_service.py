"""A request from Target and Settings to Outcome and Edits, with a scripted model and the real evaluator."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from adacoder.domain import Ended, FailureKind, Outcome, Reply, Status
from adacoder.models.errors import ModelError
from adacoder.models.scripted import ScriptedModel
from adacoder.project import Project
from adacoder.report.as_json import step_json
from adacoder.service import from_reply
from adacoder.source.locate import Documented, locate
from adacoder.source.text import apply_edits
from adacoder.task import Task, current
from support.concluding import verdict_of
from support.scripted import STUB, Desk

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="module")]

GOOD = "```python\ndef hypotenuse(a, b):\n    return (a * a + b * b) ** 0.5\n```"
WRONG = "```python\ndef hypotenuse(a, b):\n    return float(a + b)\n```"
UNIMPORTED = "```python\ndef hypotenuse(a, b):\n    return math.hypot(a, b)\n```"
PLAN = "1. Square both sides.\n2. Take the root of the sum."


@pytest.fixture
def desk(one_desk: Desk) -> Desk:
    """A workspace after a reset. Its processes are still warm from the previous test."""
    one_desk.clear()
    return one_desk


def inserted(outcome: Outcome) -> str:
    return apply_edits(outcome.target.text, outcome.edits)


async def test_a_verified_body_is_offered_as_an_edit(desk: Desk) -> None:
    outcome, model = await desk.run(desk.target(), GOOD)
    assert outcome.status is Status.VERIFIED
    assert inserted(outcome) == STUB.replace("    pass\n", "    return (a * a + b * b) ** 0.5\n")
    assert (outcome.rounds, len(model.asked), outcome.model) == (1, 1, "scripted")


async def test_a_missing_import_is_mended_by_rule(desk: Desk) -> None:
    outcome, model = await desk.run(desk.target(), UNIMPORTED)
    assert outcome.status is Status.VERIFIED
    assert len(model.asked) == 1
    assert "import math\n" in inserted(outcome)
    assert [step.agent for step in outcome.steps] == [
        "programming_assistant",
        "code_evaluator",
        "debug_specialist",
        "code_evaluator",
    ]


async def test_a_wrong_answer_is_planned_and_written_afresh(desk: Desk) -> None:
    outcome, model = await desk.run(desk.target(), WRONG, PLAN, GOOD)
    assert (outcome.status, outcome.rounds) == (Status.VERIFIED, 2)
    plan_prompt, write_prompt = (ask.messages[-1].content for ask in model.asked[1:])
    assert ">>> hypotenuse(3, 4)\nmust give\n5.0\nbut gave\n7.0" in plan_prompt
    assert "Take the root of the sum" in write_prompt
    assert "a + b" not in write_prompt, "the Programming Assistant is never shown its earlier code"


async def test_what_is_not_verified_carries_no_edit(desk: Desk) -> None:
    desk.settings = replace(desk.settings, max_iterations=1)
    outcome, model = await desk.run(desk.target(), WRONG, PLAN, WRONG)
    assert outcome.status is Status.FAILED
    assert outcome.edits == ()
    assert len(model.asked) == 3
    assert [step_json(step).get("known", False) for step in outcome.steps if step.action == "evaluate"] == [False, True]


async def test_fix_of_a_function_that_passes_asks_no_model(desk: Desk) -> None:
    target = desk.target(STUB.replace("    pass\n", "    return (a * a + b * b) ** 0.5\n"))
    outcome, model = await desk.run(target, start=current(target))
    assert (outcome.status, outcome.edits, outcome.model) == (Status.VERIFIED, (), None)
    assert model.asked == []


async def test_fix_enters_at_the_first_evaluation(desk: Desk) -> None:
    target = desk.target(STUB.replace("    pass\n", "    return float(a + b)\n"))
    outcome, model = await desk.run(target, PLAN, GOOD, start=current(target))
    assert (outcome.status, outcome.rounds) == (Status.VERIFIED, 2)
    assert "but gave\n7.0" in model.asked[0].text


async def test_apply_takes_a_reply_from_anywhere_and_asks_no_model(desk: Desk) -> None:
    desk.settings = replace(desk.settings, max_iterations=0)
    target = desk.target()
    outcome, model = await desk.run(target, start=from_reply(f"Sure!\n{UNIMPORTED}\n", target))
    assert outcome.status is Status.VERIFIED
    assert model.asked == []
    failed, _ = await desk.run(target, start=from_reply("I cannot do that.", target))
    assert (failed.status, failed.edits) == (Status.FAILED, ())


async def test_check_judges_what_stands_there(desk: Desk) -> None:
    statuses = []
    for body in ("    return (a * a + b * b) ** 0.5\n", "    pass\n"):
        documented = Documented(desk.target(STUB.replace("    pass\n", body)))
        outcome = await desk.service.check(
            Task(documented.target, desk.settings, Project(desk.folder)), documented.unreadable
        )
        statuses.append(outcome.status)
        (step,) = outcome.steps
        assert (step.action, step_json(step)["ran"], step_json(step)["total"]) == ("evaluate", True, 2)
        assert outcome.edits == ()
    assert statuses == [Status.VERIFIED, Status.FAILED]


@pytest.mark.parametrize("reply", ["", "Of course! That is easy.", "```python\ndef other(x, y, z):\n    return x\n```"])
async def test_a_reply_without_the_function_is_a_failure(desk: Desk, reply: str) -> None:
    desk.settings = replace(desk.settings, max_iterations=0)
    outcome, _ = await desk.run(desk.target(), reply)
    assert outcome.status is Status.FAILED
    assert outcome.reason is not None
    assert "hypotenuse" in outcome.reason


async def test_a_model_that_cannot_reply_is_an_error(desk: Desk) -> None:
    outcome, _ = await desk.run(desk.target(), ModelError("Start the server."))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "Start the server.")


async def test_a_model_that_stops_replying_leaves_the_furthest_candidate(desk: Desk) -> None:
    outcome, _ = await desk.run(desk.target(), WRONG, ModelError("Start the server."))
    assert outcome.status is Status.FAILED
    assert outcome.candidate is not None
    assert outcome.reason is not None
    assert outcome.reason.endswith("Start the server.")


async def test_a_model_that_never_replied_is_an_error_though_something_was_evaluated(desk: Desk) -> None:
    target = desk.target(STUB.replace("    pass\n", "    return float(a + b)\n"))
    outcome, _ = await desk.run(target, ModelError("Start the server."), start=current(target))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "Start the server.")


async def test_examples_that_cannot_run_end_the_loop_at_once(desk: Desk) -> None:
    text = STUB.replace(">>> hypotenuse(", ">>> rounded(hypotenuse)(")
    outcome, model = await desk.run(desk.target(text), GOOD, PLAN, GOOD)
    assert outcome.status is Status.FAILED
    assert len(model.asked) == 1
    assert outcome.reason is not None
    assert "rounded" in outcome.reason


async def test_an_example_that_cannot_run_the_function_is_told_and_fails_nothing(desk: Desk) -> None:
    text = STUB.replace(">>> hypotenuse(5, 12)", ">>> rounded(hypotenuse(5, 12))")
    outcome, model = await desk.run(desk.target(text), GOOD, PLAN, GOOD)
    assert (outcome.status, outcome.passed, outcome.total) == (Status.VERIFIED, 1, 1)
    assert len(model.asked) == 1
    (note,) = verdict_of(outcome).notes
    assert "'rounded'" in note
    assert note.endswith("It did not run 'hypotenuse', so it counts for nothing.")


async def test_a_module_that_cannot_be_imported_ends_the_loop_at_once(desk: Desk) -> None:
    text = STUB.replace('"""Shapes."""\n', '"""Shapes."""\n\nimport no_such_module_at_all\n')
    outcome, model = await desk.run(desk.target(text), GOOD, PLAN, GOOD)
    assert outcome.status is Status.FAILED
    assert len(model.asked) == 1
    assert outcome.reason is not None
    assert "no_such_module_at_all" in outcome.reason


async def test_a_module_that_needs_what_isolation_denies_ends_the_loop_at_once(desk: Desk) -> None:
    text = STUB.replace(
        '"""Shapes."""\n', '"""Shapes."""\n\nimport socket\n\nLINE = socket.create_connection(("::1", 9))\n'
    )
    outcome, model = await desk.run(desk.target(text), GOOD, PLAN, GOOD)
    assert outcome.status is Status.FAILED
    assert len(model.asked) == 1
    assert outcome.verdict is not None
    assert outcome.verdict.failure is not None
    assert outcome.verdict.failure.kind is FailureKind.BROKEN_MODULE
    assert outcome.verdict.failure.message.startswith("The import of the module needs the network, which isolation ")


async def test_a_candidate_that_needs_what_isolation_denies_is_not_the_module_s_fault(desk: Desk) -> None:
    needy = GOOD.replace("def ", 'import socket\n\nLINE = socket.create_connection(("::1", 9))\n\ndef ')
    outcome, model = await desk.run(desk.target(), needy.replace("** 0.5", "** 0.5 if LINE else 0"), PLAN, GOOD)
    assert (outcome.status, len(model.asked)) == (Status.VERIFIED, 3)
    assert "needs the network, which isolation denies" in model.asked[1].text


async def test_no_examples_is_unverified_with_an_edit(desk: Desk) -> None:
    text = 'def double(x):\n    """Twice x."""\n'
    reply = "```python\ndef double(x):\n    return 2 * x\n```"
    outcome, _ = await desk.run(desk.target(text, "double"), reply)
    assert outcome.status is Status.UNVERIFIED
    assert inserted(outcome) == 'def double(x):\n    """Twice x."""\n    return 2 * x\n'


async def test_an_undefined_name_is_a_failure_even_without_examples(desk: Desk) -> None:
    desk.settings = replace(desk.settings, max_iterations=0)
    text = 'def double(x):\n    """Twice x."""\n'
    reply = "```python\ndef double(x):\n    return twice_of(x)\n```"
    outcome, _ = await desk.run(desk.target(text, "double"), reply)
    assert outcome.status is Status.FAILED
    assert outcome.reason is not None
    assert "twice_of" in outcome.reason


async def test_a_reply_cut_off_must_be_mended_and_pass(desk: Desk) -> None:
    desk.settings = replace(desk.settings, max_iterations=0)
    whole = Reply(GOOD.removesuffix("```") + "\ndef main():\n    print(hypot", ended=Ended.LENGTH)
    outcome, _ = await desk.run(desk.target(), whole)
    assert outcome.status is Status.VERIFIED
    unverifiable = 'def double(x):\n    """Twice x."""\n'
    cut = Reply("```python\ndef double(x):\n    y = x\n    return y +", ended=Ended.LENGTH)
    outcome, _ = await desk.run(desk.target(unverifiable, "double"), cut)
    assert (outcome.status, outcome.edits) == (Status.FAILED, ())


async def test_open_unsaved_files_are_what_is_evaluated(desk: Desk) -> None:
    (desk.folder / "units.py").write_text("FACTOR = 1\n", encoding="utf-8")
    text = 'from units import FACTOR\n\n\ndef scale(x):\n    """Scaled x.\n\n    >>> scale(2)\n    20\n    """\n'
    target = desk.target(text, "scale")
    candidate = from_reply("def scale(x):\n    return x * FACTOR\n", target)
    saved = Project(desk.folder)
    unsaved = Project(desk.folder, {desk.folder / "units.py": "FACTOR = 10\n"})
    on_disk = await desk.service.recheck(Task(target, desk.settings, saved, start=candidate))
    as_open = await desk.service.recheck(Task(target, desk.settings, unsaved, start=candidate))
    assert (on_disk.status, as_open.status) == (Status.FAILED, Status.VERIFIED)


async def test_nothing_runs_in_a_workspace_that_is_not_trusted(desk: Desk) -> None:
    desk.settings = replace(desk.settings, trusted=False)
    outcome, model = await desk.run(desk.target(), GOOD)
    assert outcome.status is Status.ERROR
    assert model.asked == []


async def test_an_interpreter_that_does_not_start_is_told_before_the_model_is_asked(desk: Desk) -> None:
    desk.settings = replace(desk.settings, interpreter=Path("/bin/false"))
    outcome, model = await desk.run(desk.target(), GOOD)
    assert (outcome.status, model.asked) == (Status.ERROR, [])
    assert outcome.reason is not None
    assert "/bin/false does not start" in outcome.reason
    desk.settings = replace(desk.settings, interpreter=None)
    outcome, model = await desk.run(desk.target(), GOOD)
    assert (outcome.status, len(model.asked)) == (Status.VERIFIED, 1)


async def test_an_unknown_strategy_names_those_there_are(desk: Desk) -> None:
    desk.settings = replace(desk.settings, strategy="magic")
    outcome, _ = await desk.run(desk.target(), GOOD)
    assert outcome.status is Status.ERROR
    assert outcome.reason is not None
    assert "adacoder, auto, direct" in outcome.reason


async def test_requests_to_one_model_take_turns(desk: Desk) -> None:
    busy = 0
    most = 0

    async def counting(_: object) -> str:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0.02)
        busy -= 1
        return GOOD

    desk.opens = lambda model_id: ScriptedModel(then=counting)
    target = desk.target()
    project = Project(desk.folder)
    outcomes = await asyncio.gather(*(desk.service.run(Task(target, desk.settings, project)) for _ in range(4)))
    assert {outcome.status for outcome in outcomes} == {Status.VERIFIED}
    assert most == 1


async def test_a_cancelled_request_lets_go_of_its_model(desk: Desk) -> None:
    asked = asyncio.Event()

    async def stalling(_: object) -> Reply:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    model = desk.model = ScriptedModel(then=stalling)
    target = desk.target()
    running = asyncio.create_task(desk.service.run(Task(target, desk.settings, Project(desk.folder))))
    await asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert model.is_closed
    outcome, _ = await desk.run(target, GOOD)
    assert outcome.status is Status.VERIFIED, "the lease was let go"


SUGGESTION = "Here:\n\n```python\n>>> double(2)\n4\n>>> double(-1)\n-2\n>>> double('a')\n'b'\n```\n\nDone."


async def suggest(desk: Desk, text: str, *replies: str | ModelError) -> Outcome:
    desk.model = ScriptedModel(*replies)
    target = desk.target(text, "double")
    return await desk.service.suggest(Task(target, desk.settings, Project(desk.folder)))


async def test_suggested_examples_are_an_edit_of_the_docstring_that_nothing_verifies(desk: Desk) -> None:
    outcome = await suggest(desk, 'def double(x):\n    """Twice x."""\n', SUGGESTION)
    assert outcome.status is Status.UNVERIFIED
    assert inserted(outcome) == (
        'def double(x):\n    """Twice x.\n\n    >>> double(2)\n    4\n    >>> double(-1)\n    -2\n'
        "    >>> double('a')\n    'b'\n    \"\"\"\n"
    )


async def test_a_written_function_must_pass_what_is_suggested(desk: Desk) -> None:
    outcome = await suggest(desk, 'def double(x):\n    """Twice x."""\n    return 2 * x\n', SUGGESTION)
    assert "double(-1)" in inserted(outcome)
    assert "'b'" not in inserted(outcome)


async def test_only_what_runs_the_function_is_suggested(desk: Desk) -> None:
    suggestion = SUGGESTION + "\n>>> 1 + 1\n2\n>>> double.__name__\n'double'\n"
    outcome = await suggest(desk, 'def double(x):\n    """Twice x."""\n    return 2 * x\n', suggestion)
    assert "double(-1)" in inserted(outcome)
    assert "__name__" not in inserted(outcome)
    assert "1 + 1" not in inserted(outcome)


@pytest.mark.parametrize(
    ("reply", "status"),
    [("I have none.", Status.FAILED), (ModelError("Start the server."), Status.ERROR)],
)
async def test_no_suggestion_is_no_edit(desk: Desk, reply: str | ModelError, status: Status) -> None:
    outcome = await suggest(desk, 'def double(x):\n    """Twice x."""\n', reply)
    assert (outcome.status, outcome.edits) == (status, ())


async def test_an_example_that_imports_the_module_by_another_name_meets_the_candidate(desk: Desk) -> None:
    folder = desk.folder / "lib"
    folder.mkdir()
    text = (
        'def f(x):\n    """Twice.\n\n    >>> from lib.util import f\n    >>> f(2)\n    4\n    """\n    return 2 * x\n'
    )
    (folder / "util.py").write_text(text, encoding="utf-8")
    target = locate(text, folder / "util.py", desk.folder, qualname="f")
    project = Project(desk.folder)
    statuses = [
        (await desk.service.recheck(Task(target, desk.settings, project, start=from_reply(reply, target)))).status
        for reply in ("def f(x): return x + x", "def f(x): return 'wrong'")
    ]
    assert statuses == [Status.VERIFIED, Status.FAILED]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 0 if not lst else g(lst=lst[1:], n=n - 1)", "return 0 if not xs else g(xs=xs[1:], k=k - 1)"),
        ("import math as lst\n    return 0", "lst, n = xs, k\n    import math as lst\n    return 0"),
    ],
    ids=["renamed", "not renamed where that would change what is meant"],
)
async def test_parameters_by_other_names_keep_their_values(desk: Desk, body: str, expected: str) -> None:
    target = desk.target('def g(xs, k):\n    """G.\n\n    >>> g([], 0)\n    0\n    """\n', "g")
    candidate = from_reply(f"def g(lst, n):\n    {body}\n", target)
    outcome = await desk.service.recheck(Task(target, desk.settings, Project(desk.folder), start=candidate))
    assert outcome.status is Status.VERIFIED
    assert inserted(outcome)[outcome.target.body.start :].strip() == expected


async def test_a_strategy_repairs_by_the_papers_rules(desk: Desk) -> None:
    halves = "```python\ndef hypotenuse(a, b):\n  squares = a * a + b * b\n  return math.sqrt(squares)\n```"
    desk.settings = replace(desk.settings, max_iterations=0)
    start = from_reply(halves, desk.target())
    mended, _ = await desk.run(desk.target(), start=start)
    assert mended.status is Status.VERIFIED
    desk.settings = replace(desk.settings, strategy="adacoder:paper-rules")
    blindly, _ = await desk.run(desk.target(), start=start)
    assert blindly.status is Status.FAILED
    repairs = [step_json(step)["rules"] for step in (*mended.steps, *blindly.steps) if step.action == "repair"]
    assert repairs == [["imports_added"], ["debugged"]]


async def test_examples_are_suggested_by_the_first_model_that_can_be_asked(desk: Desk) -> None:
    def opens(model_id: str | None) -> ScriptedModel:
        if model_id == "missing":
            raise ModelError("It is not there.")
        return ScriptedModel(SUGGESTION)

    desk.opens = opens
    target = desk.target('def double(x):\n    """Twice x."""\n', "double")
    settings = replace(desk.settings, models=("missing", "scripted"))
    outcome = await desk.service.suggest(Task(target, settings, Project(desk.folder)))
    assert (outcome.status, outcome.notes) == (Status.UNVERIFIED, ("It is not there.",))
    assert "double(-1)" in inserted(outcome)
    settings = replace(desk.settings, models=("missing",))
    outcome = await desk.service.suggest(Task(target, settings, Project(desk.folder)))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "It is not there.")
