"""Errors of the sandbox itself. If a candidate fails, the result is a Verdict instead."""

from __future__ import annotations

from adacoder.domain import AdaCoderError


class SandboxError(AdaCoderError):
    """The sandbox could not run the code, so nothing is known about the candidate."""


class IsolationRefused(SandboxError):
    """The isolation on this machine is weaker than the settings accept."""
