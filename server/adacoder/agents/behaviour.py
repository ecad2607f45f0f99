"""Compare the outputs of two versions of a function, on the examples and on generated inputs.

Differences are only shown to the user, because only the user knows which output is right.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeAlias

from adacoder.agents.code_evaluator import Seen
from adacoder.aside import aside
from adacoder.domain import ENDLESS, AdaCoderError, BehaviourDiff, Difference, Module, Target
from adacoder.sandbox.literal_values import close_values
from adacoder.source.inputs import Input, smaller, varied, written

INPUTS = 60
"""Maximum number of inputs to compare, including the examples."""
_MADE = 120
"""Maximum number of inputs to generate, including the examples. At most `INPUTS` of them are compared."""
_ROUNDS = 8
"""Maximum number of rounds in which an input is made smaller."""
_AGAIN = 3
"""Number of extra runs that check whether the outputs of an input change from run to run."""
_TRIED = 12
"""Maximum number of smaller inputs to try in each round."""
_ADDRESS = re.compile(r"(<[^<>]*) at 0x[0-9A-Fa-f]+(?=>)")
REFUSED = "raise in both versions"
UNSTEADY = "give other results when they run again"
ELSEWHERE = "do not run the function"
CUT = "do not return in either version"
NOT_RUN = "were not run, because too many others did not return"


class Observe(Protocol):
    """Function that runs inputs on one version of a function, such as `CodeEvaluator.observe`."""

    async def __call__(self, inputs: Sequence[Input], *, by_line: bool = False) -> Sequence[Seen | None]:
        """Return the outputs of each input. With `by_line`, also return the lines that the input reaches."""
        ...


Apart: TypeAlias = tuple[Input, Seen, Seen]
"""An input, the first version's output, and the second version's output."""


class NoInputs(AdaCoderError):
    """There is no input to compare, or no earlier version of the function."""


async def compare(target: Target, here: Observe, there: Observe, *, seed: int = 0) -> BehaviourDiff:
    """Compare two versions of the function `target`. `here` and `there` run inputs on one version each.

    An input is left out if its outputs change from run to run, because such outputs depend on time or chance.

    Raises:
        NoInputs: there are no inputs.
        AdaCoderError: no input ran the function, or a version cannot run.
    """
    own = written(target)
    if not own:
        raise NoInputs(f"'{target.qualname}' has no examples to make inputs from: write a short one in its docstring.")
    made = [*own, *await aside(varied, target, _MADE - len(own), seed)]
    chosen, known = _chosen(await here(made, by_line=True), len(own))
    inputs, ours = [made[number] for number, _ in chosen], [seen for _, seen in chosen]
    again, theirs = await asyncio.gather(here(inputs), there(inputs))
    left_out = Counter[str]()
    compared = 0
    apart: list[Apart] = []
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
    apart.sort(key=lambda each: (each[1].lines <= known, len(each[0].text)))
    steady = await _steady(apart, here, there)
    if len(steady) < len(apart):
        left_out[UNSTEADY] += len(apart) - len(steady)
        compared, apart = compared - (len(apart) - len(steady)), steady
    if apart and ENDLESS not in (apart[0][1].outputs[-1], apart[0][2].outputs[-1]):
        apart[0] = await _minimised(apart[0], target.module, here, there)
    differs = tuple(dict.fromkeys(_told(*each) for each in apart))
    return BehaviourDiff(compared - (len(apart) - len(differs)), differs, dict(left_out))


def _chosen(ours: Sequence[Seen | None], own: int) -> tuple[list[tuple[int, Seen | None]], frozenset[int]]:
    """Select at most `INPUTS` inputs. The examples come first, then inputs that reach new lines.

    The first `own` entries of `ours` are the examples. Return each selected input's index with its outputs, and the
    lines that the examples reach.
    """
    examples = frozenset[int]().union(*(seen.lines for seen in ours[:own] if seen is not None))
    reached, first, others = set(examples), list(range(own)), list[int]()
    for number, seen in enumerate(ours[own:], own):
        is_further = seen is not None and not seen.lines <= reached
        (first if is_further else others).append(number)
        reached |= seen.lines if seen is not None else frozenset()
    return [(number, ours[number]) for number in (*first, *others)[:INPUTS]], examples


async def _steady(apart: list[Apart], here: Observe, there: Observe) -> list[Apart]:
    """Return the inputs whose outputs do not change when they run again."""
    steady = [each for each in apart if ENDLESS not in (each[1].outputs[-1], each[2].outputs[-1])]
    endless = {each[0] for each in apart} - {each[0] for each in steady}
    for _ in range(_AGAIN):
        if not steady:
            break
        inputs = [each[0] for each in steady]
        ours, theirs = await asyncio.gather(here(inputs), there(inputs))
        steady = [
            (one, our, their)
            for (one, our, their), again, other in zip(steady, ours, theirs, strict=True)
            if again is not None and other is not None and _agree(our, again) and _agree(their, other)
        ]
    left = endless | {each[0] for each in steady}
    return [each for each in apart if each[0] in left]


async def _minimised(found: Apart, module: Module, here: Observe, there: Observe) -> Apart:
    """Return a smaller input for which the two versions differ, or `found` if there is none."""
    for _ in range(_ROUNDS):
        inputs = smaller(found[0], module)[:_TRIED]
        ours, theirs = await asyncio.gather(here(inputs), there(inputs))
        apart = (
            (one, our, their)
            for one, our, their in zip(inputs, ours, theirs, strict=True)
            if our is not None and their is not None and _returned(our) and _returned(their) and not _agree(our, their)
        )
        less = next(iter(await _steady(list(apart)[:1], here, there)), None)
        if less is None:
            break
        found = less
    return found


def _returned(seen: Seen) -> bool:
    return seen.entered and not seen.raised and seen.outputs[-1] != ENDLESS


def _agree(one: Seen, other: Seen) -> bool:
    return len(one.outputs) == len(other.outputs) and all(map(_same, one.outputs, other.outputs))


def _same(one: str, other: str) -> bool:
    """Return whether two outputs are equal, apart from addresses, the order of sets, and the last digits of floats."""
    lines, others = one.split("\n"), other.split("\n")
    are_same_lines = len(lines) == len(others) and all(map(_is_same_line, lines, others))
    return are_same_lines or bool(close_values(one, other))


def _is_same_line(one: str, other: str) -> bool:
    return one == other or bool(close_values(one, other)) or _ADDRESS.sub(r"\1", one) == _ADDRESS.sub(r"\1", other)


def _told(one: Input, our: Seen, their: Seen) -> Difference:
    at = next(number for number, pair in enumerate(zip(our.outputs, their.outputs, strict=False)) if not _same(*pair))
    return Difference(Input(one.statements[: at + 1]).text, _output(our.outputs[at]), _output(their.outputs[at]))


def _output(text: str) -> str:
    return text.rstrip("\n") or ("an empty line" if text else "no output")
