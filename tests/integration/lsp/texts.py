"""Functions to generate in tests of the protocol, and the model for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from support.standins.ollama import Ending, Script, StandIn

STUB = '''def initials(name):
    """The initials of a name, in capitals.

    >>> initials("ada lovelace")
    'AL'
    >>> initials("Åsa öberg")
    'ÅÖ'
    """
'''
BODY = '    return "".join(word[0] for word in name.split()).upper()\n'
GOOD = f"```python\n{STUB}{BODY}```"
WRONG = f"```python\n{STUB}    return name\n```"

ENDLESS = f"```python\n{STUB}    while True: pass\n```"

NO_EXAMPLES = 'def shout(text):\n    """The text in capitals."""\n'
SHOUT = f"```python\n{NO_EXAMPLES}    return text.upper()\n```"
SHOUTED = f"{NO_EXAMPLES}    return text.upper()\n"

NEEDS_HELPER = '''FACTOR = 10


def scaled(x):
    """x, scaled.

    >>> scaled(2)
    20
    """
'''
SCALED = "```python\ndef scaled(x):\n    return x * FACTOR\n```"

UNENDING = Script("def initials(name):\n    return", token=100, ending=Ending.STALL)
"""A reply that starts and never ends. All of its text arrives at once, so that nothing arrives after the
cancellation.
"""


def told_of(standin: StandIn, **more: Any) -> dict[str, Any]:
    """Return an editor's settings for a model server."""
    return {"model": "qwen2.5-coder:7b", "ollama": {"host": standin.host}, **more}


@asynccontextmanager
async def thinking(standin: StandIn) -> AsyncIterator[None]:
    """Keep the model busy during this block. Requests get no reply."""
    async with standin._slot:
        yield
