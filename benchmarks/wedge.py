"""Measure how many replies are lost or delayed if closed streams sometimes block the model server.

The server is a stand-in for Ollama over real HTTP. About one in fifty closed streams, at random, blocks the model's
only slot until the model is unloaded. AdaCoder closes each stream after a random part of its text. The output is one
JSON
line: the number of lost replies, the longest wait for a first token, and the median wait after a blocked slot.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from measuring import Figure, Report

from adacoder.domain import Message
from adacoder.models.base import Ask
from adacoder.models.errors import ModelError
from adacoder.models.waiting import Reloaded
from support.serving import KINDS, model_at, settings_of  # modules in tests/
from support.standins.ollama import Script, StandIn

REPLY = Script("".join(f"line_{number} = {number}\n" for number in range(40)), pause=0.001)
TASK = "Write a function that adds up the numbers of a list. " * 20
ONE_IN = 50
TARGET_SECONDS = 10.0


async def measure(replies: int, version: str) -> Report:
    """Request `replies` replies one after the other, and close each stream early."""
    chance = random.Random(replies)
    lost, ordinary, mended = 0, [0.0], [0.0]
    async with StandIn(lambda _: REPLY, version=version, wedges=lambda: chance.random() < 1 / ONE_IN) as standin:
        told: list[str] = []
        model = model_at(standin.host, kind=KINDS["ollama 0.24"], on_wait=told.append)
        for number in range(replies):
            first, least = 0.0, chance.randrange(1, len(REPLY.text))
            began, before = time.perf_counter(), len(told)

            def enough(text: str, least: int = least) -> bool:
                nonlocal first
                first = first or time.perf_counter()
                return len(text) >= least

            messages = (Message("system", "You write Python."), Message("user", f"{TASK} {number}"))
            try:
                reply = await model.reply(Ask(messages, enough=enough, max_tokens=1000))
                lost += not REPLY.text.startswith(reply.text) or len(reply.text) < least
            except ModelError as error:
                print(error, file=sys.stderr)
                lost += 1
            waits = mended if any(isinstance(text, Reloaded) for text in told[before:]) else ordinary
            waits.append((first or time.perf_counter()) - began)
        await model.close()
        unloads = sum(settings_of(body).get("keep_alive") == 0 for body in standin.requests)
    return Report(
        n=replies,
        figures={
            "lost": Figure(lost, at_most=0),
            "longest_wait_s": Figure(max(*ordinary, *mended), at_most=TARGET_SECONDS),
        },
        medians={"wait_ms": round(statistics.median(ordinary) * 1000, 2)},
        remarks={
            "wedges": len(mended) - 1,
            "unloads": unloads,
            "median_wait_of_those_s": round(statistics.median(mended[1:] or [0.0]), 2),
            "longest_other_wait_s": round(max(ordinary), 2),
            "version": version,
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=2000)
    parser.add_argument("--version", default="0.24.0", help="that of the stand-in")
    arguments = parser.parse_args()
    report = asyncio.run(measure(arguments.replies, arguments.version))
    print(json.dumps({"benchmark": "wedge", **report.json()}))


if __name__ == "__main__":
    main()
