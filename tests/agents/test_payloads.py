"""`adacoder hook` answers the events that real coding agents sent.

The events of Claude Code 2.1.332 and Vibe 3.0.2 were recorded by hand, the others by test_agents.py. Ids and paths are
neutral.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.commandline import SOLVED, WRONG, Desk, Ran
from support.repository import commit

pytestmark = pytest.mark.isolation
_PAYLOADS = Path(__file__).with_name("payloads")


class Recorded:
    """The recorded events of an agent, sent from a repository."""

    def __init__(self, name: str, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.name, self._desk, self._monkeypatch = name, desk, monkeypatch

    def sends(self, event: str, **other: object) -> Ran:
        """Send an event, with `other` values for some of its fields."""
        recorded: dict[str, Any] = json.loads((_PAYLOADS / f"{self.name}-{event}.json").read_text("utf-8"))
        assert recorded["cwd"] == "/home/ada/shapes"
        sent = {**recorded, "cwd": str(self._desk.folder), **other}
        self._monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(sent).encode())))
        return self._desk.run("hook")


@pytest.fixture(params=["claude", "codex", "gemini", "qwen"])
def recorded(
    request: pytest.FixtureRequest,
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recorded:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    desk.write(SOLVED)
    commit(desk.folder)
    return Recorded(request.param, desk, monkeypatch)


def test_the_events_of_an_agent_belong_to_one_session(recorded: Recorded, desk: Desk) -> None:
    stop = "AfterAgent" if recorded.name == "gemini" else "Stop"
    assert recorded.sends("SessionStart") == Ran(0, "", "")
    assert recorded.sends(stop) == Ran(0, "", "")
    desk.write(WRONG)
    commit(desk.folder)
    blocked = recorded.sends(stop)
    assert (blocked.code, blocked.err) == (0, "")
    answer = json.loads(blocked.out)
    assert (set(answer), answer["decision"]) == ({"decision", "reason"}, "block")
    assert '"shapes.py::hypotenuse" line 7: "hypotenuse(3, 4)" gave "7.0", not "5.0".' in answer["reason"]
    desk.write(WRONG.replace("a + b", "b + a"))
    assert json.loads(recorded.sends(stop, stop_hook_active=True).out)["decision"] == "block"
    desk.write(SOLVED)
    assert recorded.sends(stop, stop_hook_active=True) == Ran(0, "", "")


def test_vibe_has_no_event_for_the_beginning(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    desk.write(SOLVED)
    commit(desk.folder)
    vibe = Recorded("vibe", desk, monkeypatch)
    desk.write(WRONG)
    assert json.loads(vibe.sends("post_agent").out)["decision"] == "deny"
    desk.write(SOLVED)
    assert vibe.sends("post_agent") == Ran(0, "", "")
