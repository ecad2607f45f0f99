"""Observed tests are stored for the next run. A malformed file counts as missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.agents.observations import Observations, Observed
from adacoder.domain import ProjectTest, ProjectTestStatus

FILE = Path("/project/tests/test_a.py")
ROOT = Path("/project")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TEST = st.builds(
    ProjectTest,
    TEXT,
    st.sampled_from(ProjectTestStatus),
    st.floats(0, 100),
    st.none(),
    TEXT,
    TEXT,
    TEXT,
    st.frozensets(st.tuples(TEXT, st.integers(1, 9999)), max_size=3),
    st.integers(1, 9),
    st.integers(0, 9),
)
OBSERVED = st.builds(
    Observed,
    st.lists(TEST, max_size=3).map(tuple),
    TEXT,
    st.dictionaries(TEXT.map(Path), st.none() | TEXT, max_size=3),
)


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@given(OBSERVED)
def test_what_is_saved_is_loaded(observed: Observed) -> None:
    Observations(Path("/project")).save(FILE, ROOT, observed)
    assert Observations(Path("/project")).load(FILE, ROOT) == observed
    assert Observations(Path("/project")).load(FILE, ROOT / "src") is None
    assert Observations(Path("/another")).load(FILE, ROOT) is None
    assert Observations(Path("/project"), ("A=1",)).load(FILE, ROOT) is None
    assert Observations(Path("/project")).load(FILE.with_name("test_b.py"), ROOT) is None


GOOD = {
    "version": 1,
    "trouble": "",
    "state": {"/a": None},
    "tests": [
        {
            "name": "t",
            "status": "passed",
            "seconds": 1,
            "error": "",
            "explanation": "",
            "source": "",
            "cases": 1,
            "skipped": 0,
            "ran": [],
        }
    ],
}


@pytest.mark.parametrize(
    ("changes", "is_good"),
    [
        ({}, True),
        ({"version": 2}, False),
        ({"state": []}, False),
        ({"tests": [1]}, False),
        ({"tests": [{**GOOD["tests"][0], "status": "green"}]}, False),  # type: ignore[index]
        ({"tests": [{**GOOD["tests"][0], "ran": [["a"]]}]}, False),  # type: ignore[index]
        ({"tests": [{**GOOD["tests"][0], "ran": [["a", "b"]]}]}, False),  # type: ignore[index]
    ],
)
def test_a_malformed_file_counts_as_missing(
    changes: dict[str, object], is_good: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    Observations(Path("/project")).save(FILE, ROOT, Observed(()))
    (stored,) = tmp_path.rglob("*.json")
    stored.write_text(json.dumps({**GOOD, **changes}), encoding="utf-8")
    assert (Observations(Path("/project")).load(FILE, ROOT) is not None) is is_good
    stored.write_bytes(b"\xff{")
    assert Observations(Path("/project")).load(FILE, ROOT) is None
