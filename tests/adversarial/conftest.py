"""The isolation levels at which attacks run."""

from __future__ import annotations

import pytest

from support.levels import LEVELS


@pytest.fixture(scope="module", params=LEVELS)
def level(request: pytest.FixtureRequest) -> object:
    return request.param
