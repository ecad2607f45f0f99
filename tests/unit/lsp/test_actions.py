"""Code actions for each state of a file, in the form that a client declares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from adacoder.domain import Candidate, Edit, Outcome, Status
from adacoder.lsp.jobs.results import KeptResult
from adacoder.lsp.showing.actions import FileState, code_actions
from adacoder.lsp.snapshot import Snapshot, Uri

URI = Uri("file:///w/a.py")
TEXT = '''def stub(x):
    """Does something."""


def written(x):
    """Does something."""
    return x
'''
SNAPSHOT = Snapshot(URI, Path("/w/a.py"), TEXT, 7, Path("/w"), {})
STUB, WRITTEN = (TEXT[: TEXT.index(f"def {name}")].count("\n") for name in ("stub", "written"))
LITERALS = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(
        code_action=types.CodeActionClientCapabilities(
            code_action_literal_support=types.ClientCodeActionLiteralOptions(types.ClientCodeActionKindOptions([]))
        )
    )
)
ASKED, UNASKED = types.CodeActionTriggerKind.Invoked, types.CodeActionTriggerKind.Automatic


def offered(
    capabilities: types.ClientCapabilities,
    line: int = STUB,
    only: list[str] | None = None,
    state: FileState | None = None,
    trigger: types.CodeActionTriggerKind = ASKED,
) -> list[Any]:
    context = types.CodeActionContext(diagnostics=[], only=only, trigger_kind=trigger)
    return code_actions(SNAPSHOT, line, context, capabilities, state)


def commands(line: int, state: FileState | None = None, trigger: types.CodeActionTriggerKind = ASKED) -> list[str]:
    return [
        each.command.removeprefix("adacoder.server.")
        for each in offered(types.ClientCapabilities(), line, None, state, trigger)
    ]


def kept() -> KeptResult:
    target = SNAPSHOT.find(qualname="stub")
    end = target.definition.end
    edits = (Edit(end, end, "\n    return x"),)
    outcome = Outcome(Status.UNVERIFIED, target, candidate=Candidate("def stub(x):\n    return x"), edits=edits)
    result = KeptResult.of(outcome, "j", URI)
    assert result is not None
    return result


def test_an_editor_that_knows_no_literals_gets_commands() -> None:
    command, *_ = offered(types.ClientCapabilities())
    assert isinstance(command, types.Command)
    assert (command.command, command.title) == ("adacoder.server.generate", "AdaCoder: generate function 'stub'")


def test_what_an_editor_does_not_know_is_left_out() -> None:
    action, *_ = offered(LITERALS)
    assert action.tags is None
    assert offered(LITERALS, 3, ["refactor"]) == []


@pytest.mark.parametrize("trigger", [ASKED, UNASKED])
def test_a_function_at_work_can_only_be_cancelled(trigger: types.CodeActionTriggerKind) -> None:
    assert commands(STUB, FileState(running={"stub": "j"}), trigger) == ["cancel"]
    assert commands(WRITTEN, FileState(running={"stub": "j"}), UNASKED) == [], "the control: another function"


def test_a_kept_result_comes_first_where_its_function_is() -> None:
    state = FileState(kept=[kept()])
    assert commands(STUB, state)[:4] == ["insert", "difference", "discard", "generate"]
    assert commands(STUB, state, UNASKED) == ["insert", "difference", "discard", "generate"]
    assert "insert" not in commands(WRITTEN, state)
    assert offered(types.ClientCapabilities(), STUB, None, state)[0].title == (
        "Insert AdaCoder's result for 'stub' (unverified)"
    )


def test_a_function_known_to_fail_is_worth_a_lightbulb() -> None:
    state = FileState(failing=frozenset({"written"}))
    assert commands(WRITTEN, state, UNASKED) == ["fix"]
    assert commands(WRITTEN, state)[:2] == ["fix", "generate"]
    assert commands(WRITTEN)[:2] == ["generate", "fix"]


def test_another_candidate_is_offered_where_there_is_one() -> None:
    state = FileState(earlier=lambda target: (Candidate("def stub(x): ..."),))
    assert ("another" in commands(STUB), "another" in commands(STUB, state)) == (False, True)
    assert "another" in commands(WRITTEN), "its present body"


def test_the_journal_of_a_functions_last_job_comes_last() -> None:
    state = FileState(last_job=lambda name: "j" if name == "written" else None)
    assert (commands(WRITTEN, state)[-1], "journal" in commands(STUB, state)) == ("journal", False)
