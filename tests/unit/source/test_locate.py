"""Find a function by position or name, in any state of the file."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import Target, TargetError
from adacoder.project import module_of
from adacoder.pytext import Lines
from adacoder.source.locate import functions, locate
from adacoder.source.text import read
from support.cases import tables, with_margin
from support.paths import FIXTURES

PATH = Path("/w/pkg/m.py")
LINES = {name: with_margin(text) for name, text in tables(__file__).items()}
MODULES = {name: "\n".join(line for _, line in lines) for name, lines in LINES.items()}
TEXT, ACCESSORS = MODULES["functions"], MODULES["accessors"]
POSITIONS = [
    pytest.param(MODULES[name], number, margin, id=f"line {number + 1} of {name}")
    for name, lines in LINES.items()
    for number, (margin, _) in enumerate(lines)
]


def at(line: int, text: str = TEXT) -> Target:
    return locate(text, PATH, PATH.parent, line=line)


def named(qualname: str, text: str = TEXT) -> Target:
    return locate(text, PATH, PATH.parent, qualname=qualname)


@pytest.mark.parametrize(("text", "line", "margin"), POSITIONS)
def test_every_line_leads_to_its_function(text: str, line: int, margin: str) -> None:
    try:
        found = at(line, text).docstring
    except TargetError as error:
        found = str(error)
    assert (margin or f"no function at line {line + 1} of {PATH}: put the cursor on one") in found.partition("\n")[0]


@pytest.mark.parametrize("line", [-1, 13, 99])
def test_a_line_outside_the_text_leads_to_no_function(line: int) -> None:
    with pytest.raises(TargetError, match=f"no function at line {line + 1} .*put the cursor on one"):
        at(line, MODULES["blanks"])


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
    return [one.target.qualname for one in functions(TEXT, PATH, PATH.parent)]


def test_of_several_functions_of_a_name_the_one_with_a_docstring() -> None:
    assert named("Shape.area").docstring == "The getter."


@pytest.mark.parametrize(
    ("qualname", "says"),
    [
        ("outre", "did you mean 'outer'"),
        ("zzz", "check its name"),
        ("outer.inner", "is inside a function"),
        ("outer.<locals>.inner", "is inside a function"),
        ("Shape", "There is no function 'Shape' .* it is a class, so name one of its methods"),
        ("one_line", "did you mean 'Shape.Inner.one_line'"),
    ],
)
def test_what_cannot_be_a_target_says_why(qualname: str, says: str) -> None:
    with pytest.raises(TargetError, match=says):
        named(qualname)


def test_of_a_property_the_getter_and_of_overloads_the_function() -> None:
    assert named("Price.net", ACCESSORS).docstring == "The getter."
    assert named("Price.of", ACCESSORS).docstring == "For both."


def test_the_declaration_of_an_overload_is_no_target() -> None:
    with pytest.raises(TargetError, match="'of' is only declared here, as an overload: choose the function after"):
        at(10, ACCESSORS)
    declared = ACCESSORS.replace('    def of(self, x):\n        """For both."""\n', "")
    with pytest.raises(TargetError, match="as an overload"):
        named("Price.of", declared)
    with pytest.raises(TargetError, match="'of' has no docstring"):
        named("Price.of", ACCESSORS.replace('        """For both."""\n', "        return x\n"))


def test_what_only_declares_types_has_no_targets() -> None:
    for find in (
        lambda path: locate(TEXT, path, path.parent, qualname="outer"),
        lambda path: locate(TEXT, path, path.parent, line=3),
        lambda path: functions(TEXT, path, path.parent),
    ):
        with pytest.raises(TargetError, match=r"m\.pyi only declares types, .*: go to m\.py\."):
            find(PATH.with_suffix(".pyi"))
        assert find(PATH)


def test_declarations_of_overloads_are_not_among_the_functions() -> None:
    assert [one.target.docstring for one in functions(ACCESSORS, PATH, PATH.parent)] == [
        "The getter.",
        "The setter.",
        "For both.",
    ]


def test_inside_a_function_that_nothing_reaches_the_one_around_it_is_meant() -> None:
    text = 'def outer():\n    {doc}\n    def inner():\n        """Inner."""\n    return inner\n'
    assert at(3, text.format(doc='"""Outer."""')).qualname == "outer"
    with pytest.raises(TargetError, match=r"'outer\.inner' is inside a function, .*: move it out"):
        at(3, text.format(doc="x = 1"))
    with pytest.raises(TargetError, match="'outer' has no docstring"):
        at(1, text.format(doc="x = 1"))


def test_a_name_is_the_one_python_knows() -> None:
    text = 'def \u00b5(x):\n    """Micro."""\n'
    assert named("\u00b5", text).qualname == "\u03bc"
    assert named("\u03bc", text).qualname == "\u03bc"


def test_a_signature_that_is_being_typed_is_not_a_target_yet() -> None:
    text = 'def f(x)\n    """Doc."""\n    return x\n\ndef g(x):\n    """Doc."""\n'
    with pytest.raises(TargetError, match="The signature of 'f' does not end with a colon yet: complete it"):
        at(0, text)
    assert [one.target.name for one in functions(text, PATH, PATH.parent)] == ["g"]


def test_a_body_on_the_line_of_its_docstring_is_replaced_from_there() -> None:
    text = 'def f(x): """Doc."""; return 1  # one\ny = 2\n'
    assert named("f", text).body.of(text) == "; return 1  # one"
    text = 'def f(x): """Doc."""  # note\ny = 2\n'
    assert named("f", text).body.of(text) == ""


PARTS = """def f(x):
    (
        r'''Doc.

        >>> f(1)
        '''  # one
        "\\n"
        '>>> f(2)\\n' "2"
    ){}
    return x
"""


@pytest.mark.parametrize("more", ["", "  # noqa", "; y = 1"])
def test_a_docstring_in_brackets_and_parts_is_one(more: str) -> None:
    text = PARTS.format(more)
    target = named("f", text)
    assert target == at(2, text) == at(9, text)
    assert (target.docstring_span.of(text)[0], target.docstring_span.of(text)[-1]) == ("(", ")")
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef)
    assert target.docstring == ast.get_docstring(node)
    assert [(example.source, example.line) for example in target.examples] == [("f(1)\n", 4), ("f(2)\n", 7)]
    assert target.body.of(text) == ("; y = 1" if "y" in more else "") + "\n    return x"
    assert named("f", text.replace("return x", "pass")).is_stub is ("y" not in more)


@pytest.mark.parametrize("opened", ['s = """open', 'def g():\n    """Open.\n', "s = f'{x", "s = [", '"""'])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_what_is_left_open_above_hides_no_function(opened: str, ending: str) -> None:
    text = f'{opened}\n\ndef f(x):\n    """Doc of f."""\n    return x\n'.replace("\n", ending)
    line = opened.count("\n") + 4
    assert at(line, text) == named("f", text)
    assert at(line, text).body.of(text) == f"{ending}    return x"


def test_a_quote_left_open_below_hides_no_function() -> None:
    text = (
        'def f(x):\n    """Doc of f."""\n    return x\n\ndef new(x):\n    """Says\n\ndef g(x):\n    """Doc of g."""\n'
    )
    assert [one.target.name for one in functions(text, PATH, PATH.parent)] == ["f", "g"]


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


@given(
    st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["    ", "\t", "  "]), st.sampled_from(["\f", "\x1c", ""])
)
def test_line_endings_tabs_and_form_feeds_do_not_matter(ending: str, indent: str, mark: str) -> None:
    lines = [
        f'x = "{mark}"',
        mark if mark == "\f" else "",
        "def größe(ä):",
        f'{indent}"""Doc."""',
        f"{indent}return ä",
        "y = 1",
    ]
    text = ending.join(lines)
    target = locate(text, PATH, PATH.parent, line=4)
    assert (target.qualname, target.body.of(text)) == ("größe", f"{ending}{indent}return ä")


@given(st.text(alphabet="def f():\n \t\"'#(x", max_size=60), st.integers(0, 10))
def test_any_text_gives_a_target_or_a_sentence(text: str, line: int) -> None:
    try:
        target = locate(text, PATH, PATH.parent, line=line)
    except TargetError as error:
        sentence = str(error)
    else:
        sentence = "."
        assert target.definition.start <= target.header.start < target.docstring_span.start <= target.body.start
        assert target.body.end == target.definition.end
    assert sentence.endswith(".")


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
        src / "taken-name.py": ("taken_name_", src),
        src / "__main__.py": ("___main__", src),
        package(src, "my-pkg") / "m.py": ("my-pkg.m", src),
        package(tmp_path, "scripts") / "run.py": ("run", tmp_path / "scripts"),
    }
    (src / "my-pkg" / "__init__.py").touch()
    (src / "taken_name.py").touch()
    for path, (name, root) in expected.items():
        module = module_of(path, "", tmp_path)
        assert (module.name, module.root, module.is_package) == (name, root, path.name == "__init__.py")


def test_relative_imports_show_a_package_without_an_init(tmp_path: Path) -> None:
    path = package(tmp_path, "pkg", "sub") / "m.py"
    assert module_of(path, "import os\n", tmp_path).name == "m"
    assert module_of(path, "from . import a\n", tmp_path).name == "sub.m"
    assert module_of(path, "from .. import a\n", tmp_path).name == "pkg.sub.m"
    assert module_of(path, "from .... import a\n", tmp_path).root == tmp_path
    assert module_of(path, "if a:\r    from ..b import c\r", tmp_path).name == "pkg.sub.m"
    assert module_of(path, '"""\nfrom . import a\n"""\n', tmp_path).name == "m"
    assert module_of(path, "x = 'a\\\nfrom .. import a'\nfrom . import b\n", tmp_path).name == "sub.m"
    assert module_of(path, "x = 1; from .. import a\n# from .. import b\n", tmp_path).name == "m"


def test_a_package_around_folders_without_an_init_is_part_of_the_name(tmp_path: Path) -> None:
    path = package(tmp_path, "src", "pkg", "sub") / "m.py"
    (path.parent.parent / "__init__.py").touch()
    assert module_of(path, "from . import a\n", tmp_path).name == "pkg.sub.m"
    assert module_of(path, "import a\n", tmp_path).name == "m"


def test_a_namespace_package_is_part_of_the_name(tmp_path: Path) -> None:
    path = package(tmp_path, "jaraco", "functools") / "__init__.py"
    path.touch()
    assert (module_of(path, "", tmp_path).name, module_of(path, "", tmp_path).root) == ("jaraco.functools", tmp_path)
    text = path.parent.parent / "text.py"
    assert module_of(text, "", tmp_path).name == "text"
    assert module_of(text, "import jaraco\n", tmp_path).name == "text"
    assert module_of(text, "from jaraco.functools import x\n", tmp_path).name == "jaraco.text"
    assert module_of(text, "def f():\n    import jaraco.functools\n", tmp_path).name == "jaraco.text"
    assert module_of(text, '"""\nfrom jaraco.functools import x\n"""\n', tmp_path).name == "text"
    assert module_of(text, "from jaraco.functools import x\n", text.parent).name == "text"
    (text.parent / "jaraco").mkdir()
    assert module_of(text, "from jaraco.functools import x\n", tmp_path).name == "text"
    assert module_of(tmp_path / "types.py", "", tmp_path).root == tmp_path


def test_a_module_knows_its_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = module_of(Path("m.py"), "", Path())
    assert (module.path, module.root) == (tmp_path / "m.py", tmp_path)


STUBS = FIXTURES / "stubs"


@pytest.mark.parametrize("path", sorted(STUBS.rglob("*.py")), ids=lambda path: path.name)
def test_every_stub_is_found_with_its_parts(path: Path) -> None:
    text = read(path).text
    lines = Lines(text)
    for target in (one.target for one in functions(text, path, STUBS)):
        assert (target.module.name.split(".")[0], target.module.root) == ("shop", STUBS)
        assert re.fullmatch(rf"(async )?def {target.name}\(.*:", target.signature, re.DOTALL)
        assert text[target.docstring_span.start :].startswith('"""')
        assert target.docstring_span.of(text).endswith('"""')
        assert (
            target.body.of(text).strip().partition("  #")[0]
            in (
                *("", "pass", "...", "raise NotImplementedError"),
                '# ten columns are all there are\n            raise NotImplementedError("printing")',
            )
            or not target.is_stub
        )
        assert target.definition.start <= target.header.start < target.docstring_span.start < target.body.start
        assert target.body.end == target.definition.end
        for example in target.examples:
            assert lines[example.line].strip() == f">>> {example.source}".split("\n")[0].rstrip()
        for line in range(lines.line_at(target.definition.start), lines.line_at(target.definition.end) + 1):
            assert locate(text, path, STUBS, line=line) == target
