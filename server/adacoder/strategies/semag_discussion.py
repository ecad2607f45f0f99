"""Level 4 of SEMAG: debaters, and the weighted decision of equations 7 and 8."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from adacoder.agents.request import Request
from adacoder.agents.role import Field
from adacoder.domain import Attempt
from adacoder.strategies import semag_roles as by


@dataclass(slots=True)
class Discussion:
    """The debaters of one request."""

    debaters: int
    temper: float
    _gained: dict[int, float] = field(default_factory=dict)
    """η, a debater's historical performance. The paper does not define it; here it is the share of the examples that
    the debater's proposals gained in this request when they were followed."""

    async def refined(self, request: Request, attempt: Attempt, trace: Field) -> Attempt:
        """Let the debaters speak in turn, then follow the proposal with the greatest weight."""
        proposals: list[str] = []
        for _ in range(self.debaters):
            others = _numbered(proposals) or "None yet."
            proposals.append(await by.ask(request, by.DEBATER, attempt, trace=trace, proposals=others))
        marks = await by.ask(request, by.DISCRIMINATOR, attempt, proposals=_numbered(proposals))
        history = [self._gained.get(number, 0.0) for number in range(1, self.debaters + 1)]
        best = weightiest(marks, history, self.temper)
        candidate = await by.ask(request, by.REFINER, attempt, advice=proposals[best - 1])
        refined = await request.evaluate(candidate)
        gain = request.share(refined) - request.share(attempt)
        self._gained[best] = self._gained.get(best, 0.0) + gain
        return refined


def weightiest(marks: Mapping[int, float], history: Sequence[float], temper: float) -> int:
    """Return the number of the winning proposal by eq. 8: the greatest mark φ times debater's weight softmax(η/τ_w).

    A mark rates a single proposal, so only one term of the sum is left. Among equals the last wins, because its
    debater knew the others.
    """
    weighed = {
        number: math.exp(performance / temper) * marks.get(number, 0.0) for number, performance in enumerate(history, 1)
    }
    return max(weighed, key=lambda number: (weighed[number], number))


def _numbered(proposals: Sequence[str]) -> str:
    return "\n\n".join(f"{number}. {each}" for number, each in enumerate(proposals, 1))
