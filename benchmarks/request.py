"""Measure a whole `generate` request without the model's time, against `python -m doctest` and a Python start.

The model is a stand-in for Ollama over real HTTP, which answers at once. The cases run in turns. The output is one JSON
line:

* `server`: the time from sending `adacoder/run` to a warm language server until its answer;
* `cli`: a whole `adacoder generate --json` process.

Each ratio is the median of the case, divided by the sum of the medians of `python -m doctest FILE` and `python -c
pass`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from integration.lsp.client import Client  # modules in tests/
from support.standins.ollama import StandIn

MODULE = '''"""Words and how often they occur."""

import re


def split(text):
    """The words of a text, in lower case."""
    return re.findall(r"\\w+", text.lower())


def most_common(text, count=1):
    """The most common words of a text, the more common first, equals in order of the alphabet.

    >>> most_common("a rose is a rose")
    ['a']
    >>> most_common("a rose is a rose", 2)
    ['a', 'rose']
    >>> most_common("", 3)
    []
    """
'''

BODY = """    words = split(text)
    return sorted(set(words), key=lambda word: (-words.count(word), word))[:count]
"""


def timed(*command: str) -> float:
    """Return the seconds that one process takes."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return time.perf_counter() - began


async def measure(rounds: int) -> dict[str, float | int]:
    """Run all four cases in each round. Return the output line."""
    reply = "```python\n" + MODULE[MODULE.index("def most_common") :] + BODY + "```\n"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stub, solved = folder / "words.py", folder / "solved.py"
        stub.write_text(MODULE + "    pass\n", encoding="utf-8")
        solved.write_text(MODULE + BODY, encoding="utf-8")
        seconds: dict[str, list[float]] = {"doctest": [], "start": [], "server": [], "cli": []}
        async with StandIn(lambda _: reply) as standin:
            settings = {"model": "qwen2.5-coder:7b", "ollama": {"host": standin.host}}
            async with Client.started(folder, settings) as client:
                await client.open(stub)
                for index in range(rounds + 3):
                    taken = {
                        "doctest": timed(sys.executable, "-m", "doctest", str(solved)),
                        "start": timed(sys.executable, "-c", "pass"),
                        "server": await one_request(client, stub),
                        "cli": await asyncio.to_thread(
                            timed,
                            *(sys.executable, "-m", "adacoder", "generate", f"{stub}::most_common", "--json"),
                            *("--model", "qwen2.5-coder:7b", "--host", standin.host),
                        ),
                    }
                    if index >= 3:  # The first rounds warm up the server and the disk cache.
                        for key, value in taken.items():
                            seconds[key].append(value)
    median = {key: statistics.median(values) for key, values in seconds.items()}
    baseline = median["doctest"] + median["start"]
    return {
        "rounds": rounds,
        "server_ratio": round(median["server"] / baseline, 3),
        "cli_ratio": round(median["cli"] / baseline, 3),
        **{f"{key}_ms": round(value * 1000, 1) for key, value in median.items()},
    }


async def one_request(client: Client, path: Path) -> float:
    """Return the seconds from sending `adacoder/run` to its verified answer."""
    began = time.perf_counter()
    answer = await client.run(path, "most_common", mode="generate", apply=False)
    seconds = time.perf_counter() - began
    if answer["status"] != "verified":
        raise SystemExit(f"the request was not verified: {answer}")
    return seconds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    print(json.dumps(asyncio.run(measure(parser.parse_args().rounds))))
