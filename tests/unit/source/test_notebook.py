"""The cells of a notebook as one module: IPython's syntax, and positions in cells and in the module."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from adacoder.domain import Candidate, Module
from adacoder.lsp.connection.pygls_fixes import Workspace
from adacoder.lsp.snapshot import Uri, take
from adacoder.lsp.to_proto import workspace_edit
from adacoder.pytext import Lines
from adacoder.source.notebook import above, alone, foreign_magic, in_module, length_above, moved, python_of, start_of
from adacoder.source.splice import splice
from adacoder.source.text import PositionEncoding, apply_edits

FUNCTION = '''def rooted(x):
    """The square root of "𝔐".

    >>> rooted(4)
    2.0
    """
'''
CANDIDATE = Candidate("def rooted(x):\n    return math.sqrt(x)", imports=("import math",))
PIECES = st.sampled_from(
    [
        *("%matplotlib inline", "!ls 'it''s \"", "files = !ls 𝔐", "x, y = %time f()", "np.array?", "??f", "%%time"),
        *("if 1:\n    %cd ..\n", "!pip install \\\n    x", "a = (5\n  % 3)", 's = """\n!no\n"""', "# é?", "𝔐 = 1"),
        *("", "import os", "def f():\n    !w\n", "%%bash\nls '", "x\f = 1", "for x in y:\n    %y\n"),
    ]
)
CELL = st.builds(
    lambda parts, end, last: end.join([*parts, last]),
    st.lists(PIECES, max_size=4),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "1"]),
)


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%matplotlib inline\nx = 1", "#matplotlib inline\nx = 1"),
        ("%%time\nx = 1", "#!time\nx = 1"),
        ("if x:\n    !ls -l\n    %y", "if x:\n    pass  \n    0 "),
        ("files = !ls 'x", "files = None  "),
        ("d['a'] = %w", "d['a'] = 0 "),
        ("!pip install \\\n  'x\ny = 1", "#pip install \\\n  #x\ny = 1"),
        ("f?\n?f\nf??", "#?\n#f\n#??"),
        ("%%bash\nls 'x", "      \n     "),
        ('s = """\n%no\n!no\n"""\na = (1\n  % 2)', 's = """\n%no\n!no\n"""\na = (1\n  % 2)'),
        ("a %= 3  # really?", "a %= 3  # really?"),
        ("x != y", "x != y"),
    ],
)
def test_ipython_becomes_python(cell: str, python: str) -> None:
    assert python_of(cell) == python
    ast.parse(python)


@pytest.mark.parametrize(
    ("cell", "magic"),
    [("%%bash\nls", "%%bash"), ("\n %%html", "%%html"), ("%%time\nx", None), ("%time x", None), ("x\n%%bash", None)],
)
def test_a_magic_makes_a_cell_something_else(cell: str, magic: str | None) -> None:
    assert foreign_magic(cell) == magic


@given(CELL)
def test_every_offset_and_every_line_stays(cell: str) -> None:
    python = python_of(cell)
    assert len(python) == len(cell)
    assert Lines(python).starts == Lines(cell).starts


def test_a_line_of_the_module_is_named_by_its_cell() -> None:
    module = Module(Path("/a.ipynb"), "a_ipynb", Path("/"), cells=(0, 3, 5))
    assert [module.where(line) for line in (1, 3, 4, 6, 7)] == [
        *("line 1 of code cell 1", "line 3 of code cell 1", "line 1 of code cell 2"),
        *("line 1 of this cell", "line 2 of this cell"),
    ]


@given(
    st.lists(CELL, max_size=4),
    CELL.filter(lambda cell: foreign_magic(cell) is None),
    st.sampled_from(["utf-8", "utf-16", "utf-32"]),
)
def test_places_in_the_module_are_places_in_the_cell(cells: list[str], head: str, encoding: PositionEncoding) -> None:
    """An edit in the cell has the same effect as in the module, and does not change the cells above."""
    there = Workspace(None)
    texts = [*cells, f"{head}\n\n{FUNCTION}%who\n"]
    uris = [f"vscode-notebook-cell:/a.ipynb#{number}" for number, _ in enumerate(texts)]
    notebook = types.NotebookDocument(
        "file:///a.ipynb", "jupyter-notebook", 1, [types.NotebookCell(types.NotebookCellKind.Code, uri) for uri in uris]
    )
    documents = [types.TextDocumentItem(uri, "python", 7, text) for uri, text in zip(uris, texts, strict=True)]
    there.put_notebook_document(types.DidOpenNotebookDocumentParams(notebook, documents))
    snapshot = take(there, Uri(uris[-1]))
    assert snapshot.cells == tuple(cells)
    assert snapshot.module_text[snapshot.start :] == snapshot.code
    assert snapshot.start == length_above(snapshot.cells) == len(above(snapshot.cells))
    for target in [each.target for each in snapshot.functions() if each.target.name == "rooted"]:
        assert start_of(target) == snapshot.start
        assert in_module(alone(target), snapshot.cells) == target
        assert alone(target).source == target.source
        first = Lines(target.text).line_at(target.definition.start)
        assert [each.line - each.above for each in target.examples] == [each.line for each in alone(target).examples]
        assert alone(target).definition.start == target.definition.start - snapshot.start
        assert Lines(alone(target).text).line_at(alone(target).definition.start) == first - target.module.first_line
        edits = splice(target, CANDIDATE).edits
        assert min(edit.start for edit in edits) >= snapshot.start
        own = apply_edits(snapshot.text, [moved(edit, -snapshot.start) for edit in edits])
        assert apply_edits(target.text, edits) == above(snapshot.cells) + python_of(own)
        edit = workspace_edit(snapshot, edits, encoding, is_bound=True)
        assert edit.document_changes is not None
        (change,) = edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        assert (change.text_document.uri, change.text_document.version) == (uris[-1], 7)
        assert _edited(snapshot.text, change.edits, encoding) == own


def _edited(text: str, edits: Sequence[Any], encoding: str) -> str:
    codec, size = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[encoding]
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)

    def offset(at: types.Position) -> int:
        before = lines[at.line].encode(codec)[: at.character * size].decode(codec)
        return len("".join(lines[: at.line])) + len(before)

    for edit in sorted(edits, key=lambda edit: offset(edit.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text
