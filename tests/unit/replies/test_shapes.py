"""Code in all forms of replies: markup, JSON, listings, and replies that omit parts."""

from __future__ import annotations

import ast
import difflib
import json
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adacoder.domain import Candidate, Reply, Target
from adacoder.replies.extract import extract
from adacoder.source.locate import locate

MODULE = '''LIMIT = 10


def clamp(value, least=0):
    """The value, but not below least.

    >>> clamp(-1)
    0
    """
    pass
'''
CLAMP = 'def clamp(value, least=0):\n    if value < least and value["x"] > 0:\n        return least\n    return value'
LINES = CLAMP.split("\n")
BODY = "\n".join(LINES[1:])
DRAFT = "def clamp(value, least=0):\n    return max(value, least)"
STUB = "def clamp(value, least=0):\n    pass"


def target(text: str = MODULE) -> Target:
    return locate(text, Path("/w/numbers.py"), Path("/w"), qualname="clamp")


def read(text: str, of: str = MODULE) -> Candidate:
    return extract(Reply(text), target(of))


def prefixed(mark: str, text: str = CLAMP) -> str:
    return "\n".join(f"{mark}{line}" for line in text.split("\n"))


def numbered(form: str, first: int = 1) -> str:
    return "\n".join(form.format(number, line) for number, line in enumerate(LINES, first))


SHAPES = {
    "five backticks": f"`````python\n{CLAMP}\n`````",
    "python3": f"```python3\n{CLAMP}\n```",
    "capitals": f"```PYTHON\n{CLAMP}\n```",
    "language and file": f"```python:src/numbers.py\n{CLAMP}\n```",
    "language and title": f'```py title="numbers.py"\n{CLAMP}\n```',
    "another language": f"```javascript\n{CLAMP}\n```",
    "language on a line of its own": f"```\npython\n{CLAMP}\n```",
    "language without a fence": f"python\n{CLAMP}\n",
    "indented as a block": f"The function:\n\n{prefixed('    ')}\n\nThat is all.",
    "indented under an item": f"- Write this:\n\n{prefixed('      ')}\n\n- Then run it.",
    "headings": f"### Solution\n\n{CLAMP}\n\n### Explanation\nIt compares.",
    "bold": f"**Solution:**\n{CLAMP}\n**Explanation:** It compares.",
    "rules": f"---\n{CLAMP}\n---\n",
    "prompt echoed": f"Complete it.\n```python\n{STUB}\n```\n### Response:\n```python\n{CLAMP}\n```",
    "Markdown in a fence": f"```markdown\nHere:\n```python\n{CLAMP}\n```\nDone.\n```",
    "tables": f"| step | code |\n|--|--|\n| 1 | `return 1` |\n\n```python\n{CLAMP}\n```\n\n| in | out |\n|--|--|\n",
    "German": f"Hier ist die Funktion:\n\n{CLAMP}\n\nDiese Funktion vergleicht die beiden Werte.",
    "French": f"Voici la fonction :\n\n{CLAMP}\n\nL'appel clamp(1) donne 1.",
    "Spanish": f"¡Claro! Aquí tienes la función:\n\n{CLAMP}\n\nEsta función devuelve el mayor.",
    "Russian": f"Вот функция:\n\n{CLAMP}\n\nЭта функция возвращает большее.",
    "Chinese": f"以下是实现：\n\n{CLAMP}\n\n这个函数返回较大的值。",
    "Japanese": f"これは関数です：\n{CLAMP}\n以上です。",
    "emoji": f"✅ Done! 🎉\n\n{CLAMP}\n\n💡 Tip: use max.",
    # replies with thoughts
    "draft in thinking": f"<think>\n```python\n{DRAFT}\n```\n</think>\n```python\n{CLAMP}\n```",
    "thinking behind words": f"Well.\n<think>\n```python\n{DRAFT}\n```\n</think>\n```python\n{CLAMP}\n```",
    "thinking in brackets": f"[THINK]I think so.\n[/THINK]\n{CLAMP}",
    "thinking of one family": f"<seed:think>I think so.</seed:think>\n{CLAMP}",
    "thinking of another": f"<|channel>thought\nI think so.\n<channel|>{CLAMP}",
    "thought and solution": (
        f"<|begin_of_thought|>\n```python\n{DRAFT}\n```\n<|end_of_thought|>\n"
        f"<|begin_of_solution|>\n```python\n{CLAMP}\n```\n<|end_of_solution|>"
    ),
    "reflection": f"<reflection>\n{DRAFT}\n</reflection>\n<output>\n{CLAMP}\n</output>",
    "reasoning and answer": f"<reasoning>It compares.</reasoning>\n<answer>\n{CLAMP}\n</answer>",
    "final channel": (
        f"<|channel|>analysis<|message|>```python\n{DRAFT}\n```<|end|><|start|>assistant"
        f"<|channel|>final<|message|>```python\n{CLAMP}\n```<|return|>"
    ),
    "no final channel": (
        f"<|channel|>analysis<|message|>It compares.<|end|><|start|>assistant"
        f"<|channel|>commentary<|message|>{CLAMP}<|return|>"
    ),
    # replies with control tokens of models
    "ChatML": f"<|im_start|>assistant\n{CLAMP}<|im_end|>\n<|im_start|>user\nThanks",
    "Llama 2": f"<s> [INST] Write. [/INST]\n{CLAMP}</s>",
    "Llama 3": f"<|begin_of_text|><|start_header_id|>assistant<|end_header_id|>\n\n{CLAMP}<|eot_id|>",
    "Code Llama": f"{CLAMP} <EOT>",
    "Gemma": f"<bos><start_of_turn>model\n{CLAMP}<end_of_turn>",
    "DeepSeek": f"<｜Assistant｜>{CLAMP}<｜end▁of▁sentence｜>",
    "Granite": f"<|start_of_role|>assistant<|end_of_role|>{CLAMP}<|end_of_text|>",
    "Phi": f"<|assistant|>\n{CLAMP}<|end|>",
    "Command": f"<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{CLAMP}<|END_OF_TURN_TOKEN|>",
    "StarCoder": f"<filename>numbers.py\n{CLAMP}<|endoftext|>",
    "fill in the middle": f"<|fim_middle|>{CLAMP}<|fim_pad|>",
    "suffix": f"{CLAMP}<fim_suffix>\nmore",
    # replies in markup languages
    "character data": f"<code><![CDATA[\n{CLAMP}\n]]></code>",
    "file element": f'<file path="numbers.py">\n{CLAMP}\n</file>',
    "fence in an element": f"<answer>\n```python\n{CLAMP}\n```\n</answer>",
    "page that folds": f"<details>\n<summary>Solution</summary>\n\n```python\n{CLAMP}\n```\n\n</details>",
    "listing in TeX": f"\\begin{{lstlisting}}[language=Python]\n{CLAMP}\n\\end{{lstlisting}}",
    "formulas around": f"$\\max(v, l)$ is:\n\n\\[\nx = \\frac{{1}}{{n}}\n\\]\n\n{CLAMP}\n\n$\\boxed{{f}}$",
    "begin and end": f"[BEGIN]\n{CLAMP}\n[DONE]",
    "TeX": f"\\begin{{code}}\n{CLAMP}\n\\end{{code}}",
    # replies in JSON and similar formats
    "JSON content": json.dumps({"path": "numbers.py", "content": CLAMP}),
    "JSON with a test before the code": json.dumps({"test": "def test_clamp():\n    return 1", "code": CLAMP}),
    "JSON in prose": f"Here it is:\n\n{json.dumps({'code': CLAMP})}\n\nI hope it helps!",
    "fence in JSON": json.dumps({"answer": f"Here:\n```python\n{CLAMP}\n```\nBye."}),
    "JSON in a fence": f"```json\n{json.dumps({'code': CLAMP}, indent=2)}\n```",
    "tool call": f"<tool_call>\n{json.dumps({'name': 'insert', 'arguments': {'text': CLAMP}})}\n</tool_call>",
    "tool call in prose": f"Yes.\n<tool_call>\n{json.dumps({'name': 'x', 'arguments': {'y': CLAMP}})}\n</tool_call>",
    "tool call as elements": f"<tool_call>\n<function=write>\n<parameter=content>\n{CLAMP}\n</parameter>\n</function>",
    "tag before a call": f"<|python_tag|>{json.dumps({'name': 'f', 'parameters': {'code': CLAMP}})}",
    "edit of a tool": json.dumps({"name": "edit", "arguments": {"old_string": "    pass", "new_string": BODY}}),
    "here document": f"```bash\ncat > numbers.py << 'EOF'\n{CLAMP}\nEOF\npython numbers.py\n```",
    "YAML": f"code: |\n{prefixed('  ')}\nlanguage: python\n",
    # replies that are listings with line numbers or prompts
    "numbered": numbered("{} | {}"),
    "numbered in a fence": f"```python\n{numbered('{:3}  {}')}\n```",
    "numbered with tabs": numbered("{}\t{}"),
    "numbered with colons": numbered("{}: {}"),
    "numbered with full stops": numbered("{}. {}"),
    "numbered from 8": numbered("{:>4} │ {}", 8),
    "numbered in prose": f"The code:\n\n{numbered('{:2} {}')}\n\nLine 2 compares.",
    # replies with unusual characters
    "line endings translated twice": CLAMP.replace("\n", "\r\r\n"),
    # replies with other texts around the code
    "another file behind": f"{CLAMP}\nimport django\nfrom django.conf import settings\n\nsettings.configure()\n",
    "docstring ended": f'not below least.\n\n    >>> clamp(-1)\n    0\n    """\n{BODY}\n',
    "whole lines of the docstring": f'\n    >>> clamp(-1)\n    0\n    """\n{BODY}\n',
}  # fmt: skip


@pytest.mark.parametrize("reply", SHAPES.values(), ids=SHAPES)
def test_a_function_in_any_dress(reply: str) -> None:
    candidate = read(reply)
    assert candidate.function.replace("[value]", "value") == CLAMP
    assert candidate.definitions == ()
    assert not candidate.cut


@pytest.mark.parametrize(
    "patch",
    [
        '```diff\n@@ -4,7 +4,7 @@ LIMIT = 10\n     0\n     """\n-    pass\n+    return max(value, least)\n```\nSo.',
        "@@ -4,2 +4,2 @@\n def clamp(value, least=0):\n-    pass\n+    return max(value, least)\n",
        "<<<<<<< SEARCH\n    pass\n=======\n    return max(value, least)\n>>>>>>> REPLACE\n",
        "```diff\n@@ -4,2 +4,3 @@\n def clamp(value, least=0):\n+    value = abs(value)\n     value = 1\n```",
    ],
)
def test_a_patch_gives_no_half_of_a_function(patch: str) -> None:
    function = read(patch).function
    assert read(f"```python\n{patch}```").function == function
    assert not function or function.startswith(CLAMP.partition("\n")[0])
    assert read(f"{patch}\n\nAll of it:\n\n```python\n{CLAMP}\n```") == Candidate(CLAMP)


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "...",
        "…",
        "raise NotImplementedError",
        '"""The value, but not below least."""',
        '"""Doc."""\n    """..."""',
        "total = 0\n    # ...\n    return total",
        "total = 0\n    # rest of code\n    return total",
        "total = 0\n    # ... rest of the code ...\n    return total",
        "total = 0\n    # [rest of the code]\n    return total",
        "total = 0\n    # <rest of code>\n    return total",
        "total = 0\n    # // ... rest of code ...\n    return total",
        "total = 0\n    # (existing code)\n    return total",
        "total = 0\n    # ... (rest of the implementation remains the same)\n    return total",
        "total = 0\n    # Rest of your code goes here\n    return total",
        "total = 0\n    # your existing implementation\n    return total",
        "total = 0\n    # same as before\n    return total",
        "total = 0\n    # code omitted for brevity\n    return total",
        "total = 0\n    # remaining logic unchanged\n    return total",
        "total = 0\n    ...  # rest of code\n    return total",
        "total = 0\n    ... rest of code ...\n    return total",
        "total = 0\n    [... rest of code ...]\n    return total",
        "for each in value:\n        # ... rest of the loop\n        pass\n    return 0",
        "if least:\n        ...\n    else:\n        return 0",
        "# TODO: implement\n    return 0",
        "# TODO\n    return []",
        "# Your code here\n    return None",
        "if not value:\n        return 0\n    # TODO: implement the rest\n    pass",
    ],
)
def test_what_leaves_parts_out_is_cut(body: str) -> None:
    candidate = read(f"```python\ndef clamp(value, least=0):\n    {body}\n```")
    assert candidate.cut
    assert candidate.function.startswith("def clamp(value, least=0):\n")


@pytest.mark.parametrize(
    "body",
    [
        "# handle the rest of the code points\n    return value",
        "# 1, 2, ...\n    value[...] = 1\n    return value",
        "if not value:\n        raise NotImplementedError\n    return 0",
        "try:\n        return int(value)\n    except ValueError:\n        ...\n    return least",
        "class Error(Exception): ...\n    raise Error",
        "# Your code here\n    return max(value, least)",
        "# TODO: make it faster\n    return max(value, least)",
        "return 0",
    ],
)
def test_what_is_whole_is_not_cut(body: str) -> None:
    assert not read(f"```python\ndef clamp(value, least=0):\n    {body}\n```").cut


@pytest.mark.parametrize(
    "reply",
    [
        '```json\n{"name": "read_file", "arguments": {"path": "numbers.py"}}\n```',
        '{"code": "function clamp(value) {\\n  return value;\\n}"}',
        "<answer>42</answer>",
        "1. Compare the two.\n2. Return the larger.\n",
        "> You asked for a function.\n> I have none.\n",
        "```diff\n-LIMIT = 10\n+LIMIT = 11\n```",
        "--- \n+++ \n",
        "function clamp(value, least) {\n  return Math.max(value, least);\n}\n",
        "It gives:\n```\n4\n```",
        "```\nint clamp(int value) {\n    return value;\n}\n```",
        "fn clamp(value: i32) -> i32 {\n    value\n}\n",
    ],
)
def test_no_function_is_made_up(reply: str) -> None:
    assert not read(reply).function.removeprefix(target().source)


@pytest.mark.parametrize(
    ("reply", "function"),
    [
        (
            "clamp = lambda value, least=0: max(value, least)",
            "def clamp(value, least=0):\n    return max(value, least)",
        ),
        (
            "```python\nclamp = lambda v, l=0: (  # the larger\n    v if v > l\n    else l\n)\nprint(clamp(1))\n```",
            "def clamp(v, l=0):\n    return (\n    v if v > l\n    else l\n)",
        ),
    ],
)
def test_a_lambda_is_written_as_a_function(reply: str, function: str) -> None:
    found = read(reply)
    assert ast.dump(ast.parse(found.function)) == ast.dump(ast.parse(function))
    assert not found.cut


ELSEWHERE = '''class Outer:
    class Stack:
        def push(self, item):
            """Add item; give the new size.

            >>> Outer.Stack().push(1)
            1
            """

        @property
        def top(self):
            """The last item."""

    @classmethod
    def of(cls, item):
        """A stack of one item."""


async def fetch(url, retries=3):
    """The page at url."""
'''
PUSH = "def push(self, item):\n    self.items.append(item)\n    return len(self.items)"
TOP = "@property\ndef top(self):\n    return self.items[-1]"
OF = "@classmethod\ndef of(cls, item):\n    return cls([item])"
FETCH = "async def fetch(url, retries=3):\n    for _ in range(retries):\n        await sleep(0)\n    return url"


@pytest.mark.parametrize(
    ("qualname", "reply", "function"),
    [
        ("Outer.Stack.push", PUSH, PUSH),
        ("Outer.Stack.push", f"```python\n{prefixed(' ' * 8, PUSH)}\n```", PUSH),
        ("Outer.Stack.push", f"```python\nclass Stack:\n    items = []\n\n{prefixed('    ', PUSH)}\n```", PUSH),
        (
            "Outer.Stack.push",
            f"class Outer:\n    class Stack:\n        # ... rest ...\n{prefixed(' ' * 8, PUSH)}\n        # rest ...",
            PUSH,
        ),
        ("Outer.Stack.top", f"```python\n{TOP}\n```", TOP),
        (
            "Outer.Stack.top",
            f"class Stack:\n{prefixed('    ', TOP)}\n\n    @top.setter\n    def top(self, item):\n        pass",
            TOP,
        ),
        ("Outer.of", f"{OF}\n\n\nOuter.of(1)\n", OF),
        ("fetch", f"```python\n{FETCH}\n```", FETCH),
        (
            "fetch",
            f"```python\ndef fetch_now(url, retries=3):\n    return url\n```\nor\n```python\n{FETCH}\n```",
            FETCH,
        ),
        ("fetch", "```python\n" + FETCH.partition("\n")[2] + "\n```", FETCH),
    ],
)
def test_methods_properties_and_coroutines(qualname: str, reply: str, function: str) -> None:
    found = extract(Reply(reply), locate(ELSEWHERE, Path("/w/stacks.py"), Path("/w"), qualname=qualname))
    assert found == Candidate(function)


TEXTS = st.lists(st.sampled_from(["-- x", "++ y", "- a", "+ b", "@@ -1 +1 @@", " c", "    d", "\\ e"]), max_size=12)


@settings(max_examples=150)
@given(before=TEXTS, after=TEXTS, above=TEXTS, context=st.integers(1, 5))
def test_a_unified_diff_gives_the_function_that_it_was_made_of(
    before: list[str], after: list[str], above: list[str], context: int
) -> None:
    """A diff may add and remove any lines, even lines that look like a file's header."""

    def module(lines: list[str]) -> str:
        within = "\n".join(["", *lines, ""])
        ours = f'def clamp(value, least=0):\n    """Clamp."""\n    text = """{within}"""\n    return text\n'
        return "NOTES = '''" + "\n".join(["", *above, ""]) + f"'''\n\n\n{ours}\n\nLAST = 1\n"

    old, new = module(before), module(after)
    assume(old != new)
    one, other = (text.split("\n")[:-1] for text in (old, new))
    diff = "\n".join(difflib.unified_diff(one, other, "a/numbers.py", "b/numbers.py", lineterm="", n=context))
    found = read(f"{diff}\n", old)
    assert found.function.strip() == target(new).source.strip()
    assert not found.cut


def test_a_header_of_a_file_ends_a_hunk_that_has_fewer_lines_than_it_says() -> None:
    wrong = '@@ -9,9 +9,9 @@\n     """\n-    pass\n+    return max(value, least)\n'
    other = "--- a/other.py\n+++ b/other.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n"
    assert "return max(value, least)" in read(f"--- a/numbers.py\n+++ b/numbers.py\n{wrong}{other}").function
