"""Where things lie in the checkout."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
"""On the path of a process that imports from the tests: `support.evaluating`."""
ROOT = TESTS.parent
FIXTURES = ROOT / "fixtures"
