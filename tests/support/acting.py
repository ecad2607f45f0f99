"""A scripted model for all strategies, which recognises each role by its prompt."""

from __future__ import annotations

from collections.abc import Callable

from adacoder.domain import Reply, Tokens
from adacoder.models.scripted import ScriptedModel

PLAN = "1. Look at the arguments.\n2. Work out the result.\n3. Return it."


class Actor(ScriptedModel):
    """A model that writes the given functions. It gives each other role a reply that the role can read."""

    def __init__(
        self,
        writes: Callable[[int], str],
        *,
        tests: str = "",
        other_tests: str | None = None,
        accepts: bool = True,
        score: int = 4,
    ) -> None:
        """`writes(n)` returns the reply to the n-th request for the function, counted from 1.

        `tests` is the reply to the first request for tests, and `other_tests` to later requests; None means the same
        reply. `accepts` and `score` are the replies to requests to judge code.
        """
        super().__init__(then=lambda ask: Reply(self._answer(ask.messages[-1].content), Tokens(10, 5)))
        self._writes = writes
        self._tests = tests
        self._other_tests = tests if other_tests is None else other_tests
        self._accepts = accepts
        self._score = score
        self.written = 0

    def _answer(self, asked: str) -> str:
        task = asked.rstrip().splitlines()[-1]
        if "two Python code blocks" in task:
            return f"{self._written()}\n\n{self._designed()}"
        if "`assert " in task:
            return self._designed()
        if "WRITE" in task:
            return self._written()
        for sign, answer in (
            ("True or False", f"It looks so.\n{self._accepts}"),
            ("</problem>", "".join(f"<problem>\nProblem {n}.\n</problem>\n" for n in range(5))),
            ("</confidence>", "<confidence>70</confidence>"),
            ("List", "\n".join(f"{n}. Way {n} of {len(self.asked)}." for n in range(1, 11))),
            ("only the number", f"It is near.\n{self._score}"),
        ):
            if sign in task:
                return answer
        return PLAN

    def _designed(self) -> str:
        tests, self._tests = self._tests, self._other_tests
        return tests

    def _written(self) -> str:
        self.written += 1
        return self._writes(self.written)
