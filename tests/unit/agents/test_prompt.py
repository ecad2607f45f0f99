"""Rendered prompts are compared with stored files, so that a diff shows every change of wording.

To update the files after an intended change: `ADACODER_RENEW_GOLDEN=1 pytest tests/unit/agents/test_prompt.py`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.agents import prompt
from adacoder.agents.example_designer import DESIGNER
from adacoder.agents.failures import describe, described
from adacoder.agents.programming_assistant import WRITER, WRITER_BY_PLAN
from adacoder.agents.prompt_engineer import PLANNER
from adacoder.domain import Example, Failure, FailureKind, Message, Target, Verdict
from adacoder.models.errors import ContextOverflow
from adacoder.models.window import Window
from adacoder.source import text
from adacoder.source.context import Piece, pieces
from adacoder.source.locate import functions, locate
from support.paths import ROOT

GOLDEN = Path(__file__).with_name("golden")
STUBS = ROOT / "fixtures" / "stubs"
LARGE = Failure(FailureKind.WRONG_OUTPUT, "…", Example("f()\n", "2\n", 0), got="wrong\n" * 10_000)
PLAN = "1. Read the text word by word.\n2. Keep each word once.\n3. Sort what is left."
ROLES = (WRITER, WRITER_BY_PLAN, PLANNER, DESIGNER)


def stubs() -> list[Target]:
    files = sorted(STUBS.rglob("*.py"))
    found = [one.target for path in files for one in functions(text.read(path).text, path, STUBS)]
    return [target for target in found if target.has_wants]


def to_write(packed: prompt.Briefing, plan: str | None = None) -> prompt.RoleCall:
    return packed.call(WRITER) if plan is None else packed.call(WRITER_BY_PLAN, {"plan": plan})


def to_plan(packed: prompt.Briefing, failure: Failure) -> prompt.RoleCall:
    return packed.call(PLANNER, {"error": described(Verdict(failure))})


def to_suggest(packed: prompt.Briefing) -> prompt.RoleCall:
    return packed.call(DESIGNER)


def briefing(target: Target, tokens: int = 8192, instructions: str = "") -> prompt.Briefing:
    return prompt.brief(target, pieces(target), ROLES, window=Window(tokens), instructions=instructions)


def with_class_examples(target: Target) -> Target:
    return replace(target, examples=(*target.examples, *target.of_class))


def rendered(messages: tuple[Message, ...]) -> str:
    return "".join(f"[{message.role}]\n{message.content}\n" for message in messages)


@pytest.mark.parametrize("target", stubs(), ids=lambda target: target.qualname)
def test_rendered_prompt_is_golden(target: Target) -> None:
    wrong = Failure(FailureKind.WRONG_OUTPUT, "…", target.examples[0], got="None\n")
    packed = briefing(target)
    text = rendered(packed.messages(to_write(packed).instruction))
    text += "\n--- planned ---\n" + to_write(packed, PLAN).instruction
    text += "\n--- plan ---\n" + to_plan(packed, wrong).instruction
    golden = GOLDEN / f"{target.module.path.stem}.{target.qualname}.md"
    if os.environ.get("ADACODER_RENEW_GOLDEN"):
        golden.write_text(text, encoding="utf-8", newline="\n")
    assert golden.read_bytes().decode() == text


@pytest.mark.parametrize("owner", ["", "class Owner:\n"])
def test_comments_of_a_stub_are_shown_below_its_docstring(owner: str) -> None:
    indent = "  " if owner else ""
    lines = [
        "def f(by):",
        '    """Doc."""',
        "    # TODO: by may be negative",
        "    pass  # ``` yet",
        "# shallow",
        "    ...",
    ]
    source = owner + "".join(f"{indent}{line}\n" for line in lines)
    target = locate(source, Path("/w/m.py"), Path("/w"), qualname=f"{'Owner.' if owner else ''}f")
    packed = briefing(target)
    assert "```python\n" + "\n".join([*lines[:3], "    # ``` yet", "    # shallow", "```"]) in packed.shared
    assert "```" not in "".join(to_write(packed).stop), "a fence in a comment is no end"
    written = locate(f"{source}{indent}    return 1\n", Path("/w/m.py"), Path("/w"), qualname=target.qualname)
    assert "TODO" not in briefing(written).shared, "they are part of what is to be written anew"


def test_every_call_of_a_request_begins_with_the_same_text() -> None:
    packed = briefing(stubs()[0])
    calls = [to_write(packed), to_write(packed, PLAN), to_plan(packed, LARGE), to_suggest(packed)]
    chats = [packed.messages(call.instruction) for call in calls]
    assert {chat[0] for chat in chats} == {chats[0][0]}
    assert all(chat[1].content.startswith(packed.shared) for chat in chats)
    assert len({chat[1].content for chat in chats}) == len(chats)


def test_every_request_begins_with_the_same_text() -> None:
    one, other = briefing(stubs()[0]), briefing(stubs()[-1])
    assert one.system == other.system
    assert one.shared != other.shared


def test_the_projects_instructions_end_the_system_text() -> None:
    packed = briefing(stubs()[0], instructions="Prefer early returns.")
    assert packed.system.endswith("Prefer early returns.\n")
    assert "Prefer" not in briefing(stubs()[0]).system


def packed(target: Target, *found: Piece, context_tokens: int) -> list[str]:
    """Return the kinds of the context's pieces in the prompt, in their order."""
    shared = prompt.brief(target, found, ROLES, window=Window(context_tokens), instructions="").shared
    assert target.docstring.splitlines()[0] in shared
    kept = [piece for piece in found if piece.text in shared]
    return [piece.kind for piece in sorted(kept, key=lambda piece: shared.index(piece.text))]


def test_context_is_cut_before_the_task() -> None:
    target = next(target for target in stubs() if target.name == "due")
    full, tight = briefing(target), briefing(target, 1400)
    assert "class Cart" in full.shared
    assert "class Cart" not in tight.shared
    assert full.shared.endswith(tight.shared[tight.shared.index("This is the function") :])


def test_pieces_are_kept_by_rank_and_whole_and_lesser_ones_fill_what_is_left() -> None:
    target = stubs()[0]
    first, large = Piece("class", "first = 1\n" * 50, 2), Piece("signature", "large = 1\n" * 300, 1)
    small, last = Piece("mentioned", "small = 1", 0), Piece("call", "last = 1\n" * 200, 3)
    everything = ["mentioned", "signature", "class", "call"]
    assert packed(target, first, large, small, last, context_tokens=16384) == everything
    assert packed(target, first, large, small, last, context_tokens=7600) == ["mentioned", "signature", "class"]
    assert packed(target, first, large, small, last, context_tokens=4096) == ["mentioned", "class"]


def test_what_nothing_points_to_never_takes_much() -> None:
    target = stubs()[0]
    nearby = [Piece("module", f"nearby_{number} = {number}", number) for number in range(1000)]
    mentioned = [Piece("mentioned", f"mentioned_{number} = {number}", 1000 + number) for number in range(1000)]
    kept = packed(target, *nearby, *mentioned, context_tokens=65536)
    assert 50 < kept.count("module") < 200
    assert kept.count("mentioned") == 1000


values = st.one_of(
    st.text(max_size=60),
    st.sampled_from([" ", "\n", "語", "🙂", "\ud800", "9 ", "x = [1, 2]\n"]).map(lambda text: text * 10_000),
)
shown = st.builds(Example, values, values, st.just(0))
failures = st.builds(
    Failure,
    st.sampled_from(FailureKind),
    values,
    st.none() | shown,
    st.none() | values,
    st.none() | values,
)
context = st.lists(st.builds(Piece, st.sampled_from(["class", "module"]), values, st.integers(0, 9)), max_size=6)
windows = st.builds(Window, st.integers(1024, 16_384), st.floats(0.5, 2.0))


@given(st.sampled_from(stubs()), context, windows, failures, values, st.text(max_size=60))
def test_every_chat_and_its_reply_fit_into_the_window(
    target: Target, found: list[Piece], window: Window, failure: Failure, plan: str, wishes: str
) -> None:
    try:
        packed = prompt.brief(target, found, ROLES, window=window, instructions=wishes)
    except ContextOverflow:
        return
    for call in (to_write(packed), to_write(packed, plan), to_plan(packed, failure), to_suggest(packed)):
        messages = packed.messages(call.instruction)
        assert target.docstring.splitlines()[0] in messages[-1].content
        assert window.measure_chat(messages) + call.max_tokens <= window.tokens


@pytest.mark.parametrize("tokens", [1024, 2048, 4096, 8192, 32_768])
def test_a_small_task_fits_into_any_window_that_may_be_set(tokens: int) -> None:
    target = next(target for target in stubs() if target.name == "check_digit")
    packed = prompt.brief(target, (), ROLES, window=Window(tokens), instructions="")
    assert all(line.strip() in packed.shared for line in target.docstring.splitlines())
    assert packed.reply_tokens >= tokens // 4
    call = to_plan(packed, LARGE)
    assert ">>> f()" in call.instruction
    assert "must give\n2\nbut gave" in call.instruction
    assert "characters …]" in call.instruction
    assert call.max_tokens == min(512, tokens // 8)


def test_an_error_is_whole_while_there_is_room_for_it_even_where_context_fills_the_window() -> None:
    value = ", ".join(f"'key {number}': {number}" for number in range(100))[:1000]
    failure = Failure(FailureKind.WRONG_OUTPUT, "…", Example(f"f({{{value}}})\n", f"{value}\n", 0), got=f"{value}!\n")
    context = [Piece("mentioned", f"mentioned_{number} = {number}", number) for number in range(1000)]
    full = prompt.brief(stubs()[0], context, ROLES, window=Window(8192), instructions="")
    assert describe(failure, 1500) in to_plan(full, failure).instruction
    assert full.window.measure_chat(full.messages("")) + full.reply_tokens > 6000
    small = prompt.brief(stubs()[0], context, ROLES, window=Window(2048), instructions="")
    assert "characters …]" in to_plan(small, failure).instruction


SCRIPT = '''
def script(name):
    """A script that calls a function.

    >>> print(script("main"))
    if __name__ == "__main__":
        main()
    """
'''


def test_no_server_stops_at_what_the_function_itself_may_hold() -> None:
    of = locate(SCRIPT, Path("/nowhere/scripts.py"), Path("/nowhere"), qualname="script")
    fence, main, test = WRITER.limits.stop
    assert to_write(briefing(of)).stop == (fence, test)
    assert to_write(briefing(of), "1. Begin with `assert x`.").stop == (fence,)
    assert to_write(briefing(stubs()[0]), PLAN).stop == (fence, main, test)
    assert to_write(briefing(stubs()[0], instructions="Write assert statements.")).stop == (fence, main)


FENCED = '''"""Makes Markdown.

```
code
```
"""


def block(code):
    """Code between fences.

    >>> print(block("x"))
    ```
    x
    ```
    """


def quoted(code):
    """Code as a ``literal``.

    >>> quoted("x")
    '`x`'
    """


class Page:
    """A page.

    >>> Page().code("x")
    \'```x```\'
    """

    def code(self, text):
        """A block of code."""

    def title(self, text):
        """A title.

        >>> Page().title("x")
        '# x'
        """
'''


@pytest.mark.parametrize(("name", "may_stop"), [("block", False), ("quoted", True), ("Page.code", False)])
def test_only_a_function_about_fences_may_write_one(name: str, may_stop: bool) -> None:
    """Only the function itself decides whether it may write fences.

    Fences in its module or in AdaCoder's prompt do not count.
    """
    of = locate(FENCED, Path("/nowhere/pages.py"), Path("/nowhere"), qualname=name)
    packed = prompt.brief(
        with_class_examples(of),
        [Piece("module", "```\ncode\n```", 0)],
        ROLES,
        window=Window(8192),
        instructions="Fence: ```",
    )
    assert packed.shared.count("```") > 2
    assert ("\n```\n" in to_write(packed, "1. Write:\n```\nx\n```").stop) is may_stop


def test_a_fence_around_code_is_longer_than_the_fences_in_it() -> None:
    of = locate(FENCED, Path("/nowhere/pages.py"), Path("/nowhere"), qualname="block")
    test = 'def test_block():\n    assert block("x") == """\n````\nx\n````\n"""'
    near = Piece("module", "`````\ncode\n`````", 0)
    packed = prompt.brief(of, [near], ROLES, window=Window(8192), instructions="", tests=[test])
    for fence, code in {"````": "def block(code):", "`````": test, "``````": near.text}.items():
        assert f"\n{fence}python\n{code}" in packed.shared
        assert f"\n{fence}\n" in packed.shared.partition(code)[2]
    assert "\n```python\ndef quoted" in briefing(locate(FENCED, of.module.path, Path("/"), qualname="quoted")).shared


def test_a_plan_of_its_full_length_is_never_cut() -> None:
    step = "1. Keep what has been seen in a set, and go on with the next word.\n"
    text = (step * 40)[: 512 * 3]
    assert text in to_write(briefing(stubs()[0]), text).instruction


CLASS = '''
class Account:
    """Money of one owner.

    >>> account = Account()
    >>> account.deposit(5)
    5
    >>> for each in (1, 2):
    ...     account.deposit(each)
    6
    8
    """

    def deposit(self, amount):
        """Put an amount in; gives the balance.

        >>> Account().deposit(1)
        1
        """
'''


def test_examples_of_the_class_are_part_of_the_task() -> None:
    target = locate(CLASS, Path("/nowhere/bank.py"), Path("/nowhere"), qualname="Account.deposit")
    text = CLASS.splitlines()
    own = Example("Account().deposit(1)\n", "1\n", text.index("        >>> Account().deposit(1)"))
    others = (
        Example("account = Account()\n", "", 4),
        Example("account.deposit(5)\n", "5\n", 5),
        Example("for each in (1, 2):\n    account.deposit(each)\n", "6\n8\n", 7),
    )
    alone = prompt.brief(replace(target, examples=(own,)), (), ROLES, window=Window(8192), instructions="").shared
    both = prompt.brief(
        replace(target, examples=(*others, own)), (), ROLES, window=Window(8192), instructions=""
    ).shared
    assert both.startswith(alone)
    assert both.removeprefix(alone) == (
        "\nThe docstring of the class `Account` shows how the class is used. These examples will be run too:\n\n"
        "```python\n"
        ">>> account = Account()\n>>> account.deposit(5)\n5\n"
        ">>> for each in (1, 2):\n...     account.deposit(each)\n6\n8\n"
        "```\n"
    )


def test_a_task_that_does_not_fit_says_which_setting_to_raise() -> None:
    with pytest.raises(ContextOverflow, match=r"raise --context-tokens"):
        briefing(stubs()[0], 700)


@pytest.mark.parametrize(
    ("failure", "shown"),
    [
        (
            Failure(FailureKind.WRONG_OUTPUT, "…", Example("f(1)\n", "2\n", 0), got="3\n"),
            ">>> f(1)\nmust give\n2\nbut gave\n3",
        ),
        (
            Failure(FailureKind.WRONG_OUTPUT, "…", Example("f(1)\n", "2\n", 0), got=""),
            ">>> f(1)\nmust give\n2\nbut gave\nnothing",
        ),
        (
            Failure(
                FailureKind.EXCEPTION,
                "…",
                Example("for x in f():\n    x\n", "2\n", 0),
                error="KeyError: 1",
                line=3,
            ),
            ">>> for x in f():\n...     x\nmust give\n2\nbut raised\nKeyError: 1",
        ),
        (
            Failure(FailureKind.TIMED_OUT, "It took over 2 s.", Example("f(1)\n", "2\n", 0)),
            ">>> f(1)\nmust give\n2\nbut this happened:\nIt took over 2 s.",
        ),
        (
            Failure(FailureKind.SYNTAX_ERROR, "It is no Python.", error="SyntaxError: '(' was never closed", line=2),
            "It is no Python.\nSyntaxError: '(' was never closed",
        ),
    ],
)
def test_an_error_names_the_example_what_it_must_give_and_what_it_gave(failure: Failure, shown: str) -> None:
    assert describe(failure, 100) == shown


def test_a_long_value_keeps_its_ends() -> None:
    failure = Failure(FailureKind.WRONG_OUTPUT, "…", Example("f()\n", "2\n", 0), got=f"a{'x' * 5000}b\n")
    shown = describe(failure, 1000)
    assert len(shown) < 1100
    assert "a" + "x" * 100 in shown
    assert shown.endswith("xb")
