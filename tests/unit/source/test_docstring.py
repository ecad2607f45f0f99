"""New examples in a docstring. The text stays, and the examples can be read back unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from adacoder.domain import Example, TargetError
from adacoder.source.docstring import add_examples
from adacoder.source.locate import locate
from adacoder.source.text import apply_edits

PATH = Path("/w/m.py")
ADDED = (
    Example("f(1)\n", "2\n", 0),
    Example("for x in f(2):\n    x\n", "1\n2\n", 0),
    Example('f("\\n")\n', "'\\n'\n", 0),
)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "docstring",
    [
        '"""Doc."""',
        "'''Doc.'''",
        "'Doc.'",
        '"Doc."',
        'r"""Doc."""',
        '"""Doc.\n\n    >>> f(0)\n    0\n    """',
        '"""\n    Doc.\n    """',
        '"""Doc.  """  # noqa',
        '("Doc.")',
        '("""Doc."""  # noqa\n    )',
        "'Do' 'c.'",
        '(\n        "Do"\n        "c."\n    )',
    ],
)
@pytest.mark.parametrize("shape", ["def f(x):\n    {}\n    pass\n", "def f(x): {}\n"])
def test_examples_are_added_and_read_back(shape: str, docstring: str, ending: str) -> None:
    text = shape.format(docstring).replace("\n", ending)
    target = locate(text, PATH, PATH.parent, qualname="f")
    changed = apply_edits(text, [add_examples(target, ADDED)])
    again = locate(changed, PATH, PATH.parent, qualname="f")
    read = [(example.source, example.want) for example in again.examples]
    assert read == [(each.source, each.want) for each in (*target.examples, *ADDED)]
    assert again.docstring.startswith(target.docstring.rstrip())
    assert again.body.of(changed) == target.body.of(text)
    assert changed.count("\n") == changed.count(ending)


@pytest.mark.parametrize("example", [Example('f(\'"""\')\n', "1\n", 0), Example("f(1)\n", "[1,\r2]\n", 0)])
def test_an_example_that_would_not_read_back_is_refused(example: Example) -> None:
    text = 'def f(x):\n    r"""Doc."""\n'
    with pytest.raises(TargetError, match="The docstring of 'f' cannot hold this example"):
        add_examples(locate(text, PATH, PATH.parent, qualname="f"), [example])


def test_a_docstring_with_escapes_holds_a_triple_quote() -> None:
    text = 'def f(x):\n    """Doc."""\n'
    target = locate(text, PATH, PATH.parent, qualname="f")
    assert apply_edits(text, [add_examples(target, [Example('f(\'"""\')\n', "1\n", 0)])])
