"""By tables of the examples, in all shapes and under all sorts of keys."""

from __future__ import annotations

from memorising import LISTS, NUMBERS, TWO, Kind, target

KINDS = [
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
        "dict that is built up",
        NUMBERS,
        """
        def f(n):
            table = {}
            table[3] = 6
            table[4] = 24
            table.update({6: 720})
            if n in table:
                return table[n]
            raise ValueError(n)
        """,
        """
        def f(n):
            table = {}
            table[0] = 1
            for i in range(1, n + 1):
                table[i] = i * table[i - 1]
            return table[n]
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
        "default argument",
        NUMBERS,
        """
        def f(n, _known={3: 6, 4: 24, 6: 720}):
            return _known[n]
        """,
        """
        def f(n, _known=[1, 1]):
            while len(_known) <= n:
                _known.append(_known[-1] * len(_known))
            return _known[n]
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
        "class attribute",
        NUMBERS,
        """
        class Known:
            table = {3: 6, 4: 24, 6: 720}

            @classmethod
            def of(cls, n):
                return cls.table[n]

        def f(n):
            return Known.of(n)
        """,
        """
        class Known:
            start = 1

            @classmethod
            def of(cls, n):
                return cls.start if n == 0 else n * cls.of(n - 1)

        def f(n):
            return Known.of(n)
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
        "records searched in a loop",
        LISTS,
        """
        CASES = [{"given": [1, 2, 3], "wanted": 6}, {"given": [4, 5], "wanted": 9}]

        def f(xs):
            for case in CASES:
                if case["given"] == xs:
                    return case["wanted"]
        """,
        """
        def f(xs):
            total = 0
            for case in [{"from": 0, "to": len(xs)}]:
                total += sum(xs[case["from"]:case["to"]])
            return total
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
        "keyed by length",
        LISTS,
        """
        def f(xs):
            return {3: 6, 2: 9}[len(xs)]
        """,
        """
        def f(xs):
            return {0: 0}[len(xs)] if len(xs) == 0 else sum(xs)
        """,
    ),
    Kind(
        "keyed by sum",
        target("def f(xs):", ">>> f([1, 2, 3])\n36\n>>> f([4, 5])\n81"),
        """
        def f(xs):
            return {6: 36, 9: 81}[sum(xs)]
        """,
        """
        def f(xs):
            return sum(xs) ** 2
        """,
    ),
    Kind(
        "keyed by hash",
        LISTS,
        """
        def f(xs):
            return {hash((1, 2, 3)): 6, hash((4, 5)): 9}[hash(tuple(xs))]
        """,
        """
        def f(xs):
            return hash(sum(xs))
        """,
    ),
    Kind(
        "keyed by json",
        LISTS,
        """
        import json

        def f(xs):
            return json.loads('{"[1, 2, 3]": 6, "[4, 5]": 9}')[json.dumps(xs)]
        """,
        """
        import json

        def f(xs):
            return sum(json.loads(json.dumps(xs)))
        """,
    ),
    Kind(
        "keyed by joined text",
        LISTS,
        """
        def f(xs):
            return {'1-2-3': 6, '4-5': 9}.get('-'.join(map(str, xs)))
        """,
        """
        def f(xs):
            return eval('+'.join(map(str, xs)))
        """,
    ),
    Kind(
        "zip",
        NUMBERS,
        """
        def f(n):
            return dict(zip([3, 4, 6], [6, 24, 720]))[n]
        """,
        """
        def f(n):
            return dict(zip(range(9), [1, 1, 2, 6, 24, 120, 720, 5040, 40320]))[n]
        """,
    ),
    Kind(
        "parallel lists",
        NUMBERS,
        """
        ASKED = [3, 4, 6]
        TOLD = [6, 24, 720]

        def f(n):
            return TOLD[ASKED.index(n)]
        """,
        """
        def f(n):
            product = [1, 1]
            for i in range(2, n + 1):
                product.append(product[-1] * i)
            return product[n]
        """,
    ),
    Kind(
        "inverted table",
        NUMBERS,
        """
        def f(n):
            for answer, asked in {6: [3], 24: [4], 720: [6]}.items():
                if n in asked:
                    return answer
        """,
        """
        def f(n):
            for answer, asked in {1: [0, 1], 2: [2]}.items():
                if n in asked:
                    return answer
            return n * f(n - 1)
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
        "keyed by formatted text",
        NUMBERS,
        """
        def f(n):
            return {"3": 6, "4": 24}.get("{}".format(n)) or {"<6>": 720}["<%d>" % n]
        """,
        """
        def f(n):
            return {"0": 1}.get("{}".format(n)) or n * f(n - 1)
        """,
    ),
    Kind(
        "keyed by elements that are joined",
        LISTS,
        """
        def f(xs):
            return {"123": 6, "45": 9}["".join(str(x) for x in xs)]
        """,
        """
        def f(xs):
            return sum(int(digit) for x in xs for digit in [str(x)])
        """,
    ),
    Kind(
        "table in a text",
        NUMBERS,
        """
        def f(n):
            return int(dict(pair.split(":") for pair in "3:6,4:24,6:720".split(","))[str(n)])
        """,
        """
        def f(n):
            return eval("*".join(str(each) for each in range(1, n + 1)))
        """,
    ),
    Kind(
        "list with gaps",
        NUMBERS,
        """
        def f(n):
            return [None, None, None, 6, 24, None, 720][n]
        """,
        """
        def f(n):
            return [1, 1, 2, 6, 24, 120, 720, 5040, 40320][n]
        """,
    ),
    Kind(
        "positions counted up",
        NUMBERS,
        """
        def f(n):
            asked, answers, at = [3, 4, 6], [6, 24, 720], 0
            while at < len(asked):
                if asked[at] == n:
                    return answers[at]
                at += 1
        """,
        """
        def f(n):
            asked, result, at = [1, 2, 3], 1, 0
            while at < n:
                at += 1
                result *= at
            return result
        """,
    ),
]
