"""The isolation levels at which attacks run, and the order of the attacks."""

from __future__ import annotations

import pytest

from support.levels import LEVELS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first, so that no process waits for them at the end."""
    items.sort(key=lambda item: item.path.stem != "test_soak")


@pytest.fixture(scope="module", params=LEVELS)
def level(request: pytest.FixtureRequest) -> object:
    return request.param
