"""A candidate in its target's place: the parts that change, and the parts that must not."""

from __future__ import annotations

import ast

import pytest

from adacoder.domain import Candidate
from adacoder.source.splice import splice
from support.splicing import STUB, put, target_in


def test_only_the_body_is_replaced() -> None:
    text = "x = 1  # kept\n@deco\n" + STUB.replace('"""\n', '"""  # said\n    pass\n') + "# after\n\ny = 2"
    result = put(text, '@other\ndef f(numbers: list, k: int) -> int:\n    """Else."""\n    return k\n')
    assert result == text.replace("    pass\n", "    return k\n")


def test_the_edit_is_as_small_as_whole_lines_allow() -> None:
    text = STUB + "    a = 1\n    b = 2\n    return a + b\n"
    placed = splice(target_in(text), Candidate("def f(numbers, k=1):\n    a = 1\n    b = 3\n    return a + b"))
    (edit,) = placed.edits
    assert (text[edit.start : edit.end], edit.text) == ("    b = 2\n", "    b = 3\n")


@pytest.mark.parametrize("echoed", ["", '    """Doc."""\n'])
@pytest.mark.parametrize(
    "body", ["    return k\n", "    # why\n    if k:\n        return 1\n\n    return (\n        2\n    )\n"]
)
def test_an_identical_body_gives_no_edits(body: str, echoed: str) -> None:
    assert splice(target_in(STUB + body), Candidate(f"def f(numbers, k=1):\n{echoed}{body}")).edits == ()


def test_an_oddly_laid_out_body_is_identical_to_itself() -> None:
    text = STUB + "\n  \n    x = [1,\n  2]   \n    \f\n    return x\n"
    assert splice(target_in(text), Candidate(text.rstrip("\n"))).edits == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('def f(): """Doc."""', 'def f():\n    """Doc."""\n    return 1'),
        ('def f(): """Doc."""  # c\n', 'def f():\n    """Doc."""  # c\n    return 1\n'),
        ('def f(): """Doc."""; pass\n', 'def f():\n    """Doc."""\n    return 1\n'),
        ('def f():\n  """Doc."""; pass\n', 'def f():\n  """Doc."""\n  return 1\n'),
        ('def f():\n    """Doc."""', 'def f():\n    """Doc."""\n    return 1'),
        (
            'class A:\n\tdef f(self): "Doc."\n\tx = 1\n',
            'class A:\n\tdef f(self):\n\t\t"Doc."\n\t\treturn 1\n\tx = 1\n',
        ),
    ],
)
def test_a_docstring_on_the_header_line_becomes_a_block(text: str, expected: str) -> None:
    assert put(text, "def f(): return 1", qualname="A.f" if "class" in text else "f") == expected


@pytest.mark.parametrize(
    ("unit", "written"), [("\t", "    "), ("  ", "    "), ("    ", "\t"), ("    ", "  "), ("   ", "  ")]
)
def test_indentation_follows_the_file(unit: str, written: str) -> None:
    source = (
        "def f(x):\n"
        "    for a in x:\n"
        "        # why\n"
        "        if a:\n"
        "            g(\n"
        "                a,\n"
        "            )\n"
        '        text = """\n'
        "  kept {unit}\n"
        '    """\n'
        "    else:\n"
        "        return text\n"
    )
    body = source.partition("\n")[2]
    result = put(f'def f(x):\n{unit}"""Doc."""\n', source.replace("    ", written).replace(f'\n{written}"', '\n    "'))
    expected = body.replace("    ", unit).replace(f'\n{unit}"""', '\n    """')
    assert result == f'def f(x):\n{unit}"""Doc."""\n{expected}'


def test_line_endings_follow_the_file_and_unusual_separators_stay() -> None:
    text = STUB.replace("\n", "\r\n") + "\r\nX = '\x0c\u2028\x1c'\r\n"
    result = put(text, "def f(numbers, k):\n    s = '''a\n  b\u2028\x0c'''\n\x0c    return s")
    body = "    s = '''a\r\n  b\u2028\x0c'''\r\n    return s\r\n"
    assert result == STUB.replace("\n", "\r\n") + body + "\r\nX = '\x0c\u2028\x1c'\r\n"


@pytest.mark.parametrize(
    "body",
    [
        "    return [1,",
        "    if k\n        return 1",
        "    a = 1\n      b = 2",
        "        a = 1\n    return a",
        "    if k:\n        if k:\n            pass\n          a = 1",
        "    for a in k:\n    return 1",
        "    return 'x",
    ],
)
@pytest.mark.parametrize("unit", ["    ", "\t", "  "])
def test_what_is_broken_is_put_in_place_broken(body: str, unit: str) -> None:
    result = splice(target_in(f'def f(k):\n{unit}"""Doc."""\n'), Candidate(f"def f(k):\n{body}"))
    assert result.text != f'def f(k):\n{unit}"""Doc."""\n'
    with pytest.raises(SyntaxError):
        ast.parse(result.text)


def test_what_only_another_python_can_parse_is_put_in_place_too() -> None:
    assert put(STUB, "def f(numbers, k=1):\n    match k:\n        case 1 => 2\n").endswith("        case 1 => 2\n")


def test_without_a_function_nothing_changes() -> None:
    placed = splice(target_in(STUB), Candidate("", ("import os",)))
    assert (placed.edits, placed.text) == ((), STUB)


@pytest.mark.parametrize(
    ("stub", "kept"),
    [
        ("    # TODO: k may be negative\n    pass\n", "    # TODO: k may be negative\n"),
        ("    pass  # yet\n", "    # yet\n"),
        ("\n    # one\n\n    # two\n\n    ...\n    # three\n", "\n    # one\n\n    # two\n\n    # three\n"),
        ("# at the margin\n    pass\n", "# at the margin\n"),
        ("    raise NotImplementedError('# no')  # soon \n", "    # soon \n"),
        ("    raise NotImplementedError  # pragma: no cover\n", ""),
        ("    ...  # type: ignore[empty-body]\n", ""),
        ("    # one\n    pass  # NOQA\n", "    # one\n"),
        ("    pass  # type of k is open\n", "    # type of k is open\n"),
        ("    raise NotImplementedError(  # a\n        # b\n        '#')\n", "    # a\n        # b\n"),
        ('    raise NotImplementedError("""\n# no\n""")\n', ""),
    ],
)
def test_comments_of_a_stub_stay_above_the_new_body(stub: str, kept: str) -> None:
    assert put(STUB + stub, "def f(numbers, k=1):\n    return k") == f"{STUB}{kept}    return k\n"


def test_only_what_is_no_comment_of_a_stub_is_replaced() -> None:
    text = f"{STUB}    # TODO\r\n    pass\n"
    (edit,) = splice(target_in(text), Candidate("def f(numbers, k=1):\n    return k")).edits
    assert (text[edit.start : edit.end], edit.text) == ("    pass", "    return k")


def test_a_comment_beside_a_docstring_on_the_header_line_stays() -> None:
    text = 'def f(): """Doc."""; pass  # yet\n'
    assert put(text, "def f():\n    return 1") == 'def f():\n    """Doc."""\n    # yet\n    return 1\n'


@pytest.mark.parametrize(
    "written",
    ["    # TODO\n    return k", "    # TODO\n\n    return k", "    x = k\n    # TODO\n    return x", "    # TODO"],
)
def test_a_comment_that_the_candidate_repeats_stands_there_once(written: str) -> None:
    result = put(f"{STUB}    # TODO\n    pass\n", f"def f(numbers, k=1):\n{written}")
    assert result.count("# TODO") == 1
    assert result.startswith(f"{STUB}    # TODO\n")


def test_a_comment_in_a_string_is_none() -> None:
    written = '    return """\n    # TODO\n    """'
    result = put(f"{STUB}    # TODO\n    pass\n", f"def f(numbers, k=1):\n{written}")
    assert result == f"{STUB}    # TODO\n{written}\n"


def test_comments_of_what_is_written_are_part_of_it() -> None:
    text = f"{STUB}    # why\n    x = 1  # one\n    return x\n"
    assert put(text, "def f(numbers, k=1):\n    return k") == f"{STUB}    return k\n"
    assert put(text, "def f(numbers, k=1):\n    x = 1  # one\n    return x") == text, "nothing else has changed"
