"""Errors of the sandbox that users see. A candidate that fails is not such an error."""

from __future__ import annotations

from adacoder.domain import AdaCoderError


class SandboxError(AdaCoderError):
    """The sandbox could not run the code. This is not the candidate's fault."""


class IsolationRefused(SandboxError):
    """The isolation on this machine is weaker than the settings accept."""
