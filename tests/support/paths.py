"""Paths in the checkout."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
"""The folder of the tests. A process that imports modules such as `support.evaluating` needs it on its path."""
ROOT = TESTS.parent
FIXTURES = ROOT / "fixtures"
