"""A candidate that calls things otherwise than its target does: parameters, itself, or both."""

from __future__ import annotations

import pytest

from splicing import STUB, body, put


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
        "written",
        [
            "    numbers = sorted(lst)\n    return numbers, lst, n",
            "    return f'{lst=} {n}'",
            "    import lst\n    return n",
            "    match n:\n        case [*lst]:\n            return lst",
            "    return [numbers for numbers in lst if n]",
            "    return locals()['lst'], n",
            "    return '{lst}'.format(**vars()), n",
            "    return eval('lst[n]')",
        ],
    )
    def test_what_cannot_be_renamed_is_given_its_name(self, written: str) -> None:
        assert body(f"def f(lst, n):\n{written}") == f"    lst, n = numbers, k\n{written}"

    def test_a_parameter_does_not_hide_an_import(self) -> None:
        text = 'def f(math, k=1):\n    """Doc."""\n'
        imports = ("import math, os.path", "from re import sub as k")
        result = put(text, "def f(x):\n    return math.floor(k(x))", imports=imports)
        assert result == (
            text + "    x = math\n    import math\n    from re import sub as k\n    return math.floor(k(x))\n"
        )
        # A parameter of the candidate's own hides it there too.
        assert put(text, "def f(math, k):\n    return math, k", imports=imports) == text + "    return math, k\n"

    def test_swapped_names_are_swapped_back(self) -> None:
        assert put(STUB, "def f(k, numbers):\n    return k - numbers").endswith("    return numbers - k\n")

    @pytest.mark.parametrize(
        "inside",
        ["[k for k in numbers]", "lambda k: numbers", "{k: 1 for _, k in numbers}", "(lambda *k: numbers)(1)"],
    )
    def test_swapped_names_that_one_would_hide_are_given_back(self, inside: str) -> None:
        written = f"    return {inside}"
        assert body(f"def f(k, numbers):\n{written}") == f"    k, numbers = numbers, k\n{written}"
        assert body(f"def f(k, x):\n{written}") == f"    k, x = numbers, k\n{written}"

    def test_a_parameter_does_not_hide_a_builtin(self) -> None:
        text = 'def f(list, k=1):\n    """Doc."""\n'
        assert put(text, "def f(xs, k):\n    return list(sum(xs))") == (
            text + "    xs = list\n    from builtins import list\n    return list(sum(xs))\n"
        )
        assert put(text, "def f(list, k):\n    return list") == text + "    return list\n"

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

    def test_calls_of_itself_by_keyword(self) -> None:
        result = body("def f(lst, n):\n    return f(lst=lst[1:], n=n) or f'{f(n=1)}' or g(lst=1) or o.f(lst=2)")
        assert result == "    return f(numbers=numbers[1:], k=k) or f'{f(k=1)}' or g(lst=1) or o.f(lst=2)"

    def test_calls_of_a_method_by_keyword(self) -> None:
        text = 'class A:\n    def f(self, x):\n        """Doc."""\n'
        written = "def go(self, y):\n    return self.go(y=y) or self.g(y=1) or super().go(y=2)"
        result = body(written, text, "A.f")
        assert result == "        return self.f(x=x) or self.g(y=1) or super().go(y=2)"

    def test_helpers_call_it_as_it_is_called_here(self) -> None:
        result = put(
            STUB,
            "def solve(lst, n):\n    return helper(lst)",
            definitions=("def helper(lst):\n    return solve(lst=lst, n=1)",),
        )
        assert result.startswith("def helper(lst):\n    return f(numbers=lst, k=1)\n")

    def test_its_own_name_where_that_means_something_else(self) -> None:
        assert body("def solve(f, n):\n    return solve(f, n)") == "    solve = f\n    return solve(numbers, k)"

    @pytest.mark.parametrize(
        ("own", "theirs", "written", "expected"),
        [
            ("a, *, key=None", "b, key=None", "b, key", "a, key"),
            ("a, *, key=None", "b, k=None", "b, k", "a, key"),
            ("a, key=None", "b, *, key=None", "b, key", "a, key"),
            ("a, /, b", "x, y", "x, y", "a, b"),
            ("*args, **kwargs", "*xs, **options", "xs, options", "args, kwargs"),
            ("a, *rest", "a, *others", "a, others", "a, rest"),
            ("*, a, b", "*, b, x", "b, x", "b, a"),
            ("a, b, c", "x", "x", "a"),
            ("a, b, c", "c", "c", "c"),
            ("a, b: int = 1", "x: str, y: 'int' = 2", "x, y", "a, b"),
        ],
    )
    def test_parameters_of_other_kinds_are_found(self, own: str, theirs: str, written: str, expected: str) -> None:
        text = f'def f({own}):\n    """Doc."""\n'
        assert body(f"def f({theirs}):\n    return {written}", text) == f"    return {expected}"

    @pytest.mark.parametrize(
        ("own", "theirs", "first"),
        [
            ("a", "x, y=1", "y = 1"),
            ("a, k=0", "a, reverse=not True, k=0", "reverse = not True"),
            ("a", "a, *rest", "rest = ()"),
            ("a, b", "*args", "args = (a, b)"),
            ("a", "*args", "args = (a,)"),
            ("a", "a, **options", "options = {}"),
        ],
    )
    def test_parameters_that_there_are_not_get_their_defaults(self, own: str, theirs: str, first: str) -> None:
        text = f'def f({own}):\n    """Doc."""\n'
        assert body(f"def f({theirs}):\n    return 1", text) == f"    {first}\n    return 1"

    def test_a_method_that_lost_its_first_parameter(self) -> None:
        text = 'class A:\n    def f(self, x):\n        """Doc."""\n'
        assert body("def f(y):\n    return y", text, "A.f") == "        return x"

    def test_a_function_that_was_written_as_a_method(self) -> None:
        assert body("def f(self, lst, n):\n    return lst, n") == "    return numbers, k"


class TestInnerFunctions:
    """What calls itself in a way in which the target cannot be called goes into its body whole."""

    def test_a_parameter_that_only_it_has(self) -> None:
        written = "def f(lst, n=1, memo={}):\n    '''Else.'''\n    return f(lst, n - 1, memo) if n else memo"
        assert body(written) == (
            "    def f(lst, n=1, memo={}):\n"
            "        return f(lst, n - 1, memo) if n else memo\n"
            "\n"
            "    return f(numbers, k)"
        )

    def test_only_where_it_calls_itself(self) -> None:
        assert body("def f(lst, n=1, memo={}):\n    return memo, f").startswith("    def f(")
        assert body("def f(lst, n=1, memo={}):\n    return memo") == "    memo = {}\n    return memo"

    @pytest.mark.parametrize("decorator", ["@lru_cache(maxsize=None)", "@functools.cache", "@cache"])
    def test_a_cache_that_keeps_it_from_calling_itself_for_ever(self, decorator: str) -> None:
        written = "def f(numbers, k=1):\n    return f(numbers, k - 1)"
        result = body(f"@other\n{decorator}\n{written}")
        assert result == (
            f"    {decorator}\n    def f(numbers, k=1):\n        return f(numbers, k - 1)\n\n    return f(numbers, k)"
        )
        assert body(f"{decorator}\n{written}", f"@cache\n{STUB}") == "    return f(numbers, k - 1)"
        assert body(f"{decorator}\ndef f(numbers, k=1):\n    return 1") == "    return 1"

    def test_what_it_needs_is_imported(self) -> None:
        written = "@lru_cache(None)\ndef f(numbers, k=1):\n    return f(k, numbers)"
        assert put(STUB, written, imports=("from functools import lru_cache",)).startswith("from functools import lru")

    @pytest.mark.parametrize(
        ("own", "theirs", "call"),
        [
            ("a, *, key=None", "a, key=None", "a, key"),
            ("a, *rest, key", "a, x=1, *rest, key, **more", "a, *rest, key=key"),
            ("a, key=None", "a, depth=0, key=None", "a, key=key"),
            ("a, b", "*args", "a, b"),
            ("a, b", "x", "a"),
        ],
    )
    def test_it_is_called_with_what_the_target_takes(self, own: str, theirs: str, call: str) -> None:
        text = f'def f({own}):\n    """Doc."""\n'
        assert body(f"def f({theirs}):\n    return f(1)", text).endswith(f"return f({call})")

    def test_a_plain_function_in_a_coroutine(self) -> None:
        text = f"async {STUB}"
        result = body("def go(a, b):\n    return go(b, a)", text)
        assert result == "    def go(a, b):\n        return go(b, a)\n\n    return go(numbers, k)"
        assert body("def go(a, b):\n    return b", text) == "    return k"

    def test_a_coroutine_in_a_coroutine_is_awaited(self) -> None:
        written = "async def f(a, b, depth=0):\n    return await f(a, b, depth + 1)"
        assert body(written, f"async {STUB}").endswith("\n\n    return await f(numbers, k)")

    def test_a_body_beside_its_header(self) -> None:
        assert body("def f(a, b, c=0): return f(a, b, c)") == (
            "    def f(a, b, c=0): return f(a, b, c)\n\n    return f(numbers, k)"
        )
