"""Describe the result of comparing two versions of a function, in words and as JSON."""

from __future__ import annotations

from adacoder.agents.questions import Ruling
from adacoder.domain import JSON, BehaviourDiff, CrossCheck, Difference

_LONGEST = 120
"""Maximum characters of a call or an output."""
_SHORT = 40
"""Maximum characters of an output in the title of an action."""
_ON_A_BUTTON = 16
"""Maximum characters of an output on a button. VS Code cuts off longer titles."""


def same_on(found: BehaviourDiff) -> str:
    """Return the number of inputs with the same outputs, in the form "on 3 of 4 inputs"."""
    return f"on {found.agreed} of {found.inputs} inputs"


def since_before(found: BehaviourDiff) -> str:
    """Return a sentence that compares a function with its previous version, and shows the first difference."""
    told = f"Same as before {same_on(found)}"
    for first in found.differs[:1]:
        here, there = outputs(first)
        told += f"; {brief(first.call)} gave {there}, and now gives {here}"
    return f"{told}."


def second_program(checked: CrossCheck) -> str:
    """Return a sentence that compares a function with a second program, and shows the first difference."""
    found = checked.found
    if found is None:
        return checked.reason or "Nothing was compared."
    if not found.differs:
        return f"A second program agrees {same_on(found)}."
    first = found.differs[0]
    here, there = outputs(first)
    told = f"A second program agrees only {same_on(found)}: {brief(first.call)} gives {here}"
    return f"{told}, and the second gives {there}."


def compared(behaviour: BehaviourDiff | None, checked: CrossCheck | None) -> list[str]:
    """Return a sentence for each comparison that was made."""
    before = [] if behaviour is None else [since_before(behaviour)]
    return before if checked is None else [*before, second_program(checked)]


def asking(found: Difference) -> str:
    """Return the question that asks the user which output is right, the function's or the second program's."""
    here, there = outputs(found)
    return f"Which is right? {brief(found.call)} gives {here}, and a second program gives {there}."


def answers(found: Difference) -> dict[Ruling, str]:
    """Return the answers that the user can choose, each with its text in a menu."""
    here, there = outputs(found, _SHORT)
    return {
        Ruling.HERE: f"{here} is right: add it as an example",
        Ruling.THERE: f"{there} is right: add it as an example, and fix",
        Ruling.RAISES: "It should raise ValueError: add it as an example, and fix",
        Ruling.NEVER: "Do not ask about this function",
    }


def buttons(found: Difference) -> dict[Ruling, str]:
    """Return the possible answers to the question of `asking`, with short titles for buttons."""
    here, there = outputs(found, _ON_A_BUTTON)
    return {Ruling.HERE: here, Ruling.THERE: there, Ruling.RAISES: "ValueError", Ruling.NEVER: "Do not ask"}


def brief(text: str, start: int = 0, longest: int = _LONGEST) -> str:
    """Return `longest` characters of `text` on one line, beginning at `start`."""
    line = " ".join(text.split("\n"))
    return f"{'…' if start else ''}{line[start : start + longest]}{'…' if len(line) > start + longest else ''}"


def outputs(found: Difference, longest: int = _LONGEST) -> tuple[str, str]:
    """Return both outputs of a difference, each on one line. Long outputs are cut to the part around the first
    difference.
    """
    texts = (found.here, found.there)
    same = next(
        (number for number, pair in enumerate(zip(*texts, strict=False)) if len({*pair}) > 1), min(map(len, texts))
    )
    start = max(same - longest // 2, 0) if max(map(len, texts)) > longest else 0
    return brief(found.here, start, longest), brief(found.there, start, longest)


def differences_json(found: BehaviourDiff) -> dict[str, JSON]:
    """Return the members of the object of `compare --json` that describe a comparison."""
    differs: list[JSON] = [{"call": each.call, "here": each.here, "there": each.there} for each in found.differs]
    return {"inputs": found.inputs, "agreed": found.agreed, "differs": differs, "leftOut": dict(found.left_out)}


def cross_check_json(checked: CrossCheck) -> dict[str, JSON]:
    """Return the member `crossCheck` of the object that `--json` prints."""
    nothing: dict[str, JSON] = {"inputs": 0, "agreed": 0, "differs": [], "leftOut": {}}
    found = nothing if checked.found is None else differences_json(checked.found)
    return {**found, "model": checked.model, "reason": checked.reason}
