"""A candidate's helpers, constants and classes go before the function, or inside it if they would hide other names."""

from __future__ import annotations

import pytest

from support.splicing import STUB, put


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

    def test_in_a_method_in_its_indentation(self) -> None:
        text = 'def h(x): ...\n\n\nclass A:\n\tdef f(self):\n\t\t"""Doc."""\n'
        helper = "def h(x, y):\n    return '''\n  kept'''"
        result = put(text, "def f(self):\n    return h(1, 2)", definitions=(helper,), qualname="A.f")
        assert result == f"{text}\t\tdef h(x, y):\n\t\t\treturn '''\n  kept'''\n\n\t\treturn h(1, 2)\n"

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
