"""Experience with the models of a server that outlasts a process: their speed, and streams that were closed early.

It is a hint. If the file is missing or malformed, nothing is known, and AdaCoder takes longer to suspect a model.
"""

from __future__ import annotations

import json
import math
import time
from contextlib import suppress

from adacoder.models.window import Calibration
from adacoder.private_files import cache_folder

_FILE = "models.json"
_MOST_BYTES = 1 << 16
_MOST_MODELS = 50
_MOST_SPEEDS = 8
"""Number of processes whose speed is kept. The slowest counts, because a prompt may have been cached."""
_FRESH = 600.0
"""Seconds for which a closed stream may hold its model. Ollama then unloads an unused model, unless told otherwise."""


def recall(server: str, model: str) -> Calibration:
    """Return a calibration with the experience of earlier processes."""
    closed, *speeds = _read().get(f"{server} {model}", [0.0])
    return Calibration(max(speeds, default=0.0), closed_before=0 <= time.time() - closed < _FRESH)


def keep(server: str, model: str, learned: Calibration) -> None:
    """Save what later processes should know about a model, if possible."""
    known, key = _read(), f"{server} {model}"
    if not learned.own_seconds_a_token:
        return
    _, *speeds = known.pop(key, [0.0])
    closed = time.time() if learned.closed else 0.0
    newest = dict([*known.items()][-_MOST_MODELS + 1 :])
    newest[key] = [closed, *[*speeds, learned.own_seconds_a_token][-_MOST_SPEEDS:]]
    with suppress(OSError):
        cache_folder().write(_FILE, json.dumps(newest).encode())


def _read() -> dict[str, list[float]]:
    with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
        read = json.loads(cache_folder().read(_FILE, _MOST_BYTES))
        known = {key: [float(number) for number in numbers] for key, numbers in read.items()}
        if all(numbers and all(0 <= number < math.inf for number in numbers) for numbers in known.values()):
            return known
    return {}
