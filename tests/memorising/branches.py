"""By tests that single out the examples' inputs."""

from __future__ import annotations

from memorising import LISTS, NUMBERS, TRUTHS, TWO, Kind, target

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
        "match of mappings",
        target("def f(d):", ">>> f({'a': 3})\n3\n>>> f({'b': 4, 'c': 5})\n9"),
        """
        def f(d):
            match d:
                case {"a": 3}:
                    return 3
                case {"b": 4, "c": 5}:
                    return 9
        """,
        """
        def f(d):
            match d:
                case {}:
                    return sum(d.values())
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
        "flipped and unequal",
        NUMBERS,
        """
        def f(n):
            if 3 == n:
                return 6
            if n != 4:
                return 720
            return 24
        """,
        """
        def f(n):
            if 0 != n:
                return n * f(n - 1)
            return 1
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
        "keywords",
        target("def f(**options):", ">>> f(a=3)\n3\n>>> f(a=4, b=5)\n9"),
        """
        def f(**options):
            if options == {'a': 3}:
                return 3
            if options == dict(a=4, b=5):
                return 9
        """,
        """
        def f(**options):
            if options == {}:
                return 0
            return sum(options.values())
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
        "falsehood by inequality",
        target("def f(n):", ">>> f(7)\nTrue\n>>> f(9)\nFalse\n>>> f(15)\nFalse"),
        """
        def f(n):
            return not (n == 9 or n == 15)
        """,
        """
        def f(n):
            return n != 1 and all(n % d for d in range(2, n))
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
]
