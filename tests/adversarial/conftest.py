"""The levels at which attacks are let loose on the evaluator."""

from __future__ import annotations

import pytest

from support.levels import LEVELS


@pytest.fixture(scope="module", params=LEVELS)
def level(request: pytest.FixtureRequest) -> object:
    return request.param
