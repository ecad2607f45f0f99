"""Filters, with a table of cases for each. Also the position of code in a reply, and incomplete replies."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.replies.blocks import Block, code_blocks, fenced_blocks, is_prose, runs
from adacoder.replies.filters import (
    UNWRAPPING,
    is_python,
    is_thinking,
    unwrapped,
    without_byte_order_mark,
    without_control_tokens,
    without_thinking,
)
from adacoder.replies.transcript import readable, without_line_numbers, without_prompts

CODE = "def f(x):\n    return x\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\ufeffx", "x"),
        ("x\ufeff", "x\ufeff"),
        ("x", "x"),
    ],
)
def test_without_byte_order_mark(text: str, left: str) -> None:
    assert without_byte_order_mark(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>\nLet me see.\n</think>\n\nx = 1", "\n\nx = 1"),
        ("\n<thinking>short</thinking>x = 1", "x = 1"),
        ("<Thought>\na\n</Thought>\n<think>b</think>x", "x"),
        ("<|begin_of_thought|>a\n<|end_of_thought|>\nx", "\nx"),
        ("◁think▷a◁/think▷x", "x"),
        ("So I need to add.\n</think>\nx = 1", "\nx = 1"),
        ("So I need to add.</think>\nx = 1", "\nx = 1"),
        ("First:\n```python\ny\n```\n</think>\nx", "\nx"),
        ("<think>\nThey never closed it.\nx = 1", "\nThey never closed it.\nx = 1"),
        ("<think>I split at '</think>' here.</think>x", "x"),
        ("<|channel|>analysis<|message|>hm<|end|><|channel|>final<|message|>x", "x"),
        ("x = 1  # <think>", "x = 1  # <think>"),
        ("```python\ny = '''\n</think>\n'''\n```", "```python\ny = '''\n</think>\n'''\n```"),
        ("x = text.split('</think>')\n", "x = text.split('</think>')\n"),
    ],
)
def test_without_thinking(text: str, left: str) -> None:
    assert without_thinking(text) == left


@pytest.mark.parametrize(
    ("text", "thinks"),
    [
        ("<think>\nhm", True),
        ("<think>\nhm</think>", False),
        ("def f(): ...", False),
        (" <Thinking>\n```python\ndef f(): ...\n```\n", True),
    ],
)
def test_is_thinking(text: str, thinks: bool) -> None:
    assert is_thinking(text) is thinks


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("return x<|endoftext|>", "return x"),
        ("return x<｜end▁of▁sentence｜>\n", "return x"),
        ("return x\n<fim_suffix>", "return x"),
        ("<|fim_middle|>    return x<|im_end|>", "    return x"),
        ("<s>x</s>", "x"),
        ("<|im_start|>assistant\nx", "\nx"),
        ("<tool_call>x</tool_call>", "x"),
        ("[PYTHON]\nx\n[/PYTHON]", "\nx"),
        ("return x<|endoftext|>import os\nos.x", "return x"),
        ("```\nreturn x<|im_end|>\n```\nmore", "```\nreturn x\n```"),
        ("cut(text, '<|endoftext|>')", "cut(text, '<|endoftext|>')"),
        ('end = "<｜end▁of▁sentence｜>"\nx', 'end = "<｜end▁of▁sentence｜>"\nx'),
        ("a <b> c", "a <b> c"),
    ],
)
def test_without_control_tokens(text: str, left: str) -> None:
    assert without_control_tokens(text) == left


# Replies of llama3.1 in a command-line tool (github.com/Nano-Collective/nanocoder/issues/488), and of qwen2.5-coder in
# an agent whose tools it could not call (github.com/anomalyco/opencode/issues/10402). `…` is the code.
WRAPPED = (
    '{"language": "python", "file_path": "main.py", "content": …, "show_bash_commands": true}',
    '{"name": "write", "arguments": {"content": …, "filePath": "/C:/Code/SimpleTester/todo.md"}}',
)


@pytest.mark.parametrize("wrapped", WRAPPED)
def test_code_in_json_is_found(wrapped: str) -> None:
    text = wrapped.replace("…", json.dumps(CODE))
    for reply in (text, f"Here:\n{text}\nBye.", f"```json\n{text}\n```", text.replace("\\n", "\n")):
        assert [block.text for block in code_blocks(reply) if block.is_marked] == [CODE]
    fenced = wrapped.replace("…", json.dumps(f"See:\n```python\n{CODE}```\n"))
    assert [block.text for block in code_blocks(fenced) if block.is_marked] == [CODE.rstrip()]
    words = wrapped.replace("…", json.dumps("print('Hello, World!')"))
    assert code_blocks(words) == []


@pytest.mark.parametrize(
    "text", ['{"a": 1, "b": "two"}', "{not json", "[x for x in y]", "[" * 100_000, '{"a": ' * 10_000, CODE]
)
def test_what_is_no_json_with_code_is_no_block(text: str) -> None:
    assert code_blocks(text) == []


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("1 | def f(x):\n2 |     return x", "def f(x):\n    return x"),
        (" 9  def f(x):\n10      return x\n11  ", "def f(x):\n    return x\n"),
        ("1. def f(x):\n2.     return x", "def f(x):\n    return x"),
        ("So:\n1: def f(x):\n2:     return x\nThere.", "So:\ndef f(x):\n    return x\nThere."),
        ("1 def f(x):\n3     return x", "1 def f(x):\n3     return x"),
        ("1. First, define it.\n2. Then return it.", "1. First, define it.\n2. Then return it."),
        ("1 def f(x):", "1 def f(x):"),
        (CODE, CODE),
    ],
)
def test_without_line_numbers(code: str, left: str) -> None:
    assert without_line_numbers(code) == left


def test_line_endings_become_newlines() -> None:
    assert unwrapped("def f(x):\r\n    a = 1\r    return x\r\n") == "def f(x):\n    a = 1\n    return x\n"


@pytest.mark.parametrize(
    "code",
    [
        CODE,
        "x = '<think>'\n",
        "x = '''\n</think>\n<|endoftext|>'''\n",
        "x = '“a”\u00a0b'\n",
        "def f():\n    '''\n    >>> def g(): pass\n    '''\n",
        "'''\n```python\nx\n```\n'''\n",
    ],
)
def test_what_is_python_is_not_changed(code: str) -> None:
    assert is_python(code)
    assert unwrapped(code) == code
    assert readable(code) == code
    assert fenced_blocks(code) == []


@given(st.text(alphabet=st.sampled_from(list("<|>think/`~\"'“”‘’\\{}:[]\n\r\t def>.#\u00a0\u2212\ufeffx1"))))
def test_filters_take_any_text(text: str) -> None:
    for change in (*UNWRAPPING, without_line_numbers, without_prompts):
        assert isinstance(change(text), str)
    for block in code_blocks(text):
        assert all(run.text.strip() for run in runs(block))


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("```python\nx\n```", [Block("x", True)]),
        ("Here:\n\n```py\nx\n```\nand\n\n~~~\ny\n~~~\nbye", [Block("x", True), Block("y", True)]),
        ("````python\nx\n```\ny\n````", [Block("x\n```\ny", True)]),
        ("```Python title=a.py\nx\n```", [Block("x", True)]),
        ("```{.python}\nx\n```", [Block("x", True)]),
        ("```\nx\n", [Block("x\n", False)]),
        ("```bash\npip install x\n```\n```\ny\n```", [Block("y", True)]),
        ("1. First:\n   ```python\n   def f():\n       pass\n   ```", [Block("def f():\n    pass", True)]),
        ("- ```python\n  x\n  ```", [Block("x", True)]),
        ("   ```python\nx\n   ```", [Block("x", True)]),
        ("```def f(x):\n    return x\n```", [Block("def f(x):\n    return x", True)]),
        ("```python\nreturn x```\nbye", [Block("return x", True)]),
        ("```python\nx = '```'\ny\n```", [Block("x = '```'\ny", True)]),
        ("```python\nx\n```python\ny\n```", [Block("x", True), Block("y", True)]),
        ('```json\n{"code": "return x"}\n```', [Block("return x", True)]),
        ('```python\nx = """\n```\na\n```\n"""\ny\n```', [Block('x = """\n```\na\n```\n"""\ny', True)]),
        ('```python\nx = """\n```\nbye', [Block('x = """', False)]),
        ("no fence", []),
    ],
)
def test_fenced_blocks(text: str, blocks: list[Block]) -> None:
    assert fenced_blocks(text) == blocks


@pytest.mark.parametrize(
    "line",
    [
        "Here is the function:",
        "Here's how:",
        "Solution:",
        "Sure, I can do that.",
        "this function returns the sum",
        "for each item we add one:",
        "if you want to see more, ask",
        "import the module first",
        "- it sorts",
        "1. Sort the list",
        "**Explanation**",
        "```",
        "</code>",
        "[/PYTHON]",
        "Note: it is slow.",
    ],
)
def test_sentences_are_prose(line: str) -> None:
    assert is_prose(line)


@pytest.mark.parametrize(
    "line",
    [
        "def f(x):",
        "async def f(x):",
        "class A(B):",
        "import os as o, sys",
        "from a.b import c as d",
        "from __future__ import annotations",
        "@cache",
        "X: Final = 3",
        "type Pair = tuple[int, int]",
        "for a, b in zip(x, y):",
        "if not x and y is None:",
        "return a if b else c",
        "with open(a) as b, c:",
        "print x",
        "assert f(1) == 2, 'one two'",
        "raise ValueError from error",
        "match command:",
        "else:",
        "x = 'one two three'",
        "not_prose(a, b)",
        ")",
        '"""Doc string here."""',
        "while x in y or not z:",
        "lambda a: a",
    ],
)
def test_python_is_not_prose(line: str) -> None:
    assert not is_prose(line)


def test_runs_are_cut_where_prose_stands() -> None:
    text = "Here is the code (see below:\n\nx = [1,\n2]\n\nThis is it.\ny = '''\nThis is a string.\n'''\n"
    assert runs(Block(text, False)) == [
        Block("\nx = [1,\n2]\n\n", True),
        Block("y = '''\nThis is a string.\n'''\n", False),
    ]
