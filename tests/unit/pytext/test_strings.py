"""Strings end where Python ends them. An unclosed string does not affect the rest of the file."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import Span
from adacoder.pytext import definitions, leaves_string_open, long_strings, string_interiors, string_literals

QUOTED = st.text(alphabet=st.sampled_from("'\"#\\\n\r\u2028\x1c\x85rRfFb {}a=(,"), max_size=60)


def test_strings_are_those_that_python_finds() -> None:
    text = (
        "'a' \"b\" r'\\\\' b'c' # 'no'\n"
        '\'\'\'d\n""" # \'\'\' + """e\\"""" + \'\'\n'
        "'f\\\ng' + 'h\\'' + '\\\\'\n"
        "x = '\x1c\u2028\x85 # y' # '''\n"
    )
    found = [literal.of(text) for literal in string_literals(text, 0, len(text))]
    assert [each.lstrip("rb") for each in tokens(text)] == found


def tokens(text: str) -> Iterator[str]:
    reader = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    return (token.string for token in reader if token.type == tokenize.STRING)


@given(QUOTED, st.integers(0, 60))
def test_long_strings_are_found_without_reading_all_of_the_text(text: str, end: int) -> None:
    every = string_literals(text, 0, len(text))
    assert long_strings(text, end) == [
        each for each in every if text.startswith(("'''", '"""'), each.start) and each.start + 3 <= end
    ]


@given(QUOTED)
def test_the_strings_of_any_text_are_in_order(text: str) -> None:
    end = 0
    for literal in string_literals(text, 0, len(text)):
        assert end <= literal.start < literal.end <= len(text)
        assert text[literal.start] in "'\""
        end = literal.end


@pytest.mark.parametrize(
    "literal",
    [
        """f'{d["a"]}'""",
        """f'{d['a']}'""",
        '''f"{d["a:("]}"''',
        '''f"{"#"}"''',
        '''F"{f"{f"{1}"}"}"''',
        '''rf"\\{"a"}\\""''',
        '''t"{x!r:{"w"}}"''',
        '''f"{x:%H:%M}{{}}{y:{'>'}{10}}"''',
        '''f"\\N{BULLET}{'a'}"''',
        '''f"{(lambda: {'a': 1})()}"''',
        'f"""{\n  x["a"]  # }\n}"""',
        'f"""{"""a"""}"""',
        """f'''{x["'"]}'''""",
    ],
)
def test_fields_of_formatted_strings_may_hold_their_quotes(literal: str) -> None:
    text = f"g({literal}, 'after')"
    quote_at = text.index(literal) + len(literal) - len(literal.lstrip("rfFt"))
    first, second = string_literals(text, 0, len(text))
    assert first == Span(quote_at, text.index(literal) + len(literal))
    assert second.of(text) == "'after'"


@pytest.mark.parametrize(
    "text", ["f'{x' + 'y'", "f'{x:{y' + 'z'", "f'{x:y' + 'z'", "f'{)' + 'y'", "f'{#' + 'y'", "elif'{' 'x'"]
)
def test_a_field_that_is_half_typed_ends_with_its_string(text: str) -> None:
    assert len(list(string_literals(text, 0, len(text)))) == 2


@pytest.mark.parametrize("part", ["f\"{f'{", 'f"{', "f'{x:{y:", 'f"""{', "rf'''{"])
def test_strings_in_fields_are_followed_as_deep_as_anybody_writes_them(part: str) -> None:
    text = part * 3000
    assert list(string_literals(text, 0, len(text)))


FUNCTION = '''def f(x):
    """{}Doc of f.

    >>> f(1)
    1
    """
    return x
'''
ANOTHER = '''
def g(x):
    """Doc of g."""
    return f"""{x}"""
'''
OPEN = {
    "a string": 's = """open',
    "another quote": "s = '''open",
    "a formatted string": 's = f"""open {x}',
    "a field": 's = f"""open {x',
    "a raw string": 's = r"""open \\',
    "an argument": 's = g("""open',
    "a bare quote": '"""',
    "the module's docstring": '"""The module (it is long).\n\nIt\'s open.\n\nimport os',
    "a function's docstring": 'def open(x):\n    """Is open.\n\n    Says nothing [yet.\n    return x',
    "a class's docstring": 'class Open:\n    """Is open.\n\n    def method(self):\n        pass',
}


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\n    "], ids=["beside", "below"])
@pytest.mark.parametrize("opened", OPEN.values(), ids=OPEN)
def test_a_string_left_open_hides_no_function(opened: str, start: str, ending: str) -> None:
    text = f"{opened}\n\n{FUNCTION.format(start)}{ANOTHER}".replace("\n", ending)
    found = {each.name: each for each in definitions(text)}
    assert found["f"].span.of(text) == FUNCTION.format(start).replace("\n", ending).rstrip()
    assert found["g"].span.of(text) == ANOTHER.strip().replace("\n", ending)
    for name in "fg":
        docstring = found[name].docstring
        assert docstring is not None
        assert docstring.of(text).strip('"').strip().startswith(f"Doc of {name}.")


CODE_IN_STRINGS = '''TEXT = """
def no():
    """
MORE = """
class No:
    """ + TEXT if TEXT else """
def no(): \'\'\'no\'\'\'
""" r"""
def no():
   """  # None at all
g("""
def no():
    """
    and TEXT)
"""
def no():
    """; x = 1
x: str = """
@no
def no():
  """ \\
    .strip()
if True:
    print("""
def no():
        """
    )
def yes():
    """Yes:
    """
    Big = 1
def also():
    """Also.

    Args:
        """
    DEBUG and print(1)
'''


def test_code_in_strings_that_python_reads_stays_in_them() -> None:
    expected = [node.name for node in ast.walk(ast.parse(CODE_IN_STRINGS)) if isinstance(node, ast.FunctionDef)]
    assert [each.name for each in definitions(CODE_IN_STRINGS)] == expected == ["yes", "also"]


@pytest.mark.parametrize(
    "typed", ["    return the", "    ret", "    foo bar", "    >>> f(1)", "    Result.", "result of"]
)
def test_what_somebody_types_below_a_docstring_does_not_open_it(typed: str) -> None:
    text = f'def f():\n    """Doc.\n\n    Example:\n    """\n{typed}\n\ndef g():\n    """G."""\n'
    assert [each.docstring is not None for each in definitions(text)] == [True, True]


def test_lines_that_begin_in_strings() -> None:
    text = "x = '''a\nb\n''' + 'c\\\nd' # '''\n\"\"\"e\n"
    assert string_interiors(text) == {1, 2, 3}


DOCSTRINGS = {
    '"Doc."': True,
    '("Doc.")': True,
    "'Do' 'c.'": True,
    """('Do' "c.")""": True,
    "((\n    'Do'  # first\n\n    r'''c.''' \\\n    ))": True,
    '"Do" \\\n        "c."': True,
    'u"""Doc."""; x = 1': True,
    '("Doc."); x = 1': True,
    '"Doc.",': False,
    '("Doc.",)': False,
    '("Doc.") + x': False,
    '("Do")("c.")': False,
    '"Do" f"c."': False,
    'f"Doc."': False,
    'b"Doc."': False,
    '"Doc.".strip()': False,
    "()": False,
}


@pytest.mark.parametrize("shape", ["def f(): {}\n", "def f():\n    {}\n    return 1\n", "class C:\n\t# c\n\t{}\n"])
@pytest.mark.parametrize(("expression", "is_docstring"), DOCSTRINGS.items())
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_a_docstring_may_stand_in_brackets_and_have_parts(shape: str, expression: str, is_docstring: bool) -> None:
    text = shape.format(expression)
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    assert (ast.get_docstring(node) == "Doc.") is is_docstring
    (found,) = definitions(text)
    expected = expression.removesuffix("; x = 1") if is_docstring else None
    assert (found.docstring and found.docstring.of(text)) == expected


@pytest.mark.parametrize("expression", ['("Doc."', '("Do") "c."', '("Do" "c.', '"Do" b"c."'])
def test_what_no_python_reads_is_no_docstring(expression: str) -> None:
    (found,) = definitions(f"def f():\n    {expression}\n")
    assert found.docstring is None


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ('x = """a\n', True),
        ('x = """a\n"""', False),
        ("x = 'a\n", False),
        ('# """\n', False),
        ('x = \'"""\'\n', False),
        ('x = \'\'\'"""\n\'\'\'\n"""\\"""', True),
    ],
)
def test_a_string_that_is_never_closed_is_told(text: str, is_open: bool) -> None:
    assert leaves_string_open(text) is is_open
