"""Takes the wrapping off a model's reply: an ordered list of small steps, each a pure function of a text.

Filters unwrap and choose; they never change Python that compiles on its own. What they do change could not have
been Python for anyone: tags, tokens and prompts around it, and characters that no Python accepts in code.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from adacoder.pytext import normalize

if TYPE_CHECKING:
    from adacoder.domain import JSON

Filter = Callable[[str], str]


def unwrapped(text: str) -> str:
    """What a reply says, without what a server or a model put around it; line endings are `\\n`.

    Prose and code fences are still there.
    """
    text = without_byte_order_mark(normalize(text))
    return out_of_json(_filtered(text, UNWRAPPING))


def readable(code: str) -> str:
    """`code` as Python would have it: without a session's prompts and a typesetter's characters."""
    return _filtered(code, TRANSCRIBING)


def _filtered(text: str, filters: tuple[Filter, ...]) -> str:
    for change in filters:
        if compiles(text):
            break
        text = change(text)
    return text


def compiles(text: str) -> bool:
    """Whether our own Python can parse `text`. False proves nothing: the user's may be newer."""
    return parsed(text) is not None


def parsed(text: str) -> ast.Module | None:
    """The tree of `text`; None if our own Python cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def without_byte_order_mark(text: str) -> str:
    """`text` without U+FEFF at its start."""
    return text.removeprefix("\ufeff")


_THOUGHT = r"(?:think|thinking|thoughts?|reasoning)"
_OPENING = rf"(?:<{_THOUGHT}>|<\|begin_of_thought\|>|◁think▷)"
_CLOSING = rf"(?:</{_THOUGHT}>|<\|end_of_thought\|>|◁/think▷)"
_THINKING_OPENS = re.compile(rf"\s*{_OPENING}", re.IGNORECASE)
_THINKING_CLOSES = re.compile(rf"(?<![\"'`]){_CLOSING}(?![\"'`])", re.IGNORECASE)
_CLOSES_ON_ITS_OWN = re.compile(rf"^[ \t]*{_CLOSING}|{_CLOSING}[ \t\r]*$", re.IGNORECASE | re.MULTILINE)
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_FINAL_CHANNEL = re.compile(r"<\|channel\|>final<\|message\|>")


def without_thinking(text: str) -> str:
    """`text` without what the model thought before it answered.

    Thinking whose opening tag is missing (a template wrote it) ends at the closing tag. Thinking that is
    never closed loses its tag only: a model that forgets to close it has often gone on to answer.
    """
    for channel in _FINAL_CHANNEL.finditer(text):
        text = text[channel.end() :]
        break
    while opens := _THINKING_OPENS.match(text):
        closes = _THINKING_CLOSES.search(text, opens.end())
        text = text[(closes or opens).end() :]
    for closes in _CLOSES_ON_ITS_OWN.finditer(text):
        if len(_FENCE_LINE.findall(text, 0, closes.start())) % 2 == 0:
            return text[closes.end() :]
    return text


def is_thinking(text: str) -> bool:
    """Whether `text`, the beginning of a reply, is in the middle of thinking."""
    opens = _THINKING_OPENS.match(text)
    return opens is not None and _THINKING_CLOSES.search(text, opens.end()) is None


_ENDING = (
    r"(?:<\|(?:endoftext|end_of_text|end_of_solution|im_end|eot_id|eom_id|end|return|file_sep|fim_\w+)\|>"
    r"|<｜(?:end▁of▁sentence|fim▁\w+)｜>|<(?:fim_\w+|file_sep|EOT|eos|end_of_turn)>)"
)
_CONTROL = (
    rf"(?:{_ENDING}|<[|｜][^<>|｜\n]{{1,40}}[|｜]>|</?s>|<(?:bos|pad|unk|start_of_turn)>"
    r"|\[/?(?:INST|PYTHON)\]|</?(?:tool_call|answer|solution|code|python)>)"
)
_CONTROLS_BEFORE = re.compile(rf"(?:\s*{_CONTROL}(?:(?:assistant|model)\b)?)+")
_CONTROL_AT_END = re.compile(rf"{_CONTROL}\Z")
_ENDS = re.compile(rf"(?<![\"'`]){_ENDING}(?![\"']|`(?!``))(?P<fence>\s*^[ \t]*(?:```|~~~)|```)?", re.MULTILINE)


def without_control_tokens(text: str) -> str:
    """`text` without the tokens of a chat template or of fill-in-the-middle at its ends.

    A token that ends a text ends this one too: what comes after it is another text. A closing fence right
    behind it still counts.
    """
    if before := _CONTROLS_BEFORE.match(text):
        text = text[before.end() :]
    if ends := _ENDS.search(text):
        text = text[: ends.start()] + (ends["fence"] or "")
    while after := _CONTROL_AT_END.search(text := text.rstrip()):
        text = text[: after.start()]
    return text


_DEFINES = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+\w+", re.MULTILINE)
_RETURNS = re.compile(r"^[ \t]*(?:return|yield)\b", re.MULTILINE)
_BROKEN_OFF = re.compile(r'"(?:code|function|implementation|solution|body|answer)"\s*:\s*"((?:[^"\\]|\\.)*)', re.DOTALL)
_HALF_AN_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(\\u[0-9a-fA-F]{0,3})\Z")


def out_of_json(text: str) -> str:
    """The code in a JSON value (a tool call, or an object with the code as one of its texts); else `text`.

    JSON that broke off gives the code as far as it came.
    """
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return text
    value = _json(text)
    if value is None:
        broken = _BROKEN_OFF.search(text)
        value = None if broken is None else _json(f'"{_HALF_AN_ESCAPE.sub("", broken[1])}"')
    codes = list(_texts(value))
    code = next((each for each in codes if _DEFINES.search(each)), None)
    code = code or next((each for each in codes if _RETURNS.search(each)), None)
    return text if code is None else normalize(code)


def _json(text: str) -> JSON:
    try:
        value: JSON = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value


def _texts(value: JSON) -> Iterator[str]:
    """Every text in a JSON value; one that is itself a JSON object (as some `arguments` are) is looked into."""
    waiting = [value]
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, dict):
            waiting = [*value.values(), *waiting]
        elif isinstance(value, list):
            waiting = [*value, *waiting]
        elif isinstance(value, str):
            inner = _json(value) if value.lstrip().startswith("{") else None
            if isinstance(inner, dict):
                waiting = [inner, *waiting]
            else:
                yield value


_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_TYPESET = str.maketrans(
    {
        **dict.fromkeys(_SPACES, " "),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
        **dict.fromkeys("\u2028\u2029\u0085", "\n"),
        **dict.fromkeys("\u2212\u2010\u2011\u2013\u2014\uff0d", "-"),
        **dict.fromkeys("“”„", '"'),
        **dict.fromkeys("‘’‚", "'"),
        **dict(zip("（）：，；＝", "():,;=", strict=True)),
    }
)
_IS_TYPESET = re.compile("[" + "".join(map(chr, _TYPESET)) + "]")
_STRINGS_COMMENTS_AND_TYPESET = re.compile(
    r"""(?P<kept>(?P<triple>\"{3}|'{3})(?:\\.|(?!(?P=triple)).)*(?P=triple)"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\#[^\n]*)"""
    r"""|(?P<triples>[“”]{3}|[‘’]{3})"""
    r"""|[“”„](?P<double>[^“”"\n]*)[“”]"""
    r"""|[‘’‚](?P<single>[^‘’'\n]*)[‘’]"""
    rf"""|(?P<character>{_IS_TYPESET.pattern})""",
    re.DOTALL,
)


def with_plain_characters(code: str) -> str:
    """`code` with a typesetter's quotes, minus signs, spaces and invisible characters as Python spells them.

    Strings and comments keep theirs: outside of them no Python accepts such characters.
    """
    return _STRINGS_COMMENTS_AND_TYPESET.sub(_plain, code) if _IS_TYPESET.search(code) else code


def _plain(match: re.Match[str]) -> str:
    if match["kept"] is not None:
        return match["kept"]
    if match["double"] is not None:
        return f'"{match["double"]}"'
    if match["single"] is not None:
        return f"'{match['single']}'"
    return match[0].translate(_TYPESET)


_PROMPTED_DEFINITION = re.compile(r"^[ \t]*>>> ?(?:async[ \t]+def|def|class|@)", re.MULTILINE)
_PROMPTED = re.compile(r"^[ \t]*(?:>>>|\.\.\.)(?: (?P<code>.*))?$", re.MULTILINE)


def without_prompts(code: str) -> str:
    """The statements of an interactive session that defines something, without prompts and output."""
    if not _PROMPTED_DEFINITION.search(code) or _DEFINES.search(code):
        return code
    return "\n".join(match["code"] or "" for match in _PROMPTED.finditer(code))


UNWRAPPING: tuple[Filter, ...] = (without_thinking, without_control_tokens)
"""What is done to a whole reply, in this order, while it is no Python."""

TRANSCRIBING: tuple[Filter, ...] = (with_plain_characters, without_prompts)
"""What is done to a piece of code, in this order, while it is no Python."""
