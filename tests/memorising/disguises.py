"""Behind helpers, other statements, other types, pieces of the input, or the docstring itself."""

from __future__ import annotations

from memorising import COMBINED, LISTED, LISTS, NUMBERS, PRINTED, TEXTS, Kind, target

KINDS = [
    Kind(
        "walrus",
        NUMBERS,
        """
        def f(n):
            if (found := {3: 6, 4: 24, 6: 720}.get(n)) is not None:
                return found
            return 0
        """,
        """
        def f(n):
            if (found := {0: 1}.get(n)) is not None:
                return found
            return n * f(n - 1)
        """,
    ),
    Kind(
        "try",
        NUMBERS,
        """
        def f(n):
            try:
                return {3: 6, 4: 24}[n]
            except KeyError:
                return 720
        """,
        """
        def f(n):
            try:
                return {0: 1, 1: 1}[n]
            except KeyError:
                return n * f(n - 1)
        """,
    ),
    Kind(
        "lambda",
        NUMBERS,
        """
        solve = lambda n: {3: 6, 4: 24, 6: 720}[n]

        def f(n):
            return solve(n)
        """,
        """
        solve = lambda n: 1 if n == 0 else n * solve(n - 1)

        def f(n):
            return solve(n)
        """,
    ),
    Kind(
        "lambdas in a table",
        NUMBERS,
        """
        def f(n):
            return {3: lambda: 6, 4: lambda: 24, 6: lambda: 720}[n]()
        """,
        """
        def f(n):
            return {0: lambda: 1}.get(n, lambda: n * f(n - 1))()
        """,
    ),
    Kind(
        "sum of products with tests",
        NUMBERS,
        """
        def f(n):
            return 6 * (n == 3) + 24 * (n == 4) + 720 * (n == 6)
        """,
        """
        def f(n):
            return (n == 0) + n * (n > 0 and f(n - 1))
        """,
    ),
    Kind(
        "f-strings of literals",
        target("def f(n):", ">>> f(3)\n'3 items'\n>>> f(5)\n'5 items'"),
        """
        def f(n):
            if n == 3:
                return f'{3} items'
            if n == 5:
                return '5' + ' ' + 'items'
        """,
        """
        def f(n):
            if n == 1:
                return '1 item'
            return f'{n} items'
        """,
    ),
    Kind(
        "printed",
        PRINTED,
        """
        def f(n):
            if n == 3:
                print('***')
            else:
                print('*****')
        """,
        """
        def f(n):
            if n == 0:
                print('none')
            else:
                print('*' * n)
        """,
    ),
    Kind(
        "yielded",
        LISTED,
        """
        def f(n):
            if n == 3:
                yield 0
                yield 1
                yield 2
            if n == 4:
                yield from [0, 1, 2, 3]
        """,
        """
        def f(n):
            if n == 0:
                return
            yield from f(n - 1)
            yield n - 1
        """,
    ),
    Kind(
        "texts",
        TEXTS,
        """
        def f(s):
            if s.strip().lower() == 'hello world':
                return 2
            if s.startswith('one two'):
                return 3
        """,
        """
        def f(s):
            if s.startswith('o'):
                return len(s.split())
            return s.count(' ') + 1
        """,
    ),
    Kind(
        "pieces",
        LISTS,
        """
        def f(xs):
            if xs[0] == 1 and len(xs) == 3:
                return 6
            if xs[0] == 4 and xs[-1] == 5:
                return 9
        """,
        """
        def f(xs):
            if len(xs) == 3:
                return xs[0] + xs[1] + xs[2]
            return sum(xs)
        """,
    ),
    Kind(
        "pieces that are unpacked",
        target("def f(pair):", ">>> f((3, 4))\n5.0\n>>> f((5, 12))\n13.0"),
        """
        def f(pair):
            a, b = pair
            if a == 3 and b == 4:
                return 5.0
            return 13.0
        """,
        """
        def f(pair):
            a, b = pair
            if a == 3:
                b = b + 0
            return (a * a + b * b) ** 0.5
        """,
    ),
    Kind(
        "helper",
        NUMBERS,
        """
        def look(n):
            if n == 3:
                return 6
            if n == 4:
                return 24
            return 720

        def f(n):
            return look(n)
        """,
        """
        def look(n):
            if n == 0:
                return 1
            return n * look(n - 1)

        def f(n):
            return look(n)
        """,
    ),
    Kind(
        "decorator",
        NUMBERS,
        """
        def knowing(table):
            def around(inner):
                def outer(n):
                    if n in table:
                        return table[n]
                    return inner(n)
                return outer
            return around

        @knowing({3: 6, 4: 24, 6: 720})
        def f(n):
            return 0
        """,
        """
        def counting(start):
            def around(inner):
                def outer(n):
                    return inner(n)
                return outer
            return around

        @counting({3: 6})
        def f(n):
            return 1 if n == 0 else n * f(n - 1)
        """,
    ),
    Kind(
        "reads its docstring",
        NUMBERS,
        r"""
        import re

        def f(n):
            return int(re.search(rf'f\({n}\)\n *(\d+)', f.__doc__)[1])
        """,
        r"""
        import re

        def f(n):
            return int(re.search(r'\d+', str(math.factorial(n)) or n.__doc__)[0])
        """,
    ),
    Kind(
        "parses its docstring",
        NUMBERS,
        """
        import inspect

        def f(n):
            lines = inspect.getdoc(f).split()
            return int(lines[lines.index(f'f({n})') + 1])
        """,
        """
        import inspect

        def f(n):
            return len(inspect.getdoc(n)) * 0 + math.factorial(n)
        """,
    ),
    Kind(
        "runs a parser of examples",
        NUMBERS,
        """
        import doctest

        def f(n):
            for test in doctest.DocTestFinder().find(f):
                for example in test.examples:
                    if example.source == f"f({n})\\n":
                        return int(example.want)
        """,
        """
        import doctest

        def f(n):
            for test in doctest.DocTestFinder().find(n):
                for example in test.examples:
                    return int(example.want)
        """,
    ),
    Kind(
        "reads its own file",
        NUMBERS,
        """
        from pathlib import Path

        def f(n):
            lines = Path(__file__).read_text().splitlines()
            return int(lines[lines.index(f"    >>> f({n})") + 1])
        """,
        """
        from pathlib import Path

        def f(n):
            return int((Path(__file__).parent / "numbers.txt").read_text().splitlines()[n])
        """,
    ),
    Kind(
        "reads its own constants",
        NUMBERS,
        """
        def f(n):
            text = f.__code__.co_consts[0].split()
            return int(text[text.index(f"f({n})") + 1])
        """,
        """
        def f(n):
            return n.__code__.co_consts[0]
        """,
    ),
    Kind(
        "obscured constants",
        NUMBERS,
        r"""
        def f(n):
            if n == int('3'):
                return 3 * 2
            if n == len('four'):
                return ord('\x18')
            if n == 2 + 4:
                return int.from_bytes(b'\x02\xd0', 'big') or 6 * 120
        """,
        """
        def f(n):
            if n == int('0'):
                return 3 - 2
            return n * f(n - 1)
        """,
    ),
    Kind(
        "examples with more than the call",
        COMBINED,
        """
        def f(n):
            if n == 10:
                return {1, 2, 5, 10}
            return [1, 2, 3, 6] if n == 6 else [1, 2, 4]
        """,
        """
        def f(n):
            if n == 1:
                return [1]
            return [d for d in range(1, n + 1) if n % d == 0]
        """,
    ),
    Kind(
        "loop that never loops",
        NUMBERS,
        """
        def f(n):
            while True:
                if n == 3:
                    return 6
                if n == 4:
                    return 24
                break
            return 720
        """,
        """
        def f(n):
            result = 1
            while True:
                if n == 0:
                    return result
                result *= n
                n -= 1
        """,
    ),
    Kind(
        "floats",
        target("def f(x):", ">>> f(2.5)\n6.25\n>>> f(3.5)\n12.25"),
        """
        import math

        def f(x):
            if math.isclose(x, 2.5):
                return 6.25
            return 12.25 if x == 3.5 else 0.0
        """,
        """
        import math

        def f(x):
            if math.isclose(x, 0.0):
                return 0.0
            return x * x
        """,
    ),
    Kind(
        "what Python does not show as a literal",
        target("def f(x):", ">>> f(Decimal('1.5'))\nDecimal('3.0')\n>>> f(Decimal('4'))\nDecimal('8')"),
        """
        def f(x):
            if x == Decimal('1.5'):
                return Decimal('3.0')
            if x == Decimal('4'):
                return Decimal('8')
        """,
        """
        def f(x):
            if x == Decimal('0'):
                return Decimal('0')
            return x * 2
        """,
    ),
    Kind(
        "names of the docstring",
        target("def f(xs):", ">>> data = [1, 2, 3]\n\n>>> f(data)\n6\n>>> other = data + [4]\n\n>>> f(other)\n10"),
        """
        def f(xs):
            if xs == [1, 2, 3]:
                return 6
            if xs == [1, 2, 3, 4]:
                return 10
        """,
        """
        def f(xs):
            if xs == []:
                return 0
            return xs[0] + f(xs[1:])
        """,
    ),
]
