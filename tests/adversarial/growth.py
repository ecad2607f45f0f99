"""Whether work grows faster than what is read: every public reader of foreign text, and texts of many shapes.

What is measured is the processor's time of this very thread, and only its ratio from one text to one twice as long:
neither a slow machine nor a busy one changes that. Run as a program it reads with the readers that are named, and
prints what grows too fast.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from adacoder.agents.paper_rules import debugged
from adacoder.agents.repairs import mend
from adacoder.domain import AdaCoderError, Candidate, Example, Reply, Target
from adacoder.models.recording.redaction import Redaction, Surroundings, fits
from adacoder.models.window import Window, estimate
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
from adacoder.replies.belongings import belongings
from adacoder.replies.blocks import Block, marked_blocks, runs
from adacoder.replies.completion import completion
from adacoder.replies.extract import extract
from adacoder.replies.filters import UNWRAPPING, is_thinking
from adacoder.replies.printed import TRANSCRIBING
from adacoder.replies.rounds import goes_round
from adacoder.replies.steps import are_complete, steps
from adacoder.sandbox.values import same_value
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

Reader = Callable[[str], object]

HEADER = 'def f(x: int) -> int:\n    """Give the double.\n\n    >>> f(1)\n    2\n    """\n'
MODULE = f"import os\n\n\n{HEADER}    pass\n"
PATH, FOLDER = Path("/nowhere/m.py"), Path("/nowhere")
_GIVEN_UP = (AdaCoderError, ValueError, RecursionError)
"""What readers raise for what they cannot read."""


def _target(text: str = MODULE) -> Target:
    return locate(text, PATH, FOLDER, qualname="f")


def _of(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit))


def _then(opening: str, filler: str, size: int) -> str:
    """A beginning, and after something that goes on for long what nothing expects."""
    return f"{opening}{filler * (size // len(filler))}!"


def _deep(unit: str, closing: str = "") -> Callable[[int], str]:
    each = len(unit) + len(closing)
    return lambda size: unit * (size // each) + closing * (size // each)


def _numbered(unit: str) -> Callable[[int], str]:
    return lambda size: "".join(unit.format(number) for number in range(size // len(unit.format(1000))))


def _stairs(line: str) -> Callable[[int], str]:
    """Lines each of which stands one column deeper."""

    def shape(size: int) -> str:
        count = int((2 * size) ** 0.5)
        return "".join(" " * column + line for column in range(count))

    return shape


SHAPES: Mapping[str, Callable[[int], str]] = {
    "named escapes": _of("\\N{"),
    "named escapes, closed": _of("\\N{a}"),
    "hex escapes": _of("\\x"),
    "short unicode escapes": _of("\\u0"),
    "backslashes": _of("\\"),
    "backslashes at line ends": _of("\\\n"),
    "words before backslashes at line ends": _of("a \\\n"),
    "single quotes": _of("'"),
    "double quotes": _of('"'),
    "quotes by turns": _of("'\""),
    "quotes of a line": _of("'\n"),
    "triple quotes": _of('"""\n'),
    "triple quotes by turns": _of("\"\"\" '''\n"),
    "triple quotes behind backslashes": _of('\\"""'),
    "open triple quotes in comments": _of('# """\n'),
    "raw prefixes": _of("r"),
    "string prefixes": _of("rb'"),
    "strings in a row": _of("'a' "),
    "strings of lines": _of("'''a\n''' "),
    "formatted fields": _of("f'{"),
    "formatted strings within": _of("f'{f\"{"),
    "long formatted": _of("f'''{\n"),
    "braces": _of("{{"),
    "fields": lambda size: "f'" + "{a}" * (size // 3) + "'",
    "open fields": lambda size: "f'''" + "{a" * (size // 2),
    "round brackets": _of("("),
    "square brackets": _of("["),
    "curly brackets": _of("{"),
    "all brackets": _of("([{"),
    "closing brackets": _of(")"),
    "brackets closed": _deep("(", ")"),
    "brackets of lines": _of("(\n"),
    "pairs of brackets": _of("()"),
    "dictionary brackets": _of("{1:"),
    "calls within": _of("f("),
    "calls of lines": _of("f(a,\n"),
    "decorators": _of("@d\n"),
    "decorators with calls": _of("@d(1)\n"),
    "decorators, bare": _of("@\n"),
    "decorators, then functions": _of("@d\ndef f(): pass\n"),
    "decorators, deeper": _stairs("@d\n"),
    "if": _of("if x:\n"),
    "if, deeper": _stairs("if x:\n"),
    "if, indented": _of("    if x:\n"),
    "if, on a line": _of("if x: "),
    "if, comment": _of("if x: #\n"),
    "else": _of("else:\n"),
    "try": _of("try:\n"),
    "try, deeper": _stairs("try:\n"),
    "except": _of("try: a\nexcept B: c\n"),
    "elif": lambda size: "if a: b\n" + "elif a: b\n" * (size // 10),
    "with": _of("with (a, b) as c:\n"),
    "functions": _numbered("def f{}(): pass\n"),
    "functions of a name": _of("def f(x): pass\n"),
    "functions without a body": _of("def f(x):\n"),
    "functions, deeper": _stairs("def f(x):\n"),
    "functions, indented": _of("    def f(x):\n        return x\n"),
    "functions that are open": _of("def f(\n"),
    "documented functions": _of('def f(x):\n    """D."""\n'),
    "documented stubs": _numbered('def f{}(x):\n    """D.\n\n    >>> f(1)\n    2\n    """\n'),
    "classes": _of("class A:\n"),
    "classes, deeper": _stairs("class A:\n"),
    "classes with methods": _numbered("class A{}:\n    def f(self): return self.x\n"),
    "methods": lambda size: "class A:\n" + "".join(f"    def m{n}(self): self.a{n} = 1\n" for n in range(size // 32)),
    "lambda": _of("lambda: "),
    "lambda with defaults": _of("lambda a=b: "),
    "imports": _numbered("import a{}\n"),
    "imports of names": _numbered("from a import b{}\n"),
    "imports in brackets": _of("from a import (\n"),
    "imports of one": lambda size: "import " + "a," * (size // 2),
    "relative imports": _of("from . import b\n"),
    "relative imports, deeper": lambda size: "".join(
        f"from {'.' * n} import b\n" for n in range(int((2 * size) ** 0.5))
    ),
    "imports that are no code": _of('"""\nfrom ... import b\n'),
    "imports under try": _of("try:\n    import a\nexcept: pass\n"),
    "guarded": _of("if TYPE_CHECKING:\n    import a\n"),
    "star imports": _numbered("from a{} import *\n"),
    "unknown names": _numbered("a{}\n"),
    "unknown calls": _numbered("A{}(1)\n"),
    "unknown calls in a list": lambda size: "x = [" + _numbered("A{}, ")(size) + "]\n",
    "globals": _numbered("def f():\n    global a{}\n"),
    "assignments": _numbered("a{} = 1\n"),
    "assignments from the last": lambda size: "".join(f"a{n + 1} = a{n}\n" for n in range(size // 14)),
    "functions that call the next": lambda size: "".join(f"def a{n}(): a{n + 1}()\n" for n in range(size // 25)),
    "classes that are the next": lambda size: "".join(f"class A{n}(A{n + 1}): pass\n" for n in range(size // 25)),
    "prompts": _of(">>> "),
    "prompts of lines": _of(">>> \n"),
    "prompts, continued": _of(">>> (\n... 1,\n"),
    "continuations": _of("... \n"),
    "examples": _of(">>> f(1)\n2\n"),
    "examples that carry": _numbered(">>> a{} = f(1)\n"),
    "examples of methods": _of(">>> A().f(1)\n2\n"),
    "examples with options": _of(">>> f(1) # doctest: +SKIP\n2\n"),
    "tracebacks": _of(">>> f(1)\nTraceback (most recent call last):\nE\n"),
    "tracebacks without end": _of("Traceback (most recent call last):\n"),
    "examples that are long": lambda size: ">>> f(1)\n" + "2\n" * (size // 2),
    "type comments": _of("# type: ignore\n"),
    "comments": _of("#\n"),
    "comment marks": _of("#"),
    "spaces": _of(" "),
    "tabs": _of("\t"),
    "tabs and spaces": _of(" \t"),
    "lines of spaces": _of("    \n"),
    "lines of spaces, longer": _stairs("\n"),
    "a word after spaces": lambda size: " " * size + "a",
    "words with gaps": lambda size: ("a" + " " * 100) * (size // 101),
    "a string after spaces": lambda size: "x = 1" + " " * size + "'",
    "blank lines": _of("\n"),
    "blank lines in brackets": lambda size: "(" + "\n" * size,
    "form feeds": _of("\f"),
    "form feeds in lines": _of("\f\n"),
    "returns": _of("\r"),
    "returns and line ends": _of("\r\n\r"),
    "nul": _of("\0"),
    "nul in lines": _of("a\0\n"),
    "byte order marks": _of("\ufeff"),
    "line separators": _of("\u2028"),
    "next lines": _of("a\x85"),
    "combining marks": _of("a\u0301"),
    "marks only": _of("\u0301"),
    "ligatures": _of("\ufb03"),
    "surrogates": _of("\ud800"),
    "emoji": _of("😀"),
    "digits of the world": _of("٣"),
    "typeset": _of("“‘–"),
    "typeset quotes": _of("“"),
    "a long name": _of("a"),
    "a long word of Greek": _of("α"),
    "words": _of("word "),
    "sentences": _of("It is so. "),
    "capitals": _of("A"),
    "a long number": _of("1"),
    "a long number with underscores": _of("1_"),
    "numbers": _of("1 "),
    "fractions": _of("1."),
    "exponents": _of("1e"),
    "hexadecimal": lambda size: "0x" + "f" * size,
    "dots": _of("."),
    "attributes": _of("a."),
    "attributes, closed": _of("a.b.c"),
    "assignments in a row": _of("a="),
    "assignments in a row, spaced": _of("a = "),
    "commas": _of(","),
    "names with commas": _of("a, "),
    "names with commas, assigned": lambda size: "a, " * (size // 3) + "b = 1\n",
    "targets": _of("a[1], "),
    "annotations": _of("a: "),
    "conditions": _of("a if b else "),
    "not": _of("not "),
    "minus": _of("-"),
    "minus, spaced": _of("- "),
    "powers": _of("a**"),
    "sums": _of("a+"),
    "sums of numbers": _of("1 + "),
    "comparisons": _of("a < "),
    "equalities": _of("a == "),
    "equalities of calls": _of("f(1) == "),
    "and": _of("a and "),
    "await": _of("await "),
    "yield": _of("yield "),
    "star": _of("*"),
    "semicolons": _of(";"),
    "statements on a line": _of("a; "),
    "walrus": _of("(a := "),
    "subscripts": _of("a["),
    "comprehensions": _of("[a for a in "),
    "generators": _of("x for x in "),
    "returns of values": _of("return 1\n"),
    "return": _of("return "),
    "pass": _of("pass\n"),
    "ellipses": _of("...\n"),
    "raise": _of("raise NotImplementedError(\n"),
    "print": _of("print(f(1))\n"),
    "uses": _of("f(1)\n"),
    "assert": _of("assert f(1) == 2\n"),
    "main": _of('if __name__ == "__main__":\n    f(1)\n'),
    "exec": _of("exec(a)\n"),
    "vars": _of("def f():\n  locals()[1] = 2\n"),
    "if of literals": lambda size: "".join(f"if x == {n}: return {n}\n" for n in range(size // 25)),
    "match": _numbered("match x:\n    case {}: pass\n"),
    "a table": lambda size: "T = {" + _numbered("{}: 1, ")(size) + "}\nreturn T[x]\n",
    "a list": lambda size: "x = [" + "1, " * (size // 3) + "]\n",
    "equalities in prose": _of("f(1) == 2 "),
    "equalities in lines": _numbered("f({}) == 2\n"),
    "calls in prose": _of("f(1) "),
    "open calls in prose": _of("f (("),
    "results in prose": _of("f(1) returns 2, "),
    "returns in prose": _of("returns 2 "),
    "should": _of("should be "),
    "given in prose": _of("For x = 1, "),
    "given in lines": _of("For x = 1 the output is 2.\n"),
    "given and given": _of("given "),
    "and then": lambda size: "For x = 1" + " and x = 1" * (size // 10),
    "input and output": _of("Input: x = 1\nOutput: 2\n"),
    "input": _of("Input: "),
    "bullets": _of("- "),
    "bullets in lines": _of("- f(1) = 2\n"),
    "numbered bullets": _of("1. "),
    "arrows": _of("->"),
    "arrows of results": _of("f(1) -> "),
    "arithmetic in prose": lambda size: "f(1) = " + "1 + " * (size // 4),
    "chain of results": lambda size: "f(1)" + " = 2" * (size // 4),
    "a recurrence": _of("f(n) = f(n - 1) "),
    "a recurrence, open": _of("f(n"),
    "negations": _of("not if unless "),
    "brackets with words": _of("(see a) "),
    "fences": _of("```\n"),
    "fences of Python": _of("```python\n"),
    "fences in a line": _of("```"),
    "fences after words": _of("a ```py\n"),
    "fences behind code": _of("a = 1 ```\n"),
    "tildes": _of("~~~\n"),
    "fences, longer": lambda size: "".join("`" * (n + 3) + "\n" for n in range(int((2 * size) ** 0.5))),
    "fences of Markdown": _of("```markdown\n```python\n"),
    "blocks": _of("```python\ndef f(x):\n    return x\n```\n"),
    "blocks of others": _numbered("```python\ndef g{}(x):\n    return x\n```\n"),
    "backticks": _of("`"),
    "backticks by turns": _of("` "),
    "ticks in strings": _of('"```\n'),
    "prose with code": _of("Here it is:\ndef f(x): return x\n"),
    "prose and prose": _of("Here it is:\n"),
    "words of prose": lambda size: "It " + "is " * (size // 3),
    "words that are one": _of("a'"),
    "headings": _of("# Title\n"),
    "rules": _of("---\n"),
    "thinking opens": _of("<think>"),
    "thinking closes": _of("</think>\n"),
    "thinking in lines": _of("</think> a\n"),
    "thoughts": _of("<think>\n</think>\n"),
    "channels": _of("<|channel|>final<|message|>"),
    "channels, open": _of("<|channel|>"),
    "channel names": _of("<|channel|>a"),
    "control tokens": _of("<|im_end|>"),
    "control tokens at the end": _of("a</s>"),
    "control beginnings": _of("<|"),
    "instructions": _of("[INST]"),
    "tags": _of("<a>"),
    "tags closed": _deep("<a>", "</a>"),
    "tags of names": _numbered("<a{}>def f\n"),
    "tags with attributes": _of("<a b"),
    "tags, half": _of("<"),
    "character data": _of("<![CDATA["),
    "code in elements": _of("<code>def f(x): return x</code>\n"),
    "entities": _of("&lt;"),
    "ampersands": _of("&"),
    "objects": _of('{"a":'),
    "objects of lines": _of('{"a": 1\n'),
    "lists of lists": _of('["a",'),
    "texts in objects": _of('{"code": "def f(x): return x"}\n'),
    "objects with an open text": _of('{"code": "def f(x):\\n'),
    "a text of code": lambda size: '{"code": "' + "def f(x):\\n" * (size // 11),
    "keys": _of('"a": "'),
    "text in text": _of('"\\"'),
    "patch headers": _of("--- a\n+++ b\n"),
    "hunks": _of("@@ -1 +1 @@\n-a\n+b\n"),
    "hunks of pass": _of("@@\n-    pass\n+    return 1\n"),
    "added": _of("+a\n"),
    "added signs": _of("+"),
    "patch begins": _of("*** Begin Patch\n"),
    "search": _of("<<<<<<< SEARCH\n    pass\n=======\n    return 1\n>>>>>>> REPLACE\n"),
    "search, open": _of("<<<<<<< SEARCH\n"),
    "quoted": _of("> a\n"),
    "quote marks": _of(">"),
    "listing": _numbered("{} def f(x):\n"),
    "listing in spaces": _numbered("  {}     x = 1\n"),
    "session": _of("In [1]: def f(x): return x\n"),
    "escaped lines": _of("def f(x):\\n"),
    "glued": _of("    f(x)import os\n"),
    "left out": _of("# rest of the code\n"),
    "left out, spaced": lambda size: "# " + "[(" * (size // 2),
    "goes here": lambda size: "# your code" + " goes here" * (size // 10),
    "dots in comments": _of("# ...\n"),
    "semicolons at ends": _of("a;\n"),
    "blocks of braces": _of("a) {\n"),
    "steps": _numbered("{}. Do it.\n"),
    "steps that are one": _of("1. Do it.\n"),
    "steps with bold": _of("**1.** Do it:\n"),
    "steps and headings": _of("# Plan\n\n1. A\n2. B\n3. C\n\n"),
    "colons": _of(":"),
    "colons of lines": _of("a:\n\n"),
    "asterisks": _of("**"),
    "paths": _of("/a"),
    "homes": _of("/home/a/"),
    "addresses": _of("http://a"),
    "mail": _of("a@"),
    "host names": _of("a-b."),
    "secrets": _of("password='a' "),
    "periods": lambda size: "abcdefghij" * (size // 10),
    "periods, nearly": lambda size: "a" * (size - 1) + "b",
    "table sections": _of("[a]\n"),
    "tables": _numbered("[a.b{}]\n"),
    "lists of tables": _of("[[a]]\n"),
    "keys and values": _numbered("k{} = 1\n"),
    "inline tables": _of("a = {b = 1}\n"),
    "names in shouting": _of("A_"),
    "escaped triple quotes in lines": _of('x\\"""\n'),
    "decorators of a function": lambda size: "@d\n" * (size // 3) + "def f(): pass\n",
    "decorators that are indented": lambda size: "class A:\n" + "    @d\n" * (size // 7) + "    def f(): pass\n",
    "strings in fields": _of("f'{x' "),
    "strings in long fields": _of("f'''{'''"),
    "a dotted import": lambda size: "import a" + ".a" * (size // 2),
    "helpers that use the next": lambda size: "".join(f"h{n} = lambda: h{n + 1}()\n" for n in range(size // 20)),
    "an unhelpful import of many": lambda size: "from a import " + _numbered("b{}, ")(size) + "b\n",
    "options": _of("# doctest: +SKIP "),
    "low typeset quotes": _of("„"),
    "a subscript with annotations": lambda size: "a[" + "]:" * (size // 2),
    "steps that promise": lambda size: "1. Do:\n" + "   and so\n" * (size // 10),
    "hunks within": lambda size: "@@\n" + "-    pass\n" * (size // 9),
    **{
        f"{name}, then {what}": partial(_then, opening, filler)
        for name, opening in {
            "a channel": "<|channel|>",
            "a control token": "<|im_end|>",
            "a tag": "<a ",
            "an object": "{",
            "a key": '"a"',
            "a comment": "# rest of code",
            "an item": "- ",
            "a definition": "def f(x):",
            "an import": "import a",
            "a target": "a",
            "a bracket": "(",
            "a string": "'",
            "a call": "f(1)",
            "a result": "f(1) ==",
            "a given": "For x = 1",
            "an input": "Input:",
            "an example": ">>> f(1)",
            "a step": "1. A:",
            "a fence": "```",
            "a hunk": "@@ ",
            "a number": "1",
            "an escape": "return 1\\n",
            "a secret": "password",
            "a field": "f'{",
            "a home": "/home/ann/",
        }.items()
        for what, filler in {
            "letters": "a",
            "spaces": " ",
            "lines": "\n",
            "indented lines": "   \n",
            "dots": ".",
        }.items()
    },
}
"""Texts that grow. Most of what a reader may stumble over is in one of them."""


def _docstring(shape: str) -> str:
    """A module whose target's docstring holds a shape."""
    return f'def f(x: int) -> int:\n    """Give the double.\n\n{shape}\n    """\n    pass\n'


def _stream(target: Target, text: str) -> None:
    """A reply as it comes, word after word."""
    complete = completion(target)
    for end in range(0, len(text), 16):
        complete(text[:end])


def _splice(text: str) -> None:
    target = _target()
    candidate = Candidate(f"def f(x):\n{text}")
    placed = splice(target, candidate)
    undefined_names(placed.text, [placed.function, *placed.added])


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

    mend(Candidate(text), target, undefined, ImportIndex(target, FOLDER).import_for)


def _by_heart(text: str) -> None:
    body = "".join(f"    {line}\n" for line in text.split("\n"))
    memorised(_target(), Candidate(f"def f(x):\n{body}"))


def _around(text: str) -> None:
    functions_around(text, len(text) // 2)
    functions_around(text, len(text))
    starts_logical_line(text, len(text) // 2)


def _positions(text: str) -> None:
    lines = Lines(text)
    position_at(lines, len(text), "utf-16")
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
    """A file of the project beside the target's that holds the text."""
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


def _redact(text: str) -> None:
    around = Surroundings(("/home/ann/w",), ("/home/ann",), ("/tmp",), ("ann",), ("box",), ("http://box:1",), ("sk-1",))
    redaction = Redaction(around)
    fits(redaction(text), text)


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
        lambda text: examples(f'"""{text}"""', 0, "f", "A"),
        lambda text: examples(f'"""{text}"""', 0, "f", None, Calls.of(_target())),
        lambda text: suggested(text, "f"),
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
    "splicing what comes along": _brought,
    "memorised": _by_heart,
    "add examples": lambda text: add_examples(_target(), [Example(f">>> {text}\n", f"{text}\n", 0)]),
    "extract": lambda text: extract(Reply(text), _target()),
    "extract from a fence": lambda text: extract(Reply(f"```python\n{text}"), _target()),
    "extract after the function": lambda text: extract(Reply(f"def f(x):\n    return x\n\n{text}"), _target()),
    "extract a body": lambda text: extract(Reply(f"def f(x):\n    {text}"), _target()),
    "a stream": lambda text: _stream(_target(), f"def f(x):\n    {text}\n"),
    "blocks": _all_of(marked_blocks, lambda text: runs(Block(text, False)), belongings),
    **{f"filter {each.__name__}": each for each in (*UNWRAPPING, *TRANSCRIBING)},
    "thinking": is_thinking,
    "rounds": goes_round,
    "steps": _all_of(steps, are_complete),
    "repairs": _mended,
    "repairs of a body": lambda text: _mended(f"def f(x):\n    {text}"),
    "the paper's repairs": lambda text: debugged(text, f"NameError: name '{text}' is not defined", lambda _: None),
    "window": _all_of(estimate, lambda text: Window(100).measure(text)),
    "redaction": _redact,
    "same value": lambda text: same_value(text, text),
    "settings": _project,
}
"""Every public reader of text that comes from outside."""


SIZE = 6_000
"""Characters of the longer text: enough for a square to show, and few enough to try all there is."""
TELLING_SECONDS = 0.03
"""What a text must take for its growth to be told from all that happens only once."""
MOST_GROWTH = 3.0
"""As long as this for twice the text is still taken for linear."""
_TRIES = 3


def grows(reader: Reader, shape: Callable[[int], str]) -> float | None:
    """How much longer `reader` takes for a text of `shape` that is twice as long, if that is too much.

    A short time proves enough: work that grows with the square of such a text is no matter of moments.
    """
    short, long = shape(SIZE // 2), shape(SIZE)
    if _seconds(reader, long) < TELLING_SECONDS:
        return None
    tries = [(_seconds(reader, short), _seconds(reader, long)) for _ in range(_TRIES)]
    growth = min(more for _, more in tries) / max(min(less for less, _ in tries), 1e-6)
    return growth if growth > MOST_GROWTH else None


def _seconds(reader: Reader, text: str) -> float:
    began = time.thread_time()
    with suppress(*_GIVEN_UP):
        reader(text)
    return time.thread_time() - began


def main(names: list[str]) -> None:
    """Print a line for each reader and shape before it is tried, and its growth where that is too much."""
    for name in names:
        for shape, make in SHAPES.items():
            print(f"{name} / {shape}", end="", flush=True)
            growth = grows(READERS[name], make)
            print("" if growth is None else f": {growth:.1f} times", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
