"""A candidate in its target's place: what changes, and above all what does not."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
import toolz  # type: ignore[import-untyped]  # toolz has no types
from hypothesis import given, settings
from hypothesis import strategies as st

from adacoder.domain import Candidate, Target
from adacoder.pytext import dedent
from adacoder.source.locate import functions, locate
from adacoder.source.splice import Splice, splice
from adacoder.source.text import apply_edits

WORKSPACE = Path("/workspace")
STUB = 'def f(numbers, k=1):\n    """Doc."""\n'


def target_in(text: str, qualname: str = "f", file: str = "mod.py") -> Target:
    return locate(text, WORKSPACE / file, WORKSPACE, qualname=qualname)


def put(
    text: str,
    function: str,
    *,
    imports: tuple[str, ...] = (),
    definitions: tuple[str, ...] = (),
    qualname: str = "f",
    file: str = "mod.py",
) -> str:
    """The text of the module with a candidate in place; checks what holds for every splice."""
    target = target_in(text, qualname, file)
    candidate = Candidate(function, imports, definitions)
    placed = splice(target, candidate)
    check(target, candidate, placed, file)
    return placed.text


def check(target: Target, candidate: Candidate, placed: Splice, file: str = "mod.py") -> None:
    assert apply_edits(target.text, placed.edits) == placed.text
    again = target_in(placed.text, target.qualname, file)
    assert again.definition == placed.function
    assert splice(again, candidate).edits == ()
    assert (again.signature, again.docstring_span.of(again.text)) == (
        target.signature,
        target.docstring_span.of(target.text),
    )
    for edit in placed.edits:
        inserted = edit.start == edit.end < target.definition.start + 1
        assert inserted or edit.start >= target.header.end
        assert edit.end <= target.definition.end


def test_only_the_body_is_replaced() -> None:
    text = "x = 1  # kept\n@deco\n" + STUB.replace('"""\n', '"""  # said\n    pass\n') + "# after\n\ny = 2"
    result = put(text, '@other\ndef f(numbers: list, k: int) -> int:\n    """Else."""\n    return k\n')
    assert result == text.replace("    pass\n", "    return k\n")


def test_the_edit_is_as_small_as_whole_lines_allow() -> None:
    text = STUB + "    a = 1\n    b = 2\n    return a + b\n"
    placed = splice(target_in(text), Candidate("def f(numbers, k=1):\n    a = 1\n    b = 3\n    return a + b"))
    (edit,) = placed.edits
    assert (text[edit.start : edit.end], edit.text) == ("    b = 2\n", "    b = 3\n")


@pytest.mark.parametrize("echoed", ["", '    """Doc."""\n'])
@pytest.mark.parametrize(
    "body", ["    return k\n", "    # why\n    if k:\n        return 1\n\n    return (\n        2\n    )\n"]
)
def test_an_identical_body_gives_no_edits(body: str, echoed: str) -> None:
    assert splice(target_in(STUB + body), Candidate(f"def f(numbers, k=1):\n{echoed}{body}")).edits == ()


def test_an_oddly_laid_out_body_is_identical_to_itself() -> None:
    text = STUB + "\n  \n    x = [1,\n  2]   \n    \f\n    return x\n"
    assert splice(target_in(text), Candidate(text.rstrip("\n"))).edits == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('def f(): """Doc."""', 'def f():\n    """Doc."""\n    return 1'),
        ('def f(): """Doc."""  # c\n', 'def f():\n    """Doc."""  # c\n    return 1\n'),
        ('def f(): """Doc."""; pass\n', 'def f():\n    """Doc."""\n    return 1\n'),
        ('def f():\n  """Doc."""; pass\n', 'def f():\n  """Doc."""\n  return 1\n'),
        ('def f():\n    """Doc."""', 'def f():\n    """Doc."""\n    return 1'),
        (
            'class A:\n\tdef f(self): "Doc."\n\tx = 1\n',
            'class A:\n\tdef f(self):\n\t\t"Doc."\n\t\treturn 1\n\tx = 1\n',
        ),
    ],
)
def test_a_docstring_on_the_header_line_becomes_a_block(text: str, expected: str) -> None:
    assert put(text, "def f(): return 1", qualname="A.f" if "class" in text else "f") == expected


@pytest.mark.parametrize(
    ("unit", "written"), [("\t", "    "), ("  ", "    "), ("    ", "\t"), ("    ", "  "), ("   ", "  ")]
)
def test_indentation_follows_the_file(unit: str, written: str) -> None:
    source = (
        "def f(x):\n"
        "    for a in x:\n"
        "        # why\n"
        "        if a:\n"
        "            g(\n"
        "                a,\n"
        "            )\n"
        '        text = """\n'
        "  kept {unit}\n"
        '    """\n'
        "    else:\n"
        "        return text\n"
    )
    body = source.partition("\n")[2]
    result = put(f'def f(x):\n{unit}"""Doc."""\n', source.replace("    ", written).replace(f'\n{written}"', '\n    "'))
    expected = body.replace("    ", unit).replace(f'\n{unit}"""', '\n    """')
    assert result == f'def f(x):\n{unit}"""Doc."""\n{expected}'


def test_line_endings_follow_the_file_and_unusual_separators_stay() -> None:
    text = STUB.replace("\n", "\r\n") + "\r\nX = '\x0c\u2028\x1c'\r\n"
    result = put(text, "def f(numbers, k):\n    s = '''a\n  b\u2028\x0c'''\n\x0c    return s")
    body = "    s = '''a\r\n  b\u2028\x0c'''\r\n    return s\r\n"
    assert result == STUB.replace("\n", "\r\n") + body + "\r\nX = '\x0c\u2028\x1c'\r\n"


@pytest.mark.parametrize(
    "body",
    [
        "    return [1,",
        "    if k\n        return 1",
        "    a = 1\n      b = 2",
        "        a = 1\n    return a",
        "    if k:\n        if k:\n            pass\n          a = 1",
        "    for a in k:\n    return 1",
        "    return 'x",
    ],
)
@pytest.mark.parametrize("unit", ["    ", "\t", "  "])
def test_what_is_broken_is_put_in_place_broken(body: str, unit: str) -> None:
    result = splice(target_in(f'def f(k):\n{unit}"""Doc."""\n'), Candidate(f"def f(k):\n{body}"))
    assert result.text != f'def f(k):\n{unit}"""Doc."""\n'
    with pytest.raises(SyntaxError):
        ast.parse(result.text)


def test_what_only_another_python_can_parse_is_put_in_place_too() -> None:
    assert put(STUB, "def f(numbers, k=1):\n    match k:\n        case 1 => 2\n").endswith("        case 1 => 2\n")


def test_without_a_function_nothing_changes() -> None:
    placed = splice(target_in(STUB), Candidate("", ("import os",)))
    assert (placed.edits, placed.text) == ((), STUB)


class TestRenaming:
    def test_parameters_are_mapped_back_by_position(self) -> None:
        result = put(STUB, "def f(lst, n=1):\n    lst = sorted(lst)\n    return lst[n], g(lst=lst), o.lst")
        assert result.endswith("    numbers = sorted(numbers)\n    return numbers[k], g(lst=numbers), o.lst\n")

    def test_scopes_are_kept_apart(self) -> None:
        result = put(
            STUB,
            "def f(lst, n):\n"
            "    def own(lst): return lst, n\n"
            "    def outer():\n"
            "        nonlocal n\n"
            "        n += len(lst)\n"
            "    return [lst for lst in lst], lambda n=n: n, own(lst=lst)\n",
        )
        assert result.endswith(
            "    def own(lst): return lst, k\n"
            "    def outer():\n"
            "        nonlocal k\n"
            "        k += len(numbers)\n"
            "    return [lst for lst in numbers], lambda n=k: n, own(lst=numbers)\n"
        )

    def test_names_in_f_strings_are_names(self) -> None:
        result = put(STUB, 'def f(lst, n):\n    return f"ä lst {lst!r:>{n}} {{lst}} {o.lst}"')
        assert result.endswith('    return f"ä lst {numbers!r:>{k}} {{lst}} {o.lst}"\n')

    @pytest.mark.parametrize(
        ("signature", "body"),
        [
            ("lst, n", "    numbers = sorted(lst)\n    return numbers, lst"),
            ("lst, n", "    return f'{lst=}'"),
            ("lst", "    return lst"),
            ("lst, *n", "    return lst"),
            ("lst, n", "    return lst +"),
        ],
    )
    def test_where_renaming_would_change_more_nothing_is_renamed(self, signature: str, body: str) -> None:
        placed = splice(target_in(STUB), Candidate(f"def f({signature}):\n{body}"))
        assert placed.text == f"{STUB}{body}\n"

    def test_swapped_names_are_swapped_back(self) -> None:
        assert put(STUB, "def f(k, numbers):\n    return k - numbers").endswith("    return numbers - k\n")

    def test_the_function_itself(self) -> None:
        result = put(
            STUB,
            "def solve(numbers, k=1):\n    return solve(numbers, k - 1) or helper(k)",
            definitions=("def helper(n):\n    return solve([], n)",),
        )
        assert result == (
            "def helper(n):\n    return f([], n)\n\n\n" + STUB + "    return f(numbers, k - 1) or helper(k)\n"
        )

    def test_a_method_and_its_self(self) -> None:
        text = 'class A:\n    def f(self, x):\n        """Doc."""\n'
        result = put(text, "def go(this, y):\n    return this.go(y) + go(y) + that.go", qualname="A.f")
        assert result == text + "        return self.f(x) + go(x) + that.go\n"


class TestImports:
    def imported(self, text: str, *imports: str, body: str = "os.sep, re.I, List, sqrt") -> str:
        return put(text, f"def f(numbers, k=1):\n    return {body}", imports=imports)

    def body(self, body: str = "os.sep, re.I, List, sqrt") -> str:
        return f"{STUB}    return {body}\n"

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("", "import os\n\n\n"),
            ("\n\n", "import os\n\n\n"),
            ('"""Module."""\n\n', '"""Module."""\n\nimport os\n\n\n'),
            ('"""Module."""\n\nX = 1\n\n\n', '"""Module."""\n\nimport os\n\nX = 1\n\n\n'),
            ("import abc\n\n\n", "import abc\nimport os\n\n\n"),
            ("import abc  # c\nX = 1\nfrom a import (\n    b,\n)\nY = 2\n", None),
            (
                "from __future__ import annotations\n\n\n",
                "from __future__ import annotations\n\nimport os\n\n\n",
            ),
            (
                "#!/bin/env python\n# coding: utf-8\n\n",
                "#!/bin/env python\n# coding: utf-8\n\nimport os\n\n\n",
            ),
            ("# Licence\n\n# About f\n", "# Licence\n\nimport os\n\n\n# About f\n"),
            ("# About f\n", "import os\n\n\n# About f\n"),
            ("\ufeff", "\ufeffimport os\n\n\n"),
            ("def g(): pass\nimport abc\n", "import os\n\n\ndef g(): pass\nimport abc\n"),
        ],
    )
    def test_where_they_go(self, before: str, after: str | None) -> None:
        if before == "\ufeff":
            before, after = "\ufeffX = 1\n\n\n", "\ufeffimport os\n\nX = 1\n\n\n"
        expected = before.replace(")\nY", ")\nimport os\nY") if after is None else after
        assert self.imported(before + STUB, "import os", body="os.sep") == expected + self.body("os.sep")

    def test_only_what_is_needed_and_not_there(self) -> None:
        result = self.imported(
            "import re\nfrom math import sqrt\n\n\n" + STUB,
            "import os, sys, re",
            "from typing import (\n    Dict,\n    List,\n)",
            "from math import sqrt, floor",
            "from os import *",
            "import broken as",
            "import os",
        )
        imports = "import re\nfrom math import sqrt\nimport os\nfrom typing import List\n\n\n"
        assert result == imports + self.body()

    def test_what_only_type_checkers_see_is_not_there(self) -> None:
        text = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import os\n\n\n" + STUB
        assert self.imported(text, "import os", body="os.sep").count("import os") == 2

    @pytest.mark.parametrize("there", ["try:\n    import os\nexcept ImportError:\n    os = None", "import os.path"])
    def test_what_is_there_in_another_way_is_there(self, there: str) -> None:
        assert self.imported(f"{there}\n\n\n{STUB}", "import os", body="os.sep").count("import os") == 1

    def test_a_submodule_is_imported_beside_its_package(self) -> None:
        result = self.imported("import xml\n\n\n" + STUB, "import xml.dom", body="xml.dom")
        assert result.startswith("import xml\nimport xml.dom\n")

    def test_a_name_that_means_something_else_is_imported_inside(self) -> None:
        text = "def time(): ...\n\n\n" + STUB
        result = self.imported(text, "import time", body="time.time()")
        assert result == text + "    import time\n    return time.time()\n"

    def test_a_builtin_that_the_module_uses_is_not_shadowed(self) -> None:
        text = "X = pow(2, 3)\n\n\n" + STUB
        assert self.imported(text, "from math import pow", body="pow(2, 3)").startswith(text)
        unused = self.imported(STUB, "from math import pow", body="pow(2, 3)")
        assert unused.startswith("from math import pow\n")

    def test_helpers_import_inside_too(self) -> None:
        text = "def time(): ...\n\n\n" + STUB
        result = put(
            text,
            "def f(numbers, k=1):\n    return now()",
            imports=("import time",),
            definitions=('def now():\n    """Now."""\n    return time.time()',),
        )
        assert '    """Now."""\n    import time\n    return time.time()\n' in result
        assert result.endswith("    return now()\n")

    def test_future_imports_come_first_and_only_for_annotations(self) -> None:
        future = "from __future__ import annotations"
        assert self.imported("import os\n\n\n" + STUB, future, body="os.sep") == (
            "import os\n\n\n" + self.body("os.sep")
        )
        function = "def f(numbers, k=1):\n    def g(x: int | None): ...\n    return g, re"
        result = put("import os\n\n\n" + STUB, function, imports=("import re", future))
        assert result.startswith(f"{future}\n\nimport os\nimport re\n\n\ndef f")
        result = put(STUB, function, imports=("import re", future))
        assert result.startswith(f"{future}\n\nimport re\n\n\ndef f")

    def test_the_module_does_not_import_itself(self) -> None:
        text = "def g(): ...\n\n\n" + STUB
        body = "f, g, mod, pkg"
        result = put(
            text,
            f"def f(numbers, k=1):\n    return {body}",
            imports=(
                "from mod import f, g",
                "import mod",
                "from . import mod",
                "from your.mod import g",
                "from x import f",
            ),
        )
        assert result == text + f"    return {body}\n"

    def test_a_star_stands_for_the_names_that_are_missing(self) -> None:
        star = "from math import *"
        assert self.imported(STUB, star, body="sqrt(k) + pi") == (
            "from math import pi\nfrom math import sqrt\n\n\n" + self.body("sqrt(k) + pi")
        )
        assert self.imported(STUB, star, body="len(numbers)") == self.body("len(numbers)")
        assert self.imported(STUB, "from x import *", body="y").startswith("from x import *\n")

    def test_imports_inside_the_candidates_body_stay_there(self) -> None:
        function = "def f(numbers, k=1):\n    import os\n    return os.sep"
        assert put(STUB, function, imports=("import os",)) == STUB + "    import os\n    return os.sep\n"


class TestDefinitions:
    FUNCTION = "def f(numbers, k=1):\n    return helper(numbers) + LIMIT"
    PARTS = (
        "UNUSED = 0",
        "LIMIT = 3",
        "TABLE = {}",
        "for i in range(LIMIT):\n    TABLE[i] = i",
        "class Box:\n    limit = LIMIT",
        "def helper(x):\n    return Box, TABLE",
        "def unused():\n    return helper(1)",
        "print(f([1]))",
    )

    def test_what_is_used_comes_along_in_order_before_the_function(self) -> None:
        result = put("import os\n\nX = 1\n\n# About f.\n@deco\n" + STUB, self.FUNCTION, definitions=self.PARTS)
        assert result == (
            "import os\n\nX = 1\n\n\nLIMIT = 3\nTABLE = {}\nfor i in range(LIMIT):\n    TABLE[i] = i\n\n\n"
            "class Box:\n    limit = LIMIT\n\n\ndef helper(x):\n    return Box, TABLE\n\n\n"
            "# About f.\n@deco\n" + STUB + "    return helper(numbers) + LIMIT\n"
        )

    def test_before_the_class_of_a_method(self) -> None:
        text = "class A:\n\tclass B:\n\t\tdef f(self):\n\t\t\t'Doc.'\n"
        result = put(text, "def f(self):\n    return h()", definitions=("def h():\n    return 1",), qualname="A.B.f")
        assert result == "def h():\n\treturn 1\n\n\n" + text + "\t\t\treturn h()\n"

    @pytest.mark.parametrize("there", ["def helper(x): ...", "helper = 1", "from a import helper", "Y = sum"])
    def test_existing_names_win(self, there: str) -> None:
        name = "sum" if "sum" in there else "helper"
        result = put(
            f"{there}\n\n\n{STUB}",
            f"def f(numbers, k):\n    return {name}(k)",
            definitions=(f"def {name}(x):\n    return x",),
        )
        assert result == f"{there}\n\n\n{STUB}    return {name}(k)\n"

    def test_imports_and_definitions_at_the_head_of_a_file(self) -> None:
        result = put(
            STUB,
            self.FUNCTION,
            imports=("import re",),
            definitions=("LIMIT = 3", "def helper(x):\n  return re.I"),
        )
        assert result.startswith("import re\n\n\nLIMIT = 3\n\n\ndef helper(x):\n    return re.I\n\n\ndef f(")

    def test_broken_text_elsewhere_in_the_module_does_not_matter(self) -> None:
        text = "import os\ndef helper(x) return 3\ndef g(:\n    pass\n\n\n" + STUB
        result = put(text, self.FUNCTION, imports=("import os",), definitions=self.PARTS[1:2])
        assert "\n\n\nLIMIT = 3\n\n\ndef f(" in result
        assert result.count("import os") == 1


UNITS = st.sampled_from(["    ", "  ", "\t"])
ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])
HEADS = st.sampled_from(
    [
        "",
        '"""Modül.\n\nÜber alles."""\n\n',
        "# coding: utf-8\n# Licence\n\n",
        "from __future__ import annotations\n\nimport re\n\n",
        "import os\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import re\n\n",
        '"""M."""\nimport math  # all of it\nCONST = {"ключ": math.pi}\n',
    ]
)
BEFORE = st.lists(
    st.sampled_from(
        [
            "def time():\n    return 'straße'\n\n\n",
            "class Größe:\n    '''Maß.'''\n\n    def m(self):\n        return (1,\n                2)\n\n\n",
            "# a comment of its own\n\nTEXT = '''\ndef f(): fake\n  # no\n'''\n\n",
            "limit = 3\n",
        ]
    ),
    max_size=3,
).map("".join)
DOCSTRINGS = st.sampled_from(
    ['"""Doc."""', '"""Doc.\n\n    >>> f(1)\n    1\n    """', "'Größe.'  # noqa", 'r"""\\d"""']
)
BODIES = st.sampled_from(
    ["", "    pass\n", "    ...\n\n    # todo\n", "    if numbers:\n        return 1\n    return 2\n"]
)
AFTER = st.sampled_from(
    ["", "\n\ndef g():\n    return time\n", "\n# the end", "\nif __name__ == '__main__':\n    f(1)\n"]
)
DECORATORS = st.sampled_from(["", "@deco\n", "# what it does\n@deco(\n    1,\n)\n"])


@st.composite
def modules(draw: st.DrawFn) -> Target:
    """A module with a function or method `f(…, numbers, k)` in it, in one of many layouts."""
    is_method = draw(st.booleans())
    doc, body = draw(DOCSTRINGS), draw(BODIES)
    function = f"{draw(DECORATORS)}def f({'self, ' if is_method else ''}numbers, k=1):\n    {doc}\n{body}"
    if is_method:
        function = "class Ä:\n" + "".join(f"    {line}\n" if line else "\n" for line in function.split("\n"))
    unit, ending = draw(UNITS), draw(ENDINGS)
    text = draw(HEADS) + draw(BEFORE) + function.rstrip("\n") + draw(st.sampled_from(["", "\n"])) + draw(AFTER)
    if draw(AFTER) and not text.endswith("\n"):
        text += "\n"
    try:
        ast.parse(text)
    except SyntaxError:
        text = text.replace('"\n# the end', '"\n\n# the end')
    return target_in(text.replace("    ", unit).replace("\n", ending), "Ä.f" if is_method else "f")


@st.composite
def candidates(draw: st.DrawFn, target: Target) -> Candidate:
    first, second = draw(st.sampled_from([("numbers", "k"), ("lst", "n"), ("k", "numbers"), ("zählt", "k")]))
    statements = draw(
        st.lists(
            st.sampled_from(
                [
                    f"    total = sum({first})\n",
                    f"    for a in {first}:\n        if a:\n            {second} += time.time()\n",
                    f'    text = """\n  {first} bleibt\n"""\n',
                    f"    print(\n        f'{{{first}}}',\n        re.I,\n    )\n\n",
                    "    # ein Kommentar\n    helper(limit)\n",
                    "    def inner(n: int) -> Optional[int]:\n        return n, math.pi\n",
                ]
            ),
            max_size=4,
        )
    )
    owner = "self, " if target.in_class else ""
    source = f"def f({owner}{first}, {second}=1):\n{''.join(statements)}    return {first}, {second}"
    if draw(st.booleans()):
        source = source.replace("    ", draw(UNITS))
    imports = draw(
        st.lists(
            st.sampled_from(
                [
                    "import time",
                    "import re, os",
                    "from typing import *",
                    "from typing import List, Optional",
                    "import math",
                    "from __future__ import annotations",
                    "from mod import f",
                ]
            ),
            max_size=4,
            unique=True,
        )
    )
    definitions = draw(
        st.lists(
            st.sampled_from(
                [
                    "limit = 4",
                    "def helper(x):\n    return Box(x), time.time()",
                    "class Box:\n    def __init__(self, x):\n        self.x = x",
                    "def deco(x):\n    return x",
                    "print(f(1))",
                ]
            ),
            max_size=4,
            unique=True,
        )
    )
    return Candidate(source, tuple(imports), tuple(definitions))


@settings(deadline=None)
@given(st.data())
def test_every_other_byte_stays(data: st.DataObject) -> None:
    target = data.draw(modules())
    candidate = data.draw(candidates(target))
    placed = splice(target, candidate)
    check(target, candidate, placed)
    before, after = ast.parse(target.text), ast.parse(placed.text)
    _blank(before, target.qualname)
    _blank(after, target.qualname)
    old = [ast.dump(node) for node in before.body]
    added = [node for node in after.body if ast.dump(node) not in old]
    assert [ast.dump(node) for node in after.body if node not in added] == old
    assert all(
        isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef | ast.Assign) for node in added
    )
    for span in placed.added:
        ast.parse(span.of(placed.text))


def _blank(tree: ast.Module, qualname: str) -> None:
    """Leave nothing but the docstring in the function."""
    body: list[ast.stmt] = tree.body
    for name in qualname.split("."):
        node = next(each for each in body if getattr(each, "name", None) == name)
        assert isinstance(node, ast.FunctionDef | ast.ClassDef)
        body = node.body
    del body[1:]


def test_real_code_comes_back_as_it_was() -> None:
    package = Path(inspect.getfile(toolz)).parent
    count = 0
    for path in sorted(package.glob("*.py")):
        text = path.read_text("utf-8")
        for target in functions(text, path, package.parent):
            candidate = Candidate(dedent(target.source))
            assert splice(target, candidate).edits == ()
            blank = text[: target.body.start] + text[target.body.end :]
            placed = splice(locate(blank, path, package.parent, qualname=target.qualname), candidate)
            assert placed.text == text
            count += 1
    assert count > 50
