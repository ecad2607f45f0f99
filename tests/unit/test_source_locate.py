"""The function at a position or of a name, in whatever state the file is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import Target, TargetError
from adacoder.source.locate import functions, locate, module_of

PATH = Path("/w/pkg/m.py")
TEXT = '''import os

@cache
def outer(x,
          y=":"):  # signature
    """Outer.

    >>> outer(1)
    1
    """  # noqa
    def inner():
        return """
def at_column_zero():
'''
TEXT += '''"""
    return x

    # still outer
# no longer


class Shape:
    """A shape."""

    @property
    def area(self):
        """The getter."""
        return 1

    @area.setter
    def area(self, value):
        self.x = value

    class Inner:
        def one_line(self): """Doc."""

\tdef tabbed(self):
\t\t"""Tabs."""
\t\treturn 1; x = 2
'''


def at(line: int, text: str = TEXT) -> Target:
    return locate(text, PATH, PATH.parent, line=line)


def named(qualname: str, text: str = TEXT) -> Target:
    return locate(text, PATH, PATH.parent, qualname=qualname)


@pytest.mark.parametrize("line", [2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 15, 16])
def test_every_line_of_a_function_leads_to_it(line: int) -> None:
    assert at(line).qualname == "outer"


@pytest.mark.parametrize("line", [0, 17, 18, 20, 21, 99])
def test_a_line_outside_any_function_says_so(line: int) -> None:
    with pytest.raises(TargetError, match=f"no function at line {line + 1} .*put the cursor on one"):
        at(line)


def test_the_parts_of_a_function() -> None:
    target = named("outer")
    assert target.source.startswith("@cache\ndef outer")
    assert target.source.endswith("    # still outer")
    assert target.signature == 'def outer(x,\n          y=":"):'
    assert target.docstring_span.of(TEXT) == '"""Outer.\n\n    >>> outer(1)\n    1\n    """'
    assert target.docstring == "Outer.\n\n>>> outer(1)\n1"
    assert target.body.of(TEXT).startswith("\n    def inner():")
    assert [(example.source, example.line) for example in target.examples] == [("outer(1)\n", 7)]
    assert (target.indent, target.in_class, target.is_stub) == ("", False, False)


def test_methods_and_nested_classes() -> None:
    assert named("Shape.Inner.one_line").is_stub
    assert named("Shape.Inner.one_line").body.of(TEXT) == ""
    tabbed = named("Shape.Inner.tabbed") if "Shape.Inner.tabbed" in names() else named("Shape.tabbed")
    assert (tabbed.indent, tabbed.in_class) == ("\t", True)


def names() -> list[str]:
    return [target.qualname for target in functions(TEXT, PATH, PATH.parent)]


def test_of_several_functions_of_a_name_the_one_with_a_docstring() -> None:
    assert named("Shape.area").docstring == "The getter."
    with pytest.raises(TargetError, match="has no docstring"):
        at(TEXT.split("\n").index("        self.x = value"))


@pytest.mark.parametrize(
    ("qualname", "says"),
    [
        ("outre", "did you mean 'outer'"),
        ("zzz", "check its name"),
        ("outer.inner", "stands inside a function"),
        ("Shape", "There is no function 'Shape'"),
    ],
)
def test_what_cannot_be_a_target_says_why(qualname: str, says: str) -> None:
    with pytest.raises(TargetError, match=says):
        named(qualname)


@pytest.mark.parametrize("broken", ["x = (\n", "def (:\n", "if True\n    pass\n", "s = 'open\n", "\u00a0= 1\n"])
def test_a_syntax_error_elsewhere_does_not_matter(broken: str) -> None:
    text = f'{broken}def f(x):\n    """Doc."""\n    return x\n\n{broken}'
    target = named("f", text)
    assert target.body.of(text) == "\n    return x"


@pytest.mark.parametrize(
    ("body", "is_stub"),
    [
        ("", True),
        ("\n    pass", True),
        ("\n    ...  # later", True),
        ("\n    # nothing yet", True),
        ("\n    raise NotImplementedError", True),
        ('\n    raise NotImplementedError("later")', True),
        ("\n    pass\n    ...", True),
        ("; pass", True),
        ("\n    return None", False),
        ("\n    raise ValueError", False),
        ("\n    pass_through()", False),
    ],
)
def test_what_a_stub_is(body: str, is_stub: bool) -> None:
    assert named("f", f'def f():\n    """Doc."""{body}\n').is_stub is is_stub


@given(st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["    ", "\t", "  "]), st.sampled_from(["\f", "\x1c", ""]))
def test_line_endings_tabs_and_form_feeds_do_not_matter(ending: str, indent: str, mark: str) -> None:
    lines = [f'x = "{mark}"', mark if mark == "\f" else "", "def größe(ä):", f'{indent}"""Doc."""', f"{indent}return ä", "y = 1"]
    text = ending.join(lines)
    target = locate(text, PATH, PATH.parent, line=4)
    assert (target.qualname, target.body.of(text)) == ("größe", f"{ending}{indent}return ä")


@given(st.text(alphabet="def f():\n \t\"'#(x", max_size=60), st.integers(0, 10))
def test_any_text_gives_a_target_or_a_sentence(text: str, line: int) -> None:
    try:
        target = locate(text, PATH, PATH.parent, line=line)
    except TargetError as error:
        assert str(error).endswith(".")
    else:
        assert target.definition.start <= target.header.start < target.docstring_span.start <= target.body.start
        assert target.body.end == target.definition.end


def package(root: Path, *parts: str) -> Path:
    folder = root.joinpath(*parts)
    folder.mkdir(parents=True)
    return folder


def test_a_module_is_named_as_it_is_imported(tmp_path: Path) -> None:
    folder = package(tmp_path, "src", "pkg", "sub")
    for each in (folder, folder.parent):
        (each / "__init__.py").touch()
    src = tmp_path / "src"
    expected = {
        folder / "m.py": ("pkg.sub.m", src),
        folder / "__init__.py": ("pkg.sub", src),
        src / "top.py": ("top", src),
        src / "my-script.py": ("my_script", src),
        src / "2nd.py": ("_2nd", src),
    }
    for path, (name, root) in expected.items():
        module = module_of(path, "", tmp_path)
        assert (module.name, module.root, module.is_package) == (name, root, path.name == "__init__.py")


def test_relative_imports_show_a_package_without_an_init(tmp_path: Path) -> None:
    path = package(tmp_path, "pkg", "sub") / "m.py"
    assert module_of(path, "import os\n", tmp_path).name == "m"
    assert module_of(path, "from . import a\n", tmp_path).name == "sub.m"
    assert module_of(path, "from .. import a\n", tmp_path).name == "pkg.sub.m"
    assert module_of(path, "from .... import a\n", tmp_path).root == tmp_path
