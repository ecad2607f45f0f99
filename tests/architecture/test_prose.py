"""Docstrings, comments, pages and messages are plain English: at most 3 stiff phrases in 1,000 words."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator

from support.paths import ROOT

MOST = 3
"""Largest number of turns per 1,000 words in a room."""
LEAST_WORDS = 400
"""Smaller rooms are measured together, because one turn would decide their result."""
FEW_ROOMS = 5
"""Smallest number of words that the package has."""
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
WORST = re.compile(
    r"\b(?:who(?:ever)? means|whatever|anew|besides|mends|for want of|by heart|(?:all|nothing|nobody) else|all that)\b"
    r"|\b(?:is|are|was|were|be) (?:told|said)\b|\btells? (?:of|what|which|how)\b|\bstands?\b|\bwhat came\b|, too\."
    r"|(?<![Tt]here )\b(?:is|are) no (?!longer|more than|less than)\w|\bso that (?:none|nothing|all|no)\b"
)
"""Turns that no message may contain."""
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]+")
LONGEST_SENTENCE = 35
"""Largest number of words in a sentence of a page."""
LEAST_MESSAGE = 4
"""Smallest number of words in a message."""
THERE_IS_NONE = re.compile(r"\b[Tt]here (?:is|are) no\b")
"""Good English in a message."""
IS_PATTERN = re.compile(r"\\[bsdwAZ.(]|\(\?|\[\^|\]\*|\|\w+\|")
"""Turns in regular expressions that are not messages."""
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def prose_of_python(text: str) -> Iterator[str]:
    """Return the docstrings, including those of names but without their examples, and the comments."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield " ".join(re.split(r"\n\s*>>>", node.value.value)[0].split())
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


def messages_of_python(text: str) -> Iterator[str]:
    """Return texts of at least four words that code can show, with … for each value. Patterns are not messages."""
    tree = ast.parse(text)
    passed = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("re"))):
                passed |= {id(inner) for inner in ast.walk(node)}
            case ast.JoinedStr(values):
                passed |= {id(value) for value in values}
            case _:
                continue
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr(values) if id(node) not in passed:
                message = "".join(str(each.value) if isinstance(each, ast.Constant) else "…" for each in values)
            case ast.Constant(str(message)) if id(node) not in passed:
                pass
            case _:
                continue
        if len(WORD.findall(message)) >= LEAST_MESSAGE and not IS_PATTERN.search(message):
            yield THERE_IS_NONE.sub("No", " ".join(message.split()))


def sentences_of_markdown(text: str) -> Iterator[str]:
    """Return the sentences of paragraphs, items and cells, with one word for each piece of code."""
    text = re.sub(r"^(`{3,}).*?^\1$|^ *```.*?^ *```$|^ {4}.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(`+).+?\1|\]\([^)]*\)", " code ", text, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n|\n(?= *(?:[*#]|\d+\.) )|\|", text):
        yield from re.split(r"(?<=[.!?:;])[\s*_)\"]+", " ".join(block.split()))


def prose_of_markdown(text: str) -> Iterator[str]:
    """Return the paragraphs, headings and tables, without code blocks."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    for block in re.split(r"\n\s*\n", re.sub(r"^ {4}.*", "", text, flags=re.MULTILINE)):
        yield " ".join(line.strip(" |*#>-") for line in block.splitlines())


def rate(texts: list[str]) -> tuple[float, list[str]]:
    """Return the turns per 1,000 words, and the turns with the text around them."""
    words = sum(len(WORD.findall(text)) for text in texts)
    found = [
        text[max(0, m.start() - 30) : m.end() + 30] for text in texts for turn in TURNS for m in turn.finditer(text)
    ]
    return 1000 * len(found) / max(words, 1), found


def by_room(texts_of: Callable[[str], Iterator[str]]) -> dict[str, list[str]]:
    """Return the texts of the package's files by room. Small rooms are combined."""
    texts: dict[str, list[str]] = {}
    package = ROOT / "server/adacoder"
    for path in sorted(package.rglob("*.py")):
        texts.setdefault(path.relative_to(package).parts[0], []).extend(texts_of(path.read_text("utf-8")))
    small = [name for name, found in texts.items() if sum(len(WORD.findall(text)) for text in found) < LEAST_WORDS]
    return texts | {"small rooms": [text for name in small for text in texts.pop(name)]}


def prose() -> dict[str, list[str]]:
    """Return the prose by room. The benchmarks are one room, and so are the pages."""
    return by_room(prose_of_python) | {
        "benchmarks": [
            each for path in (ROOT / "benchmarks").glob("*.py") for each in prose_of_python(path.read_text("utf-8"))
        ],
        "pages": [each for path in PAGES for each in prose_of_markdown(path.read_text("utf-8"))],
    }


def stiff_rooms(texts: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the turns of the rooms that have too many."""
    rates = {room: rate(found) for room, found in texts.items()}
    return {room: turns for room, (found, turns) in rates.items() if found > MOST}


def test_every_room_is_written_in_plain_english() -> None:
    texts = prose()
    assert len(texts) > FEW_ROOMS
    assert stiff_rooms(texts) == {}


def test_every_room_speaks_plain_english_without_the_worst_turns() -> None:
    texts = by_room(messages_of_python)
    assert len(texts) > FEW_ROOMS
    assert stiff_rooms(texts) == {}
    assert [text for found in texts.values() for text in found if WORST.search(text)] == []


def test_no_sentence_of_a_page_is_long() -> None:
    pages = {page: page.read_text("utf-8") for page in PAGES}
    sentences = [(page.name, each) for page, text in pages.items() for each in sentences_of_markdown(text)]
    assert len(sentences) > LEAST_WORDS
    assert [each for each in sentences if len(WORD.findall(each[1])) > LONGEST_SENTENCE] == []
    (long,) = sentences_of_markdown("The `code` of " + "one word " * LONGEST_SENTENCE)
    assert len(WORD.findall(long)) > LONGEST_SENTENCE


def test_a_stiff_room_is_found() -> None:
    assert stiff_rooms({"plain": ["Return the names of all modules."], "stiff": ["What it has anew."]}).keys() == {
        "stiff"
    }


def test_a_stiff_message_is_found() -> None:
    stiff = """def f(path): raise OSError(f"'{path}' is no Python file: name one that is")"""
    (message,) = messages_of_python(stiff)
    assert (rate([message])[0] > MOST, WORST.search(message) is not None) == (True, True)
    plain = """X = re.compile("what is told of it")\ndef f(path): raise OSError(f"'{path}' is not a Python file")"""
    (message,) = messages_of_python(plain)
    assert (rate([message]), WORST.search(message)) == ((0, []), None)


def test_stiff_prose_is_found() -> None:
    stiff = '"""What is told of what it has anew."""\nX = 1  # nobody\n'
    assert rate([*prose_of_python(stiff)])[0] > 100
    assert rate([*prose_of_markdown("What stands there is no more.\n\n```\nwhat is\n```\n")])[0] > 100
    plain = '"""Return the names of all modules.\n\n    >>> what is told\n    """\n'
    assert rate([*prose_of_python(plain)]) == (0, [])
