"""A function whose body never ran is not verified, whatever its examples return.

Each form has a twin whose body runs and is verified.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import Status
from support.concluding import concluded
from support.evaluating import Workspace, workspace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.isolation

GOOD = "return x + 1"
BODIES = ("raise NotImplementedError", GOOD)
"""A body that never runs. It may even be right."""
OTHER = "def f(x):\n    return x + 1\n"
"""Another module that has a function of the same name."""


@dataclass(frozen=True)
class Form:
    """A module in which the target does not run, and its twin in which the target runs."""

    hidden: str
    twin: str
    of: str = "f"

    def text(self, body: str) -> str:
        return module(self.hidden, body)

    def honest(self) -> str:
        return module(self.twin, GOOD)


def module(text: str, body: str) -> str:
    return dedent(text).replace("BODY", body)


def examples(shown: str) -> str:
    """Return a module whose function has these examples."""
    return f'def f(x):\n    """It.\n\n{indent(dedent(shown).strip(), "    ")}\n    """\n    BODY\n'


DOCUMENTED = examples(">>> f(1)\n2")
DISPATCHED = f"import functools\n\n\n@functools.singledispatch\n{DOCUMENTED}"
METHOD = '''
    class C:
        def f(self, x):
            """It.

            >>> {}.f(1)
            2
            """
            BODY
'''

UNSEEN = {
    "two definitions": Form(DOCUMENTED + "\n\n" + OTHER, OTHER + "\n\n" + DOCUMENTED),
    "branches": Form(
        f"import sys\n\nif sys.platform == 'none':\n{indent(DOCUMENTED, '    ')}\nelse:\n{indent(OTHER, '    ')}",
        f"import sys\n\nif sys.platform != 'none':\n{indent(DOCUMENTED, '    ')}\nelse:\n{indent(OTHER, '    ')}",
    ),
    "an import that fails": Form(
        f"try:\n    import no_such_module\n{indent(DOCUMENTED, '    ')}\nexcept ImportError:\n{indent(OTHER, '    ')}",
        f"try:\n    import math\n{indent(DOCUMENTED, '    ')}\nexcept ImportError:\n{indent(OTHER, '    ')}",
    ),
    "a name bound below": Form(
        f"def g(x):\n    return x + 1\n\n\n{DOCUMENTED}\n\nf = g\n",
        f"def g(x):\n    return x + 1\n\n\n{DOCUMENTED}\n\ng = f\n",
    ),
    "an import below": Form(
        f"{DOCUMENTED}\n\ntry:\n    from other import f\nexcept ImportError:\n    pass\n",
        f"{DOCUMENTED}\n\ntry:\n    from no_such_module import f\nexcept ImportError:\n    pass\n",
    ),
    "all names imported below": Form(
        f"{DOCUMENTED}\n\nfrom other import *\n", f"from other import *\n\n\n{DOCUMENTED}"
    ),
    "a name bound by its text": Form(
        f"{DOCUMENTED}\n\nglobals().update(f=lambda x: x + 1)\n", f"globals().update(f=None)\n\n\n{DOCUMENTED}"
    ),
    "a decorator that replaces": Form(
        f"def fast(function):\n    return lambda x: x + 1\n\n\n@fast\n{DOCUMENTED}",
        f"def fast(function):\n    return lambda x: function(x)\n\n\n@fast\n{DOCUMENTED}",
    ),
    "another implementation": Form(
        f"{DISPATCHED}\n\n@f.register(int)\ndef _(x):\n    return x + 1\n",
        f"{DISPATCHED}\n\n@f.register(str)\ndef _(x):\n    return x\n",
    ),
    "an example that binds the name": Form(
        examples(">>> f = lambda x: x + 1\n>>> f(1)\n2"), examples(">>> g = lambda x: f(x)\n>>> g(1)\n2")
    ),
    "an example that defines it": Form(
        examples(">>> def f(x): return x + 1\n>>> f(1)\n2"), examples(">>> def g(x): return f(x)\n>>> g(1)\n2")
    ),
    "an example that imports it": Form(
        examples(">>> from other import f\n>>> f(1)\n2"), examples(">>> from mod import f\n>>> f(1)\n2")
    ),
    "an example that patches": Form(
        examples(">>> import mod\n>>> mod.f = lambda x: x + 1\n>>> mod.f(1)\n2"),
        examples(">>> import mod\n>>> mod.g = lambda x: x + 1\n>>> mod.f(1)\n2"),
    ),
    "a loop that binds it": Form(
        examples(">>> for f in [lambda x: x + 1]: f(1)\n2"), examples(">>> for g in [f]: g(1)\n2")
    ),
    "a mention": Form(examples(">>> callable(f) and 2\n2"), examples(">>> callable(f) and f(1)\n2")),
    "its name": Form(examples(">>> f.__name__\n'f'"), examples(">>> f.__name__ * (f(1) - 1)\n'f'")),
    "two statements in a line": Form(examples(">>> g = f; 2\n2"), examples(">>> g = f; g(1)\n2")),
    "or": Form(examples(">>> 2 or f(1)\n2"), examples(">>> 0 or f(1)\n2")),
    "and": Form(examples(">>> False and f(1)\nFalse"), examples(">>> True and f(1)\n2")),
    "if": Form(examples(">>> 2 if True else f(1)\n2"), examples(">>> 2 if False else f(1)\n2")),
    "no loop": Form(examples(">>> [f(x) for x in []]\n[]"), examples(">>> [f(x) for x in [1]]\n[2]")),
    "a function never called": Form(examples(">>> (lambda: f(1)) and 2\n2"), examples(">>> (lambda: f(1))()\n2")),
    "a generator never asked": Form(
        examples(">>> bool(f(x) for x in [1])\nTrue"), examples(">>> list(f(x) for x in [1])\n[2]")
    ),
    "an error before it": Form(
        examples(
            ">>> f(no_such_name)\nTraceback (most recent call last):\nNameError: name 'no_such_name' is not defined"
        ),
        examples(
            ">>> f('')\nTraceback (most recent call last):\nTypeError: can only concatenate str (not \"int\") to str"
        ),
    ),
    "arguments that it does not take": Form(
        examples(
            ">>> f(1, 2)\nTraceback (most recent call last):\n"
            "TypeError: f() takes 1 positional argument but 2 were given"
        ),
        examples(
            ">>> f('')\nTraceback (most recent call last):\nTypeError: can only concatenate str (not \"int\") to str"
        ),
    ),
    "a namesake in another module": Form(
        examples(">>> import other\n>>> other.f(1)\n2"), examples(">>> import mod\n>>> mod.f(1)\n2")
    ),
    "a namesake in a class": Form(
        "class Box:\n    @property\n    def f(self):\n        return 2\n\n\n" + examples(">>> Box().f\n2"),
        "class Box:\n    @property\n    def f(self):\n        return f(1)\n\n\n" + examples(">>> Box().f\n2"),
    ),
    "an attribute of that name": Form(
        "class Box:\n    f = 2\n\n\n" + examples(">>> Box.f\n2"),
        "class Box:\n    f = f\n\n\n".replace("= f", "= 1") + DOCUMENTED,
    ),
    "a method overridden": Form(
        METHOD.format("D()") + "\n    class D(C):\n        def f(self, x):\n            return x + 1\n",
        METHOD.format("D()") + "\n    class D(C):\n        def g(self, x):\n            return x + 1\n",
        "C.f",
    ),
    "a method bound below": Form(
        METHOD.format("C()") + "\n    C.f = lambda self, x: x + 1\n",
        METHOD.format("C()") + "\n    C.g = lambda self, x: x + 1\n",
        "C.f",
    ),
    "a class bound below": Form(
        METHOD.format("C()") + "\n    class D:\n        def f(self, x):\n            return x + 1\n\n    C = D\n",
        METHOD.format("C()") + "\n    class D:\n        def f(self, x):\n            return x + 1\n\n    D = C\n",
        "C.f",
    ),
    "a method of an instance": Form(
        "\n    class C:\n        def __init__(self):\n            self.f = lambda x: x + 1\n"
        + METHOD.format("C()").replace("\n    class C:\n", "\n"),
        "\n    class C:\n        def __init__(self):\n            self.g = lambda x: x + 1\n"
        + METHOD.format("C()").replace("\n    class C:\n", "\n"),
        "C.f",
    ),
    "prose, and a name bound below": Form(
        examples("f(1) == 2") + "\n\nf = lambda x: x + 1\n", examples("f(1) == 2") + "\n\ng = lambda x: x + 1\n"
    ),
}
"""Forms in which only observation shows that the body never runs."""

SEEN = {
    "a text": Form(examples(">>> 'f(1)'\n'f(1)'"), examples(">>> eval('f(1)') or f(1)\n2")),
    "a comment": Form(examples(">>> 1 + 1  # f(1)\n2"), examples(">>> f(1)  # 1 + 1\n2")),
    "asked by its name": Form(
        examples(">>> import mod\n>>> hasattr(mod, 'f')\nTrue"), examples(">>> import mod\n>>> mod.f(1)\n2")
    ),
    "a longer name": Form(
        "def ff(x):\n    return x + 1\n\n\n" + examples(">>> ff(1)\n2"),
        "def ff(x):\n    return f(x)\n\n\n" + DOCUMENTED,
    ),
    "skipped": Form(examples(">>> f(1)  # doctest: +SKIP\n2"), examples(">>> f(1)  # doctest: +ELLIPSIS\n2")),
    "a keyword": Form(examples(">>> dict(f=2)\n{'f': 2}"), examples(">>> dict(f=f(1))\n{'f': 2}")),
}
"""Forms in which the text shows that the body never runs."""


@pytest.fixture
async def ws(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with workspace(tmp_path) as opened:
        opened.write({"other.py": OTHER})
        yield opened


@pytest.mark.parametrize("form", [pytest.param(form, id=name) for name, form in {**UNSEEN, **SEEN}.items()])
async def test_a_body_that_never_ran_is_not_verified(form: Form, ws: Workspace) -> None:
    for body in BODIES:
        outcome = await concluded(ws, form.text(body), of=form.of)
        assert outcome.status is not Status.VERIFIED


@pytest.mark.parametrize("form", [pytest.param(form, id=name) for name, form in {**UNSEEN, **SEEN}.items()])
async def test_a_body_that_ran_is_verified(form: Form, ws: Workspace) -> None:
    outcome = await concluded(ws, form.honest(), of=form.of)
    assert outcome.status is Status.VERIFIED, outcome.reason
