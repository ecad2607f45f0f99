"""Paths in the checkout."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
"""Folder of the tests. It must be on `sys.path`, to import modules such as `support.evaluating`."""
ROOT = TESTS.parent
FIXTURES = ROOT / "fixtures"
