"""Parameters of AdaCoder's commands and requests, and messages about invalid ones."""

from __future__ import annotations

from typing import Any

import pytest

from adacoder.lsp.from_proto import (
    CheckParams,
    DoctorParams,
    DocumentParams,
    FunctionPlace,
    InsertParams,
    JobParams,
    Line,
    ParametersError,
    PullParams,
    RunParams,
    read,
)
from adacoder.lsp.snapshot import Uri
from adacoder.task import Mode

URI = "file:///a%20b.py"
PLACE = {"uri": URI, "qualifiedName": "f"}
RUN = {"textDocument": {"uri": URI, "version": 3}, "qualifiedName": "f", "mode": "fix", "apply": True}
NOTHING: tuple[Any, ...] = (None, [], "text", {})
NO_URI = "'uri' is missing: name the document."


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        *((DocumentParams, value, NO_URI) for value in NOTHING),
        *((FunctionPlace, value, NO_URI) for value in NOTHING),
        (FunctionPlace, {"textDocument": None, "qualifiedName": "f"}, NO_URI),
        (FunctionPlace, {**PLACE, "uri": 3}, "'uri' must be a string."),
        (FunctionPlace, {**PLACE, "version": True}, "'version' must be a whole number."),
        (FunctionPlace, {**PLACE, "version": "1"}, "'version' must be a whole number."),
        (FunctionPlace, {**PLACE, "qualifiedName": 3}, "'qualifiedName' must be a string."),
        *(
            (FunctionPlace, {**PLACE, "position": position}, "'position' must have a 'line', counted from 0.")
            for position in (3, {}, {"line": -1}, {"line": True}, {"line": None})
        ),
        (FunctionPlace, {"uri": URI}, "No function is named: give 'position' or 'qualifiedName'."),
        *(
            (RunParams, {**RUN, "mode": mode}, f"'mode' must be one of {', '.join(Mode)}.")
            for mode in ("write", None, ["fix"])
        ),
        (RunParams, {**RUN, "apply": 1}, "'apply' must be true or false."),
        (RunParams, {**RUN, "workDoneToken": []}, "'workDoneToken' must be a string or a whole number."),
        (RunParams, {**RUN, "workDoneToken": True}, "'workDoneToken' must be a string or a whole number."),
        (RunParams, {**RUN, "candidate": 1}, "'candidate' must be a string."),
        (
            RunParams,
            {**RUN, "mode": "generate", "candidate": "def f(): ..."},
            "'candidate' needs the mode 'fix' or 'repair'.",
        ),
        *(
            (CheckParams, {"ids": ids}, "'ids' must be a list of ids from 'adacoder/examples'.")
            for ids in ("a#f", [3], ["no id"])
        ),
        (CheckParams, {}, NO_URI),
        (CheckParams, {"uri": URI, "coverage": 1}, "'coverage' must be true or false."),
        (DoctorParams, {"probe": None}, "'probe' must be true or false."),
        (JobParams, {"jobId": 5}, "'jobId' must be a string."),
        *((PullParams, {"model": model}, "'model' must name a model.") for model in ("", " ", 7)),
    ],
)
def test_what_cannot_be_read_is_one_sentence(kind: type[Any], value: Any, problem: str) -> None:
    with pytest.raises(ParametersError) as caught:
        read(kind, value)
    assert str(caught.value) == problem


def test_what_can_be_read() -> None:
    assert read(FunctionPlace, {**PLACE, "position": {"line": 2, "character": 9}, "more": []}) == FunctionPlace(
        uri=Uri(URI), line=Line(2), qualname="f"
    )
    assert read(RunParams, {**RUN, "candidate": "x", "workDoneToken": 7}) == RunParams(
        uri=Uri(URI), version=3, qualname="f", mode=Mode.FIX, apply=True, candidate="x", work_done_token=7
    )
    assert read(CheckParams, {"ids": [f"{URI}#f"], "partialResultToken": "t"}).ids == (f"{URI}#f",)
    assert read(InsertParams, {"jobId": "j", "candidate": 2}) == InsertParams(job_id="j", candidate=2)
    assert read(JobParams, None) == JobParams()
    assert read(PullParams, {"model": " qwen "}).model == "qwen"


def test_spellings_of_a_uri_are_equal_and_it_stays_as_the_client_spells_it() -> None:
    uri = read(DocumentParams, {"textDocument": {"uri": URI}}).uri
    assert (type(uri), f"{uri}") == (Uri, URI)
    assert {"file:///a b.py": 1}[uri] == {uri: 1}[Uri("file:///a b.py")] == 1
    assert uri == "file:///a b.py"
    assert (uri == Uri("file:///a b.py"), uri != Uri("file:///a b.py")) == (True, False)
    assert uri != "file:///b.py"
    assert uri != 3
