"""Docstrings, comments and pages are plain English: at most 3 turns per 1,000 words that read as translated."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from support.paths import ROOT

MOST = 3
"""Most turns per 1,000 words in a room."""
LEAST_WORDS = 400
"""Smaller rooms are measured together, because one turn would decide there."""
TURNS = [
    re.compile(pattern)
    for pattern in (
        r"^(?:What|How|Whether|Where|Who|Whoever|Whatever)\b(?![^.]*\?)",
        r"\b(?:what|who) (?:is|was|are|were|it|they|has|had|can|cannot|may|must|does|did|asks|means)\b",
        r"\bwhat (?:comes?|came|stands?|begins?|runs?|ran|the)\b",
        r"\b(?:is|are|was|were|be|been) told\b|\btells? (?:of|what|whether|which|how)\b|\btold (?:of|apart)\b",
        r"\b(?:it|they|that|which|there|line|name|function|text|file) stands?\b",
        r"\bstands? (?:there|beside|below|above|together)\b",
        r"\b(?:is|are) no (?!longer|more than|less than)[a-z]+",
        r"\b(?:anew|besides|for want of|by heart|mends|mended)\b",
        r"\b(?:those|that|one|ones) (?:that|which|of|who|with|without) ",
        r"\bnobody\b|\bnothing (?:of|else)\b|\band no more\b",
        r", too\b|\b(?:brings?|comes?|came) along\b|\b(?:is|are) said\b|\bsays so\b",
    )
]
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]+")
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")]


def prose_of_python(text: str) -> Iterator[str]:
    """Docstrings, also those of names, without their examples; and comments."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield " ".join(re.split(r"\n\s*>>>", node.value.value)[0].split())
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


def prose_of_markdown(text: str) -> Iterator[str]:
    """Paragraphs, headings and tables, without code blocks."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    for block in re.split(r"\n\s*\n", re.sub(r"^ {4}.*", "", text, flags=re.MULTILINE)):
        yield " ".join(line.strip(" |*#>-") for line in block.splitlines())


def rate(texts: list[str]) -> tuple[float, list[str]]:
    """Turns per 1,000 words, and the turns with their surroundings."""
    words = sum(len(WORD.findall(text)) for text in texts)
    found = [
        text[max(0, m.start() - 30) : m.end() + 30] for text in texts for turn in TURNS for m in turn.finditer(text)
    ]
    return 1000 * len(found) / max(words, 1), found


def rooms() -> dict[str, list[str]]:
    """Prose by room; the pages are one room."""
    texts: dict[str, list[str]] = {"pages": [], "small rooms": []}
    package = ROOT / "server/adacoder"
    for path in sorted(package.rglob("*.py")):
        texts.setdefault(path.relative_to(package).parts[0], []).extend(prose_of_python(path.read_text("utf-8")))
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        texts.setdefault("benchmarks", []).extend(prose_of_python(path.read_text("utf-8")))
    for path in [*PAGES, *sorted((ROOT / "docs").glob("*.md"))]:
        texts["pages"].extend(prose_of_markdown(path.read_text("utf-8")))
    for name in [name for name, found in texts.items() if sum(len(WORD.findall(text)) for text in found) < LEAST_WORDS]:
        if name != "small rooms":
            texts["small rooms"] += texts.pop(name)
    return texts


ROOMS = rooms()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_written_in_plain_english(room: str) -> None:
    found, turns = rate(ROOMS[room])
    assert found <= MOST, "\n".join(turns)


def test_stiff_prose_is_found() -> None:
    stiff = '"""What is told of what it has anew."""\nX = 1  # nobody\n'
    assert rate([*prose_of_python(stiff)])[0] > 100
    assert rate([*prose_of_markdown("What stands there is no more.\n\n```\nwhat is\n```\n")])[0] > 100
    plain = '"""Return the names of all modules.\n\n    >>> what is told\n    """\n'
    assert rate([*prose_of_python(plain)]) == (0, [])
