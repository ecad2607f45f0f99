"""What the sandbox tells a user when it cannot run anything. A candidate that fails is none."""

from __future__ import annotations

from adacoder.domain import AdaCoderError


class SandboxError(AdaCoderError):
    """Nothing could be run, and the candidate is not to blame."""


class IsolationRefused(SandboxError):
    """What can isolate code here is weaker than the settings accept."""
