"""Ways in which models wrap a function: in a code fence, in prose, in JSON, …"""

from __future__ import annotations

import json
from collections.abc import Callable
from textwrap import indent

from adacoder.domain import Target
from adacoder.pytext import Lines, dedent, normalize, string_interiors

Dressing = Callable[[Target], str]
"""Wraps the target's function, unchanged, in one form of reply."""


def _function(target: Target) -> str:
    return dedent(normalize(target.source))


def _body(target: Target) -> str:
    return normalize(target.body.of(target.text)).strip("\n")


def _in_other_indentation(text: str, unit: str) -> str:
    """Replace every four spaces of indentation in `text` by `unit`, except in strings."""
    lines, inside = Lines(text), string_interiors(text)
    changed: list[str] = []
    for index in range(len(lines)):
        line = lines[index]
        bare = line.lstrip(" ")
        levels, rest = divmod(len(line) - len(bare), 4)
        changed.append(line if index in inside else unit * levels + " " * rest + bare)
    return "".join(changed)


def fenced(target: Target) -> str:
    return f"Here is the function:\n\n```python\n{_function(target)}\n```\n\nIt does what the docstring says."


def in_tildes(target: Target) -> str:
    return f"~~~~py\n{_function(target)}\n~~~~\n"


def whole_module(target: Target) -> str:
    return f"```python\n{normalize(target.text)}```"


def body_at_column_zero(target: Target) -> str:
    return f"```\n{dedent(_body(target))}\n```"


def body_in_its_indentation(target: Target) -> str:
    return _body(target)


def prose_around(target: Target) -> str:
    return f"Sure! I kept the signature and the docstring:\n\n{_function(target)}\n\nLet me know if you need more."


def thinking_first(target: Target) -> str:
    draft = f"def {target.name}(x):\n    return None"
    return f"<think>\nFirst a draft:\n```python\n{draft}\n```\nNo, that is wrong.\n</think>\n\n{fenced(target)}"


def as_json(target: Target) -> str:
    return json.dumps({"explanation": "It follows the examples.", "code": _function(target)}, indent=2)


def carriage_returns(target: Target) -> str:
    return fenced(target).replace("\n", "\r\n")


def in_tabs(target: Target) -> str:
    return f"```python\n{_in_other_indentation(_function(target), chr(9))}\n```"


def in_two_spaces(target: Target) -> str:
    return f"```python3\n{_in_other_indentation(_function(target), '  ')}\n```"


def imports_and_helper_on_top(target: Target) -> str:
    top = "import os\nimport sys\nfrom typing import Any, List\n\n\ndef unused_helper(x):\n    return os, sys, x"
    return f"```python\n{top}\n\n\n{_function(target)}\n```"


def in_a_list(target: Target) -> str:
    listed = indent(f"```python\n{_function(target)}\n```", "   ", lambda line: bool(line.strip()))
    return f"Two steps:\n\n1. Replace the function:\n\n{listed}\n\n2. Run the examples.\n"


def usage_first(target: Target) -> str:
    usage = f"result = {target.qualname}(1, 2)\nprint(result)"
    return f"It is used like this:\n\n```python\n{usage}\n```\n\nThe function:\n\n```python\n{_function(target)}\n```"


DRESSINGS: tuple[Dressing, ...] = (
    fenced,
    in_tildes,
    whole_module,
    body_at_column_zero,
    body_in_its_indentation,
    prose_around,
    thinking_first,
    as_json,
    carriage_returns,
    in_tabs,
    in_two_spaces,
    imports_and_helper_on_top,
    in_a_list,
    usage_first,
)
