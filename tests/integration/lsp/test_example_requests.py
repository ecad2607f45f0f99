"""Requests for other clients: examples with positions and states, runs by id, evidence, and the version."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from integration.lsp.client import FULL, Client, ResponseError
from integration.lsp.texts import BODY, GOOD, STUB, UNENDING, told_of
from support.evaluating import threads_of, until
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

CHANGED = "adacoder/evidenceChanged"

SHAPES = '''"""Shapes.

>>> area(1)
1
"""
from typing import overload


@overload
def area(side: int) -> int: ...
@overload
def area(side: str) -> str:
    """Of a word."""
def area(side):
    """Ünïcode 😀 before it: area(2) == 4

    >>> area(
    ...     2)
    4
    >>> area(3)
    10
    >>> area(4)  # doctest: +SKIP
    5
    """
    if side > 2:
        return 0
    return side * side


class Shape:
    """A shape."""

    @property
    def side(self):
        """Its side.

        >>> Shape().side
        1
        """
        return 1

    @side.setter
    def side(self, value):
        """Set it.

        >>> shape = Shape()
        >>> shape.side = 3
        >>> shape.side
        1
        """


def outer():
    def inner():
        """
        >>> inner()
        """
'''


async def listed(editor: Client, uri: str) -> list[dict[str, Any]]:
    answer = await editor.request("adacoder/examples", {"textDocument": {"uri": uri}})
    assert (answer["version"], answer["reason"]) == (1, None)
    assert answer["textDocument"]["uri"] == uri
    items: list[dict[str, Any]] = answer["items"]
    return items


async def checked(editor: Client, **params: Any) -> Any:
    answer = await editor.request("adacoder/check", params)
    assert answer["version"] == 1
    return answer


async def test_strings_of_dunder_test_are_docstrings(editor: Client) -> None:
    text = 'X = 1\n__test__ = {"a#b": """\n>>> X\n2\n""", "c": str(X)}\n'
    uri = await editor.write("dunder.py", text)
    string, unread = await listed(editor, uri)
    assert (string["qualifiedName"], string["kind"], string["reason"]) == ("__test__.a#b", "module", None)
    assert (unread["qualifiedName"], unread["id"]) == ("__test__", None)
    assert unread["reason"].startswith("Line 5 puts something into `__test__` that is not read")
    answer = await checked(editor, ids=[string["id"]])
    assert [result["status"] for result in answer["results"]] == ["failed"]
    (string, _) = await listed(editor, uri)
    assert [example["state"] for example in string["examples"]] == ["failed"]


async def test_all_docstrings_are_listed_with_their_places(editor: Client) -> None:
    uri = await editor.write("shapes.py", SHAPES)
    items = await listed(editor, uri)
    assert [(item["qualifiedName"], item["kind"], len(item["examples"])) for item in items] == [
        ("__doc__", "module", 1),
        ("area", "function", 0),
        ("area", "function", 3),
        ("Shape", "class", 0),
        ("Shape.side", "function", 1),
        ("Shape.side", "function", 3),
        ("outer.inner", "function", 0),
    ]
    assert [bool(item["reason"]) for item in items] == [False, True, False, False, False, False, True]
    assert "overload" in items[1]["reason"]
    assert [item["id"] is None for item in items] == [bool(item["reason"]) for item in items]
    assert "inside a function" in items[-1]["reason"]
    ids = [item["id"] for item in items] + [example["id"] for item in items for example in item["examples"]]
    assert len(set(ids)) == len(ids) - 1, "of what cannot run none has an id"
    first, second, third = items[2]["examples"]
    assert (first["source"], first["want"], first["state"]) == ("area(\n    2)\n", "4\n", "unknown")
    places = [
        SHAPES[editor.offset(SHAPES, each["range"]["start"]) : editor.offset(SHAPES, each["range"]["end"])]
        for each in (first, second, third, items[2])
    ]
    assert places[:3] == [">>> area(\n    ...     2)", ">>> area(3)", ">>> area(4)  # doctest: +SKIP"]
    assert places[3].startswith("def area(side):\n")
    assert places[3].endswith("return side * side")


async def test_a_document_is_checked_and_states_and_evidence_are_known_until_it_changes(editor: Client) -> None:
    uri = await editor.write("shapes.py", SHAPES)
    assert (await editor.request("adacoder/evidence", {"textDocument": {"uri": uri}}))["items"] == []
    answer = await checked(editor, textDocument={"uri": uri}, coverage=True)
    found = {result["target"].partition("::")[2]: result for result in answer["results"]}
    assert {name: result["status"] for name, result in found.items()} == {
        "__doc__": "verified",
        "area": "partial",
        "Shape": "unverified",
        "Shape.side": "verified",
    }
    area = found["area"]
    assert [(result["state"], result["got"]) for result in area["results"]] == [
        ("passed", "4\n"),
        ("failed", "0\n"),
        ("skipped", None),
    ]
    assert area["version"] == 1
    assert area["failure"]["want"] == "10\n"
    assert found["Shape.side"]["coverage"]["lines"] == 1
    items = await listed(editor, uri)
    assert [example["state"] for example in items[2]["examples"]] == ["passed", "failed", "skipped"]

    async def evidence() -> dict[str, tuple[bool, str]]:
        answer = await editor.request("adacoder/evidence", {"textDocument": {"uri": uri}})
        assert answer["version"] == 1
        return {item["id"]: (item["isCurrent"], item["evidence"]["status"]) for item in answer["items"]}

    name = items[2]["id"]
    assert (await evidence())[name] == (True, "partial")
    await editor.change(uri, '"""Shapes.', '"""Many shapes.')
    assert (await evidence())[name] == (True, "partial"), "what is elsewhere does not matter"
    await editor.change(uri, "return 0", "return 1")
    assert (await evidence())[name] == (False, "partial")
    assert [example["state"] for example in (await listed(editor, uri))[2]["examples"]] == ["unknown"] * 3


async def test_ids_are_checked_and_each_result_comes_as_it_is_there(editor: Client) -> None:
    shapes, names = await editor.write("shapes.py", SHAPES), await editor.write("names.py", STUB + BODY)
    area, initials = (await listed(editor, shapes))[2], (await listed(editor, names))[0]
    ids = [area["examples"][1]["id"], initials["id"], f"{names}#gone"]
    answer = await checked(editor, ids=ids, partialResultToken="mine")
    assert (answer["results"], answer["reason"]) == ([], None)
    parts = editor.all("$/progress")
    assert {(part["token"], part["value"]["version"]) for part in parts} == {("mine", 1)}
    found = [result for part in parts for result in part["value"]["results"]]
    assert {result["id"]: result["status"] for result in found} == {
        area["id"]: "partial",
        f"{names}#gone": "error",
        initials["id"]: "verified",
    }
    (gone,) = (result for result in found if result["status"] == "error")
    assert "ask for the document's examples again" in gone["reason"]
    assert gone["coverage"] is None, "it has the members of every result"


async def test_what_is_generated_leaves_evidence(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        answer = await editor.run("names.py", "initials")
    assert (answer["version"], answer["status"]) == (1, "verified")
    (item,) = (await editor.request("adacoder/evidence", {"textDocument": {"uri": uri}}))["items"]
    assert (item["qualifiedName"], item["isCurrent"], item["evidence"]["status"]) == ("initials", True, "verified")
    assert 0 <= item["age"] < 60
    states = [(result["id"], result["state"]) for result in item["results"]]
    assert states == [(f"{item['id']}/1", "passed"), (f"{item['id']}/2", "passed")]
    await editor.change(uri, ".upper()", ".lower()")
    (item,) = (await editor.request("adacoder/evidence", {"textDocument": {"uri": uri}}))["items"]
    assert (item["isCurrent"], item["results"]) == (False, [])
    assert editor.all(CHANGED) == [], "it has not declared that it follows evidence"


async def test_a_client_that_declares_it_hears_of_evidence_that_it_did_not_ask_for(tmp_path: Path) -> None:
    capabilities = {**FULL, "experimental": {"adacoder": {"evidence": True}}}
    async with (
        StandIn([GOOD]) as standin,
        Client.started(tmp_path, told_of(standin), capabilities=capabilities) as editor,
    ):
        uri = await editor.write("names.py", STUB)
        await checked(editor, textDocument={"uri": uri})
        assert editor.all(CHANGED) == []
        assert (await editor.run("names.py", "initials"))["status"] == "verified"
        assert editor.all(CHANGED) == [{"version": 1, "textDocument": {"uri": uri}}]


SLOW = "import threading, time; threading.Timer(60, print).start(); time.sleep({})"
"""A slow example, which starts a second thread so that a test can see that it runs."""


def runs(editor: Client) -> bool:
    """Return True if an evaluation has started a second thread."""
    return any(threads_of(pid) > 1 for pid in editor.descendants())


async def test_of_a_text_that_changed_meanwhile_there_is_no_coverage(editor: Client) -> None:
    slow = STUB.replace('    >>> initials("ada', f'    >>> {SLOW.format(1)}\n    >>> initials("ada', 1) + BODY
    uri = await editor.write("slow.py", slow)
    found = await checked(editor, textDocument={"uri": uri}, coverage=True)
    assert found["results"][0]["coverage"], "the control"
    _, answering = await editor.begin("adacoder/check", {"textDocument": {"uri": uri}, "coverage": True})
    await until(lambda: runs(editor))
    await editor.change(uri, "def initials", "A = 1\n\n\ndef initials")
    (result,) = (await asyncio.wait_for(answering, 20))["results"]
    assert (result["status"], result["coverage"]) == ("verified", None)


async def test_a_run_can_be_cancelled(editor: Client) -> None:
    slow = f'def f():\n    """F.\n\n    >>> {SLOW.format(60)}\n    >>> f()\n    1\n    """\n    return 1\n'
    uri = await editor.write("slow.py", slow)
    editor.settings = {"timeout": 90}
    number, answering = await editor.begin("adacoder/check", {"textDocument": {"uri": uri}})
    await until(lambda: runs(editor))
    await editor.cancel(number)
    with pytest.raises(ResponseError) as caught:
        await asyncio.wait_for(answering, 20)
    assert caught.value.code == -32800


async def test_an_endless_example_fails_alone(editor: Client) -> None:
    text = 'def f(x):\n    """\n    >>> f(1)\n    1\n    >>> f(0)\n    0\n    >>> f(1)\n    1\n    """\n'
    text += "    while not x:\n        pass\n    return x\n\n\n"
    uri = await editor.write("endless.py", text + text.replace("f(", "g(").replace("g(0)\n    0", "g(2)\n    2"))
    editor.settings = {"timeout": 1}
    found = (await checked(editor, textDocument={"uri": uri}))["results"]
    states = {result["status"]: [each["state"] for each in result["results"]] for result in found}
    assert states == {"partial": ["passed", "failed", "unknown"], "verified": ["passed"] * 3}
    endless = next(result for result in found if result["status"] == "partial")["results"][1]
    assert endless["got"] is None
    assert "line 5 was still running" in endless["hint"]
    first, second = await listed(editor, uri)
    assert [each["state"] for each in first["examples"]] == states["partial"]
    assert [each["state"] for each in second["examples"]] == states["verified"]


async def test_many_docstrings_share_the_import_of_a_saved_file(editor: Client) -> None:
    """If a file is not saved, each docstring imports it again, because examples of other files may see it as well."""
    each = '\n\ndef f{0}():\n    """\n    >>> f{0}()\n    """\n    return VALUE, IMPORTED\n'
    text = "import time\nfrom helper import VALUE\nIMPORTED = time.perf_counter_ns()\n"
    helper = await editor.write("helper.py", "VALUE = 1\n")
    uri = await editor.write("many.py", text + "".join(map(each.format, range(30))))

    async def gots() -> list[str]:
        return [result["results"][0]["got"] for result in (await checked(editor, textDocument={"uri": uri}))["results"]]

    saved = await gots()
    assert (len(saved), len({*saved})) == (30, 1)
    assert saved[0].startswith("(1, ")
    await editor.change(helper, "VALUE = 1", "VALUE = 2")
    unsaved = await gots()
    assert len({*unsaved}) == 30
    assert all(got.startswith("(2, ") for got in unsaved)


@pytest.mark.parametrize(
    ("method", "params", "problem"),
    [
        ("examples", {}, "'uri'"),
        ("evidence", {"textDocument": {"uri": 3}}, "'uri'"),
        ("check", None, "'uri'"),
        ("check", {"ids": "f"}, "'ids'"),
        ("check", {"ids": ["f"]}, "'ids'"),
        ("check", {"ids": [], "coverage": 1}, "'coverage'"),
        ("check", {"ids": [], "partialResultToken": True}, "'partialResultToken'"),
    ],
)
async def test_parameters_that_are_wrong(editor: Client, method: str, params: Any, problem: str) -> None:
    with pytest.raises(ResponseError, match=problem) as caught:
        await editor.request(f"adacoder/{method}", params)
    assert caught.value.code == -32602


@pytest.mark.parametrize("name", ["git:/names.py", "names.pyi", "gone.py"])
async def test_what_holds_no_code_that_runs_is_answered_with_the_reason(editor: Client, name: str) -> None:
    uri = editor.uri(name) if name == "gone.py" else await editor.open(name, STUB)
    for method in ("examples", "evidence"):
        answer = await editor.request(f"adacoder/{method}", {"textDocument": {"uri": uri}})
        assert (answer["version"], answer["items"]) == (1, [])
        assert answer["reason"]
    answer = await checked(editor, textDocument={"uri": uri})
    assert answer["results"] == []
    assert answer["reason"]
    assert (await editor.run(name, "initials", mode="check"))["reason"] == answer["reason"]


async def test_a_document_that_does_not_parse_is_an_error_and_nothing_in_it_passes(editor: Client) -> None:
    uri = await editor.write("broken.py", SHAPES)
    await checked(editor, textDocument={"uri": uri})
    await editor.change(uri, '"""Shapes.', 'B = = 2\n"""Shapes.')
    start = "/broken.py, line 1: "
    listing = await editor.request("adacoder/examples", {"textDocument": {"uri": uri}})
    assert start in listing["reason"]
    assert len(listing["items"]) == 6
    answer = await checked(editor, textDocument={"uri": uri})
    assert {result["status"] for result in answer["results"]} == {"error"}
    assert all(start in result["reason"] for result in answer["results"] if result["results"])
    states = {each["state"] for result in answer["results"] for each in result["results"]}
    assert states == {"unknown", "skipped"}
    evidence = await editor.request("adacoder/evidence", {"textDocument": {"uri": uri}})
    assert {item["evidence"]["status"] for item in evidence["items"]} == {"error"}
    await editor.change(uri, "B = = 2\n", "")
    assert (await editor.request("adacoder/examples", {"textDocument": {"uri": uri}}))["reason"] is None
    assert "verified" in {result["status"] for result in (await checked(editor, textDocument={"uri": uri}))["results"]}


async def test_a_function_that_vanishes_with_its_colon_is_an_error(editor: Client) -> None:
    text = 'def f(x):\n    """\n    >>> f(1)\n    1\n    """\n    return x\n'
    uri = await editor.write("colon.py", text)
    (item,) = await listed(editor, uri)
    await editor.change(uri, "(x):", "(x)")
    start = "/colon.py, line 1: "
    assert start in (await checked(editor, textDocument={"uri": uri}))["reason"]
    answer = await checked(editor, ids=[item["id"]])
    assert start in answer["reason"]
    assert [(result["status"], start in result["reason"]) for result in answer["results"]] == [("error", True)]


async def test_what_isolation_denies_is_a_status_of_its_own_with_a_hint(editor: Client) -> None:
    text = 'def f():\n    """\n    >>> f()\n    1\n    """\n    import os\n    return os.fork()\n'
    uri = await editor.write("denied.py", text)
    (result,) = (await checked(editor, textDocument={"uri": uri}))["results"]
    assert (result["status"], result["failure"]["kind"]) == ("denied", "denied")
    (example,) = result["results"]
    assert example["hint"].startswith("The example on line 3 needs processes, which isolation denies")


async def test_in_a_workspace_that_is_not_trusted_examples_are_listed_and_none_runs(editor: Client) -> None:
    editor.settings = {"trusted": False}
    uri = await editor.write("names.py", STUB + BODY)
    assert len(await listed(editor, uri)) == 1
    (result,) = (await checked(editor, textDocument={"uri": uri}))["results"]
    assert (result["status"], [each["state"] for each in result["results"]]) == ("error", ["unknown", "unknown"])
    assert "not trusted" in result["reason"]


async def test_commands_say_their_version(editor: Client) -> None:
    async with StandIn([UNENDING]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.write("names.py", STUB)
        answers = [
            await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"}),
            await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"}),
            await editor.execute("status", {"uri": uri}),
            await editor.execute("cancel"),
        ]
        await editor.idle()
        answers += [
            await editor.execute("journal"),
            await editor.execute("models"),
            await editor.execute("doctor", {"probe": False}),
            await editor.run("names.py", "nobody"),
        ]
    assert [answer["version"] for answer in answers] == [1] * 8
