"""The table of handlers."""

from __future__ import annotations

import gc
import inspect

import pytest

from adacoder.lsp.features import COMMANDS, FEATURES, NOTIFICATIONS, REQUESTS
from adacoder.lsp.language_server import _prepare, found
from adacoder.lsp.stdio import create
from adacoder.task import Mode


@pytest.mark.parametrize("table", [NOTIFICATIONS, FEATURES, REQUESTS, COMMANDS])
def test_every_name_has_a_handler_of_its_own(table: dict[str, str]) -> None:
    handlers = [found(address) for address in table.values()]
    assert len(set(handlers)) == len(handlers)
    assert {inspect.iscoroutinefunction(each) for each in handlers} == {table is not NOTIFICATIONS}


def test_every_mode_is_a_command() -> None:
    assert COMMANDS.keys() >= set(Mode)


def test_a_wrong_address_is_found_out() -> None:
    with pytest.raises(AttributeError):
        found("handlers:on_nothing")


def test_handlers_of_the_most_frequent_messages_are_imported_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "freeze", lambda: None)  # later tests need the garbage collector
    found.cache_clear()
    assert found.cache_info().currsize == 0
    _prepare(create())
    assert found.cache_info().currsize > len(NOTIFICATIONS) + len(FEATURES)
