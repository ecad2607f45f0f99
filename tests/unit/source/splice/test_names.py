"""Candidates with other names than the target: for the parameters, for the function, or for both."""

from __future__ import annotations

import pytest

from support.splicing import STUB, body, put


class TestRenaming:
    def test_parameters_are_mapped_back_by_position(self) -> None:
        result = put(STUB, "def f(lst, n=1):\n    lst = sorted(lst)\n    return lst[n], g(lst=lst), o.lst")
        assert result.endswith("    numbers = sorted(numbers)\n    return numbers[k], g(lst=numbers), o.lst\n")

    def test_variables_of_every_scope_are_renamed_together(self) -> None:
        result = put(
            STUB,
            "def f(lst, n):\n"
            "    def own(lst): return lst, n\n"
            "    def outer():\n"
            "        nonlocal n\n"
            "        n += len(lst)\n"
            "    return [lst for lst in lst], lambda n=n: n, own(lst)\n",
        )
        assert result.endswith(
            "    def own(numbers): return numbers, k\n"
            "    def outer():\n"
            "        nonlocal k\n"
            "        k += len(numbers)\n"
            "    return [numbers for numbers in numbers], lambda k=k: k, own(numbers)\n"
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
            "    def own(lst): return lst, n\n    return own(lst=1)",
            "    class Own:\n        lst = n\n    return Own.lst",
            "    x = = lst\n    return n",
            f"    return lst, n, {'-' * 900}1",
            f"    return lst, n{' + 1' * 900}",
            "    def g():\n        global lst\n        lst = 1\n    return n, g",
        ],
    )
    def test_what_cannot_be_renamed_is_given_its_name(self, written: str) -> None:
        assert body(f"def f(lst, n):\n{written}") == f"    lst, n = numbers, k\n{written}"

    def test_swapped_names_are_swapped_back(self) -> None:
        assert put(STUB, "def f(k, numbers):\n    return k - numbers").endswith("    return numbers - k\n")

    @pytest.mark.parametrize(
        ("inside", "swapped"),
        [
            ("[k for k in numbers]", "[numbers for numbers in k]"),
            ("lambda k: numbers", "lambda numbers: k"),
            ("{k: 1 for _, k in numbers}", "{numbers: 1 for _, numbers in k}"),
        ],
    )
    def test_a_name_that_means_something_else_here_is_not_taken(self, inside: str, swapped: str) -> None:
        assert body(f"def f(k, numbers):\n    return {inside}") == f"    return {swapped}"
        # the module already has a name `numbers`
        assert body(f"def f(k, x):\n    return {inside}") == f"    k, x = numbers, k\n    return {inside}"

    def test_the_function_itself(self) -> None:
        result = body("def solve(numbers, k=1):\n    return solve(numbers, k - 1) or o.solve(k)")
        assert result == "    return f(numbers, k - 1) or o.solve(k)"
        assert body("def solve(numbers, k=1):\n    return solve, vars()") == "    solve = f\n    return solve, vars()"

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

    def test_its_own_name_that_is_a_parameter_here(self) -> None:
        assert body("def solve(f, n):\n    return solve(f, n)") == "    return f(numbers, k)"

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
