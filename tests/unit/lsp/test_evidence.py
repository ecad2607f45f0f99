"""Evidence moves with functions through edits, as if the whole text were read again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from adacoder.conclusion import conclude
from adacoder.domain import Attempt, ExampleResult, Isolation, Level, Verdict
from adacoder.lsp.showing.evidence import EvidenceRoom, evidence_of
from adacoder.lsp.showing.shown import Publisher
from adacoder.lsp.snapshot import Document, Uri
from adacoder.lsp.stdio import create
from adacoder.pytext import Definition, definitions, line_number
from adacoder.source.locate import locate
from adacoder.task import current
from unit.lsp.peer import Peer

URI = Uri("file:///w/m.py")
FUNCTION = '{i}def {n}(x):\n{i}    """Doc.\n\n{i}    >>> {n}(1)\n{i}    2\n{i}    """\n{i}    return x + 1\n'
TEXT = (
    "import os\n\n\n"
    + FUNCTION.format(i="", n="f")
    + "\n\nclass C:\n\n"
    + FUNCTION.format(i="    ", n="g")
    + "\nLAST = 1\n"
)
NAMES = ("f", "C.g")
PIECES = ["", "\n", "\r\n", "x", "    y = 1\n", "@deco\n", "# note\n", "    # note\n", "\n\n", "def h():\n    pass\n"]


def room_for(text: str, changed: Callable[[str], None] = lambda uri: None) -> EvidenceRoom:
    room = EvidenceRoom(changed)
    for name in NAMES:
        target = locate(text, Path("/w/m.py"), Path("/w"), qualname=name)
        results = tuple(ExampleResult(example, matched=True, entered=True) for example in target.examples)
        verdict = Verdict(
            None, parses=True, defines=True, imports=True, results=results, isolation=Isolation(Level.FULL)
        )
        evidence = evidence_of(URI, conclude(target, Attempt(current(target), verdict), 1), {}, is_inserted=False)
        assert evidence is not None
        room.record(evidence, Document(URI, text).lines)
    return room


def of_text(text: str, name: str) -> list[Definition]:
    return [each for each in definitions(text) if each.qualname == name]


def position(document: Document, offset: int) -> types.Position:
    before = document.source[:offset]
    line = line_number(document.source, offset)
    return types.Position(line, offset - sum(map(len, document.lines[:line]))) if before else types.Position(0, 0)


edits = st.lists(
    st.tuples(st.integers(0, len(TEXT)), st.integers(0, 12), st.sampled_from(PIECES), st.booleans()), max_size=6
)


@given(edits)
def test_evidence_holds_exactly_while_its_text_stands(changes: list[tuple[int, int, str, bool]]) -> None:
    room, document = room_for(TEXT), Document(URI, TEXT)
    sources = {name: of_text(TEXT, name)[0].span.of(TEXT) for name in NAMES}
    for start, length, new, is_undone in changes:
        text = document.source
        start = min(start, len(text))
        end = min(start + length, len(text))
        if "\r" in text[start - 1 : end + 1]:
            continue  # no editor makes edits inside a line's end
        undo = (start, start + len(new), text[start:end])
        for begin, finish, fresh in [(start, end, new), undo][: 1 + is_undone]:
            place = types.Range(position(document, begin), position(document, finish))
            change = types.TextDocumentContentChangePartial(range=place, text=fresh)
            document.apply_change(change)
            room.changed(URI, [change], document.lines)
        if is_undone:
            assert document.source == text
    text = document.source
    for name in NAMES:
        placed = room.at(URI, name)
        assert placed is not None
        standing = [each.span.of(text).replace("\r\n", "\n") for each in of_text(text, name)]
        if placed.holds:
            lines = [line.rstrip("\r\n") for line in document.lines[placed.first : placed.last + 1]]
            assert lines == sources[name].split("\n")
        if text == TEXT:
            assert placed.holds
            assert sources[name] in standing


@pytest.mark.parametrize(
    ("old", "new", "holds"),
    [
        ("import os", "import os\nimport sys", True),
        ("LAST = 1", "LAST = 2", True),
        ("def f(x)", "\n\ndef f(x)", True),
        ("def f(x)", "@deco\ndef f(x)", False),
        ("return x + 1", "return x + 2", False),
        ("return x + 1\n", "return x + 1\n    more = 1\n", False),
        ("return x + 1\n", "return x + 1\n\n\n    more = 1\n", False),
        ("return x + 1\n", "return x + 1\n    # more\n", False),
        ("return x + 1\n", "return x + 1\n# more\n", True),
    ],
)
def test_what_changes_a_function_and_what_does_not(old: str, new: str, holds: bool) -> None:
    room, document = room_for(TEXT), Document(URI, TEXT)
    for before, after, expected in ((old, new, holds), (new, old, True)):
        start = document.source.index(before)
        place = types.Range(position(document, start), position(document, start + len(before)))
        change = types.TextDocumentContentChangePartial(range=place, text=after)
        document.apply_change(change)
        room.changed(URI, [change], document.lines)
        placed = room.at(URI, "f")
        assert placed is not None
        assert placed.holds is expected
    assert document.source == TEXT


def test_it_tells_only_of_what_changes() -> None:
    document, heard = Document(URI, TEXT), list[str]()
    room = room_for(TEXT, heard.append)
    heard.clear()
    for old, new, told in (
        ("import os", "import os, sys", 0),
        ("return x", "return  x", 1),
        ("LAST = 1", "LAST = 2", 1),
    ):
        start = document.source.index(old)
        place = types.Range(position(document, start), position(document, start + len(old)))
        change = types.TextDocumentContentChangePartial(range=place, text=new)
        document.apply_change(change)
        room.changed(URI, [change], document.lines)
        assert len(heard) == told
    assert room.forget(URI, "C.g") == 1
    assert [placed.evidence.qualname for placed in room.of(URI)] == ["f"]


async def test_diagnostics_name_a_document_as_the_client_opened_it() -> None:
    peer = Peer(create())
    peer.initialize(textDocument={"publishDiagnostics": {}})
    publisher = Publisher(peer.server)  # type: ignore[arg-type]  # it is ours
    opened = "file:///w/%6D.py"
    peer.server.workspace.put_text_document(types.TextDocumentItem(opened, "python", 1, TEXT))
    publisher.publish(URI, room_for(TEXT).of(URI), TEXT.splitlines(), unreached=True)
    peer.server.workspace.remove_text_document(opened)
    publisher.publish(URI, [], [], unreached=True)
    assert [each["params"]["uri"] for each in peer.sent] == [opened, URI]
