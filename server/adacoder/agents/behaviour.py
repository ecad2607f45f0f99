"""Compare what two versions of a function do, on the examples and on inputs that nobody wrote.

A difference never decides, because only the user knows which of the two outputs is right. It is a fact to show.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from adacoder.agents.code_evaluator import Seen
from adacoder.domain import ENDLESS, AdaCoderError, BehaviourDiff, Difference, Module, Target
from adacoder.sandbox.literal_values import close_values
from adacoder.source.inputs import Input, smaller, varied, written

INPUTS = 60
"""Maximum number of inputs, with the examples."""
_ROUNDS = 8
"""Maximum number of times that a differing input is made smaller."""
_TRIED = 12
"""Maximum number of smaller inputs to try each time."""
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
REFUSED = "raise in both versions"
UNSTEADY = "give other results when they run again"
ELSEWHERE = "do not run the function"
CUT = "do not end in either version"
NOT_RUN = "were not run, because too many others did not end"


Observe = Callable[[Sequence[Input]], Awaitable[Sequence[Seen | None]]]
"""Runs inputs on one version, as `CodeEvaluator.observe` does."""


async def compare(target: Target, here: Observe, there: Observe, *, seed: int = 0) -> BehaviourDiff:
    """Compare two versions of `target` by what `here` and `there` observe.

    `here` observes the inputs twice. An input whose outputs differ then is left out: it depends on time or chance.

    Raises:
        AdaCoderError: no input ran the function, or a version cannot run.
    """
    own = written(target)
    if not own:
        raise AdaCoderError(f"'{target.qualname}' has no examples to make inputs from: write one in its docstring.")
    inputs = [*own, *varied(target, INPUTS - len(own), seed)]
    ours, again, theirs = await here(inputs), await here(inputs), await there(inputs)
    left_out = Counter[str]()
    compared = 0
    apart: list[tuple[Input, Seen, Seen]] = []
    for one, our, second, their in zip(inputs, ours, again, theirs, strict=True):
        if our is None or their is None or second is None:
            left_out[NOT_RUN] += 1
        elif our.outputs[-1] == their.outputs[-1] == ENDLESS:
            left_out[CUT] += 1
        elif not _agree(our, second):
            left_out[UNSTEADY] += 1
        elif not (our.entered or their.entered):
            left_out[ELSEWHERE] += 1
        elif our.raised and their.raised and one not in own:
            left_out[REFUSED] += 1
        else:
            compared += 1
            if not _agree(our, their):
                apart.append((one, our, their))
    if not compared:
        reasons = ", ".join(f"{count} {why}" for why, count in left_out.items())
        raise AdaCoderError(f"No input could be compared for '{target.qualname}': {reasons}.")
    apart.sort(key=lambda each: len(each[0].text))
    if apart:
        apart[0] = await _minimised(apart[0], target.module, here, there)
    differs = tuple(dict.fromkeys(_told(*each) for each in apart))
    return BehaviourDiff(compared - (len(apart) - len(differs)), differs, dict(left_out))


async def _minimised(
    found: tuple[Input, Seen, Seen], module: Module, here: Observe, there: Observe
) -> tuple[Input, Seen, Seen]:
    """Return a smaller input for which the versions still differ, or `found`."""
    for _ in range(_ROUNDS):
        inputs = smaller(found[0], module)[:_TRIED]
        ours, theirs = await here(inputs), await there(inputs)
        apart = (
            (one, our, their)
            for one, our, their in zip(inputs, ours, theirs, strict=True)
            if our is not None and their is not None and not (our.raised or their.raised) and not _agree(our, their)
        )
        less = next(apart, None)
        if less is None:
            break
        found = less
    return found


def _agree(one: Seen, other: Seen) -> bool:
    return all(map(_same, one.outputs, other.outputs))


def _same(one: str, other: str) -> bool:
    """Return whether two outputs are equal, apart from addresses, the order of sets, and the last digits of floats."""
    return _ADDRESS.sub("", one) == _ADDRESS.sub("", other) or close_values(one, other)


def _told(one: Input, our: Seen, their: Seen) -> Difference:
    at = next(number for number, pair in enumerate(zip(our.outputs, their.outputs, strict=False)) if not _same(*pair))
    return Difference(Input(one.statements[: at + 1]).text, _output(our.outputs[at]), _output(their.outputs[at]))


def _output(text: str) -> str:
    return text.rstrip("\n") or "no output"
