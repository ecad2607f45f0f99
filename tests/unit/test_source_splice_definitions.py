"""The helpers, constants and classes that a candidate brings: before the function, under names that are free."""

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
            ("from heapq import merge as helper", "def helper(x):\n    return x"),
            ("def helper(x): ...", "class helper:\n    def m(self):\n        return helper"),
            ("def helper(x): ...", "helper = lambda *x: x"),
        ],
    )
    def test_what_is_something_else_gets_a_name_of_its_own(self, there: str, written: str) -> None:
        apart = "\n\n" if there.startswith(("helper", "from")) and written.startswith("helper") else "\n\n\n"
        result = put(
            f"{there}\n\n\n{STUB}",
            "def f(numbers, k):\n    helper.x = 'helper'  # helper\n    return helper(k)",
            definitions=(written, "def caller():\n    return helper", "OTHER = caller"),
        )
        assert result.startswith(f"{there}{apart}{written.replace('helper', '_helper')}\n")
        assert result.endswith("    _helper.x = 'helper'  # helper\n    return _helper(k)\n")

    def test_a_name_that_is_free(self) -> None:
        there = "def merge(): ...\n\n\ndef _merge(a):\n    return 1\n\n\n"
        function = "def f(numbers, k=1):\n    return merge(k)"
        result = put(there + STUB, function, definitions=("def merge(a):\n    return a",))
        assert result == f"{there}def _merge_2(a):\n    return a\n\n\n{STUB}    return _merge_2(k)\n"
        private = put("_x = 1\n\n\n" + STUB, "def f(numbers, k=1):\n    return _x", definitions=("_x = 2",))
        assert private == f"_x = 1\n\n_x_2 = 2\n\n\n{STUB}    return _x_2\n"

    def test_a_builtin_stays_what_it_is(self) -> None:
        function, helper = "def f(numbers, k=1):\n    return sum(numbers)", "def sum(x):\n    return x"
        assert put(f"Y = sum([])\n\n\n{STUB}", function, definitions=(helper,)) == (
            f"Y = sum([])\n\n\ndef _sum(x):\n    return x\n\n\n{STUB}    return _sum(numbers)\n"
        )
        assert put(STUB, function, definitions=(helper,)) == (
            f"def _sum(x):\n    return x\n\n\n{STUB}    return _sum(numbers)\n"
        )

    def test_a_parameter_does_not_hide_a_helper(self) -> None:
        helper = "def numbers(x):\n    return x"
        result = put(STUB, "def f(items, k):\n    return numbers(items)", definitions=(helper,))
        assert result == f"def _numbers(x):\n    return x\n\n\n{STUB}    return _numbers(numbers)\n"
        # A parameter of the candidate's own hides it there too.
        assert put(STUB, "def f(numbers, k):\n    return numbers", definitions=(helper,)) == (
            f"{STUB}    return numbers\n"
        )

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

    def test_what_cannot_be_renamed_is_left_out(self) -> None:
        text = f"helper = 1\n\n\n{STUB}"
        result = put(text, "def f(numbers, k=1):\n    return f'{helper=}'", definitions=("helper = 2",))
        assert result == f"{text}    return f'{{helper=}}'\n"

    def test_a_state_that_helpers_keep(self) -> None:
        result = put(
            f"counter = 'mine'\n\n\n{STUB}",
            "def f(numbers, k=1):\n    global counter\n    counter += 1\n    return step()",
            definitions=("counter = 0", "def step():\n    global counter\n    counter += 1\n    return counter"),
        )
        assert result == (
            "counter = 'mine'\n\n_counter = 0\n\n\n"
            "def step():\n    global _counter\n    _counter += 1\n    return _counter\n\n\n"
            f"{STUB}    global _counter\n    _counter += 1\n    return step()\n"
        )

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
