"""The helpers, constants and classes that a candidate brings: before the function, or inside where they would mask."""

from __future__ import annotations

import pytest

from splicing import STUB, put


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
            "import os\n\nX = 1\n\nLIMIT = 3\nTABLE = {}\nfor i in range(LIMIT):\n    TABLE[i] = i\n\n\n"
            "class Box:\n    limit = LIMIT\n\n\ndef helper(x):\n    return Box, TABLE\n\n\n"
            "# About f.\n@deco\n" + STUB + "    return helper(numbers) + LIMIT\n"
        )

    def test_before_the_class_of_a_method(self) -> None:
        text = "class A:\n\tclass B:\n\t\tdef f(self):\n\t\t\t'Doc.'\n"
        result = put(text, "def f(self):\n    return h()", definitions=("def h():\n    return 1",), qualname="A.B.f")
        assert result == "def h():\n\treturn 1\n\n\n" + text + "\t\t\treturn h()\n"

    @pytest.mark.parametrize(
        ("there", "written"),
        [
            ("def helper(x):\n    return 1", "def helper(x):\n    return x"),
            ("def helper(x, y): ...", "def helper(x: int, y=2) -> int:\n    return x"),
            ("def helper(x, y): ...", "def helper(items):\n    ..."),
            ("from a import helper", "def helper(x):\n    return x"),
            ("try:\n    from a import helper\nexcept ImportError:\n    helper = None", "def helper(x):\n    return x"),
            ("class helper(int):\n    a = 1", "class helper:\n    pass"),
            ("helper = 3", "helper = 3  # three"),
            ("helper: int = 3", "helper = 3"),
        ],
    )
    def test_what_the_module_has_is_meant(self, there: str, written: str) -> None:
        function = "def f(numbers, k):\n    return helper(k)"
        assert put(f"{there}\n\n\n{STUB}", function, definitions=(written,)) == (
            f"{there}\n\n\n{STUB}    return helper(k)\n"
        )

    @pytest.mark.parametrize(
        ("there", "written"),
        [
            ("def helper(x): ...", "def helper(x, y):\n    return x"),
            ("helper = 1", "def helper(x):\n    return helper(x)"),
            ("helper = 1", "helper = 2"),
            (f"helper = {'-' * 900}1", f"helper = {'-' * 901}1"),
            ("from heapq import merge as helper", "def helper(x):\n    return x"),
            ("def helper(x): ...", "class helper:\n    def m(self):\n        return helper"),
            ("def helper(x): ...", "helper = lambda *x: x"),
        ],
    )
    def test_what_would_mask_something_else_goes_into_the_function(self, there: str, written: str) -> None:
        function = "def f(numbers, k):\n    return helper(k)"
        result = put(f"{there}\n\n\n{STUB}", function, definitions=(written,))
        inside = "".join(f"    {line}\n" for line in written.split("\n")) + ("\n" if "\n" in written else "")
        assert result == f"{there}\n\n\n{STUB}{inside}    return helper(k)\n"

    def test_what_needs_it_goes_along(self) -> None:
        parts = ("def helper(x, y):\n    return x", "LIMIT = 3", "def caller(x):\n    return helper(x, LIMIT)")
        result = put(f"def helper(x): ...\n\n\n{STUB}", "def f(numbers, k=1):\n    return caller(k)", definitions=parts)
        assert result == (
            f"def helper(x): ...\n\n\nLIMIT = 3\n\n\n{STUB}"
            "    def helper(x, y):\n        return x\n\n"
            "    def caller(x):\n        return helper(x, LIMIT)\n\n"
            "    return caller(k)\n"
        )

    def test_in_a_method_in_its_indentation(self) -> None:
        text = 'def h(x): ...\n\n\nclass A:\n\tdef f(self):\n\t\t"""Doc."""\n'
        helper = "def h(x, y):\n    return '''\n  kept'''"
        result = put(text, "def f(self):\n    return h(1, 2)", definitions=(helper,), qualname="A.f")
        assert result == f"{text}\t\tdef h(x, y):\n\t\t\treturn '''\n  kept'''\n\n\t\treturn h(1, 2)\n"

    def test_a_builtin_stays_what_it_is(self) -> None:
        function, helper = "def f(numbers, k=1):\n    return sum(numbers)", "def sum(x):\n    return x"
        for text in (f"Y = sum([])\n\n\n{STUB}", STUB):
            inside = "    def sum(x):\n        return x\n\n    return sum(numbers)\n"
            assert put(text, function, definitions=(helper,)) == f"{text}{inside}"

    def test_what_a_string_says_in_an_annotation_comes_along(self) -> None:
        box = "class Box:\n    inner: 'Box | List[int]'"
        result = put(
            STUB,
            "def f(numbers, k):\n    x: 'Box' = cast('Set', k)\n    return x, 'Dict'",
            imports=("from typing import Dict, List, Set, cast",),
            definitions=(box,),
        )
        assert result.startswith(f"from typing import List, Set, cast\n\n\n{box}\n\n\ndef f(")

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("", "LIMIT = 3\n\n\n"),
            ("import os\n", "import os\n\nLIMIT = 3\n\n\n"),
            ("import os\n\n\n", "import os\n\nLIMIT = 3\n\n\n"),
            ('"""Module."""\n\n\n', '"""Module."""\n\nLIMIT = 3\n\n\n'),
            ("X = 1\n\n\n# About f.\n", "X = 1\n\nLIMIT = 3\n\n\n# About f.\n"),
            ("def g(): pass\n\n\n", "def g(): pass\n\n\nLIMIT = 3\n\n\n"),
            ("@deco\nclass G: pass\n", "@deco\nclass G: pass\n\n\nLIMIT = 3\n\n\n"),
        ],
    )
    def test_blank_lines_around_a_constant(self, before: str, after: str) -> None:
        result = put(before + STUB, "def f(numbers, k):\n    return LIMIT", definitions=("LIMIT = 3",))
        assert result == f"{after}{STUB}    return LIMIT\n"

    def test_every_method_of_a_class_imports_inside(self) -> None:
        result = put(
            f"def time(): ...\n\n\n{STUB}",
            "def f(numbers, k=1):\n    return Clock()",
            imports=("import time",),
            definitions=(
                "class Clock:\n    def a(self):\n        return time.time()\n\n    def b(self):\n        return time.x",
            ),
        )
        assert result.count("        import time\n        return time.") == 2

    def test_imports_and_definitions_at_the_head_of_a_file(self) -> None:
        result = put(
            STUB,
            self.FUNCTION,
            imports=("import re",),
            definitions=("LIMIT = 3", "def helper(x):\n  return re.I"),
        )
        assert result.startswith("import re\n\nLIMIT = 3\n\n\ndef helper(x):\n    return re.I\n\n\ndef f(")

    def test_broken_text_elsewhere_in_the_module_does_not_matter(self) -> None:
        text = "import os\ndef helper(x) return 3\ndef g(:\n    pass\n\n\n" + STUB
        result = put(text, self.FUNCTION, imports=("import os",), definitions=self.PARTS[1:2])
        assert "\n\n\nLIMIT = 3\n\n\ndef f(" in result
        assert result.count("import os") == 1
