"""Text is shown with all characters visible, so that a terminal obeys none of them."""

from __future__ import annotations

import io
import sys
import unicodedata
from typing import cast

import pytest

from adacoder.lsp.connection.display import displayed
from adacoder.visible import Visible, in_a_message, visible

EVERYTHING = "".join(map(chr, range(sys.maxunicode + 1)))


def test_of_all_characters_those_that_cannot_be_seen_are_escaped() -> None:
    shown = visible(EVERYTHING)
    assert {char for char in shown if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} == set(
        "\t\n\u200c\u200d"
    )
    seen = [char for char in EVERYTHING if unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    assert visible("".join(seen)) == "".join(seen)
    assert visible(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x9b\x7f\r", r"\x1b[2J\x9b\x7f\r"),
        ("\u202e\u2028\u061c\U000e0041", r"\u202e\u2028\u061c\U000e0041"),
        ("\udc80", r"\udc80"),
        ("a\tb\nc \u00a0ü 日本 👩\u200d👧 \U0001fae8", "a\tb\nc \u00a0ü 日本 👩\u200d👧 \U0001fae8"),
    ],
)
def test_escapes_are_those_of_python(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[a](command:b)", "[a] (command:b)"),
        ("![a](http://b)", "![a] (http://b)"),
        ("[a](<command:b>)", "[a] (< command:b>)"),
        ("[a](&#99;ommand:b)", "[a] (&#99;ommand:b)"),
        ("[a]\x1b(command:b)", r"[a]\x1b(command:b)"),
        ("<command:b> <https://b>", "< command:b> < https://b>"),
        ("table[key](value)", "table[key] (value)"),
        ("Ollama at http://localhost:11434 said <module 'x'>: 1 < 2", None),
        ("one\n  two\r\n\n three", r"one two\r three"),
        ("", ""),
    ],
)
def test_a_message_is_a_line_without_links(text: str, shown: str | None) -> None:
    assert in_a_message(text) == (text if shown is None else shown)


@pytest.mark.parametrize("text", ["x" * 10**6, "\x1b" * 10**6, "](" * 10**6, "\n" * 10**6 + "x", "a]" * 10**6 + "(b"])
def test_a_message_is_not_long_and_keeps_its_end(text: str) -> None:
    shown = in_a_message(f"Begin {text} end.")
    assert len(shown) <= 1000
    assert shown.startswith("Begin")
    assert shown.endswith("end.")
    assert "](" not in shown


def test_a_stream_through_which_all_goes_visibly() -> None:
    below = io.StringIO()
    stream = Visible(below)
    assert stream.write("a\x1b") == 2
    stream.writelines(["b\r", "\n"])
    print("c\u202e", file=cast("io.StringIO", stream))
    assert below.getvalue() == "a\\x1bb\\r\nc\\u202e\n"
    assert not cast("io.StringIO", stream).isatty()  # the wrapped stream answers


def test_an_editor_gets_messages_as_lines_data_visibly_and_edits_as_they_are() -> None:
    text = "x\x1b\n[a](command:b) f[k](v)"
    exact = {"newText": text, "uri": text, "token": text, "id": text, "arguments": [{"qualifiedName": text}]}
    assert displayed(exact) == exact
    assert displayed({"params": {"message": text, "notes": [text]}}) == {
        "params": {"message": r"x\x1b [a] (command:b) f[k] (v)", "notes": [r"x\x1b [a] (command:b) f[k] (v)"]}
    }
    assert displayed({"journal": [{"code": text}], "n": 1, "none": None, "yes": True}) == {
        "journal": [{"code": "x\\x1b\n[a] (command:b) f[k](v)"}],
        "n": 1,
        "none": None,
        "yes": True,
    }
