"""A real model writes ten small functions. Nothing breaks, and everything called verified passes a second run.

ADACODER_GGUF names the model's file. How many functions are right says something about the model, so that is printed,
not asserted. Only a model that writes none of them fails the test, because it may never have been asked.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from real.servers import has_llama_server, served

_FUNCTIONS = tomllib.loads(Path(__file__).with_name("functions.toml").read_text(encoding="utf-8"))["function"]
pytestmark = pytest.mark.rest
_LIMITS = ("--budget-seconds", "25", "--max-iterations", "2", "--seed", "1")


@dataclass(frozen=True)
class Written:
    """The result of the model for one function."""

    status: str
    right: bool
    """True if the further examples also pass."""
    calls: int
    seconds: float


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """Return the options for the model and its server."""
    file = os.environ.get("ADACODER_GGUF")
    if not file:
        pytest.skip("ADACODER_GGUF names no model file")
    if not (has_llama_server() or find_spec("llama_cpp")):
        pytest.skip("neither llama-server nor llama-cpp-python is installed to serve the file of ADACODER_GGUF")
    with served(tmp_path_factory.mktemp("server"), Path(file)) as (name, url):
        yield "--model", f"openai:{name}", "--base-url", url


def test_a_real_model_writes_ten_functions(
    model: tuple[str, ...], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    written = {each["name"]: _written(model, tmp_path, each) for each in _FUNCTIONS}
    for name, each in written.items():
        wrong = "" if each.right or each.status != "verified" else ", but wrong"
        line = f"{name}: {each.status}{wrong} after {each.calls} calls and {each.seconds:.1f} s"
        record_property("figure", line)
    verified = [each for each in written.values() if each.status == "verified"]
    total = sum(each.seconds for each in written.values())
    wrong_ones = sum(not each.right for each in verified)
    record_property("figure", f"ten functions: {len(verified)} verified, of these {wrong_ones} wrong, in {total:.0f} s")
    assert any(each.right for each in verified)


def _written(model: tuple[str, ...], folder: Path, function: dict[str, str]) -> Written:
    stub = function["stub"].lstrip()
    module = folder / f"{function['name']}.py"
    module.write_text(stub, encoding="utf-8")
    ended = _adacoder("generate", str(module), "--json", *model, *_LIMITS)
    assert ended.stdout, ended.stderr
    outcome = json.loads(ended.stdout)
    is_verified = outcome["status"] == "verified"
    assert ended.returncode == (0 if is_verified else 1), ended.stderr
    module.write_text(_edited(stub, outcome["edits"]), encoding="utf-8")
    assert _passes(module) == is_verified
    right = is_verified and _passes(_with_further_examples(module, function))
    return Written(outcome["status"], right, outcome["modelCalls"], outcome["seconds"])


def _edited(text: str, edits: list[dict[str, Any]]) -> str:
    """Return `text`, which is ASCII, with the edits applied from the last to the first."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def offset(position: dict[str, int]) -> int:
        return starts[position["line"]] + position["character"]

    for edit in sorted(edits, key=lambda edit: offset(edit["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:start] + edit["newText"] + text[end:]
    return text


def _with_further_examples(module: Path, function: dict[str, str]) -> Path:
    text = module.read_text(encoding="utf-8")
    further = textwrap.indent(function["further"].strip(), "    ")
    path = module.with_name(f"further_{module.name}")
    head, quotes, body = text.rpartition('    """\n')
    path.write_text(f"{head}\n{further}\n{quotes}{body}", encoding="utf-8")
    return path


def _passes(module: Path) -> bool:
    ended = _adacoder("check", str(module))
    assert ended.returncode in (0, 1), ended.stderr
    return ended.returncode == 0


def _adacoder(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "adacoder", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert "Traceback" not in ended.stderr
    return ended
