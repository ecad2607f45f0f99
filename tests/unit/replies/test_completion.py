"""A streamed reply may be ended early, but not before its function is complete."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import Ended, Reply, Target
from adacoder.replies.completion import completion
from adacoder.replies.extract import extract
from adacoder.replies.filters import unwrapped
from adacoder.source.locate import locate

MODULE = '''def mean(values):
    """The mean of values.

    >>> mean([1, 2, 3])
    2.0
    """


class Square:
    def area(self):
        """The area."""
'''
MEAN = "def mean(values):\n    return sum(values) / len(values)\n"
STUB = "def mean(values):\n    pass\n"
HERE = "▲"


def target(qualname: str = "mean", text: str = MODULE) -> Target:
    return locate(text, Path("/w/numbers.py"), Path("/w"), qualname=qualname)


def first_complete(text: str, of: Target, ends: list[int]) -> int | None:
    """Return the first length in `ends` at which the reply counts as complete."""
    complete = completion(of)
    return next((end for end in ends if complete(text[:end])), None)


REPLIES = {
    "closed fence": f"Here it is:\n```python\n{MEAN}```\n{HERE}\nIt divides the sum.\n",
    "fence at the very end": f"```python\n{MEAN}```",
    "imports and a helper": f"```python\nimport math\n\ndef helper(x):\n    return x\n\n{MEAN}```\n{HERE}",
    "another block first": f"```bash\npip install x\n```\n```\nmean([1])\n```\n```python\n{MEAN}```\n{HERE}Bye.\n",
    "use inside the fence": f"```python\n{MEAN}\n# Example\nprint(mean([1]))\n{HERE}```\n",
    "unfenced, prose behind": f"{MEAN}\nThis divides the sum.\n{HERE}More.\n",
    "unfenced, tests behind": f"{MEAN}\nassert mean([1]) == 1\n{HERE}assert mean([2]) == 2\n",
    "unfenced, main behind": f'{MEAN}\n\nif __name__ == "__main__":\n{HERE}    mean([1])\n',
    "unfenced, another function behind": f"{MEAN}\ndef other(x):\n{HERE}    return x\n\nX = 1\n",
    "unfenced, an import behind": f"{MEAN}import os\n{HERE}import sys\n",
    "unfenced, its helper behind": (
        f"{MEAN.replace('sum', 'add')}\ndef other(x):\n    return x\n\ndef add(x):\n    return 0\n\nY = 2\n{HERE}"
    ),
    "unfenced, its helper never comes": f"{MEAN.replace('sum', 'add')}\ndef other(x):\n    return x\n\nX = 1\n",
    "a helper before it, not written yet": (
        f"def add(x):\n    ...\n\n{MEAN.replace('sum', 'add')}\nX = 1\n\ndef add(x):\n    return 0\n\nY = 2\n{HERE}"
    ),
    "helper in the next fence": (
        f"```python\n{MEAN.replace('sum', 'add')}```\nWith:\n```python\ndef add(x):\n    return 0\n```\n{HERE}Bye.\n"
    ),
    "a name that its annotations use": f"```python\n{MEAN.replace('(values)', '(values: List)')}```\n{HERE}Bye.\n",
    "names of the module": f"```python\n{MEAN.replace('sum', 'Square')}```\n{HERE}Bye.\n",
    "the same function again": f"{MEAN}\n{MEAN}\n",
    "blank lines without end": f"{MEAN}" + "\n" * 8 + HERE + "\n" * 20,
    "comments without end": f"{MEAN}" + "\n# It is so.\n" * 4 + HERE + "# Again.\n" * 20,
    "thinking in a channel": (
        f"<|channel|>analysis<|message|>```python\n{MEAN}```\nNo.\n"
        f"<|channel|>final<|message|>```python\n{MEAN}```\n{HERE}"
    ),
    "unfenced, a comment behind": f"{MEAN}\n# The end of it\n",
    "unfenced, nothing behind": f"{MEAN}\n\n",
    "body alone": f"    return sum(values)\n\nassert mean([1]) == 1\n{HERE}",
    "fence in the docstring": (
        f'```python\ndef mean(values):\n    """Mean.\n    ```\n    x\n    ```\n    """\n    return 1\n```\n{HERE}'
    ),
    "text at column 0 in a string": (
        f"def mean(values):\n    text = '''\nThis is text.\n'''\n    return text\n\nThis ends.\n{HERE}"
    ),
    "brackets over lines": f"def mean(values):\n    return [\nvalues\n]\n\nThis ends it.\n{HERE}",
    "stub first": f"```python\n{STUB}```\nNow the body:\n```python\n{MEAN}```\n{HERE}",
    "stub only": f"```python\n{STUB}```\nWrite the rest.\n",
    "thinking with a draft": (
        f"<think>\n```python\ndef mean(values):\n    return 1\n```\nNo.\n</think>\n```python\n{MEAN}```\n{HERE}"
    ),
    "another function": "```python\ndef other(x):\n    return x\n```\nDone.\n",
    "renamed function": "```python\ndef average(values):\n    return 1\n```\nDone.\n",
    "broken function": "```python\ndef mean(values):\n    return (1\n```\nDone.\n",
    "lost indentation": "```python\ndef mean(values):\nreturn 1\n```\nDone.\n",
    "later version in the same run": f"{STUB}\n\n{MEAN}\nThis is it.\n{HERE}",
    "prose only": "I cannot do that.\nNot even with def mean in it.\n\nSorry.\n",
    "carriage returns": f"```python\r\n{MEAN}```\r\n{HERE}Bye.\r\n",
}


@pytest.mark.parametrize("marked", REPLIES.values(), ids=REPLIES)
def test_a_reply_is_complete_where_its_function_is(marked: str) -> None:
    text = marked.replace(HERE, "")
    expected = marked.index(HERE) if HERE in marked else None
    assert first_complete(text, target(), list(range(len(text) + 1))) == expected


@pytest.mark.parametrize("marked", REPLIES.values(), ids=REPLIES)
@given(chunks=st.lists(st.integers(1, 40), min_size=1, max_size=200))
def test_the_function_is_whole_whatever_the_chunks(marked: str, chunks: list[int]) -> None:
    text = marked.replace(HERE, "")
    ends = [min(sum(chunks[: index + 1]), len(text)) for index in range(len(chunks))]
    end = first_complete(text, target(), ends)
    if end is not None:
        early = extract(Reply(text[:end], ended=Ended.STOPPED_EARLY), target())
        assert early == extract(Reply(text), target())
        assert not early.cut


def test_a_method() -> None:
    whole = "```python\nclass Square:\n    def area(self):\n        return 4\n```\nDone.\n"
    assert first_complete(whole, target("Square.area"), [40, len(whole)]) == len(whole)
    bare = "def area(self):\n    return 4\n\nThat is all.\n"
    assert first_complete(bare, target("Square.area"), [30, len(bare)]) == len(bare)


PIECES = [MEAN, "```\n", "```python\n", "\n", "def mean", ":\n    return", '"""', "Yes it is.\n", "<think>", "\r"]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_any_text_can_be_asked_about(text: str) -> None:
    complete = completion(target())
    for end in range(len(text) + 1):
        assert complete(text[:end]) in (True, False)


def test_asking_for_every_token_of_a_long_reply_reads_it_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counting(text: str) -> str:
        read.append(len(text))
        return unwrapped(text)

    monkeypatch.setattr("adacoder.replies.completion.unwrapped", counting)
    text = (
        "```python\ndef mean(values):\n" + "    values = sorted(values)\n" * 2_000 + "    return values\n```\nDone.\n"
    )
    assert first_complete(text, target(), [*range(0, len(text), 4), len(text)]) is not None
    assert len(read) <= 3


FOLDER = os.environ.get("ADACODER_DATA")


@pytest.mark.skipif(FOLDER is None, reason="ADACODER_DATA names no folder with recorded replies")
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_recorded_replies_keep_their_function(one_in: Callable[[int], int]) -> None:
    """Ending a recorded reply early never changes the resulting module."""
    with gzip.open(Path(FOLDER or "") / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as lines:
        tasks = {task["task_id"]: task for task in map(json.loads, lines)}
    with gzip.open(Path(FOLDER or "") / "model_replies.jsonl.gz", "rt", encoding="utf-8") as lines:
        replies = [reply for reply in map(json.loads, lines) if reply["benchmark"] == "HumanEval"][:: one_in(15)]
    ended = saved = 0
    for reply in replies:
        task = tasks[reply["task_id"]]
        of = target(task["entry_point"], task["prompt"].rstrip() + "\n    pass\n")
        text = reply["reply"] + "\n"
        end = first_complete(text, of, [*range(3, len(text), 3), len(text)])
        if end is not None:
            ended += 1
            saved += len(text) - end
            early, whole = extract(Reply(text[:end]), of), extract(Reply(text), of)
            assert early.function == whole.function, reply["id"]
    print(f"{ended} of {len(replies)} recorded replies could be ended early, by {saved} characters")
    assert ended > len(replies) // 20
