"""The numbered steps of a plan, and the end of a plan in a stream."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest

from adacoder.replies.steps import are_complete, steps

STEPS = "1. Add the values.\n2. Count them:\n   - all of them,\n   - once.\n3. Divide."
HERE = "▲"
TALK = f"Let me know if you want the code, or an example for every one of{HERE} these steps."

PLANS = {
    "nothing else": STEPS,
    "a closing line": f"{STEPS}\n\n{TALK}",
    "a fence behind a blank line": f"{STEPS}\n\n```python\n{HERE}def mean(values):\n```\n",
    "a fence at once": f"{STEPS}\n```\n{HERE}mean([1])\n```\n",
    "a heading": f"{STEPS}\n## Example\nmean([1])\n{HERE}",
    "a heading and a fence": f"{STEPS}\n\n**The code**\n\nHere it is:\n```python\n{HERE}def mean(values):\n```\n",
    "a short line": f"{STEPS}\n\nDone.\n{HERE}Bye.\n",
    "an introduction": f"This is how it goes:\n\n{STEPS}\n\n{TALK}\n",
    "blank lines between": STEPS.replace("\n2", "\n\n2").replace("\n3", "\n\n3"),
    "text in the next line": STEPS.replace("values.", "values\nas they come."),
    "unindented points": STEPS.replace("   -", "-"),
    "points behind a blank line": STEPS.replace("them:\n   - all", "them.\n\n- all").replace("   -", "-"),
    "steps in steps": f"{STEPS.replace('   -', '   1.', 1).replace('   -', '   2.')}\n\n{TALK}",
    "as many steps in a step": (
        "1. Add the values:\n   1. one\n   2. by\n   3. one\n\n2. Count them.\n\n3. Divide.\n\nDone.\n" + HERE
    ),
    "code in a step": (
        f"1. Add the values.\n2. Count them.\n3. With these:\n```\nx = 1\n\ny = 2\n```\n4. Divide.\n\nDone.\n{HERE}"
    ),
    "what a colon promises": f"1. Add the values.\n2. Count.\n3. So:\n\nx = 1\n\n4. Divide.\n\nDone.\n{HERE}",
    "steps behind a heading": f"1. Add the values.\n2. a\n3. b\n## Result\n4. Divide.\n\nDone.\n{HERE}",
    "what was wrong first": f"1. Add the values? No.\n2. a\n3. b\n\nSo:\n\n{STEPS}\n\nDone.\n{HERE}",
    "a short list first": f"1. a\n2. b\n\n{STEPS}\n\nDone.\n{HERE}",
    "two short lists": "1. Add.\n2. Count.\n\n1. Or so.\n2. Or not.\n\nAnd so on, as you like it.\n",
    "two short lists with headings": "### A\n1. Add.\n2. Count.\n### B\n1. Divide.\n\nAnd so on.\n\n2. Or not.\n",
    "no steps": "Add the values and divide by how many there are.\n\nThat is all there is to it.\n",
}


@pytest.mark.parametrize("marked", PLANS.values(), ids=PLANS)
def test_a_plan_is_complete_where_something_else_begins(marked: str) -> None:
    text = marked.replace(HERE, "")
    complete = [end for end in range(len(text) + 1) if are_complete(text[:end])]
    expected = marked.index(HERE) if HERE in marked else len(text) + 1
    assert complete == list(range(expected, len(text) + 1))


@pytest.mark.parametrize("name", [name for name in PLANS if "list" not in name and "no steps" not in name])
def test_only_the_steps_are_taken(name: str) -> None:
    found = steps(PLANS[name].replace(HERE, ""))
    assert found.startswith("1. Add the values")
    assert found.endswith(". Divide.")


@pytest.mark.parametrize("name", ["two short lists", "two short lists with headings", "no steps"])
def test_without_enough_steps_all_is_taken(name: str) -> None:
    assert steps(PLANS[name]) == PLANS[name].strip()


@pytest.mark.parametrize("written", ["### 1. {}", "**1.** {}", "1) {}", "**Step 1:** {}", "Step 1: {}", "  1. {}"])
def test_steps_are_numbered_in_many_ways(written: str) -> None:
    text = "".join(written.replace("1", str(number)).format("Do it.\n") for number in range(1, 5))
    assert steps(f"So:\n\n{text}\nThat is all there is to it.\n") == text.strip()
    assert are_complete(f"{text}\nThat is all there is to it.\n")


def test_what_is_only_thought_completes_nothing() -> None:
    draft = f"<think>\n{STEPS}\n\nNo, that is not what they want.\n"
    assert not are_complete(draft)
    assert not are_complete(f"{draft}</think>\n{STEPS}")
    assert are_complete(f"{draft}</think>\n{STEPS}\n\nThat is all there is to it.\n")


FOLDER = os.environ.get("ADACODER_DATA")


@pytest.mark.skipif(FOLDER is None, reason="ADACODER_DATA names no folder with recorded replies")
def test_no_recorded_list_of_steps_goes_on_behind_the_end_that_is_found() -> None:
    numbered = re.compile(r"^[ *_#]{0,6}(?:Step )?(\d{1,2})[*_]{0,2}[.):]", re.MULTILINE)
    with gzip.open(Path(FOLDER or "") / "model_replies.jsonl.gz", "rt", encoding="utf-8") as lines:
        replies = [row["reply"] for row in map(json.loads, lines) if row["kind"] == "chat-reply"]
    ended = 0
    for reply in replies:
        end = next((end for end in range(0, len(reply), 16) if are_complete(reply[:end])), None)
        if end is not None:
            ended += 1
            last = int(numbered.findall(steps(reply[:end]))[-1])
            following = numbered.search(reply, end)
            assert following is None or int(following[1]) != last + 1
    assert ended > 50
