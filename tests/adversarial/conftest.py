"""The isolation levels at which attacks run, and the order of the attacks."""

from __future__ import annotations

import pytest

from support.levels import LEVELS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests first. At the end, the other processes would wait for them."""
    items.sort(key=lambda item: item.path.stem != "test_soak")


@pytest.fixture(scope="module", params=LEVELS)
def level(request: pytest.FixtureRequest) -> object:
    return request.param
