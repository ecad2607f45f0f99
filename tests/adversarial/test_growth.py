"""Every reader reads foreign text of any shape in linear time."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from adversarial.growth import READERS, grows, some_shapes
from adversarial.shapes import SHAPES

_PROGRAM = Path(__file__).with_name("growth.py")
_LIMITS = {resource.RLIMIT_CPU: 300, resource.RLIMIT_AS: 4 << 30, resource.RLIMIT_CORE: 0}
_ROOMS = 8
_CLOSES = re.compile(r"\\N\{[^}]+\}")


def _limit() -> None:
    for kind, most in _LIMITS.items():
        resource.setrlimit(kind, (most, most))


@pytest.mark.parametrize("room", range(_ROOMS))
def test_no_reader_takes_longer_and_longer(room: int) -> None:
    own = [place for place in sys.path if place]
    names = list(READERS)[room::_ROOMS]
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", str(_PROGRAM), "--some", *names],
        env={"PYTHONPATH": ":".join(own), "PATH": "/usr/bin:/bin", "HOME": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_limit,
    )
    *tried, last = finished.stdout.split("\n")
    assert not [line for line in tried if line.endswith(" times")]
    assert finished.returncode == 0, f"it ended at {last}: {finished.stderr[-2000:]}"
    assert len(tried) == sum(len(some_shapes(name)) for name in names)


@pytest.mark.parametrize(
    "slow",
    [
        pytest.param(
            lambda text: [text[:end].count("{N") for _ in range(12) for end in range(len(text))], id="looks back"
        ),
        pytest.param(lambda text: sum(1 for _ in text for _ in text[::4]), id="a loop in a loop"),
        pytest.param(lambda text: _CLOSES.sub("", text * 4), id="a pattern"),
    ],
)
def test_what_grows_faster_is_found(slow: object) -> None:
    assert callable(slow)
    # On a busy machine, a shorter text may take longer, so try several times. Real readers get many shapes instead.
    assert any(grows(slow, SHAPES["named escapes"]) is not None for _ in range(5))


def test_what_grows_as_the_text_does_is_not() -> None:
    def linear(text: str) -> int:
        return sum(ord(character) for _ in range(400) for character in text)

    assert grows(linear, SHAPES["named escapes"]) is None
