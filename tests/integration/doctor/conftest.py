"""Test isolation only once for all examinations that do not depend on it."""

from __future__ import annotations

import pytest

from adacoder import doctor
from adacoder.sandbox.probe import Proof, probe

_proofs: list[Proof] = []


@pytest.fixture(autouse=True)
def isolation_is_proved_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Test the isolation in each examination only if the test is about isolation."""

    async def proved(*, anew: bool, keeps: bool) -> Proof:
        assert anew
        assert keeps
        if not _proofs:
            _proofs.append(await probe(anew=anew, keeps=keeps))
        return _proofs[0]

    if request.node.get_closest_marker("isolation") is None:
        monkeypatch.setattr(doctor, "probe", proved)
