"""Show a model how to use definitions and constants, without their bodies.

The code is read line by line, so the intact parts of a broken file can still be shown.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Collection, Iterator, Sequence
from enum import Enum, auto
from functools import lru_cache
from itertools import zip_longest

from adacoder.pytext import Definition, LogicalLine
from adacoder.source.literal import read_literal
from adacoder.source.surroundings.masking import masked, masked_line, without_strings

_DECLARATION = re.compile(r"(?P<names>[^\W\d]\w*(?:[ \t]*,[ \t]*[^\W\d]\w*)*)[ \t]*(?::(?!=)|=(?!=))")
_FIRST_PARAMETER = re.compile(r"[^(]*\(\s*(?P<name>[^\W\d]\w*)")
_EXAMPLE = re.compile(r"^[ \t]*>>>", re.MULTILINE)
_UNDERLINE = re.compile(r"^[=~*#^-]{3,}$", re.MULTILINE)
_LONGEST_VALUE = 400
"""Maximum characters of a constant's statement. A longer statement is cut."""
_LONGEST_FIELD = 80
"""Maximum characters of a statement that sets a field or attribute. In a longer statement, the value is omitted."""
_MOST_FIELDS = 40
"""Maximum lines of fields to show for one class."""
SUMMARY = 200
"""Maximum characters of a docstring that is shown only for its purpose."""
PROSE = 800
"""Maximum characters of a docstring that is shown to explain a function's behaviour."""
LONGEST_CLASS = 4000
"""Maximum characters of the class around a method. Methods of a longer class are shown with less detail."""


class _Detail(Enum):
    """Levels of detail for a class's methods, most detailed first."""

    SUMMARIES = auto()
    SIGNATURES = auto()
    NAMES = auto()


@lru_cache(maxsize=64)  # A statement that binds several names is asked for once for each name.
def constant(text: str) -> str:
    """Return a constant's statement, masked and shortened."""
    text = masked(text)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE].rstrip()} …"


def outline(definition: Definition, *, characters: int = SUMMARY) -> str:
    """Return a definition without its body: decorators, header, and at most `characters` of its docstring."""
    return "\n".join(_with_body(definition, _docstring(definition, characters)))


def listing(
    owner: Definition,
    found: Sequence[Definition],
    *,
    own: Definition | None = None,
    mentioned: Collection[str] = (),
    hidden: Collection[str] = (),
    private: bool = True,
    characters: int = LONGEST_CLASS,
) -> str:
    """Show how to use a class: its header, fields, methods and attributes.

    The method `own` and members in `hidden` are left out. If the text is longer than `characters`, the docstrings of
    methods are removed first. If this is not enough, most methods are only named. Methods in `mentioned` keep their
    docstrings.
    """
    members = [
        each
        for each in found
        if each.parents
        and each.parents[-1] is owner
        and each is not own
        and each.name not in hidden
        and (private or not each.name.startswith("_") or each.name.endswith("__"))
    ]
    text = ""
    for detail in _Detail:
        text = _nested(owner, _class(owner, members, detail, mentioned, PROSE if own else SUMMARY))
        if len(text) <= characters:
            return text
    return text[: text.rfind("\n", 0, characters)] + "\n    # …"


def inherited(owner: Definition, member: Definition) -> str:
    """Return a method of a base class, with its docstring and examples."""
    return _nested(owner, [*_header(owner), *_indented(_with_body(member, _docstring(member, PROSE, examples=True)))])


def _nested(definition: Definition, lines: Sequence[str]) -> str:
    """Put `lines` inside the classes that enclose `definition`."""
    for parent in reversed(definition.parents):
        lines = [*_header(parent), *_indented(lines)]
    return "\n".join(lines)


def _class(
    owner: Definition, members: Sequence[Definition], detail: _Detail, mentioned: Collection[str], prose: int
) -> list[str]:
    body = [*_docstring(owner, prose), *_fields(owner)]
    known: set[str] = set()
    only_named: list[str] = []
    for member in members:
        attributes = [] if member.is_class else list(_new_attributes(member, known))
        if detail is _Detail.SUMMARIES or member.name in mentioned:
            body += _with_body(member, [*_docstring(member, SUMMARY), *attributes])
        elif detail is _Detail.SIGNATURES or attributes:
            body += _with_body(member, attributes)
        else:
            only_named.append(member.name)
    if only_named:
        body.append(f"# and: {', '.join(dict.fromkeys(only_named))}")
    return _with_body(owner, body)


def _fields(owner: Definition) -> list[str]:
    text = owner.text
    found: list[str] = []
    for line, following in field_lines(owner):
        found.append(_field(text, line))
        if following is not None:
            found += docstring(text[following.start : following.code_end], SUMMARY)
    if len(found) > _MOST_FIELDS:
        return [*found[:_MOST_FIELDS], f"# … and {len(found) - _MOST_FIELDS} more"]
    return found


def field_lines(owner: Definition) -> Iterator[tuple[LogicalLine, LogicalLine | None]]:
    """Yield the statements in a class body that declare or set attributes.

    Each statement is paired with the next one, which may be the attribute's docstring.
    """
    body = owner.body_lines
    for line, following in zip_longest(body, body[1:]):
        declaration = _DECLARATION.match(owner.text, line.start)
        if line.width == body[0].width and declaration and not keyword.iskeyword(declaration["names"]):
            yield line, following


def attribute_lines(member: Definition) -> Iterator[tuple[list[str], LogicalLine]]:
    """Yield the statements of a method that set attributes of `self`, each with the names of the attributes."""
    first = _FIRST_PARAMETER.match(member.header.of(member.text))
    if first is None:
        return
    this = re.escape(first["name"])
    setting = re.compile(rf"{this}\.\w+(?:[ \t]*,[ \t]*{this}\.\w+)*[ \t]*(?::(?!=)|=(?!=))")
    for line in member.body_lines:
        if match := setting.match(member.text, line.start):
            yield re.findall(rf"{this}\.(\w+)", match.group()), line


def _new_attributes(member: Definition, known: set[str]) -> Iterator[str]:
    """Yield the statements of a method that set new attributes. The attributes are then added to `known`."""
    for names, line in attribute_lines(member):
        if not known.issuperset(names):
            known.update(names)
            yield _field(member.text, line)


def _field(text: str, line: LogicalLine) -> str:
    """Return a field's statement on one line, with its comment. A long comment or value is omitted."""
    for end in (line.end, line.code_end):
        whole = masked(text[line.start : end])
        if len(whole) <= _LONGEST_FIELD and "\n" not in whole:
            return whole
    code = masked(text[line.start : line.code_end])
    value = re.search(r"(?<![=!<>:])=(?!=)", without_strings(code))
    start = code[: value.end()] if value else code
    return f"{' '.join(start.split())} ..." if len(start) <= _LONGEST_VALUE else f"{start[:_LONGEST_FIELD]} …"


def _with_body(definition: Definition, body: Sequence[str]) -> list[str]:
    """Return a definition's decorators and header with `body`, or with `...` if `body` is empty."""
    header = _header(definition)
    return [*header, *_indented(body)] if body else [*header[:-1], f"{header[-1]} ..."]


def _header(definition: Definition) -> list[str]:
    text, header = definition.text, definition.header
    decorators = [masked_line(text, line) for line in definition.lines[: definition.header_index]]
    head = masked(text[header.start - len(definition.header_line.indent) : header.end])
    return "\n".join([*decorators, head]).split("\n")


def docstring(literal: str, characters: int, *, examples: bool = False) -> list[str]:
    """Return the lines to show of a docstring; empty if `literal` is not a string.

    Up to `SUMMARY` characters, only the first paragraph is shown. The docstring's examples are shown only if `examples`
    is true.
    """
    try:
        whole = inspect.cleandoc(read_literal(literal).value)
    except ValueError:
        return []
    prose = whole if examples else _EXAMPLE.split(whole, maxsplit=1)[0].rstrip()
    text = _cut(prose if characters > SUMMARY else _paragraph(prose), characters).replace('"""', "'''")
    if not text:
        return []
    lines = f'"""{text}'.split("\n")
    return [*lines, '"""'] if len(lines) > 1 else [f'{lines[0]}"""']


def _docstring(definition: Definition, characters: int, *, examples: bool = False) -> list[str]:
    span = definition.docstring
    return [] if span is None else docstring(span.of(definition.text), characters, examples=examples)


def _paragraph(text: str) -> str:
    """Return the first paragraph on one line, without a heading's underline."""
    return " ".join(_UNDERLINE.sub("", text.split("\n\n", 1)[0]).split())


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[:characters].rsplit(None, 1)[0]} …"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" if line else line for each in lines for line in each.split("\n")]
