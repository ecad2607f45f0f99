"""What a model should see besides the task: ranked pieces of the module, and of what it imports from the project.

Everything is read as text. jedi resolves the types that a signature names in other files; it reads statically, in our
own interpreter's environment: pointed at the user's `.venv` it would start that Python unconfined. The only file that
imports jedi.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from adacoder.domain import Span, Target
from adacoder.pytext import Definition, Lines, dedent, definitions, normalize, statements

_WORD = re.compile(r"[^\W\d]\w*")
_IMPORT = re.compile(r"(?:import|from)\b")
_ASSIGNMENT = re.compile(r"(?P<name>[^\W\d]\w*)[ \t]*(?::[^=\n]*)?=(?!=)")
_DECLARATION = re.compile(r"[^\W\d]\w*[ \t]*(?::(?!=)|=(?!=))")
_ATTRIBUTE = re.compile(r"self\.(?P<name>\w+)[ \t]*(?::[^=\n]*)?=(?!=)")
_STRING = re.compile(r"'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_LONGEST_STRING = 80
"""A longer string says nothing about how to use a constant, and may be a secret."""
_LONGEST_VALUE = 400
"""Characters of a constant's value; a longer one is cut to its beginning."""
_MOST_TYPES = 8
"""Names of a signature that are looked for in other files."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the surroundings, as text with `\\n` at column 0."""

    kind: str
    """`imports`, `class`, `mentioned`, `type` or `module`."""
    text: str


def pieces(target: Target, overlays: Mapping[Path, str] | None = None) -> tuple[Piece, ...]:
    """The surroundings of `target`, the most telling first; always the same for the same texts.

    `overlays` are the texts of open files. The target's own body is never among them.
    """
    text = normalize(target.text)
    found = definitions(text)
    mentioned = set(_WORD.findall(f"{target.signature} {target.docstring}"))
    module = list(_module_names(text, found, target))
    ranked = [
        *_imports(text),
        *_class(text, found, target),
        *(Piece("mentioned", shown) for name, shown in module if name in mentioned),
        *_types(target, overlays or {}),
        *(Piece("module", shown) for name, shown in module if name not in mentioned),
    ]
    return tuple(dict.fromkeys(ranked))


def _imports(text: str) -> Iterator[Piece]:
    lines = [span.of(text) for span in statements(text) if _IMPORT.match(text, span.start)]
    if lines:
        yield Piece("imports", "\n".join(lines))


def _class(text: str, found: list[Definition], target: Target) -> Iterator[Piece]:
    """The class around a method: its header, what its instances have, and how its other methods are called."""
    owner = target.qualname.rpartition(".")[0]
    for each in found:
        if not target.in_class or not each.is_class or each.qualname != owner:
            continue
        members = [inner for inner in found if inner.parents and inner.parents[-1].header == each.header]
        shown = [_header(each), *_summary(each)]
        shown += [f"    {line}" for line in _assignments(each, members)]
        shown += [f"    # self.{name}" for name in _attributes(members)]
        for member in members:
            if member.name != target.name:
                shown += [f"    {line}" for line in _outline(member).split("\n")]
        yield Piece("class", "\n".join(shown))


def _assignments(owner: Definition, members: list[Definition]) -> Iterator[str]:
    """The attributes that the class body itself declares or sets."""
    inside = [member.span for member in members]
    for line in owner.body_lines:
        in_member = any(span.start <= line.start < span.end for span in inside)
        if not in_member and _DECLARATION.match(owner.text, line.start):
            yield _shortened(owner.text[line.start : line.code_end])


def _attributes(members: list[Definition]) -> list[str]:
    """What the methods of a class set on its instances."""
    texts = (member.span.of(member.text) for member in members if not member.is_class)
    return list(dict.fromkeys(match["name"] for text in texts for match in _ATTRIBUTE.finditer(text)))


def _module_names(text: str, found: list[Definition], target: Target) -> Iterator[tuple[str, str]]:
    """The functions, classes and constants of the module, each with how it can be used."""
    outermost = target.qualname.partition(".")[0]
    tops = {each.header.start: each for each in found if not each.parents}
    for span in statements(text):
        definition = next((tops[start] for start in tops if span.start <= start < span.end), None)
        assigned = _ASSIGNMENT.match(text, span.start)
        if definition is not None and definition.name != outermost:
            yield definition.name, _outline(definition)
        elif assigned is not None:
            yield assigned["name"], _shortened(span.of(text))


def _outline(definition: Definition) -> str:
    """A definition without its body: decorators, header, the first line of its docstring."""
    decorators = [definition.text[line.start : line.code_end] for line in definition.lines[: definition.header_index]]
    return "\n".join([*decorators, _header(definition), *(_summary(definition) or ["    ..."])])


def _header(definition: Definition) -> str:
    return dedent(definition.header.of(definition.text))


def _summary(definition: Definition) -> list[str]:
    if definition.docstring is None:
        return []
    literal = definition.docstring.of(definition.text).lstrip("rRuU").strip("\"'")
    first = inspect.cleandoc(literal).split("\n", 1)[0]
    return [f'    """{first}"""'] if first else []


def _shortened(text: str) -> str:
    """A constant's statement without long strings, and not too long itself."""

    def short(match: re.Match[str]) -> str:
        literal = match.group()
        return literal if len(literal) <= _LONGEST_STRING else f"{literal[0]}…{literal[0]}"

    text = dedent(_STRING.sub(short, text))
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE].rstrip()} …"


def _types(target: Target, overlays: Mapping[Path, str]) -> Iterator[Piece]:
    """Outlines of the classes and functions that the signature names and other files of the project define."""
    import jedi  # heavy, and needed only when a model is asked

    root = target.module.root
    try:
        environment = jedi.InterpreterEnvironment()
        project = jedi.Project(root, sys_path=[str(root)], smart_sys_path=False)
        script = jedi.Script(target.text, path=target.module.path, project=project, environment=environment)
        lines = Lines(target.text)
        seen: set[Path] = set()
        for match in list(_WORD.finditer(target.text, *_bounds(target.header)))[: 4 * _MOST_TYPES]:
            line = lines.line_at(match.start())
            for name in script.goto(line + 1, match.start() - lines.starts[line], follow_imports=True):
                path = name.module_path
                if path is None or path == target.module.path or not path.is_relative_to(root):
                    continue
                if "site-packages" in path.parts or path in seen:
                    continue
                text = normalize(overlays.get(path) or path.read_text(encoding="utf-8"))
                for each in definitions(text):
                    if each.qualname == name.name:
                        yield Piece("type", f"# from {name.module_name}\n{_outline(each)}")
    except Exception:  # jedi fails in many ways on odd code; then there is less to show, no more
        return


def _bounds(span: Span) -> tuple[int, int]:
    return span.start, span.end
