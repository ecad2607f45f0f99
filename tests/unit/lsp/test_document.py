"""The server's copy of a document equals the editor's text after any edit."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from pygls.workspace import PositionCodec, TextDocument

from adacoder.lsp.connection.pygls_fixes import Workspace
from adacoder.lsp.snapshot import Document, encoding_of

ENCODINGS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
PIECES = ["", "a", "é", "𝔐", "\n", "\r", "\r\n", "\f", "\v", "\x1c", "\x85", "\u2028", "def f():\r\n"]
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def units(text: str, encoding: str) -> int:
    return len(text.encode(ENCODINGS[encoding])) // len("a".encode(ENCODINGS[encoding]))


def position(text: str, offset: int, encoding: str) -> types.Position:
    """Return the position of an offset, computed independently of AdaCoder."""
    lines = re.split(r"\r\n|\r|\n", text[:offset])
    return types.Position(len(lines) - 1, units(lines[-1], encoding))


def document(text: str, encoding: str = "utf-16", kind: type[TextDocument] = Document) -> TextDocument:
    codec = PositionCodec(types.PositionEncodingKind(encoding))
    return kind("file:///a.py", source=text, version=1, position_codec=codec)


def replace(there: TextDocument, start: int, end: int, new: str, encoding: str) -> str:
    """Replace a part of a document as a client does. Return the expected text."""
    text = there.source
    at = types.Range(position(text, start, encoding), position(text, end, encoding))
    there.apply_change(types.TextDocumentContentChangePartial(range=at, text=new))
    return text[:start] + new + text[end:]


@given(st.sampled_from(sorted(ENCODINGS)), texts, st.data())
def test_it_follows_any_series_of_changes(encoding: str, text: str, data: st.DataObject) -> None:
    there = document(text, encoding)
    for _ in range(4):
        text = there.source
        # LSP has no position inside `\r\n`
        places = [i for i in range(len(text) + 1) if text[max(i - 1, 0) : i + 1] != "\r\n"]
        start, end = sorted((data.draw(st.sampled_from(places)), data.draw(st.sampled_from(places))))
        expected = replace(there, start, end, data.draw(texts), encoding)
        assert there.source == expected
        assert "".join(there.lines) == expected
        assert len(there.lines) == len(re.split(r"\r\n|\r|\n", expected))


@pytest.mark.parametrize("separator", ["\f", "\v", "\x1c", "\x85", "\u2028"])
def test_what_only_python_calls_a_line_end_ends_no_line(separator: str) -> None:
    text = f"one{separator}\ntwo\nthree\n"
    start = text.index("three")
    ours, theirs = document(text), document(text, kind=TextDocument)
    assert replace(ours, start, start + 5, "3", "utf-16") == ours.source
    assert replace(theirs, start, start + 5, "3", "utf-16") != theirs.source, "pygls is right now: drop the remedy"


def test_positions_beyond_an_end_mean_that_end() -> None:
    there = document("ab\ncd")
    beyond = types.Range(types.Position(0, 99), types.Position(99, 99))
    there.apply_change(types.TextDocumentContentChangePartial(range=beyond, text="!"))
    assert there.source == "ab!"


def test_a_reversed_range_is_swapped() -> None:
    there = document("ab\ncd\nef")
    reversed_range = types.Range(types.Position(2, 1), types.Position(0, 1))
    there.apply_change(types.TextDocumentContentChangePartial(range=reversed_range, text="-"))
    assert there.source == "a-f"


def test_a_whole_new_text_replaces_the_old() -> None:
    there = document("old\n")
    replace(there, 0, 1, "O", "utf-16")
    there.apply_change(types.TextDocumentContentChangeWholeDocument(text="new\n"))
    assert there.source == "new\n"
    assert replace(there, 0, 1, "N", "utf-16") == there.source == "New\n"


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_a_workspace_makes_such_documents(encoding: str) -> None:
    workspace = Workspace(None, position_encoding=types.PositionEncodingKind(encoding))
    workspace.put_text_document(types.TextDocumentItem("file:///a.py", "python", 3, "x\f\ny"))
    there = workspace.get_text_document("file:///a.py")
    assert (list(there.lines), there.version) == (["x\f\n", "y"], 3)
    assert encoding_of(workspace) == encoding_of(there) == encoding
