"""Describe the result of comparing two versions of a function, in words and as JSON."""

from __future__ import annotations

from adacoder.domain import JSON, BehaviourDiff, CrossCheck

_LONGEST = 120
"""Maximum number of characters to show of a call or an output."""


def same_on(found: BehaviourDiff) -> str:
    """Return the number of inputs with the same outputs, in the form "on 3 of 4 inputs"."""
    return f"on {found.agreed} of {found.inputs} inputs"


def since_before(found: BehaviourDiff) -> str:
    """Return a sentence that compares a function with its previous version, and shows the shortest difference."""
    told = f"Same as before {same_on(found)}"
    for first in found.differs[:1]:
        told += f"; {brief(first.call)} gave {brief(first.there)}, and now gives {brief(first.here)}"
    return f"{told}."


def second_program(checked: CrossCheck) -> str:
    """Return a sentence that compares a second program with the first, and shows the shortest difference."""
    found = checked.found
    if found is None:
        return checked.reason or "Nothing was compared."
    if not found.differs:
        return f"A second program agrees {same_on(found)}."
    first = found.differs[0]
    told = f"A second program agrees only {same_on(found)}: {brief(first.call)} gives {brief(first.here)}"
    return f"{told}, and the second gives {brief(first.there)}. Add the right one to the docstring, then run `fix`."


def brief(text: str) -> str:
    """Return a call or an output on one line, cut after a maximum length."""
    line = " ".join(text.split("\n"))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def differences_json(found: BehaviourDiff) -> dict[str, JSON]:
    """Return the result of a comparison as members of the object of `compare --json`."""
    differs: list[JSON] = [{"call": each.call, "here": each.here, "there": each.there} for each in found.differs]
    return {"inputs": found.inputs, "agreed": found.agreed, "differs": differs, "leftOut": dict(found.left_out)}


def cross_check_json(checked: CrossCheck) -> dict[str, JSON]:
    """Return the member `crossCheck` of `--json`."""
    nothing: dict[str, JSON] = {"inputs": 0, "agreed": 0, "differs": [], "leftOut": {}}
    found = nothing if checked.found is None else differences_json(checked.found)
    return {**found, "model": checked.model, "reason": checked.reason}
