"""Measure whether the work of a public reader grows faster than its text, with texts of many shapes.

A reader reads a text and one twice as long. Only the ratio of the processor times counts, so a slow or busy machine
does not matter. As a program, it prints each combination whose work grows too fast:

    growth.py [READER]…         all shapes with all or the named readers; this takes long
    growth.py --some READER…    an eighth of the shapes with each reader; all readers together get all shapes
"""

from __future__ import annotations

import operator
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from adacoder.agents.paper_rules import debugged
from adacoder.agents.repairs import repaired_by_rules
from adacoder.domain import AdaCoderError, Candidate, Example, ExampleResult, Reply, Target
from adacoder.models.recording.redaction import Redaction
from adacoder.models.window import Window, estimate
from adacoder.privacy.contents import found_in, without_secrets
from adacoder.pytext import (
    Lines,
    dedent,
    definitions,
    error_line,
    functions_around,
    leaves_string_open,
    line_ending,
    logical_lines,
    parsed,
    starts_logical_line,
    statements,
    string_interiors,
)
from adacoder.replies.blocks import Block, code_blocks, runs
from adacoder.replies.companions import dependencies
from adacoder.replies.completion import completion
from adacoder.replies.extract import extract
from adacoder.replies.filters import UNWRAPPING, is_thinking
from adacoder.replies.repetition import is_repetition
from adacoder.replies.steps import are_complete, steps
from adacoder.replies.transcript import without_line_numbers, without_prompts
from adacoder.sandbox.literal_values import same_but_for_order, same_but_for_sets, same_value
from adacoder.settings import Settings, from_project
from adacoder.source.calls import Calls
from adacoder.source.context import pieces
from adacoder.source.docstring import add_examples
from adacoder.source.examples import examples, suggested
from adacoder.source.imports import ImportIndex, undefined_names
from adacoder.source.literal import read_literal
from adacoder.source.locate import documented, functions, locate
from adacoder.source.memorised import memorised
from adacoder.source.names import bindings, used_names
from adacoder.source.shareable import shareable
from adacoder.source.splice import splice
from adacoder.source.text import offset_at, position_at, read
from adversarial.shapes import SHAPES

Reader = Callable[[str], object]

HEADER = 'def f(x: int) -> int:\n    """Give the double.\n\n    >>> f(1)\n    2\n    """\n'
MODULE = f"import os\n\n\n{HEADER}    pass\n"
PATH, FOLDER = Path("/nowhere/m.py"), Path("/nowhere")
_GIVEN_UP = (AdaCoderError, ValueError, RecursionError)
"""Errors of readers that cannot read a text."""


def _target(text: str = MODULE) -> Target:
    return locate(text, PATH, FOLDER, qualname="f")


def _docstring(shape: str) -> str:
    """Return a module whose target has the shape in its docstring."""
    return f'def f(x: int) -> int:\n    """Give the double.\n\n{shape}\n    """\n    pass\n'


def _stream(target: Target, text: str) -> None:
    """Read a reply word by word, as it arrives."""
    complete = completion(target)
    for end in range(0, len(text), 16):
        complete(text[:end])


def _splice(text: str) -> None:
    target = _target()
    candidate = Candidate(f"def f(x):\n{text}")
    placed = splice(target, candidate)
    undefined_names(placed.text, [placed.function, *placed.added])


def _renamed(text: str) -> None:
    splice(_target(), Candidate(f"def g(y):\n    y = [y, g(y=y)]\n    return [{text}]\n"))


def _brought(text: str) -> None:
    splice(_target(), Candidate("def f(x):\n    return x\n", (text,), (text,)))


def _imports(text: str) -> None:
    index = ImportIndex(_target(), FOLDER)
    placed = splice(_target(), Candidate(f"def f(x):\n    return [{text}]\n"))
    for name in undefined_names(placed.text, [placed.function, *placed.added]):
        index.import_for(name, placed.text)


def _mended(text: str) -> None:
    target = _target()

    def undefined(changed: Candidate) -> tuple[str, ...]:
        placed = splice(target, changed)
        return undefined_names(placed.text, [placed.function, *placed.added])

    repaired_by_rules(Candidate(text), target, undefined, ImportIndex(target, FOLDER).import_for)


def _by_heart(text: str) -> None:
    body = "".join(f"    {line}\n" for line in text.split("\n"))
    target = _target()
    results = [ExampleResult(example, matched=True, entered=True) for example in target.examples]
    memorised(target, splice(target, Candidate(f"def f(x):\n{body}")), results)


def _around(text: str) -> None:
    functions_around(text, len(text) // 2)
    functions_around(text, len(text))
    starts_logical_line(text, len(text) // 2)


def _positions(text: str) -> None:
    lines = Lines(text)
    position_at(text, len(text), "utf-16")
    offset_at(lines, len(lines) - 1, len(text), "utf-16")
    offset_at(lines, 0, len(text), "utf-8")


def _all_of(*readers: Reader) -> Reader:
    def read_all(text: str) -> None:
        for each in readers:
            with suppress(*_GIVEN_UP):
                each(text)

    return read_all


def _project(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pyproject.toml").write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
        from_project(Settings(), Path(folder), lambda _: None)


def _near(text: str) -> None:
    """Read a file with the text, next to the target's file."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "near.py").write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
        target = locate(MODULE, Path(folder, "m.py"), Path(folder), qualname="f")
        index = ImportIndex(target, Path(folder))
        for name in ("Unknown", "a", "b1"):
            index.import_for(name, f"{name}(1)")
        with suppress(*_GIVEN_UP):
            read(Path(folder, "near.py"))


def _context(text: str) -> None:
    pieces(_target(f"{MODULE}\n\n{text}\n"))


def _class_example(text: str) -> None:
    inner = HEADER.replace("f(x", "f(self, x").replace("\n", "\n    ")
    module = f'class A:\n    """A.\n\n{text}\n    """\n\n    {inner}    pass\n'
    functions(module, PATH, FOLDER)


REDACTION = Redaction(
    workspaces=["/home/ann/w"], homes=["/home/ann", "/app"], servers=["http://a.b:1"], keys=["sk-" * 5]
)


READERS: Mapping[str, Reader] = {
    "lines": _all_of(line_ending, dedent, lambda text: dedent(f"  {text}"), _positions),
    "logical lines": _all_of(lambda text: list(logical_lines(text)), statements),
    "definitions": lambda text: [(each.docstring, each.span, each.header) for each in definitions(text)],
    "strings": _all_of(string_interiors, leaves_string_open),
    "functions around": _around,
    "the parser": _all_of(parsed, error_line.__wrapped__),
    "names": _all_of(used_names, lambda text: bindings(text, _target().module)),
    "a literal": _all_of(
        lambda text: read_literal(f'"""{text}"""'), lambda text: read_literal(f"'{text}'"), read_literal
    ),
    "locate by line": _all_of(
        lambda text: locate(text, PATH, FOLDER, line=len(Lines(text)) // 2),
        lambda text: locate(f"{text}\n{MODULE}", PATH, FOLDER, line=len(Lines(text)) + 3),
        lambda text: locate(f"{MODULE}{text}", PATH, FOLDER, line=3),
        lambda text: locate(f"{HEADER}    {text}", PATH, FOLDER, line=3),
    ),
    "locate in a docstring": lambda text: locate(_docstring(text), PATH, FOLDER, line=0),
    "locate in a raw docstring": lambda text: locate(_docstring(text).replace('"""', 'r"""', 1), PATH, FOLDER, line=0),
    "locate by name": _all_of(
        lambda text: locate(f"{text}\n{MODULE}", PATH, FOLDER, qualname="f"),
        lambda text: locate(text, PATH, FOLDER, qualname="nothing"),
    ),
    "functions": _all_of(lambda text: functions(text, PATH, FOLDER), lambda text: list(documented(text, PATH, FOLDER))),
    "functions of a docstring": lambda text: list(documented(_docstring(text), PATH, FOLDER)),
    "class examples": _class_example,
    "examples": _all_of(
        lambda text: examples(f'"""{text}"""', 0),
        lambda text: examples(f'"""{text}"""', 0, Calls.of(_target())),
        suggested,
    ),
    "context": _context,
    "what may be shared": lambda text: shareable(_target(f"{text}\n{MODULE}")),
    "undefined names": _all_of(
        lambda text: undefined_names(text, _target().definition),
        lambda text: undefined_names(f"{MODULE}{text}", _target().definition),
    ),
    "imports of names": _imports,
    "imports of near files": _near,
    "splicing": _splice,
    "splicing under other names": _renamed,
    "splicing what comes along": _brought,
    "memorised": _by_heart,
    "add examples": lambda text: add_examples(_target(), [Example(f">>> {text}\n", f"{text}\n", 0)]),
    "extract": lambda text: extract(Reply(text), _target()),
    "extract from a fence": lambda text: extract(Reply(f"```python\n{text}"), _target()),
    "extract after the function": lambda text: extract(Reply(f"def f(x):\n    return x\n\n{text}"), _target()),
    "extract a body": lambda text: extract(Reply(f"def f(x):\n    {text}"), _target()),
    "extract a patch": lambda text: extract(Reply(f"@@\n{text}"), _target()),
    "extract a replacement": lambda text: extract(Reply(f"<<<<<<< SEARCH\n{text}"), _target()),
    "extract an elision": lambda text: extract(Reply(f"def f(x):\n    {text}\n    # ... existing code ..."), _target()),
    "a stream": lambda text: _stream(_target(), f"def f(x):\n    {text}\n"),
    "blocks": _all_of(code_blocks, lambda text: runs(Block(text, False)), dependencies),
    **{f"filter {each.__name__}": each for each in (*UNWRAPPING, without_line_numbers, without_prompts)},
    "thinking": is_thinking,
    "rounds": is_repetition,
    "steps": _all_of(steps, are_complete),
    "repairs": _mended,
    "repairs of a body": lambda text: _mended(f"def f(x):\n    {text}"),
    "the paper's repairs": lambda text: debugged(text, f"NameError: name '{text}' is not defined", lambda _: None),
    "window": _all_of(estimate, lambda text: Window(100).measure(text)),
    "redaction": REDACTION,
    "secrets": _all_of(without_secrets, lambda text: found_in(text.encode("utf-8", "replace"))),
    "secrets of names": lambda text: without_secrets(f"password={text}"),
    "same value": lambda text: same_value(text, text),
    "same sets": lambda text: same_but_for_sets(text, f"{text} ", operator.eq),
    "same order": lambda text: same_but_for_order(text, f"{text}{{}}"),
    "settings": _project,
}
"""Every public reader of foreign text."""


SIZE = 4_000
"""Length of the longer text in characters: long enough to show quadratic growth, short enough for all combinations."""
TELLING_SECONDS = 0.03
"""Minimum time for a text. A shorter time may be mostly work that happens once."""
MOST_GROWTH = 3.0
"""Maximum ratio of times that counts as linear, for twice the text."""
_TRIES = 3


def grows(reader: Reader, shape: Callable[[int], str]) -> float | None:
    """Return how many times longer `reader` needs for a text of `shape` that is twice as long, if this is too much.

    If the text is read quickly, it is not measured again, because quadratic work would take long.
    """
    took = _seconds(reader, shape(SIZE))
    if took < TELLING_SECONDS or took < 2.2 * _seconds(reader, shape(SIZE // 2)):
        return None
    # a real effect repeats, a random one does not
    growth = float("inf")
    for size in (SIZE, 2 * SIZE) * 2:
        growth = min(growth, _growth(reader, shape(size // 2), shape(size)))
        if growth <= MOST_GROWTH:
            return None
    return growth


def _growth(reader: Reader, short: str, long: str) -> float:
    tries = [(_seconds(reader, short), _seconds(reader, long)) for _ in range(_TRIES)]
    return min(more for _, more in tries) / max(min(less for less, _ in tries), 1e-6)


def _seconds(reader: Reader, text: str) -> float:
    began = time.thread_time()
    with suppress(*_GIVEN_UP):
        reader(text)
    return time.thread_time() - began


_PARTS = 8


def some_shapes(name: str) -> list[str]:
    """Return the shapes for a reader if there is no time for all of them."""
    return list(SHAPES)[list(READERS).index(name) % _PARTS :: _PARTS]


def main(arguments: list[str]) -> bool:
    """Print each reader and shape before it is measured, and its growth if this is too much.

    Return True if nothing grows too much.
    """
    are_some = arguments[:1] == ["--some"]
    found = 0
    for name in arguments[are_some:] or READERS:
        for shape in some_shapes(name) if are_some else SHAPES:
            print(f"{name} / {shape}", end="", flush=True)
            growth = grows(READERS[name], SHAPES[shape])
            found += growth is not None
            print("" if growth is None else f": {growth:.1f} times", flush=True)
    return not found


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1:]))
