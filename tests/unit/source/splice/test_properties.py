"""For any module and candidate, all bytes outside the change stay the same."""

from __future__ import annotations

import ast
import inspect
import io
import tokenize
from pathlib import Path

import toolz
from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import Candidate, Target
from adacoder.pytext import dedent
from adacoder.source.locate import functions, locate
from adacoder.source.splice import splice
from support.splicing import check, target_in

UNITS = st.sampled_from(["    ", "  ", "\t"])
ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])
HEADS = st.sampled_from(
    [
        "",
        '"""Modül.\n\nÜber alles."""\n\n',
        "# coding: utf-8\n# Licence\n\n",
        "# Licence\nimport numpy\n",
        "from __future__ import annotations\n\nimport re\n\n",
        "from __future__ import division\nimport os; import sys\n",
        "import os\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import re\n\n",
        '"""M."""\nimport math  # all of it\nCONST = {"ключ": math.pi}\n',
        "import os\nimport sys\n\n# others\nimport numpy as np\n\nfrom . import mod2\n",
        "from typing import (\n    Any,\n    # of text\n    List,  # old\n)\nfrom math import sqrt, \\\n    pi\n",
        "from typing import Any\nfrom typing import List\n\f\n",
        "try:\n    from math import *\nexcept ImportError:\n    pass\n",
    ]
)
BEFORE = st.lists(
    st.sampled_from(
        [
            "def time():\n    return 'straße'\n\n\n",
            "class Größe:\n    '''Maß.'''\n\n    def m(self):\n        return (1,\n                2)\n\n\n",
            "# a comment of its own\n\nTEXT = '''\ndef f(): fake\n  # no\n'''\n\n",
            "limit = 3\n",
            "_limit = 4\n\f\n",
            "def helper(a, b):\n    return sum(a)\n\n",
            "def spare(x):\n    return x\n\n",
        ]
    ),
    max_size=3,
    unique=True,
).map("".join)
BROKEN = st.sampled_from(["", "", "def g(:\n    pass\n\n", "x = = 1\n", "class B\n    y = 1\n", "print 'old'\n"])
DOCSTRINGS = st.sampled_from(
    ['"""Doc."""', '"""Doc.\n\n    >>> f(1)\n    1\n    """', "'Größe.'  # noqa", 'r"""\\d"""']
)
BODIES = st.sampled_from(
    [
        "",
        "    pass\n",
        "    ...\n\n    # todo\n",
        '    # TODO: k may be negative\n\n    # größer als 1? "no"\n    pass  # yet\n',
        "    raise NotImplementedError(  # soon\n        '# no comment'\n    )\n    # ein Kommentar\n",
        "# at the margin\n    ...\n",
        "    # why so\n    if numbers:\n        return 1\n    return 2\n",
    ]
)
AFTER = st.sampled_from(
    ["", "\n\ndef g():\n    return time\n", "\n# the end", "\nif __name__ == '__main__':\n    f(1)\n"]
)
DECORATORS = st.sampled_from(["", "@deco\n", "# what it does\n@deco(\n    1,\n)\n"])
IMPORTS = st.lists(
    st.sampled_from(
        [
            "import time",
            "import re, os",
            "from typing import *",
            "from typing import List, Optional",
            "import math",
            "from __future__ import annotations",
            "from mod import f",
            "from . import helper",
            "import numpy as re",
        ]
    ),
    max_size=4,
    unique=True,
)
DEFINITIONS = st.lists(
    st.sampled_from(
        [
            "limit = 4",
            "limit, spare = 5, lambda: limit",
            "def helper(x):\n    return Box(x), time.time()",
            "class Box:\n    def __init__(self, x):\n        self.x = x",
            "def deco(x):\n    return x",
            "print(f(1))",
            "for each in range(3):\n    limit += each",
        ]
    ),
    max_size=4,
    unique=True,
)


@st.composite
def modules(draw: st.DrawFn, *, broken: st.SearchStrategy[str] = st.just("")) -> Target:  # noqa: B008  # immutable
    """Return a module with a function or method `f(…, numbers, k)` in one of many layouts."""
    is_method = draw(st.booleans())
    doc, body = draw(DOCSTRINGS), draw(BODIES)
    function = f"{draw(DECORATORS)}def f({'self, ' if is_method else ''}numbers, k=1):\n    {doc}\n{body}"
    if is_method:
        function = "class Ä:\n" + "".join(f"    {line}\n" if line else "\n" for line in function.split("\n"))
    unit, ending = draw(UNITS), draw(ENDINGS)
    head = draw(HEADS)
    text = head + draw(BEFORE) + draw(broken) + function.rstrip("\n") + draw(st.sampled_from(["", "\n"]))
    after = draw(AFTER) + draw(broken)
    text = f"{text}\n{after}" if after and not text.endswith("\n") else text + after
    mark = draw(st.sampled_from(["", "\ufeff"])) if head else ""
    return target_in(mark + text.replace("    ", unit).replace("\n", ending), "Ä.f" if is_method else "f")


@st.composite
def candidates(draw: st.DrawFn, target: Target) -> Candidate:
    first, second = draw(st.sampled_from([("numbers", "k"), ("lst", "n"), ("k", "numbers"), ("zählt", "k")]))
    name = draw(st.sampled_from(["f", "f", "solve"]))
    statements = draw(
        st.lists(
            st.sampled_from(
                [
                    f"    total = sum({first})\n",
                    f"    for a in {first}:\n        if a:\n            {second} += time.time()\n",
                    f'    text = """\n  {first} bleibt\n"""\n',
                    f"    print(\n        f'{{{first}}}',\n        re.I,\n    )\n\n",
                    "    # ein Kommentar\n    helper(limit)\n",
                    "    # TODO: k may be negative\n",
                    "    def inner(n: int) -> Optional[int]:\n        return n, math.pi\n",
                    f"    numbers = sorted({second})\n",
                    f"    {name}({first}, {second}={second})\n",
                    f"    return f'{{{first}=}}'\n",
                ]
            ),
            max_size=4,
        )
    )
    owner = "self, " if target.in_class else ""
    more = draw(st.sampled_from(["", "", ", memo={}", ", *rest", ", **options"]))
    cache = draw(st.sampled_from(["", "", "@lru_cache(None)\n"]))
    source = f"{cache}def {name}({owner}{first}, {second}=1{more}):\n{''.join(statements)}    return {first}, {second}"
    if draw(st.booleans()):
        source = source.replace("    ", draw(UNITS))
    return Candidate(source, tuple(draw(IMPORTS)), tuple(draw(DEFINITIONS)))


@given(st.data())
def test_what_is_not_the_target_nor_comes_with_it_stays(data: st.DataObject) -> None:
    target = data.draw(modules())
    candidate = data.draw(candidates(target))
    placed = splice(target, candidate)
    check(target, candidate, placed)
    before, after = ast.parse(target.text.lstrip("\ufeff")), ast.parse(placed.text.lstrip("\ufeff"))
    _blank(before, target.qualname)
    _blank(after, target.qualname)
    old, new = _without_imports(before), _without_imports(after)
    added = [node for node in new if node not in old]
    assert [node for node in new if node not in added] == old
    assert _imported(before) <= _imported(after)
    known = {line.strip() for line in target.text.splitlines() if line[:1].strip()}
    for span in placed.added:
        new = [line for line in span.of(placed.text).splitlines() if line[:1].strip()]
        assert known.isdisjoint(new)


@given(st.data())
def test_the_comments_of_a_stub_stay_above_the_new_body(data: st.DataObject) -> None:
    target = data.draw(modules(broken=BROKEN).filter(lambda target: target.is_stub))
    candidate = data.draw(candidates(target))
    placed = splice(target, candidate)
    body = target_in(placed.text, target.qualname).body.of(placed.text)
    theirs = _comments(target.body.of(target.text))
    first = [line.strip() for line in _lines(body) if line.strip()][: len(theirs)]
    assert first == theirs
    assert all(_comments(body).count(each) == 1 for each in theirs)
    own = [line for line in _lines(target.body.of(target.text)) if line.strip()[:1] == "#"]
    assert [line for line in _lines(body) if line in own] == own


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _comments(body: str) -> list[str]:
    """Return the comments that Python's tokenizer finds. Brackets around the text make its indentation irrelevant."""
    text = "(\n" + "\n".join(_lines(body.lstrip(";"))) + "\n)"
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [each.string.rstrip() for each in tokens if each.type == tokenize.COMMENT]


@given(st.data())
def test_a_module_that_is_broken_elsewhere_changes_as_little(data: st.DataObject) -> None:
    target = data.draw(modules(broken=BROKEN))
    candidate = data.draw(candidates(target))
    check(target, candidate, splice(target, candidate))


def _blank(tree: ast.Module, qualname: str) -> None:
    """Remove everything from the function but its docstring."""
    body: list[ast.stmt] = tree.body
    for name in qualname.split("."):
        node = next(each for each in body if getattr(each, "name", None) == name)
        assert isinstance(node, ast.FunctionDef | ast.ClassDef)
        body = node.body
    del body[1:]


def _without_imports(tree: ast.Module) -> list[str]:
    return [ast.dump(node) for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]


def _imported(tree: ast.Module) -> set[str]:
    """Return the module's imports, one name each."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            source = f"from {'.' * node.level}{node.module}" if isinstance(node, ast.ImportFrom) else ""
            found |= {f"{source} import {ast.unparse(alias)}" for alias in node.names}
    return found


def test_real_code_comes_back_as_it_was() -> None:
    package = Path(inspect.getfile(toolz)).parent
    count = 0
    for path in sorted(package.glob("*.py")):
        text = path.read_text("utf-8")
        for target in (one.target for one in functions(text, path, package.parent)):
            candidate = Candidate(dedent(target.source))
            assert splice(target, candidate).edits == ()
            blank = text[: target.body.start] + text[target.body.end :]
            placed = splice(locate(blank, path, package.parent, qualname=target.qualname), candidate)
            assert placed.text == text
            count += 1
    assert count > 50
