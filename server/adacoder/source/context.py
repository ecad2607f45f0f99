"""What a model should see besides the task: ranked pieces of the module, and of what it imports from the project.

Everything is read as text. jedi resolves the types that a signature names in other files; it reads statically, in our
own interpreter's environment: pointed at the user's `.venv` it would start that Python unconfined. The only file that
imports jedi.
"""

from __future__ import annotations

import builtins
import inspect
import keyword
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from adacoder.domain import Span, Target
from adacoder.pytext import Definition, Lines, LogicalLine, dedent, definitions, logical_lines, normalize, statements
from adacoder.source.literal import read_literal
from adacoder.source.text import read

_WORD = re.compile(r"[^\W\d]\w*")
_IMPORT = re.compile(r"(?:import|from)\b")
_ASSIGNMENT = re.compile(r"(?P<name>[^\W\d]\w*)[ \t]*(?::[^=\r\n]*)?=(?!=)")
_DECLARATION = re.compile(r"(?P<name>[^\W\d]\w*)[ \t]*(?::(?!=)|=(?!=))")
_ATTRIBUTE = re.compile(r"self\.(?P<name>\w+)[ \t]*(?::[^=\r\n]*)?=(?!=)")
_STRING = re.compile(r"'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_LONGEST_STRING = 80
"""A longer string says nothing about how to use a constant, and may be a secret."""
_LONGEST_VALUE = 400
"""Characters of a constant's value; a longer one is cut to its beginning."""
_MOST_NAMES = 16
"""Names of a signature that are looked for in other files."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the surroundings, as text with `\\n` at column 0."""

    kind: str
    """`imports`, `class`, `mentioned`, `type` or `module`."""
    text: str


class _Name(Protocol):
    """What is used of jedi's `Name`: where a name is defined."""

    @property
    def name(self) -> str: ...
    @property
    def full_name(self) -> str | None: ...
    @property
    def module_name(self) -> str: ...
    @property
    def module_path(self) -> Path | None: ...


class _Script(Protocol):
    """What is used of jedi's `Script`."""

    def goto(self, line: int, column: int, *, follow_imports: bool) -> Sequence[_Name]: ...


def pieces(target: Target, overlays: Mapping[Path, str] | None = None) -> tuple[Piece, ...]:
    """The surroundings of `target`, the most telling first; always the same for the same texts.

    `overlays` are the texts of open files. The target's own body is never among them.
    """
    text = target.text
    found = definitions(text)
    own = next(each for each in found if each.header == target.header)
    mentioned = set(_WORD.findall(f"{target.signature} {target.docstring}"))
    imports = _import_lines(text, found)
    module = list(_module_names(text, found, own, mentioned))
    ranked = [
        *_imports(text, imports),
        *_class(found, own),
        *(Piece("mentioned", shown) for name, shown in module if name in mentioned),
        *_types(target, imports, overlays or {}),
        *(Piece("module", shown) for name, shown in module if name not in mentioned),
    ]
    return tuple(dict.fromkeys(ranked))


def _imports(text: str, lines: Sequence[LogicalLine]) -> Iterator[Piece]:
    if lines:
        yield Piece("imports", "\n".join(_shown(text[line.start : line.code_end]) for line in lines))


def _import_lines(text: str, found: Sequence[Definition]) -> list[LogicalLine]:
    """The module's imports, those under `try` and `if` too."""
    inside = {line.start for each in found if not each.parents for line in each.lines}
    return [line for line in logical_lines(text) if _IMPORT.match(text, line.start) and line.start not in inside]


def _class(found: Sequence[Definition], own: Definition) -> Iterator[Piece]:
    """The class around a method."""
    if own.parents:
        yield Piece("class", _listing(own.parents[-1], found, own))


def _listing(owner: Definition, found: Sequence[Definition], own: Definition | None = None) -> str:
    """A class as it is used: its header, what its instances have, and how its methods are called; of `own`, which
    is to be written, nothing."""
    members = [each for each in found if each.parents and each.parents[-1] is owner and each is not own]
    shown = [_header(owner), *_summary(owner)]
    shown += [f"    {line}" for line in _assignments(owner)]
    shown += [f"    # self.{name}" for name in _attributes(members)]
    for member in members:
        if own is None or member.name != own.name:
            shown += [f"    {line}" for line in _outline(member).split("\n")]
    return "\n".join(shown if len(shown) > 1 else [*shown, "    ..."])


def _assignments(owner: Definition) -> Iterator[str]:
    """The attributes that the class body itself declares or sets."""
    body = owner.body_lines
    for line in body:
        declaration = _DECLARATION.match(owner.text, line.start)
        if declaration and line.width == body[0].width and not keyword.iskeyword(declaration["name"]):
            yield _shortened(owner.text[line.start : line.code_end])


def _attributes(members: Sequence[Definition]) -> list[str]:
    """What the methods of a class set on its instances."""
    texts = (member.span.of(member.text) for member in members if not member.is_class)
    return list(dict.fromkeys(match["name"] for text in texts for match in _ATTRIBUTE.finditer(text)))


def _module_names(
    text: str, found: Sequence[Definition], own: Definition, mentioned: set[str]
) -> Iterator[tuple[str, str]]:
    """The functions, classes and constants of the module, each with how it is used; of classes `mentioned`, all."""
    outermost = (*own.parents, own)[0].name
    shown = {
        each.header.start: (
            each.name,
            _listing(each, found) if each.is_class and each.name in mentioned else _outline(each),
        )
        for each in found
        if not each.parents and each.name != outermost
    }
    shown |= {
        span.start: (assigned["name"], _shortened(span.of(text)))
        for span in statements(text)
        if (assigned := _ASSIGNMENT.match(text, span.start))
    }
    for start in sorted(shown):
        yield shown[start]


def _outline(definition: Definition) -> str:
    """A definition without its body: decorators, header, the first line of its docstring."""
    before = definition.lines[: definition.header_index]
    decorators = [_shown(definition.text[line.start - len(line.indent) : line.code_end]) for line in before]
    return "\n".join([*decorators, _header(definition), *(_summary(definition) or ["    ..."])])


def _header(definition: Definition) -> str:
    header = definition.header
    return _shown(definition.text[header.start - len(definition.header_line.indent) : header.end])


def _summary(definition: Definition) -> list[str]:
    if definition.docstring is None:
        return []
    value = read_literal(definition.docstring.of(definition.text)).value
    first = inspect.cleandoc(value).split("\n", 1)[0]
    return [f'    """{first}"""'] if first else []


def _shown(text: str) -> str:
    """A part of a module as a model sees it: at column 0, and without long strings."""

    def short(match: re.Match[str]) -> str:
        literal = match.group()
        return literal if len(literal) <= _LONGEST_STRING else f"{literal[0]}…{literal[0]}"

    return dedent(_STRING.sub(short, normalize(text)))


def _shortened(text: str) -> str:
    """A constant's statement, not too long."""
    text = _shown(text)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE].rstrip()} …"


def _types(target: Target, imports: Sequence[LogicalLine], overlays: Mapping[Path, str]) -> list[Piece]:
    """What the signature names and other files of the project define: classes with what they have, aliases, helpers."""
    import jedi  # heavy, and needed only when a model is asked

    found: list[Piece] = []
    root = target.module.root
    try:
        # jedi keeps what it has parsed on disk; nothing of the user's text shall stay there.
        with tempfile.TemporaryDirectory(prefix="adacoder-") as folder:
            jedi.settings.cache_directory = folder
            project = jedi.Project(root, sys_path=[str(root)], smart_sys_path=False)
            environment = jedi.InterpreterEnvironment()
            script = jedi.Script(target.text, path=target.module.path, project=project, environment=environment)
            for name in _named(script, target, imports):
                path = name.module_path
                if path is None or path == target.module.path or not path.is_relative_to(root):
                    continue
                if "site-packages" not in path.parts:
                    text = overlays[path] if path in overlays else read(path).text
                    found += _defined(name, text)
    except Exception:  # jedi fails in many ways on odd code; then there is less to show, no more
        return found
    return found


def _named(script: _Script, target: Target, imports: Sequence[LogicalLine]) -> Iterator[_Name]:
    """Where the names in the signature of `target` are defined."""
    text = target.text
    lines = Lines(text)
    words = dict.fromkeys(_WORD.findall(target.signature))
    known = {target.name, *keyword.kwlist, *vars(builtins)}
    for word in [word for word in words if word not in known][:_MOST_NAMES]:
        whole = re.compile(rf"\b{word}\b")
        # jedi does not look into a quoted annotation; what it finds nothing of there is looked up where it is imported.
        for span in (target.header, *(Span(line.start, line.code_end) for line in imports)):
            if match := whole.search(text, span.start, span.end):
                line = lines.line_at(match.start())
                if found := script.goto(line + 1, match.start() - lines.starts[line], follow_imports=True):
                    yield from found
                    break


def _defined(name: _Name, text: str) -> Iterator[Piece]:
    """The definition of `name` in the text of its module."""
    qualname = (name.full_name or name.name).removeprefix(f"{name.module_name}.")
    found = definitions(text)
    shown = [_listing(each, found) if each.is_class else _outline(each) for each in found if each.qualname == qualname]
    shown += [
        _shortened(span.of(text))
        for span in statements(text)
        if (assigned := _ASSIGNMENT.match(text, span.start)) and assigned["name"] == qualname
    ]
    for each in shown:
        yield Piece("type", f"# from {name.module_name}\n{each}")
