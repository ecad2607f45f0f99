"""Functions to write, and the model's replies for each. Everything in a flow has the name of the flow."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from support.standins.ollama import Body, Ending, Script

TIMESTAMP = '''\
def {name}(seconds: float) -> str:
    """A moment of a film as SRT files write it.

    >>> {name}(83.5)
    '00:01:23,500'
    >>> {name}(5025.25)
    '01:23:45,250'
    >>> {name}(59.9996)
    '00:01:00,000'
    """
'''
ROUNDED = """\
    whole, milliseconds = divmod(round(seconds * 1000), 1000)
    minutes, whole = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{whole:02},{milliseconds:03}"
"""
TRUNCATED = ROUNDED.replace("round(seconds * 1000)", "int(seconds * 1000)")
"""Wrong in the last example."""
DIFFERING = '    if seconds < 1:\n        return ""\n' + ROUNDED
"""Right in all examples, and different for less than a second."""
WRONG = '    return ""\n'
PLAN = """\
1. Round to whole milliseconds first, so that 59.9996 seconds become a minute.
2. Split off milliseconds, seconds and minutes with `divmod`.
3. Write hours, minutes and seconds with two digits, and after a comma three more.
"""
_NAMES = re.compile(r"def (\w+)\(")


class Model:
    """Reply by the function in the question: its replies one after the other, then the last one again and again."""

    def __init__(self) -> None:
        self._replies: dict[str, list[Script]] = {}
        self.asked: dict[str, str] = {}
        """The latest question about each function."""

    def says(self, name: str, *replies: str | Script) -> None:
        """Return the reply to a question about the function `name`."""
        self._replies[name] = [Script(reply) if isinstance(reply, str) else reply for reply in replies]

    def __call__(self, body: Body) -> Script:
        asked = str(body["messages"])
        name = next((each for each in _NAMES.findall(asked) if each in self._replies), None)
        if name is None:
            return Script(status=500, error="nothing is known of that function")
        self.asked[name] = asked
        replies = self._replies[name]
        return replies.pop(0) if len(replies) > 1 else replies[0]


def stub(name: str) -> str:
    """Return a function without a body."""
    return TIMESTAMP.format(name=name)


def function(name: str, body: str) -> str:
    return stub(name) + body


def reply(name: str, body: str) -> str:
    """Return a model's reply with the function."""
    return f"```python\n{function(name, body)}```\n"


def held(text: str, until: Event) -> Script:
    """A reply that starts, and continues once `until` is set."""
    return Script(text, until=until)


def never_ending(name: str) -> Script:
    """A reply that starts and never continues."""
    return Script(f"```python\n{stub(name)}", token=1000, ending=Ending.STALL)


def file(folder: Path, name: str, *bodies: str) -> Path:
    """Write a file with one function of the file's name: a stub, or with the body in `bodies`."""
    path = folder / f"{name}.py"
    path.write_text(function(name, "".join(bodies)), encoding="utf-8")
    return path


def notebook(folder: Path, name: str, *texts: str) -> Path:
    """Write a notebook with Python cells."""
    usual: dict[str, object] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    content = {
        "cells": [{**usual, "id": f"c{number}", "source": text} for number, text in enumerate(texts)],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path = folder / f"{name}.ipynb"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def cells(path: Path) -> list[str]:
    """Return the texts of a notebook's cells on disk."""
    return ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]


def names(texts: Sequence[str]) -> list[str]:
    """Return the functions that texts define."""
    return [name for text in texts for name in _NAMES.findall(text)]
