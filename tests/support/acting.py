"""A model that plays every role of every strategy: what it answers depends on what it is asked to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adacoder.domain import Ended, Reply, Tokens
from adacoder.models.base import Ask
from adacoder.models.window import Window

PLAN = "1. Look at the arguments.\n2. Work out the result.\n3. Return it."


class Actor:
    """Writes what it is told to, and says something fitting in every other role."""

    name = "actor"
    lease_key = "actor"

    def __init__(self, writes: Callable[[int], str], *, tests: str = "", accepts: bool = True, score: int = 4) -> None:
        """`writes`: the reply to the n-th call for the function, from 1; `tests`: to a call for tests."""
        self._writes = writes
        self._tests = tests
        self._accepts = accepts
        self._score = score
        self.asked: list[str] = []
        """The last message of each call."""
        self.written = 0

    async def window(self) -> Window:
        return Window(8192)

    async def reply(self, ask: Ask) -> Reply:
        self.asked.append(ask.messages[-1].content)
        return Reply(self._answer(ask.messages[-1].content), Tokens(10, 5), Ended.STOP)

    def _answer(self, asked: str) -> str:
        task = asked.rstrip().splitlines()[-1]
        if "two Python code blocks" in task:
            return f"{self._written()}\n\n{self._tests}"
        if "`assert " in task:
            return self._tests
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

    def _written(self) -> str:
        self.written += 1
        return self._writes(self.written)

    async def close(self) -> None:
        pass


class Babbler(Actor):
    """Answers whatever it is asked with the next of its replies."""

    def __init__(self, replies: Sequence[str]) -> None:
        super().__init__(lambda number: "")
        self._left = [*replies]

    def _answer(self, asked: str) -> str:
        return self._left.pop()
