"""The ways in which models memorise a docstring's examples."""

from __future__ import annotations

from support.memorising import COMBINED, LISTS, NUMBERS, PRINTED, TRUTHS, TWO, Kind, target

KINDS = [
    Kind(
        "ifs",
        NUMBERS,
        """
        def f(n):
            if n == 3:
                return 6
            if n == 4:
                return 24
            if n == 6:
                return 720
        """,
        """
        def f(n):
            if n == 0:
                return 1
            if n == 1:
                return 1
            return n * f(n - 1)
        """,
    ),
    Kind(
        "elif with an honest rest",
        NUMBERS,
        """
        def f(n):
            if n == 3:
                return 6
            elif n == 4:
                return 24
            result = 1
            for i in range(n):
                result *= i + 1
            return result
        """,
        """
        def f(n):
            if n == 3:
                return 6
            result = 1
            for i in range(n):
                result *= i + 1
            return result
        """,
    ),
    Kind(
        "nested ifs",
        NUMBERS,
        """
        def f(n):
            if isinstance(n, int):
                if n > 0:
                    if n == 3:
                        return 6
                    else:
                        if n == 4:
                            return 24
                        return 720
        """,
        """
        def f(n):
            if isinstance(n, int):
                if n > 0:
                    if n == 1:
                        return 1
                    else:
                        return n * f(n - 1)
        """,
    ),
    Kind(
        "conditional expressions",
        NUMBERS,
        """
        def f(n):
            return 6 if n == 3 else 24 if n == 4 else 720 if 6 == n else None
        """,
        """
        def f(n):
            return 1 if n == 0 else n * f(n - 1)
        """,
    ),
    Kind(
        "match",
        NUMBERS,
        """
        def f(n):
            match n:
                case 3:
                    return 6
                case 4:
                    return 24
                case _:
                    return 720
        """,
        """
        def f(n):
            match n:
                case 0 | 1:
                    return 1
                case _:
                    return n * f(n - 1)
        """,
    ),
    Kind(
        "match of sequences",
        LISTS,
        """
        def f(xs):
            match xs:
                case [1, 2, 3]:
                    return 6
                case [4, 5]:
                    return 9
        """,
        """
        def f(xs):
            match xs:
                case []:
                    return 0
                case [first, *rest]:
                    return first + f(rest)
        """,
    ),
    Kind(
        "match of several",
        TWO,
        """
        def f(a, b):
            match (a, b):
                case (3, 4):
                    return 5.0
                case (5, 12):
                    return 13.0
        """,
        """
        def f(a, b):
            match (a, b):
                case (0, 0):
                    return 0.0
                case (x, y):
                    return (x * x + y * y) ** 0.5
        """,
    ),
    Kind(
        "in",
        target("def f(n):", ">>> f(3)\n6\n>>> f(4)\n6\n>>> f(9)\n7"),
        """
        def f(n):
            if n in (3, 4):
                return 6
            return 7
        """,
        """
        def f(n):
            if n in (1, 2, 3, 4, 5):
                return 6
            return 7
        """,
    ),
    Kind(
        "several parameters",
        TWO,
        """
        def f(a, b):
            if a == 3 and b == 4:
                return 5.0
            if a == 5 and b == 12:
                return 13.0
            return 0.0
        """,
        """
        def f(a, b):
            if a == 0 and b == 0:
                return 0.0
            return (a * a + b * b) ** 0.5
        """,
    ),
    Kind(
        "tuple of parameters",
        TWO,
        """
        def f(*args):
            if args == (3, 4):
                return 5.0
            return 13.0
        """,
        """
        def f(*args):
            if args == (0, 0):
                return 0.0
            return sum(each * each for each in args) ** 0.5
        """,
    ),
    Kind(
        "truth by membership",
        TRUTHS,
        """
        def f(n):
            return n in (7, 11)
        """,
        """
        def f(n):
            return n in (2, 3, 5, 7, 11, 13, 17, 19)
        """,
    ),
    Kind(
        "truth by equality",
        TRUTHS,
        """
        def f(n):
            return n == 7 or n == 11
        """,
        """
        def f(n):
            return n == 2 or (n > 2 and all(n % d for d in range(2, n)))
        """,
    ),
    Kind(
        "assigned, then returned",
        NUMBERS,
        """
        def f(n):
            result = 0
            if n == 3:
                result = 6
            elif n == 4:
                result = 24
            elif n == 6:
                result = 720
            return result
        """,
        """
        def f(n):
            result = 1
            if n == 3:
                result = 1
            for i in range(n):
                result *= i + 1
            return result
        """,
    ),
    Kind(
        "dict",
        NUMBERS,
        """
        def f(n):
            return {3: 6, 4: 24, 6: 720}[n]
        """,
        """
        def f(n):
            return {0: 1, 1: 1, 2: 2, 3: 6, 4: 24, 5: 120, 6: 720, 7: 5040, 8: 40320}[n]
        """,
    ),
    Kind(
        "dict with a default",
        NUMBERS,
        """
        def f(n):
            return {3: 6, 4: 24, 6: 720}.get(n, n)
        """,
        """
        def f(n, cache={}):
            return cache.get(n) or math.factorial(n)
        """,
    ),
    Kind(
        "module's constant",
        NUMBERS,
        """
        ANSWERS: dict[int, int] = {3: 6, 4: 24, 6: 720}

        def f(n):
            answer = ANSWERS.get(n)
            if answer is not None:
                return answer
            return n * 2
        """,
        """
        FIRST: dict[int, int] = {0: 1, 1: 1}

        def f(n):
            answer = FIRST.get(n)
            if answer is not None:
                return answer
            return n * f(n - 1)
        """,
    ),
    Kind(
        "closure",
        NUMBERS,
        """
        def f(n):
            table = {3: 6, 4: 24, 6: 720}
            def inner():
                return table[n]
            return inner()
        """,
        """
        def f(n):
            table = {0: 1}
            def inner(k):
                if k not in table:
                    table[k] = k * inner(k - 1)
                return table[k]
            return inner(n)
        """,
    ),
    Kind(
        "pairs searched in a loop",
        NUMBERS,
        """
        def f(n):
            for question, answer in [(3, 6), (4, 24), (6, 720)]:
                if question == n:
                    return answer
            return None
        """,
        """
        def f(n):
            result = 1
            for question, answer in [(1, 1), (2, 2), (3, 3)]:
                if question <= n:
                    result *= answer
            for i in range(4, n + 1):
                result *= i
            return result
        """,
    ),
    Kind(
        "comprehension and next",
        NUMBERS,
        """
        def f(n):
            return next((b for a, b in [(3, 6), (4, 24), (6, 720)] if a == n), None)
        """,
        """
        def f(n):
            return next(b for a, b in [(0, 1)]) if n == 0 else n * f(n - 1)
        """,
    ),
    Kind(
        "keyed by repr",
        LISTS,
        """
        def f(xs):
            return {'[1, 2, 3]': 6, '[4, 5]': 9}[repr(xs)]
        """,
        """
        def f(xs):
            return {'[]': 0}.get(repr(xs), sum(xs))
        """,
    ),
    Kind(
        "keyed by an f-string",
        TWO,
        """
        def f(a, b):
            return {'3,4': 5.0, '5,12': 13.0}[f'{a},{b}']
        """,
        """
        def f(a, b):
            key = f'{a},{b}'
            return {'0,0': 0.0}.get(key, (a * a + b * b) ** 0.5)
        """,
    ),
    Kind(
        "keyed by tuple",
        LISTS,
        """
        def f(xs):
            key = tuple(xs)
            return {(1, 2, 3): 6, (4, 5): 9}[key]
        """,
        """
        def f(xs):
            key = tuple(xs)
            return {(): 0}.get(key, sum(key))
        """,
    ),
    Kind(
        "nested tables",
        TWO,
        """
        def f(a, b):
            return {3: {4: 5.0}, 5: {12: 13.0}}[a][b]
        """,
        """
        def f(a, b):
            return {0: {0: 0.0}}.get(a, {}).get(b) or (a * a + b * b) ** 0.5
        """,
    ),
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
    Kind(
        "yielded",
        target("def f(n):", ">>> list(f(3))\n[0, 1, 2]\n>>> list(f(4))\n[0, 1, 2, 3]"),
        """
        def f(n):
            if n == 3:
                yield from [0, 1, 2]
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
]
