"""Errors of the sandbox that users see. A failing candidate is not an error."""

from __future__ import annotations

from adacoder.domain import AdaCoderError


class SandboxError(AdaCoderError):
    """Nothing could be run, for a reason that is not the candidate's fault."""


class IsolationRefused(SandboxError):
    """The isolation on this machine is weaker than the settings accept."""
