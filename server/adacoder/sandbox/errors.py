"""Errors of the sandbox that a user is told. A failing candidate is none."""

from __future__ import annotations

from adacoder.domain import AdaCoderError


class SandboxError(AdaCoderError):
    """Nothing could be run, and the candidate is not to blame."""


class IsolationRefused(SandboxError):
    """The isolation on this machine is weaker than the settings accept."""
