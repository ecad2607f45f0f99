"""Behaviour that depends on the name of the client."""

from __future__ import annotations

import pytest
from lsprotocol import types

from adacoder.lsp.connection.client import Habits

QUESTIONS = types.ClientCapabilities(
    window=types.WindowClientCapabilities(show_message=types.ShowMessageRequestClientCapabilities())
)


def habits(name: str | None, capabilities: types.ClientCapabilities = QUESTIONS) -> Habits:
    info = None if name is None else types.ClientInfo(name)
    return Habits.of(types.InitializeParams(capabilities=capabilities, client_info=info))


@pytest.mark.parametrize("name", ["Visual Studio Code", "Visual Studio Code - Insiders", "VSCodium", "Cursor"])
def test_vs_code_and_its_kin_are_asked_beside_the_text(name: str) -> None:
    assert habits(name).asks_beside_text
    assert not habits(name, types.ClientCapabilities()).asks_beside_text, "it may not know questions"


@pytest.mark.parametrize("name", ["Neovim", "Eglot", "emacs", "helix", "Sublime Text LSP", "", None])
def test_nobody_is_asked_where_the_next_key_would_answer(name: str | None) -> None:
    assert not habits(name).asks_beside_text


@pytest.mark.parametrize(("name", "waits"), [("Eglot", True), ("emacs", True), (None, True), ("Neovim", False)])
def test_a_client_that_reads_late_is_given_time(name: str | None, waits: bool) -> None:
    assert (habits(name).pause > 0) is waits


@pytest.mark.parametrize(
    ("experimental", "shows"),
    [
        ({"adacoder": {"endings": True}}, True),
        ({"adacoder": {"endings": 1}}, False),
        ({"adacoder": 3}, False),
        (None, False),
    ],
)
def test_a_client_shows_endings_itself_if_it_says_so(experimental: object, shows: bool) -> None:
    assert habits("x", types.ClientCapabilities(experimental=experimental)).shows_endings is shows
